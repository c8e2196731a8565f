#include "xla/hlo/pass/hlo_pass_interface.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace xla {

HloPassInterface::RunState::RunState(HloModule* module) {
  for (HloComputation* computation : module->computations()) {
    changed_last_iteration.insert(computation);
  }
}

void HloPassInterface::RunState::IncrementIteration() {
  changed.insert(changed_this_iteration.begin(), changed_this_iteration.end());
  changed_last_iteration = std::move(changed_this_iteration);
  changed_this_iteration.clear();
  ++iteration;
}

absl::StatusOr<bool> HloPassInterface::Run(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  return RunImpl(module, execution_threads);
}

absl::StatusOr<bool> HloPassInterface::Run(
    std::unique_ptr<HloModule>& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  return Run(module.get(), execution_threads);
}

absl::Status HloPassInterface::RunOnChangedComputations(
    HloModule* module, RunState* run_state,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  absl::StatusOr<bool> changed = Run(module, execution_threads);
  if (!changed.ok()) return changed.status();
  if (*changed) {
    auto computations = module->computations(execution_threads);
    run_state->changed_this_iteration.insert(computations.begin(),
                                             computations.end());
  }
  return absl::OkStatus();
}

void HloPassInterface::SetKVMetric(HloModule* module, const std::string& key,
                                   int64_t value) {
  // Outside a pipeline there is no entry to attach the figure to.
  module->metadata()->set_key_value_metric(key, value).IgnoreError();
}

absl::StatusOr<bool> HloPassInterface::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  return absl::UnimplementedError(
      absl::StrCat("pass ", name(), " has neither Run nor RunImpl"));
}

}  // namespace xla
