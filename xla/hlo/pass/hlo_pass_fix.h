#ifndef XLA_HLO_PASS_HLO_PASS_FIX_H_
#define XLA_HLO_PASS_HLO_PASS_FIX_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/module_fingerprint.h"

namespace xla {

// Repeats a pass until it changes nothing.
//
//   pipeline.AddPass<HloPassFix<TupleSimplifier>>();
//
// Ends after kIterationLimit rounds with a warning; Run then answers that
// nothing changed, so that a loop around it that waits for no change ends too.
// Only under xla_unsupported_crash_on_hlo_pass_silent_hlo_change, where such an
// answer is an error, or on demand does it tell of the change. With cycle
// detection on, a round that leaves a module seen before (the pass undoes its
// own work) ends it earlier, with a warning too; each round then costs one
// print of the module.
template <typename Pass, int kIterationLimit = 25>
class HloPassFix : public Pass {
 public:
  using RunState = HloPassInterface::RunState;

  template <typename... Args>
  explicit HloPassFix(Args&&... args) : Pass(std::forward<Args>(args)...) {}

  // The same with another cap on the rounds.
  template <typename... Args>
  static std::unique_ptr<HloPassFix> Create(int iteration_limit,
                                            Args&&... args) {
    auto pass = std::make_unique<HloPassFix>(std::forward<Args>(args)...);
    pass->iteration_limit_ = iteration_limit;
    return pass;
  }

  // For callers that hold passes to what they answer, as ChangedCheck does.
  void set_tell_of_change_at_limit(bool tell) {
    tell_of_change_at_limit_ = tell;
  }

  void set_detect_cycles(bool detect_cycles) { detect_cycles_ = detect_cycles; }

  using Pass::Run;

  absl::StatusOr<bool> Run(HloModule* module,
                           const absl::flat_hash_set<absl::string_view>&
                               execution_threads = {}) override {
    RunState state(module);
    absl::Status status = RunToFixPoint(module, &state, execution_threads);
    if (!status.ok()) return status;
    return !state.changed.empty() && TellsOfChange(*module, state);
  }

  // Nested in another fixed point: one outer round is a whole inner fixed
  // point.
  absl::Status RunOnChangedComputations(
      HloModule* module, RunState* outer_run_state,
      const absl::flat_hash_set<absl::string_view>& execution_threads)
      override {
    RunState state;
    state.changed_last_iteration = outer_run_state->changed_last_iteration;
    absl::Status status = RunToFixPoint(module, &state, execution_threads);
    if (!status.ok()) return status;
    if (!TellsOfChange(*module, state)) return absl::OkStatus();
    outer_run_state->changed_this_iteration.insert(state.changed.begin(),
                                                   state.changed.end());
    return absl::OkStatus();
  }

 private:
  bool TellsOfChange(const HloModule& module, const RunState& state) const {
    const bool capped = state.iteration >= iteration_limit_ &&
                        !state.changed_last_iteration.empty();
    return !capped || tell_of_change_at_limit_ ||
           module.config()
               .debug_options()
               .xla_unsupported_crash_on_hlo_pass_silent_hlo_change();
  }

  absl::Status RunToFixPoint(
      HloModule* module, RunState* state,
      const absl::flat_hash_set<absl::string_view>& execution_threads) {
    absl::flat_hash_set<uint64_t> seen;
    if (detect_cycles_) seen.insert(ModuleFingerprint(*module));
    while (!state->changed_last_iteration.empty()) {
      if (state->iteration == iteration_limit_) {
        LOG(WARNING) << Pass::name() << " on module " << module->name()
                     << " is at no fixed point after " << iteration_limit_
                     << " rounds; going on with what there is";
        break;
      }
      // The pass itself, not an override that would come back here.
      absl::StatusOr<bool> changed = Pass::Run(module, execution_threads);
      if (!changed.ok()) return changed.status();
      if (*changed) {
        for (HloComputation* computation : module->computations()) {
          state->changed_this_iteration.insert(computation);
        }
      }
      state->IncrementIteration();
      if (*changed && detect_cycles_ &&
          !seen.insert(ModuleFingerprint(*module)).second) {
        LOG(WARNING) << Pass::name() << " on module " << module->name()
                     << " came back to an earlier module after "
                     << state->iteration << " rounds";
        break;
      }
    }
    return absl::OkStatus();
  }

  int iteration_limit_ = kIterationLimit;
  bool detect_cycles_ = false;
  bool tell_of_change_at_limit_ = false;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_HLO_PASS_FIX_H_
