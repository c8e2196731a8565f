#include "xla/hlo/transforms/collectives/sharding_remover.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr absl::string_view kIdentities[] = {
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "ShardBarrierFrom",
    "ShardBarrierTo",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.PropagationBarrier",
};

bool KeepsShape(const HloInstruction& call) {
  return call.operand_count() == 1 &&
         ShapeUtil::Compatible(call.shape(), call.operand(0)->shape());
}

// Readers of the call read its operand.
absl::Status Forward(HloInstruction* call) {
  if (!KeepsShape(*call)) {
    return absl::InvalidArgumentError(
        absl::StrCat(call->name(), ": ", call->custom_call_target(), " makes ",
                     ShapeUtil::HumanString(call->shape()), " of ",
                     call->operand_count() == 1
                         ? ShapeUtil::HumanString(call->operand(0)->shape())
                         : absl::StrCat(call->operand_count(), " operands"),
                     "; a module of one partition has no shards"));
  }
  HloInstruction* operand = call->mutable_operand(0);
  if (call->shape().IsArray() &&
      !ShapeUtil::Equal(call->shape(), operand->shape())) {
    operand = call->AddInstruction(
        HloInstruction::CreateUnary(call->shape(), HloOpcode::kCopy, operand));
  }
  for (HloInstruction* before : call->control_predecessors()) {
    for (HloInstruction* after : call->control_successors()) {
      TF_RETURN_IF_ERROR(before->AddControlDependencyTo(after));
    }
  }
  TF_RETURN_IF_ERROR(call->DropAllControlDeps());
  TF_RETURN_IF_ERROR(call->ReplaceAllUsesWith(operand));
  return call->parent()->RemoveInstruction(call);
}

}  // namespace

absl::StatusOr<bool> ShardingRemover::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation : module->computations(execution_threads)) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() != HloOpcode::kCustomCall) continue;
      const absl::string_view target = inst->custom_call_target();
      if (absl::c_linear_search(kIdentities, target)) {
        if (options_.keep_shards && !KeepsShape(*inst)) continue;
        TF_RETURN_IF_ERROR(Forward(inst));
        changed = true;
      } else if (target == "xla.sdy.ShardingGroup" && inst->user_count() == 0 &&
                 !inst->IsRoot()) {
        TF_RETURN_IF_ERROR(inst->DropAllControlDeps());
        TF_RETURN_IF_ERROR(computation->RemoveInstruction(inst));
        changed = true;
      }
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
