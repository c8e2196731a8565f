#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_WHILE_LOOP_ALL_REDUCE_CODE_MOTION_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_WHILE_LOOP_ALL_REDUCE_CODE_MOTION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Adds up the parts of each device over the iterations of a loop, and adds
// those sums up over the devices once, after the loop: gradients of several
// batches.
//
//   before: body: a = s[1]; r = all-reduce(x), to_apply=sum
//                 ROOT (i + 1, a + r)
//           w = while((0, a0)); … w[1]
//   after:  body: a = s[1]; ROOT (i + 1, a + x)
//           w = while((0, zeros)); … a0 + all-reduce(w[1])
//
// Legal because sums may be taken in any order (floats are rounded
// differently), and because devices of a group run as many iterations as each
// other: they would wait for each other in the body.
//
// Leaves alone: all-reduces of several operands, of another type than the sum,
// or with other readers; control dependencies and shardings; sums that the
// body, the condition or a reader of the whole state reads otherwise;
// predicates, and types without a zero. O(instructions).
class WhileLoopAllReduceCodeMotion : public HloModulePass {
 public:
  absl::string_view name() const override {
    return "while-loop-all-reduce-code-motion";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_WHILE_LOOP_ALL_REDUCE_CODE_MOTION_H_
