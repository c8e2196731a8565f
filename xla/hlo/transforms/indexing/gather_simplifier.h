#ifndef XLA_HLO_TRANSFORMS_INDEXING_GATHER_SIMPLIFIER_H_
#define XLA_HLO_TRANSFORMS_INDEXING_GATHER_SIMPLIFIER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Rewrites gathers into the canonical form that XLA:GPU has an emitter for:
// rows of index vectors, whose component i indexes dimension i, and one window
// of the operand per row in the result.
//
//   before: g = f32[5,2] gather(f32[7,3] p, s32[2] i), offset_dims={0},
//               collapsed_slice_dims={1}, start_index_map={1},
//               index_vector_dim=1, slice_sizes={5,1}
//   after:  t = f32[3,7] transpose(p), dimensions={1,0}
//           r = s32[2,1] reshape(i)
//           h = f32[2,1,5] gather(t, r), offset_dims={1,2},
//               start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}
//           g = f32[5,2] transpose(f32[2,5] reshape(h)), dimensions={1,0}
//
// Batching dimensions become components of the index vectors. Transposes and
// reshapes that change nothing are left out; results keep their layouts. Leaves
// alone: gathers in fusions, with empty results or index vectors, of dynamic
// shapes. O(1) instructions per gather.
class GatherSimplifier : public HloModulePass {
 public:
  absl::string_view name() const override { return "gather-simplifier"; }

  // Whether the gather has that form.
  static bool IsSimplifiedGather(const HloGatherInstruction* gather);

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_INDEXING_GATHER_SIMPLIFIER_H_
