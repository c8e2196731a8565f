#ifndef XLA_BACKENDS_GPU_LOWERING_CHECK_LOWERED_H_
#define XLA_BACKENDS_GPU_LOWERING_CHECK_LOWERED_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Whether our own kernels compute the instruction, or every instruction of the
// fusion, and of all computations that these call, as far as that depends on
// element types and parameters: whoever fuses one that they do not compute
// leaves the whole kernel without a lowering.
//
//   f32[8] reduce-precision(p), …         -> OK
//   f8e4m3fn[8] reduce-precision(p), …    -> Unimplemented, as of LowerLoop
//   f8e3m4[8] add(p, q)                   -> the same
//   map(p), to_apply={ s64[] mulhi(a, a) } -> the same
//   all-reduce(p)                         -> OK: no fusion takes it
//
// O(instructions).
absl::Status CheckIsLowered(const HloInstruction& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_CHECK_LOWERED_H_
