#include "xla/hlo/pipeline/tests/pipeline_fuzz_target.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/instrumentation/changed_check.h"
#include "xla/hlo/pass/instrumentation/verify_each.h"
#include "xla/hlo/pass/pass_options.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/testlib/mutator/module_mutator.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

// Numbers from bytes, 0 after their end.
class Bytes {
 public:
  explicit Bytes(absl::string_view bytes) : bytes_(bytes) {}

  // In [0, limit).
  int64_t Below(int64_t limit) {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte % limit;
  }
  uint64_t Seed() {
    uint64_t seed = 0;
    for (int i = 0; i < 8; ++i) seed = seed << 8 | Below(256);
    return seed;
  }

 private:
  absl::string_view bytes_;
};

RandomModuleOptions ModuleOptions(Bytes& bytes) {
  RandomModuleOptions options;
  options.steps = 1 + bytes.Below(40);
  options.max_rank = 1 + bytes.Below(4);
  options.max_dimension = 1 + bytes.Below(40);
  options.max_elements = 1 << bytes.Below(13);
  options.zero_sized_every = bytes.Below(5);
  options.max_depth = bytes.Below(4);
  options.max_trips = bytes.Below(4);
  options.tuples = bytes.Below(4) != 0;
  options.undefined_numerics = bytes.Below(2) != 0;
  // Half of the modules are of a few opcodes, and full of them.
  const std::vector<HloOpcode> all = RandomModuleOpcodes();
  if (bytes.Below(2) == 0) return options;
  for (int i = 0; i < 6; ++i) {
    options.opcodes.push_back(all[bytes.Below(all.size())]);
  }
  return options;
}

const PassRegistry& Registry() {
  static const auto* registry = new PassRegistry(AllPasses());
  return *registry;
}

HloVerifierOpts Mixed() {
  HloVerifierOpts verify;
  verify.allow_mixed_precision = true;
  return verify;
}

absl::Status RunChecked(HloPassPipeline& pipeline, HloModule* module) {
  pipeline.AddInstrumentation(std::make_shared<VerifyEach>(Mixed()));
  pipeline.AddInstrumentation(
      std::make_shared<ChangedCheck>(ChangedCheck::Options{}));
  return pipeline.Run(module).status();
}

// What a text for PipelineRunsOnText begins with, as flags of hlo-opt.
constexpr absl::string_view kPassesFlag = "// --passes=";
constexpr absl::string_view kPipelineFlag = "// --pipeline=";

absl::StatusOr<std::unique_ptr<HloPassPipeline>> PipelineOfText(
    absl::string_view text) {
  absl::string_view line = text.substr(0, text.find('\n'));
  if (absl::ConsumePrefix(&line, kPassesFlag)) {
    return Registry().ParsePipeline("fuzz", line);
  }
  if (!absl::ConsumePrefix(&line, kPipelineFlag)) line = "cleanup";
  return MakeNamedPipeline(Registry(), line);
}

// A value for an option: of the kind of its default, or of none.
std::string RandomValue(const std::string& default_value,
                        std::mt19937_64& random) {
  constexpr absl::string_view kNumbers[] = {
      "0",  "1",   "2",   "3",   "7",   "64",    "4096",
      "-1", "1e9", "0.5", "nan", "inf", "1e999", "9223372036854775807"};
  constexpr absl::string_view kWords[] = {"",     "h100", "b200", "80%", "1MiB",
                                          "auto", "f32",  "a+b",  "{}"};
  if (random() % 8 == 0) {
    return std::string(kWords[random() % std::size(kWords)]);
  }
  if (default_value == "true" || default_value == "false") {
    return random() % 2 == 0 ? "true" : "false";
  }
  double number = 0;
  if (absl::SimpleAtod(default_value, &number)) {
    return std::string(kNumbers[random() % std::size(kNumbers)]);
  }
  return default_value;
}

// One to three passes, some with options, or a pipeline; the line for them.
std::string RandomPassesLine(std::mt19937_64& random) {
  if (random() % 3 == 0) {
    const auto pipelines = NamedPipelines();
    return absl::StrCat(kPipelineFlag,
                        pipelines[random() % pipelines.size()].name, "\n");
  }
  std::vector<std::string> passes;
  const size_t count = 1 + random() % 3;
  while (passes.size() < count) {
    const auto& entries = Registry().entries();
    const auto& [name, entry] =
        *std::next(entries.begin(), random() % entries.size());
    // Asked for more than modules have to fulfil, it refuses them, rightly.
    if (name == "hlo-verifier") continue;
    std::vector<std::string> options;
    for (const PassOptionInfo& option : entry.options) {
      if (random() % 4 != 0) continue;
      options.push_back(absl::StrCat(
          option.name, "=", RandomValue(option.default_value, random)));
    }
    passes.push_back(
        options.empty()
            ? name
            : absl::StrCat(name, "{", absl::StrJoin(options, ","), "}"));
  }
  return absl::StrCat(kPassesFlag, absl::StrJoin(passes, ","), "\n");
}

// Above it, passes take longer than an input may.
constexpr int64_t kMostInstructions = 20000;

}  // namespace

bool PipelineRunsOnRandomModule(absl::string_view data) {
  Bytes bytes(data);
  const uint64_t seed = bytes.Seed();
  const bool is_gpu = bytes.Below(4) != 0;
  const std::unique_ptr<HloModule> module =
      RandomModule(seed, ModuleOptions(bytes));
  const int64_t mutations = bytes.Below(4);
  for (int64_t i = 0; i < mutations; ++i) MutateModule(seed + i, module.get());
  if (module->instruction_count() > kMostInstructions ||
      !VerifyHloModule(module.get(), Mixed()).ok()) {
    return false;
  }
  const std::string text = module->ToString();
  auto pipeline = MakeNamedPipeline(Registry(), is_gpu ? "gpu" : "cleanup");
  CHECK(pipeline.ok()) << pipeline.status();
  const absl::Status status = RunChecked(**pipeline, module.get());
  const bool may_fail = absl::IsUnimplemented(status) ||
                        absl::IsResourceExhausted(status) ||
                        (mutations > 0 && !absl::IsInternal(status) &&
                         !absl::StartsWith(status.message(), "[V"));
  CHECK(status.ok() || may_fail) << status << "\n" << text;
  return status.ok();
}

std::string MutatePipelineText(std::string text, std::mt19937_64& random) {
  std::string line;
  if (absl::StartsWith(text, kPassesFlag) ||
      absl::StartsWith(text, kPipelineFlag)) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    line = text.substr(0, end);
    text.erase(0, end);
  }
  if (line.empty() || random() % 2 == 0) line = RandomPassesLine(random);
  const auto module = ParseAndReturnUnverifiedModule(text);
  if (!module.ok()) return line + text;
  MutateModule(random(), module->get());
  HloPrintOptions options = HloPrintOptions::Default();
  options.set_print_large_constants(true);
  return line + (*module)->ToString(options);
}

bool PipelineRunsOnText(absl::string_view text) {
  HloParserOptions options;
  options.set_max_recursion_depth(200);
  const auto module =
      ParseAndReturnUnverifiedModule(text, HloModuleConfig(), options);
  if (!module.ok() || !VerifyHloModule(module->get(), Mixed()).ok()) {
    return false;
  }
  const auto pipeline = PipelineOfText(text);
  if (!pipeline.ok() || (*module)->instruction_count() > kMostInstructions) {
    return false;
  }
  MeaningOptions meaning_options;
  meaning_options.max_work = 20'000;
  const auto meaning = ModuleMeaning::Make(**module, meaning_options);
  const absl::Status status = RunChecked(**pipeline, module->get());
  CHECK(!absl::IsInternal(status) && !absl::StartsWith(status.message(), "[V"))
      << status << "\n"
      << text;
  // Arguments and results of what was partitioned are shards, also where these
  // have the shapes of the whole.
  const bool is_partitioned = (*module)->has_spmd_output_sharding();
  if (!status.ok() || !meaning.ok() || is_partitioned) return status.ok();
  const auto difference = (*meaning)->DifferenceFrom(**module);
  CHECK(difference.ok() || absl::IsUnimplemented(difference.status()) ||
        absl::IsFailedPrecondition(difference.status()))
      << difference.status() << "\n"
      << text;
  CHECK(!difference.ok() || !difference->has_value()) << **difference << "\n"
                                                      << text;
  return true;
}

bool PassesAreMade(absl::string_view text) {
  const auto pipeline = Registry().ParsePipeline("fuzz", text);
  CHECK(pipeline.ok() || !pipeline.status().message().empty());
  return pipeline.ok();
}

}  // namespace xla
