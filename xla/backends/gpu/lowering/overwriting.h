#ifndef XLA_BACKENDS_GPU_LOWERING_OVERWRITING_H_
#define XLA_BACKENDS_GPU_LOWERING_OVERWRITING_H_

#include <cstdint>

#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/shape_util.h"

namespace xla::gpu {

// Whether the kernel computes the same if the operand shares memory with the
// result: each thread reads only those elements of the operand that it writes
// in the result, and reads them before it writes them.
//
//   %v[0] = copy(%p0[b, t]); %out0[b, t] = copy(%v[0])       yes
//   %v[0] = copy(%p0[t, b]); %out0[b, t] = copy(%v[0])       no
//   %v[0] = gather(%p0[0], %i[0]); %out0[0] = scatter(%v[0], %j[0])
//                     where both numbers are computed the same way: yes
//
// Positions of the array in the operand (`index`) and in the result.
bool MayOverwrite(const LoweredKernel& kernel, int64_t operand,
                  const ShapeIndex& index, const ShapeIndex& result_index);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_OVERWRITING_H_
