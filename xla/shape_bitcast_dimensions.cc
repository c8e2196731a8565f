// Effects of reshapes and transposes on dimensions; layouts aside.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/layout_util.h"
#include "xla/permutation_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_bitcast.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla {

std::optional<ShapeBitcast::ShapeEqualityDescriptor>
ShapeBitcast::InsertedOrDeleted1SizedDimensions(const Shape& shape_pre,
                                                const Shape& shape_post) {
  CHECK(shape_pre.IsArray() && shape_post.IsArray());
  absl::Span<const int64_t> pre = shape_pre.dimensions();
  absl::Span<const int64_t> post = shape_post.dimensions();
  ShapeEqualityDescriptor result;
  size_t i = 0;
  size_t j = 0;
  while (i < pre.size() || j < post.size()) {
    if (i < pre.size() && j < post.size() && pre[i] == post[j]) {
      ++i;
      ++j;
    } else if (i < pre.size() && pre[i] == 1) {
      result.deleted_dimensions.push_back(i++);
    } else if (j < post.size() && post[j] == 1) {
      result.inserted_dimensions.push_back(j++);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

// Common factors split both shapes into the shortest runs of equal product; a
// dimension is unmodified if it is a run of its own on both sides.
std::vector<std::pair<int64_t, int64_t>>
ShapeBitcast::DimensionsUnmodifiedByReshape(const Shape& input_shape,
                                            const Shape& output_shape) {
  CHECK(input_shape.IsArray() && output_shape.IsArray());
  auto factors =
      CommonFactors(input_shape.dimensions(), output_shape.dimensions());
  std::vector<std::pair<int64_t, int64_t>> unmodified;
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    if (factors[i + 1].first - factors[i].first == 1 &&
        factors[i + 1].second - factors[i].second == 1) {
      unmodified.push_back(factors[i]);
    }
  }
  return unmodified;
}

std::optional<std::vector<int64_t>>
ShapeBitcast::ReshapeLeavesDimensionsUnmodified(
    const Shape& from_shape, const Shape& to_shape,
    absl::Span<const int64_t> input_dim_indices) {
  if (!absl::c_is_sorted(input_dim_indices)) return std::nullopt;
  std::vector<int64_t> output_dim_indices;
  auto unmodified = DimensionsUnmodifiedByReshape(from_shape, to_shape);
  auto next = unmodified.begin();
  for (int64_t dim : input_dim_indices) {
    while (next != unmodified.end() && next->first < dim) ++next;
    if (next == unmodified.end() || next->first != dim) return std::nullopt;
    output_dim_indices.push_back(next->second);
  }
  return output_dim_indices;
}

absl::StatusOr<absl::InlinedVector<int64_t, 3>>
ShapeBitcast::GetNormalizedLogicalTransposeShape(
    const Shape& input_shape, const Shape& output_shape,
    absl::Span<int64_t const> dimensions,
    absl::InlinedVector<int64_t, 3>& permutation) {
  permutation.clear();
  for (const Shape* shape : {&input_shape, &output_shape}) {
    if (shape->has_layout() &&
        !LayoutUtil::IsMonotonicWithDim0Major(shape->layout())) {
      return InvalidArgument("Layout of %s is not row major",
                             shape->ToString(/*print_layout=*/true));
    }
  }
  const int64_t rank = output_shape.dimensions_size();
  if (dimensions.size() != rank || input_shape.dimensions_size() != rank ||
      !IsPermutation(dimensions)) {
    return InvalidArgument("Not a transpose: %s to %s by {%s}",
                           input_shape.ToString(), output_shape.ToString(),
                           absl::StrJoin(dimensions, ","));
  }

  // Position of each input dimension among those of size other than 1.
  DimensionVector kept_position(rank, -1);
  int64_t kept = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (input_shape.dimensions(dim) != 1) kept_position[dim] = kept++;
  }
  // Dimensions of size 1 may stand anywhere, and neighbors that stay neighbors
  // move as one: [2,1,3,5] by {2,3,0,1} is [15,2] by {1,0}.
  // Runs of output dimensions that are neighbors in the input too.
  absl::InlinedVector<int64_t, 3> sizes;
  absl::InlinedVector<int64_t, 3> run_start;  // Input position of each run.
  int64_t previous = -2;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t position = kept_position[dimensions[i]];
    if (position < 0) continue;
    if (position == previous + 1) {
      sizes.back() *= output_shape.dimensions(i);
    } else {
      sizes.push_back(output_shape.dimensions(i));
      run_start.push_back(position);
    }
    previous = position;
  }
  for (int64_t start : run_start) {
    permutation.push_back(
        absl::c_count_if(run_start, [&](int64_t s) { return s < start; }));
  }
  return sizes;
}

absl::Status ShapeBitcast::UnpackedByteStrides(const Shape& shape,
                                               absl::Span<int64_t> strides) {
  TF_RET_CHECK(shape.dimensions_size() == strides.size());
  if (!shape.IsArray() || !shape.has_layout() ||
      !shape.layout().tiles().empty()) {
    return InvalidArgument("%s has no byte strides",
                           shape.ToString(/*print_layout=*/true));
  }
  int64_t stride = primitive_util::ByteWidth(shape.element_type());
  for (int64_t dim : shape.layout().minor_to_major()) {
    strides[dim] = stride;
    if (__builtin_mul_overflow(stride, shape.dimensions(dim), &stride)) {
      return InvalidArgument("Byte strides of %s overflow", shape.ToString());
    }
  }
  return absl::OkStatus();
}

std::optional<absl::InlinedVector<int64_t, 4>>
ShapeBitcast::UnpackedByteStrides(const Shape& shape) {
  absl::InlinedVector<int64_t, 4> strides(shape.dimensions_size());
  if (!UnpackedByteStrides(shape, absl::MakeSpan(strides)).ok()) {
    return std::nullopt;
  }
  return strides;
}

std::optional<absl::InlinedVector<int64_t, 4>> ShapeBitcast::ByteStrides(
    const Shape& shape) {
  if (!shape.IsArray() || !shape.has_layout()) return std::nullopt;
  const int64_t bits = shape.layout().element_size_in_bits();
  if (bits != 0 && bits < 8) return std::nullopt;
  return UnpackedByteStrides(shape);
}

}  // namespace xla
