#ifndef XLA_HLO_TRANSFORMS_CONTROL_FLOW_WHILE_LOOP_SIMPLIFIER_H_
#define XLA_HLO_TRANSFORMS_CONTROL_FLOW_WHILE_LOOP_SIMPLIFIER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Removes loops that run at most once, and duplicate elements of loop state.
//
//   before: w = while((0, x)), condition: i < 1, body: (i + 1, f(x))
//   after:  (0 + 1, f(x))
//
//   before: w = while((0, x)), condition: i < 0     after: (0, x)
//
//   before: w = while((0, x)), body: (i + 1, x)     after: … x
//           … get-tuple-element(w), index=1
//
//   before: w = while((0, 0)), body: (i + 1, j + 1), reads i and j
//   after:  the same, reads i alone
//
// A loop that never runs is replaced with its initial state, one that runs once
// with its body. Elements that pass through the loop unchanged are read from
// the initial state. Of elements that start and stay equal, one is read; the
// others are then dead, and hlo-module-dce removes them. Legal because trip
// counts are known exactly (ComputeWhileLoopTripCount), and conditions compute
// nothing but a predicate.
//
// Leaves alone: loops whose condition has side effects, and those that send or
// receive, whose channels are made for a loop; buffers that are handed through,
// which have one owner. The last rule is for loops with
// a flat state (loop_state.h). O(instructions + pairs of elements of a state
// with equal initial values).
class WhileLoopSimplifier : public HloModulePass {
 public:
  absl::string_view name() const override { return "simplify-while-loops"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_CONTROL_FLOW_WHILE_LOOP_SIMPLIFIER_H_
