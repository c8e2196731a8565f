#ifndef XLA_BACKENDS_GPU_LOWERING_DOT_SHAPE_H_
#define XLA_BACKENDS_GPU_LOWERING_DOT_SHAPE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// A dot or a convolution as a batch of matrix products, and the tiles in which
// a block computes it.
//
//   r = f32[32,56,56,64] convolution(f32[32,56,56,16] a, f32[3,3,16,64] k)
//     ->  32*56*56 rows, 64 columns, 3*3*16 contracted places; row [n, y, x] of
//         the left matrix has a[n, y + i, x + j, c] at the place [i, j, c]
//
// Groups of features are a batch of products.

namespace xla::gpu {

// Which index of the product each dimension of the operands and of the result
// is part of. An index is delinearized over its extents, slowest first.
struct DotShape {
  static constexpr int kBatch = 0, kRow = 1, kColumn = 2, kDepth = 3;
  // Dimension `part` of index `role`.
  struct Dimension {
    int role;
    int64_t part;
  };

  std::array<std::vector<int64_t>, 4> extents;
  // One for each dimension of an operand. A dimension that a window goes along
  // has two: where the window is, and the place in it; so have features in
  // groups: the group, and the place in it.
  std::vector<Dimension> sides[2];
  // The window along each dimension of a convolution's input.
  std::vector<std::optional<WindowDimension>> windows;
  std::vector<Dimension> result;  // likewise
  // The dimension of each operand and of the result that has groups, or -1, and
  // how many features a group has there.
  std::array<int64_t, 3> grouped = {-1, -1, -1}, group_size = {1, 1, 1};
  // Whether neighbors in memory differ in the contracted index, by operand,
  // and, in the result, in the row.
  bool depth_is_fast[2] = {false, false};
  bool row_is_fast = false;

  int64_t Count(int role) const;
  // The indices that the numbers of these roles stand for.
  std::array<Indices, 4> Parts(const std::array<AffineExpr, 4>& numbers,
                               const AffineExpr::Ranges& ranges) const;
  // The element of the operand that values of its `sides` tell.
  ConditionalIndices Element(int side, const Shape& operand,
                             const Indices& values,
                             const AffineExpr::Ranges& ranges) const;
  // The same of the result.
  Indices ResultElement(const Indices& values) const;
};

// Whether there is such a shape: of a convolution, where features belong
// together, or in groups that are worth a product each.
bool HasDotShape(const HloInstruction& hlo);

// Before: HasDotShape(). `body`: the instructions of the kernel; what they read
// lies in memory.
DotShape MakeDotShape(const HloInstruction& dot,
                      absl::Span<const HloInstruction* const> body);

// Sizes, all powers of two.
struct DotTile {
  int64_t rows = 1, columns = 1, depth = 1;     // of the tile
  int64_t thread_rows = 1, thread_columns = 1;  // places of a thread
  int64_t slices = 1;                           // threads of a place
  int64_t threads_down() const { return rows / thread_rows; }
  int64_t threads_across() const { return columns / thread_columns; }
};

// The largest tiles that leave several blocks for each multiprocessor.
DotTile ChooseDotTile(int64_t batch, int64_t rows, int64_t columns,
                      int64_t depth, int64_t threads);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_DOT_SHAPE_H_
