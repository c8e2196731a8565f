#include "xla/hlo/transforms/collectives/canonicalize_all_gather_for_cse.h"

#include <cstdint>
#include <memory>
#include <optional>

#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/collectives/unit_reshape.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Gathers before the reshape; returns whether there was one.
absl::StatusOr<bool> MoveUp(HloInstruction* gather, int64_t* next_channel_id) {
  auto* original = Cast<HloAllGatherInstruction>(gather);
  if (gather->operand_count() != 1 || !gather->shape().IsArray() ||
      original->constrain_layout() || gather->HasControlDependencies()) {
    return false;
  }
  HloInstruction* reshaped = gather->mutable_operand(0);
  HloInstruction* value = SkipUnitReshapes(reshaped);
  const int64_t dim = original->all_gather_dimension();
  const std::optional<int64_t> value_dim =
      DimensionAcrossUnitReshape(reshaped->shape(), value->shape(), dim);
  if (value == reshaped || !value_dim.has_value()) return false;
  Shape shape = value->shape();
  shape.set_dimensions(*value_dim, gather->shape().dimensions(dim));
  HloComputation* computation = gather->parent();
  HloInstruction* gathered = computation->AddInstruction(
      gather->CloneWithNewOperands(shape, {value}), gather->name());
  Cast<HloAllGatherInstruction>(gathered)->set_all_gather_dimension(*value_dim);
  gathered->clear_sharding();
  if (gather->channel_id().has_value()) {
    gathered->set_channel_id((*next_channel_id)++);
  }
  TF_RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
      gather, HloInstruction::CreateReshape(gather->shape(), gathered)));
  return true;
}

}  // namespace

absl::StatusOr<bool> CanonicalizeAllGatherForCSE::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  int64_t next_channel_id = hlo_query::NextChannelId(*module);
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() != HloOpcode::kAllGather) continue;
      TF_ASSIGN_OR_RETURN(bool moved, MoveUp(inst, &next_channel_id));
      changed |= moved;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
