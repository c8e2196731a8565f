// broadcast, reshape and dynamic-reshape.
#include "xla/shape.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/ir/shape_inference/shape_inference_internal.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

using namespace shape_inference_internal;  // NOLINT: its own helpers

absl::StatusOr<Shape> ShapeInference::InferBroadcastShape(
    const Shape& operand, absl::Span<const int64_t> broadcast_sizes) {
  TF_RETURN_IF_ERROR(ExpectArray(operand, "operand of broadcast"));
  ArrayBuilder result;
  if (operand.is_unbounded_dynamic()) {
    return InvalidArgumentStrCat("operand of broadcast must have bounds: ",
                                 Str(operand));
  }
  for (int64_t size : broadcast_sizes) {
    if (size < 0) {
      return InvalidArgumentStrCat(
          "broadcast sizes must be given and not negative: ",
          Str(broadcast_sizes));
    }
    result.Add(size);
  }
  for (size_t i = 0; i < operand.dimensions().size(); ++i) {
    result.Add(SizeOf(operand, i));
  }
  return result.Build(operand.element_type());
}

absl::StatusOr<Shape> ShapeInference::InferBroadcastShape(
    const Shape& operand_shape, const Shape& output_shape,
    absl::Span<const int64_t> broadcast_dimensions) {
  TF_RETURN_IF_ERROR(ExpectArray(operand_shape, "operand of broadcast"));
  TF_RETURN_IF_ERROR(ExpectArray(output_shape, "result of broadcast"));
  const size_t rank = operand_shape.dimensions().size();
  if (broadcast_dimensions.size() != rank) {
    return InvalidArgumentStrCat("broadcast dimensions ",
                                 Str(broadcast_dimensions), " must name the ",
                                 rank, " dimensions of ", Str(operand_shape));
  }
  TF_RETURN_IF_ERROR(ExpectDimensions(broadcast_dimensions,
                                      output_shape.dimensions().size(),
                                      "broadcast dimension"));
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = operand_shape.dimensions(i);
    const int64_t out = output_shape.dimensions(broadcast_dimensions[i]);
    if (size != 1 && !Agree(size, out)) {
      return InvalidArgumentStrCat("broadcast of ", Str(operand_shape), " to ",
                                   Str(output_shape), ": dimension ", i,
                                   " does not match dimension ",
                                   broadcast_dimensions[i]);
    }
  }
  return output_shape;
}

namespace {

// Marks the dimensions of `sizes` that become dynamic because dimensions of
// `operand` are. Both lists split into runs of equal product; a dynamic
// dimension stays within its run:
//   [<=6,4] -> [2,3,4]   one of 2 and 3 (`inferred`, else the first that is
//                        not 1)
//   [<=2,3] -> [6]       the 6
//   [<=8] -> [1,8]       the 1, if `inferred`: ones around a run belong to it
//   [1,<=1] -> [1]       the 1
void PropagateDynamic(const Shape& operand, absl::Span<const int64_t> sizes,
                      int64_t inferred, std::vector<bool>* dynamic) {
  const auto runs = CommonFactors(operand.dimensions(), sizes);
  for (size_t r = 0; r + 1 < runs.size(); ++r) {
    const auto [in_begin, out_begin] = runs[r];
    const auto [in_end, out_end] = runs[r + 1];
    bool run_dynamic = false;
    for (int64_t i = in_begin; i < in_end; ++i) {
      run_dynamic = run_dynamic || operand.is_dynamic_dimension(i);
    }
    if (!run_dynamic) continue;
    int64_t first = out_begin;
    int64_t last = out_end;
    while (first > 0 && sizes[first - 1] == 1) --first;
    while (last < static_cast<int64_t>(sizes.size()) && sizes[last] == 1) {
      ++last;
    }
    if (first == last) continue;
    int64_t target = out_begin == out_end ? first : out_begin;
    if (inferred >= first && inferred < last) {
      target = inferred;
    } else {
      while (target + 1 < out_end && sizes[target] == 1) ++target;
    }
    (*dynamic)[target] = true;
  }
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferReshapeShape(
    const Shape& operand, absl::Span<const int64_t> dimensions,
    int64_t inferred_dimension) {
  TF_RETURN_IF_ERROR(ExpectArray(operand, "operand of reshape"));
  if (inferred_dimension >= 0) {
    TF_RETURN_IF_ERROR(ExpectDimension(inferred_dimension, dimensions.size(),
                                       "inferred dimension of reshape"));
  }
  for (int64_t size : dimensions) {
    if (size < 0) {
      return InvalidArgumentStrCat(
          "reshape to ", Str(dimensions),
          ": sizes must be given and not negative; use dynamic-reshape for "
          "unbounded results");
    }
  }
  // Checks the product for overflow.
  TF_ASSIGN_OR_RETURN(Shape result, ShapeUtil::MakeValidatedShape(
                                        operand.element_type(), dimensions));
  if (operand.is_unbounded_dynamic()) {
    if (operand.is_bounded_dynamic()) {
      return InvalidArgumentStrCat("reshape of ", Str(operand),
                                   ", which mixes dimensions with a bound and "
                                   "without one");
    }
    return result;
  }
  if (ShapeUtil::ElementsIn(operand) != ShapeUtil::ElementsIn(result)) {
    return InvalidArgumentStrCat("reshape of ", Str(operand), " (",
                                 ShapeUtil::ElementsIn(operand),
                                 " elements) to ", Str(result), " (",
                                 ShapeUtil::ElementsIn(result), " elements)");
  }
  if (operand.is_static()) return result;
  std::vector<bool> dynamic(dimensions.size(), false);
  PropagateDynamic(operand, dimensions, inferred_dimension, &dynamic);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dynamic[i]) result.set_dynamic_dimension(i, true);
  }
  return result;
}

absl::StatusOr<Shape> ShapeInference::InferDynamicReshapeShape(
    const Shape& operand, absl::Span<const Shape* const> dim_size_shapes,
    absl::Span<const int64_t> new_size_bounds,
    const std::vector<bool>& dims_are_dynamic) {
  TF_RETURN_IF_ERROR(ExpectArray(operand, "operand of dynamic-reshape"));
  if (new_size_bounds.size() != dims_are_dynamic.size() ||
      new_size_bounds.size() != dim_size_shapes.size()) {
    return InvalidArgumentStrCat("dynamic-reshape has ", dim_size_shapes.size(),
                                 " sizes, ", new_size_bounds.size(),
                                 " bounds and ", dims_are_dynamic.size(),
                                 " dynamic flags");
  }
  ArrayBuilder sizes;
  bool unbounded = operand.is_unbounded_dynamic();
  for (size_t i = 0; i < new_size_bounds.size(); ++i) {
    if (!ShapeUtil::IsScalarWithElementType(*dim_size_shapes[i], S32)) {
      return InvalidArgumentStrCat("size ", i,
                                   " of dynamic-reshape must be s32[], not ",
                                   Str(*dim_size_shapes[i]));
    }
    unbounded = unbounded || IsUnbounded(new_size_bounds[i]);
    sizes.Add(Size{new_size_bounds[i], dims_are_dynamic[i]});
  }
  TF_ASSIGN_OR_RETURN(Shape result, sizes.Build(operand.element_type()));
  if (!unbounded &&
      ShapeUtil::ElementsIn(operand) != ShapeUtil::ElementsIn(result)) {
    return InvalidArgumentStrCat("dynamic-reshape of ", Str(operand), " to ",
                                 Str(result),
                                 ": bounds differ in number of elements");
  }
  return result;
}

}  // namespace xla
