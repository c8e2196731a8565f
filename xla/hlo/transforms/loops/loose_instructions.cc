#include "xla/hlo/transforms/loops/loose_instructions.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

bool IsLoose(const HloInstruction& inst) {
  if (!inst.shape().IsArray() || inst.HasControlDependencies()) return false;
  switch (inst.opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kConcatenate:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kIota:
    case HloOpcode::kPad:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return true;
    case HloOpcode::kBitcast:
    case HloOpcode::kConstant:
    case HloOpcode::kCopy:
    case HloOpcode::kFusion:
    case HloOpcode::kParameter:
      return false;
    default:  // Elementwise opcodes alone.
      return inst.IsElementwise() && inst.operand_count() > 0 &&
             !inst.HasSideEffect() && inst.IsFusible();
  }
}

// Whether a fusion computes the operand itself.
bool IsTakenIn(const HloInstruction& operand) {
  if (!operand.shape().IsArray() || operand.HasControlDependencies() ||
      HloPredicateIsOp<HloOpcode::kDynamicSlice,
                       HloOpcode::kDynamicUpdateSlice>(&operand)) {
    return false;
  }
  const bool is_scalar = ShapeUtil::IsEffectiveScalar(operand.shape());
  if (operand.opcode() == HloOpcode::kConstant) return is_scalar;
  if (operand.opcode() != HloOpcode::kBitcast && !IsLoose(operand)) {
    return false;
  }
  return is_scalar || operand.user_count() == 1;
}

// Adds what it removes to `gone`: nothing but the fusion read that.
absl::StatusOr<HloInstruction*> Fuse(
    HloInstruction* inst, absl::flat_hash_set<const HloInstruction*>* gone) {
  HloComputation* computation = inst->parent();
  gone->insert(inst);
  HloInstruction* fusion = computation->CreateFusionInstruction(
      {inst}, HloInstruction::FusionKind::kLoop);
  for (bool found = true; found;) {
    found = false;
    for (HloInstruction* operand : fusion->operands()) {
      if (!IsTakenIn(*operand)) continue;
      fusion->FuseInstruction(operand);
      if (operand->user_count() == 0) {
        gone->insert(operand);
        TF_RETURN_IF_ERROR(computation->RemoveInstruction(operand));
      }
      found = true;
      break;  // the operands are others now
    }
  }
  return fusion;
}

// A fusion that would only move a slice copies it as well: XLA's backend makes
// mere transfers asynchronous, for which a finished schedule has no place.
absl::Status AddCopyOfSlice(HloInstruction* fusion) {
  HloComputation* fused = fusion->fused_instructions_computation();
  HloInstruction* root = fused->root_instruction();
  const auto copy = [&](HloInstruction* of) {
    return fused->AddInstruction(
        HloInstruction::CreateUnary(of->shape(), HloOpcode::kCopy, of));
  };
  if (root->opcode() == HloOpcode::kDynamicSlice) {
    fused->set_root_instruction(copy(root));
  } else if (root->opcode() == HloOpcode::kDynamicUpdateSlice) {
    HloInstruction* update = root->mutable_operand(1);
    const HloInstruction* moved = update;
    while (moved->opcode() == HloOpcode::kBitcast) moved = moved->operand(0);
    if (moved->opcode() == HloOpcode::kParameter) {
      return root->ReplaceOperandWith(1, copy(update));
    }
  }
  return absl::OkStatus();
}

}  // namespace

// Last ones first: what is taken in has no other reader then.
absl::StatusOr<bool> FuseLooseInstructions(HloModule* module) {
  bool changed = false;
  for (HloComputation* computation : ComputationsThatRun(*module)) {
    // What runs beside others is a transfer, which a fusion would not be.
    if (computation->IsAsyncComputation() ||
        !module->schedule().is_computation_scheduled(computation)) {
      continue;
    }
    std::vector<HloInstruction*> sequence =
        module->schedule().sequence(computation).instructions();
    absl::flat_hash_set<const HloInstruction*> gone;
    for (auto it = sequence.rbegin(); it != sequence.rend(); ++it) {
      if (gone.contains(*it) || !IsLoose(**it) || (*it)->IsDead()) continue;
      TF_ASSIGN_OR_RETURN(*it, Fuse(*it, &gone));
      TF_RETURN_IF_ERROR(AddCopyOfSlice(*it));
      changed = true;
    }
    std::vector<HloInstruction*> left;
    for (HloInstruction* inst : sequence) {
      if (!gone.contains(inst)) left.push_back(inst);
    }
    module->schedule().set_sequence(computation, left);
  }
  if (!changed) return false;
  TF_RETURN_IF_ERROR(HloDCE().Run(module).status());
  TF_RETURN_IF_ERROR(module->schedule().Update());
  return true;
}

}  // namespace xla::remat_plan
