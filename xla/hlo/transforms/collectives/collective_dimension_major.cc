#include "xla/hlo/transforms/collectives/collective_dimension_major.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/permutation_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// The dimension along which the parts of devices lie; nullopt for what has
// none.
std::optional<int64_t> DividedDimension(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kAllGather:
      return Cast<HloAllGatherInstruction>(&inst)->all_gather_dimension();
    case HloOpcode::kAllToAll:
      return Cast<HloAllToAllInstruction>(&inst)->split_dimension();
    case HloOpcode::kReduceScatter:
      return Cast<HloReduceScatterInstruction>(&inst)->scatter_dimension();
    default:  // Parts of all others are whole values.
      return std::nullopt;
  }
}

// Whether a shape of the same dimensions in another order says all of it.
bool IsPlain(const Shape& shape) {
  return shape.IsArray() && shape.is_static() &&
         (!shape.has_layout() ||
          shape.layout() ==
              LayoutUtil::GetDefaultLayoutForRank(shape.dimensions().size()));
}

bool CanMove(const HloInstruction& inst, int64_t dim) {
  return inst.operand_count() == 1 && IsPlain(inst.shape()) &&
         IsPlain(inst.operand(0)->shape()) && !inst.has_sharding() &&
         !inst.HasControlDependencies() &&
         !Cast<HloCollectiveInstruction>(&inst)->constrain_layout() &&
         absl::c_any_of(inst.operand(0)->shape().dimensions().subspan(0, dim),
                        [](int64_t size) { return size != 1; });
}

Shape Permuted(const Shape& shape, absl::Span<const int64_t> perm) {
  return ShapeUtil::MakeShape(shape.element_type(),
                              Permute(shape.dimensions(), perm));
}

// The collective along dimension 0.
std::unique_ptr<HloInstruction> AlongTheFirst(const HloInstruction& inst,
                                              const Shape& shape,
                                              HloInstruction* operand) {
  if (inst.opcode() == HloOpcode::kReduceScatter) {
    const auto* scatter = Cast<HloReduceScatterInstruction>(&inst);
    return HloInstruction::CreateReduceScatter(
        shape, {operand}, scatter->to_apply(), scatter->device_list(),
        /*constrain_layout=*/false, scatter->channel_id(),
        scatter->use_global_device_ids(), /*scatter_dimension=*/0);
  }
  std::unique_ptr<HloInstruction> moved =
      inst.CloneWithNewOperands(shape, {operand});
  if (inst.opcode() == HloOpcode::kAllGather) {
    Cast<HloAllGatherInstruction>(moved.get())->set_all_gather_dimension(0);
  } else {
    Cast<HloAllToAllInstruction>(moved.get())->set_split_dimension(0);
  }
  return moved;
}

absl::Status MoveToFront(HloInstruction* inst, int64_t dim) {
  std::vector<int64_t> perm(inst->shape().dimensions().size());
  absl::c_iota(perm, 0);
  perm.erase(perm.begin() + dim);
  perm.insert(perm.begin(), dim);
  HloComputation* computation = inst->parent();
  HloInstruction* operand = inst->mutable_operand(0);
  HloInstruction* turned =
      computation->AddInstruction(HloInstruction::CreateTranspose(
          Permuted(operand->shape(), perm), operand, perm));
  turned->set_metadata(inst->metadata());
  std::unique_ptr<HloInstruction> moved =
      AlongTheFirst(*inst, Permuted(inst->shape(), perm), turned);
  moved->set_metadata(inst->metadata());
  moved->set_frontend_attributes(inst->frontend_attributes());
  moved->CopyBackendConfigFrom(inst);
  HloInstruction* done =
      computation->AddInstruction(std::move(moved), inst->name());
  return computation->ReplaceWithNewInstruction(
      inst, HloInstruction::CreateTranspose(inst->shape(), done,
                                            InversePermutation(perm)));
}

}  // namespace

absl::StatusOr<bool> CollectiveDimensionMajor::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      const std::optional<int64_t> dim = DividedDimension(*inst);
      if (!dim.has_value() || !CanMove(*inst, *dim)) continue;
      TF_RETURN_IF_ERROR(MoveToFront(inst, *dim));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
