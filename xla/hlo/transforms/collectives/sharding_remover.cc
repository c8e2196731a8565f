#include "xla/hlo/transforms/collectives/sharding_remover.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/order_of_annotations.h"
#include "xla/shape.h"
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

// The operand with copies of the arrays that lie otherwise in the call's
// result. The copies and what holds them have the call's place in the order.
absl::StatusOr<HloInstruction*> InLayoutsOf(const HloInstruction& call,
                                            HloInstruction* operand) {
  std::vector<HloInstruction*> ordered;
  TF_ASSIGN_OR_RETURN(
      HloInstruction * value,
      operand->parent()->DeepCopyInstructionWithCustomCopier(
          operand, [&](HloInstruction* leaf, const ShapeIndex& index,
                       HloComputation* computation) {
            const Shape& shape = ShapeUtil::GetSubshape(call.shape(), index);
            if (ShapeUtil::Equal(leaf->shape(), shape)) return leaf;
            HloInstruction* copy = computation->AddInstruction(
                HloInstruction::CreateUnary(shape, HloOpcode::kCopy, leaf));
            copy->set_metadata_ptr(call.metadata_ptr());
            ordered.push_back(copy);
            return copy;
          }));
  if (value->shape().IsTuple()) ordered.push_back(value);
  for (HloInstruction* inst : ordered) {
    TF_RETURN_IF_ERROR(inst->CopyAllControlDepsFrom(&call));
  }
  return value;
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
                     "; the module of one device has no shards"));
  }
  HloInstruction* operand = call->mutable_operand(0);
  HloInstruction* value = operand;
  if (ShapeUtil::Equal(call->shape(), operand->shape())) {
    TF_RETURN_IF_ERROR(PassOrderOn(call));
  } else {
    TF_ASSIGN_OR_RETURN(value, InLayoutsOf(*call, operand));
    TF_RETURN_IF_ERROR(call->DropAllControlDeps());
  }
  TF_RETURN_IF_ERROR(call->ReplaceAllUsesWith(value));
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
        TF_RETURN_IF_ERROR(PassOrderOn(inst));
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
