#include "xla/hlo/transforms/indexing/scatter_simplifier.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/indexing/gather_scatter_utils.h"
#include "xla/hlo/utils/collectives/reduction_kind.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/layout_util.h"
#include "xla/permutation_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

bool CanSimplify(const HloScatterInstruction& scatter) {
  if (scatter.HasControlDependencies()) return false;
  for (const HloInstruction* operand : scatter.operands()) {
    if (ShapeUtil::IsZeroElementArray(operand->shape()) ||
        operand->shape().is_dynamic()) {
      return false;
    }
  }
  const ScatterDimensionNumbers& dims = scatter.scatter_dimension_numbers();
  return dims.scatter_dims_to_operand_dims_size() +
             dims.input_batching_dims_size() >
         0;
}

// Dimensions of the operand that updates do not have.
bool IsMissing(const ScatterDimensionNumbers& dims, int64_t dim) {
  return absl::c_linear_search(dims.inserted_window_dims(), dim) ||
         absl::c_linear_search(dims.input_batching_dims(), dim);
}

// Updates as [rows, window of the operand...], of size 1 where they have no
// dimension of the operand.
HloInstruction* RowsOfUpdates(const ScatterDimensionNumbers& dims,
                              int64_t operand_rank, HloInstruction* updates) {
  std::vector<int64_t> order;
  int64_t rows = 1;
  for (int64_t d = 0; d < updates->shape().dimensions_size(); ++d) {
    if (absl::c_linear_search(dims.update_window_dims(), d)) continue;
    order.push_back(d);
    rows *= updates->shape().dimensions(d);
  }
  order.insert(order.end(), dims.update_window_dims().begin(),
               dims.update_window_dims().end());
  std::vector<int64_t> sizes = {rows};
  int window_dim = 0;
  for (int64_t d = 0; d < operand_rank; ++d) {
    sizes.push_back(IsMissing(dims, d)
                        ? 1
                        : updates->shape().dimensions(
                              dims.update_window_dims(window_dim++)));
  }
  return MaybeReshape(MaybeTranspose(updates, order), sizes);
}

HloInstruction* InLayoutOf(const Shape& shape, HloInstruction* value) {
  if (LayoutUtil::LayoutsInShapesEqual(value->shape(), shape)) return value;
  return value->parent()->AddInstruction(
      HloInstruction::CreateUnary(shape, HloOpcode::kCopy, value));
}

// As for gather: batching dimensions become index components, the addressed
// operand dimensions move to the front, and updates are brought into the form
// [rows, window]. The result is transposed back.
HloInstruction* Simplify(HloScatterInstruction* scatter) {
  HloComputation* computation = scatter->parent();
  const ScatterDimensionNumbers& dims = scatter->scatter_dimension_numbers();
  const int64_t count = scatter->scatter_operand_count();
  const int64_t rank = scatter->operand(0)->shape().dimensions_size();

  std::vector<int64_t> named(dims.input_batching_dims().begin(),
                             dims.input_batching_dims().end());
  named.insert(named.end(), dims.scatter_dims_to_operand_dims().begin(),
               dims.scatter_dims_to_operand_dims().end());
  HloInstruction* indices = TransformStartIndices(
      PrependBatchIndices(scatter->mutable_operand(count),
                          dims.scatter_indices_batching_dims(),
                          dims.index_vector_dim()),
      dims.index_vector_dim());

  const auto [permutation, inverse] =
      MakeOperandStartIndexPermutations(named, rank);
  std::vector<int64_t> update_permutation = {0};
  for (int64_t d : permutation) update_permutation.push_back(d + 1);
  std::vector<HloInstruction*> operands, updates;
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < count; ++i) {
    operands.push_back(
        MaybeTranspose(scatter->mutable_operand(i), permutation));
    shapes.push_back(operands.back()->shape());
    updates.push_back(MaybeTranspose(
        RowsOfUpdates(dims, rank, scatter->mutable_operand(count + 1 + i)),
        update_permutation));
  }
  ScatterDimensionNumbers simple;
  simple.set_index_vector_dim(1);
  for (size_t i = 0; i < named.size(); ++i) {
    simple.add_scatter_dims_to_operand_dims(i);
  }
  for (int64_t i = 0; i < rank; ++i) simple.add_update_window_dims(i + 1);
  HloInstruction* result =
      computation->AddInstruction(HloInstruction::CreateScatter(
          count == 1 ? shapes[0] : ShapeUtil::MakeTupleShape(shapes), operands,
          indices, updates, scatter->to_apply(), simple,
          scatter->indices_are_sorted() && dims.input_batching_dims().empty(),
          scatter->unique_indices()));
  scatter->SetupDerivedInstruction(result);
  // Tiles are those of the dimensions in their old order.
  if (!IsIdentityPermutation(permutation)) result->clear_sharding();
  if (count == 1) {
    return InLayoutOf(scatter->shape(), MaybeTranspose(result, inverse));
  }
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < count; ++i) {
    HloInstruction* element = computation->AddInstruction(
        HloInstruction::CreateGetTupleElement(shapes[i], result, i));
    elements.push_back(InLayoutOf(scatter->shape().tuple_shapes(i),
                                  MaybeTranspose(element, inverse)));
  }
  return computation->AddInstruction(HloInstruction::CreateTuple(elements));
}

// Whether the scatter adds to zeros, for `add` alone.
bool AddsToZeros(const HloInstruction& scatter, const HloInstruction& add) {
  if (scatter.opcode() != HloOpcode::kScatter || scatter.user_count() != 1 ||
      !scatter.shape().IsArray() || !scatter.shape().is_static() ||
      scatter.HasControlDependencies() ||
      !hlo_query::IsAllConstant(scatter.operand(0), 0) ||
      !ShapeUtil::Equal(scatter.shape(), add.shape()) ||
      !ShapeUtil::Equal(scatter.shape(), scatter.operand(0)->shape())) {
    return false;
  }
  const PrimitiveType type = scatter.shape().element_type();
  // Short floats would lose small updates, one by one, to a large value.
  const bool loses = primitive_util::IsFloatingPointType(type) &&
                     primitive_util::BitWidth(type) < 32 &&
                     !Cast<HloScatterInstruction>(&scatter)->unique_indices();
  return !loses && type != PRED &&
         MatchReductionComputation(scatter.to_apply()) == ReductionKind::SUM;
}

// add(scatter(zeros, i, u), y) as scatter(y, i, u); null for other sums.
// It saves an array of zeros, and a pass that reads two arrays and writes one.
// Sums of floats are added up in another order.
HloInstruction* ScatterIntoAddend(HloInstruction* add) {
  if (add->opcode() != HloOpcode::kAdd || add->HasControlDependencies() ||
      add->operand(0) == add->operand(1)) {
    return nullptr;
  }
  for (int64_t i = 0; i < 2; ++i) {
    HloInstruction* scatter = add->mutable_operand(i);
    HloInstruction* addend = add->mutable_operand(1 - i);
    if (!AddsToZeros(*scatter, *add) ||
        !ShapeUtil::Equal(addend->shape(), add->shape())) {
      continue;
    }
    HloInstruction* sum =
        add->parent()->AddInstruction(scatter->CloneWithNewOperands(
            add->shape(), {addend, scatter->mutable_operand(1),
                           scatter->mutable_operand(2)}));
    // Sharded as the sum is, not as that of the updates.
    sum->clear_sharding();
    return sum;
  }
  return nullptr;
}

}  // namespace

bool ScatterSimplifier::IsSimplifiedScatter(
    const HloScatterInstruction* scatter) {
  const ScatterDimensionNumbers& dims = scatter->scatter_dimension_numbers();
  const int64_t rank = scatter->operand(0)->shape().dimensions_size();
  if (scatter->scatter_indices()->shape().dimensions_size() != 2 ||
      dims.index_vector_dim() != 1 || dims.inserted_window_dims_size() != 0 ||
      dims.input_batching_dims_size() != 0 ||
      dims.update_window_dims_size() != rank) {
    return false;
  }
  for (int64_t i = 0; i < rank; ++i) {
    if (dims.update_window_dims(i) != i + 1) return false;
  }
  return IsIdentityPermutation(dims.scatter_dims_to_operand_dims());
}

absl::StatusOr<bool> ScatterSimplifier::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      HloInstruction* into_addend = ScatterIntoAddend(instruction);
      if (into_addend == nullptr) continue;
      RETURN_IF_ERROR(
          computation->ReplaceInstruction(instruction, into_addend));
      changed = true;
    }
    for (HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      auto* scatter = DynCast<HloScatterInstruction>(instruction);
      if (scatter == nullptr || IsSimplifiedScatter(scatter) ||
          !CanSimplify(*scatter)) {
        continue;
      }
      RETURN_IF_ERROR(
          computation->ReplaceInstruction(scatter, Simplify(scatter)));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
