#include "xla/hlo/transforms/spmd/spmd_prepare.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/index_dims.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/hlo_sharding_util_indexing.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

bool IsPair(const HloInstruction* hlo) {
  return hlo->opcode() == HloOpcode::kConcatenate && hlo->operand_count() == 2;
}

// The dimension of the updates that runs over one of the indices.
int64_t UpdateDim(const HloScatterInstruction* scatter, int64_t index_dim) {
  const ScatterDimensionNumbers& dnums = scatter->scatter_dimension_numbers();
  int64_t batch =
      index_dim > dnums.index_vector_dim() ? index_dim - 1 : index_dim;
  const Shape& updates = scatter->scatter_updates()[0]->shape();
  for (int64_t d = 0; d < updates.dimensions().size(); ++d) {
    if (absl::c_linear_search(dnums.update_window_dims(), d)) continue;
    if (batch-- == 0) return d;
  }
  return -1;
}

// Some component counts along one and the same dimension of both, which is cut
// in one of them.
bool CountAlike(const HloScatterInstruction* scatter, const HloInstruction* i1,
                const HloInstruction* i2) {
  const ScatterDimensionNumbers& dnums = scatter->scatter_dimension_numbers();
  const Shape& operand = scatter->scatter_operands()[0]->shape();
  for (int64_t c = 0; c < dnums.scatter_dims_to_operand_dims_size(); ++c) {
    const int64_t size =
        operand.dimensions(dnums.scatter_dims_to_operand_dims(c));
    const std::optional<int64_t> d1 =
        hlo_sharding_util::IotaDimensionOfComponent(
            *i1, dnums.index_vector_dim(), c, size, nullptr);
    const std::optional<int64_t> d2 =
        hlo_sharding_util::IotaDimensionOfComponent(
            *i2, dnums.index_vector_dim(), c, size, nullptr);
    if (!d1.has_value() || d1 != d2) continue;
    for (const HloInstruction* indices : {i1, i2}) {
      if (indices->has_sharding() && indices->sharding().IsTiledLeaf() &&
          ShardCountAtDim(indices->sharding(), *d1) > 1) {
        return true;
      }
    }
  }
  return false;
}

absl::StatusOr<bool> TakeApart(HloComputation* computation,
                               HloScatterInstruction* scatter) {
  if (scatter->scatter_operand_count() != 1 ||
      scatter->HasControlDependencies() ||
      scatter->to_apply()->root_instruction()->opcode() != HloOpcode::kAdd ||
      scatter->scatter_operands()[0]->opcode() != HloOpcode::kAdd) {
    return false;
  }
  const HloInstruction* indices = scatter->scatter_indices();
  const HloInstruction* updates = scatter->scatter_updates()[0];
  if (!IsPair(indices) || !IsPair(updates)) return false;
  const int64_t dim = indices->concatenate_dimension();
  const HloInstruction *i1 = indices->operand(0), *i2 = indices->operand(1);
  const HloInstruction *u1 = updates->operand(0), *u2 = updates->operand(1);
  if (dim == scatter->scatter_dimension_numbers().index_vector_dim() ||
      updates->concatenate_dimension() != UpdateDim(scatter, dim) ||
      i1->shape().dimensions(dim) !=
          u1->shape().dimensions(updates->concatenate_dimension()) ||
      !CountAlike(scatter, i1, i2)) {
    return false;
  }
  HloInstruction* first =
      computation->AddInstruction(scatter->CloneWithNewOperands(
          scatter->shape(),
          {scatter->mutable_operand(0), const_cast<HloInstruction*>(i1),
           const_cast<HloInstruction*>(u1)}));
  HloInstruction* second =
      computation->AddInstruction(scatter->CloneWithNewOperands(
          scatter->shape(), {first, const_cast<HloInstruction*>(i2),
                             const_cast<HloInstruction*>(u2)}));
  RETURN_IF_ERROR(computation->ReplaceInstruction(scatter, second));
  return true;
}

}  // namespace

absl::StatusOr<bool> SpmdPrepare::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (hlo->opcode() != HloOpcode::kScatter) continue;
      TF_ASSIGN_OR_RETURN(
          const bool apart,
          TakeApart(computation, Cast<HloScatterInstruction>(hlo)));
      changed |= apart;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::spmd
