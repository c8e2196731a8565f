#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Instructions that move elements to places known beforehand: each is a few
// copies of a box, whose source and destination are an offset and a stride for
// each dimension. A broadcast reads with stride 0, reverse with a negative one,
// slice and pad multiply a stride by their step, transpose permutes strides.
// Where the strides of the source come out as those of a dense array of the
// result's dimensions, nothing moves: the result shares the operand's memory.

namespace xla {
namespace evaluator {
namespace {

// Copies a box of `dims` elements; nothing if it is empty.
void CopyBox(char* dest, absl::Span<const int64_t> dest_strides,
             const char* src, absl::Span<const int64_t> src_strides,
             absl::Span<const int64_t> dims, int64_t element_bytes) {
  for (int64_t dim : dims) {
    if (dim <= 0) return;
  }
  CopyStridedBox(dest, dest_strides, src, src_strides, dims, element_bytes);
}

void Fill(Value& array, const Value& scalar) {
  CopyBox(array.mutable_raw(), RowMajorStrides(array.dims()), scalar.raw(),
          DimensionVector(array.rank(), 0), array.dims(),
          array.element_bytes());
}

absl::Status CheckRank(const Value& operand, int64_t rank) {
  if (operand.rank() == rank) return absl::OkStatus();
  return InvalidArgument("operand has rank %d, expected %d", operand.rank(),
                         rank);
}

}  // namespace

absl::StatusOr<Value> EvaluateBroadcast(const HloInstruction* instruction,
                                        absl::Span<Value> operands,
                                        KernelContext& context) {
  const Value& operand = operands[0];
  const Shape& shape = instruction->shape();
  DimensionVector dims(shape.dimensions().begin(), shape.dimensions().end());
  DimensionVector from(dims.size(), 0);
  const DimensionVector strides = RowMajorStrides(operand.dims());
  const absl::Span<const int64_t> mapping = instruction->dimensions();
  TF_RETURN_IF_ERROR(CheckRank(operand, mapping.size()));
  for (size_t i = 0; i < mapping.size(); ++i) {
    const int64_t d = mapping[i];
    if (d < 0 || d >= static_cast<int64_t>(dims.size())) {
      return InvalidArgument("dimension %d is out of bounds", d);
    }
    dims[d] = operand.dim(i);
    from[d] = strides[i];
  }
  if (Product(dims) == operand.count() && from == RowMajorStrides(dims)) {
    return operand.Reshaped(dims);
  }
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(operand.type(), dims, context.budget));
  CopyBox(result.mutable_raw(), RowMajorStrides(dims), operand.raw(), from,
          dims, operand.element_bytes());
  return result;
}

absl::StatusOr<Value> EvaluateConcatenate(const HloInstruction* instruction,
                                          absl::Span<Value> operands,
                                          KernelContext& context) {
  const int64_t axis = instruction->dimensions(0);
  DimensionVector dims = operands[0].dims();
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) {
    return InvalidArgument("dimension %d is out of bounds", axis);
  }
  dims[axis] = 0;
  for (const Value& operand : operands) {
    TF_RETURN_IF_ERROR(CheckRank(operand, dims.size()));
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (d != axis && operand.dim(d) != dims[d]) {
        return InvalidArgument("the operands differ in dimension %d", d);
      }
    }
    if (operand.type() != operands[0].type()) {
      return InvalidArgument("the operands have different element types");
    }
    dims[axis] += operand.dim(axis);
  }
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(operands[0].type(), dims, context.budget));
  const DimensionVector strides = RowMajorStrides(dims);
  int64_t at = 0;
  for (const Value& operand : operands) {
    CopyBox(result.mutable_raw() + at * strides[axis] * operand.element_bytes(),
            strides, operand.raw(), RowMajorStrides(operand.dims()),
            operand.dims(), operand.element_bytes());
    at += operand.dim(axis);
  }
  return result;
}

absl::StatusOr<Value> EvaluateIota(const HloInstruction* instruction,
                                   absl::Span<Value> operands,
                                   KernelContext& context) {
  const Shape& shape = instruction->shape();
  const int64_t axis = instruction->dimensions(0);
  if (axis < 0 || axis >= static_cast<int64_t>(shape.dimensions().size())) {
    return InvalidArgument("dimension %d is out of bounds", axis);
  }
  // An empty array may still have a large iota dimension.
  if (absl::c_linear_search(shape.dimensions(), 0)) {
    return Value::Make(shape.element_type(), shape.dimensions(),
                       context.budget);
  }
  const int64_t size = shape.dimensions(axis);
  TF_ASSIGN_OR_RETURN(Value counts, Value::Make(S64, {size}, context.budget));
  for (int64_t i = 0; i < size; ++i) counts.mutable_data<int64_t>()[i] = i;
  TF_ASSIGN_OR_RETURN(
      counts,
      ConvertValue(std::move(counts), shape.element_type(), context.budget));
  if (shape.dimensions().size() == 1) return counts;
  DimensionVector from(shape.dimensions().size(), 0);
  from[axis] = 1;
  TF_ASSIGN_OR_RETURN(
      Value result,
      Value::Make(shape.element_type(), shape.dimensions(), context.budget));
  CopyBox(result.mutable_raw(), RowMajorStrides(result.dims()), counts.raw(),
          from, result.dims(), result.element_bytes());
  return result;
}

absl::StatusOr<Value> EvaluatePad(const HloInstruction* instruction,
                                  absl::Span<Value> operands,
                                  KernelContext& context) {
  const Value& operand = operands[0];
  const PaddingConfig& config = instruction->padding_config();
  TF_RETURN_IF_ERROR(CheckRank(operand, config.dimensions_size()));
  TF_RETURN_IF_ERROR(CheckRank(operands[1], 0));
  if (operands[1].type() != operand.type()) {
    return InvalidArgument("the padding value has a different element type");
  }
  const int64_t rank = operand.rank();
  DimensionVector dims(rank);
  for (int64_t d = 0; d < rank; ++d) {
    const auto& pad = config.dimensions(d);
    const int64_t step = pad.interior_padding() + 1;
    const int64_t dilated =
        operand.dim(d) == 0 ? 0 : (operand.dim(d) - 1) * step + 1;
    dims[d] = std::max<int64_t>(
        0, pad.edge_padding_low() + dilated + pad.edge_padding_high());
  }
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(operand.type(), dims, context.budget));
  Fill(result, operands[1]);
  // The operand elements [first, last) lie within the result.
  DimensionVector box(rank);
  DimensionVector to = RowMajorStrides(dims);
  const DimensionVector from = RowMajorStrides(operand.dims());
  int64_t dest = 0;
  int64_t src = 0;
  for (int64_t d = 0; d < rank; ++d) {
    const auto& pad = config.dimensions(d);
    const int64_t step = pad.interior_padding() + 1;
    const int64_t low = pad.edge_padding_low();
    const int64_t first = low >= 0 ? 0 : CeilOfRatio(-low, step);
    const int64_t last =
        std::min(operand.dim(d), FloorOfRatio(dims[d] - 1 - low, step) + 1);
    box[d] = last - first;
    dest += (low + first * step) * to[d];
    src += first * from[d];
    to[d] *= step;
  }
  const int64_t bytes = operand.element_bytes();
  CopyBox(result.mutable_raw() + dest * bytes, to, operand.raw() + src * bytes,
          from, box, bytes);
  return result;
}

// Common factors cut both shapes into runs of dimensions whose bounds have
// equal products. A reshape keeps each run to itself, so if one dimension of a
// run is dynamic in the result, it has what the run's elements leave:
// f32[<=6,4] with 4 rows becomes f32[<=3,2,4] with 2.
void FillDynamicSizes(const Shape& from, absl::Span<const int64_t> sizes,
                      const Shape& to, DimensionVector* dims) {
  const auto factors = CommonFactors(from.dimensions(), to.dimensions());
  for (size_t k = 0; k + 1 < factors.size(); ++k) {
    int64_t count = 1;
    for (int64_t d = factors[k].first; d < factors[k + 1].first; ++d) {
      count *= sizes[d];
    }
    int64_t open = -1;
    int64_t others = 1;
    for (int64_t d = factors[k].second; d < factors[k + 1].second; ++d) {
      if (open < 0 && to.is_dynamic_dimension(d)) {
        open = d;
      } else {
        others *= (*dims)[d];
      }
    }
    if (open >= 0 && others > 0) (*dims)[open] = count / others;
  }
}

absl::StatusOr<Value> EvaluateReshape(const HloInstruction* instruction,
                                      absl::Span<Value> operands,
                                      KernelContext& context) {
  const Shape& shape = instruction->shape();
  DimensionVector dims(shape.dimensions().begin(), shape.dimensions().end());
  if (Product(dims) == operands[0].count()) return operands[0].Reshaped(dims);
  const Shape& from = instruction->operand(0)->shape();
  if (absl::c_count(shape.dynamic_dimensions(), true) > 1) {
    FillDynamicSizes(from, operands[0].dims(), shape, &dims);
  } else {
    // One dynamic dimension of the result has the size that the others leave.
    int64_t others = 1;
    int64_t* open = nullptr;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (shape.is_dynamic_dimension(d)) {
        open = &dims[d];
      } else {
        others *= dims[d];
      }
    }
    if (open != nullptr && others > 0) *open = operands[0].count() / others;
  }
  if (Product(dims) != operands[0].count()) {
    return InvalidArgument("%d elements do not fill the result",
                           operands[0].count());
  }
  return operands[0].Reshaped(dims);
}

absl::StatusOr<Value> EvaluateReverse(const HloInstruction* instruction,
                                      absl::Span<Value> operands,
                                      KernelContext& context) {
  const Value& operand = operands[0];
  DimensionVector from = RowMajorStrides(operand.dims());
  int64_t start = 0;
  for (int64_t d : instruction->dimensions()) {
    if (d < 0 || d >= operand.rank()) {
      return InvalidArgument("dimension %d is out of bounds", d);
    }
    start += (operand.dim(d) - 1) * from[d];
    from[d] = -from[d];
  }
  if (operand.count() == 0) return operand;
  TF_ASSIGN_OR_RETURN(Value result, Value::Make(operand.type(), operand.dims(),
                                                context.budget));
  CopyBox(result.mutable_raw(), RowMajorStrides(operand.dims()),
          operand.raw() + start * operand.element_bytes(), from, operand.dims(),
          operand.element_bytes());
  return result;
}

absl::StatusOr<Value> EvaluateSlice(const HloInstruction* instruction,
                                    absl::Span<Value> operands,
                                    KernelContext& context) {
  const Value& operand = operands[0];
  TF_RETURN_IF_ERROR(CheckRank(operand, instruction->slice_starts().size()));
  DimensionVector dims(operand.rank());
  DimensionVector from = RowMajorStrides(operand.dims());
  int64_t start = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    // A dynamic operand may end before the limit.
    const int64_t first = instruction->slice_starts(d);
    const int64_t limit =
        std::min(instruction->slice_limits(d), operand.dim(d));
    const int64_t stride = instruction->slice_strides(d);
    if (first < 0 || stride <= 0) {
      return InvalidArgument("a slice of dimension %d from %d by %d", d, first,
                             stride);
    }
    dims[d] = first >= limit ? 0 : CeilOfRatio(limit - first, stride);
    start += first * from[d];
    from[d] *= stride;
  }
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(operand.type(), dims, context.budget));
  CopyBox(result.mutable_raw(), RowMajorStrides(dims),
          operand.raw() + start * operand.element_bytes(), from, dims,
          operand.element_bytes());
  return result;
}

absl::StatusOr<Value> EvaluateTranspose(const HloInstruction* instruction,
                                        absl::Span<Value> operands,
                                        KernelContext& context) {
  const Value& operand = operands[0];
  const absl::Span<const int64_t> permutation = instruction->dimensions();
  TF_RETURN_IF_ERROR(CheckRank(operand, permutation.size()));
  const DimensionVector strides = RowMajorStrides(operand.dims());
  DimensionVector dims(operand.rank());
  DimensionVector from(operand.rank());
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (permutation[d] < 0 || permutation[d] >= operand.rank()) {
      return InvalidArgument("dimension %d is out of bounds", permutation[d]);
    }
    dims[d] = operand.dim(permutation[d]);
    from[d] = strides[permutation[d]];
  }
  if (from == RowMajorStrides(dims)) return operand.Reshaped(dims);
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(operand.type(), dims, context.budget));
  CopyBox(result.mutable_raw(), RowMajorStrides(dims), operand.raw(), from,
          dims, operand.element_bytes());
  return result;
}

}  // namespace evaluator
}  // namespace xla
