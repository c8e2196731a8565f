#ifndef XLA_HLO_TRANSFORMS_SPMD_CUSTOM_CALL_HANDLER_H_
#define XLA_HLO_TRANSFORMS_SPMD_CUSTOM_CALL_HANDLER_H_

#include <cstdint>
#include <memory>

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::spmd {

// The elements of `input` moved up along `dim` by `amount`, those beyond the
// end to the beginning: a custom call that the partitioner turns into one
// collective-permute per distance.
//
//   [0 1 2 3 4 5], amount 2 → [4 5 0 1 2 3]
std::unique_ptr<HloInstruction> CreateCustomCallSPMDInternal_RotateRight(
    HloInstruction* input, int64_t dim, int64_t amount);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_CUSTOM_CALL_HANDLER_H_
