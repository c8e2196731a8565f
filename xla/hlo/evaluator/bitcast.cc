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
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// The same bytes under another shape or type.

namespace xla {
namespace evaluator {
namespace {

// Dimensions from major to minor in memory.
DimensionVector MajorToMinor(const Shape& shape) {
  DimensionVector order(shape.dimensions().size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = shape.layout().minor_to_major(order.size() - 1 - i);
  }
  return order;
}

// The array with dimension order[i] as dimension i; the way back if `inverse`.
absl::StatusOr<Value> Permuted(const Value& value,
                               absl::Span<const int64_t> order, bool inverse,
                               MemoryBudget* budget) {
  const int64_t rank = value.rank();
  const DimensionVector strides = RowMajorStrides(value.dims());
  DimensionVector dims(rank);
  DimensionVector from(rank);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t source = inverse ? d : order[d];
    const int64_t dest = inverse ? order[d] : d;
    dims[dest] = value.dim(source);
    from[dest] = strides[source];
  }
  if (from == RowMajorStrides(dims)) return value.Reshaped(dims);
  TF_ASSIGN_OR_RETURN(Value result, Value::Make(value.type(), dims, budget));
  if (result.count() > 0) {
    CopyStridedBox(result.mutable_raw(), RowMajorStrides(dims), value.raw(),
                   from, dims, value.element_bytes());
  }
  return result;
}

bool IsByteSized(PrimitiveType type) {
  return type != PRED && primitive_util::StorageBitWidth(type) >= 8 &&
         primitive_util::BitWidth(type) >= 8;
}

}  // namespace

absl::StatusOr<Value> EvaluateBitcast(const HloInstruction* instruction,
                                      absl::Span<Value> operands,
                                      KernelContext& context) {
  const Shape& from = instruction->operand(0)->shape();
  const Shape& to = instruction->shape();
  if (!from.IsArray() || !to.IsArray() || !from.is_static() ||
      !to.is_static()) {
    return Unimplemented("bitcast of a value that is not a static array");
  }
  for (const Shape* shape : {&from, &to}) {
    if (!shape->has_layout() && !shape->dimensions().empty()) {
      return InvalidArgument("bitcast without a layout");
    }
  }
  const DimensionVector from_order = MajorToMinor(from);
  const DimensionVector to_order = MajorToMinor(to);
  TF_ASSIGN_OR_RETURN(Value value, Permuted(operands[0], from_order,
                                            /*inverse=*/false, context.budget));
  DimensionVector dims;
  for (int64_t d : to_order) dims.push_back(to.dimensions(d));
  if (from.element_type() != to.element_type()) {
    if (!IsByteSized(from.element_type()) || !IsByteSized(to.element_type())) {
      return Unimplemented("bitcast between elements of parts of bytes");
    }
    if (ElementBytes(from.element_type()) == ElementBytes(to.element_type())) {
      value = value.Retyped(to.element_type());
    } else {
      if (Product(dims) * ElementBytes(to.element_type()) != value.bytes()) {
        return InvalidArgument("%d bytes do not fill the result",
                               value.bytes());
      }
      TF_ASSIGN_OR_RETURN(Value other,
                          Value::Make(to.element_type(), dims, context.budget));
      std::copy_n(value.raw(), value.bytes(), other.mutable_raw());
      value = std::move(other);
    }
  }
  if (Product(dims) != value.count()) {
    return InvalidArgument("%d elements do not fill the result", value.count());
  }
  return Permuted(value.Reshaped(dims), to_order, /*inverse=*/true,
                  context.budget);
}

absl::StatusOr<Value> EvaluateBitcastConvert(const HloInstruction* instruction,
                                             absl::Span<Value> operands,
                                             KernelContext& context) {
  const Value& operand = operands[0];
  const PrimitiveType to = instruction->shape().element_type();
  if (!IsByteSized(operand.type()) || !IsByteSized(to)) {
    // Converting literals packs and unpacks bits.
    TF_ASSIGN_OR_RETURN(Literal literal,
                        operand.ToLiteral(operand.StaticShape()));
    Shape shape = instruction->shape();
    shape.clear_layout();
    TF_ASSIGN_OR_RETURN(Literal result,
                        literal.BitcastConvert(ShapeUtil::MakeShape(
                            shape.element_type(), shape.dimensions())));
    return Value::FromLiteral(result, context.budget, /*borrow=*/false);
  }
  const int64_t from_bytes = operand.element_bytes();
  const int64_t to_bytes = ElementBytes(to);
  DimensionVector dims = operand.dims();
  if (from_bytes > to_bytes) {
    dims.push_back(from_bytes / to_bytes);
  } else if (from_bytes < to_bytes) {
    if (dims.empty() || dims.back() != to_bytes / from_bytes) {
      return InvalidArgument(
          "the last dimension does not hold the bytes of an element");
    }
    dims.pop_back();
  } else {
    return operand.Retyped(to);
  }
  TF_ASSIGN_OR_RETURN(Value result, Value::Make(to, dims, context.budget));
  std::copy_n(operand.raw(), operand.bytes(), result.mutable_raw());
  return result;
}

}  // namespace evaluator
}  // namespace xla
