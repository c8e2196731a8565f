#include "xla/backends/gpu/transforms/layouts/dot_dimension_merger.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using Dimensions = std::vector<int64_t>;

// The layout is an order of dimensions in some memory space, and nothing else.
bool MayBeMerged(const Shape& shape) {
  return shape.IsArray() && shape.is_static() && shape.has_layout() &&
         Layout::Equal().IgnoreMemorySpace()(
             shape.layout(), Layout(shape.layout().minor_to_major()));
}

// The shape with one dimension for each group, at the same place in memory;
// nothing if a group's dimensions do not follow one another there. Empty groups
// have none.
std::optional<Shape> Merged(const Shape& shape,
                            absl::Span<const Dimensions> groups) {
  std::vector<int64_t> sizes, number(groups.size(), -1), order;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].empty()) continue;
    number[i] = sizes.size();
    int64_t size = 1;
    for (int64_t d : groups[i]) size *= shape.dimensions(d);
    sizes.push_back(size);
  }
  const auto& minor_to_major = shape.layout().minor_to_major();
  for (size_t next = 0; next < minor_to_major.size();) {
    const auto group = absl::c_find_if(groups, [&](const Dimensions& group) {
      return !group.empty() && group.back() == minor_to_major[next];
    });
    if (group == groups.end()) return std::nullopt;
    for (auto d = group->rbegin(); d != group->rend(); ++d) {
      if (next == minor_to_major.size() || minor_to_major[next++] != *d) {
        return std::nullopt;
      }
    }
    order.push_back(number[group - groups.begin()]);
  }
  Shape merged = ShapeUtil::MakeShape(shape.element_type(), sizes);
  *merged.mutable_layout() = LayoutUtil::MakeLayout(order);
  merged.mutable_layout()->set_memory_space(shape.layout().memory_space());
  return merged;
}

Dimensions FreeDimensions(const Shape& shape, const Dimensions& batch,
                          const Dimensions& contracting) {
  Dimensions free;
  for (int64_t d = 0; d < shape.dimensions_size(); ++d) {
    if (!absl::c_linear_search(batch, d) &&
        !absl::c_linear_search(contracting, d)) {
      free.push_back(d);
    }
  }
  return free;
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

template <typename Field>
Dimensions ListOf(const Field& field) {
  return {field.begin(), field.end()};
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
      dot->has_sharding() || !MayBeMerged(lhs->shape()) ||
      !MayBeMerged(rhs->shape()) || !MayBeMerged(dot->shape())) {
    return false;
  }
  const DotDimensionNumbers& numbers = dot->dot_dimension_numbers();
  Dimensions lhs_batch = ListOf(numbers.lhs_batch_dimensions());
  Dimensions rhs_batch = ListOf(numbers.rhs_batch_dimensions());
  Dimensions lhs_contracting = ListOf(numbers.lhs_contracting_dimensions());
  Dimensions rhs_contracting = ListOf(numbers.rhs_contracting_dimensions());
  const Dimensions lhs_free =
      FreeDimensions(lhs->shape(), lhs_batch, lhs_contracting);
  const Dimensions rhs_free =
      FreeDimensions(rhs->shape(), rhs_batch, rhs_contracting);
  if (lhs_batch.size() < 2 && lhs_contracting.size() < 2 &&
      lhs_free.size() < 2 && rhs_free.size() < 2) {
    return false;
  }
  // Of the result: batches, then what is free on the left and on the right.
  Dimensions result[3];
  int64_t next = 0;
  for (size_t i = 0; i < lhs_batch.size(); ++i) result[0].push_back(next++);
  for (size_t i = 0; i < lhs_free.size(); ++i) result[1].push_back(next++);
  for (size_t i = 0; i < rhs_free.size(); ++i) result[2].push_back(next++);
  Dimensions batch_of_result = lhs_batch;
  SortAsTheyLie(lhs->shape(), &batch_of_result, &result[0]);
  SortAsTheyLie(lhs->shape(), &lhs_batch, &rhs_batch);
  SortAsTheyLie(lhs->shape(), &lhs_contracting, &rhs_contracting);
  const std::optional<Shape> left =
      Merged(lhs->shape(), {lhs_batch, lhs_free, lhs_contracting});
  const std::optional<Shape> right =
      Merged(rhs->shape(), {rhs_batch, rhs_contracting, rhs_free});
  const std::optional<Shape> product = Merged(dot->shape(), result);
  if (!left.has_value() || !right.has_value() || !product.has_value()) {
    return false;
  }
  DotDimensionNumbers merged;
  const int64_t batches = lhs_batch.empty() ? 0 : 1;
  if (batches > 0) {
    merged.add_lhs_batch_dimensions(0);
    merged.add_rhs_batch_dimensions(0);
  }
  if (!lhs_contracting.empty()) {
    merged.add_lhs_contracting_dimensions(batches + (lhs_free.empty() ? 0 : 1));
    merged.add_rhs_contracting_dimensions(batches);
  }
  HloInstruction* inner =
      dot->parent()->AddInstruction(HloInstruction::CreateDot(
          *product, Bitcast(*left, lhs), Bitcast(*right, rhs), merged,
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
