#ifndef XLA_HLO_TRANSFORMS_INDEXING_SCATTER_SIMPLIFIER_H_
#define XLA_HLO_TRANSFORMS_INDEXING_SCATTER_SIMPLIFIER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Rewrites scatters into the canonical form that XLA:GPU has an emitter for:
// rows of index vectors, whose component i indexes dimension i, and one window
// of updates per row.
//
//   before: s = f32[7,3] scatter(p, s32[2] i, f32[7,2] u),
//               update_window_dims={0}, inserted_window_dims={1},
//               scatter_dims_to_operand_dims={1}, index_vector_dim=1
//   after:  t = f32[3,7] transpose(p), dimensions={1,0}
//           v = f32[2,1,7] reshape(f32[2,7] transpose(u))
//           r = f32[3,7] scatter(t, s32[2,1] reshape(i), v),
//               update_window_dims={1,2}, inserted_window_dims={},
//               scatter_dims_to_operand_dims={0}, index_vector_dim=1
//           s = f32[7,3] transpose(r), dimensions={1,0}
//
// A scatter that adds to zeros what is then added to a value adds to that value
// instead, as in the gradient of a loss that picks a logit per row; floats are
// rounded differently where several updates meet (those of less than 32 bits
// are left alone there), and -0.0 stays what it is:
//
//   before: s = scatter(zeros, i, u), to_apply=sum; a = add(s, y)
//   after:  a = scatter(y, i, u), to_apply=sum
//
// Batching dimensions become components of the index vectors. Transposes and
// reshapes that change nothing are left out; results keep their layouts. Leaves
// alone: scatters in fusions, with empty operands, indices or updates, of
// dynamic shapes; of the second rule, sums of predicates, of several operands,
// that something else reads, or with control dependencies. O(operands)
// instructions per scatter.
class ScatterSimplifier : public HloModulePass {
 public:
  absl::string_view name() const override { return "scatter-simplifier"; }

  // Whether the scatter has that form.
  static bool IsSimplifiedScatter(const HloScatterInstruction* scatter);

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_INDEXING_SCATTER_SIMPLIFIER_H_
