#include "xla/backends/gpu/transforms/layouts/copy_remover.h"

#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

bool IsParameter(const HloInstruction& value) {
  const HloInstruction* whole = &value;
  while (whole->opcode() == HloOpcode::kGetTupleElement ||
         whole->opcode() == HloOpcode::kBitcast) {
    whole = whole->operand(0);
  }
  return whole->opcode() == HloOpcode::kParameter;
}

// Whether other computations, or the caller, see the value.
bool LeavesComputation(const HloInstruction& value) {
  std::vector<const HloInstruction*> work = {&value};
  while (!work.empty()) {
    const HloInstruction* held = work.back();
    work.pop_back();
    if (held->IsRoot()) return true;
    for (const HloInstruction* user : held->users()) {
      switch (user->opcode()) {
        case HloOpcode::kCall:
        case HloOpcode::kConditional:
        case HloOpcode::kWhile:
          return true;
        case HloOpcode::kTuple:
        case HloOpcode::kBitcast:
          work.push_back(user);
          break;
        default:  // Reads the value here.
          break;
      }
    }
  }
  return false;
}

bool IsIdle(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kCopy &&
         !instruction.HasControlDependencies() && !instruction.has_sharding() &&
         instruction.shape().IsArray() &&
         instruction.shape() == instruction.operand(0)->shape() &&
         !IsParameter(*instruction.operand(0)) &&
         !LeavesComputation(instruction);
}

}  // namespace

absl::StatusOr<bool> CopyRemover::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (module->has_schedule()) return false;
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      if (!IsIdle(*instruction)) continue;
      TF_RETURN_IF_ERROR(computation->ReplaceInstruction(
          instruction, instruction->mutable_operand(0)));
      changed = true;
    }
  }
  return changed;
}

}  // namespace xla::gpu
