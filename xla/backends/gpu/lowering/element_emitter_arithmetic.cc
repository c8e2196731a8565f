#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {

using kir::ElementType;
using kir::Operand;

namespace {

PrimitiveType TypeOf(const HloInstruction& hlo) {
  return hlo.shape().element_type();
}

bool IsInteger(PrimitiveType type) {
  return primitive_util::IsIntegralType(type);
}

// Narrower than a byte: results are cut to their bits.
bool IsNarrowInteger(PrimitiveType type) {
  return IsInteger(type) && primitive_util::BitWidth(type) < 8;
}

// The type with the same bits and no sign.
PrimitiveType Unsigned(PrimitiveType type) {
  return primitive_util::UnsignedIntegralTypeForBitWidth(
      primitive_util::BitWidth(type));
}

// Operations of one operand and one argument; empty for other opcodes.
absl::string_view UnaryOp(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAbs:
      return "abs";
    case HloOpcode::kAcos:
      return "acos";
    case HloOpcode::kAcosh:
      return "acosh";
    case HloOpcode::kAsin:
      return "asin";
    case HloOpcode::kAsinh:
      return "asinh";
    case HloOpcode::kAtanh:
      return "atanh";
    case HloOpcode::kCbrt:
      return "cbrt";
    case HloOpcode::kCeil:
      return "ceil";
    case HloOpcode::kCos:
      return "cos";
    case HloOpcode::kCosh:
      return "cosh";
    case HloOpcode::kErf:
      return "erf";
    case HloOpcode::kExp:
      return "exp";
    case HloOpcode::kExpm1:
      return "expm1";
    case HloOpcode::kFloor:
      return "floor";
    case HloOpcode::kLog:
      return "log";
    case HloOpcode::kLog1p:
      return "log1p";
    case HloOpcode::kLogistic:
      return "sigmoid";
    case HloOpcode::kNegate:
      return "neg";
    case HloOpcode::kRoundNearestAfz:
      return "round";
    case HloOpcode::kRoundNearestEven:
      return "rint";
    case HloOpcode::kRsqrt:
      return "rsqrt";
    case HloOpcode::kSign:
      return "sign";
    case HloOpcode::kSin:
      return "sin";
    case HloOpcode::kSinh:
      return "sinh";
    case HloOpcode::kSqrt:
      return "sqrt";
    case HloOpcode::kTan:
      return "tan";
    case HloOpcode::kTanh:
      return "tanh";
    default:  // Takes more than one operation: Unary().
      return "";
  }
}

absl::string_view BinaryOp(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return "add";
    case HloOpcode::kAnd:
      return "and";
    case HloOpcode::kAtan2:
      return "atan2";
    case HloOpcode::kMaximum:
      return "max";
    case HloOpcode::kMinimum:
      return "min";
    case HloOpcode::kMultiply:
      return "mul";
    case HloOpcode::kOr:
      return "or";
    case HloOpcode::kShiftLeft:
      return "shl";
    case HloOpcode::kSubtract:
      return "sub";
    case HloOpcode::kXor:
      return "xor";
    default:  // Takes more than one operation: Binary().
      return "";
  }
}

}  // namespace

ElementEmitter::Values ElementEmitter::Constant(const HloInstruction& hlo) {
  ASSIGN_OR_RETURN(const ElementType type, KernelType(TypeOf(hlo)));
  if (hlo.literal().is_elided()) return NotLowered(hlo, "elided");
  if (ShapeUtil::ElementsIn(hlo.shape()) != 1) {
    return NotLowered(hlo, "not in memory");
  }
  ASSIGN_OR_RETURN(const Literal number, hlo.literal().Convert(F64));
  const double value = *number.data<double>().begin();
  constexpr double kExact = int64_t{1} << 53;
  if (IsInteger(TypeOf(hlo)) && std::abs(value) >= kExact) {
    const int64_t bits = *hlo.literal().GetIntegralAsS64(
        std::vector<int64_t>(hlo.shape().dimensions().size(), 0));
    return std::vector<Operand>{Integer(bits, type)};
  }
  // .kir texts have finite numbers only.
  if (std::isnan(value)) return Nan(hlo.literal(), type);
  if (std::isinf(value)) {
    return std::vector<Operand>{
        builder_.Emit("div", type, {std::copysign(1, value), 0.0})};
  }
  return std::vector<Operand>{builder_.Emit("full", type, {value})};
}

// By its bits: which sign 0 / 0 has differs from machine to machine, and total
// orders put a NaN with a sign before all numbers.
ElementEmitter::Values ElementEmitter::Nan(const Literal& nan,
                                           ElementType type) {
  const PrimitiveType element_type = nan.shape().element_type();
  uint64_t bits = 0;
  std::memcpy(&bits, nan.untyped_data(),
              primitive_util::ByteWidth(element_type));
  const auto full = [&](uint64_t number, ElementType of) {
    return builder_.Emit("full", of,
                         {AffineExpr(static_cast<int64_t>(number))});
  };
  if (element_type == F64) {
    return std::vector<Operand>{
        builder_.Emit("bits", type,
                      {full(bits >> 32, ElementType::kU32),
                       full(bits & 0xffffffff, ElementType::kU32)})};
  }
  ASSIGN_OR_RETURN(const ElementType own, KernelType(Unsigned(element_type)));
  return std::vector<Operand>{builder_.Emit("bits", type, {full(bits, own)})};
}

// The least number has no text as an integer, but is exact as a float.
Operand ElementEmitter::Integer(int64_t value, ElementType type) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  if (value != kLeast) return builder_.Emit("full", type, {AffineExpr(value)});
  const Operand least = builder_.Emit("full", ElementType::kS64, {-0x1p63});
  return builder_.Emit("cast", type, {least});
}

absl::StatusOr<std::vector<Operand>> ElementEmitter::OperandElements(
    const HloInstruction& hlo, const Indices& indices) {
  std::vector<Operand> elements;
  for (const HloInstruction* operand : hlo.operands()) {
    // Clamp and select take scalars beside arrays.
    const bool scalar = ShapeUtil::IsScalar(operand->shape());
    ASSIGN_OR_RETURN(Operand element,
                     Element(*operand, scalar ? Indices() : indices));
    elements.push_back(element);
  }
  return elements;
}

ElementEmitter::Values ElementEmitter::Elementwise(const HloInstruction& hlo,
                                                   const Indices& indices) {
  ASSIGN_OR_RETURN(const ElementType type, KernelType(TypeOf(hlo)));
  ASSIGN_OR_RETURN(const std::vector<Operand> in,
                   OperandElements(hlo, indices));
  absl::StatusOr<Operand> value = NotLowered(hlo, "not lowered");
  switch (hlo.opcode()) {
    case HloOpcode::kMap: {
      ASSIGN_OR_RETURN(std::vector<Operand> results,
                       Apply(*hlo.to_apply(), in));
      return results;
    }
    case HloOpcode::kSelect:
      value = builder_.Emit("select", type, {in[0], in[1], in[2]});
      break;
    case HloOpcode::kClamp:
      value = builder_.Emit(
          "min", type, {builder_.Emit("max", type, {in[0], in[1]}), in[2]});
      break;
    case HloOpcode::kCompare:
      value = Compare(hlo, in[0], in[1]);
      break;
    case HloOpcode::kConvert:
      value = Convert(hlo, in[0], type);
      break;
    default:  // By the number of operands.
      if (in.size() == 1) value = Unary(hlo, in[0], type);
      if (in.size() == 2) value = Binary(hlo, in[0], in[1], type);
  }
  RETURN_IF_ERROR(value.status());
  if (IsNarrowInteger(TypeOf(hlo))) {
    return std::vector<Operand>{Narrow(*value, TypeOf(hlo))};
  }
  return std::vector<Operand>{*value};
}

absl::StatusOr<Operand> ElementEmitter::Unary(const HloInstruction& hlo,
                                              const Operand& a,
                                              ElementType type) {
  const absl::string_view op = UnaryOp(hlo.opcode());
  if (!op.empty()) return builder_.Emit(op, type, {a});
  switch (hlo.opcode()) {
    case HloOpcode::kNot:
      if (TypeOf(hlo) == PRED) return builder_.Emit("not", type, {a});
      return builder_.Emit("xor", type, {a, AffineExpr(-1)});
    case HloOpcode::kIsFinite: {
      // Infinity less itself is no number.
      const Operand zero = builder_.Emit("sub", builder_.TypeOf(a), {a, a});
      return builder_.Emit("eq", type, {zero, AffineExpr(0)});
    }
    case HloOpcode::kPopulationCount:
    case HloOpcode::kClz: {
      ASSIGN_OR_RETURN(const ElementType bits,
                       KernelType(Unsigned(TypeOf(hlo))));
      Operand value = builder_.Emit("cast", bits, {a});
      const int width = primitive_util::BitWidth(TypeOf(hlo));
      if (width < 8) {  // In a byte, after copies of the sign.
        value = builder_.Emit("and", bits,
                              {value, AffineExpr((int64_t{1} << width) - 1)});
      }
      const bool counts_zeros = hlo.opcode() == HloOpcode::kClz;
      Operand count =
          builder_.Emit(counts_zeros ? "clz" : "popcnt", bits, {value});
      if (counts_zeros && width < 8) {
        count = builder_.Emit("sub", bits, {count, AffineExpr(8 - width)});
      }
      return builder_.Emit("cast", type, {count});
    }
    case HloOpcode::kReducePrecision:
      return ReducePrecision(hlo, a, type);
    case HloOpcode::kBitcastConvert:
      return ReinterpretBits(hlo, a, type);
    default:  // An error.
      return NotLowered(hlo, "not lowered");
  }
}

absl::StatusOr<Operand> ElementEmitter::Binary(const HloInstruction& hlo,
                                               const Operand& a,
                                               const Operand& b,
                                               ElementType type) {
  // The sum of two truths is one.
  if (TypeOf(hlo) == PRED && hlo.opcode() == HloOpcode::kAdd) {
    return builder_.Emit("or", type, {a, b});
  }
  const absl::string_view op = BinaryOp(hlo.opcode());
  if (!op.empty()) return builder_.Emit(op, type, {a, b});
  switch (hlo.opcode()) {
    case HloOpcode::kDivide:
    case HloOpcode::kRemainder:
      return Divide(hlo, a, b, type);
    case HloOpcode::kMulhi: {
      const int width = primitive_util::BitWidth(TypeOf(hlo));
      if (width > 32) return NotLowered(hlo, "of 64 bits");
      const bool has_sign = primitive_util::IsSignedIntegralType(TypeOf(hlo));
      const ElementType wide = has_sign ? ElementType::kS64 : ElementType::kU64;
      const Operand product = builder_.Emit(
          "mul", wide,
          {builder_.Emit("cast", wide, {a}), builder_.Emit("cast", wide, {b})});
      const Operand high =
          builder_.Emit("shr", wide, {product, AffineExpr(width)});
      return builder_.Emit("cast", type, {high});
    }
    case HloOpcode::kPower:
      return builder_.Emit("pow", type, {a, b});
    case HloOpcode::kShiftRightArithmetic:
    case HloOpcode::kShiftRightLogical: {
      // The sign goes along in a type that has one.
      const bool logical = hlo.opcode() == HloOpcode::kShiftRightLogical;
      const int width = primitive_util::BitWidth(TypeOf(hlo));
      const PrimitiveType shifted =
          logical ? primitive_util::UnsignedIntegralTypeForBitWidth(width)
                  : primitive_util::SignedIntegralTypeForBitWidth(width);
      ASSIGN_OR_RETURN(const ElementType bits, KernelType(shifted));
      Operand value = builder_.Emit("cast", bits, {a});
      if (IsNarrowInteger(shifted)) value = Narrow(value, shifted);
      const Operand amount = builder_.Emit("cast", bits, {b});
      return builder_.Emit("cast", type,
                           {builder_.Emit("shr", bits, {value, amount})});
    }
    default:  // An error.
      return NotLowered(hlo, "not lowered");
  }
}

// Integers divide by zero to -1, and leave all; the least one by -1 to itself,
// and leaves nothing. No such division is ever made.
absl::StatusOr<Operand> ElementEmitter::Divide(const HloInstruction& hlo,
                                               const Operand& a,
                                               const Operand& b,
                                               ElementType type) {
  const bool divides = hlo.opcode() == HloOpcode::kDivide;
  const absl::string_view op = divides ? "div" : "rem";
  if (!IsInteger(TypeOf(hlo))) return builder_.Emit(op, type, {a, b});
  const Operand is_zero =
      builder_.Emit("eq", ElementType::kPred, {b, AffineExpr(0)});
  Operand avoided = is_zero;
  if (primitive_util::IsSignedIntegralType(TypeOf(hlo))) {
    const int64_t least = std::numeric_limits<int64_t>::min() >>
                          (64 - primitive_util::BitWidth(TypeOf(hlo)));
    const Operand is_least =
        builder_.Emit("eq", ElementType::kPred, {a, Integer(least, type)});
    const Operand is_minus_one =
        builder_.Emit("eq", ElementType::kPred, {b, AffineExpr(-1)});
    const Operand both =
        builder_.Emit("and", ElementType::kPred, {is_least, is_minus_one});
    avoided = builder_.Emit("or", ElementType::kPred, {is_zero, both});
  }
  const Operand divisor =
      builder_.Emit("select", type, {avoided, AffineExpr(1), b});
  const Operand result = builder_.Emit(op, type, {a, divisor});
  if (!divides) return builder_.Emit("select", type, {is_zero, a, result});
  return builder_.Emit("select", type, {is_zero, AffineExpr(-1), result});
}

absl::StatusOr<Operand> ElementEmitter::Compare(const HloInstruction& hlo,
                                                const Operand& a,
                                                const Operand& b) {
  if (hlo.comparison_order() == Comparison::Order::kTotal) {
    return CompareTotal(hlo, hlo.comparison_direction(), a, b);
  }
  return Compare(hlo.comparison_direction(), a, b);
}

Operand ElementEmitter::Compare(ComparisonDirection direction, const Operand& a,
                                const Operand& b) {
  absl::string_view op;
  switch (direction) {
    case ComparisonDirection::kEq:
    case ComparisonDirection::kNe:
      op = "eq";
      break;
    case ComparisonDirection::kLt:
      op = "lt";
      break;
    case ComparisonDirection::kLe:
      op = "le";
      break;
    case ComparisonDirection::kGt:
      op = "gt";
      break;
    case ComparisonDirection::kGe:
      op = "ge";
      break;
  }
  const Operand result = builder_.Emit(op, ElementType::kPred, {a, b});
  if (direction != ComparisonDirection::kNe) return result;
  return builder_.Emit("not", ElementType::kPred, {result});
}

absl::StatusOr<Operand> ElementEmitter::Convert(const HloInstruction& hlo,
                                                const Operand& a,
                                                ElementType type) {
  const PrimitiveType from = TypeOf(*hlo.operand(0));
  if (TypeOf(hlo) == from) return a;
  if (TypeOf(hlo) == PRED) {
    const Operand is_zero =
        builder_.Emit("eq", ElementType::kPred, {a, AffineExpr(0)});
    return builder_.Emit("not", type, {is_zero});
  }
  const bool saturates =
      IsInteger(TypeOf(hlo)) && primitive_util::IsFloatingPointType(from);
  Operand value = builder_.Emit(saturates ? "saturate" : "cast", type, {a});
  if (saturates && IsNarrowInteger(TypeOf(hlo))) {
    const bool has_sign = primitive_util::IsSignedIntegralType(TypeOf(hlo));
    const int64_t end = int64_t{1} << (primitive_util::BitWidth(TypeOf(hlo)) -
                                       (has_sign ? 1 : 0));
    value =
        builder_.Emit("max", type, {value, AffineExpr(has_sign ? -end : 0)});
    value = builder_.Emit("min", type, {value, AffineExpr(end - 1)});
  }
  return value;
}

}  // namespace xla::gpu
