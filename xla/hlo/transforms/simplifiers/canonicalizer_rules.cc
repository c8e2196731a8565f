#include "xla/hlo/transforms/simplifiers/canonicalizer_rules.h"

#include "xla/shape_util.h"

namespace xla {

bool HasShapeOf(const HloInstruction* inst, const HloInstruction* other) {
  return ShapeUtil::Equal(inst->shape(), other->shape());
}

HloInstruction* OperandIfSameShape(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  return HasShapeOf(inst, x) ? x : nullptr;
}

}  // namespace xla
