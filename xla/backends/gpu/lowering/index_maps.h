#ifndef XLA_BACKENDS_GPU_LOWERING_INDEX_MAPS_H_
#define XLA_BACKENDS_GPU_LOWERING_INDEX_MAPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

// Which element of an operand an element of a result is made from.
//
//   t = transpose(x), dimensions={1,0}      t[i, j] = x[j, i]
//   r = f32[6] reshape(f32[2,3] x)          r[i]    = x[i / 3, i % 3]
//   p = pad(x, c), padding=1_1              p[i]    = x[i - 1] where it exists
//
// Element by element, where model/tiling/tile.h says the same of whole tiles:
// a tile knows on which places it depends (`along`, `indirect`), which is
// enough to count bytes; a kernel needs the place itself.
//
// Indices are expressions over whatever names the caller has; `ranges` bounds
// those names, so that divisions they decide disappear.

namespace xla::gpu {

using Indices = std::vector<AffineExpr>;

// Dimensions of an array, the slowest in memory first.
std::vector<int64_t> MemoryOrder(const Shape& shape);
// Strides, in elements, of the dimensions of an array as it lies in memory.
// Arrays without a layout are row major.
std::vector<int64_t> MemoryStrides(const Shape& shape);
// Extents of an array, the slowest in memory first; {1} for scalars.
std::vector<int64_t> MemoryExtents(const Shape& shape);
// Indices into an array of MemoryExtents(shape).
Indices MemoryIndices(const Shape& shape, const Indices& indices);

// The slowest dimensions first, those of one element left out.
std::vector<int64_t> LongDimensions(const Shape& shape);
// The dimension in which neighbors in memory differ, in the array that most of
// the value is read from; -1: there is none. `body`: instructions of the
// kernel; what they read lies in memory.
int64_t FastDimension(const HloInstruction& value,
                      absl::Span<const HloInstruction* const> body);

// Indices of the element with that number in memory.
Indices IndicesInMemory(const AffineExpr& number, const Shape& shape,
                        const AffineExpr::Ranges& ranges);
// Indices in row-major order of the element with that number.
Indices Delinearize(const AffineExpr& number, absl::Span<const int64_t> extents,
                    const AffineExpr::Ranges& ranges);

// Whether MapIndices knows the opcode: elementwise instructions, copy,
// broadcast, reshape, bitcast, transpose, slice and reverse.
bool HasIndexMap(const HloInstruction& hlo);
// The element of operand `i` that element `indices` of the result reads.
// Scalars among the operands of an elementwise instruction have none.
Indices MapIndices(const HloInstruction& hlo, int64_t i, const Indices& indices,
                   const AffineExpr::Ranges& ranges);

// The way back: the element of the result that element `operand_indices` of
// operand `i`, an array of as many elements, becomes. Of elementwise
// instructions, copy, reshape, bitcast and transpose.
bool HasResultMap(const HloInstruction& hlo);
Indices ResultIndices(const HloInstruction& hlo, int64_t i,
                      const Indices& operand_indices,
                      const AffineExpr::Ranges& ranges);

// An element that is there under a condition: `condition` is positive where it
// is and 0 elsewhere, a constant where that is decided. The indices are within
// the operand where it holds.
struct ConditionalIndices {
  AffineExpr condition = 1;
  Indices indices;
};
// The element of the padded array.
ConditionalIndices PadIndices(const HloInstruction& pad, const Indices& indices,
                              const AffineExpr::Ranges& ranges);
// That of a window along one dimension, of `size` elements: the index there;
// that it is inside becomes a part of the condition.
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
// The nearest index that is inside.
AffineExpr Clamp(const AffineExpr& index, int64_t size,
                 const AffineExpr::Ranges& ranges);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_INDEX_MAPS_H_
