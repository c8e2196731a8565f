// Slots of computations: removal, cleanup, local ids.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Whether it is the end of an asynchronous operation of which a part before it
// stays, for what keeps it or for other readers: its removal would leave a
// start without an end.
bool EndsWhatStays(const HloInstruction& instruction,
                   bool ignore_control_dependencies) {
  if (!instruction.IsAsyncDone()) return false;
  return AsyncLinkThatStays(instruction, [&](const HloInstruction& link) {
           return link.user_count() > 1 || link.IsRoot() ||
                  link.HasSideEffect() ||
                  (link.HasControlDependencies() &&
                   !ignore_control_dependencies);
         }) != nullptr;
}

}  // namespace

bool HloComputation::IsMarkedAsDead(const HloInstruction* inst) const {
  return inst->IsMarkedAsDead();
}

bool HloComputation::IsSafelyRemovable(
    const HloInstruction* instruction, bool ignore_control_dependency,
    std::optional<CallersFn> computation_callers,
    bool remove_dead_parameters_from_entry_computation) const {
  if (!ignore_control_dependency && instruction->HasControlDependencies()) {
    return false;
  }
  if (instruction->opcode() != HloOpcode::kParameter) return true;
  if (IsFusionComputation()) return true;
  if (IsEntryComputation()) {
    return remove_dead_parameters_from_entry_computation;
  }
  if (!computation_callers.has_value()) return false;
  // All callers must be able to do without the operand.
  const std::vector<HloInstruction*> callers = (*computation_callers)(this);
  return !callers.empty() &&
         std::all_of(callers.begin(), callers.end(),
                     [](const HloInstruction* caller) {
                       return caller->opcode() == HloOpcode::kFusion ||
                              caller->opcode() == HloOpcode::kCall ||
                              caller->opcode() == HloOpcode::kAsyncStart;
                     });
}

absl::Status HloComputation::RemoveInstruction(HloInstruction* instruction) {
  return RemoveInstructionImpl(instruction, /*ignore_safety_check=*/false);
}

absl::Status HloComputation::ForceRemoveInstruction(
    HloInstruction* instruction) {
  return RemoveInstructionImpl(instruction, /*ignore_safety_check=*/true);
}

// Removal takes constant time apart from the edges of the instruction: its slot
// is cleared, and the object is kept until Cleanup() so that pointers in
// worklists of passes stay valid and can be asked whether the instruction is
// dead.
absl::Status HloComputation::RemoveInstructionImpl(HloInstruction* instruction,
                                                   bool ignore_safety_check) {
  TF_RET_CHECK(instruction->parent() == this)
      << instruction->name() << " is not in " << name_;
  if (instruction == root_instruction_) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot remove root ", instruction->name()));
  }
  if (instruction->user_count() > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot remove ", instruction->name(), ": it is used by ",
                     instruction->users()[0]->name()));
  }
  if (!ignore_safety_check && !IsSafelyRemovable(instruction)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot remove ", instruction->name(),
        instruction->HasControlDependencies()
            ? ": it has control dependencies"
            : ": it is a parameter of a computation that is not fused"));
  }
  // A parameter leaves the list, unless its place was given away before.
  if (instruction->opcode() == HloOpcode::kParameter) {
    const int64_t number = instruction->parameter_number();
    if (number < num_parameters() &&
        param_instructions_[number] == instruction) {
      param_instructions_.erase(param_instructions_.begin() + number);
      for (int64_t i = number; i < num_parameters(); ++i) {
        Cast<HloParameterInstruction>(param_instructions_[i])
            ->set_parameter_number(i);
      }
    }
  }
  instruction->ClearCalledComputations();
  instruction->DetachFromOperandsAndUsers();
  instruction->operands_.clear();
  if (instruction->opcode() == HloOpcode::kConstant) {
    // Literals are large and nothing reads them any more.
    Cast<HloConstantInstruction>(instruction)->DropLiteral();
  }
  instructions_[instruction->local_id()] = HloInstructionInfo();
  --instruction_count_;
  instruction->MarkAsDead();
  instruction->set_parent(nullptr);
  to_be_deleted_.push_back(instruction);
  return absl::OkStatus();
}

absl::Status HloComputation::RemoveInstructionAndUnusedOperands(
    HloInstruction* instruction,
    std::optional<absl::FunctionRef<void(HloInstruction*)>> cleanup,
    bool ignore_control_dependencies,
    std::optional<CallersFn> computation_callers,
    bool remove_dead_parameters_from_entry_computation) {
  TF_RET_CHECK(instruction != root_instruction_)
      << "cannot remove root " << instruction->name();
  TF_RET_CHECK(instruction->IsDead()) << instruction->name() << " is in use";
  TF_RET_CHECK(IsSafelyRemovable(instruction, ignore_control_dependencies,
                                 computation_callers,
                                 remove_dead_parameters_from_entry_computation))
      << "cannot remove " << instruction->name();

  // Operands of callers are in other computations, which take their turn when
  // this one is through.
  std::vector<HloInstruction*> next_computations = {instruction};
  while (!next_computations.empty()) {
    HloInstruction* first = next_computations.back();
    next_computations.pop_back();
    if (first->IsMarkedAsDead() || !first->IsDead()) continue;
    HloComputation* computation = first->parent();
    std::vector<HloInstruction*> worklist = {first};
    std::vector<HloInstruction*> parameters;
    absl::flat_hash_set<const HloInstruction*> listed_parameters;
    while (!worklist.empty()) {
      HloInstruction* item = worklist.back();
      worklist.pop_back();
      if (item->IsMarkedAsDead() || !item->IsDead() ||
          listed_parameters.contains(item) ||
          !computation->IsSafelyRemovable(
              item, ignore_control_dependencies, computation_callers,
              remove_dead_parameters_from_entry_computation) ||
          (item != instruction &&
           (item->HasSideEffect() ||
            EndsWhatStays(*item, ignore_control_dependencies))) ||
          (item->opcode() == HloOpcode::kParameter &&
           !computation->CallersCanDropOperand(item->parameter_number()))) {
        continue;
      }
      if (ignore_control_dependencies) {
        TF_RETURN_IF_ERROR(item->SafelyDropAllControlDependencies());
      }
      for (HloInstruction* operand : item->operands()) {
        worklist.push_back(operand);
      }
      if (cleanup.has_value()) (*cleanup)(item);
      if (item->opcode() == HloOpcode::kParameter) {
        parameters.push_back(item);
        listed_parameters.insert(item);
      } else {
        TF_RETURN_IF_ERROR(computation->RemoveInstructionImpl(
            item, /*ignore_safety_check=*/true));
      }
    }
    // Highest number first, so that the others keep theirs until it is their
    // turn.
    std::sort(parameters.begin(), parameters.end(),
              [](const HloInstruction* a, const HloInstruction* b) {
                return a->parameter_number() > b->parameter_number();
              });
    for (const HloInstruction* parameter : parameters) {
      TF_RETURN_IF_ERROR(computation->RemoveUnusedParameterAndOperands(
          parameter->parameter_number(), &next_computations));
    }
  }
  return absl::OkStatus();
}

void HloComputation::Cleanup() {
  if (to_be_deleted_.empty()) return;
  HloInstructionSequence* sequence = nullptr;
  if (parent_ != nullptr && parent_->has_schedule() &&
      parent_->schedule().is_computation_scheduled(this)) {
    sequence = &parent_->schedule().GetOrCreateSequence(this);
    // Before the objects go: their memory may be used again for instructions
    // that are not in the sequence.
    sequence->RemoveIf([](const HloInstruction* instruction) {
      return instruction->IsMarkedAsDead();
    });
  }
  for (HloInstruction* instruction : to_be_deleted_) delete instruction;
  to_be_deleted_.clear();
  to_be_deleted_.shrink_to_fit();

  int32_t next = 0;
  for (const HloInstructionInfo& info : instructions_) {
    if (info.get() == nullptr) continue;
    info.get()->SetLocalId(next);
    instructions_[next++] = info;
  }
  instructions_.resize(next);
  CHECK_EQ(instruction_count_, next);
  if (sequence != nullptr) sequence->update_id_sequence();
}

void HloComputation::CanonicalizeLocalIds() {
  Cleanup();
  const std::vector<HloInstruction*> order = MakeInstructionPostOrder();
  instructions_.clear();
  for (HloInstruction* instruction : order) {
    instruction->SetLocalId(static_cast<int32_t>(instructions_.size()));
    instructions_.emplace_back(instruction);
  }
  if (parent_ != nullptr && parent_->has_schedule() &&
      parent_->schedule().is_computation_scheduled(this)) {
    parent_->schedule().GetOrCreateSequence(this).update_id_sequence();
  }
}

void HloComputation::CopyLocalIdsFromComputation(
    const HloComputation& source_computation, const HloCloneContext& context) {
  Cleanup();
  HloInstructionList slots(
      source_computation.next_unique_instruction_internal_id());
  int64_t found = 0;
  for (const HloInstruction* original : source_computation.instructions()) {
    HloInstruction* clone = context.FindInstruction(original);
    if (clone == nullptr || clone->parent() != this) continue;
    clone->SetLocalId(original->local_id());
    slots[original->local_id()] = HloInstructionInfo(clone);
    ++found;
  }
  CHECK_EQ(found, instruction_count_)
      << name_ << " has instructions that are not clones of "
      << source_computation.name();
  instructions_ = std::move(slots);
}

}  // namespace xla
