#include "xla/hlo/transforms/operations/dot_merger.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/hlo_dfs_reachability.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
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

bool IsCandidate(const HloInstruction& dot, int64_t max_bytes) {
  if (dot.opcode() != HloOpcode::kDot || dot.operand_count() != 2 ||
      dot.HasControlDependencies() || dot.shape().is_dynamic()) {
    return false;
  }
  int64_t bytes = ShapeUtil::ByteSizeOf(dot.shape());
  for (const HloInstruction* operand : dot.operands()) {
    if (operand->shape().is_dynamic()) return false;
    bytes += ShapeUtil::ByteSizeOf(operand->shape());
  }
  return bytes <= max_bytes;
}

// Whether `b` can be merged with `a`, whose operand on the other side it has.
bool AreAlike(const HloInstruction& a, const HloInstruction& b, int64_t side) {
  if (a.shape().element_type() != b.shape().element_type() ||
      a.operand(side)->shape().element_type() !=
          b.operand(side)->shape().element_type() ||
      a.dot_dimension_numbers().SerializeAsString() !=
          b.dot_dimension_numbers().SerializeAsString() ||
      a.precision_config().SerializeAsString() !=
          b.precision_config().SerializeAsString() ||
      !LayoutUtil::Equal(a.shape().layout(), b.shape().layout()) ||
      !LayoutUtil::Equal(a.operand(side)->shape().layout(),
                         b.operand(side)->shape().layout()) ||
      a.operand(side)->shape().dimensions_size() !=
          b.operand(side)->shape().dimensions_size()) {
    return false;
  }
  const std::optional<int64_t> outer = OuterDimension(a, side);
  if (!outer.has_value()) return false;
  for (int64_t d = 0; d < a.operand(side)->shape().dimensions_size(); ++d) {
    if (d != *outer && a.operand(side)->shape().dimensions(d) !=
                           b.operand(side)->shape().dimensions(d)) {
      return false;
    }
  }
  return true;
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
  HloInstruction* merged = computation->AddInstruction(
      first->CloneWithNewOperands(result, {operands[0], operands[1]}));
  std::vector<int64_t> starts(result.dimensions_size(), 0);
  for (HloInstruction* dot : dots) {
    std::vector<int64_t> limits(result.dimensions().begin(),
                                result.dimensions().end());
    limits[result_outer] =
        starts[result_outer] + dot->shape().dimensions(result_outer);
    TF_RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
        dot,
        HloInstruction::CreateSlice(dot->shape(), merged, starts, limits,
                                    std::vector<int64_t>(limits.size(), 1))));
    starts[result_outer] = limits[result_outer];
  }
  return absl::OkStatus();
}

// Merges dots on `shared`, their operand on the side that is not `side`.
absl::StatusOr<bool> MergeDotsOn(HloInstruction* shared, int64_t side,
                                 const DotMergerOptions& options) {
  std::vector<HloInstruction*> candidates;
  for (HloInstruction* user : shared->users()) {
    if (IsCandidate(*user, options.max_size_to_merge) &&
        user->operand(1 - side) == shared && user->operand(side) != shared) {
      candidates.push_back(user);
    }
  }
  const auto enough = [&](const std::vector<HloInstruction*>& dots) {
    return static_cast<int64_t>(dots.size()) >= options.min_dots;
  };
  bool changed = false;
  // Reachability in the current graph; reset whenever the graph changes.
  std::unique_ptr<HloDfsReachability> reachability;
  while (candidates.size() > 1 && enough(candidates)) {
    if (reachability == nullptr) {
      reachability = HloDfsReachability::Build(shared->parent());
    }
    std::vector<HloInstruction*> dots, rest;
    for (HloInstruction* dot : candidates) {
      const bool fits =
          dots.empty()
              ? OuterDimension(*dot, side).has_value()
              : AreAlike(*dots[0], *dot, side) &&
                    absl::c_none_of(dots, [&](const HloInstruction* other) {
                      return reachability->IsConnected(dot, other);
                    });
      (fits ? dots : rest).push_back(dot);
    }
    if (dots.empty()) break;
    if (dots.size() > 1 && enough(dots)) {
      TF_RETURN_IF_ERROR(Merge(dots, side));
      reachability = nullptr;
      changed = true;
    }
    candidates = rest;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> DotMerger::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (computation->IsMarkedAsDead(inst)) continue;
      for (int64_t side = 0; side < kSides; ++side) {
        TF_ASSIGN_OR_RETURN(bool merged, MergeDotsOn(inst, side, options_));
        changed |= merged;
      }
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
