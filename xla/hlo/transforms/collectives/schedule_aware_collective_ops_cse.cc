#include "xla/hlo/transforms/collectives/schedule_aware_collective_ops_cse.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/collectives/unit_reshape.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Common subexpression elimination for collectives, limited to pairs that are
// close to each other: keeping the result of an all-gather alive between
// distant uses may cost more memory than gathering again is worth. Distance is
// measured in heights (the longest path to an instruction without users), as a
// stand-in for the schedule that does not exist yet. Candidates are visited
// from high to low, so that the one that stays cannot depend on the one that
// goes.

namespace xla {
namespace {

using Heights = absl::flat_hash_map<const HloInstruction*, int64_t>;

// Longest paths to instructions without users.
Heights HeightsOf(const std::vector<HloInstruction*>& post_order) {
  Heights heights;
  for (auto it = post_order.rbegin(); it != post_order.rend(); ++it) {
    int64_t& height = heights[*it];
    for (const HloInstruction* user : (*it)->users()) {
      height = std::max(height, heights.at(user) + 1);
    }
  }
  return heights;
}

bool IsScalarConstantBroadcast(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kBroadcast &&
         inst.operand(0)->opcode() == HloOpcode::kConstant;
}

// An update of a broadcast constant: a shard in its place.
bool IsPlacedShard(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kDynamicUpdateSlice &&
         IsScalarConstantBroadcast(*inst.operand(0));
}

// The same value, as far as operands of candidates show it.
bool EqualValues(const HloInstruction* a, const HloInstruction* b) {
  if (a == b) return true;
  if (IsPlacedShard(*a) && IsPlacedShard(*b)) {
    return a->Identical(*b, EqualValues);
  }
  if (IsScalarConstantBroadcast(*a) && IsScalarConstantBroadcast(*b)) {
    return a->Identical(*b, EqualValues);
  }
  return a->opcode() == HloOpcode::kConstant && a->Identical(*b);
}

class Finder {
 public:
  explicit Finder(bool for_replicas) : for_replicas_(for_replicas) {}

  bool IsCandidate(const HloInstruction& inst) const {
    if (inst.HasControlDependencies() || inst.operand_count() != 1 ||
        !inst.shape().IsArray()) {
      return false;
    }
    switch (inst.opcode()) {
      case HloOpcode::kAllGather:
        break;
      case HloOpcode::kAllReduce:
        if (!IsPlacedShard(*inst.operand(0))) return false;
        break;
      case HloOpcode::kCollectivePermute:
        return HasTheRightChannel(inst);
      default:  // Stays.
        return false;
    }
    return HasTheRightChannel(inst) &&
           !Cast<HloCollectiveInstruction>(&inst)->constrain_layout();
  }

  // Whether `later` is `earlier`, but for dimensions of size 1.
  bool Equal(HloInstruction* earlier, HloInstruction* later) const {
    if (later->IdenticalIgnoringChannelIdValues(*earlier, EqualValues)) {
      return true;
    }
    HloInstruction* a = earlier->mutable_operand(0);
    HloInstruction* b = later->mutable_operand(0);
    if (earlier->opcode() == HloOpcode::kAllReduce ||
        SkipUnitReshapes(a) != SkipUnitReshapes(b)) {
      return false;
    }
    if (earlier->opcode() == HloOpcode::kCollectivePermute) {
      return earlier->source_target_pairs() == later->source_target_pairs();
    }
    const auto* ga = Cast<HloAllGatherInstruction>(earlier);
    const auto* gb = Cast<HloAllGatherInstruction>(later);
    return DimensionAcrossUnitReshape(a->shape(), b->shape(),
                                      ga->all_gather_dimension()) ==
               gb->all_gather_dimension() &&
           ga->use_global_device_ids() == gb->use_global_device_ids() &&
           *ga->device_list() == *gb->device_list();
  }

 private:
  bool HasTheRightChannel(const HloInstruction& inst) const {
    return inst.channel_id().has_value() != for_replicas_;
  }

  bool for_replicas_;
};

// A candidate that stays, and the height of its lowest user.
struct Kept {
  HloInstruction* inst;
  int64_t lowest_user;
};

int64_t LowestUser(const HloInstruction& inst, const Heights& heights) {
  int64_t lowest = std::numeric_limits<int64_t>::max();
  for (const HloInstruction* user : inst.users()) {
    auto it = heights.find(user);
    if (it != heights.end()) lowest = std::min(lowest, it->second);
  }
  return lowest;
}

absl::Status Replace(HloInstruction* later, HloInstruction* earlier) {
  HloComputation* computation = later->parent();
  if (!ShapeUtil::Equal(later->shape(), earlier->shape())) {
    earlier = computation->AddInstruction(
        HloInstruction::CreateReshape(later->shape(), earlier));
  }
  TF_RETURN_IF_ERROR(later->ReplaceAllUsesWith(earlier));
  return computation->RemoveInstructionAndUnusedOperands(later);
}

absl::StatusOr<bool> RunOnComputation(
    HloComputation* computation,
    const ScheduleAwareCollectiveOpsCseOptions& options) {
  const Finder finder(options.for_replicas);
  const std::vector<HloInstruction*> order =
      computation->MakeInstructionPostOrder();
  const Heights heights = HeightsOf(order);
  std::map<HloOpcode, std::vector<Kept>> kept;
  std::vector<HloInstruction*> candidates;
  for (HloInstruction* inst : order) {
    if (finder.IsCandidate(*inst)) candidates.push_back(inst);
  }
  // The higher one runs first; none depends on a lower one.
  absl::c_stable_sort(candidates, [&](HloInstruction* a, HloInstruction* b) {
    return heights.at(a) > heights.at(b);
  });
  bool changed = false;
  for (HloInstruction* later : candidates) {
    const int64_t height = heights.at(later);
    const int64_t lowest_user = LowestUser(*later, heights);
    bool replaced = false;
    for (Kept& earlier : kept[later->opcode()]) {
      const bool near =
          later->opcode() == HloOpcode::kCollectivePermute ||
          earlier.lowest_user - height <= options.distance_threshold;
      if (!near || !finder.Equal(earlier.inst, later)) continue;
      TF_RETURN_IF_ERROR(Replace(later, earlier.inst));
      earlier.lowest_user = std::min(earlier.lowest_user, lowest_user);
      replaced = changed = true;
      break;
    }
    if (!replaced) kept[later->opcode()].push_back({later, lowest_user});
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> ScheduleAwareCollectiveOpsCSE::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    TF_ASSIGN_OR_RETURN(bool computation_changed,
                        RunOnComputation(computation, options_));
    changed |= computation_changed;
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
