#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_STOCHASTIC_CONVERT_DECOMPOSER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_STOCHASTIC_CONVERT_DECOMPOSER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/operations/op_expander_pass.h"

namespace xla {

// Decomposes stochastic-converts to integers into arithmetic, for backends
// whose kernels do not support them.
//
//   before: r = s8[4] stochastic-convert(f32[4] x, u32[4] bits)
//   after:  m = floor(|x|)
//           up = bits < convert(ceil((|x| - m) * 2^32))
//           r = convert(x < 0 ? -(m + up) : m + up)
//
// Each step is exact, so that x rounds up for the share of the bits that equals
// its fraction. Types of fewer than 32 bits are computed in f32. Out-of-range
// values, infinities and NaN behave as in a convert. Leaves alone: float
// results, dynamic shapes, fusions. O(1) instructions each.
class StochasticConvertDecomposer : public OpExpanderPass {
 public:
  absl::string_view name() const override {
    return "stochastic-convert-decomposer";
  }

 protected:
  bool InstructionMatchesPattern(HloInstruction* instruction) override;
  absl::StatusOr<HloInstruction*> ExpandInstruction(
      HloInstruction* convert) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_STOCHASTIC_CONVERT_DECOMPOSER_H_
