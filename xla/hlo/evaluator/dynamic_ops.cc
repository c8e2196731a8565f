#include <algorithm>
#include <cstdint>
#include <utility>

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

// Instructions whose places or sizes are known at run time alone.

namespace xla {
namespace evaluator {
namespace {

// Start indices, one scalar operand per dimension or one vector, each clamped
// so that the box lies within the array.
absl::StatusOr<DimensionVector> ClampedStarts(absl::Span<const Value> indices,
                                              absl::Span<const int64_t> dims,
                                              absl::Span<const int64_t> box) {
  const int64_t rank = static_cast<int64_t>(dims.size());
  const bool vector = indices.size() == 1 && indices[0].rank() == 1;
  const int64_t given =
      vector ? indices[0].count() : static_cast<int64_t>(indices.size());
  if (given != rank || box.size() != dims.size()) {
    return InvalidArgument("%d start indices for %d dimensions", given, rank);
  }
  DimensionVector starts(rank);
  for (int64_t d = 0; d < rank; ++d) {
    if (box[d] > dims[d]) {
      return InvalidArgument("%d elements of dimension %d, which has %d",
                             box[d], d, dims[d]);
    }
    const int64_t start = vector ? indices[0].Int64At(d) : indices[d].AsInt64();
    starts[d] = std::clamp<int64_t>(start, 0, dims[d] - box[d]);
  }
  return starts;
}

int64_t Offset(absl::Span<const int64_t> index,
               absl::Span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

}  // namespace

absl::StatusOr<Value> EvaluateDynamicReshape(const HloInstruction* instruction,
                                             absl::Span<Value> operands,
                                             KernelContext& context) {
  DimensionVector dims;
  for (const Value& size : operands.subspan(1)) dims.push_back(size.AsInt64());
  if (Product(dims) != operands[0].count()) {
    return InvalidArgument("%d elements do not fill the result",
                           operands[0].count());
  }
  return operands[0].Reshaped(dims);
}

absl::StatusOr<Value> EvaluateDynamicSlice(const HloInstruction* instruction,
                                           absl::Span<Value> operands,
                                           KernelContext& context) {
  const Value& operand = operands[0];
  const auto& sizes = instruction->dynamic_slice_sizes();
  TF_ASSIGN_OR_RETURN(
      DimensionVector starts,
      ClampedStarts(operands.subspan(1), operand.dims(), sizes));
  if (operand.dims() == DimensionVector(sizes.begin(), sizes.end())) {
    return operand;
  }
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(operand.type(), sizes, context.budget));
  if (result.count() == 0) return result;
  const DimensionVector strides = RowMajorStrides(operand.dims());
  CopyStridedBox(
      result.mutable_raw(), RowMajorStrides(sizes),
      operand.raw() + Offset(starts, strides) * operand.element_bytes(),
      strides, sizes, operand.element_bytes());
  return result;
}

absl::StatusOr<Value> EvaluateDynamicUpdateSlice(
    const HloInstruction* instruction, absl::Span<Value> operands,
    KernelContext& context) {
  const Value& update = operands[1];
  if (update.type() != operands[0].type()) {
    return InvalidArgument("the update has a different element type");
  }
  TF_ASSIGN_OR_RETURN(
      DimensionVector starts,
      ClampedStarts(operands.subspan(2), operands[0].dims(), update.dims()));
  if (update.dims() == operands[0].dims()) return update;
  TF_ASSIGN_OR_RETURN(
      Value result, Value::MakeUnique(std::move(operands[0]), context.budget));
  if (update.count() == 0) return result;
  const DimensionVector strides = RowMajorStrides(result.dims());
  CopyStridedBox(
      result.mutable_raw() + Offset(starts, strides) * update.element_bytes(),
      strides, update.raw(), RowMajorStrides(update.dims()), update.dims(),
      update.element_bytes());
  return result;
}

absl::StatusOr<Value> EvaluateGetDimensionSize(
    const HloInstruction* instruction, absl::Span<Value> operands,
    KernelContext& context) {
  const int64_t d = instruction->dimension();
  if (d < 0 || d >= operands[0].rank()) {
    return InvalidArgument("dimension %d is out of bounds", d);
  }
  return Value::Scalar<int32_t>(static_cast<int32_t>(operands[0].dim(d)));
}

// Elements beyond the old size are zeros.
absl::StatusOr<Value> EvaluateSetDimensionSize(
    const HloInstruction* instruction, absl::Span<Value> operands,
    KernelContext& context) {
  const Value& operand = operands[0];
  const int64_t d = instruction->dimension();
  const int64_t size = operands[1].AsInt64();
  if (d < 0 || d >= operand.rank()) {
    return InvalidArgument("dimension %d is out of bounds", d);
  }
  const Shape& shape = instruction->shape();
  if (size < 0 || size > shape.dimensions(d)) {
    return InvalidArgument("size %d is not between 0 and the bound %d", size,
                           shape.dimensions(d));
  }
  // A static result has its bound as its size, whatever the operand says.
  const int64_t new_size =
      shape.is_dynamic_dimension(d) ? size : shape.dimensions(d);
  if (new_size == operand.dim(d)) return operand;
  DimensionVector dims = operand.dims();
  dims[d] = new_size;
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::MakeZeros(operand.type(), dims, context.budget));
  dims[d] = std::min(new_size, operand.dim(d));
  if (Product(dims) == 0) return result;
  CopyStridedBox(result.mutable_raw(), RowMajorStrides(result.dims()),
                 operand.raw(), RowMajorStrides(operand.dims()), dims,
                 operand.element_bytes());
  return result;
}

}  // namespace evaluator
}  // namespace xla
