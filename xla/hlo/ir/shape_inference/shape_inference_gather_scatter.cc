#include <cstddef>
#include <cstdint>
#include <utility>
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

namespace {

// The attributes that gather and scatter have in common, under one name each.
struct IndexedDims {
  absl::string_view what;
  // Operand dimensions: those that the slice lacks, those paired with index
  // dimensions, and those that the components of an index address.
  absl::Span<const int64_t> collapsed;
  absl::Span<const int64_t> operand_batching;
  absl::Span<const int64_t> index_map;
  // Dimensions of the indices.
  absl::Span<const int64_t> indices_batching;
  int64_t index_vector_dim;
};

// The size of index dimension i; an implied last one has size 1.
Size IndexSize(const Shape& indices, int64_t i) {
  return i == static_cast<int64_t>(indices.dimensions().size())
             ? Size{1, false}
             : SizeOf(indices, i);
}

// Checks what gather and scatter share. Each operand dimension is either part
// of the slice or collapsed or batching; each index component addresses one
// operand dimension that is not batching; batching dimensions of operand and
// indices correspond pairwise and have equal sizes.
absl::Status ExpectIndexedDims(const Shape& operand, const Shape& indices,
                               const IndexedDims& dims) {
  const auto named = [&](absl::string_view attribute) {
    return absl::StrCat(dims.what, " ", attribute);
  };
  TF_RETURN_IF_ERROR(ExpectArray(operand, named("operand")));
  TF_RETURN_IF_ERROR(ExpectArray(indices, named("indices")));
  if (!primitive_util::IsIntegralType(indices.element_type())) {
    return InvalidArgumentStrCat(named("indices"), " must be integral, not ",
                                 Str(indices));
  }
  const int64_t rank = operand.dimensions().size();
  const int64_t indices_rank = indices.dimensions().size();
  TF_RETURN_IF_ERROR(ExpectDimension(dims.index_vector_dim, indices_rank + 1,
                                     named("index_vector_dim")));
  const int64_t components = IndexSize(indices, dims.index_vector_dim).size;
  if (!Agree(components, dims.index_map.size())) {
    return InvalidArgumentStrCat(
        named("indices "), Str(indices), " have ", components,
        " components along index_vector_dim ", dims.index_vector_dim,
        ", but the map to operand dimensions names ", dims.index_map.size());
  }
  // No operand dimension may play two of these parts.
  absl::InlinedVector<int64_t, 8> all(dims.collapsed.begin(),
                                      dims.collapsed.end());
  all.insert(all.end(), dims.operand_batching.begin(),
             dims.operand_batching.end());
  TF_RETURN_IF_ERROR(
      ExpectDimensions(all, rank, named("collapsed or batching dimension")));
  all.assign(dims.index_map.begin(), dims.index_map.end());
  all.insert(all.end(), dims.operand_batching.begin(),
             dims.operand_batching.end());
  TF_RETURN_IF_ERROR(
      ExpectDimensions(all, rank, named("indexed or batching dimension")));
  TF_RETURN_IF_ERROR(
      ExpectSorted(dims.collapsed, named("collapsed dimensions")));
  TF_RETURN_IF_ERROR(
      ExpectSorted(dims.operand_batching, named("batching dimensions")));
  TF_RETURN_IF_ERROR(ExpectDimensions(dims.indices_batching, indices_rank,
                                      named("indices batching dimension")));
  if (Contains(dims.indices_batching, dims.index_vector_dim)) {
    return InvalidArgumentStrCat(named("index_vector_dim "),
                                 dims.index_vector_dim,
                                 " is a batching dimension of the indices too");
  }
  if (dims.indices_batching.size() != dims.operand_batching.size()) {
    return InvalidArgumentStrCat(
        named("batching dimensions"),
        " must come in pairs: ", Str(dims.operand_batching), " and ",
        Str(dims.indices_batching));
  }
  for (size_t i = 0; i < dims.operand_batching.size(); ++i) {
    if (!Agree(operand.dimensions(dims.operand_batching[i]),
               indices.dimensions(dims.indices_batching[i]))) {
      return InvalidArgumentStrCat(
          named("batching dimension "), dims.operand_batching[i], " of ",
          Str(operand), " and ", dims.indices_batching[i], " of ", Str(indices),
          " differ in size");
    }
  }
  return absl::OkStatus();
}

// Operand dimensions that a slice keeps.
absl::InlinedVector<int64_t, 8> WindowDims(const Shape& operand,
                                           const IndexedDims& dims) {
  absl::InlinedVector<int64_t, 8> kept;
  const int64_t rank = operand.dimensions().size();
  for (int64_t i = 0; i < rank; ++i) {
    if (!Contains(dims.collapsed, i) && !Contains(dims.operand_batching, i)) {
      kept.push_back(i);
    }
  }
  return kept;
}

// Index dimensions that number the slices.
absl::InlinedVector<Size, 8> SliceNumberSizes(const Shape& indices,
                                              int64_t index_vector_dim) {
  absl::InlinedVector<Size, 8> sizes;
  const int64_t rank = indices.dimensions().size();
  for (int64_t i = 0; i < rank; ++i) {
    if (i != index_vector_dim) sizes.push_back(SizeOf(indices, i));
  }
  return sizes;
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferGatherShape(
    const Shape& input_shape, const Shape& start_indices_shape,
    const GatherDimensionNumbers& gather_dim_numbers,
    absl::Span<const int64_t> slice_sizes) {
  const IndexedDims dims = {"gather",
                            gather_dim_numbers.collapsed_slice_dims(),
                            gather_dim_numbers.operand_batching_dims(),
                            gather_dim_numbers.start_index_map(),
                            gather_dim_numbers.start_indices_batching_dims(),
                            gather_dim_numbers.index_vector_dim()};
  TF_RETURN_IF_ERROR(ExpectIndexedDims(input_shape, start_indices_shape, dims));
  const int64_t rank = input_shape.dimensions().size();
  if (static_cast<int64_t>(slice_sizes.size()) != rank) {
    return InvalidArgumentStrCat("gather from ", Str(input_shape), " has ",
                                 slice_sizes.size(), " slice sizes");
  }
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = input_shape.dimensions(i);
    if (slice_sizes[i] < 0 || (!IsUnbounded(size) && slice_sizes[i] > size)) {
      return InvalidArgumentStrCat(
          "gather slice size ", slice_sizes[i], " of dimension ", i,
          " is negative or larger than in ", Str(input_shape));
    }
    if ((Contains(dims.collapsed, i) || Contains(dims.operand_batching, i)) &&
        slice_sizes[i] > 1) {
      return InvalidArgumentStrCat("gather collapses dimension ", i,
                                   " but its slice size is ", slice_sizes[i]);
    }
  }
  const auto window = WindowDims(input_shape, dims);
  const auto numbers =
      SliceNumberSizes(start_indices_shape, dims.index_vector_dim);
  const absl::Span<const int64_t> offset_dims =
      gather_dim_numbers.offset_dims();
  if (offset_dims.size() != window.size()) {
    return InvalidArgumentStrCat("gather offset_dims ", Str(offset_dims),
                                 " must name ", window.size(),
                                 " result dimensions, one for each dimension "
                                 "of the slice");
  }
  const int64_t result_rank = window.size() + numbers.size();
  TF_RETURN_IF_ERROR(
      ExpectDimensions(offset_dims, result_rank, "gather offset dimension"));
  TF_RETURN_IF_ERROR(ExpectSorted(offset_dims, "gather offset_dims"));
  ArrayBuilder result;
  size_t next_window = 0;
  size_t next_number = 0;
  for (int64_t i = 0; i < result_rank; ++i) {
    if (!Contains(offset_dims, i)) {
      result.Add(numbers[next_number++]);
      continue;
    }
    const int64_t dim = window[next_window++];
    // A slice as long as the bound is as long as the value.
    result.Add(Size{slice_sizes[dim],
                    input_shape.is_dynamic_dimension(dim) &&
                        slice_sizes[dim] == input_shape.dimensions(dim)});
  }
  return result.Build(input_shape.element_type());
}

namespace {

// Updates must be an array of slices of the operand.
absl::Status ExpectUpdates(const Shape& operand, const Shape& indices,
                           const Shape& updates,
                           const ScatterDimensionNumbers& dnums,
                           const IndexedDims& dims) {
  TF_RETURN_IF_ERROR(ExpectArray(updates, "scatter updates"));
  const auto window = WindowDims(operand, dims);
  const auto numbers = SliceNumberSizes(indices, dims.index_vector_dim);
  const int64_t rank = updates.dimensions().size();
  if (rank != static_cast<int64_t>(window.size() + numbers.size())) {
    return InvalidArgumentStrCat("scatter updates ", Str(updates),
                                 " must have rank ",
                                 window.size() + numbers.size());
  }
  const absl::Span<const int64_t> update_window_dims =
      dnums.update_window_dims();
  TF_RETURN_IF_ERROR(ExpectDimensions(update_window_dims, rank,
                                      "scatter update window "
                                      "dimension"));
  TF_RETURN_IF_ERROR(
      ExpectSorted(update_window_dims, "scatter update_window_dims"));
  if (update_window_dims.size() != window.size()) {
    return InvalidArgumentStrCat(
        "scatter update_window_dims ", Str(update_window_dims), " must name ",
        window.size(), " dimensions, one for each dimension of a slice of ",
        Str(operand));
  }
  size_t next_window = 0;
  size_t next_number = 0;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = updates.dimensions(i);
    if (Contains(update_window_dims, i)) {
      const int64_t bound = operand.dimensions(window[next_window++]);
      if (!IsUnbounded(bound) && size > bound) {
        return InvalidArgumentStrCat("scatter updates ", Str(updates),
                                     " are larger in window dimension ", i,
                                     " than the operand ", Str(operand));
      }
    } else if (!Agree(size, numbers[next_number++].size)) {
      return InvalidArgumentStrCat("scatter updates ", Str(updates),
                                   " do not match the indices ", Str(indices),
                                   " in dimension ", i);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferScatterShape(
    absl::Span<const Shape* const> arg_shapes,
    const ProgramShape& to_apply_shape, const ScatterDimensionNumbers& dnums) {
  if (arg_shapes.size() < 3 || arg_shapes.size() % 2 != 1) {
    return InvalidArgumentStrCat(
        "scatter takes n operands, indices and n updates; got ",
        arg_shapes.size(), " arguments");
  }
  const size_t n = arg_shapes.size() / 2;
  const auto operands = arg_shapes.first(n);
  const Shape& indices = *arg_shapes[n];
  const auto updates = arg_shapes.subspan(n + 1);
  const IndexedDims dims = {"scatter",
                            dnums.inserted_window_dims(),
                            dnums.input_batching_dims(),
                            dnums.scatter_dims_to_operand_dims(),
                            dnums.scatter_indices_batching_dims(),
                            dnums.index_vector_dim()};
  for (size_t i = 0; i < n; ++i) {
    TF_RETURN_IF_ERROR(ExpectIndexedDims(*operands[i], indices, dims));
    TF_RETURN_IF_ERROR(
        ExpectUpdates(*operands[i], indices, *updates[i], dnums, dims));
    if (!ShapeUtil::CompatibleIgnoringElementType(*operands[i], *operands[0]) ||
        !ShapeUtil::CompatibleIgnoringElementType(*updates[i], *updates[0])) {
      return InvalidArgumentStrCat(
          "operands of scatter must have the same dimensions, and so must its "
          "updates: ",
          Str(*operands[0]), ", ", Str(*operands[i]), "; ", Str(*updates[0]),
          ", ", Str(*updates[i]));
    }
  }
  // The computation sees scalars of the operands as accumulators.
  std::vector<Shape> scalars;
  scalars.reserve(n);
  for (const Shape* operand : operands) {
    scalars.push_back(ShapeUtil::MakeShape(operand->element_type(), {}));
  }
  std::vector<const Shape*> accumulators;
  for (const Shape& scalar : scalars) accumulators.push_back(&scalar);
  TF_RETURN_IF_ERROR(
      ExpectReducer(to_apply_shape, updates, accumulators, "scatter"));
  return n == 1 ? *operands[0] : ShapeUtil::MakeTupleShapeWithPtrs(operands);
}

}  // namespace xla
