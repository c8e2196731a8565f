#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_EPILOGUE_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_EPILOGUE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// What follows a dot or convolution element by element and can be computed with
// it, in order:
//
//   d = dot(x, y); a = add(d, broadcast(b)); t = tanh(a): {a, t}
//
// Each is the only reader of the one before. What else they read is in memory
// anyway, or broadcast from there, or a constant that is. The last one is no
// wider than the product: a conversion to a wider type is left to its readers.
std::vector<HloInstruction*> FindEpilogue(const HloInstruction& product);

// Where the only reader of a dot is a transpose that exchanges rows and columns
// of its result, puts the dot with exchanged operands in its place; also where
// something elementwise that reads no other arrays is in between:
//
//   transpose(multiply(dot(x, y), broadcast(c))) →
//   multiply(dot(y, x), broadcast(c))
//
// Returns that dot, or `dot` itself.
absl::StatusOr<HloInstruction*> TakeInTranspose(HloInstruction* dot);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_EPILOGUE_H_
