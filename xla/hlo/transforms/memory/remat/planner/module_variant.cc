#include "xla/hlo/transforms/memory/remat/planner/module_variant.h"

#include <cstdint>
#include <memory>

#include "xla/hlo/transforms/loops/loop_residuals.h"
#include "xla/hlo/transforms/loops/loop_sinking.h"
#include "xla/hlo/transforms/loops/loose_instructions.h"
#include "xla/hlo/transforms/loops/remat_device.h"
#include "xla/hlo/transforms/loops/rewrite_passes.h"
#include "xla/hlo/transforms/memory/remat/planner/overwritten_values.h"
#include "xla/hlo/transforms/memory/remat/planner/reschedule.h"
#include "xla/status_macros.h"

// Variants are module rewrites that open up memory the solver alone cannot
// reach: values that loops carry from the forward to the backward pass
// (residuals), loop invariants that a loop only passes through, gradients that
// are stacked before they are used, cheap fusions with several results apart,
// masks kept instead of what they are made of, cheap expansions fused into
// their readers, and a fresh schedule. They are applied in this order because
// each may create candidates for the next.

namespace xla::remat_plan {
namespace {

// Each result of a fusion that has one of its own costs another pass over the
// operands, for all of them alike: so many times what is worth other rewrites.
constexpr int64_t kSplitWorth = 8;

// Makes `rewrites` rewrites; returns whether there were any.
absl::StatusOr<bool> RunWithFuel(RewritePass&& pass, int64_t rewrites,
                                 HloModule* module) {
  pass.SetRewriteFuel(std::make_shared<int64_t>(rewrites));
  return pass.Run(module);
}

absl::Status NothingToDo(const char* what) {
  return absl::FailedPreconditionError(what);
}

}  // namespace

std::string ModuleVariant::Name() const {
  std::string name;
  if (drops > 0) name += "residuals+";
  if (sinks > 0) name += "invariants+";
  if (updates) name += "updates+";
  if (split) name += "split+";
  if (narrow) name += "narrow+";
  if (fuse_part > 0) name += "fuse+";
  if (reschedule) name += "reschedule+";
  if (move_out_limit >= 0) name += "move-out+";
  return name + "plan";
}

// Drops all, half or a quarter of the loop residuals, in the order of
// OrderOfDrops; each count is a separate variant because dropped residuals are
// recomputed in every trip.
absl::StatusOr<std::vector<ModuleVariant>> LoopVariants(
    const HloModule& module, const HloCostAnalysis::Options& device) {
  std::vector<ModuleVariant> variants;
  TF_ASSIGN_OR_RETURN(const int64_t least, WorthwhileBytes(module));
  TF_ASSIGN_OR_RETURN(const std::vector<LoopInvariant> invariants,
                      FindLoopInvariants(module, least, device));
  const int sinks = invariants.empty() ? 0 : ModuleVariant::kAll;
  std::unique_ptr<HloModule> copy = module.Clone("");
  TF_RETURN_IF_ERROR(
      RunWithFuel(LoopUnfusing(), ModuleVariant::kAll, copy.get()).status());
  TF_ASSIGN_OR_RETURN(const std::vector<int> order,
                      OrderOfDrops(*copy, device));
  const int drops = static_cast<int>(order.size());
  // They cost nothing, so all variants have them.
  TF_ASSIGN_OR_RETURN(
      const bool updates,
      RunWithFuel(LoopUpdates(), ModuleVariant::kAll, copy.get()));
  for (int count : {drops, drops / 2, drops / 4}) {
    ModuleVariant variant{count, sinks, updates};
    if (count > 0 && (variants.empty() || !(variants.back() == variant))) {
      variants.push_back(variant);
    }
  }
  if (sinks > 0) variants.push_back({0, sinks, updates});
  if (updates) variants.push_back({0, 0, updates});
  return variants;
}

absl::Status PrepareVariant(const ModuleVariant& variant,
                            const HloCostAnalysis::Options& device,
                            const MoveOut& move_out, HloModule* module) {
  if (variant.drops > 0) {
    TF_RETURN_IF_ERROR(
        RunWithFuel(LoopUnfusing(), ModuleVariant::kAll, module).status());
    TF_ASSIGN_OR_RETURN(const bool dropped, RunWithFuel(LoopResiduals(device),
                                                        variant.drops, module));
    if (!dropped) return NothingToDo("no residuals");
  }
  if (variant.sinks > 0) {
    LoopRewriteOptions options;
    options.device = device;
    TF_ASSIGN_OR_RETURN(const bool sunk, RunWithFuel(LoopSinking(options),
                                                     variant.sinks, module));
    // With residuals gone, there may be none left.
    if (!sunk && variant.drops == 0) return NothingToDo("no loop invariants");
  }
  if (variant.updates) {
    TF_ASSIGN_OR_RETURN(
        const bool updated,
        RunWithFuel(LoopUpdates(), ModuleVariant::kAll, module));
    if (!updated && !variant.Recomputes()) return NothingToDo("no updates");
  }
  // Parts of a split fusion read a mask each; kept before, it is one. What the
  // parts no longer read whole can be kept as a mask after.
  bool narrowed = false;
  if (variant.narrow) {
    TF_ASSIGN_OR_RETURN(
        narrowed, RunWithFuel(NarrowValues(), ModuleVariant::kAll, module));
  }
  if (variant.split) {
    LoopRewriteOptions options;
    TF_ASSIGN_OR_RETURN(const int64_t least, WorthwhileBytes(*module));
    options.min_bytes = kSplitWorth * least;
    TF_ASSIGN_OR_RETURN(
        const bool split,
        RunWithFuel(FusionSplitting(options), ModuleVariant::kAll, module));
    if (!split) return NothingToDo("no fusion to split");
  }
  if (variant.narrow && variant.split) {
    TF_ASSIGN_OR_RETURN(
        const bool more,
        RunWithFuel(NarrowValues(), ModuleVariant::kAll, module));
    narrowed |= more;
  }
  if (variant.narrow && !narrowed) return NothingToDo("no values to keep");
  if (variant.fuse_part > 0) {
    ExpansionFusionOptions options;
    options.carried_part = variant.fuse_part;
    TF_ASSIGN_OR_RETURN(
        const bool fused,
        RunWithFuel(ExpansionFusion(options), ModuleVariant::kAll, module));
    if (!fused) return NothingToDo("nothing to fuse");
  }
  if ((variant.Recomputes() || variant.updates) && IsPlacedByBackend(*module)) {
    TF_RETURN_IF_ERROR(FuseLooseInstructions(module).status());
  }
  if (variant.reschedule) TF_RETURN_IF_ERROR(RescheduleForMemory(module));
  if (variant.move_out_limit >= 0) {
    TF_RETURN_IF_ERROR(move_out(variant.move_out_limit, module));
  }
  return absl::OkStatus();
}

}  // namespace xla::remat_plan
