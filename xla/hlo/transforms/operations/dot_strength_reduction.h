#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_DOT_STRENGTH_REDUCTION_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_DOT_STRENGTH_REDUCTION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Rewrites dots that are not matrix products as what they are, so that they
// fuse with the producers and readers of their values.
//
// Nothing is contracted: a product of broadcast values.
//
//   before: d = f32[16,8] dot(f32[16] a, f32[8,16] b), lhs_batch_dims={0},
//           rhs_batch_dims={1}
//   after:  d = f32[16,8] multiply(broadcast(a), transpose(b))
//
// Everything but batch dimensions is contracted: a reduction. Floats of less
// than 32 bits are multiplied and summed as f32 and rounded once, like a dot's.
//
//   before: d = f32[16] dot(f32[16,8] a, f32[16,8] b), lhs_batch_dims={0},
//           rhs_batch_dims={0}, lhs_contracting_dims={1},
//           rhs_contracting_dims={1}
//   after:  d = f32[16] reduce(multiply(a, b), 0), dimensions={1}
//
// Dimensions of size 1 are ignored. Legal because each element is the same sum
// of the same products; sums of floats may associate differently.
//
// Leaves alone: dots with an algorithm, with operands of two types, with types
// whose products no type holds exactly (bf16 to f16), of pred, of dynamic or
// empty shapes, sparse ones, values in non-default layouts, and control
// dependencies. O(instructions).
class DotStrengthReduction : public HloModulePass {
 public:
  absl::string_view name() const override { return "dot-strength-reduction"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_DOT_STRENGTH_REDUCTION_H_
