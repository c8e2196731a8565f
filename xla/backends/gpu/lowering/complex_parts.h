#ifndef XLA_BACKENDS_GPU_LOWERING_COMPLEX_PARTS_H_
#define XLA_BACKENDS_GPU_LOWERING_COMPLEX_PARTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::gpu {

// Whether a fusion, or an instruction that becomes a kernel, uses complex
// numbers.
bool HasComplex(const HloInstruction& hlo);

// Rewrites a kernel to real numbers; it becomes the root of a module that has
// nothing else. Complex operands become arrays of pairs, which is how they lie
// in memory; each complex array of the result becomes a tuple of both parts,
// which the kernel writes as pairs.
//
//   before: f = c64[4] fusion(c64[4] p), calls={ multiply(p, p) }
//   after:  f = (f32[4], f32[4]) fusion(f32[4,2] p), calls={
//             a = f32[4] reshape(slice(p), slice={[0:4], [0:1]})
//             b = f32[4] reshape(slice(p), slice={[0:4], [1:2]})
//             tuple(subtract(a*a, b*b), add(a*b, b*a)) }
//
// Reductions become reductions of two values. Unimplemented, naming opcode and
// instruction, for what has no formula on parts: sorts, windows, scatters,
// bitcast-converts and inverse functions.
absl::StatusOr<std::unique_ptr<HloModule>> WithoutComplex(
    const HloInstruction& hlo);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_COMPLEX_PARTS_H_
