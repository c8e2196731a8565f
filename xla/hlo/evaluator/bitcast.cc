#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/literal.h"
#include "xla/literal_packing.h"
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

// Several elements of such an array share a byte.
bool IsPacked(const Shape& shape) {
  // Scalars may have no layout.
  if (!shape.has_layout()) return false;
  const int64_t bits = shape.layout().element_size_in_bits();
  return bits > 0 && bits < 8 &&
         literal_internal::IsPackable(shape.element_type());
}

// Dimensions from major to minor, and the bits of an element as the last one.
Shape BitsInMemory(const Shape& shape, absl::Span<const int64_t> order) {
  Shape bits(PRED, {});
  for (int64_t d : order) {
    bits.add_dimensions(shape.dimensions(d), shape.is_dynamic_dimension(d));
  }
  bits.add_dimensions(IsPacked(shape)
                          ? primitive_util::BitWidth(shape.element_type())
                          : 8 * ElementBytes(shape.element_type()));
  return bits;
}

// As many elements of `to` as `dims` have, from the memory of others.
absl::StatusOr<Value> Reinterpreted(const Value& value, const Shape& from,
                                    const Shape& to,
                                    absl::Span<const int64_t> dims,
                                    MemoryBudget* budget) {
  const PrimitiveType type = to.element_type();
  const bool is_packed = IsPacked(to);
  TF_ASSIGN_OR_RETURN(Value result, Value::Make(type, dims, budget));
  std::string packed;
  absl::Span<const char> bytes(value.raw(), value.bytes());
  if (IsPacked(from)) {
    packed = literal_internal::PackElements(value.type(), value.raw(),
                                            value.count());
    bytes = packed;
  }
  const int64_t wanted =
      is_packed ? literal_internal::PackedBytes(type, result.count())
                : result.bytes();
  if (wanted != static_cast<int64_t>(bytes.size())) {
    return InvalidArgument("%d bytes do not fill the result", bytes.size());
  }
  if (is_packed) {
    literal_internal::UnpackElements(type, bytes, result.count(),
                                     result.mutable_raw());
  } else {
    absl::c_copy(bytes, result.mutable_raw());
    literal_internal::NormalizeElements(type, result.mutable_raw(),
                                        result.count());
  }
  return result;
}

absl::StatusOr<Value> BitcastArray(Value value, const Shape& from,
                                   const Shape& to, MemoryBudget* budget) {
  for (const Shape* shape : {&from, &to}) {
    if (!shape->has_layout() && !shape->dimensions().empty()) {
      return InvalidArgument("bitcast without a layout");
    }
  }
  const DimensionVector from_order = MajorToMinor(from);
  const DimensionVector to_order = MajorToMinor(to);
  TF_ASSIGN_OR_RETURN(value,
                      Permuted(value, from_order, /*inverse=*/false, budget));
  DimensionVector dims;
  for (int64_t d : to_order) dims.push_back(to.dimensions(d));
  if (to.is_dynamic()) {
    const Shape from_bits = BitsInMemory(from, from_order);
    DimensionVector sizes = value.dims();
    sizes.push_back(from_bits.dimensions().back());
    const Shape to_bits = BitsInMemory(to, to_order);
    dims.push_back(to_bits.dimensions().back());
    FillDynamicSizes(from_bits, sizes, to_bits, &dims);
    dims.pop_back();
  }
  if (from.element_type() == to.element_type()) {
    if (Product(dims) != value.count()) {
      return InvalidArgument("%d elements do not fill the result",
                             value.count());
    }
    value = value.Reshaped(dims);
  } else {
    TF_ASSIGN_OR_RETURN(value, Reinterpreted(value, from, to, dims, budget));
  }
  return Permuted(value, to_order, /*inverse=*/true, budget);
}

// A tuple in memory has pointers to its elements, which may be bitcasts of
// others.
absl::StatusOr<Value> Bitcast(Value value, const Shape& from, const Shape& to,
                              MemoryBudget* budget) {
  if (from.IsArray() && to.IsArray()) {
    return BitcastArray(std::move(value), from, to, budget);
  }
  if (from.IsToken() && to.IsToken()) return value;
  if (!from.IsTuple() || !to.IsTuple() ||
      from.tuple_shapes_size() != to.tuple_shapes_size()) {
    return InvalidArgument("bitcast of %s to %s", ShapeUtil::HumanString(from),
                           ShapeUtil::HumanString(to));
  }
  std::vector<Value> elements = std::move(value).TakeElements();
  for (size_t i = 0; i < elements.size(); ++i) {
    TF_ASSIGN_OR_RETURN(elements[i],
                        Bitcast(std::move(elements[i]), from.tuple_shapes(i),
                                to.tuple_shapes(i), budget));
  }
  return Value::Tuple(std::move(elements));
}

}  // namespace

absl::StatusOr<Value> EvaluateBitcast(const HloInstruction* instruction,
                                      absl::Span<Value> operands,
                                      KernelContext& context) {
  return Bitcast(std::move(operands[0]), instruction->operand(0)->shape(),
                 instruction->shape(), context.budget);
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
