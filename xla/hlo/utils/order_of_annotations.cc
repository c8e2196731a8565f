#include "xla/hlo/utils/order_of_annotations.h"

#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {

absl::Status PassOrderOn(HloInstruction* annotation) {
  for (HloInstruction* successor : annotation->control_successors()) {
    for (HloInstruction* operand : annotation->operands()) {
      if (operand->opcode() == HloOpcode::kParameter) continue;
      TF_RETURN_IF_ERROR(operand->AddControlDependencyTo(successor));
    }
  }
  for (HloInstruction* predecessor : annotation->control_predecessors()) {
    for (HloInstruction* user : annotation->users()) {
      TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(user));
    }
  }
  return annotation->SafelyDropAllControlDependencies();
}

}  // namespace xla
