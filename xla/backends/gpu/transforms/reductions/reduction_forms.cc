#include "xla/backends/gpu/transforms/reductions/reduction_forms.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// From major to minor.
std::vector<int64_t> MajorToMinor(const Shape& shape) {
  const absl::Span<const int64_t> minor_to_major =
      shape.layout().minor_to_major();
  return {minor_to_major.rbegin(), minor_to_major.rend()};
}

// An array whose elements are stored as those of `like`: as many bits each, in
// the same memory.
Shape StoredLike(const Shape& like, absl::Span<const int64_t> sizes,
                 absl::Span<const int64_t> major_to_minor) {
  Shape shape = ShapeUtil::MakeShape(like.element_type(), sizes);
  *shape.mutable_layout() = like.layout();
  shape.mutable_layout()->mutable_minor_to_major()->assign(
      major_to_minor.rbegin(), major_to_minor.rend());
  return shape;
}

Shape RowMajorLike(const Shape& like, absl::Span<const int64_t> sizes) {
  std::vector<int64_t> order(sizes.size());
  absl::c_iota(order, 0);
  return StoredLike(like, sizes, order);
}

Shape WithOrder(const Shape& shape, absl::Span<const int64_t> major_to_minor) {
  return StoredLike(shape, shape.dimensions(), major_to_minor);
}

HloInstruction* Add(HloInstruction* neighbor, const Shape& shape,
                    HloOpcode opcode, HloInstruction* operand) {
  HloInstruction* added = neighbor->parent()->AddInstruction(
      HloInstruction::CreateUnary(shape, opcode, operand));
  added->set_metadata(neighbor->metadata());
  return added;
}

HloInstruction* CopyTo(HloInstruction* reduce, const Shape& shape,
                       HloInstruction* value) {
  if (LayoutUtil::LayoutsInShapesEqual(value->shape(), shape)) return value;
  return Add(reduce, shape, HloOpcode::kCopy, value);
}

// Sizes of the groups.
Shape NewShape(const Shape& shape, const DimensionGroups& groups) {
  std::vector<int64_t> sizes;
  for (const std::vector<int64_t>& group : groups) {
    int64_t size = 1;
    for (int64_t dim : group) size *= shape.dimensions(dim);
    sizes.push_back(size);
  }
  return RowMajorLike(shape, sizes);
}

// The numbers in the result of the kept dimensions `kept` of the operand.
std::vector<int64_t> NumbersInResult(absl::Span<const int64_t> kept) {
  std::vector<int64_t> logical(kept.begin(), kept.end());
  absl::c_sort(logical);
  std::vector<int64_t> order;
  for (int64_t dim : kept) {
    order.push_back(absl::c_lower_bound(logical, dim) - logical.begin());
  }
  return order;
}

// The result `shape` with its dimensions in the given order, where it lies.
Shape Permuted(const Shape& shape, absl::Span<const int64_t> order) {
  std::vector<int64_t> sizes, major_to_minor;
  for (int64_t dim : order) sizes.push_back(shape.dimensions(dim));
  for (int64_t dim : MajorToMinor(shape)) {
    major_to_minor.push_back(absl::c_find(order, dim) - order.begin());
  }
  return StoredLike(shape, sizes, major_to_minor);
}

// `value`, a result of the new reduction, as the result `shape` of the old one.
// `order` are the dimensions of the latter as the operand has them in memory.
HloInstruction* OldResult(HloInstruction* reduce, const Shape& shape,
                          absl::Span<const int64_t> order, bool any_layout,
                          HloInstruction* value) {
  if (any_layout) return Add(reduce, shape, HloOpcode::kBitcast, value);
  const auto is_long = [&](int64_t dim) { return shape.dimensions(dim) != 1; };
  std::vector<int64_t> found, wanted;
  absl::c_copy_if(order, std::back_inserter(found), is_long);
  absl::c_copy_if(MajorToMinor(shape), std::back_inserter(wanted), is_long);
  if (found == wanted) return Add(reduce, shape, HloOpcode::kBitcast, value);
  return Add(reduce, shape, HloOpcode::kCopy,
             Add(reduce, WithOrder(shape, order), HloOpcode::kBitcast, value));
}

// Expresses a reduction over groups of dimensions as a bitcast to a shape with
// one dimension for each group, the reduction of that, and a bitcast back.
// Operands of other layouts are copied first; if the kept dimensions lie in
// another order in memory than the result has them, the result is copied.
absl::Status Rewrite(HloInstruction* reduce, const DimensionGroups& groups,
                     bool any_layout) {
  HloComputation* computation = reduce->parent();
  const int64_t count = reduce->operand_count() / 2;
  const std::vector<int64_t> physical = PhysicalOrder(*reduce);
  std::vector<int64_t> reduced, kept;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (IsReduced(*reduce, groups[g][0])) reduced.push_back(g);
  }
  for (int64_t dim : physical) {
    if (!IsReduced(*reduce, dim)) kept.push_back(dim);
  }
  const std::vector<int64_t> order = NumbersInResult(kept);
  std::vector<HloInstruction*> inputs, inits;
  std::vector<Shape> results;
  bool all_kept = true;
  for (int64_t i = 0; i < count; ++i) {
    HloInstruction* input = reduce->mutable_operand(i);
    input = CopyTo(reduce, WithOrder(input->shape(), physical), input);
    const Shape shape = NewShape(input->shape(), groups);
    inputs.push_back(Add(reduce, shape, HloOpcode::kBitcast, input));
    inits.push_back(reduce->mutable_operand(count + i));
    std::vector<int64_t> sizes;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (!absl::c_linear_search(reduced, static_cast<int64_t>(g))) {
        sizes.push_back(shape.dimensions(g));
      }
    }
    // What is reduced may be of a narrower type than the result.
    const Shape& old =
        count == 1 ? reduce->shape() : reduce->shape().tuple_shapes(i);
    results.push_back(any_layout ? Permuted(old, order)
                                 : RowMajorLike(old, sizes));
    all_kept &=
        old.dimensions() == absl::MakeConstSpan(sizes) &&
        (any_layout || LayoutUtil::LayoutsInShapesEqual(old, results.back()));
  }
  // Each kept dimension is in a group of its own, in its place: the results are
  // what they were.
  all_kept &= absl::c_is_sorted(kept);
  const Shape result = all_kept     ? reduce->shape()
                       : count == 1 ? results[0]
                                    : ShapeUtil::MakeTupleShape(results);
  HloInstruction* rewritten =
      computation->AddInstruction(HloInstruction::CreateReduce(
          result, inputs, inits, reduced, reduce->to_apply()));
  reduce->SetupDerivedInstruction(rewritten);
  if (all_kept) return computation->ReplaceInstruction(reduce, rewritten);
  rewritten->clear_sharding();
  if (count == 1) {
    return computation->ReplaceInstruction(
        reduce,
        OldResult(reduce, reduce->shape(), order, any_layout, rewritten));
  }
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < count; ++i) {
    HloInstruction* element = computation->AddInstruction(
        HloInstruction::CreateGetTupleElement(results[i], rewritten, i));
    elements.push_back(OldResult(reduce, reduce->shape().tuple_shapes(i), order,
                                 any_layout, element));
  }
  return computation->ReplaceInstruction(
      reduce,
      computation->AddInstruction(HloInstruction::CreateTuple(elements)));
}

// Static arrays that have layouts, and nothing that waits for this instruction
// or that it waits for: what replaces it has no place in that order.
bool CanRewrite(const HloInstruction& reduce) {
  if (reduce.HasControlDependencies()) return false;
  for (const HloInstruction* operand : reduce.operands()) {
    const Shape& shape = operand->shape();
    if (!shape.IsArray() || !shape.has_layout() || shape.is_dynamic() ||
        !shape.layout().tiles().empty() ||
        ShapeUtil::IsZeroElementArray(shape)) {
      return false;
    }
  }
  bool has_layouts = true;
  ShapeUtil::ForEachSubshape(
      reduce.shape(), [&](const Shape& leaf, const ShapeIndex&) {
        has_layouts &= leaf.IsTuple() ||
                       (leaf.has_layout() && leaf.layout().tiles().empty());
      });
  return has_layouts;
}

}  // namespace

std::vector<int64_t> PhysicalOrder(const HloInstruction& reduce) {
  return MajorToMinor(reduce.operand(0)->shape());
}

bool IsReduced(const HloInstruction& reduce, int64_t dim) {
  return absl::c_linear_search(reduce.dimensions(), dim);
}

absl::StatusOr<bool> RewriteReductions(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    absl::FunctionRef<DimensionGroups(const HloInstruction&)> groups,
    bool any_layout) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() != HloOpcode::kReduce || !CanRewrite(*inst)) continue;
      const DimensionGroups wanted = groups(*inst);
      if (wanted.empty()) continue;
      RETURN_IF_ERROR(Rewrite(inst, wanted, any_layout));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu
