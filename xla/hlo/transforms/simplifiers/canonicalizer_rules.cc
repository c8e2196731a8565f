#include "xla/hlo/transforms/simplifiers/canonicalizer_rules.h"

#include "xla/literal.h"
#include "xla/shape_util.h"

namespace xla {

bool IsAllConstant(const HloInstruction* inst, int8_t value) {
  while (inst->opcode() == HloOpcode::kBroadcast ||
         inst->opcode() == HloOpcode::kReshape) {
    inst = inst->operand(0);
  }
  return inst->opcode() == HloOpcode::kConstant && inst->shape().IsArray() &&
         !inst->literal().is_elided() && inst->literal().IsAll(value);
}

bool HasShapeOf(const HloInstruction* inst, const HloInstruction* other) {
  return ShapeUtil::Equal(inst->shape(), other->shape());
}

HloInstruction* OperandIfSameShape(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  return HasShapeOf(inst, x) ? x : nullptr;
}

}  // namespace xla
