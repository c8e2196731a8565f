#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_EPILOGUE_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_EPILOGUE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// The elementwise instructions that follow a dot or convolution and can be
// computed with it, in order:
//
//   d = dot(x, y); a = add(d, broadcast(b)); t = tanh(a): {a, t}
//
// Each is the only reader of the one before. Their other operands are in memory
// anyway, or broadcast from there, or are such constants. The last one is no
// wider than the product: a conversion to a wider type is left to its readers.
std::vector<HloInstruction*> FindEpilogue(const HloInstruction& product);

// Those of them that can be computed on the dot's result as matrices of `dims`,
// row-major in memory as it is: other operands are arrays that lie alike,
// scalars broadcast or rows of columns; anything broadcast if the dimensions
// are the same. They read at most `max_operands` of these, constants of one
// element left out. None where the last one is only read in part.
std::vector<HloInstruction*> FindMatrixEpilogue(const HloInstruction& dot,
                                                absl::Span<const int64_t> dims,
                                                int64_t max_operands);

// The dimensions of the matrices of `dims` that those of a broadcast to the
// dot's become; nothing if it does not fit.
std::optional<std::vector<int64_t>> MatrixBroadcastDimensions(
    const HloInstruction& broadcast, absl::Span<const int64_t> dims);

// If the only reader of a dot is a transpose that exchanges rows and columns of
// its result, replaces it with the dot of exchanged operands; also across
// elementwise instructions that read no other arrays:
//
//   transpose(multiply(dot(x, y), broadcast(c))) →
//   multiply(dot(y, x), broadcast(c))
//
// Returns that dot, or `dot` itself.
absl::StatusOr<HloInstruction*> TakeInTranspose(HloInstruction* dot);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_EPILOGUE_H_
