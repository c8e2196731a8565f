#include "xla/shape_bitcast.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/permutation_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla {

namespace {

bool HaveSameLayoutApartFromOrder(const Shape& a, const Shape& b) {
  if (a.layout().is_plain() && b.layout().is_plain()) return true;
  Layout without_order_a = a.layout();
  Layout without_order_b = b.layout();
  without_order_a.clear_minor_to_major();
  without_order_b.clear_minor_to_major();
  return Layout::Equal().IgnoreMemorySpace()(without_order_a, without_order_b);
}

bool HasZeroElements(const Shape& shape) {
  return absl::c_linear_search(shape.dimensions(), 0);
}

// Number of elements; wraps around where a valid shape has no such number.
uint64_t Elements(const Shape& shape) {
  uint64_t product = 1;
  for (int64_t size : shape.dimensions()) product *= size;
  return product;
}

// A dimension in logical order, most minor first, with its stride in memory.
struct Extent {
  int64_t size;
  int64_t stride;
  bool operator==(const Extent& o) const {
    return size == o.size && stride == o.stride;
  }
};
using Extents = absl::InlinedVector<Extent, 6>;

// The map from logical (row-major) positions to positions in memory as the
// shortest list of extents: without dimensions of size 1, and with neighbors
// merged where the outer stride continues the inner dimension. Two arrays have
// the same map if and only if these lists are equal.
Extents MemoryMap(const Shape& shape) {
  const int64_t rank = shape.dimensions_size();
  DimensionVector strides(rank);
  int64_t stride = 1;
  for (int64_t dim : shape.layout().minor_to_major()) {
    strides[dim] = stride;
    stride *= shape.dimensions(dim);
  }
  Extents extents;
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    const int64_t size = shape.dimensions(dim);
    if (size == 1) continue;
    if (!extents.empty() &&
        extents.back().stride * extents.back().size == strides[dim]) {
      extents.back().size *= size;
    } else {
      extents.push_back({size, strides[dim]});
    }
  }
  return extents;
}

// With tiles: the same dimensions in the same order in memory, but for those of
// size 1 that no tile covers.
bool TiledReshapeIsBitcast(const Shape& a, const Shape& b) {
  if (!HaveSameLayoutApartFromOrder(a, b)) return false;
  if (!a.layout().split_configs().empty()) {
    return absl::c_equal(a.dimensions(), b.dimensions()) &&
           a.layout().minor_to_major() == b.layout().minor_to_major();
  }
  size_t tile_rank = 0;
  for (const Tile& tile : a.layout().tiles()) {
    tile_rank = std::max(tile_rank, tile.dimensions().size());
  }
  auto memory_order = [&](const Shape& shape) {
    DimensionVector sizes;  // Most minor first.
    for (int64_t dim : shape.layout().minor_to_major()) {
      const int64_t size = shape.dimensions(dim);
      if (size != 1 || sizes.size() < tile_rank) sizes.push_back(size);
    }
    return sizes;
  };
  auto logical_order = [](const Shape& shape) {
    DimensionVector positions;
    absl::InlinedVector<std::pair<int64_t, int64_t>, 6> dims;
    int64_t position = 0;
    for (int64_t dim : shape.layout().minor_to_major()) {
      if (shape.dimensions(dim) != 1) dims.push_back({dim, position++});
    }
    absl::c_sort(dims);
    for (const auto& dim : dims) positions.push_back(dim.second);
    return positions;
  };
  return memory_order(a) == memory_order(b) &&
         logical_order(a) == logical_order(b);
}

bool TypesMatch(const Shape& a, const Shape& b, bool ignore_element_type) {
  return ignore_element_type || a.element_type() == b.element_type();
}

// The dimensions in memory order, most major first.
std::vector<int64_t> MajorToMinor(const Shape& shape) {
  absl::Span<const int64_t> order = shape.layout().minor_to_major();
  return std::vector<int64_t>(order.rbegin(), order.rend());
}

}  // namespace

bool ShapeBitcast::TransposeIsBitcast(
    const Shape& input_shape, const Shape& output_shape,
    absl::Span<const int64_t> dimension_mapping, bool ignore_element_type) {
  CHECK(input_shape.has_layout() && output_shape.has_layout());
  if (!TypesMatch(input_shape, output_shape, ignore_element_type) ||
      !HaveSameLayoutApartFromOrder(input_shape, output_shape)) {
    return false;
  }
  const int64_t rank = input_shape.dimensions_size();
  if (output_shape.dimensions_size() != rank) return false;
  for (int64_t i = 0; i < rank; ++i) {
    if (dimension_mapping[output_shape.layout().minor_to_major(i)] !=
        input_shape.layout().minor_to_major(i)) {
      return false;
    }
  }
  return true;
}

bool ShapeBitcast::ReshapeIsBitcast(const Shape& input_shape,
                                    const Shape& output_shape,
                                    bool ignore_element_type) {
  CHECK(input_shape.IsArray() && output_shape.IsArray());
  CHECK(input_shape.has_layout() && output_shape.has_layout());
  if (!TypesMatch(input_shape, output_shape, ignore_element_type)) {
    return false;
  }
  if (!input_shape.layout().is_plain() || !output_shape.layout().is_plain()) {
    const auto has_blocks = [](const Shape& shape) {
      return !shape.layout().tiles().empty() ||
             !shape.layout().split_configs().empty();
    };
    if (has_blocks(input_shape) || has_blocks(output_shape)) {
      return TiledReshapeIsBitcast(input_shape, output_shape);
    }
    if (!HaveSameLayoutApartFromOrder(input_shape, output_shape)) return false;
  }
  if (input_shape.is_unbounded_dynamic() ||
      output_shape.is_unbounded_dynamic()) {
    return input_shape.dimensions() == output_shape.dimensions() &&
           input_shape.layout().minor_to_major() ==
               output_shape.layout().minor_to_major();
  }
  if (HasZeroElements(input_shape)) return HasZeroElements(output_shape);
  return MemoryMap(input_shape) == MemoryMap(output_shape);
}

std::optional<std::vector<int64_t>>
ShapeBitcast::DeduceTransposeDimensionsForBitcast(const Shape& input_shape,
                                                  const Shape& output_shape) {
  const int64_t rank = input_shape.dimensions_size();
  if (output_shape.dimensions_size() != rank ||
      !HaveSameLayoutApartFromOrder(input_shape, output_shape)) {
    return std::nullopt;
  }
  std::vector<int64_t> transpose_dims(rank);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t input_dim = input_shape.layout().minor_to_major(i);
    const int64_t output_dim = output_shape.layout().minor_to_major(i);
    if (input_shape.dimensions(input_dim) !=
        output_shape.dimensions(output_dim)) {
      return std::nullopt;
    }
    transpose_dims[output_dim] = input_dim;
  }
  return transpose_dims;
}

bool ShapeBitcast::IsReshapeOrTransposeBitcast(const Shape& a, const Shape& b,
                                               bool ignore_element_type) {
  if (!TypesMatch(a, b, ignore_element_type)) return false;
  return ReshapeIsBitcast(a, b, /*ignore_element_type=*/true) ||
         DeduceTransposeDimensionsForBitcast(a, b).has_value();
}

bool ShapeBitcast::IsDecomposableBitcast(const Shape& input_shape,
                                         const Shape& output_shape) {
  return input_shape.IsArray() && output_shape.IsArray() &&
         input_shape.has_layout() && output_shape.has_layout() &&
         input_shape.element_type() == output_shape.element_type() &&
         Elements(input_shape) == Elements(output_shape);
}

// Any bitcast between arrays with as many elements is a transpose to the order
// in memory, a reshape, and a transpose from the order in memory; the
// transposes are bitcasts themselves.
std::optional<ShapeBitcast::BitcastDecompositionTrt>
ShapeBitcast::DecomposeBitcastToTrt(const Shape& input_shape,
                                    const Shape& output_shape) {
  if (!IsDecomposableBitcast(input_shape, output_shape)) return std::nullopt;
  BitcastDecompositionTrt decomposition;
  decomposition.transpose1_dims = MajorToMinor(input_shape);
  decomposition.transpose1_shape =
      ShapeUtil::MakeShapeWithDescendingLayoutAndSamePhysicalLayout(
          input_shape);
  decomposition.reshape_shape =
      ShapeUtil::MakeShapeWithDescendingLayoutAndSamePhysicalLayout(
          output_shape);
  decomposition.transpose2_dims =
      InversePermutation(MajorToMinor(output_shape));
  return decomposition;
}

ShapeBitcast::BitcastDecomposition ShapeBitcast::DecomposeBitcast(
    const Shape& input_shape, const Shape& output_shape) {
  if (!IsDecomposableBitcast(input_shape, output_shape)) return std::nullopt;
  if (ReshapeIsBitcast(input_shape, output_shape)) {
    return BitcastDecompositionReshape{};
  }
  if (std::optional<std::vector<int64_t>> dims =
          DeduceTransposeDimensionsForBitcast(input_shape, output_shape)) {
    return BitcastDecompositionTranspose{*std::move(dims)};
  }
  return *DecomposeBitcastToTrt(input_shape, output_shape);
}

std::optional<Shape> ShapeBitcast::AlignLayouts(const Shape& input_shape,
                                                const Shape& output_shape) {
  CHECK(input_shape.IsArray() && output_shape.IsArray());
  CHECK(input_shape.has_layout());
  if (!input_shape.layout().tiles().empty() ||
      !input_shape.layout().split_configs().empty() ||
      input_shape.is_unbounded_dynamic() ||
      output_shape.is_unbounded_dynamic() ||
      Elements(input_shape) != Elements(output_shape)) {
    return std::nullopt;
  }
  Shape result = output_shape;
  Layout* layout = result.mutable_layout();
  *layout = input_shape.layout();
  layout->clear_minor_to_major();
  const int64_t rank = output_shape.dimensions_size();
  if (HasZeroElements(input_shape)) {
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      layout->add_minor_to_major(dim);
    }
    return result;
  }

  // Gives each output dimension the stride of the piece of the input's memory
  // map that it covers, both walked from the most minor dimension.
  Extents input = MemoryMap(input_shape);
  std::vector<std::pair<int64_t, int64_t>> stride_and_dim;
  size_t next = 0;
  int64_t left = input.empty() ? 1 : input[0].size;
  int64_t stride = input.empty() ? 1 : input[0].stride;
  int64_t last_stride = 1;
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    const int64_t size = output_shape.dimensions(dim);
    if (size == 1) {
      // Lies wherever its logical neighbor does.
      stride_and_dim.push_back({last_stride, -dim});
      continue;
    }
    if (left == 1 && ++next < input.size()) {
      left = input[next].size;
      stride = input[next].stride;
    }
    if (left % size != 0) return std::nullopt;
    last_stride = stride;
    stride_and_dim.push_back({stride, -dim});
    left /= size;
    stride *= size;
  }
  absl::c_sort(stride_and_dim);
  for (const auto& entry : stride_and_dim) {
    layout->add_minor_to_major(-entry.second);
  }
  return result;
}

}  // namespace xla
