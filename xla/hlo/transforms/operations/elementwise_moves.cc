#include "xla/hlo/transforms/operations/elementwise_moves.h"

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {

bool IsMovableArray(const HloInstruction& inst) {
  return inst.shape().IsArray() && inst.shape().is_static() &&
         !inst.has_sharding() && !inst.HasControlDependencies();
}

bool IsMovableElementwise(const HloInstruction& inst) {
  return inst.IsElementwise() && inst.operand_count() > 0 &&
         IsMovableArray(inst) && inst.called_computations().empty() &&
         !inst.HasSideEffect() && inst.opcode() != HloOpcode::kCopy &&
         inst.opcode() != HloOpcode::kRng &&
         absl::c_all_of(inst.operands(), [&](const HloInstruction* operand) {
           return ShapeUtil::SameDimensions(operand->shape(), inst.shape());
         });
}

Shape InDimensionsOf(const Shape& shape, const Shape& like) {
  Shape result = ShapeUtil::ChangeElementType(like, shape.element_type());
  if (shape.has_layout() && result.has_layout()) {
    result.mutable_layout()->set_element_size_in_bits(
        shape.layout().element_size_in_bits());
  }
  return result;
}

}  // namespace xla
