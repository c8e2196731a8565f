#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"

#include <cstdint>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// What `inst` names under another name, or null.
HloInstruction* ForwardedValue(HloInstruction* inst) {
  if (inst->opcode() == HloOpcode::kGetTupleElement) {
    HloInstruction* tuple = inst->mutable_operand(0);
    if (tuple->opcode() != HloOpcode::kTuple) return nullptr;
    return tuple->mutable_operand(inst->tuple_index());
  }
  if (inst->opcode() != HloOpcode::kTuple || inst->operand_count() == 0) {
    return nullptr;
  }
  HloInstruction* whole = nullptr;
  for (int64_t i = 0; i < inst->operand_count(); ++i) {
    HloInstruction* element = inst->mutable_operand(i);
    if (element->opcode() != HloOpcode::kGetTupleElement ||
        element->tuple_index() != i) {
      return nullptr;
    }
    if (whole == nullptr) whole = element->mutable_operand(0);
    if (element->operand(0) != whole) return nullptr;
  }
  return whole;
}

absl::StatusOr<bool> RunOnComputation(HloComputation* computation) {
  bool changed = false;
  // Operands first: a chain of tuples is forwarded link by link.
  for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
    if (computation->IsMarkedAsDead(inst)) continue;
    HloInstruction* value = ForwardedValue(inst);
    if (value == nullptr || value->shape() != inst->shape()) continue;
    TF_ASSIGN_OR_RETURN(bool replaced,
                        computation->ReplaceInstruction(
                            inst, value, /*preserve_sharding=*/true));
    changed |= replaced;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> TupleSimplifier::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation : module->computations(execution_threads)) {
    if (options_.exclude_entry_computation &&
        computation->IsEntryComputation()) {
      continue;
    }
    TF_ASSIGN_OR_RETURN(bool computation_changed,
                        RunOnComputation(computation));
    changed |= computation_changed;
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
