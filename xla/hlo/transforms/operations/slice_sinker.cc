#include "xla/hlo/transforms/operations/slice_sinker.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/operations/elementwise_moves.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Whether two slices cut the same out of values of the same dimensions.
bool CutAlike(const HloInstruction& a, const HloInstruction& b) {
  return ShapeUtil::SameDimensions(a.operand(0)->shape(),
                                   b.operand(0)->shape()) &&
         a.slice_starts() == b.slice_starts() &&
         a.slice_limits() == b.slice_limits() &&
         a.slice_strides() == b.slice_strides();
}

// An elementwise instruction whose operands are equal slices.
bool IsOnSlices(const HloInstruction& inst) {
  if (!IsMovableElementwise(inst)) return false;
  return absl::c_all_of(inst.operands(), [&](const HloInstruction* operand) {
    return operand->opcode() == HloOpcode::kSlice && IsMovableArray(*operand) &&
           operand->operand(0)->shape().is_static() &&
           CutAlike(*operand, *inst.operand(0));
  });
}

bool SameSources(const HloInstruction& a, const HloInstruction& b) {
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    if (a.operand(i)->operand(0) != b.operand(i)->operand(0)) return false;
  }
  return true;
}

// Whether both do the same to slices of the same values.
bool DoTheSame(const HloInstruction& a, const HloInstruction& b) {
  return a.opcode() == b.opcode() && a.operand_count() == b.operand_count() &&
         a.shape().element_type() == b.shape().element_type() &&
         LayoutUtil::Equal(a.shape().layout(), b.shape().layout()) &&
         SameSources(a, b) && a.SameOp(b);
}

using Peers = std::vector<HloInstruction*>;

// What does the same, in the order of its first instructions.
std::vector<Peers> GroupsOf(absl::Span<HloInstruction* const> candidates) {
  std::vector<Peers> groups;
  absl::flat_hash_map<std::pair<HloOpcode, std::vector<const HloInstruction*>>,
                      std::vector<int64_t>>
      groups_on;
  for (HloInstruction* inst : candidates) {
    std::vector<const HloInstruction*> sources;
    for (const HloInstruction* operand : inst->operands()) {
      sources.push_back(operand->operand(0));
    }
    std::vector<int64_t>& same = groups_on[{inst->opcode(), sources}];
    auto it = absl::c_find_if(same, [&](int64_t group) {
      return DoTheSame(*groups[group][0], *inst);
    });
    if (it == same.end()) {
      same.push_back(groups.size());
      groups.push_back({inst});
    } else {
      groups[*it].push_back(inst);
    }
  }
  return groups;
}

// Together the peers compute at least as many elements as the whole has, so
// that computing the whole once is not more work; a single instruction on a
// slice, by contrast, would do work that nobody reads.
bool MergingPays(const Peers& group) {
  if (group.size() < 2) return false;
  int64_t elements = 0;
  for (const HloInstruction* inst : group) {
    elements += ShapeUtil::ElementsIn(inst->shape());
  }
  return elements >=
         ShapeUtil::ElementsIn(group[0]->operand(0)->operand(0)->shape());
}

// Returns the slices of the result.
absl::StatusOr<Peers> MergePeers(const Peers& group) {
  HloInstruction* first = group[0];
  HloComputation* computation = first->parent();
  std::vector<HloInstruction*> sources;
  for (HloInstruction* operand : first->operands()) {
    sources.push_back(operand->mutable_operand(0));
  }
  const Shape shape = InDimensionsOf(first->shape(), sources[0]->shape());
  HloInstruction* whole =
      computation->AddInstruction(first->CloneWithNewOperands(shape, sources));
  Peers slices;
  for (HloInstruction* inst : group) {
    const HloInstruction* cut = inst->operand(0);
    slices.push_back(computation->AddInstruction(HloInstruction::CreateSlice(
        inst->shape(), whole, cut->slice_starts(), cut->slice_limits(),
        cut->slice_strides())));
    slices.back()->set_metadata(cut->metadata());
    TF_RETURN_IF_ERROR(computation->ReplaceInstruction(inst, slices.back()));
  }
  return slices;
}

absl::StatusOr<bool> SinkSlices(HloComputation* computation) {
  Peers candidates;
  for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
    if (IsOnSlices(*inst)) candidates.push_back(inst);
  }
  bool changed = false;
  while (!candidates.empty()) {
    // All that reads slices of one value does so from the same round on.
    Peers next;
    absl::flat_hash_set<const HloInstruction*> found;
    for (const Peers& group : GroupsOf(candidates)) {
      if (!MergingPays(group)) continue;
      TF_ASSIGN_OR_RETURN(const Peers slices, MergePeers(group));
      changed = true;
      for (const HloInstruction* slice : slices) {
        for (HloInstruction* user : slice->users()) {
          if (IsOnSlices(*user) && found.insert(user).second) {
            next.push_back(user);
          }
        }
      }
    }
    candidates = std::move(next);
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> SliceSinker::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    TF_ASSIGN_OR_RETURN(bool sunk, SinkSlices(computation));
    changed |= sunk;
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
