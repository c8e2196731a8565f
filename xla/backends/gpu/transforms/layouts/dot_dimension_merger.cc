#include "xla/backends/gpu/transforms/layouts/dot_dimension_merger.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/transforms/layouts/dot_roles.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using Dimensions = std::vector<int64_t>;

// The shape with one dimension for each group, at the same place in memory;
// nothing if a group's dimensions do not follow one another there. Empty groups
// have none.
std::optional<Shape> Merged(const Shape& shape,
                            absl::Span<const Dimensions> groups) {
  std::optional<std::vector<int64_t>> order = OrderOfGroups(shape, groups);
  if (!order.has_value()) return std::nullopt;
  std::vector<int64_t> sizes, number;
  for (const Dimensions& group : groups) {
    number.push_back(sizes.size());
    if (group.empty()) continue;
    sizes.push_back(1);
    for (int64_t d : group) sizes.back() *= shape.dimensions(d);
  }
  for (int64_t& group : *order) group = number[group];
  Shape merged = ShapeUtil::MakeShape(shape.element_type(), sizes);
  *merged.mutable_layout() = LayoutUtil::MakeLayout(*order);
  merged.mutable_layout()->set_memory_space(shape.layout().memory_space());
  return merged;
}

// Sorts both alike, so that the first one's dimensions are as they lie in
// `shape`, the slowest first.
void SortAsTheyLie(const Shape& shape, Dimensions* first, Dimensions* second) {
  Dimensions sorted[2];
  const auto& minor_to_major = shape.layout().minor_to_major();
  for (size_t i = minor_to_major.size(); i-- > 0;) {
    const auto found = absl::c_find(*first, minor_to_major[i]);
    if (found == first->end()) continue;
    sorted[0].push_back(*found);
    sorted[1].push_back((*second)[found - first->begin()]);
  }
  *first = sorted[0];
  *second = sorted[1];
}

HloInstruction* Bitcast(const Shape& shape, HloInstruction* value) {
  if (value->shape() == shape) return value;
  return value->parent()->AddInstruction(
      HloInstruction::CreateBitcast(shape, value));
}

absl::StatusOr<bool> MergeDimensions(HloInstruction* dot) {
  HloInstruction* lhs = dot->mutable_operand(0);
  HloInstruction* rhs = dot->mutable_operand(1);
  if (dot->operand_count() != 2 || dot->HasControlDependencies() ||
      dot->has_sharding() || !HasPlainLayout(lhs->shape()) ||
      !HasPlainLayout(rhs->shape()) || !HasPlainLayout(dot->shape())) {
    return false;
  }
  DotRoles left = RolesOf(*dot, 0), right = RolesOf(*dot, 1);
  if (left.batch.size() < 2 && left.contracting.size() < 2 &&
      left.free.size() < 2 && right.free.size() < 2) {
    return false;
  }
  // Of the result: batches, then what is free on the left and on the right.
  Dimensions result[3];
  int64_t next = 0;
  for (size_t i = 0; i < left.batch.size(); ++i) result[0].push_back(next++);
  for (size_t i = 0; i < left.free.size(); ++i) result[1].push_back(next++);
  for (size_t i = 0; i < right.free.size(); ++i) result[2].push_back(next++);
  Dimensions batch_of_result = left.batch;
  SortAsTheyLie(lhs->shape(), &batch_of_result, &result[0]);
  SortAsTheyLie(lhs->shape(), &left.batch, &right.batch);
  SortAsTheyLie(lhs->shape(), &left.contracting, &right.contracting);
  const std::optional<Shape> lhs_shape =
      Merged(lhs->shape(), {left.batch, left.free, left.contracting});
  const std::optional<Shape> rhs_shape =
      Merged(rhs->shape(), {right.batch, right.contracting, right.free});
  const std::optional<Shape> shape = Merged(dot->shape(), result);
  if (!lhs_shape.has_value() || !rhs_shape.has_value() || !shape.has_value()) {
    return false;
  }
  DotDimensionNumbers merged;
  const int64_t batches = left.batch.empty() ? 0 : 1;
  if (batches > 0) {
    merged.add_lhs_batch_dimensions(0);
    merged.add_rhs_batch_dimensions(0);
  }
  if (!left.contracting.empty()) {
    merged.add_lhs_contracting_dimensions(batches +
                                          (left.free.empty() ? 0 : 1));
    merged.add_rhs_contracting_dimensions(batches);
  }
  HloInstruction* inner =
      dot->parent()->AddInstruction(HloInstruction::CreateDot(
          *shape, Bitcast(*lhs_shape, lhs), Bitcast(*rhs_shape, rhs), merged,
          dot->precision_config()));
  dot->SetupDerivedInstruction(inner);
  RETURN_IF_ERROR(dot->parent()->ReplaceWithNewInstruction(
      dot, HloInstruction::CreateBitcast(dot->shape(), inner)));
  return true;
}

}  // namespace

absl::StatusOr<bool> DotDimensionMerger::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // On the main thread they are one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() != HloOpcode::kDot) continue;
      ASSIGN_OR_RETURN(const bool merged, MergeDimensions(inst));
      changed |= merged;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu
