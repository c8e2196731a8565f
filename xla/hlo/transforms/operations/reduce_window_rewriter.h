#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_REDUCE_WINDOW_REWRITER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_REDUCE_WINDOW_REWRITER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/operations/op_expander_pass.h"

namespace xla {

// Computes running sums (products, minima, maxima) of more than 16 elements in
// blocks of 16: those within each block, plus those of the blocks before.
//
//   before: y = s32[32] reduce-window(x, 0), window={size=32 pad=31_0}
//   after:  b = s32[2,16] reduce-window(s32[2,16] reshape(x), 0),
//                         window={size=1x16 pad=0_0x15_0}
//           t = s32[2] reshape(slice(b)), slice={[0:2], [15:16]}
//           p = slice(s32[3] reduce-window(t, 0)), window={size=2 pad=2_0}
//           y = reshape(broadcast(p), dimensions={0} + b)
//
// More than 16 blocks are summed in the same way, so a window of n elements
// costs 16 log n operations for each, not n. Scans that are associative are
// such windows, too; their carry is the last sum. Rounds floats differently.
//
// Leaves alone: other reducers, initial values that are not the identity,
// several results, sums of another type, dynamic shapes, other layouts than the
// default, control dependencies. O(log n) instructions for each.
class ReduceWindowRewriter : public OpExpanderPass {
 public:
  absl::string_view name() const override { return "reduce-window-rewriter"; }

 protected:
  bool InstructionMatchesPattern(HloInstruction* instruction) override;
  absl::StatusOr<HloInstruction*> ExpandInstruction(
      HloInstruction* instruction) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_REDUCE_WINDOW_REWRITER_H_
