#include "xla/backends/gpu/transforms/reductions/reduction_degenerate_dim_remover.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/transforms/reductions/reduction_forms.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/collectives/reduction_kind.h"
#include "xla/layout.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// Whether the elements of the result are as many bits as those of the operand,
// in the same places.
bool LiesAsItsOperand(const HloInstruction& reduce) {
  const Shape& from = reduce.operand(0)->shape();
  const Shape& to = reduce.shape();
  if (!from.has_layout() || !to.has_layout() || from.is_dynamic() ||
      from.element_type() != to.element_type()) {
    return false;
  }
  return from.layout().tiles().empty() && to.layout().tiles().empty() &&
         from.layout().memory_space() == to.layout().memory_space() &&
         from.layout().element_size_in_bits() ==
             to.layout().element_size_in_bits() &&
         ShapeUtil::ReshapeIsBitcast(from, to);
}

// Whether the combiner keeps what it combines with the initial value.
bool StartsFromIdentity(const HloInstruction& reduce) {
  const HloInstruction* init = reduce.operand(1);
  if (init->opcode() != HloOpcode::kConstant || !init->literal().IsKnown()) {
    return false;
  }
  const std::optional<ReductionKind> kind =
      MatchReductionComputation(reduce.to_apply());
  return kind.has_value() &&
         init->literal() ==
             GetReductionIdentity(*kind, init->shape().element_type());
}

// Whether each element of the operand is a result.
bool IsBitcast(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kReduce && inst.operand_count() == 2 &&
         !inst.HasControlDependencies() &&
         absl::c_all_of(inst.dimensions(),
                        [&](int64_t dim) {
                          return inst.operand(0)->shape().dimensions(dim) == 1;
                        }) &&
         LiesAsItsOperand(inst) && StartsFromIdentity(inst);
}

absl::StatusOr<bool> ReplaceBitcasts(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (!IsBitcast(*inst)) continue;
      RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
          inst, HloInstruction::CreateBitcast(inst->shape(),
                                              inst->mutable_operand(0))));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> ReductionDegenerateDimRemover::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  ASSIGN_OR_RETURN(const bool replaced,
                   ReplaceBitcasts(module, execution_threads));
  ASSIGN_OR_RETURN(
      const bool rewritten,
      RewriteReductions(
          module, execution_threads, [](const HloInstruction& reduce) {
            const Shape& shape = reduce.operand(0)->shape();
            DimensionGroups groups;
            bool reduces = false;
            for (int64_t dim : PhysicalOrder(reduce)) {
              if (shape.dimensions(dim) == 1) continue;
              reduces |= IsReduced(reduce, dim);
              groups.push_back({dim});
            }
            if (!reduces || groups.size() == shape.dimensions().size()) {
              groups.clear();
            }
            return groups;
          }));
  return replaced || rewritten;
}

}  // namespace xla::gpu
