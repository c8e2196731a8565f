#ifndef XLA_HLO_TRANSFORMS_SPMD_CUSTOM_CALL_HANDLER_H_
#define XLA_HLO_TRANSFORMS_SPMD_CUSTOM_CALL_HANDLER_H_

#include <cstdint>
#include <memory>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/transforms/spmd/dot_handler.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {

// Moves the elements of `input` up along `dim` by `amount`, those beyond the
// end to the beginning: a custom call that the partitioner turns into one
// collective-permute per distance.
//
//   [0 1 2 3 4 5], amount 2 → [4 5 0 1 2 3]
std::unique_ptr<HloInstruction> CreateCustomCallSPMDInternal_RotateRight(
    HloInstruction* input, int64_t dim, int64_t amount);

// The shards of a scaled dot (whose operands' blocks have scales), as a custom
// call (xla/hlo/evaluator/block_scaled_dot.h).
class CreateShardedScaledDotFunctor final : public CreateShardedDotFunctor {
 public:
  CreateShardedScaledDotFunctor(HloCustomCallInstruction* block_scaled_dot,
                                const DotDimensionNumbers& dimension_numbers)
      : CreateShardedDotFunctor(block_scaled_dot, dimension_numbers) {}
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_CUSTOM_CALL_HANDLER_H_
