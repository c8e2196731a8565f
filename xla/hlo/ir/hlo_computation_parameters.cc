// Parameters of computations.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_layout.h"
#include "xla/status_macros.h"

namespace xla {

HloInstruction* HloComputation::AddParameter(
    std::unique_ptr<HloInstruction> instruction) {
  CHECK(instruction->opcode() == HloOpcode::kParameter);
  CHECK(!IsEntryComputation())
      << "entry parameters are added by AddEntryComputationParameter";
  CHECK_EQ(instruction->parameter_number(), num_parameters());
  HloInstruction* parameter = AddInstructionInternal(std::move(instruction));
  param_instructions_.push_back(parameter);
  return parameter;
}

HloInstruction* HloComputation::AddEntryComputationParameter(
    std::unique_ptr<HloInstruction> instruction) {
  CHECK(instruction->opcode() == HloOpcode::kParameter);
  CHECK(IsEntryComputation());
  CHECK_EQ(instruction->parameter_number(), num_parameters());
  if (parent_->config().has_entry_computation_layout()) {
    parent_->mutable_entry_computation_layout()->add_parameter_layout(
        ShapeLayout(instruction->shape()));
  }
  HloInstruction* parameter = AddInstructionInternal(std::move(instruction));
  param_instructions_.push_back(parameter);
  return parameter;
}

HloInstruction* HloComputation::ReplaceParameter(
    int64_t param_no, std::unique_ptr<HloInstruction> instruction) {
  CHECK(instruction->opcode() == HloOpcode::kParameter);
  CHECK_EQ(instruction->parameter_number(), param_no);
  HloInstruction* old_instruction = parameter_instruction(param_no);
  HloInstruction* new_instruction =
      AddInstructionInternal(std::move(instruction));
  absl::Status status =
      old_instruction->ReplaceAllUsesWithDifferentShape(new_instruction);
  CHECK(status.ok()) << status;
  param_instructions_[param_no] = new_instruction;
  status = ForceRemoveInstruction(old_instruction);
  CHECK(status.ok()) << status;
  return new_instruction;
}

absl::Status HloComputation::ReplaceEntryComputationParameter(
    int64_t param_no, HloInstruction* old_instruction,
    std::unique_ptr<HloInstruction> instruction) {
  TF_RET_CHECK(IsEntryComputation()) << name_;
  TF_RET_CHECK(instruction->opcode() == HloOpcode::kParameter);
  TF_RET_CHECK(param_no >= 0 && param_no < num_parameters())
      << "parameter " << param_no << " of " << num_parameters();
  TF_RET_CHECK(instruction->parameter_number() == param_no);
  TF_RET_CHECK(param_instructions_[param_no] == old_instruction)
      << old_instruction->name() << " is not parameter " << param_no;
  if (parent_->config().has_entry_computation_layout()) {
    *parent_->mutable_entry_computation_layout()->mutable_parameter_layout(
        param_no) = ShapeLayout(instruction->shape());
  }
  HloInstruction* parameter = AddInstructionInternal(std::move(instruction));
  param_instructions_[param_no] = parameter;
  if (!old_instruction->IsDead()) {
    TF_RETURN_IF_ERROR(
        old_instruction->ReplaceAllUsesWithDifferentShape(parameter));
  }
  return ForceRemoveInstruction(old_instruction);
}

absl::Status HloComputation::RemoveParameter(int64_t param_no) {
  TF_RET_CHECK(param_no >= 0 && param_no < num_parameters())
      << "parameter " << param_no << " of " << num_parameters();
  HloInstruction* parameter = param_instructions_[param_no];
  TF_RET_CHECK(parameter->IsDead()) << parameter->name() << " is used";
  return ForceRemoveInstruction(parameter);
}

absl::Status HloComputation::RemoveUnusedParametersImpl(bool allow_non_fusion) {
  TF_RET_CHECK(allow_non_fusion || IsFusionComputation())
      << name_ << " is not a fused computation";
  // From the end, so that the numbers of those not looked at yet do not change.
  for (int64_t i = num_parameters() - 1; i >= 0; --i) {
    if (param_instructions_[i]->IsDead()) {
      TF_RETURN_IF_ERROR(ForceRemoveInstruction(param_instructions_[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status HloComputation::RemoveUnusedParametersFromFusedComputation() {
  return RemoveUnusedParametersImpl(/*allow_non_fusion=*/false);
}

absl::Status HloComputation::RemoveUnusedParametersFromAnyComputation() {
  return RemoveUnusedParametersImpl(/*allow_non_fusion=*/true);
}

absl::Status HloComputation::PermuteParameters(
    absl::Span<const int64_t> permutation) {
  TF_RET_CHECK(static_cast<int64_t>(permutation.size()) == num_parameters());
  std::vector<bool> used(permutation.size(), false);
  for (int64_t old_number : permutation) {
    TF_RET_CHECK(old_number >= 0 && old_number < num_parameters() &&
                 !used[old_number])
        << "not a permutation";
    used[old_number] = true;
  }
  const HloInstruction::InstructionVector old_parameters = param_instructions_;
  for (int64_t i = 0; i < num_parameters(); ++i) {
    param_instructions_[i] = old_parameters[permutation[i]];
    Cast<HloParameterInstruction>(param_instructions_[i])
        ->set_parameter_number(i);
  }
  return absl::OkStatus();
}

}  // namespace xla
