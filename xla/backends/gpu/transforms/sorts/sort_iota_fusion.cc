#include "xla/backends/gpu/transforms/sorts/sort_iota_fusion.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// The dimension along which a value counts from 0; nullopt if it does not.
std::optional<int64_t> CountedDimension(const HloInstruction& value) {
  const HloInstruction* iota = &value;
  if (value.opcode() == HloOpcode::kBroadcast) iota = value.operand(0);
  const auto* counts = DynCast<HloIotaInstruction>(iota);
  if (counts == nullptr) return std::nullopt;
  return iota == &value ? counts->iota_dimension()
                        : value.dimensions()[counts->iota_dimension()];
}

// Whether the sort was fused.
absl::StatusOr<bool> Fuse(HloSortInstruction* sort) {
  if (sort->HasControlDependencies()) return false;
  HloComputation* computation = sort->parent();
  std::vector<HloInstruction*> fused = {sort};
  for (int64_t i = 1; i < sort->operand_count(); ++i) {
    HloInstruction* operand = sort->mutable_operand(i);
    if (CountedDimension(*operand) != sort->sort_dimension()) continue;
    if (operand->opcode() == HloOpcode::kBroadcast) {
      HloInstruction* iota = computation->AddInstruction(
          HloInstruction::CreateIota(operand->shape(), sort->sort_dimension()));
      TF_RETURN_IF_ERROR(sort->ReplaceOperandWith(i, iota));
      operand = iota;
    }
    // The same positions may be sorted twice.
    if (!absl::c_linear_search(fused, operand)) fused.push_back(operand);
  }
  if (fused.size() == 1) return false;
  computation->CreateFusionInstruction(fused,
                                       HloInstruction::FusionKind::kCustom);
  return true;
}

}  // namespace

absl::StatusOr<bool> SortIotaFusion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      auto* sort = DynCast<HloSortInstruction>(inst);
      if (sort == nullptr) continue;
      TF_ASSIGN_OR_RETURN(bool fused, Fuse(sort));
      changed |= fused;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu
