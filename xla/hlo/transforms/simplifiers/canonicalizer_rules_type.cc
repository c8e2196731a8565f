#include <cstdint>
#include <limits>

#include "xla/hlo/transforms/simplifiers/canonicalizer_rules.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Whether integers of type `from` that became floats are cut off at the bounds
// of the integers of type `to`, where those that did not wrap around.
bool IsCutOff(PrimitiveType from, PrimitiveType between, PrimitiveType to) {
  return primitive_util::IsIntegralType(from) &&
         primitive_util::IsIntegralType(to) &&
         !primitive_util::IsIntegralType(between) &&
         !primitive_util::CastPreservesValues(from, to);
}

HloInstruction* ConvertOfConvert(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != HloOpcode::kConvert) return nullptr;
  HloInstruction* x = inner->mutable_operand(0);
  // The first conversion must not round or wrap.
  const PrimitiveType from = x->shape().element_type();
  const PrimitiveType between = inner->shape().element_type();
  const PrimitiveType to = inst->shape().element_type();
  if (!primitive_util::CastPreservesValues(from, between) ||
      IsCutOff(from, between, to)) {
    return nullptr;
  }
  // True is 1 everywhere but in S1, the one bit of which is a sign.
  if (from == PRED && (between == S1 || to == S1)) return nullptr;
  if (HasShapeOf(inst, x)) return x;
  return inst->AddInstruction(HloInstruction::CreateConvert(inst->shape(), x));
}

HloInstruction* BitcastConvertOfBitcastConvert(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != HloOpcode::kBitcastConvert) return nullptr;
  HloInstruction* x = inner->mutable_operand(0);
  if (HasShapeOf(inst, x)) return x;
  // Between types of one width no dimensions come or go on the way.
  if (!ShapeUtil::SameDimensions(inst->shape(), x->shape()) ||
      !ShapeUtil::SameDimensions(inner->shape(), x->shape())) {
    return nullptr;
  }
  return inst->AddInstruction(
      HloInstruction::CreateBitcastConvert(inst->shape(), x));
}

// Whether rounding values of a type to these bits keeps each of them. Types
// whose largest exponent holds numbers, too, have no such widths.
bool KeepsAllBits(PrimitiveType type, const HloInstruction& reduce_precision) {
  switch (type) {
    case F16:
    case BF16:
    case F32:
    case F64:
      break;
    default:
      return false;
  }
  return reduce_precision.exponent_bits() >=
             primitive_util::ExponentWidth(type) &&
         reduce_precision.mantissa_bits() + 1 >=
             primitive_util::SignificandWidth(type);
}

HloInstruction* ReducePrecisionOfNothing(HloInstruction* inst) {
  HloInstruction* x = OperandIfSameShape(inst);
  if (x == nullptr) return nullptr;
  if (KeepsAllBits(x->shape().element_type(), *inst)) return x;
  // What has been widened from a type of the same exponents.
  if (x->opcode() != HloOpcode::kConvert) return nullptr;
  const PrimitiveType from = x->operand(0)->shape().element_type();
  if (from != BF16 || x->shape().element_type() != F32) return nullptr;
  return KeepsAllBits(from, *inst) ? x : nullptr;
}

HloInstruction* SizeOfStaticDimension(HloInstruction* inst) {
  const Shape& shape = inst->operand(0)->shape();
  const int64_t size = shape.dimensions(inst->dimension());
  if (shape.is_dynamic_dimension(inst->dimension()) || size < 0 ||
      size > std::numeric_limits<int32_t>::max()) {
    return nullptr;
  }
  return inst->AddInstruction(HloInstruction::CreateConstant(
      LiteralUtil::CreateR0<int32_t>(static_cast<int32_t>(size))));
}

constexpr CanonicalizerRule kTypeRules[] = {
    {"convert-nothing", "convert(x) to its own type → x", HloOpcode::kConvert,
     OperandIfSameShape},
    {"convert-of-convert",
     "convert(convert(x)) where the first keeps every value → convert(x)",
     HloOpcode::kConvert, ConvertOfConvert},
    {"bitcast-convert-nothing", "bitcast-convert(x) to its own type → x",
     HloOpcode::kBitcastConvert, OperandIfSameShape},
    {"bitcast-convert-twice",
     "bitcast-convert(bitcast-convert(x)) → bitcast-convert(x)",
     HloOpcode::kBitcastConvert, BitcastConvertOfBitcastConvert},
    {"reduce-precision-nothing",
     "reduce-precision(x) to bits that x has anyway → x",
     HloOpcode::kReducePrecision, ReducePrecisionOfNothing},
    {"size-of-static-dimension",
     "get-dimension-size(x) of a static dimension → its size",
     HloOpcode::kGetDimensionSize, SizeOfStaticDimension},
};

}  // namespace

absl::Span<const CanonicalizerRule> TypeRules() { return kTypeRules; }

}  // namespace xla
