#include "xla/hlo/transforms/memory/remat_plan/remat_planner.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "xla/hlo/transforms/memory/remat_plan/loop_residuals.h"
#include "xla/hlo/transforms/memory/remat_plan/loop_sinking.h"
#include "xla/hlo/transforms/memory/remat_plan/nested_plan.h"
#include "xla/hlo/transforms/memory/remat_plan/reschedule.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_accounting.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using remat_plan::NestedPlanner;

std::unique_ptr<HloCostAnalysis> MakeCostAnalysis(
    HloCostAnalysis::Options device) {
  device.multiply_by_trip_count = true;
  return std::make_unique<HloCostAnalysis>(device);
}

int64_t InstructionCount(const HloModule& module) {
  int64_t count = 0;
  for (const HloComputation* computation : module.computations()) {
    count += computation->instruction_count();
  }
  return count;
}

// A way to rewrite a module: first this, then programs of its computations, by
// their place in ComputationsThatRun().
struct Recipe {
  std::string method;
  std::function<absl::Status(HloModule*)> prepare;
  std::vector<std::vector<remat_plan::NodeId>> programs;
};

struct Outcome {
  int64_t peak_bytes = 0;
  double seconds = 0;
};

constexpr int kAll = 1 << 20;
// Values below this part of the module's peak stay where they are.
constexpr int64_t kSmallPart = 2000;

absl::StatusOr<std::vector<int>> DropOrder(
    const HloModule& module, const HloCostAnalysis::Options& device) {
  const std::vector<remat_plan::LoopResidual> residuals =
      remat_plan::FindLoopResiduals(module);
  if (residuals.empty()) return std::vector<int>();
  std::unique_ptr<HloCostAnalysis> cost = MakeCostAnalysis(device);
  TF_RETURN_IF_ERROR(module.entry_computation()->Accept(cost.get()));
  return remat_plan::OrderOfDrops(residuals, [&](const HloInstruction& inst) {
    return cost->optimal_seconds(inst);
  });
}

absl::StatusOr<std::vector<remat_plan::LoopInvariant>> Invariants(
    const HloModule& module, const HloCostAnalysis::Options& device) {
  std::unique_ptr<HloCostAnalysis> cost = MakeCostAnalysis(device);
  TF_RETURN_IF_ERROR(module.entry_computation()->Accept(cost.get()));
  TF_ASSIGN_OR_RETURN(RematPeak peak,
                      ComputeRematPeak(module, module.schedule()));
  return remat_plan::FindLoopInvariants(
      module, peak.bytes / kSmallPart + 1,
      [&](const HloInstruction& inst) { return cost->optimal_seconds(inst); });
}

// Rewrites loops: drops the first `drops` stacked residuals, and sinks the
// first `sinks` of the invariants that are then left. `reschedule`: and looks
// for a better order.
absl::Status RewriteLoops(int drops, int sinks, bool reschedule,
                          const HloCostAnalysis::Options& device,
                          HloModule* module) {
  if (drops > 0) {
    TF_ASSIGN_OR_RETURN(std::vector<int> order, DropOrder(*module, device));
    order.resize(std::min(order.size(), static_cast<size_t>(drops)));
    TF_RETURN_IF_ERROR(remat_plan::DropLoopResiduals(order, module));
  }
  if (sinks > 0) {
    TF_ASSIGN_OR_RETURN(std::vector<remat_plan::LoopInvariant> invariants,
                        Invariants(*module, device));
    invariants.resize(std::min(invariants.size(), static_cast<size_t>(sinks)));
    TF_RETURN_IF_ERROR(remat_plan::SinkLoopInvariants(invariants, module));
  }
  if (reschedule) {
    TF_RETURN_IF_ERROR(remat_plan::RescheduleForMemory(module));
  }
  return absl::OkStatus();
}

class Planner {
 public:
  Planner(HloModule* module, const RematPlanOptions& options)
      : module_(module), options_(options) {}

  absl::StatusOr<RematPlanResult> Run() {
    if (options_.limit_bytes < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a limit of ", options_.limit_bytes, " bytes is no limit"));
    }
    if (!module_->has_schedule()) {
      return absl::FailedPreconditionError(
          absl::StrCat("module ", module_->name(), " has no schedule"));
    }
    TF_RETURN_IF_ERROR(module_->schedule().Verify());
    TF_RETURN_IF_ERROR(DescribeBefore());
    if (result_.peak_before_bytes > options_.limit_bytes) {
      TF_RETURN_IF_ERROR(TryAll());
    }
    TF_RETURN_IF_ERROR(DescribeAfter());
    return std::move(result_);
  }

 private:
  absl::StatusOr<int64_t> Peak(const HloModule& module) const {
    if (options_.peak) return options_.peak(module);
    TF_ASSIGN_OR_RETURN(RematPeak peak,
                        ComputeRematPeak(module, module.schedule()));
    return peak.bytes;
  }

  absl::Status DescribeBefore() {
    TF_ASSIGN_OR_RETURN(result_.peak_before_bytes, Peak(*module_));
    TF_ASSIGN_OR_RETURN(result_.work_before,
                        ComputeRematWork(*module_, options_.device));
    result_.instructions_before = InstructionCount(*module_);
    result_.method = "none";
    std::unique_ptr<HloCostAnalysis> cost = MakeCostAnalysis(options_.device);
    TF_RETURN_IF_ERROR(module_->entry_computation()->Accept(cost.get()));
    NestedPlanner planner(*module_, *cost, options_.effort);
    result_.lower_bound_bytes =
        planner.LowerBound() + RematOutputBytes(*module_);
    return absl::OkStatus();
  }

  absl::Status DescribeAfter() {
    TF_ASSIGN_OR_RETURN(result_.peak_after_bytes, Peak(*module_));
    TF_ASSIGN_OR_RETURN(result_.work_after,
                        ComputeRematWork(*module_, options_.device));
    result_.instructions_after = InstructionCount(*module_);
    result_.met = result_.peak_after_bytes <= options_.limit_bytes;
    if (!result_.met) {
      TF_ASSIGN_OR_RETURN(result_.binding, FindBindingBuffers(*module_));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Outcome> OutcomeOf(const HloModule& module) const {
    TF_ASSIGN_OR_RETURN(int64_t peak, Peak(module));
    TF_ASSIGN_OR_RETURN(RematWork work,
                        ComputeRematWork(module, options_.device));
    return Outcome{peak, work.seconds};
  }

  bool Better(const Outcome& a, const Outcome& b) const {
    const bool a_met = a.peak_bytes <= options_.limit_bytes;
    const bool b_met = b.peak_bytes <= options_.limit_bytes;
    if (a_met != b_met) return a_met;
    if (!a_met && a.peak_bytes != b.peak_bytes) {
      return a.peak_bytes < b.peak_bytes;
    }
    return a.seconds < b.seconds;
  }

  // Applies programs to a module that is prepared.
  absl::Status ApplyPrograms(
      const std::vector<std::vector<remat_plan::NodeId>>& programs,
      HloModule* module) const {
    std::unique_ptr<HloCostAnalysis> cost = MakeCostAnalysis(options_.device);
    NestedPlanner planner(*module, *cost, options_.effort);
    NestedPlanner::Plan plan;
    const std::vector<HloComputation*> computations =
        ComputationsThatRun(*module);
    for (size_t i = 0; i < programs.size(); ++i) {
      if (!programs[i].empty()) plan.programs[computations[i]] = programs[i];
    }
    remat_plan::ApplyOptions apply;
    apply.optimization_barriers = options_.optimization_barriers;
    return planner.Apply(plan, apply, module);
  }

  // Finds programs for a prepared module, which stays as it is, and tries them
  // out. The abstract problem leaves small tables out, and may count in another
  // way than `peak` does: aims lower by what is too much, a few times.
  absl::StatusOr<Outcome> FindPrograms(const HloModule& module,
                                       Recipe* recipe) const {
    recipe->programs.clear();
    TF_ASSIGN_OR_RETURN(Outcome best, OutcomeOf(module));
    if (best.peak_bytes <= options_.limit_bytes) return best;
    std::unique_ptr<HloCostAnalysis> cost = MakeCostAnalysis(options_.device);
    TF_RETURN_IF_ERROR(module.entry_computation()->Accept(cost.get()));
    NestedPlanner planner(module, *cost, options_.effort);
    TF_ASSIGN_OR_RETURN(NestedPlanner::Plan none,
                        planner.PlanEntry(std::numeric_limits<int64_t>::max()));
    int64_t aim = options_.limit_bytes - (best.peak_bytes - none.peak_bytes);
    for (int attempt = 0; attempt < kAims; ++attempt) {
      aim = std::max<int64_t>(aim, 0);
      TF_ASSIGN_OR_RETURN(NestedPlanner::Plan plan, planner.PlanEntry(aim));
      std::vector<std::vector<remat_plan::NodeId>> programs;
      for (const HloComputation* computation : ComputationsThatRun(module)) {
        auto it = plan.programs.find(computation);
        programs.push_back(it == plan.programs.end()
                               ? std::vector<remat_plan::NodeId>()
                               : it->second);
      }
      std::unique_ptr<HloModule> copy = module.Clone("");
      TF_RETURN_IF_ERROR(ApplyPrograms(programs, copy.get()));
      TF_ASSIGN_OR_RETURN(Outcome outcome, OutcomeOf(*copy));
      if (Better(outcome, best)) {
        best = outcome;
        recipe->programs = std::move(programs);
      }
      const int64_t excess = outcome.peak_bytes - options_.limit_bytes;
      if (excess <= 0 || plan.peak_bytes > aim || aim == 0) break;
      aim -= excess + excess / 4;
    }
    return best;
  }

  // Tries a recipe; takes it if it is the best so far.
  absl::Status Try(Recipe recipe) {
    std::unique_ptr<HloModule> copy;
    const HloModule* prepared = module_;
    if (recipe.prepare) {
      copy = module_->Clone("");
      // What one recipe cannot do, others can.
      if (!recipe.prepare(copy.get()).ok()) return absl::OkStatus();
      prepared = copy.get();
    }
    absl::StatusOr<Outcome> found = FindPrograms(*prepared, &recipe);
    if (!found.ok() && recipe.prepare) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(Outcome outcome, std::move(found));
    if (!best_recipe_.has_value() || Better(outcome, best_)) {
      best_ = outcome;
      best_recipe_ = std::move(recipe);
    }
    return absl::OkStatus();
  }

  absl::Status TryLoops(int drops, int sinks, bool reschedule) {
    std::string method = drops > 0 ? "residuals+" : "";
    if (sinks > 0) method += "invariants+";
    if (reschedule) method += "reschedule+";
    return Try({method + "plan",
                [drops, sinks, reschedule, this](HloModule* module) {
                  return RewriteLoops(drops, sinks, reschedule, options_.device,
                                      module);
                },
                {}});
  }

  // Whether another order is not worth looking for.
  bool GoodEnough() const {
    if (options_.effort < 1) return true;
    return options_.effort == 1 && best_.peak_bytes <= options_.limit_bytes &&
           best_.seconds <= 1.02 * result_.work_before.seconds;
  }

  // Sinks invariants; then drops residuals, the cheap half if that suffices.
  absl::Status TryLoops() {
    TF_ASSIGN_OR_RETURN(std::vector<int> order,
                        DropOrder(*module_, options_.device));
    TF_ASSIGN_OR_RETURN(std::vector<remat_plan::LoopInvariant> invariants,
                        Invariants(*module_, options_.device));
    const int drops = static_cast<int>(order.size());
    for (bool reschedule : {false, true}) {
      if (reschedule && (!options_.reschedule || GoodEnough())) break;
      if (!invariants.empty()) {
        TF_RETURN_IF_ERROR(TryLoops(0, kAll, reschedule));
      }
      for (int count : {drops, drops / 2, drops / 4}) {
        if (count == 0) break;
        TF_RETURN_IF_ERROR(
            TryLoops(count, invariants.empty() ? 0 : kAll, reschedule));
      }
    }
    return absl::OkStatus();
  }

  absl::Status TryAll() {
    TF_RETURN_IF_ERROR(Try({"plan", nullptr, {}}));
    if (options_.reschedule && !GoodEnough()) {
      TF_RETURN_IF_ERROR(
          Try({"reschedule+plan", remat_plan::RescheduleForMemory, {}}));
    }
    if (options_.across_loops) TF_RETURN_IF_ERROR(TryLoops());
    for (const auto& [name, rewrite] : options_.others) {
      // What it cannot do, others can.
      std::unique_ptr<HloModule> copy = module_->Clone("");
      if (!rewrite(copy.get()).ok()) continue;
      TF_ASSIGN_OR_RETURN(Outcome outcome, OutcomeOf(*copy));
      if (Better(outcome, best_)) {
        best_ = outcome;
        best_recipe_ = Recipe{name, rewrite, {}};
      }
    }
    // Nothing helps: leave the module alone.
    if (best_.peak_bytes >= result_.peak_before_bytes) return absl::OkStatus();
    if (best_recipe_->prepare) {
      // New instructions may come in another order than in the copy: programs
      // are for one order, so they are looked for anew.
      TF_RETURN_IF_ERROR(best_recipe_->prepare(module_));
      TF_RETURN_IF_ERROR(FindPrograms(*module_, &*best_recipe_).status());
    }
    TF_RETURN_IF_ERROR(ApplyPrograms(best_recipe_->programs, module_));
    // What only instructions called that run no more: bodies of fusions.
    TF_RETURN_IF_ERROR(module_->RemoveUnusedComputations());
    TF_RETURN_IF_ERROR(module_->schedule().Update());
    result_.method = best_recipe_->method;
    result_.changed = true;
    return module_->schedule().Verify();
  }

  static constexpr int kAims = 4;

  HloModule* module_;
  const RematPlanOptions& options_;
  RematPlanResult result_;
  Outcome best_;
  std::optional<Recipe> best_recipe_;
};

}  // namespace

HloCostAnalysis::Options DefaultRematDevice() {
  HloCostAnalysis::Options device;
  device.set_flops_per_second(67e12);
  device.set_transcendentals_per_second(4e12);
  device.set_bytes_per_second(3.35e12);
  device.multiply_by_trip_count = true;
  return device;
}

absl::StatusOr<RematWork> ComputeRematWork(
    const HloModule& module, const HloCostAnalysis::Options& device) {
  std::unique_ptr<HloCostAnalysis> cost = MakeCostAnalysis(device);
  TF_RETURN_IF_ERROR(module.entry_computation()->Accept(cost.get()));
  return RematWork{cost->flop_count(), cost->bytes_accessed(),
                   cost->optimal_seconds()};
}

absl::StatusOr<std::vector<RematBindingBuffer>> FindBindingBuffers(
    const HloModule& module) {
  std::vector<RematBindingBuffer> binding;
  TF_ASSIGN_OR_RETURN(RematPeak peak,
                      ComputeRematPeak(module, module.schedule()));
  // From the entry inwards.
  for (const HloInstruction* at : peak.at) {
    TF_ASSIGN_OR_RETURN(
        RematBuffers buffers,
        RematBuffers::Build(module.schedule().sequence(at->parent()), {}));
    const RematItemId now = buffers.Find(at);
    for (RematBufferId id = 0; id < buffers.buffer_count(); ++id) {
      const RematBuffer& buffer = buffers.buffer(id);
      const RematItemId last =
          buffer.users.empty() ? buffer.definer : buffer.users.back();
      if (buffer.bytes == 0 || buffer.definer > now || last < now) continue;
      binding.push_back(
          {buffers.item(buffer.definer).instruction, buffer.bytes});
    }
  }
  std::stable_sort(
      binding.begin(), binding.end(),
      [](const RematBindingBuffer& a, const RematBindingBuffer& b) {
        return a.bytes > b.bytes;
      });
  return binding;
}

absl::StatusOr<RematPlanResult> PlanRematerialization(
    HloModule* module, const RematPlanOptions& options) {
  return Planner(module, options).Run();
}

}  // namespace xla
