#include "xla/hlo/transforms/simplifiers/dead_fusion_outputs.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/transforms/simplifiers/kept_elements.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool CanDropOutputs(const HloInstruction& fusion) {
  const HloInstruction* root = fusion.fused_expression_root();
  if (fusion.IsRoot() || fusion.user_count() == 0 || fusion.IsCustomFusion() ||
      fusion.HasControlDependencies() ||
      !fusion.output_operand_aliasing().empty() ||
      root->opcode() != HloOpcode::kTuple || root->has_sharding() ||
      root->user_count() != 0) {
    return false;
  }
  return absl::c_all_of(fusion.users(), [](const HloInstruction* user) {
    return user->opcode() == HloOpcode::kGetTupleElement;
  });
}

// Makes the one output the fusion's result, in place of a tuple of it.
absl::Status UnwrapOnlyOutput(HloInstruction* fusion, HloInstruction* output) {
  HloComputation* body = fusion->fused_instructions_computation();
  body->set_root_instruction(output, /*accept_different_shape=*/true);
  std::vector<HloInstruction*> reads(fusion->users().begin(),
                                     fusion->users().end());
  if (fusion->original_value() != nullptr) {
    fusion->set_original_value(OriginalValue::CreateFromInstruction(reads[0]));
  }
  *fusion->mutable_shape() = output->shape();
  for (HloInstruction* read : reads) {
    TF_RETURN_IF_ERROR(fusion->CopyAllControlDepsFrom(read));
    TF_RETURN_IF_ERROR(read->DropAllControlDeps());
    TF_RETURN_IF_ERROR(read->ReplaceAllUsesWithDifferentShape(fusion));
    TF_RETURN_IF_ERROR(fusion->parent()->RemoveInstruction(read));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> RemoveDeadFusionOutputs(HloComputation* computation) {
  HloInstruction* fusion = computation->FusionInstruction();
  if (fusion == nullptr || !CanDropOutputs(*fusion)) return false;
  HloInstruction* root = computation->root_instruction();

  std::vector<bool> kept(root->operand_count(), false);
  for (const HloInstruction* read : fusion->users()) {
    kept[read->tuple_index()] = true;
  }
  std::vector<HloInstruction*> outputs;
  std::vector<int64_t> old_index;
  std::vector<int64_t> new_index(root->operand_count(), -1);
  absl::flat_hash_map<int64_t, int64_t> kept_index;
  for (int64_t i = 0; i < root->operand_count(); ++i) {
    HloInstruction* output = root->mutable_operand(i);
    if (!kept[i] && !output->HasSideEffect()) continue;
    kept_index[i] = new_index[i] = static_cast<int64_t>(outputs.size());
    old_index.push_back(i);
    outputs.push_back(output);
  }
  if (outputs.size() == static_cast<size_t>(root->operand_count()))
    return false;

  // What a read has to wait for may itself need the fusion, which cannot wait
  // for it.
  const bool reads_wait =
      absl::c_any_of(fusion->users(), [](const HloInstruction* read) {
        return !read->control_predecessors().empty();
      });
  const bool unwraps = outputs.size() == 1 && !reads_wait;
  if (fusion->has_sharding()) {
    const Shape& shape = fusion->shape();
    fusion->set_sharding(
        unwraps ? fusion->sharding().GetSubSharding(shape, {old_index[0]})
                : ShardingOfElements(fusion->sharding(), shape, old_index));
  }
  if (unwraps) {
    TF_RETURN_IF_ERROR(UnwrapOnlyOutput(fusion, outputs[0]));
  } else {
    HloInstruction* new_root =
        computation->AddInstruction(HloInstruction::CreateTuple(outputs));
    computation->set_root_instruction(new_root,
                                      /*accept_different_shape=*/true);
    *fusion->mutable_shape() = new_root->shape();
    CopyOriginalValue(fusion, fusion, kept_index);
    for (HloInstruction* read : fusion->users()) {
      read->set_tuple_index(new_index[read->tuple_index()]);
    }
  }
  // Control dependencies do not keep dead code alive, neither inside the fusion
  // nor among what only the dead outputs needed outside of it.
  TF_RETURN_IF_ERROR(computation->RemoveInstructionAndUnusedOperands(
      root, /*cleanup=*/std::nullopt, /*ignore_control_dependencies=*/true));
  return true;
}

}  // namespace xla
