#include "xla/hlo/transforms/loops/loop_state_copies.h"

#include <cstdint>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Whether a trip may put another value into an element of the state.
bool Writes(const HloComputation& body, int64_t index) {
  const HloInstruction* root = body.root_instruction();
  if (root->opcode() != HloOpcode::kTuple) return true;
  const HloInstruction* next = root->operand(index);
  return next->opcode() != HloOpcode::kGetTupleElement ||
         next->operand(0)->opcode() != HloOpcode::kParameter ||
         next->tuple_index() != index;
}

// The loops of a computation; `written`: values that some loop writes.
absl::StatusOr<bool> CopyStates(HloComputation* computation) {
  absl::flat_hash_set<const HloInstruction*> written;
  bool changed = false;
  for (HloInstruction* loop : computation->MakeInstructionPostOrder()) {
    if (loop->opcode() != HloOpcode::kWhile) continue;
    HloInstruction* state = loop->mutable_operand(0);
    if (state->opcode() != HloOpcode::kTuple || state->user_count() != 1) {
      continue;
    }
    for (int64_t i = 0; i < state->operand_count(); ++i) {
      HloInstruction* value = state->mutable_operand(i);
      if (!value->shape().IsArray() || !Writes(*loop->while_body(), i)) {
        continue;
      }
      const bool is_first = written.insert(value).second;
      if (is_first && value->opcode() != HloOpcode::kConstant) continue;
      HloInstruction* copy = computation->AddInstruction(
          HloInstruction::CreateUnary(value->shape(), HloOpcode::kCopy, value));
      TF_RETURN_IF_ERROR(state->ReplaceOperandWith(i, copy));
      changed = true;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> LoopStateCopies::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    TF_ASSIGN_OR_RETURN(const bool copied, CopyStates(computation));
    changed |= copied;
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
