#include "xla/backends/gpu/lowering/dot_shape.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_opcode.h"

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

std::array<Indices, 4> DotShape::Parts(const std::array<AffineExpr, 4>& numbers,
                                       const AffineExpr::Ranges& ranges) const {
  std::array<Indices, 4> parts;
  for (int role = 0; role < 4; ++role) {
    parts[role] =
        Delinearize(numbers[role].SimplifyIn(ranges), extents[role], ranges);
  }
  return parts;
}

ConditionalIndices DotShape::Element(int side, const Shape& operand,
                                     const Indices& values,
                                     const AffineExpr::Ranges& ranges) const {
  ConditionalIndices where;
  size_t next = 0;
  for (size_t d = 0; d < operand.dimensions().size(); ++d) {
    const AffineExpr value = values[next++];
    if (static_cast<int64_t>(d) == grouped[side]) {
      where.indices.push_back(value * AffineExpr(group_size[side]) +
                              values[next++]);
    } else if (side == 1 || windows.empty() || !windows[d].has_value()) {
      where.indices.push_back(value);
    } else {
      where.indices.push_back(AddWindowIndex(*windows[d], operand.dimensions(d),
                                             value, values[next++], ranges,
                                             &where.condition));
    }
  }
  where.condition = where.condition.SimplifyIn(ranges);
  return where;
}

Indices DotShape::ResultElement(const Indices& values) const {
  Indices indices;
  for (size_t next = 0; next < values.size(); ++next) {
    AffineExpr value = values[next];
    if (static_cast<int64_t>(indices.size()) == grouped[2]) {
      value = value * AffineExpr(group_size[2]) + values[++next];
    }
    indices.push_back(value);
  }
  return indices;
}

bool HasDotShape(const HloInstruction& hlo) {
  // Fewer features of a group: each element by itself is as fast.
  constexpr int64_t kMinFeatures = 8;
  if (hlo.opcode() == HloOpcode::kDot) return hlo.operand_count() == 2;
  if (hlo.opcode() != HloOpcode::kConvolution || hlo.operand_count() != 2 ||
      hlo.batch_group_count() != 1) {
    return false;
  }
  const int64_t features = hlo.shape().dimensions(
      hlo.convolution_dimension_numbers().output_feature_dimension());
  return hlo.feature_group_count() == 1 ||
         features / hlo.feature_group_count() >= kMinFeatures;
}

namespace {

// The contracted places lie as the input's fastest dimensions do, windows or
// features, so that threads that take one after the other read neighbors.
DotShape MakeConvolutionShape(const HloInstruction& hlo,
                              absl::Span<const HloInstruction* const> body) {
  DotShape shape;
  const ConvolutionDimensionNumbers& dims = hlo.convolution_dimension_numbers();
  const HloInstruction& input = *hlo.operand(0);
  const HloInstruction& kernel = *hlo.operand(1);
  const int64_t rank = hlo.shape().dimensions().size();
  const int64_t groups = hlo.feature_group_count();
  const DotShape::Dimension group = {DotShape::kBatch, 0};
  if (groups > 1) {
    shape.extents[DotShape::kBatch] = {groups};
    shape.grouped = {dims.input_feature_dimension(),
                     dims.kernel_output_feature_dimension(),
                     dims.output_feature_dimension()};
  }
  std::vector<DotShape::Dimension> result(rank);
  for (int64_t d : MemoryOrder(hlo.shape())) {
    const bool is_feature = d == dims.output_feature_dimension();
    const int role = is_feature ? DotShape::kColumn : DotShape::kRow;
    result[d] = {role, static_cast<int64_t>(shape.extents[role].size())};
    shape.extents[role].push_back(hlo.shape().dimensions(d) /
                                  (is_feature ? groups : 1));
  }
  for (int64_t d = 0; d < rank; ++d) {
    if (d == shape.grouped[2]) shape.result.push_back(group);
    shape.result.push_back(result[d]);
  }
  shape.group_size[1] = shape.group_size[2] =
      hlo.shape().dimensions(dims.output_feature_dimension()) / groups;
  const std::vector<int64_t> long_dims = LongDimensions(hlo.shape());
  shape.row_is_fast =
      !long_dims.empty() && result[long_dims.back()].role == DotShape::kRow;
  const int64_t fast = FastDimension(input, body);
  const bool feature_is_fast = fast == dims.input_feature_dimension();
  const int64_t spatial = dims.input_spatial_dimensions().size();
  // The contracted part of the features, and of each spatial dimension.
  const int64_t feature_part = feature_is_fast ? spatial : 0;
  const auto window_part = [&](int64_t k) {
    return DotShape::Dimension{DotShape::kDepth, k + (feature_is_fast ? 0 : 1)};
  };
  std::vector<int64_t>& depth = shape.extents[DotShape::kDepth];
  for (const WindowDimension& window : hlo.window().dimensions()) {
    depth.push_back(window.size());
  }
  shape.group_size[0] =
      kernel.shape().dimensions(dims.kernel_input_feature_dimension());
  depth.insert(depth.begin() + feature_part, shape.group_size[0]);
  shape.windows.resize(rank);
  for (int64_t d = 0; d < rank; ++d) {
    const auto along = absl::c_find(dims.input_spatial_dimensions(), d);
    if (d == dims.input_batch_dimension()) {
      shape.sides[0].push_back(result[dims.output_batch_dimension()]);
    } else if (d == dims.input_feature_dimension()) {
      if (groups > 1) shape.sides[0].push_back(group);
      shape.sides[0].push_back({DotShape::kDepth, feature_part});
    } else {
      // Two values make the index along a spatial dimension, the output's
      // position and the offset in the window: position * stride + offset *
      // dilation - padding, as Element() has it. The row of the left matrix
      // that belongs to an output position is therefore never stored (implicit
      // im2col).
      const int64_t k = along - dims.input_spatial_dimensions().begin();
      shape.windows[d] = hlo.window().dimensions(k);
      shape.sides[0].push_back(result[dims.output_spatial_dimensions(k)]);
      shape.sides[0].push_back(window_part(k));
    }
  }
  for (int64_t d = 0; d < rank; ++d) {
    const auto along = absl::c_find(dims.kernel_spatial_dimensions(), d);
    if (d == shape.grouped[1]) shape.sides[1].push_back(group);
    shape.sides[1].push_back(
        d == dims.kernel_output_feature_dimension()
            ? result[dims.output_feature_dimension()]
        : d == dims.kernel_input_feature_dimension()
            ? DotShape::Dimension{DotShape::kDepth, feature_part}
            : window_part(along - dims.kernel_spatial_dimensions().begin()));
  }
  shape.depth_is_fast[0] = feature_is_fast;
  const int64_t kernel_fast = FastDimension(kernel, body);
  shape.depth_is_fast[1] =
      kernel_fast >= 0 && kernel_fast != dims.kernel_output_feature_dimension();
  return shape;
}

}  // namespace

DotShape MakeDotShape(const HloInstruction& dot,
                      absl::Span<const HloInstruction* const> body) {
  if (dot.opcode() == HloOpcode::kConvolution) {
    return MakeConvolutionShape(dot, body);
  }
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
  // Larger tiles read each operand fewer times: a tile of r x c places reads (r
  // + c) / (r * c) elements per product. Tiles shrink, the longer side first,
  // only until there are enough blocks to fill a device, and never below one
  // place per thread.
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
