#include "xla/hlo/transforms/simplifiers/canonicalizer_rules.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

HloInstruction* ConvertOfConvert(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != HloOpcode::kConvert) return nullptr;
  HloInstruction* x = inner->mutable_operand(0);
  // The first conversion must not round or wrap.
  if (!primitive_util::CastPreservesValues(x->shape().element_type(),
                                           inner->shape().element_type())) {
    return nullptr;
  }
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
};

}  // namespace

absl::Span<const CanonicalizerRule> TypeRules() { return kTypeRules; }

}  // namespace xla
