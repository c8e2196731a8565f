#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NESTED_REDUCTIONS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NESTED_REDUCTIONS_H_

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/fusion_decision.h"

namespace xla::gpu {

// Forbids kernels in which the consumer reduces what a long reduction of the
// producer makes, or fewer elements:
//
//   producer: sums = f32[192] reduce(f32[6272,192] x), dimensions={0}
//   consumer: norm = f32[] reduce(multiply(sums, sums)), dimensions={0}
//
// No block of a kernel waits for what others sum up, so that a thread that adds
// up the norm would compute whole sums by itself. A softmax is no such thing,
// nor are the squares of x - mean(x): they reduce more elements than the
// reduction before has results, wherever these are broadcast.
// O(instructions of both).
FusionDecision CheckNestedReductions(const HloInstruction& producer,
                                     const HloInstruction& consumer);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NESTED_REDUCTIONS_H_
