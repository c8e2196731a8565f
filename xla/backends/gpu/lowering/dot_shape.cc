#include "xla/backends/gpu/lowering/dot_shape.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace xla::gpu {
namespace {

int64_t PowerOfTwoFrom(int64_t number) {
  int64_t power = 1;
  while (power < number) power *= 2;
  return power;
}

}  // namespace

int64_t DotShape::Count(int role) const {
  int64_t count = 1;
  for (int64_t extent : extents[role]) count *= extent;
  return count;
}

DotShape MakeDotShape(const HloInstruction& dot,
                      absl::Span<const HloInstruction* const> body) {
  DotShape shape;
  const DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  shape.result.resize(dot.shape().dimensions().size());
  // Rows and columns in the order that the result has them in memory, so that
  // neighbors are neighbors there.
  const int64_t batches = numbers.lhs_batch_dimensions_size();
  const int64_t rows = dot.operand(0)->shape().dimensions().size() - batches -
                       numbers.lhs_contracting_dimensions_size();
  for (int64_t d : MemoryOrder(dot.shape())) {
    const int role = d < batches          ? DotShape::kBatch
                     : d < batches + rows ? DotShape::kRow
                                          : DotShape::kColumn;
    shape.result[d] = {role, static_cast<int64_t>(shape.extents[role].size())};
    shape.extents[role].push_back(dot.shape().dimensions(d));
  }
  const std::vector<int64_t> long_dims = LongDimensions(dot.shape());
  shape.row_is_fast = !long_dims.empty() &&
                      shape.result[long_dims.back()].role == DotShape::kRow;
  for (int64_t d : numbers.lhs_contracting_dimensions()) {
    shape.extents[DotShape::kDepth].push_back(
        dot.operand(0)->shape().dimensions(d));
  }
  int64_t free = batches;
  for (int side : {0, 1}) {
    const auto& batch = side == 0 ? numbers.lhs_batch_dimensions()
                                  : numbers.rhs_batch_dimensions();
    const auto& contracting = side == 0 ? numbers.lhs_contracting_dimensions()
                                        : numbers.rhs_contracting_dimensions();
    const HloInstruction& operand = *dot.operand(side);
    const int64_t rank = operand.shape().dimensions().size();
    for (int64_t d = 0; d < rank; ++d) {
      const auto b = absl::c_find(batch, d);
      const auto c = absl::c_find(contracting, d);
      shape.sides[side].push_back(
          b != batch.end() ? shape.result[b - batch.begin()]
          : c != contracting.end()
              ? DotShape::Dimension{DotShape::kDepth, c - contracting.begin()}
              : shape.result[free++]);
    }
    const int64_t fast = FastDimension(operand, body);
    shape.depth_is_fast[side] =
        fast >= 0 && shape.sides[side][fast].role == DotShape::kDepth;
  }
  return shape;
}

DotTile ChooseDotTile(int64_t batch, int64_t rows, int64_t columns,
                      int64_t depth, int64_t threads) {
  constexpr int64_t kLargest = 64, kDepth = 32, kBlocks = 128;
  DotTile tile;
  tile.rows = std::min(kLargest, PowerOfTwoFrom(rows));
  tile.columns = std::min(kLargest, PowerOfTwoFrom(columns));
  tile.depth = std::min(kDepth, PowerOfTwoFrom(depth));
  const auto blocks = [&] {
    return batch * ((rows + tile.rows - 1) / tile.rows) *
           ((columns + tile.columns - 1) / tile.columns);
  };
  while (blocks() < kBlocks && tile.rows * tile.columns > threads) {
    (tile.rows > tile.columns ? tile.rows : tile.columns) /= 2;
  }
  // As square as the tile allows, which takes the fewest reads.
  while (tile.threads_down() * tile.threads_across() > threads) {
    const bool across =
        tile.threads_down() == 1 ||
        (tile.thread_columns <= tile.thread_rows && tile.threads_across() > 1);
    (across ? tile.thread_columns : tile.thread_rows) *= 2;
  }
  tile.slices = std::min(
      tile.depth, threads / (tile.threads_down() * tile.threads_across()));
  return tile;
}

}  // namespace xla::gpu
