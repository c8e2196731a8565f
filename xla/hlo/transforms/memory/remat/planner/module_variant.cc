#include "xla/hlo/transforms/memory/remat/planner/module_variant.h"

#include <algorithm>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/loops/loop_residuals.h"
#include "xla/hlo/transforms/loops/loop_sinking.h"
#include "xla/hlo/transforms/loops/loop_unfusing.h"
#include "xla/hlo/transforms/memory/remat/planner/expansion_fusion.h"
#include "xla/hlo/transforms/memory/remat/planner/reschedule.h"
#include "xla/status_macros.h"

// Variants are module rewrites that open up memory the solver alone cannot
// reach: values that loops carry from the forward to the backward pass
// (residuals), loop invariants that a loop only passes through, cheap
// expansions fused into their readers, and a fresh schedule. They are applied
// in this order because each may create candidates for the next.

namespace xla::remat_plan {
namespace {

// Values below this part of the module's peak stay where they are.
constexpr int64_t kSmallPeakPart = 2000;

absl::StatusOr<int64_t> LeastBytes(const HloModule& module) {
  TF_ASSIGN_OR_RETURN(RematPeak peak,
                      ComputeRematPeak(module, module.schedule()));
  return peak.bytes / kSmallPeakPart + 1;
}

absl::StatusOr<std::vector<int>> DropOrder(
    const HloModule& module, const HloCostAnalysis::Options& device) {
  const std::vector<LoopResidual> residuals = FindLoopResiduals(module);
  if (residuals.empty()) return std::vector<int>();
  std::unique_ptr<HloCostAnalysis> cost = MakeCostAnalysis(device);
  TF_RETURN_IF_ERROR(module.entry_computation()->Accept(cost.get()));
  return OrderOfDrops(residuals, [&](const HloInstruction& inst) {
    return cost->optimal_seconds(inst);
  });
}

absl::StatusOr<std::vector<LoopInvariant>> Invariants(
    const HloModule& module, const HloCostAnalysis::Options& device) {
  std::unique_ptr<HloCostAnalysis> cost = MakeCostAnalysis(device);
  TF_RETURN_IF_ERROR(module.entry_computation()->Accept(cost.get()));
  TF_ASSIGN_OR_RETURN(int64_t least, LeastBytes(module));
  return FindLoopInvariants(module, least, [&](const HloInstruction& inst) {
    return cost->optimal_seconds(inst);
  });
}

absl::Status NothingToDo(const char* what) {
  return absl::FailedPreconditionError(what);
}

}  // namespace

std::string ModuleVariant::Name() const {
  std::string name;
  if (drops > 0) name += "residuals+";
  if (sinks > 0) name += "invariants+";
  if (fuse_part > 0) name += "fuse+";
  if (reschedule) name += "reschedule+";
  if (move_out_limit >= 0) name += "move-out+";
  return name + "plan";
}

std::unique_ptr<HloCostAnalysis> MakeCostAnalysis(
    HloCostAnalysis::Options device) {
  device.multiply_by_trip_count = true;
  return std::make_unique<HloCostAnalysis>(device);
}

// Drops all, half or a quarter of the loop residuals, in the order of
// OrderOfDrops; each count is a separate variant because dropped residuals are
// recomputed in every trip.
absl::StatusOr<std::vector<ModuleVariant>> LoopVariants(
    const HloModule& module, const HloCostAnalysis::Options& device) {
  std::vector<ModuleVariant> variants;
  TF_ASSIGN_OR_RETURN(std::vector<LoopInvariant> invariants,
                      Invariants(module, device));
  const int sinks = invariants.empty() ? 0 : ModuleVariant::kAll;
  std::unique_ptr<HloModule> copy = module.Clone("");
  TF_RETURN_IF_ERROR(UnfuseStackAccess(copy.get()).status());
  TF_ASSIGN_OR_RETURN(std::vector<int> order, DropOrder(*copy, device));
  const int drops = static_cast<int>(order.size());
  for (int count : {drops, drops / 2, drops / 4}) {
    ModuleVariant variant{count, sinks};
    if (count > 0 && (variants.empty() || !(variants.back() == variant))) {
      variants.push_back(variant);
    }
  }
  if (sinks > 0) variants.push_back({0, sinks});
  return variants;
}

absl::Status PrepareVariant(const ModuleVariant& variant,
                            const HloCostAnalysis::Options& device,
                            const MoveOut& move_out, HloModule* module) {
  if (variant.drops > 0) {
    TF_RETURN_IF_ERROR(UnfuseStackAccess(module).status());
    TF_ASSIGN_OR_RETURN(std::vector<int> order, DropOrder(*module, device));
    order.resize(std::min(order.size(), static_cast<size_t>(variant.drops)));
    if (order.empty()) return NothingToDo("no residuals");
    TF_RETURN_IF_ERROR(DropLoopResiduals(order, module));
  }
  if (variant.sinks > 0) {
    TF_ASSIGN_OR_RETURN(std::vector<LoopInvariant> invariants,
                        Invariants(*module, device));
    invariants.resize(
        std::min(invariants.size(), static_cast<size_t>(variant.sinks)));
    // With residuals gone, there may be none left.
    if (invariants.empty() && variant.drops == 0) {
      return NothingToDo("no loop invariants");
    }
    TF_RETURN_IF_ERROR(SinkLoopInvariants(invariants, module));
  }
  if (variant.fuse_part > 0) {
    TF_ASSIGN_OR_RETURN(int64_t least, LeastBytes(*module));
    TF_ASSIGN_OR_RETURN(int64_t fusions,
                        FuseExpansions(least, variant.fuse_part, module));
    if (fusions == 0) return NothingToDo("nothing to fuse");
  }
  if (variant.reschedule) TF_RETURN_IF_ERROR(RescheduleForMemory(module));
  if (variant.move_out_limit >= 0) {
    TF_RETURN_IF_ERROR(move_out(variant.move_out_limit, module));
  }
  return absl::OkStatus();
}

}  // namespace xla::remat_plan
