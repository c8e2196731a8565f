#ifndef XLA_HLO_EVALUATOR_SPMD_CUSTOM_CALLS_H_
#define XLA_HLO_EVALUATOR_SPMD_CUSTOM_CALLS_H_

#include "xla/hlo/evaluator/custom_call_registry.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {
namespace evaluator {

// Registers what the partitioner's own custom calls mean on whole arrays. Along
// the dimension, for the places j of the result:
//
//   _SPMDInternalOp_RotateRight   y[j] = x[(j - amount) mod n]
//   _SPMDInternalOp_MultiRotate   left + right + 1 results; number i is
//                                 y[j] = x[(j + left - i) mod n]
//   _SPMDInternalOp_Wrap          the last `left`, all, the first `right`
//   _SPMDInternalOp_MultiSlice    amount + 1 results; number i is the slice,
//                                 moved by i
//   _SPMDInternalOp_MultiPad      amount + 1 results of n + amount; number i is
//                                 x after amount - i times the padding value
//
//   __op$block_scaled_dot         the product of block_scaled_dot.h
//
// Attributes are in the call's opaque string, "dimension=0,amount=2";
// InvalidArgument for those that are missing or do not fit.
void RegisterSpmdCustomCalls(CustomCallRegistry& registry);

// Calls between the program of all devices and that of one, whose value depends
// on the device: into a manual region, and out of it.
bool EntersManualRegion(const HloInstruction* instruction);
bool LeavesManualRegion(const HloInstruction* instruction);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_SPMD_CUSTOM_CALLS_H_
