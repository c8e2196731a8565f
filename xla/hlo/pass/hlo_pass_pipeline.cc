#include "xla/hlo/pass/hlo_pass_pipeline.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "xla/status_macros.h"
#include "xla/xla.pb.h"

namespace xla {
namespace {

// Says in which pass of which pipeline an error arose, keeping its code and its
// payloads.
absl::Status InPass(const absl::Status& status, absl::string_view pipeline,
                    absl::string_view pass) {
  absl::Status result(
      status.code(),
      absl::StrCat(status.message(), "\n  in pass ", pass, " of ", pipeline));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

// InvalidArgument for options that both name passes to run and passes not to.
absl::Status CheckOptions(const DebugOptions& options) {
  if (options.xla_disable_hlo_passes().empty() ||
      options.xla_enable_hlo_passes_only().empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "xla_disable_hlo_passes and xla_enable_hlo_passes_only exclude each "
      "other");
}

bool Names(const google::protobuf::RepeatedPtrField<std::string>& list,
           absl::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Whether the options of the module let a pass run. Pipelines are there for
// the passes in them, and go only by their own name.
bool IsEnabled(const HloPassInterface& pass, const DebugOptions& options) {
  if (Names(options.xla_disable_hlo_passes(), pass.name())) return false;
  if (pass.IsPassPipeline()) return true;
  if (options.xla_disable_all_hlo_passes()) return false;
  return options.xla_enable_hlo_passes_only().empty() ||
         Names(options.xla_enable_hlo_passes_only(), pass.name());
}

}  // namespace

absl::Status HloPassPipeline::RunInvariantCheckers(
    HloModule* module, absl::string_view after,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  for (const auto& checker : invariant_checkers_) {
    absl::StatusOr<bool> changed = checker->Run(module, execution_threads);
    if (!changed.ok()) {
      return absl::Status(
          changed.status().code(),
          absl::StrCat(changed.status().message(), "\n  found by ",
                       checker->name(), " after ", after, " of ", name_));
    }
    TF_RET_CHECK(!*changed)
        << "invariant checker " << checker->name() << " changed the module";
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> HloPassPipeline::RunStep(
    const Step& step, HloModule* module, const Outer& context,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  HloPassInterface& pass = *step.pass;
  PassEvent event;
  event.pipeline = name_;
  event.pass = &pass;
  event.text = step.text.empty() ? pass.name() : step.text;
  event.index = (*context.next_index)++;
  event.depth = context.depth;
  for (PassInstrumentation* instrumentation : context.instrumentations) {
    if (!instrumentation->ShouldRun(event, *module)) return false;
  }
  for (PassInstrumentation* instrumentation : context.instrumentations) {
    TF_RETURN_IF_ERROR(instrumentation->BeforePass(event, *module));
  }

  HloModuleMetadata* metadata = module->metadata();
  metadata->RecordPassStart();
  TF_RETURN_IF_ERROR(metadata->set_current_pass_name(std::string(pass.name())));
  TF_RETURN_IF_ERROR(metadata->set_current_pass_pipeline_name(name_));
  TF_RETURN_IF_ERROR(metadata->set_current_pass_module_id(module->unique_id()));

  std::optional<Outer> nested;
  if (pass.IsPassPipeline()) {
    nested = context;
    ++nested->depth;
    static_cast<HloPassPipeline&>(pass).outer_ = &*nested;
  }
  if (compilation_stats_ != nullptr) compilation_stats_->StartPass(pass.name());
  absl::StatusOr<bool> changed = pass.Run(module, execution_threads);
  if (compilation_stats_ != nullptr) compilation_stats_->EndPass(pass.name());
  if (nested.has_value()) static_cast<HloPassPipeline&>(pass).outer_ = nullptr;

  if (changed.ok()) {
    TF_RETURN_IF_ERROR(metadata->set_current_pass_module_changed(*changed));
    if (*changed) module->Cleanup();
  } else {
    changed = InPass(changed.status(), name_, pass.name());
  }
  TF_RETURN_IF_ERROR(metadata->RecordPassEnd());
  for (PassInstrumentation* instrumentation : context.instrumentations) {
    TF_RETURN_IF_ERROR(instrumentation->AfterPass(event, *module, changed));
  }
  return changed;
}

absl::StatusOr<bool> HloPassPipeline::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  int first_index = 0;
  Outer context;
  if (outer_ != nullptr) context = *outer_;
  if (context.next_index == nullptr) context.next_index = &first_index;
  for (const auto& instrumentation : instrumentations_) {
    context.instrumentations.push_back(instrumentation.get());
  }

  // A copy: passes may replace the config.
  const DebugOptions options = module->config().debug_options();
  TF_RETURN_IF_ERROR(CheckOptions(options));
  HloModuleMetadata* metadata = module->metadata();
  metadata->RecordPassStart();
  TF_RETURN_IF_ERROR(metadata->set_current_pass_name("pipeline-start"));
  TF_RETURN_IF_ERROR(metadata->set_current_pass_pipeline_name(name_));
  TF_RETURN_IF_ERROR(metadata->set_current_pass_module_id(module->unique_id()));
  TF_RETURN_IF_ERROR(metadata->set_current_pass_module_changed(false));
  TF_RETURN_IF_ERROR(metadata->RecordPassEnd());

  TF_RETURN_IF_ERROR(
      RunInvariantCheckers(module, "the start", execution_threads));
  bool changed = false;
  bool started = options.xla_run_hlo_passes_starting_from().empty();
  for (const Step& step : passes_) {
    started |= step.pass->name() == options.xla_run_hlo_passes_starting_from();
    if (!started && !step.pass->IsPassPipeline()) continue;
    if (!IsEnabled(*step.pass, options)) continue;
    TF_ASSIGN_OR_RETURN(bool pass_changed,
                        RunStep(step, module, context, execution_threads));
    if (!pass_changed) continue;
    changed = true;
    TF_RETURN_IF_ERROR(
        RunInvariantCheckers(module, step.pass->name(), execution_threads));
  }
  return changed;
}

}  // namespace xla
