#include "xla/hlo/transforms/operations/dot_merger.h"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

constexpr int64_t kSides = 2;

// The one dimension of an operand that the result has, too, and no batch is.
std::optional<int64_t> OuterDimension(const HloInstruction& dot, int64_t side) {
  const DotDimensionNumbers& dims = dot.dot_dimension_numbers();
  const auto& batch =
      side == 0 ? dims.lhs_batch_dimensions() : dims.rhs_batch_dimensions();
  const auto& summed = side == 0 ? dims.lhs_contracting_dimensions()
                                 : dims.rhs_contracting_dimensions();
  std::optional<int64_t> outer;
  for (int64_t d = 0; d < dot.operand(side)->shape().dimensions_size(); ++d) {
    if (absl::c_linear_search(batch, d) || absl::c_linear_search(summed, d)) {
      continue;
    }
    if (outer.has_value()) return std::nullopt;
    outer = d;
  }
  return outer;
}

// The same dimension, of the result: batch, left, right.
int64_t OuterDimensionOfResult(const HloInstruction& dot, int64_t side) {
  if (side == 1) return dot.shape().dimensions_size() - 1;
  return dot.dot_dimension_numbers().lhs_batch_dimensions_size();
}

bool IsMergeableDot(const HloInstruction& dot) {
  return dot.opcode() == HloOpcode::kDot && dot.operand_count() == 2 &&
         !dot.HasControlDependencies() && !dot.shape().is_dynamic() &&
         absl::c_none_of(dot.operands(), [](const HloInstruction* operand) {
           return operand->shape().is_dynamic();
         });
}

bool IsSmall(const HloInstruction& dot, int64_t max_bytes) {
  return ShapeUtil::ByteSizeOf(dot.shape()) +
             ShapeUtil::ByteSizeOf(dot.operand(0)->shape()) +
             ShapeUtil::ByteSizeOf(dot.operand(1)->shape()) <=
         max_bytes;
}

// What dots that are merged have in common, besides the operand that they
// share; nullopt if the dot cannot be merged.
std::optional<std::string> KindOf(const HloInstruction& dot, int64_t side,
                                  bool different_types) {
  const std::optional<int64_t> outer = OuterDimension(dot, side);
  if (!outer.has_value()) return std::nullopt;
  Shape operand = dot.operand(side)->shape();
  operand.set_dimensions(*outer, 0);
  // Only among floats one type is more precise than another.
  const PrimitiveType type = dot.shape().element_type();
  const bool any_type =
      different_types && primitive_util::IsFloatingPointType(type);
  return absl::StrCat(operand.ToString(/*print_layout=*/true), " ",
                      any_type ? "float" : PrimitiveType_Name(type), " ",
                      LayoutUtil::HumanString(dot.shape().layout()), " ",
                      dot.dot_dimension_numbers().SerializeAsString(), " ",
                      dot.precision_config().SerializeAsString());
}

// The narrowest type that holds the results of all.
PrimitiveType TypeOfAll(absl::Span<HloInstruction* const> dots) {
  PrimitiveType type = dots[0]->shape().element_type();
  for (const HloInstruction* dot : dots) {
    const PrimitiveType other = dot->shape().element_type();
    if (primitive_util::CastPreservesValues(other, type)) continue;
    // Neither of f16 and bf16, for instance, holds the other.
    type = primitive_util::CastPreservesValues(type, other) ? other : F32;
  }
  return type;
}

// One dot of all, and slices of it in their places.
absl::Status Merge(absl::Span<HloInstruction* const> dots, int64_t side) {
  HloInstruction* first = dots[0];
  HloComputation* computation = first->parent();
  const int64_t outer = *OuterDimension(*first, side);
  const int64_t result_outer = OuterDimensionOfResult(*first, side);
  std::vector<HloInstruction*> parts;
  int64_t size = 0;
  for (HloInstruction* dot : dots) {
    parts.push_back(dot->mutable_operand(side));
    size += parts.back()->shape().dimensions(outer);
  }
  Shape shape = parts[0]->shape();
  shape.set_dimensions(outer, size);
  HloInstruction* operands[kSides] = {first->mutable_operand(0),
                                      first->mutable_operand(1)};
  operands[side] = computation->AddInstruction(
      HloInstruction::CreateConcatenate(shape, parts, outer));
  Shape result = first->shape();
  result.set_dimensions(result_outer, size);
  result = ShapeUtil::ChangeElementType(result, TypeOfAll(dots));
  HloInstruction* merged = computation->AddInstruction(
      first->CloneWithNewOperands(result, {operands[0], operands[1]}));
  std::vector<int64_t> starts(result.dimensions_size(), 0);
  for (HloInstruction* dot : dots) {
    std::vector<int64_t> limits(result.dimensions().begin(),
                                result.dimensions().end());
    limits[result_outer] =
        starts[result_outer] + dot->shape().dimensions(result_outer);
    const Shape slice_shape =
        ShapeUtil::ChangeElementType(dot->shape(), result.element_type());
    std::unique_ptr<HloInstruction> value =
        HloInstruction::CreateSlice(slice_shape, merged, starts, limits,
                                    std::vector<int64_t>(limits.size(), 1));
    if (slice_shape.element_type() != dot->shape().element_type()) {
      value = HloInstruction::CreateConvert(
          dot->shape(), computation->AddInstruction(std::move(value)));
    }
    TF_RETURN_IF_ERROR(
        computation->ReplaceWithNewInstruction(dot, std::move(value)));
    starts[result_outer] = limits[result_outer];
  }
  return absl::OkStatus();
}

// Dots that are looked at together; more are taken by as many at a time, in the
// order of the program: of chains, each look then walks a part of the program.
constexpr int kMaxTogether = 256;
using DotSet = std::bitset<kMaxTogether>;

// The instructions of a computation, operands first.
class PostOrder {
 public:
  explicit PostOrder(HloComputation* computation)
      : order_(computation->MakeInstructionPostOrder()) {
    for (int i = 0; i < order_.size(); ++i) index_[order_[i]] = i;
  }

  int IndexOf(const HloInstruction* inst) const { return index_.at(inst); }

  // For each dot the ones that it depends on.
  std::vector<DotSet> Dependencies(
      absl::Span<HloInstruction* const> dots) const;

 private:
  std::vector<HloInstruction*> order_;
  absl::flat_hash_map<const HloInstruction*, int> index_;
};

std::vector<DotSet> PostOrder::Dependencies(
    absl::Span<HloInstruction* const> dots) const {
  int first = order_.size(), last = 0;
  absl::flat_hash_map<const HloInstruction*, int> dot_numbers;
  for (int i = 0; i < dots.size(); ++i) {
    first = std::min(first, IndexOf(dots[i]));
    last = std::max(last, IndexOf(dots[i]));
    dot_numbers[dots[i]] = i;
  }
  // For each instruction between the first dot and the last, itself included.
  std::vector<DotSet> reached_from(last + 1 - first);
  std::vector<DotSet> result(dots.size());
  for (int i = first; i <= last; ++i) {
    DotSet& set = reached_from[i - first];
    const auto add = [&](absl::Span<HloInstruction* const> before) {
      for (const HloInstruction* one : before) {
        const int index = IndexOf(one);
        if (index >= first) set |= reached_from[index - first];
      }
    };
    add(order_[i]->operands());
    add(order_[i]->control_predecessors());
    const auto number = dot_numbers.find(order_[i]);
    if (number == dot_numbers.end()) continue;
    result[number->second] = set;
    set.set(number->second);
  }
  return result;
}

class Merger {
 public:
  Merger(HloComputation* computation, const DotMergerOptions& options,
         const DotMerger::CanMerge& can_merge)
      : computation_(computation), options_(options), can_merge_(can_merge) {}

  // Merges dots on `shared`, their operand on the side that is not `side`.
  absl::Status MergeDotsOn(HloInstruction* shared, int64_t side);
  bool changed() const { return changed_; }

 private:
  bool AreEnough(int64_t dots) const {
    return dots > 1 && dots >= options_.min_dots;
  }
  bool CanJoin(absl::Span<HloInstruction* const> group,
               const HloInstruction* dot) const {
    return can_merge_ == nullptr ||
           absl::c_all_of(group, [&](const HloInstruction* member) {
             return can_merge_(member, dot);
           });
  }
  bool AnyIsSmall(absl::Span<HloInstruction* const> dots) const {
    return absl::c_any_of(dots, [&](const HloInstruction* dot) {
      return IsSmall(*dot, options_.max_size_to_merge);
    });
  }
  absl::Status MergeIndependent(absl::Span<HloInstruction* const> dots,
                                int64_t side);

  const PostOrder& post_order() {
    if (!post_order_.has_value()) post_order_.emplace(computation_);
    return *post_order_;
  }

  HloComputation* computation_;
  const DotMergerOptions& options_;
  const DotMerger::CanMerge& can_merge_;
  std::optional<PostOrder> post_order_;  // of the graph as it is
  bool changed_ = false;
};

// The first dot takes all that depend on no other of the rest, then the first
// of what is left does, and so on. The dots come in post order: what is taken
// depends on nothing that is left, and merging it makes none of that depend on
// more of the rest than before.
absl::Status Merger::MergeIndependent(absl::Span<HloInstruction* const> dots,
                                      int64_t side) {
  const std::vector<DotSet> dependencies = post_order().Dependencies(dots);
  DotSet rest;
  for (int i = 0; i < dots.size(); ++i) rest.set(i);
  while (AreEnough(rest.count())) {
    std::vector<HloInstruction*> group;
    DotSet members;
    for (int i = 0; i < dots.size(); ++i) {
      if (!rest[i] || (dependencies[i] & rest).any() ||
          !CanJoin(group, dots[i])) {
        continue;
      }
      group.push_back(dots[i]);
      members.set(i);
    }
    rest &= ~members;
    if (!AreEnough(group.size()) || !AnyIsSmall(group)) continue;
    TF_RETURN_IF_ERROR(Merge(group, side));
    changed_ = true;
    post_order_.reset();
  }
  return absl::OkStatus();
}

absl::Status Merger::MergeDotsOn(HloInstruction* shared, int64_t side) {
  absl::flat_hash_map<std::string, int> kinds;
  std::vector<std::vector<HloInstruction*>> dots_of_kind;
  for (HloInstruction* user : shared->users()) {
    if (!IsMergeableDot(*user) || user->operand(1 - side) != shared ||
        user->operand(side) == shared ||
        !(options_.large_with_small ||
          IsSmall(*user, options_.max_size_to_merge))) {
      continue;
    }
    const std::optional<std::string> kind =
        KindOf(*user, side, options_.different_types);
    if (!kind.has_value()) continue;
    const auto [it, is_new] = kinds.try_emplace(*kind, dots_of_kind.size());
    if (is_new) dots_of_kind.emplace_back();
    dots_of_kind[it->second].push_back(user);
  }
  for (std::vector<HloInstruction*>& dots : dots_of_kind) {
    if (!AreEnough(dots.size())) continue;
    absl::c_sort(dots, [&](HloInstruction* a, HloInstruction* b) {
      return post_order().IndexOf(a) < post_order().IndexOf(b);
    });
    for (size_t i = 0; i < dots.size(); i += kMaxTogether) {
      TF_RETURN_IF_ERROR(MergeIndependent(
          absl::MakeSpan(dots).subspan(i, kMaxTogether), side));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> DotMerger::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    Merger merger(computation, options_, can_merge_);
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (computation->IsMarkedAsDead(inst)) continue;
      for (int64_t side = 0; side < kSides; ++side) {
        TF_RETURN_IF_ERROR(merger.MergeDotsOn(inst, side));
      }
    }
    changed |= merger.changed();
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
