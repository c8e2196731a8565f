#include "xla/backends/gpu/transforms/layouts/bitcast_reshapes.h"

#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

bool MovesNothing(const HloInstruction& instruction) {
  if (!HloPredicateIsOp<HloOpcode::kReshape, HloOpcode::kTranspose>(
          &instruction) ||
      instruction.HasControlDependencies()) {
    return false;
  }
  const Shape& from = instruction.operand(0)->shape();
  const Shape& to = instruction.shape();
  if (!from.is_static() || !to.is_static() || !from.has_layout() ||
      !to.has_layout()) {
    return false;
  }
  return instruction.opcode() == HloOpcode::kReshape
             ? ShapeUtil::ReshapeIsBitcast(from, to)
             : ShapeUtil::TransposeIsBitcast(from, to,
                                             instruction.dimensions());
}

}  // namespace

absl::StatusOr<bool> BitcastReshapes::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    for (HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      if (!MovesNothing(*instruction)) continue;
      TF_RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
          instruction,
          HloInstruction::CreateBitcast(instruction->shape(),
                                        instruction->mutable_operand(0))));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu
