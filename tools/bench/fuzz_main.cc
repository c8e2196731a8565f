// The fuzzers of tools/fuzz.sh without libFuzzer, from a plain build: seeds are
// changed at random, and what comes out goes through the readers, the verifier
// or a pipeline, in a process of its own; what ends that is a finding, is
// written into a file, and the next one goes on behind it.
//
//   bazel run -c opt //tools/bench:fuzz -- --target=verifier --runs=1000000
//       $PWD/xla/hlo/verifier/testdata/*.hlo
//
// Targets: text, verifier, proto and rewrite (seeds: .hlo, of one or several
// modules), kir (seeds: .kir), passes and pipeline (no seeds). The same seed
// and files give the same inputs. Prints executions, how many of them were
// accepted, and findings; the status is 1 if there are any.

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/flags/flag.h"
#include "absl/log/check.h"
#include "absl/log/globals.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/stubs/logging.h"
#include "tools/bench/text_mutator.h"
#include "tools/tool_main.h"
#include "xla/backends/gpu/kernel_ir/kir_fuzz_target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/parser/parser_fuzz_target.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/tests/pipeline_fuzz_target.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/utils/proto_fuzz_target.h"
#include "xla/hlo/utils/proto_mutator.h"
#include "xla/hlo/verifier/verifier_fuzz_target.h"
#include "xla/service/hlo.pb.h"

ABSL_FLAG(std::string, target, "verifier",
          "text, verifier, proto, rewrite, kir, passes or pipeline.");
ABSL_FLAG(int64_t, runs, 100000, "How many inputs.");
ABSL_FLAG(uint64_t, seed, 0, "Which ones.");
ABSL_FLAG(std::string, out, "/tmp",
          "Folder for inputs that are findings, named by target and series.");
ABSL_FLAG(int64_t, timeout, 20,
          "Seconds of processor time that one input may take.");
ABSL_FLAG(int64_t, memory_mib, 4096, "Memory that one input may take.");

namespace xla {
namespace {

// Inputs that follow one another from one seed: each changes the last one that
// was accepted.
constexpr int64_t kSeriesLength = 64;
constexpr size_t kMaxInput = 1 << 16;
constexpr size_t kMaxSeed = 6000;

// A property and the inputs that it is tried on.
struct Target {
  std::function<bool(absl::string_view)> run;
  // The first input of a series, and the one behind another.
  std::function<std::string(std::mt19937_64&)> first;
  std::function<std::string(std::string, std::mt19937_64&)> next;
};

// Memory that both processes see.
struct Progress {
  int64_t series;
  int64_t executions;
  int64_t accepted;
  size_t size;
  char input[kMaxInput];
};

std::vector<std::string> ReadSeeds(const std::vector<std::string>& files) {
  std::vector<std::string> seeds;
  for (const std::string& file : files) {
    std::stringstream stream;
    stream << std::ifstream(file).rdbuf();
    const std::string text = stream.str();
    if (absl::EndsWith(file, ".kir")) {
      if (text.size() <= kMaxSeed) seeds.push_back(text);
      continue;
    }
    for (const HloTextPiece& piece : SplitInput(text)) {
      if (piece.text.size() <= kMaxSeed) seeds.emplace_back(piece.text);
    }
  }
  return seeds;
}

Target TextTarget(std::function<bool(absl::string_view)> run,
                  std::vector<std::string> seeds) {
  const auto mutator = std::make_shared<TextMutator>(std::move(seeds));
  return {std::move(run),
          [mutator](std::mt19937_64& random) {
            return mutator->texts()[random() % mutator->texts().size()];
          },
          [mutator](std::string text, std::mt19937_64& random) {
            return mutator->Mutate(std::move(text), random);
          }};
}

Target ProtoTarget(const std::vector<std::string>& texts) {
  const auto seeds = std::make_shared<std::vector<std::string>>();
  for (const std::string& text : texts) {
    const auto module = ParseAndReturnUnverifiedModule(text);
    if (module.ok()) seeds->push_back(ModuleToProtoBytes(**module));
  }
  CHECK(!seeds->empty());
  return {ReadsAsProtoAndRoundTrips,
          [seeds](std::mt19937_64& random) {
            return (*seeds)[random() % seeds->size()];
          },
          [](std::string bytes, std::mt19937_64& random) {
            HloProto module;
            CHECK(module.ParseFromString(bytes));
            for (int n = 1 + random() % 3; n > 0; --n) {
              MutateProto(random(), &module);
            }
            return module.SerializeAsString();
          }};
}

// Modules change as modules, or as text.
Target RewriteTarget(std::vector<std::string> seeds) {
  Target target = TextTarget(PipelineRunsOnText, std::move(seeds));
  target.next = [as_text = target.next](std::string text,
                                        std::mt19937_64& random) {
    return random() % 4 == 0 ? as_text(std::move(text), random)
                             : MutatePipelineText(std::move(text), random);
  };
  return target;
}

Target PassesTarget() {
  std::vector<std::string> seeds = {"fix(hlo-cse{layout-sensitive=true})",
                                    "a{limit=80%,device=h100}"};
  const PassRegistry registry = AllPasses();
  for (const auto& [name, entry] : registry.entries()) {
    seeds.push_back(absl::StrCat(name, ",hlo-dce"));
  }
  return TextTarget(PassesAreMade, std::move(seeds));
}

Target PipelineTarget() {
  const auto draw = [](std::mt19937_64& random) {
    std::string bytes(32, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  return {
      PipelineRunsOnRandomModule, draw,
      [draw](std::string, std::mt19937_64& random) { return draw(random); }};
}

std::optional<Target> MakeTarget(absl::string_view name,
                                 const std::vector<std::string>& files) {
  if (name == "passes") return PassesTarget();
  if (name == "pipeline") return PipelineTarget();
  std::vector<std::string> seeds = ReadSeeds(files);
  if (seeds.empty()) return std::nullopt;
  if (name == "proto") return ProtoTarget(seeds);
  if (name == "text") {
    return TextTarget(hlo_text::ParsesAndRoundTrips, std::move(seeds));
  }
  if (name == "verifier") {
    return TextTarget(VerifiesAndRoundTrips, std::move(seeds));
  }
  if (name == "rewrite") {
    return RewriteTarget(std::move(seeds));
  }
  if (name == "kir") {
    return TextTarget(gpu::kir::KernelsRoundTrip, std::move(seeds));
  }
  return std::nullopt;
}

// Limits processor time, so that a busy machine makes no findings.
void LimitTime() {
  itimerval limit = {};
  limit.it_value.tv_sec = absl::GetFlag(FLAGS_timeout);
  CHECK_EQ(setitimer(ITIMER_PROF, &limit, nullptr), 0);
}

void RunSeries(const Target& target, Progress* progress) {
  std::seed_seq seed{absl::GetFlag(FLAGS_seed),
                     static_cast<uint64_t>(progress->series)};
  std::mt19937_64 random(seed);
  std::string good = target.first(random);
  for (int64_t i = 0; i < kSeriesLength; ++i) {
    std::string input = target.next(good, random);
    if (input.size() > kMaxInput) input = target.first(random);
    progress->size = input.size();
    std::memcpy(progress->input, input.data(), input.size());
    ++progress->executions;
    LimitTime();
    if (!target.run(input)) continue;
    ++progress->accepted;
    good = std::move(input);
  }
}

// Runs series until all inputs are done or one ends the process.
void RunUntilFinding(const Target& target, Progress* progress) {
  const rlim_t bytes = absl::GetFlag(FLAGS_memory_mib) << 20;
  const rlimit memory = {bytes, bytes};
  CHECK_EQ(setrlimit(RLIMIT_AS, &memory), 0);
  const rlimit no_core = {0, 0};
  CHECK_EQ(setrlimit(RLIMIT_CORE, &no_core), 0);
  const absl::Time start = absl::Now();
  while (progress->executions < absl::GetFlag(FLAGS_runs)) {
    RunSeries(target, progress);
    ++progress->series;
    if (progress->series % 2000 == 0) {
      absl::FPrintF(stderr, "%d executions, %d accepted, %s\n",
                    progress->executions, progress->accepted,
                    absl::FormatDuration(absl::Now() - start));
    }
  }
}

// Writes the input at which a process ended, and steps over its series.
void WriteFinding(absl::string_view name, int status, Progress* progress) {
  const std::string path =
      absl::StrCat(absl::GetFlag(FLAGS_out), "/", name, "-",
                   absl::GetFlag(FLAGS_seed), "-", progress->series);
  std::ofstream(path).write(progress->input, progress->size);
  absl::PrintF("finding: %s, ended by %s %d\n", path,
               WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  std::fflush(stdout);
  ++progress->series;
}

int Fuzz(absl::string_view name, const std::vector<std::string>& files) {
  const std::optional<Target> target = MakeTarget(name, files);
  if (!target.has_value()) {
    absl::FPrintF(stderr, "--target=%s: unknown, or no seeds among %d files\n",
                  name, files.size());
    return kFailed;
  }
  auto* progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(progress != MAP_FAILED);
  int64_t findings = 0;
  const absl::Time start = absl::Now();
  while (progress->executions < absl::GetFlag(FLAGS_runs)) {
    const int64_t before = progress->executions;
    const pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
      RunUntilFinding(*target, progress);
      _exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (status == 0) continue;
    if (progress->executions == before) {
      absl::FPrintF(stderr, "%s: ends before its first input\n", name);
      return kFailed;
    }
    ++findings;
    WriteFinding(name, status, progress);
  }
  absl::PrintF("%s: %d executions, %d accepted, %d findings, %s\n", name,
               progress->executions, progress->accepted, findings,
               absl::FormatDuration(absl::Now() - start));
  return findings == 0 ? 0 : kFailed;
}

}  // namespace
}  // namespace xla

int main(int argc, char** argv) {
  const std::vector<std::string> files = xla::InitTool(
      argc, argv,
      "fuzz: runs the properties of the fuzzers on changed seeds\n");
  absl::SetMinLogLevel(absl::LogSeverityAtLeast::kError);
  google::protobuf::SetLogHandler(nullptr);
  return xla::Fuzz(absl::GetFlag(FLAGS_target), files);
}
