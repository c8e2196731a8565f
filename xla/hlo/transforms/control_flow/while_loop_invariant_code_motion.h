#ifndef XLA_HLO_TRANSFORMS_CONTROL_FLOW_WHILE_LOOP_INVARIANT_CODE_MOTION_H_
#define XLA_HLO_TRANSFORMS_CONTROL_FLOW_WHILE_LOOP_INVARIANT_CODE_MOTION_H_

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct WhileLoopInvariantCodeMotionOptions {
  // Maximum ratio of the bytes of a hoisted value to the bytes of its operands;
  // with expensive_only, to those of what they are recomputed from for free.
  // Negative: any.
  double size_inflation_ratio = 1;
  // Hoist only values that their consumers cannot recompute for free: products,
  // reductions, sorts and the like, and values smaller than their operands.
  bool expensive_only = true;
  // Also hoist constants, and reshapes that nothing hoisted reads.
  bool constants = false;
  bool reshapes = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("size-inflation-ratio", size_inflation_ratio,
          "maximum ratio of a hoisted value's bytes to its operands' bytes; "
          "negative for any");
    visit("expensive-only", expensive_only,
          "hoist only values that their users cannot recompute for free");
    visit("constants", constants, "hoist constants, too");
    visit("reshapes", reshapes, "hoist reshapes, too");
  }
};

// Hoists loop-invariant instructions, to compute them once before the loop.
//
//   before: w = while((0, a, b)), body: d = dot(a, b), (i + 1, a, b), … d
//   after:  d = dot(a, b)
//           w = while((0, a, b, d)), body: (i + 1, a, b, d), … d
//
// Invariant are constants, elements that pass through the loop unchanged, and
// whatever is computed from these. Invariant instructions that have other users
// in the loop and are worth it are moved, together with what they are computed
// from. Legal because they have no side effects, no order to keep, and no other
// devices to wait for; if the loop never runs, they are computed in vain. A
// loop that is read as a whole is followed by a tuple of what it had before.
//
// Leaves alone: loops without a flat state (loop_state.h), those known to run
// at most once or that are started asynchronously, constants unless asked for,
// whatever is computed from constants alone unless cheap values are hoisted,
// too, collectives, random numbers. O(instructions + values carried × elements
// of the state).
class WhileLoopInvariantCodeMotion : public HloModulePass {
 public:
  // OpenXLA's pass: hoists cheap values, too, and by default of any size.
  explicit WhileLoopInvariantCodeMotion(
      bool hoist_constants = false, bool hoist_reshapes = false,
      bool hoist_other = true,
      std::optional<float> hoist_size_inflation_ratio = std::nullopt)
      : hoist_other_(hoist_other) {
    options_.size_inflation_ratio = hoist_size_inflation_ratio.value_or(-1);
    options_.expensive_only = false;
    options_.constants = hoist_constants;
    options_.reshapes = hoist_reshapes;
  }
  explicit WhileLoopInvariantCodeMotion(
      const WhileLoopInvariantCodeMotionOptions& options)
      : options_(options) {}

  absl::string_view name() const override {
    return "while-loop-invariant-code-motion";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  WhileLoopInvariantCodeMotionOptions options_;
  bool hoist_other_ = true;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_CONTROL_FLOW_WHILE_LOOP_INVARIANT_CODE_MOTION_H_
