#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_HELD_BYTES_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_HELD_BYTES_H_

#include <cstdint>

#include "xla/backends/gpu/transforms/mof/mof_kernels.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// An estimate of the bytes that are live longer if two kernels run as one:
//
//   a = f(x)  …  b = g(y)      at b's place: x waits for it; so does a's result
//                              with its readers, if they come before b
//                              at a's place, if y is there by then: b's result
//                              waits, y goes earlier
//
// The smaller one of the two, at least 0. Places are those of the post order.
// Parameters and constants do not count: they are live anyway. O(operands *
// readers, at most kMaxReaders of each).
int64_t HeldBytes(const MofKernels& kernels, const HloInstruction& a,
                  const HloInstruction& b);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_HELD_BYTES_H_
