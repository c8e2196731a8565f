#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_DOT_STRENGTH_REDUCTION_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_DOT_STRENGTH_REDUCTION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Writes dots that are no matrix products as what they are, so that they fuse
// with what makes and reads their values.
//
// Nothing is summed up: a product of broadcast values.
//
//   before: d = f32[16,8] dot(f32[16] a, f32[8,16] b), lhs_batch_dims={0},
//           rhs_batch_dims={1}
//   after:  d = f32[16,8] multiply(broadcast(a), transpose(b))
//
// Everything is summed up but batches: a reduction. Floats of less than 32 bits
// are multiplied and summed up as f32 and rounded once, as a dot's are.
//
//   before: d = f32[16] dot(f32[16,8] a, f32[16,8] b), lhs_batch_dims={0},
//           rhs_batch_dims={0}, lhs_contracting_dims={1},
//           rhs_contracting_dims={1}
//   after:  d = f32[16] reduce(multiply(a, b), 0), dimensions={1}
//
// Dimensions of size 1 count as none. Legal because each element is the same
// sum of the same products; sums of floats may associate otherwise.
//
// Leaves alone: dots with an algorithm, of operands of two types, of types that
// no multiplication holds exactly (bf16 to f16), of pred, of dynamic or empty
// shapes, sparse ones, values in other than the default layout, and control
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
