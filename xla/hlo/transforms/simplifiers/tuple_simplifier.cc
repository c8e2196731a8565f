#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/prefetch.h"
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

bool IsTupleOrElement(const HloInstruction* inst) {
  return inst->opcode() == HloOpcode::kTuple ||
         inst->opcode() == HloOpcode::kGetTupleElement;
}

bool IsForwarded(HloInstruction* inst) {
  HloInstruction* value = ForwardedValue(inst);
  return value != nullptr && value->shape() == inst->shape();
}

// The tuples and elements of the computation in its order; none if there is
// nothing to forward now, as then there is nothing later.
std::vector<HloInstruction*> TuplesAndElements(HloComputation* computation) {
  // Instructions lie apart in memory: they are fetched ahead.
  constexpr int kAhead = 8;
  auto ahead = computation->instructions().begin();
  const auto end = computation->instructions().end();
  for (int i = 0; i < kAhead && ahead != end; ++i, ++ahead) {
    absl::PrefetchToLocalCache(*ahead);
  }
  std::vector<HloInstruction*> found;
  bool any_forwarded = false;
  for (HloInstruction* inst : computation->instructions()) {
    if (ahead != end) {
      absl::PrefetchToLocalCache(*ahead);
      ++ahead;
    }
    if (!IsTupleOrElement(inst)) continue;
    found.push_back(inst);
    any_forwarded = any_forwarded || IsForwarded(inst);
  }
  if (!any_forwarded) found.clear();
  return found;
}

// Puts those that read others after them.
std::vector<HloInstruction*> OperandsFirst(
    const std::vector<HloInstruction*>& instructions, int64_t num_local_ids) {
  std::vector<HloInstruction*> order;
  std::vector<bool> seen(num_local_ids, false);
  std::vector<std::pair<HloInstruction*, int64_t>> stack;  // next operand
  auto push = [&](HloInstruction* inst) {
    if (seen[inst->local_id()]) return;
    seen[inst->local_id()] = true;
    stack.emplace_back(inst, 0);
  };
  for (HloInstruction* inst : instructions) {
    push(inst);
    while (!stack.empty()) {
      auto& [top, next] = stack.back();
      if (next == top->operand_count()) {
        order.push_back(top);
        stack.pop_back();
        continue;
      }
      HloInstruction* operand = top->mutable_operand(next++);
      if (IsTupleOrElement(operand)) push(operand);
    }
  }
  return order;
}

// Whether `later` waits for `earlier`.
bool WaitsFor(const HloInstruction* later, const HloInstruction* earlier) {
  std::vector<bool> seen(later->parent()->next_unique_instruction_internal_id(),
                         false);
  std::vector<const HloInstruction*> work = {later};
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    if (inst == earlier) return true;
    if (seen[inst->local_id()]) continue;
    seen[inst->local_id()] = true;
    work.insert(work.end(), inst->operands().begin(), inst->operands().end());
    work.insert(work.end(), inst->control_predecessors().begin(),
                inst->control_predecessors().end());
  }
  return false;
}

// Control predecessors of `inst` come before the value; where that is older
// than what came before, before those who read it.
absl::Status HandOnControlDependencies(HloInstruction* inst,
                                       HloInstruction* value) {
  if (!inst->HasControlDependencies()) return absl::OkStatus();
  const std::vector<HloInstruction*> before(
      inst->control_predecessors().begin(), inst->control_predecessors().end());
  const std::vector<HloInstruction*> after(inst->control_successors().begin(),
                                           inst->control_successors().end());
  TF_RETURN_IF_ERROR(inst->DropAllControlDeps());
  for (HloInstruction* successor : after) {
    TF_RETURN_IF_ERROR(value->AddControlDependencyTo(successor));
  }
  for (HloInstruction* predecessor : before) {
    if (value->opcode() != HloOpcode::kParameter &&
        !WaitsFor(predecessor, value)) {
      TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(value));
      continue;
    }
    for (HloInstruction* user : inst->users()) {
      TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(user));
    }
    for (HloInstruction* successor : after) {
      TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(successor));
    }
  }
  return absl::OkStatus();
}

// Whether `value` may stand for `inst` with the sharding that `inst` has.
// Loops, branches, and parameters and roots of callees are sharded as others
// are.
bool TakesSharding(const HloInstruction& inst, const HloInstruction& value) {
  if (!inst.has_sharding()) return true;
  if (value.has_sharding()) return value.has_compatible_sharding(&inst);
  if (value.IsRoot() && !value.parent()->IsEntryComputation()) return false;
  if (value.opcode() == inst.opcode()) return true;
  return HloPredicateIsNotOp<HloOpcode::kWhile, HloOpcode::kConditional>(
             &value) &&
         (value.opcode() != HloOpcode::kParameter ||
          value.parent()->IsEntryComputation());
}

absl::StatusOr<bool> RunOnComputation(HloComputation* computation) {
  bool changed = false;
  // Operands first: a chain of tuples is forwarded link by link.
  for (HloInstruction* inst :
       OperandsFirst(TuplesAndElements(computation),
                     computation->next_unique_instruction_internal_id())) {
    if (computation->IsMarkedAsDead(inst) || !IsForwarded(inst)) continue;
    HloInstruction* value = ForwardedValue(inst);
    // What stays keeps its order, too.
    if (!TakesSharding(*inst, *value)) continue;
    TF_RETURN_IF_ERROR(HandOnControlDependencies(inst, value));
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
