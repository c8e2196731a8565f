#ifndef XLA_BACKENDS_GPU_LOWERING_INDEX_MAPS_H_
#define XLA_BACKENDS_GPU_LOWERING_INDEX_MAPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

// Which element of an operand each element of a result is computed from.
//
//   t = transpose(x), dimensions={1,0}      t[i, j] = x[j, i]
//   r = f32[6] reshape(f32[2,3] x)          r[i]    = x[i / 3, i % 3]
//   p = pad(x, c), padding=1_1              p[i]    = x[i - 1] where it exists
//
// This is element by element; model/tiling/tile.h maps whole tiles: there a
// tile says on which places it depends (`along`, `indirect`), which is enough
// to count bytes; a kernel needs the place itself.
//
// Indices are expressions over names of the caller's choice; `ranges` bounds
// those names, so that divisions they decide disappear.

namespace xla::gpu {

using Indices = std::vector<AffineExpr>;

// Dimensions of an array, slowest first in memory.
std::vector<int64_t> MemoryOrder(const Shape& shape);
// Strides, in elements, of the dimensions of an array as it lies in memory.
// Arrays without a layout are row major.
std::vector<int64_t> MemoryStrides(const Shape& shape);
// The sum of indices, each as often as its stride says.
AffineExpr Linearize(const Indices& indices, absl::Span<const int64_t> strides);
// Extents of an array, the slowest in memory first; {1} for scalars.
std::vector<int64_t> MemoryExtents(const Shape& shape);
// Indices into an array of MemoryExtents(shape).
Indices MemoryIndices(const Shape& shape, const Indices& indices);

// The dimensions of more than one element, slowest first.
std::vector<int64_t> LongDimensions(const Shape& shape);
// The dimension along which neighbors in memory lie, in the array from which
// most of the value is read; -1 if there is none. `body`: instructions of the
// kernel; operands from outside lie in memory.
int64_t FastDimension(const HloInstruction& value,
                      absl::Span<const HloInstruction* const> body);

// Indices of the element at that position in memory.
Indices IndicesInMemory(const AffineExpr& number, const Shape& shape,
                        const AffineExpr::Ranges& ranges);
// Indices, in row-major order, of the element with that number.
Indices Delinearize(const AffineExpr& number, absl::Span<const int64_t> extents,
                    const AffineExpr::Ranges& ranges);

// Indices, in an array of extents `to`, of the element whose number is that of
// `indices` in one of extents `from`.
Indices SameNumber(const Indices& indices, absl::Span<const int64_t> from,
                   absl::Span<const int64_t> to,
                   const AffineExpr::Ranges& ranges);

// Whether MapIndices knows the opcode: elementwise instructions, copy,
// broadcast, reshape, bitcast, transpose, slice and reverse.
bool HasIndexMap(const HloInstruction& hlo);
// The element of operand `i` that element `indices` of the result reads.
// Scalars among the operands of an elementwise instruction have none.
Indices MapIndices(const HloInstruction& hlo, int64_t i, const Indices& indices,
                   const AffineExpr::Ranges& ranges);

// The inverse: the element of the result that element `operand_indices` of
// operand `i` becomes, where the operand has as many elements. For elementwise
// instructions, copy, reshape, bitcast and transpose.
bool HasResultMap(const HloInstruction& hlo);
Indices ResultIndices(const HloInstruction& hlo, int64_t i,
                      const Indices& operand_indices,
                      const AffineExpr::Ranges& ranges);

// An element that exists under a condition: `condition` is positive where it
// does and 0 elsewhere, a constant where that is decided. Where it holds, the
// indices are in bounds.
struct ConditionalIndices {
  AffineExpr condition = 1;
  Indices indices;
};
// The element of the padded array.
ConditionalIndices PadIndices(const HloInstruction& pad, const Indices& indices,
                              const AffineExpr::Ranges& ranges);
// The index along one dimension, of `size` elements, of a window; that it is in
// bounds becomes part of the condition.
AffineExpr AddWindowIndex(const WindowDimension& window, int64_t size,
                          const AffineExpr& index, const AffineExpr& offset,
                          const AffineExpr::Ranges& ranges,
                          AffineExpr* condition);
// The element of the input that the window reads at position `offsets` inside
// the window.
ConditionalIndices WindowIndices(const HloInstruction& reduce_window,
                                 const Indices& indices, const Indices& offsets,
                                 const AffineExpr::Ranges& ranges);

// 1 where 0 <= index < size, 0 elsewhere.
AffineExpr Inside(const AffineExpr& index, int64_t size,
                  const AffineExpr::Ranges& ranges);
// The nearest index in bounds.
AffineExpr Clamp(const AffineExpr& index, int64_t size,
                 const AffineExpr::Ranges& ranges);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_INDEX_MAPS_H_
