#ifndef XLA_BACKENDS_GPU_MODEL_COST_COALESCING_ANALYSIS_H_
#define XLA_BACKENDS_GPU_MODEL_COST_COALESCING_ANALYSIS_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Whether neighboring threads, which compute neighboring elements of the
// result, read neighboring elements of operand `i`, or the same one: then the
// device reads whole transactions. A thread loops over what a reduction reads
// for one element of its result.
//
//   t = f32[64,32]{1,0} transpose(f32[32,64]{1,0} x), dimensions={1,0}
//   → false: t[i,j] and t[i,j+1] are x[j,i] and x[j+1,i], 256 bytes apart
//   b = f32[64,32]{1,0} broadcast(f32[64] y), dimensions={0}
//   → true: b[i,j] and b[i,j+1] are both y[i]
//
// Only layouts matter: the position, in the operand, of the dimension that is
// minormost in the result. Dimensions of size 1 are ignored. O(rank).
bool IsReadCoalesced(const HloInstruction& instruction, int64_t i);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_COALESCING_ANALYSIS_H_
