#include "xla/backends/gpu/transforms/mof/multi_output_fusion.h"

#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/fusion/adopt_computations.h"
#include "xla/backends/gpu/fusion/scheduled_peak.h"
#include "xla/backends/gpu/fusion/wide_root.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/transforms/mof/mof_narrow_outputs.h"
#include "xla/backends/gpu/transforms/mof/mof_order.h"
#include "xla/backends/gpu/transforms/mof/mof_outputs.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/status_macros.h"

namespace xla::gpu {

bool AbslParseFlag(absl::string_view text, MofOrder* order,
                   std::string* error) {
  for (MofOrder candidate :
       {MofOrder::kFirstCome, MofOrder::kSavings, MofOrder::kBest}) {
    if (text != AbslUnparseFlag(candidate)) continue;
    *order = candidate;
    return true;
  }
  *error = "expected first-come, savings or best";
  return false;
}

std::string AbslUnparseFlag(MofOrder order) {
  switch (order) {
    case MofOrder::kFirstCome:
      return "first-come";
    case MofOrder::kSavings:
      return "savings";
    case MofOrder::kBest:
      return "best";
  }
  return "";
}

OperationPrices MultiOutputFusion::Prices() const {
  return options_.xla_prices ? OperationPrices::kXla : OperationPrices::kDevice;
}

absl::Status MultiOutputFusion::Fuse(
    HloModule* module, const se::DeviceDescription& device, MofOrder order,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    const absl::flat_hash_set<std::string>& banned,
    FusionExplanation* explanation, std::vector<FusionGroup>* groups,
    Figures* figures) const {
  const GpuAliasInfo default_alias_info(device);
  GpuPerformanceModel model(device, options_.kernels_for, Prices());
  FusionInfoCache cache(device);
  MofContext context;
  context.device = &device;
  context.alias_info =
      alias_info_ != nullptr ? alias_info_ : &default_alias_info;
  context.model = &model;
  context.cache = &cache;
  context.rows_join_tiles = options_.rows_join_tiles;
  context.kernels_for = options_.kernels_for;
  context.banned = &banned;
  context.explanation = explanation;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    WideRoot root(computation);
    TF_RETURN_IF_ERROR(root.Split());
    MofKernels kernels(computation, context);
    figures->fusions += order == MofOrder::kFirstCome
                            ? FuseFirstCome(&kernels)
                            : FuseBySavings(&kernels, options_.memory_weight);
    for (FusionGroup& group : kernels.Groups()) {
      TF_ASSIGN_OR_RETURN(int64_t removed,
                          RemoveDuplicateOutputs(group.fusion));
      figures->duplicate_outputs += removed;
      if (removed > 0) {
        model.Invalidate(*group.fusion);
        cache.Invalidate(group.fusion);
      }
      if (groups != nullptr) groups->push_back(std::move(group));
    }
    if (options_.narrow_outputs) {
      TF_ASSIGN_OR_RETURN(int64_t added,
                          AddNarrowOutputs(computation, context, groups));
      figures->narrow_outputs += added;
    }
    TF_RETURN_IF_ERROR(root.Join());
  }
  return absl::OkStatus();
}

// Neither greedy order is always better: each merge changes which others are
// still legal. Both are tried on clones, and the model's time of all kernels
// decides; on a tie the one tried first.
absl::StatusOr<MultiOutputFusion::Tried> MultiOutputFusion::TryBothOrders(
    const HloModule& module, const se::DeviceDescription& device,
    const absl::flat_hash_set<absl::string_view>& execution_threads) const {
  Tried best;
  absl::Duration best_time = absl::InfiniteDuration();
  for (MofOrder order : {MofOrder::kSavings, MofOrder::kFirstCome}) {
    Tried tried;
    tried.order = order;
    tried.module = module.Clone(/*suffix=*/"");
    TF_RETURN_IF_ERROR(Fuse(
        tried.module.get(), device, order, execution_threads, /*banned=*/{},
        /*explanation=*/nullptr, &tried.groups, &tried.figures));
    GpuPerformanceModel model(device, options_.kernels_for, Prices());
    absl::Duration time;
    for (const HloComputation* computation :
         GetFusibleComputations(*tried.module, execution_threads)) {
      for (const HloInstruction* kernel : computation->instructions()) {
        time += model.EstimateRunTime(*kernel).time;
      }
    }
    if (time < best_time) {
      best = std::move(tried);
      best_time = time;
    }
  }
  return best;
}

absl::StatusOr<FusionMemoryPlan> MultiOutputFusion::KeepToLimit(
    HloModule* module, const se::DeviceDescription& device,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    Tried* tried) {
  TF_ASSIGN_OR_RETURN(
      FusionMemoryPlan plan,
      PlanForMemoryLimit(
          module, options_.memory_limit,
          ScheduledPeakFunction(options_.schedule, options_.schedule_effort),
          [&](HloModule* copy, const absl::flat_hash_set<std::string>& banned,
              std::vector<FusionGroup>* groups) -> absl::Status {
            if (banned.empty() && tried->module != nullptr) {
              *groups = std::move(tried->groups);
              TF_RETURN_IF_ERROR(AdoptComputations(tried->module.get(), copy));
              tried->module = nullptr;
              return absl::OkStatus();
            }
            tried->figures = {};
            return Fuse(copy, device, tried->order, execution_threads, banned,
                        /*explanation=*/nullptr, groups, &tried->figures);
          }));
  SetKVMetric(module, "undone", static_cast<int64_t>(plan.undone.size()));
  SetKVMetric(module, "unfused_peak_bytes", plan.unfused_peak_bytes);
  SetKVMetric(module, "fused_peak_bytes", plan.fused_peak_bytes);
  return plan;
}

absl::StatusOr<bool> MultiOutputFusion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_ASSIGN_OR_RETURN(const se::DeviceDescription device,
                      GivenOrLoadedGpuDevice(device_info_, options_.device));
  if (!std::isfinite(options_.memory_weight) || options_.memory_weight < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory-weight=", options_.memory_weight,
                     " is not a number of at least 0"));
  }
  Tried tried;
  tried.order = options_.order;
  if (options_.order == MofOrder::kBest) {
    TF_ASSIGN_OR_RETURN(tried,
                        TryBothOrders(*module, device, execution_threads));
  }
  FusionMemoryPlan plan;
  if (!options_.memory_limit.empty()) {
    TF_ASSIGN_OR_RETURN(plan,
                        KeepToLimit(module, device, execution_threads, &tried));
    tried.module = std::move(plan.fused);
  }
  if (tried.module == nullptr || explanation_ != nullptr) {
    if (explanation_ != nullptr) ExplainUndone(plan, explanation_);
    tried.module = nullptr;
    tried.figures = {};
    TF_RETURN_IF_ERROR(Fuse(module, device, tried.order, execution_threads,
                            plan.banned, explanation_, /*groups=*/nullptr,
                            &tried.figures));
  }
  const Figures& figures = tried.figures;
  SetKVMetric(module, "fusions", figures.fusions);
  SetKVMetric(module, "duplicate_outputs", figures.duplicate_outputs);
  SetKVMetric(module, "narrow_outputs", figures.narrow_outputs);
  const bool changed = figures.fusions > 0 || figures.narrow_outputs > 0;
  if (changed && tried.module != nullptr) {
    TF_RETURN_IF_ERROR(AdoptComputations(tried.module.get(), module));
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu
