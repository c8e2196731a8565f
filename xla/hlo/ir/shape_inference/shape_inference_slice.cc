// Opcodes that cut out, add, repeat or reorder elements.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/ir/shape_inference/shape_inference_internal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {

using namespace shape_inference_internal;  // NOLINT: its own helpers

absl::StatusOr<Shape> ShapeInference::InferReverseShape(
    const Shape& operand_shape, absl::Span<const int64_t> dimensions) {
  TF_RETURN_IF_ERROR(ExpectArray(operand_shape, "operand of reverse"));
  TF_RETURN_IF_ERROR(ExpectDimensions(
      dimensions, operand_shape.dimensions().size(), "reversed dimension"));
  return operand_shape;
}

absl::StatusOr<Shape> ShapeInference::InferSliceShape(
    const Shape& arg, absl::Span<const int64_t> starts,
    absl::Span<const int64_t> limits, absl::Span<const int64_t> strides) {
  TF_RETURN_IF_ERROR(ExpectArray(arg, "operand of slice"));
  const size_t rank = arg.dimensions().size();
  if (starts.size() != rank || limits.size() != rank ||
      strides.size() != rank) {
    return InvalidArgumentStrCat("slice of ", Str(arg), " has ", starts.size(),
                                 " starts, ", limits.size(), " limits and ",
                                 strides.size(), " strides");
  }
  ArrayBuilder result;
  for (size_t i = 0; i < rank; ++i) {
    const Size size = SizeOf(arg, i);
    const int64_t start = starts[i];
    const int64_t limit = limits[i];
    const int64_t stride = strides[i];
    if (IsUnbounded(size.size) && start == 0 && stride == 1 &&
        IsUnbounded(limit)) {
      result.Add(size);
      continue;
    }
    if (start < 0 || stride <= 0 || limit < start ||
        (!IsUnbounded(size.size) && limit > size.size)) {
      return InvalidArgumentStrCat(
          "slice [", start, ":", limit, ":", stride, "] of dimension ", i,
          " of ", Str(arg),
          ": want 0 <= start <= limit <= size and a positive stride");
    }
    const int64_t extent = limit - start;
    const int64_t taken = extent / stride + (extent % stride != 0);
    // A single element does not get shorter with the operand.
    result.Add(
        Size{taken, size.dynamic && !IsUnbounded(size.size) && taken != 1});
  }
  return result.Build(arg.element_type());
}

namespace {

// One integer scalar per dimension, or one vector of all.
absl::Status ExpectStartIndices(absl::Span<const Shape> starts, int64_t rank,
                                bool allow_scalar_indices,
                                absl::string_view what) {
  const bool vector_form =
      !allow_scalar_indices || (starts.size() == 1 && starts[0].IsArray() &&
                                starts[0].dimensions().size() == 1);
  if (vector_form) {
    if (starts.size() != 1 || !starts[0].IsArray() ||
        starts[0].dimensions().size() != 1 ||
        !Agree(starts[0].dimensions(0), rank) ||
        !primitive_util::IsIntegralType(starts[0].element_type())) {
      return InvalidArgumentStrCat(
          what, " needs one vector of ", rank, " integer start indices",
          starts.empty() ? "" : ", not ", starts.empty() ? "" : Str(starts[0]));
    }
    return absl::OkStatus();
  }
  if (static_cast<int64_t>(starts.size()) != rank) {
    return InvalidArgumentStrCat(what, " needs ", rank, " start indices, not ",
                                 starts.size());
  }
  for (const Shape& start : starts) {
    TF_RETURN_IF_ERROR(
        ExpectIntegralScalar(start, absl::StrCat("start index of ", what)));
    if (start.element_type() != starts[0].element_type()) {
      return InvalidArgumentStrCat("start indices of ", what,
                                   " must have one type: ", Str(starts[0]),
                                   " and ", Str(start));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferDynamicSliceShape(
    const Shape& operand_shape, absl::Span<const Shape> start_index_shapes,
    absl::Span<const int64_t> slice_sizes, bool allow_scalar_indices) {
  TF_RETURN_IF_ERROR(ExpectArray(operand_shape, "operand of dynamic-slice"));
  const int64_t rank = operand_shape.dimensions().size();
  TF_RETURN_IF_ERROR(ExpectStartIndices(start_index_shapes, rank,
                                        allow_scalar_indices, "dynamic-slice"));
  if (static_cast<int64_t>(slice_sizes.size()) != rank) {
    return InvalidArgumentStrCat("dynamic-slice of ", Str(operand_shape),
                                 " has ", slice_sizes.size(), " sizes");
  }
  ArrayBuilder result;
  for (int64_t i = 0; i < rank; ++i) {
    const Size size = SizeOf(operand_shape, i);
    if (slice_sizes[i] < 0 ||
        (!IsUnbounded(size.size) && slice_sizes[i] > size.size)) {
      return InvalidArgumentStrCat(
          "slice size ", slice_sizes[i], " of dimension ", i,
          " is negative or larger than in ", Str(operand_shape));
    }
    // A slice as long as the bound is as long as the value.
    result.Add(
        Size{slice_sizes[i], size.dynamic && slice_sizes[i] == size.size});
  }
  return result.Build(operand_shape.element_type());
}

absl::StatusOr<Shape> ShapeInference::InferDynamicUpdateSliceShape(
    const Shape& operand_shape, const Shape& update_shape,
    absl::Span<const Shape> start_index_shapes, bool allow_scalar_indices) {
  TF_RETURN_IF_ERROR(
      ExpectArray(operand_shape, "operand of dynamic-update-slice"));
  TF_RETURN_IF_ERROR(
      ExpectArray(update_shape, "update of dynamic-update-slice"));
  const int64_t rank = operand_shape.dimensions().size();
  TF_RETURN_IF_ERROR(ExpectStartIndices(
      start_index_shapes, rank, allow_scalar_indices, "dynamic-update-slice"));
  TF_RETURN_IF_ERROR(
      CommonType(operand_shape, update_shape, "dynamic-update-slice").status());
  bool fits = static_cast<int64_t>(update_shape.dimensions().size()) == rank;
  for (int64_t i = 0; fits && i < rank; ++i) {
    fits = IsUnbounded(operand_shape.dimensions(i)) ||
           update_shape.dimensions(i) <= operand_shape.dimensions(i);
  }
  if (!fits) {
    return InvalidArgumentStrCat("update ", Str(update_shape),
                                 " of dynamic-update-slice does not fit into ",
                                 Str(operand_shape));
  }
  return operand_shape;
}

absl::StatusOr<Shape> ShapeInference::InferPadShape(
    const Shape& operand_shape, const Shape& padding_value_shape,
    const PaddingConfig& padding_config) {
  TF_RETURN_IF_ERROR(ExpectArray(operand_shape, "operand of pad"));
  TF_RETURN_IF_ERROR(ExpectScalar(padding_value_shape, "padding value"));
  TF_ASSIGN_OR_RETURN(PrimitiveType type,
                      CommonType(operand_shape, padding_value_shape, "pad"));
  const int64_t rank = operand_shape.dimensions().size();
  if (padding_config.dimensions_size() != rank) {
    return InvalidArgumentStrCat("pad of ", Str(operand_shape), " has ",
                                 padding_config.dimensions_size(),
                                 " padding dimensions");
  }
  ArrayBuilder result;
  for (int64_t i = 0; i < rank; ++i) {
    const auto& pad = padding_config.dimensions(i);
    Size size = SizeOf(operand_shape, i);
    if (pad.interior_padding() < 0) {
      return InvalidArgumentStrCat("interior padding ", pad.interior_padding(),
                                   " of dimension ", i, " is negative");
    }
    if (!IsUnbounded(size.size)) {
      const int64_t interior = SaturatedMul(std::max<int64_t>(size.size - 1, 0),
                                            pad.interior_padding());
      size.size = SaturatedAdd(SaturatedAdd(SaturatedAdd(size.size, interior),
                                            pad.edge_padding_low()),
                               pad.edge_padding_high());
      if (size.size < 0) {
        return InvalidArgumentStrCat("pad makes dimension ", i, " of ",
                                     Str(operand_shape),
                                     " negative: ", size.size);
      }
    }
    result.Add(size);
  }
  return result.Build(type);
}

absl::StatusOr<Shape> ShapeInference::InferConcatOpShape(
    absl::Span<const Shape* const> arg_shapes, int64_t dimension) {
  if (arg_shapes.empty())
    return InvalidArgument("concatenate needs an operand");
  const Shape& first = *arg_shapes[0];
  TF_RETURN_IF_ERROR(ExpectArray(first, "operand of concatenate"));
  const int64_t rank = first.dimensions().size();
  TF_RETURN_IF_ERROR(
      ExpectDimension(dimension, rank, "dimension of concatenate"));
  absl::InlinedVector<Size, 6> sizes;
  for (int64_t i = 0; i < rank; ++i) sizes.push_back(SizeOf(first, i));
  Shape widest = first;
  for (size_t k = 1; k < arg_shapes.size(); ++k) {
    const Shape& shape = *arg_shapes[k];
    TF_RETURN_IF_ERROR(ExpectArray(shape, "operand of concatenate"));
    if (static_cast<int64_t>(shape.dimensions().size()) != rank) {
      return InvalidArgumentStrCat("operands of concatenate differ in rank: ",
                                   Str(first), " and ", Str(shape));
    }
    TF_ASSIGN_OR_RETURN(PrimitiveType type,
                        CommonType(widest, shape, "concatenate"));
    if (type != widest.element_type()) widest.set_element_type(type);
    for (int64_t i = 0; i < rank; ++i) {
      const Size size = SizeOf(shape, i);
      if (i == dimension) {
        const bool unbounded =
            IsUnbounded(sizes[i].size) || IsUnbounded(size.size);
        sizes[i] = {unbounded ? Shape::kUnboundedSize
                              : SaturatedAdd(sizes[i].size, size.size),
                    sizes[i].dynamic || size.dynamic};
      } else if (Agree(sizes[i].size, size.size)) {
        sizes[i] = Merge(sizes[i], size);
      } else {
        return InvalidArgumentStrCat("operands of concatenate along dimension ",
                                     dimension, " differ in dimension ", i,
                                     ": ", Str(first), " and ", Str(shape));
      }
    }
  }
  ArrayBuilder result;
  for (const Size& size : sizes) result.Add(size);
  return result.Build(widest.element_type());
}

absl::StatusOr<Shape> ShapeInference::InferTransposeShape(
    const Shape& operand, absl::Span<const int64_t> dimensions) {
  TF_RETURN_IF_ERROR(ExpectArray(operand, "operand of transpose"));
  const int64_t rank = operand.dimensions().size();
  if (static_cast<int64_t>(dimensions.size()) != rank) {
    return InvalidArgumentStrCat("transpose dimensions ", Str(dimensions),
                                 " are not a permutation of the dimensions of ",
                                 Str(operand));
  }
  TF_RETURN_IF_ERROR(ExpectDimensions(dimensions, rank, "transpose dimension"));
  return ShapeUtil::PermuteDimensions(dimensions, operand);
}

absl::StatusOr<Shape> ShapeInference::InferGetDimensionSizeShape(
    const Shape& shape, int64_t dimension) {
  TF_RETURN_IF_ERROR(ExpectArray(shape, "operand of get-dimension-size"));
  TF_RETURN_IF_ERROR(ExpectDimension(dimension, shape.dimensions().size(),
                                     "dimension of get-dimension-size"));
  return ShapeUtil::MakeShape(S32, {});
}

absl::StatusOr<Shape> ShapeInference::InferSetDimensionSizeShape(
    const Shape& operand_shape, const Shape& val_shape, int64_t dimension) {
  TF_RETURN_IF_ERROR(
      ExpectArray(operand_shape, "operand of set-dimension-size"));
  TF_RETURN_IF_ERROR(ExpectDimension(dimension,
                                     operand_shape.dimensions().size(),
                                     "dimension of set-dimension-size"));
  if (!ShapeUtil::IsScalarWithElementType(val_shape, S32)) {
    return InvalidArgumentStrCat(
        "size of set-dimension-size must be s32[], not ", Str(val_shape));
  }
  Shape result = operand_shape;
  result.set_dynamic_dimension(dimension, true);
  return result;
}

absl::StatusOr<Shape> ShapeInference::InferTopKShape(const Shape& operand_shape,
                                                     int64_t k) {
  TF_RETURN_IF_ERROR(ExpectArray(operand_shape, "operand of topk"));
  const int64_t rank = operand_shape.dimensions().size();
  if (rank < 1 || k < 0 ||
      (!IsUnbounded(operand_shape.dimensions(rank - 1)) &&
       k > operand_shape.dimensions(rank - 1))) {
    return InvalidArgumentStrCat(
        "topk with k=", k,
        " needs a last dimension of at least k: ", Str(operand_shape));
  }
  ArrayBuilder sizes;
  for (int64_t i = 0; i + 1 < rank; ++i) sizes.Add(SizeOf(operand_shape, i));
  sizes.Add(k);
  TF_ASSIGN_OR_RETURN(Shape values, sizes.Build(operand_shape.element_type()));
  TF_ASSIGN_OR_RETURN(Shape indices, sizes.Build(S32));
  return ShapeUtil::MakeTupleShape({values, indices});
}

}  // namespace xla
