#include "xla/hlo/transforms/collectives/collective_combiner.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/analysis/hlo_dfs_reachability.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// What a device sends or gets, whichever is more.
int64_t BytesOf(const HloInstruction& collective) {
  return std::max(ShapeUtil::ByteSizeOf(collective.shape()),
                  ShapeUtil::ByteSizeOf(collective.operand(0)->shape()));
}

bool IsCandidate(const HloInstruction& inst, HloOpcode opcode,
                 int64_t max_bytes) {
  return inst.opcode() == opcode && inst.operand_count() == 1 &&
         inst.shape().IsArray() && inst.shape().is_static() &&
         !inst.HasControlDependencies() && !inst.IsDead() &&
         !Cast<HloCollectiveInstruction>(&inst)->constrain_layout() &&
         BytesOf(inst) <= max_bytes;
}

bool SameDimension(const HloInstruction& a, const HloInstruction& b) {
  switch (a.opcode()) {
    case HloOpcode::kAllGather: {
      const auto& x = *Cast<HloAllGatherInstruction>(&a);
      const auto& y = *Cast<HloAllGatherInstruction>(&b);
      return x.all_gather_dimension() == y.all_gather_dimension() &&
             x.use_global_device_ids() == y.use_global_device_ids();
    }
    case HloOpcode::kReduceScatter: {
      const auto& x = *Cast<HloReduceScatterInstruction>(&a);
      const auto& y = *Cast<HloReduceScatterInstruction>(&b);
      return x.scatter_dimension() == y.scatter_dimension() &&
             x.use_global_device_ids() == y.use_global_device_ids() &&
             *x.to_apply() == *y.to_apply();
    }
    default: {  // Cast() fails for what is not combined.
      const auto& x = *Cast<HloAllReduceInstruction>(&a);
      const auto& y = *Cast<HloAllReduceInstruction>(&b);
      return x.use_global_device_ids() == y.use_global_device_ids() &&
             *x.to_apply() == *y.to_apply();
    }
  }
}

bool SameSharding(const HloInstruction& a, const HloInstruction& b) {
  if (a.has_sharding() != b.has_sharding()) return false;
  return !a.has_sharding() || a.sharding() == b.sharding();
}

bool AreAlike(const HloInstruction& a, const HloInstruction& b,
              bool different_types) {
  return (a.shape().element_type() == b.shape().element_type() ||
          different_types) &&
         SameSharding(a, b) &&
         a.channel_id().has_value() == b.channel_id().has_value() &&
         *Cast<HloCollectiveInstruction>(&a)->device_list() ==
             *Cast<HloCollectiveInstruction>(&b)->device_list() &&
         SameDimension(a, b);
}

absl::Status Combine(const std::vector<HloInstruction*>& collectives) {
  HloInstruction* first = collectives[0];
  HloComputation* computation = first->parent();
  std::vector<HloInstruction*> operands;
  std::vector<Shape> shapes;
  for (HloInstruction* collective : collectives) {
    operands.push_back(collective->mutable_operand(0));
    shapes.push_back(collective->shape());
  }
  HloInstruction* combined = computation->AddInstruction(
      first->CloneWithNewOperands(ShapeUtil::MakeTupleShape(shapes), operands));
  if (first->has_sharding()) {
    combined->set_sharding(HloSharding::Tuple(
        combined->shape(),
        std::vector<HloSharding>(collectives.size(), first->sharding())));
  }
  for (size_t i = 0; i < collectives.size(); ++i) {
    TF_RETURN_IF_ERROR(computation->ReplaceInstruction(
        collectives[i],
        computation->AddInstruction(HloInstruction::CreateGetTupleElement(
            combined, static_cast<int64_t>(i)))));
  }
  return absl::OkStatus();
}

// Takes the first candidate and all that go with it from `candidates`.
std::vector<HloInstruction*> TakeSet(const CollectiveCombinerOptions& options,
                                     bool different_types,
                                     const HloDfsReachability& reachability,
                                     std::vector<HloInstruction*>* candidates) {
  std::vector<HloInstruction*> set, rest;
  int64_t bytes = 0;
  for (HloInstruction* candidate : *candidates) {
    const bool fits =
        set.empty() ||
        (static_cast<int64_t>(set.size()) < options.combine_threshold_count &&
         bytes + BytesOf(*candidate) <= options.combine_threshold_in_bytes &&
         AreAlike(*set[0], *candidate, different_types) &&
         absl::c_none_of(set, [&](const HloInstruction* other) {
           return reachability.IsConnected(other, candidate);
         }));
    (fits ? set : rest).push_back(candidate);
    if (fits) bytes += BytesOf(*candidate);
  }
  *candidates = rest;
  return set;
}

}  // namespace

absl::StatusOr<bool> CollectiveCombiner::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    if (computation->IsAsyncComputation()) continue;
    if (!options_.combine_while_loops &&
        !computation->caller_instructions(HloOpcode::kWhile).empty()) {
      continue;
    }
    std::vector<HloInstruction*> candidates;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (IsCandidate(*inst, opcode_, options_.combine_threshold_in_bytes)) {
        candidates.push_back(inst);
      }
    }
    // Reachability in the current graph; reset whenever the graph changes.
    std::unique_ptr<HloDfsReachability> reachability;
    while (candidates.size() > 1) {
      if (reachability == nullptr) {
        reachability = HloDfsReachability::Build(computation);
      }
      const std::vector<HloInstruction*> set =
          TakeSet(options_, different_types_, *reachability, &candidates);
      if (set.size() == 1) continue;
      TF_RETURN_IF_ERROR(Combine(set));
      reachability = nullptr;
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
