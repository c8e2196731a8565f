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
// O(instructions that follow).
std::vector<HloInstruction*> FindEpilogue(const HloInstruction& product);

// The first of them that can be computed on the dot's result seen as matrices
// of `dims`, which have its elements in the same order in memory. Their other
// operands are arrays of the result's layout, broadcast scalars, or vectors
// broadcast along the last dimension; any broadcast will do if `dims` are the
// result's own. All in all they read at most `max_operands` of these, broadcast
// constants of one element not counted. Empty if nothing but slices and gathers
// reads the last one. O(FindEpilogue).
std::vector<HloInstruction*> FindMatrixEpilogue(const HloInstruction& dot,
                                                absl::Span<const int64_t> dims,
                                                int64_t max_operands);

// The attribute `dimensions` of a broadcast of the same operand to matrices of
// `dims` that gives the elements of `broadcast`, whose result has the shape of
// the dot's; nullopt if it is not known to exist.
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
