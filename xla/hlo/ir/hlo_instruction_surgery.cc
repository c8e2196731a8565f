// Replacement of uses, and taking fusions apart.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

absl::Status CheckReplaceable(const HloInstruction* old_value,
                              const HloInstruction* new_value) {
  TF_RET_CHECK(ShapeUtil::CompatibleIgnoringFpPrecision(old_value->shape(),
                                                        new_value->shape()))
      << "cannot replace " << old_value->name() << " of shape "
      << ShapeUtil::HumanString(old_value->shape()) << " by "
      << new_value->name() << " of shape "
      << ShapeUtil::HumanString(new_value->shape());
  return absl::OkStatus();
}

}  // namespace

absl::Status HloInstruction::ReplaceUseWith(HloInstruction* user,
                                            HloInstruction* new_producer) {
  TF_RETURN_IF_ERROR(CheckReplaceable(this, new_producer));
  return ReplaceUseWithDifferentShape(user, new_producer);
}

absl::Status HloInstruction::ReplaceUseWithDifferentShape(
    HloInstruction* user, HloInstruction* new_producer) {
  TF_RET_CHECK(users_.Contains(user))
      << user->name() << " does not use " << name_;
  TF_RET_CHECK(user != new_producer) << user->name() << " cannot use itself";
  if (new_producer == this) return absl::OkStatus();
  const bool was_used = new_producer->users_.Contains(user);
  RemoveUser(user);
  std::replace(user->operands_.begin(), user->operands_.end(), this,
               new_producer);
  new_producer->AddUser(user);
  if (was_used && user->opcode() == HloOpcode::kFusion) {
    return Cast<HloFusionInstruction>(user)->DeduplicateFusionOperands();
  }
  return absl::OkStatus();
}

absl::Status HloInstruction::ReplaceUseWith(HloInstruction* user,
                                            int operand_number,
                                            HloInstruction* new_producer) {
  TF_RETURN_IF_ERROR(CheckReplaceable(this, new_producer));
  return ReplaceUseWithDifferentShape(user, operand_number, new_producer);
}

absl::Status HloInstruction::ReplaceUseWithDifferentShape(
    HloInstruction* user, int operand_number, HloInstruction* new_producer) {
  TF_RET_CHECK(operand_number >= 0 && operand_number < user->operand_count() &&
               user->operand(operand_number) == this)
      << name_ << " is not operand " << operand_number << " of "
      << user->name();
  return user->ReplaceOperandWithDifferentShape(operand_number, new_producer);
}

absl::Status HloInstruction::ReplaceOperandWith(int64_t operand_num,
                                                HloInstruction* new_operand) {
  TF_RET_CHECK(operand_num >= 0 && operand_num < operand_count());
  TF_RETURN_IF_ERROR(CheckReplaceable(operand(operand_num), new_operand));
  return ReplaceOperandWithDifferentShape(operand_num, new_operand);
}

absl::Status HloInstruction::ReplaceOperandWithDifferentShape(
    int64_t operand_num, HloInstruction* new_operand) {
  TF_RET_CHECK(operand_num >= 0 && operand_num < operand_count());
  TF_RET_CHECK(new_operand != this) << name_ << " cannot use itself";
  HloInstruction* old_operand = mutable_operand(operand_num);
  if (old_operand == new_operand) return absl::OkStatus();
  operands_[operand_num] = new_operand;
  if (old_operand != nullptr &&
      !absl::c_linear_search(operands_, old_operand)) {
    old_operand->RemoveUser(this);
  }
  new_operand->AddUser(this);
  return absl::OkStatus();
}

absl::Status HloInstruction::ReplaceUsesWith(
    absl::Span<HloInstruction* const> users, HloInstruction* new_producer) {
  TF_RETURN_IF_ERROR(CheckReplaceable(this, new_producer));
  return ReplaceAllUsesWithDifferentShape(users, new_producer);
}

absl::Status HloInstruction::ReplaceAllUsesWithDifferentShape(
    absl::Span<HloInstruction* const> users, HloInstruction* new_producer) {
  // The span may be users() itself.
  const std::vector<HloInstruction*> copy(users.begin(), users.end());
  for (HloInstruction* user : copy) {
    TF_RETURN_IF_ERROR(ReplaceUseWithDifferentShape(user, new_producer));
  }
  if (is_root_ && parent_ != nullptr) {
    parent_->set_root_instruction(new_producer,
                                  /*accept_different_shape=*/true);
  }
  return absl::OkStatus();
}

absl::Status HloInstruction::ReplaceAllUsesWith(HloInstruction* new_producer,
                                                absl::string_view trigger) {
  TF_RETURN_IF_ERROR(CheckReplaceable(this, new_producer));
  VLOG(2) << "replacing uses of " << name_ << " by " << new_producer->name()
          << (trigger.empty() ? "" : ", for ") << trigger;
  return ReplaceAllUsesWithDifferentShape(new_producer);
}

absl::Status HloInstruction::ReplaceAllUsesWithDifferentShape(
    HloInstruction* new_producer) {
  if (new_producer == this) return absl::OkStatus();
  bool new_producer_is_user = false;
  std::vector<HloInstruction*> to_deduplicate;
  for (HloInstruction* user : users_.vec()) {
    if (user == new_producer) {
      // Its own operand stays, or it would become its own operand.
      new_producer_is_user = true;
      continue;
    }
    if (user->opcode() == HloOpcode::kFusion &&
        new_producer->users_.Contains(user)) {
      to_deduplicate.push_back(user);
    }
    std::replace(user->operands_.begin(), user->operands_.end(), this,
                 new_producer);
    new_producer->AddUser(user);
  }
  users_.Clear();
  if (new_producer_is_user) AddUser(new_producer);
  for (HloInstruction* fusion : to_deduplicate) {
    TF_RETURN_IF_ERROR(
        Cast<HloFusionInstruction>(fusion)->DeduplicateFusionOperands());
  }
  if (is_root_ && parent_ != nullptr) {
    parent_->set_root_instruction(new_producer,
                                  /*accept_different_shape=*/true);
  }
  return absl::OkStatus();
}

absl::Status HloInstruction::Defuse() {
  TF_RET_CHECK(opcode_ == HloOpcode::kFusion) << name_ << " is not a fusion";
  TF_RET_CHECK(parent_ != nullptr);
  HloComputation* fused = fused_instructions_computation();
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> outside;
  for (int64_t i = 0; i < operand_count(); ++i) {
    outside[fused_parameter(i)] = mutable_operand(i);
  }
  for (HloInstruction* inner : fused->MakeInstructionPostOrder()) {
    if (inner->opcode() == HloOpcode::kParameter) continue;
    InstructionVector operands;
    for (HloInstruction* operand : inner->operands()) {
      operands.push_back(outside.at(operand));
    }
    HloInstruction* copy = parent_->AddInstruction(
        inner->CloneWithNewOperands(inner->shape(), operands));
    for (HloInstruction* predecessor : inner->control_predecessors()) {
      TF_RETURN_IF_ERROR(outside.at(predecessor)->AddControlDependencyTo(copy));
    }
    outside[inner] = copy;
  }
  HloInstruction* root = outside.at(fused->root_instruction());
  TF_RETURN_IF_ERROR(ReplaceAllUsesWith(root));
  TF_RETURN_IF_ERROR(CopyAllControlDepsTo(root, root));
  TF_RETURN_IF_ERROR(DropAllControlDeps());
  HloModule* module = GetModule();
  TF_RETURN_IF_ERROR(parent_->RemoveInstruction(this));
  return module->RemoveEmbeddedComputation(fused);
}

namespace {

// Whether the caller of a fusion has the value too, or can make it at no cost.
bool IsOutsideAsWell(const HloInstruction& inner) {
  const auto given = [](const HloInstruction& instruction) {
    return instruction.opcode() == HloOpcode::kParameter ||
           instruction.opcode() == HloOpcode::kConstant;
  };
  return given(inner) || (inner.opcode() == HloOpcode::kBroadcast &&
                          inner.operand(0)->opcode() == HloOpcode::kConstant);
}

}  // namespace

absl::StatusOr<HloInstruction*> HloInstruction::UnfuseInstruction(
    HloInstruction* instruction) {
  TF_RET_CHECK(opcode_ == HloOpcode::kFusion) << name_ << " is not a fusion";
  HloComputation* fused = fused_instructions_computation();
  TF_RET_CHECK(instruction->parent() == fused)
      << instruction->name() << " is not in " << name_;
  TF_RET_CHECK(instruction->opcode() != HloOpcode::kParameter);
  for (const HloInstruction* operand : instruction->operands()) {
    TF_RET_CHECK(IsOutsideAsWell(*operand))
        << operand->name() << ", an operand of " << instruction->name()
        << ", is computed in " << name_;
  }

  absl::flat_hash_map<const HloInstruction*, HloInstruction*> outside;
  for (HloInstruction* inner :
       fused->MakeInstructionPostOrderFrom(*instruction)) {
    if (inner->opcode() == HloOpcode::kParameter) {
      outside[inner] = mutable_operand(inner->parameter_number());
      continue;
    }
    InstructionVector operands;
    for (HloInstruction* operand : inner->operands()) {
      operands.push_back(outside.at(operand));
    }
    outside[inner] = parent_->AddInstruction(
        inner->CloneWithNewOperands(inner->shape(), operands));
  }
  HloInstruction* unfused = outside.at(instruction);
  HloInstruction* parameter = AddFusionOperand(unfused);
  TF_RETURN_IF_ERROR(instruction->ReplaceAllUsesWith(parameter));
  // Operands that only this instruction used are removed too; parameters stay,
  // one for each operand.
  std::vector<HloInstruction*> dead = {instruction};
  while (!dead.empty()) {
    HloInstruction* inner = dead.back();
    dead.pop_back();
    const InstructionVector operands = inner->unique_operands();
    TF_RETURN_IF_ERROR(inner->SafelyDropAllControlDependencies());
    TF_RETURN_IF_ERROR(fused->RemoveInstruction(inner));
    for (HloInstruction* operand : operands) {
      if (operand->IsDead() && operand->opcode() != HloOpcode::kParameter) {
        dead.push_back(operand);
      }
    }
  }
  return unfused;
}

}  // namespace xla
