#include "xla/hlo/transforms/indexing/gather_simplifier.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/indexing/gather_scatter_utils.h"
#include "xla/layout_util.h"
#include "xla/permutation_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

bool CanSimplify(const HloGatherInstruction& gather) {
  const GatherDimensionNumbers& dims = gather.gather_dimension_numbers();
  return !gather.HasControlDependencies() &&
         !ShapeUtil::IsZeroElementArray(gather.shape()) &&
         !ShapeUtil::IsZeroElementArray(gather.operand(0)->shape()) &&
         !absl::c_linear_search(gather.gather_slice_sizes(), 0) &&
         !gather.shape().is_dynamic() &&
         !gather.operand(0)->shape().is_dynamic() &&
         !gather.operand(1)->shape().is_dynamic() &&
         dims.start_index_map_size() + dims.operand_batching_dims_size() > 0;
}

// The result of a simplified gather [rows, window of the operand...] as the
// result of `gather`: dimensions of the window that it has not are of size 1.
HloInstruction* ToResult(const HloGatherInstruction& gather,
                         HloInstruction* rows) {
  const GatherDimensionNumbers& dims = gather.gather_dimension_numbers();
  const int64_t rank = gather.shape().dimensions_size();
  // [batch dimensions of the result..., window...]
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(dims.offset_dims(), d)) order.push_back(d);
  }
  order.insert(order.end(), dims.offset_dims().begin(),
               dims.offset_dims().end());
  std::vector<int64_t> sizes;
  for (int64_t d : order) sizes.push_back(gather.shape().dimensions(d));
  return MaybeTranspose(MaybeReshape(rows, sizes), InversePermutation(order));
}

// The simple form has indices of shape [rows, components], addresses the
// leading operand dimensions in order, and keeps the whole window after the row
// dimension. Everything that distinguishes the general form is expressed by
// instructions around it: batching dimensions become index components (an
// iota), permuted dimensions become transposes, and collapsed dimensions become
// reshapes of the result.
HloInstruction* Simplify(HloGatherInstruction* gather) {
  const GatherDimensionNumbers& dims = gather->gather_dimension_numbers();
  HloInstruction* operand = gather->mutable_operand(0);
  HloInstruction* indices = gather->mutable_operand(1);
  const int64_t rank = operand->shape().dimensions_size();

  std::vector<int64_t> named(dims.operand_batching_dims().begin(),
                             dims.operand_batching_dims().end());
  named.insert(named.end(), dims.start_index_map().begin(),
               dims.start_index_map().end());
  indices = TransformStartIndices(
      PrependBatchIndices(indices, dims.start_indices_batching_dims(),
                          dims.index_vector_dim()),
      dims.index_vector_dim());

  const auto [permutation, inverse] =
      MakeOperandStartIndexPermutations(named, rank);
  operand = MaybeTranspose(operand, permutation);
  GatherDimensionNumbers simple;
  simple.set_index_vector_dim(1);
  for (size_t i = 0; i < named.size(); ++i) simple.add_start_index_map(i);
  std::vector<int64_t> window;
  std::vector<int64_t> result_sizes = {indices->shape().dimensions(0)};
  for (int64_t i = 0; i < rank; ++i) {
    simple.add_offset_dims(i + 1);
    window.push_back(gather->gather_slice_sizes()[permutation[i]]);
    result_sizes.push_back(window.back());
  }
  HloInstruction* rows =
      gather->parent()->AddInstruction(HloInstruction::CreateGather(
          ShapeUtil::MakeShape(gather->shape().element_type(), result_sizes),
          operand, indices, simple, window,
          gather->indices_are_sorted() &&
              dims.operand_batching_dims().empty()));

  // Back to the operand's order of dimensions.
  std::vector<int64_t> back = {0};
  for (int64_t d : inverse) back.push_back(d + 1);
  return ToResult(*gather, MaybeTranspose(rows, back));
}

}  // namespace

bool GatherSimplifier::IsSimplifiedGather(const HloGatherInstruction* gather) {
  const GatherDimensionNumbers& dims = gather->gather_dimension_numbers();
  const int64_t rank = gather->operand(0)->shape().dimensions_size();
  if (gather->operand(1)->shape().dimensions_size() != 2 ||
      dims.index_vector_dim() != 1 || dims.collapsed_slice_dims_size() != 0 ||
      dims.operand_batching_dims_size() != 0 ||
      dims.offset_dims_size() != rank) {
    return false;
  }
  for (int64_t i = 0; i < rank; ++i) {
    if (dims.offset_dims(i) != i + 1) return false;
  }
  return IsIdentityPermutation(dims.start_index_map());
}

absl::StatusOr<bool> GatherSimplifier::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      auto* gather = DynCast<HloGatherInstruction>(instruction);
      if (gather == nullptr || IsSimplifiedGather(gather) ||
          !CanSimplify(*gather)) {
        continue;
      }
      HloInstruction* result = Simplify(gather);
      if (!LayoutUtil::LayoutsInShapesEqual(result->shape(), gather->shape())) {
        result = computation->AddInstruction(HloInstruction::CreateUnary(
            gather->shape(), HloOpcode::kCopy, result));
      }
      gather->SetupDerivedInstruction(result);
      RETURN_IF_ERROR(computation->ReplaceInstruction(gather, result));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
