#ifndef XLA_BACKENDS_GPU_LOWERING_DOT_SHAPE_H_
#define XLA_BACKENDS_GPU_LOWERING_DOT_SHAPE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/hlo/ir/hlo_instruction.h"

// A dot as a batch of products of matrices, and how a block goes about one.

namespace xla::gpu {

// What the dimensions of operands and result stand for: each of these numbers
// delinearizes over its extents, the slowest first.
struct DotShape {
  static constexpr int kBatch = 0, kRow = 1, kColumn = 2, kDepth = 3;
  // The dimension `part` of the number `role`.
  struct Dimension {
    int role;
    int64_t part;
  };

  std::array<std::vector<int64_t>, 4> extents;
  std::vector<Dimension> sides[2];  // of each dimension of an operand
  std::vector<Dimension> result;
  // Neighbors in memory, of each operand, differ in the contracted place; and
  // of the result in the row.
  bool depth_is_fast[2] = {false, false};
  bool row_is_fast = false;

  int64_t Count(int role) const;
};

// `body`: the instructions of the kernel; what they read lies in memory.
DotShape MakeDotShape(const HloInstruction& dot,
                      absl::Span<const HloInstruction* const> body);

// Sizes, all of them powers of two.
struct DotTile {
  int64_t rows = 1, columns = 1, depth = 1;     // of the tile
  int64_t thread_rows = 1, thread_columns = 1;  // places of a thread
  int64_t slices = 1;                           // threads of a place
  int64_t threads_down() const { return rows / thread_rows; }
  int64_t threads_across() const { return columns / thread_columns; }
};

// Tiles as large as leaves some blocks for each multiprocessor.
DotTile ChooseDotTile(int64_t batch, int64_t rows, int64_t columns,
                      int64_t depth, int64_t threads);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_DOT_SHAPE_H_
