// Replacing one instruction of a computation by another.

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_callee_sharding.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Passes refer to values by name in messages and tests, so that a rewritten
// instruction of the same kind is known by the old name.
bool TakesOverName(const HloInstruction& old_instruction,
                   const HloInstruction& new_instruction) {
  return old_instruction.opcode() == new_instruction.opcode() &&
         (old_instruction.opcode() != HloOpcode::kCustomCall ||
          old_instruction.custom_call_target() ==
              new_instruction.custom_call_target());
}

// Whether others are sharded as the instruction is: bodies as loops, branches
// as their conditional, arguments as parameters. It takes no sharding over but
// that of its like.
bool SharesSharding(const HloInstruction& old_instruction,
                    const HloInstruction& new_instruction) {
  if (new_instruction.IsRoot() &&
      !MayShardRoot(*new_instruction.parent(), old_instruction.sharding())) {
    return true;
  }
  if (old_instruction.opcode() == new_instruction.opcode()) return false;
  return new_instruction.opcode() == HloOpcode::kWhile ||
         new_instruction.opcode() == HloOpcode::kConditional ||
         (new_instruction.opcode() == HloOpcode::kParameter &&
          !new_instruction.parent()->IsEntryComputation());
}

// Gives the new instruction what only the old one has.
void TakeOverAttributes(const HloInstruction& old_instruction,
                        HloInstruction* new_instruction,
                        bool preserve_frontend_attributes) {
  const Payload payload = new_instruction->has_metadata_payload()
                              ? new_instruction->metadata().metadata_payload()
                              : old_instruction.metadata().metadata_payload();
  if (new_instruction->metadata().op_name().empty() &&
      !old_instruction.metadata().op_name().empty()) {
    new_instruction->set_metadata_ptr(old_instruction.metadata_ptr());
  }
  if (payload.payload_source_case() != Payload::PAYLOAD_SOURCE_NOT_SET) {
    *new_instruction->mutable_metadata().mutable_metadata_payload() = payload;
  }
  if (preserve_frontend_attributes &&
      old_instruction.has_frontend_attributes() &&
      !new_instruction->has_frontend_attributes()) {
    new_instruction->set_frontend_attributes(
        old_instruction.frontend_attributes());
  }
  if (old_instruction.has_sharding() && !new_instruction->has_sharding() &&
      !SharesSharding(old_instruction, *new_instruction) &&
      old_instruction.shape().IsTuple() == new_instruction->shape().IsTuple()) {
    new_instruction->copy_sharding(&old_instruction);
  }
}

absl::Status NotReplaced(const HloInstruction& old_instruction,
                         const HloInstruction& new_instruction) {
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot replace ", old_instruction.name(), " by ", new_instruction.name(),
      old_instruction.HasControlDependencies() ? ": it has control dependencies"
                                               : ": their shardings differ"));
}

}  // namespace

absl::StatusOr<bool> HloComputation::ReplaceInstructionWithDifferentShape(
    HloInstruction* old_instruction, HloInstruction* new_instruction,
    bool preserve_sharding, bool relay_control_dependency,
    bool remove_unused_operands, bool preserve_frontend_attributes) {
  TF_RET_CHECK(old_instruction->parent() == this)
      << old_instruction->name() << " is not in " << name_;
  TF_RET_CHECK(new_instruction->parent() == this)
      << new_instruction->name() << " is not in " << name_;
  TF_RET_CHECK(old_instruction != new_instruction)
      << old_instruction->name() << " cannot replace itself";
  if (preserve_sharding && old_instruction->has_sharding() &&
      (new_instruction->has_sharding()
           ? !new_instruction->has_compatible_sharding(old_instruction)
           : SharesSharding(*old_instruction, *new_instruction))) {
    return false;
  }
  if (preserve_sharding && old_instruction->IsRoot() &&
      !old_instruction->has_sharding() && new_instruction->has_sharding() &&
      !MayShardRoot(*this, new_instruction->sharding())) {
    return false;
  }
  if (old_instruction->HasControlDependencies()) {
    if (!relay_control_dependency) return false;
    // An edge between the two goes away; the data edge, if any, stays.
    TF_RETURN_IF_ERROR(
        RelayControlDependencies(old_instruction, new_instruction));
  }
  TakeOverAttributes(*old_instruction, new_instruction,
                     preserve_frontend_attributes);
  TF_RETURN_IF_ERROR(
      old_instruction->ReplaceAllUsesWithDifferentShape(new_instruction));
  // The new instruction may use the old one, which stays then.
  if (!old_instruction->IsDead()) return true;
  if (TakesOverName(*old_instruction, *new_instruction)) {
    new_instruction->SetAndSanitizeName(old_instruction->name());
  }
  if (!IsSafelyRemovable(old_instruction)) return true;
  if (remove_unused_operands) {
    TF_RETURN_IF_ERROR(RemoveInstructionAndUnusedOperands(
        old_instruction, /*cleanup=*/std::nullopt,
        /*ignore_control_dependencies=*/relay_control_dependency));
  } else {
    TF_RETURN_IF_ERROR(RemoveInstruction(old_instruction));
  }
  return true;
}

absl::Status HloComputation::RelayControlDependencies(
    HloInstruction* old_instruction, HloInstruction* new_instruction) {
  const PtrVec<HloInstruction*> predecessors =
      old_instruction->control_predecessors();
  const PtrVec<HloInstruction*> successors =
      old_instruction->control_successors();
  TF_RETURN_IF_ERROR(old_instruction->DropAllControlDeps());
  for (HloInstruction* predecessor : predecessors) {
    if (predecessor == new_instruction) continue;
    TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(new_instruction));
  }
  for (HloInstruction* successor : successors) {
    if (successor == new_instruction) continue;
    TF_RETURN_IF_ERROR(new_instruction->AddControlDependencyTo(successor));
  }
  return absl::OkStatus();
}

absl::Status HloComputation::ReplaceInstructionWithDifferentShape(
    HloInstruction* old_instruction, HloInstruction* new_instruction) {
  TF_ASSIGN_OR_RETURN(bool changed, ReplaceInstructionWithDifferentShape(
                                        old_instruction, new_instruction,
                                        /*preserve_sharding=*/false));
  return changed ? absl::OkStatus()
                 : NotReplaced(*old_instruction, *new_instruction);
}

absl::StatusOr<bool> HloComputation::ReplaceInstruction(
    HloInstruction* old_instruction, HloInstruction* new_instruction,
    bool preserve_sharding, bool relay_control_dependency,
    bool remove_unused_operands, bool preserve_frontend_attributes) {
  TF_RET_CHECK(
      ShapeUtil::Compatible(old_instruction->shape(), new_instruction->shape()))
      << ShapeUtil::HumanString(old_instruction->shape()) << " vs "
      << ShapeUtil::HumanString(new_instruction->shape()) << " replacing "
      << old_instruction->name() << " by " << new_instruction->name();
  return ReplaceInstructionWithDifferentShape(
      old_instruction, new_instruction, preserve_sharding,
      relay_control_dependency, remove_unused_operands,
      preserve_frontend_attributes);
}

absl::Status HloComputation::ReplaceInstruction(
    HloInstruction* old_instruction, HloInstruction* new_instruction) {
  TF_ASSIGN_OR_RETURN(bool changed,
                      ReplaceInstruction(old_instruction, new_instruction,
                                         /*preserve_sharding=*/false));
  return changed ? absl::OkStatus()
                 : NotReplaced(*old_instruction, *new_instruction);
}

absl::Status HloComputation::ReplaceWithNewInstruction(
    HloInstruction* old_instruction,
    std::unique_ptr<HloInstruction> new_instruction, bool preserve_sharding,
    bool relay_control_dependency, bool remove_unused_operands,
    bool preserve_frontend_attributes) {
  HloInstruction* added = AddInstruction(std::move(new_instruction));
  TF_ASSIGN_OR_RETURN(
      bool changed,
      ReplaceInstruction(old_instruction, added, preserve_sharding,
                         relay_control_dependency, remove_unused_operands,
                         preserve_frontend_attributes));
  if (changed) return absl::OkStatus();
  absl::Status status = NotReplaced(*old_instruction, *added);
  TF_RETURN_IF_ERROR(RemoveInstruction(added));
  return status;
}

absl::Status HloComputation::ReplaceWithNewEntryComputationParameter(
    HloInstruction* old_instruction,
    std::unique_ptr<HloInstruction> new_instruction) {
  return ReplaceInstruction(old_instruction, AddEntryComputationParameter(
                                                 std::move(new_instruction)));
}

}  // namespace xla
