// Every pass alone on random modules: does it run, does it leave a valid module
// that computes the same, and what has it met? A line for each finding, then
// two tables: of the passes, how many modules each has changed, and of the
// opcodes, where in a module they stood and how many passes changed a module
// with them. What was never met is printed last: those are the holes of the
// random modules.
//
//   bazel run -c opt //tools/bench:random_passes -- --seeds=2000
//   … --first=1234 --seeds=1 --passes=hlo-cse        (one case again)

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/container/inlined_vector.h"
#include "absl/flags/flag.h"
#include "absl/log/globals.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "re2/re2.h"
#include "tools/tool_main.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/instrumentation/changed_check.h"
#include "xla/hlo/pass/instrumentation/verify_each.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/xla_data.pb.h"

ABSL_FLAG(int64_t, seeds, 200, "How many modules.");
ABSL_FLAG(int64_t, first, 0, "The seed of the first one.");
ABSL_FLAG(std::string, passes, "", "Passes whose names this matches; all.");
ABSL_FLAG(std::string, runs, "",
          "Besides: passes with options, 'hlo-cse{layout-sensitive};…', and "
          "names of pipelines.");
ABSL_FLAG(std::string, before, "", "Passes that run first on each module.");
ABSL_FLAG(bool, print, false, "Print the modules.");

namespace xla {
namespace {

struct PassCounts {
  int64_t runs = 0;
  int64_t changed = 0;
  int64_t compared = 0;
  int64_t wrong = 0;
  // By code and the words of the message that are no names.
  std::map<std::string, int64_t> refused;
};

// Modules with the opcode, by where it stands, and the passes that changed one.
struct OpcodeCounts {
  std::map<std::string, int64_t> positions;
  std::set<std::string> passes;
};

// What runs now, for the handler of signals.
char current_case[256] = "";

void PrintCase(int signal_number) {
  std::fprintf(stderr, "\ncrash: %s\n", current_case);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

// Small and large, flat and deep, with and without zero-sized arrays; one in
// four is of a few opcodes and full of them.
RandomModuleOptions OptionsOf(uint64_t seed) {
  RandomModuleOptions options;
  options.steps = 4 + seed % 37;
  options.max_rank = 1 + seed / 3 % 4;
  options.zero_sized_every = seed % 5 == 0 ? 6 : 0;
  options.max_depth = seed % 4;
  options.tuples = seed % 3 != 0;
  options.odd = seed / 2 % 3 == 0;
  if (seed % 11 == 3) options.num_partitions = 2;
  if (seed % 11 == 5) options.num_replicas = 2;
  if (seed % 7 == 0) {
    options.max_dimension = 40;
    options.max_elements = 4096;
  }
  if (seed % 6 == 2) {
    const PrimitiveType narrow[] = {
        S4,     U4,         S16,        U16,    U64, C128, F8E4M3FN,     F8E5M2,
        F8E4M3, F8E4M3FNUZ, F8E5M2FNUZ, F8E3M4, S2,  U2,   F8E4M3B11FNUZ};
    for (uint64_t i = 0; i < 3; ++i) {
      options.types.push_back(
          narrow[(seed / 6 + i * i * 4) % std::size(narrow)]);
    }
    options.types.push_back(F32);
  }
  if (seed % 4 == 1) {
    const std::vector<HloOpcode> all = RandomModuleOpcodes();
    for (uint64_t i = 0; i < 6; ++i) {
      options.opcodes.push_back(all[(seed / 4 * 7 + i * i * 11) % all.size()]);
    }
  }
  // Many collectives, also in what is called.
  if (seed % 22 == 3 || seed % 22 == 5) {
    options.odd = true;
    options.max_depth = 2;
    options.opcodes = {HloOpcode::kAdd,
                       HloOpcode::kAllGather,
                       HloOpcode::kAllReduce,
                       HloOpcode::kAllToAll,
                       HloOpcode::kAsyncStart,
                       HloOpcode::kCall,
                       HloOpcode::kCollectiveBroadcast,
                       HloOpcode::kCollectivePermute,
                       HloOpcode::kPartitionId,
                       HloOpcode::kReduceScatter,
                       HloOpcode::kReplicaId,
                       HloOpcode::kSlice,
                       HloOpcode::kWhile};
  }
  return options;
}

// What calls the computation, as a place for instructions.
std::string PositionOf(const HloModule& module,
                       const HloComputation& computation) {
  if (&computation == module.entry_computation()) return "entry";
  const absl::InlinedVector<HloInstruction*, 1> callers =
      computation.caller_instructions();
  if (callers.empty()) return "unused";
  const HloInstruction& caller = *callers.front();
  if (caller.opcode() == HloOpcode::kWhile) {
    return caller.while_body() == &computation ? "body" : "condition";
  }
  return std::string(HloOpcodeString(caller.opcode()));
}

class Run {
 public:
  void OnModule(uint64_t seed);
  int Report() const;

 private:
  void RunPass(absl::string_view name, uint64_t seed, const HloModule& module,
               const ModuleMeaning* meaning);
  // Runs passes with checks; whether they changed the module.
  absl::StatusOr<bool> RunChecked(absl::string_view passes, HloModule* module);

  PassRegistry registry_ = AllPasses();
  std::map<std::string, PassCounts> passes_;
  std::map<std::string, OpcodeCounts> opcodes_;
  int64_t modules_ = 0;
  int64_t findings_ = 0;
};

absl::StatusOr<bool> Run::RunChecked(absl::string_view passes,
                                     HloModule* module) {
  bool is_pipeline = false;
  for (const NamedPipeline& named : NamedPipelines()) {
    is_pipeline |= named.name == passes;
  }
  absl::StatusOr<std::unique_ptr<HloPassPipeline>> pipeline =
      is_pipeline ? MakeNamedPipeline(registry_, passes)
                  : registry_.ParsePipeline("random", passes);
  if (!pipeline.ok()) return pipeline.status();
  HloVerifierOpts verify;
  verify.allow_mixed_precision = true;
  (*pipeline)->AddInstrumentation(std::make_shared<VerifyEach>(verify));
  (*pipeline)->AddInstrumentation(
      std::make_shared<ChangedCheck>(ChangedCheck::Options{}));
  return (*pipeline)->Run(module);
}

void Run::RunPass(absl::string_view name, uint64_t seed,
                  const HloModule& module, const ModuleMeaning* meaning) {
  PassCounts& counts = passes_[std::string(name)];
  absl::SNPrintF(current_case, sizeof(current_case), "seed %d, %s", seed, name);
  std::unique_ptr<HloModule> copy = module.Clone("");
  ++counts.runs;
  const absl::StatusOr<bool> changed = RunChecked(name, copy.get());
  if (!changed.ok()) {
    std::string words(changed.status().message());
    RE2::GlobalReplace(&words, "[%\"'`][^ ,:;]*|[0-9]+", "_");
    ++counts.refused[absl::StrCat(
        absl::StatusCodeToString(changed.status().code()), ": ",
        words.substr(0, 100))];
    if (absl::IsInternal(changed.status())) {
      ++findings_;
      absl::PrintF("seed %d, %s: %s\n", seed, name, changed.status().message());
    }
    return;
  }
  if (!*changed) return;
  ++counts.changed;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      opcodes_[std::string(HloOpcodeString(inst->opcode()))].passes.emplace(
          name);
    }
  }
  if (meaning == nullptr) return;
  const absl::StatusOr<std::optional<std::string>> difference =
      meaning->DifferenceFrom(*copy);
  if (!difference.ok()) {
    if (absl::IsUnimplemented(difference.status())) return;
    ++findings_;
    absl::PrintF("seed %d, %s: result is not evaluated: %s\n", seed, name,
                 difference.status().message());
    return;
  }
  ++counts.compared;
  if (!difference->has_value()) return;
  ++counts.wrong;
  ++findings_;
  absl::PrintF("seed %d, %s: wrong: %s\n", seed, name, **difference);
}

void Run::OnModule(uint64_t seed) {
  absl::SNPrintF(current_case, sizeof(current_case), "seed %d", seed);
  const std::unique_ptr<HloModule> module = RandomModule(seed, OptionsOf(seed));
  const std::string before = absl::GetFlag(FLAGS_before);
  if (!before.empty() && !RunChecked(before, module.get()).ok()) return;
  if (absl::GetFlag(FLAGS_print)) absl::PrintF("%s\n", module->ToString());
  ++modules_;
  std::set<std::pair<std::string, std::string>> met;
  for (const HloComputation* computation : module->computations()) {
    const std::string position = PositionOf(*module, *computation);
    for (const HloInstruction* inst : computation->instructions()) {
      met.emplace(HloOpcodeString(inst->opcode()), position);
    }
  }
  for (const auto& [opcode, position] : met) {
    ++opcodes_[opcode].positions[position];
  }
  MeaningOptions options;
  options.max_work = 300'000;
  const absl::StatusOr<std::unique_ptr<ModuleMeaning>> meaning =
      ModuleMeaning::Make(*module, options);
  const std::vector<std::string> runs =
      absl::StrSplit(absl::GetFlag(FLAGS_runs), ';', absl::SkipEmpty());
  for (const std::string& text : runs) {
    RunPass(text, seed, *module, meaning.ok() ? meaning->get() : nullptr);
  }
  const RE2 wanted(absl::GetFlag(FLAGS_passes));
  for (const auto& [name, entry] : registry_.entries()) {
    if (!wanted.pattern().empty() && !RE2::FullMatch(name, wanted)) continue;
    RunPass(name, seed, *module, meaning.ok() ? meaning->get() : nullptr);
  }
}

int Run::Report() const {
  absl::PrintF("\n%-42s %8s %8s %8s %8s %8s\n", "pass", "runs", "changed",
               "compared", "wrong", "refused");
  for (const auto& [name, counts] : passes_) {
    int64_t refused = 0;
    for (const auto& [words, times] : counts.refused) refused += times;
    absl::PrintF("%-42s %8d %8d %8d %8d %8d\n", name, counts.runs,
                 counts.changed, counts.compared, counts.wrong, refused);
    for (const auto& [words, times] : counts.refused) {
      absl::PrintF("    %6d  %s\n", times, words);
    }
  }
  absl::PrintF("\n%-28s %6s  %s\n", "opcode", "passes", "modules by place");
  for (const auto& [opcode, counts] : opcodes_) {
    absl::PrintF(
        "%-28s %6d  %s\n", opcode, counts.passes.size(),
        absl::StrJoin(counts.positions, ", ", absl::PairFormatter(" ")));
  }
  std::vector<std::string> never;
  for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
    const auto opcode = static_cast<HloOpcode>(i);
    if (opcodes_.count(std::string(HloOpcodeString(opcode))) == 0) {
      never.emplace_back(HloOpcodeString(opcode));
    }
  }
  absl::PrintF("\nopcodes never met: %s\n", absl::StrJoin(never, ", "));
  std::vector<std::string> idle;
  for (const auto& [name, counts] : passes_) {
    if (counts.changed == 0) idle.push_back(name);
  }
  absl::PrintF("passes that changed nothing: %s\n", absl::StrJoin(idle, ", "));
  absl::PrintF("%d modules, %d passes, %d findings\n", modules_, passes_.size(),
               findings_);
  return findings_ > 0 ? kFailed : 0;
}

}  // namespace
}  // namespace xla

int main(int argc, char** argv) {
  xla::InitTool(argc, argv,
                "random_passes: runs every pass alone on random modules\n");
  absl::SetMinLogLevel(absl::LogSeverityAtLeast::kError);
  std::signal(SIGABRT, xla::PrintCase);
  std::signal(SIGSEGV, xla::PrintCase);
  xla::Run run;
  const int64_t first = absl::GetFlag(FLAGS_first);
  const int64_t seeds = absl::GetFlag(FLAGS_seeds);
  for (int64_t seed = first; seed < first + seeds; ++seed) {
    run.OnModule(seed);
    std::fflush(stdout);
  }
  return run.Report();
}
