// Opcodes that change the representation of elements.
#include <cstdint>

#include "absl/status/statusor.h"
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

absl::StatusOr<Shape> ShapeInference::InferConvertShape(
    const Shape& operand_shape, PrimitiveType new_element_type) {
  TF_RETURN_IF_ERROR(ExpectArray(operand_shape, "operand of convert"));
  const auto name =
      primitive_util::LowercasePrimitiveTypeName(new_element_type);
  if (!primitive_util::IsArrayType(new_element_type)) {
    return InvalidArgumentStrCat("convert to ", name,
                                 ", which has no elements");
  }
  if (primitive_util::IsComplexType(operand_shape.element_type()) &&
      !primitive_util::IsComplexType(new_element_type)) {
    return InvalidArgumentStrCat("convert from complex ", Str(operand_shape),
                                 " to real ", name, "; use real or imag");
  }
  return ShapeUtil::ChangeElementType(operand_shape, new_element_type);
}

absl::StatusOr<Shape> ShapeInference::InferBitcastConvertShape(
    const Shape& operand_shape, PrimitiveType new_element_type) {
  TF_RETURN_IF_ERROR(ExpectArray(operand_shape, "operand of bitcast-convert"));
  const PrimitiveType old_type = operand_shape.element_type();
  const auto name =
      primitive_util::LowercasePrimitiveTypeName(new_element_type);
  if (!primitive_util::IsArrayType(new_element_type) ||
      primitive_util::IsComplexType(old_type) !=
          primitive_util::IsComplexType(new_element_type)) {
    return InvalidArgumentStrCat("bitcast-convert from ", Str(operand_shape),
                                 " to ", name);
  }
  const int old_bits = primitive_util::StorageBitWidth(old_type);
  const int new_bits = primitive_util::StorageBitWidth(new_element_type);
  if (old_bits == new_bits) {
    return ShapeUtil::ChangeElementType(operand_shape, new_element_type);
  }
  ArrayBuilder result;
  const int64_t rank = operand_shape.dimensions().size();
  if (old_bits > new_bits) {
    if (old_bits % new_bits != 0) {
      return InvalidArgumentStrCat("bitcast-convert from ", Str(operand_shape),
                                   " to ", name, ": widths do not divide");
    }
    for (int64_t i = 0; i < rank; ++i) result.Add(SizeOf(operand_shape, i));
    result.Add(old_bits / new_bits);
    return result.Build(new_element_type);
  }
  const int64_t ratio = new_bits / old_bits;
  if (new_bits % old_bits != 0 || rank == 0 ||
      !Agree(operand_shape.dimensions(rank - 1), ratio)) {
    return InvalidArgumentStrCat("bitcast-convert from ", Str(operand_shape),
                                 " to ", name,
                                 " needs a last dimension of size ", ratio);
  }
  for (int64_t i = 0; i + 1 < rank; ++i) result.Add(SizeOf(operand_shape, i));
  return result.Build(new_element_type);
}

absl::StatusOr<Shape> ShapeInference::InferStochasticConvertShape(
    const Shape& operand_shape, const Shape& random_shape,
    PrimitiveType new_element_type) {
  TF_RETURN_IF_ERROR(
      ExpectArray(operand_shape, "operand of stochastic-convert"));
  TF_RETURN_IF_ERROR(
      ExpectArray(random_shape, "random operand of stochastic-convert"));
  const auto name =
      primitive_util::LowercasePrimitiveTypeName(new_element_type);
  if (!primitive_util::IsFloatingPointType(operand_shape.element_type())) {
    return InvalidArgumentStrCat(
        "operand of stochastic-convert must be floating point, not ",
        Str(operand_shape));
  }
  if (!primitive_util::IsFloatingPointType(new_element_type) &&
      !primitive_util::IsIntegralType(new_element_type)) {
    return InvalidArgumentStrCat(
        "stochastic-convert to ", name,
        ", which is neither floating point nor integral");
  }
  if (!primitive_util::IsUnsignedIntegralType(random_shape.element_type()) ||
      primitive_util::BitWidth(random_shape.element_type()) !=
          primitive_util::BitWidth(operand_shape.element_type())) {
    return InvalidArgumentStrCat(
        "random operand of stochastic-convert must be unsigned and as wide as ",
        Str(operand_shape), ", not ", Str(random_shape));
  }
  TF_RETURN_IF_ERROR(ExpectSameSizes(operand_shape, random_shape,
                                     "operands of stochastic-convert"));
  return ShapeUtil::ChangeElementType(operand_shape, new_element_type);
}

absl::StatusOr<Shape> ShapeInference::InferReducePrecisionShape(
    const Shape& operand_shape, int exponent_bits, int mantissa_bits) {
  TF_RETURN_IF_ERROR(ExpectArray(operand_shape, "operand of reduce-precision"));
  if (!primitive_util::IsFloatingPointType(operand_shape.element_type())) {
    return InvalidArgumentStrCat(
        "operand of reduce-precision must be floating point, not ",
        Str(operand_shape));
  }
  if (exponent_bits < 1 || mantissa_bits < 0) {
    return InvalidArgumentStrCat(
        "reduce-precision needs at least 1 exponent bit and 0 mantissa bits, "
        "not ",
        exponent_bits, " and ", mantissa_bits);
  }
  return operand_shape;
}

}  // namespace xla
