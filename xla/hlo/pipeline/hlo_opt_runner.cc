#include "xla/hlo/pipeline/hlo_opt_runner.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "re2/re2.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_partitions.h"
#include "xla/hlo/pass/fueled_pass.h"
#include "xla/hlo/pass/instrumentation/changed_check.h"
#include "xla/hlo/pass/instrumentation/check_equivalent.h"
#include "xla/hlo/pass/instrumentation/pass_fuel.h"
#include "xla/hlo/pass/instrumentation/print_ir.h"
#include "xla/hlo/pass/instrumentation/progress.h"
#include "xla/hlo/pass/instrumentation/verify_each.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/hlo/pass/pass_name.h"
#include "xla/hlo/pass/unmet_limits.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/hlo/verifier/verify_input.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

absl::StatusOr<std::unique_ptr<HloModule>> ReadInput(
    const HloOptOptions& options, const HloOptInput& input) {
  ModuleFormat format = options.format.value_or(
      options.split_input ? ModuleFormat::kHlo
                          : DetectModuleFormat(input.contents));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ReadModule(input.contents, format, input.parser_options));
  if (options.debug_options.has_value()) {
    module->mutable_config().set_debug_options(*options.debug_options);
  }
  return module;
}

// The names of all passes of a pipeline, nested ones included.
void AddPassNames(HloPassPipeline& pipeline, std::vector<std::string>& names) {
  for (int i = 0; i < pipeline.PassesSize(); ++i) {
    HloPassInterface& pass = pipeline.GetPass(i);
    names.push_back(std::string(pass.name()));
    if (pass.IsPassPipeline()) {
      AddPassNames(static_cast<HloPassPipeline&>(pass), names);
    }
  }
}

absl::Status NoSuchPass(absl::string_view flag, absl::string_view name,
                        std::vector<std::string> names) {
  absl::c_sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": the pipeline has no pass ", name,
                   DidYouMean(name, names)));
}

absl::Status CheckFuel(const PassFuel& fuel,
                       const std::vector<std::string>& names) {
  for (const std::string& name : fuel.Names()) {
    if (absl::c_none_of(names, [&name](const std::string& pass) {
          return IsSamePassName(pass, name);
        })) {
      return NoSuchPass("fuel", name, names);
    }
  }
  return absl::OkStatus();
}

// Gives the fuel for rewrites to all passes of that name; returns whether any
// of them takes it.
bool SetRewriteFuel(HloPassPipeline& pipeline, absl::string_view name,
                    const std::shared_ptr<int64_t>& fuel) {
  bool found = false;
  for (int i = 0; i < pipeline.PassesSize(); ++i) {
    HloPassInterface& pass = pipeline.GetPass(i);
    if (pass.IsPassPipeline()) {
      found |= SetRewriteFuel(static_cast<HloPassPipeline&>(pass), name, fuel);
    } else if (auto* fueled = dynamic_cast<FueledPass*>(&pass);
               fueled != nullptr && IsSamePassName(pass.name(), name)) {
      fueled->SetRewriteFuel(fuel);
      found = true;
    }
  }
  return found;
}

absl::Status SetRewriteFuel(const PassFuel& fuel, HloPassPipeline& pipeline) {
  for (const auto& [name, left] : fuel.rewrites()) {
    if (SetRewriteFuel(pipeline, name, left)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--fuel: the pipeline has no pass ", name,
                     " that counts its rewrites"));
  }
  return absl::OkStatus();
}

// InvalidArgument where the value of a flag is not a regular expression, or
// matches no pass.
absl::Status CheckExpression(absl::string_view flag, const std::string& text,
                             const std::vector<std::string>& names) {
  if (text.empty()) return absl::OkStatus();
  const RE2 expression(text, RE2::Quiet);
  if (!expression.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, ": not a regular expression: ", text, ": ",
                     expression.error()));
  }
  for (const std::string& name : names) {
    if (RE2::FullMatch(name, expression) ||
        RE2::FullMatch(absl::StrReplaceAll(name, {{"-", "_"}}), expression)) {
      return absl::OkStatus();
    }
  }
  return NoSuchPass(flag, text, names);
}

HloVerifierOpts VerifierOptions(const HloOptOptions& options) {
  HloVerifierOpts opts;
  opts.layout_sensitive = options.layout_sensitive;
  opts.allow_mixed_precision = true;
  return opts;
}

}  // namespace

absl::Status HloOptRunner::AddInstrumentations() {
  failure_ = std::make_shared<FailureRecorder>();
  pipeline_.AddInstrumentation(failure_);
  std::vector<std::string> names;
  AddPassNames(pipeline_, names);
  TF_RETURN_IF_ERROR(AddFuel(names));
  PassRecorder::Options recorder_options;
  recorder_options.seconds = options_.time;
  recorder_ = std::make_shared<PassRecorder>(recorder_options);
  pipeline_.AddInstrumentation(recorder_);
  TF_RETURN_IF_ERROR(AddExplainer());
  TF_RETURN_IF_ERROR(AddPrinting(names));
  TF_RETURN_IF_ERROR(AddDump());
  AddChecks();
  if (options_.progress) {
    pipeline_.AddInstrumentation(std::make_shared<Progress>(err_));
  }
  return absl::OkStatus();
}

absl::Status HloOptRunner::AddFuel(const std::vector<std::string>& pass_names) {
  if (options_.fuel.empty()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(std::unique_ptr<PassFuel> fuel,
                      PassFuel::Create(options_.fuel));
  TF_RETURN_IF_ERROR(CheckFuel(*fuel, pass_names));
  TF_RETURN_IF_ERROR(SetRewriteFuel(*fuel, pipeline_));
  pipeline_.AddInstrumentation(std::move(fuel));
  return absl::OkStatus();
}

absl::Status HloOptRunner::AddExplainer() {
  if (options_.explain.empty()) {
    if (options_.explain_dot.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--explain-dot needs --explain, which names the passes");
  }
  TF_ASSIGN_OR_RETURN(
      explainer_,
      PassExplainer::Create(&pipeline_, absl::StrSplit(options_.explain, ','),
                            options_.explain_dot));
  pipeline_.AddInstrumentation(explainer_);
  return absl::OkStatus();
}

absl::Status HloOptRunner::AddPrinting(
    const std::vector<std::string>& pass_names) {
  TF_RETURN_IF_ERROR(
      CheckExpression("print-before", options_.print_before, pass_names));
  TF_RETURN_IF_ERROR(
      CheckExpression("print-after", options_.print_after, pass_names));
  PrintIr::Options print;
  print.before = options_.print_before;
  print.after = options_.print_after;
  if (options_.print_after_change && print.after.empty()) print.after = ".*";
  print.only_changed = options_.print_after_change;
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<PrintIr> print_ir,
      PrintIr::Create(print, [this](absl::string_view text) { err_ << text; }));
  pipeline_.AddInstrumentation(std::move(print_ir));
  return absl::OkStatus();
}

absl::Status HloOptRunner::AddDump() {
  if (!options_.debug_options.has_value()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<DumpHlo> dump,
      DumpHlo::Create(*options_.debug_options,
                      [this](absl::string_view text) { err_ << text; }));
  dump_ = std::move(dump);
  if (dump_ != nullptr) pipeline_.AddInstrumentation(dump_);
  return absl::OkStatus();
}

void HloOptRunner::AddChecks() {
  if (options_.check_changed) {
    pipeline_.AddInstrumentation(
        std::make_shared<ChangedCheck>(ChangedCheck::Options{}));
  }
  if (options_.verify_each) {
    pipeline_.AddInstrumentation(
        std::make_shared<VerifyEach>(VerifierOptions(options_)));
  }
  if (options_.check_equivalent > 0) {
    MeaningOptions meaning;
    meaning.seeds = options_.check_equivalent;
    meaning.max_work = options_.max_equivalence_work;
    meaning.max_work_flag = "--max-equivalence-work";
    pipeline_.AddInstrumentation(std::make_shared<CheckEquivalent>(
        meaning, [this](absl::string_view text) {
          if (options_.equivalence_notes.empty()) {
            err_ << text;
          } else {
            std::ofstream(options_.equivalence_notes, std::ios::app) << text;
          }
        }));
  }
}

absl::StatusOr<std::unique_ptr<HloModule>> HloOptRunner::Run(
    HloOptInput input) {
  std::vector<std::string> warnings;
  input.parser_options.set_warnings(&warnings);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ReadInput(options_, input));
  input.parser_options.set_warnings(nullptr);
  for (const std::string& warning : warnings) err_ << warning << "\n";
  SetPartitions(input, *module);
  TF_RETURN_IF_ERROR(VerifyInput(*module, input.parser_options.file_name(),
                                 options_.layout_sensitive));
  recorder_->Start(*module, pipeline_.name());
  if (explainer_ != nullptr) explainer_->Start(*module);
  if (dump_ != nullptr) {
    TF_RETURN_IF_ERROR(dump_->Start(*module, pipeline_.name()));
  }
  absl::Status status = pipeline_.Run(module.get()).status();
  if (status.ok() && !options_.verify_each) {
    status = VerifyHloModule(module.get(), VerifierOptions(options_));
    if (!status.ok()) status = absl::InternalError(status.message());
  }
  for (absl::Status& unmet : TakeUnmetLimits(pipeline_)) {
    unmet_limits_.push_back(std::move(unmet));
  }
  if (!status.ok()) return WithReproducer(input, status);
  recorder_->Finish(*module);
  if (dump_ != nullptr) TF_RETURN_IF_ERROR(dump_->Finish(*module));
  return module;
}

// JAX counts devices beside the modules that it lowers, not in them.
void HloOptRunner::NoteDevices(const HloOptInput& input,
                               const HloModule& module) {
  if (module.config().num_partitions() > 1 || IsPartitioned(module) ||
      module.config().replica_count() > 1) {
    return;
  }
  std::vector<std::string> names;
  AddPassNames(pipeline_, names);
  const int64_t devices = DevicesOfShardings(module);
  if (devices == 1 || !absl::c_linear_search(names, "if-partitions")) return;
  err_ << input.parser_options.file_name() << ": note: shardings refer to "
       << devices << " devices, but the header declares one partition; "
       << "--num-partitions=" << devices << " partitions the module\n";
}

void HloOptRunner::SetPartitions(const HloOptInput& input, HloModule& module) {
  const int64_t partitions = options_.num_partitions;
  if (partitions == 0) {
    NoteDevices(input, module);
    return;
  }
  module.mutable_config().set_num_partitions(partitions);
  module.mutable_config().set_use_spmd_partitioning(partitions > 1);
  if (partitions > 1 && !HasShardings(module)) {
    err_ << input.parser_options.file_name()
         << ": warning: no instruction has a sharding, so each of the "
         << partitions << " devices computes the whole module\n";
  }
}

// Repeats the run up to the failed pass and writes a reproducer there.
absl::Status HloOptRunner::WithReproducer(const HloOptInput& input,
                                          const absl::Status& error) {
  if (options_.reproducer.empty() || failure_->index() < 0) return error;
  int index = failure_->index();
  std::string pass = failure_->text();
  if (dump_ != nullptr) dump_->Stop();
  auto stop = std::make_shared<StopBeforePass>(index);
  pipeline_.AddInstrumentation(stop);
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ReadInput(options_, input);
  if (!module.ok()) return error;
  SetPartitions(input, **module);
  pipeline_.Run(module->get()).status().IgnoreError();
  const std::string flags =
      options_.check_equivalent > 0
          ? absl::StrCat("--check-equivalent=", options_.check_equivalent)
          : "";
  absl::Status written = WriteFileOrStdout(
      options_.reproducer,
      MakeReproducer(pass, error, stop->module_text(), flags));
  return absl::Status(
      error.code(),
      written.ok() ? absl::StrCat(error.message(),
                                  "\n  reproducer: ", options_.reproducer)
                   : absl::StrCat(error.message(),
                                  "\n  no reproducer: ", written.message()));
}

}  // namespace xla
