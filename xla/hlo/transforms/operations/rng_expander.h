#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_RNG_EXPANDER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_RNG_EXPANDER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/operations/op_expander_pass.h"

namespace xla {

// Generates the numbers of rng from blocks of Philox-4x32 (Salmon et al.,
// Parallel Random Numbers: As Easy as 1, 2, 3, 2011), for backends that have no
// source of their own. The key is the seed of the module's config; the number
// of the first block is the device's state, which advances by the blocks that
// are used, so that no two instructions and no two runs draw the same numbers.
//
//   before: r = f32[2,3] rng(a, b), distribution=rng_uniform
//   after:  n = u64[2] rng-get-and-update-state(), delta=2
//           s = u64[3] concatenate({seed}, n)
//           g = (u64[3], u32[2,3]) rng-bit-generator(s), algorithm=rng_philox
//           u = convert(g.1 >> 8) * 2^-24                          in [0, 1)
//           r = a * (1 - u) + b * u, within [a, b); a where the sum rounds to b
//
// Normal numbers: a + b * sqrt(-2 log(1 - u)) * cos(2 pi v) of two such numbers
// (Box and Muller, 1958). Both are computed in f32, f64 from 53 bits if the
// result is f64. Integers: a + bits % (b - a) of 64 bits, whose bias is below
// (b - a) / 2^64; a where b = a.
//
// O(1) instructions each. Leaves alone: fusions, dynamic shapes, results with a
// sharding (the partitioner handles rng, and draws each shard), complex types,
// normal numbers that are not floats.
class RngExpander : public OpExpanderPass {
 public:
  absl::string_view name() const override { return "rng-expander"; }

 protected:
  bool InstructionMatchesPattern(HloInstruction* instruction) override;
  absl::StatusOr<HloInstruction*> ExpandInstruction(
      HloInstruction* rng) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_RNG_EXPANDER_H_
