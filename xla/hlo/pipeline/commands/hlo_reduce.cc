#include "xla/hlo/pipeline/commands/hlo_reduce.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/instrumentation/stop_before_pass.h"
#include "xla/hlo/pipeline/commands/module_reducer.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/flag_check.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/hlo/verifier/verify_input.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Property = HloReduceOptions::Property;

std::string Print(const HloModule& module) {
  return module.ToString(HloPrintOptions().set_print_large_constants(true));
}

// A file that exists as long as this object.
class ScratchFile {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchFile>> Create() {
    const char* folder = std::getenv("TMPDIR");
    std::string path =
        absl::StrCat(folder != nullptr ? folder : "/tmp", "/hlo_reduce.XXXXXX");
    const int file = mkstemp(path.data());
    if (file < 0) {
      return absl::UnavailableError(absl::StrCat("cannot make ", path));
    }
    close(file);
    return std::unique_ptr<ScratchFile>(new ScratchFile(std::move(path)));
  }
  ~ScratchFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFile(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

// The error of a module; OK if there is none.
class Experiment {
 public:
  Experiment(const HloReduceOptions& options, const PassRegistry& registry)
      : options_(options), registry_(registry) {}

  absl::Status Prepare() {
    const int given = !options_.passes.empty() + !options_.pipeline.empty() +
                      !options_.command.empty();
    if (given != 1) {
      return absl::InvalidArgumentError(
          "expected one of --passes, --pipeline and --command");
    }
    if (options_.command.empty()) return MakePipeline().status();
    TF_ASSIGN_OR_RETURN(scratch_, ScratchFile::Create());
    return absl::OkStatus();
  }

  absl::Status Run(HloModule& module) {
    if (!options_.command.empty()) return RunCommand(module);
    if (options_.property == Property::kDiffers) return RunAndCompare(module);
    return RunPasses(module);
  }

  // Why the last module of those that were not comparable was not; OK if all
  // were.
  const absl::Status& not_comparable() const { return not_comparable_; }

 private:
  absl::StatusOr<std::unique_ptr<HloPassPipeline>> MakePipeline() const {
    return options_.pipeline.empty()
               ? registry_.ParsePipeline("passes", options_.passes)
               : MakeNamedPipeline(registry_, options_.pipeline);
  }

  absl::Status RunPasses(HloModule& module) const {
    TF_ASSIGN_OR_RETURN(const std::unique_ptr<HloPassPipeline> pipeline,
                        MakePipeline());
    TF_RETURN_IF_ERROR(pipeline->Run(&module).status());
    HloVerifierOpts verifier;
    verifier.allow_mixed_precision = true;
    return VerifyHloModule(&module, verifier);
  }

  absl::Status RunAndCompare(HloModule& module) {
    MeaningOptions meaning_options;
    meaning_options.seeds = options_.seeds;
    meaning_options.max_work =
        options_.max_flops < 0 ? -1 : static_cast<int64_t>(options_.max_flops);
    meaning_options.max_work_flag = "--max-flops";
    meaning_options.memory_limit_bytes = options_.max_memory_mib << 20;
    // Not being able to compare is not the property.
    absl::StatusOr<std::unique_ptr<ModuleMeaning>> meaning =
        ModuleMeaning::Make(module, meaning_options);
    if (!meaning.ok()) return NotComparable(meaning.status());
    absl::Status passes = RunPasses(module);
    if (!passes.ok()) return NotComparable(passes);
    absl::StatusOr<std::optional<std::string>> difference =
        (*meaning)->DifferenceFrom(module);
    if (!difference.ok()) return NotComparable(difference.status());
    if (!difference->has_value()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("the meaning changed: ", **difference));
  }

  absl::Status NotComparable(const absl::Status& why) {
    not_comparable_ = why;
    return absl::OkStatus();
  }

  absl::Status RunCommand(const HloModule& module) const {
    TF_RETURN_IF_ERROR(WriteFileOrStdout(scratch_->path(), Print(module)));
    const std::string command =
        absl::StrReplaceAll(options_.command, {{"{}", scratch_->path()}});
    const int status = std::system(command.c_str());
    if (status == 0) return absl::OkStatus();
    return absl::AbortedError(
        absl::StrCat("status ", status, " of ", options_.command));
  }

  const HloReduceOptions& options_;
  const PassRegistry& registry_;
  std::unique_ptr<ScratchFile> scratch_;
  absl::Status not_comparable_;
};

// The reduced module as a text test that shows the property.
std::string MakeTest(const HloReduceOptions& options,
                     const absl::Status& property, const HloModule& module) {
  if (!options.passes.empty()) {
    return MakeReproducer(
        options.passes, property, Print(module),
        options.property == Property::kDiffers
            ? absl::StrCat("--check-equivalent=", options.seeds)
            : "");
  }
  return absl::StrCat(
      options.command.empty()
          ? absl::StrCat("// RUN: hlo-opt %s --pipeline=", options.pipeline)
          : absl::StrCat("// RUN: not ",
                         absl::StrReplaceAll(options.command, {{"{}", "%s"}})),
      "\n\n", Print(module), "\n");
}

}  // namespace

bool AbslParseFlag(absl::string_view text, Property* property,
                   std::string* error) {
  for (Property p : {Property::kFails, Property::kDiffers}) {
    if (text == AbslUnparseFlag(p)) {
      *property = p;
      return true;
    }
  }
  *error = "expected fails or differs";
  return false;
}

std::string AbslUnparseFlag(Property property) {
  return property == Property::kFails ? "fails" : "differs";
}

absl::Status RunHloReduce(const HloReduceOptions& options,
                          const PassRegistry& registry,
                          const std::string& input, std::ostream& err) {
  constexpr double kMostSeconds = 1e9;
  // The work of a run is counted in 64 bits.
  constexpr double kMostFlops = 9e18;
  constexpr int64_t kMostMib = std::numeric_limits<int64_t>::max() >> 20;
  TF_RETURN_IF_ERROR(CheckFlag("seeds", options.seeds, 1));
  TF_RETURN_IF_ERROR(CheckFlag("max-attempts", options.max_attempts, 1));
  TF_RETURN_IF_ERROR(
      CheckLimitFlag("max-flops", options.max_flops, kMostFlops));
  TF_RETURN_IF_ERROR(
      CheckFlag("max-memory-mib", options.max_memory_mib, 0, kMostMib));
  TF_RETURN_IF_ERROR(CheckFlag("seconds", options.seconds, 0.0, kMostSeconds));
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> module,
                      ReadModuleFromFile(input));
  // No pass is meant for anything else; a command may be about just that.
  if (options.command.empty()) {
    TF_RETURN_IF_ERROR(VerifyInput(*module, input));
  }
  Experiment experiment(options, registry);
  TF_RETURN_IF_ERROR(experiment.Prepare());
  const absl::Time deadline = options.seconds > 0
                                  ? absl::Now() + absl::Seconds(options.seconds)
                                  : absl::InfiniteFuture();
  // The first run says which error it is about, the last what it is now.
  absl::Status shown;
  const InterestingFn interesting = [&](HloModule& candidate) {
    if (!shown.ok() && absl::Now() > deadline) return false;
    absl::Status status = experiment.Run(candidate);
    if (status.ok() || !absl::StrContains(status.message(), options.match) ||
        (!shown.ok() && status.code() != shown.code())) {
      return false;
    }
    shown = status;
    return true;
  };
  ModuleReducerOptions reducer_options;
  reducer_options.max_attempts = options.max_attempts;
  ModuleReducerStats stats;
  absl::StatusOr<std::unique_ptr<HloModule>> result =
      ReduceModule(*module, interesting, reducer_options, &stats);
  if (shown.ok() && !experiment.not_comparable().ok()) {
    const absl::Status& why = experiment.not_comparable();
    return absl::Status(why.code(), absl::StrCat(input, ": ", why.message()));
  }
  TF_RETURN_IF_ERROR(result.status());
  const std::unique_ptr<HloModule> reduced = *std::move(result);
  err << "reduced " << module->instruction_count() << " instructions to "
      << reduced->instruction_count() << " in " << stats.attempts
      << " attempts\n";
  return WriteFileOrStdout(options.output, MakeTest(options, shown, *reduced));
}

}  // namespace xla
