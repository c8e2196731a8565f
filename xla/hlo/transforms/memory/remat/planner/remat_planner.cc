#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "xla/hlo/transforms/memory/remat/planner/module_contents.h"
#include "xla/hlo/transforms/memory/remat/planner/module_variant.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_frontier.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_limits.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_trials.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using remat_plan::Candidate;
using remat_plan::Outcome;
using remat_plan::RematTrials;

absl::Status CheckArguments(const HloModule& module,
                            const RematPlanOptions& options) {
  if (options.limit_bytes < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a limit of ", options.limit_bytes, " bytes is not a limit"));
  }
  if (!module.has_schedule()) {
    return absl::FailedPreconditionError(
        absl::StrCat("module ", module.name(), " has no schedule"));
  }
  return module.schedule().Verify();
}

// Where the buffers of a plan do not fit in the limit, plans are searched for
// limits that are lower by the excess, at most this often: until one fits, and
// takes not much longer than the one that did not.
constexpr int kPlacedRounds = 3;
constexpr double kPlacedSeconds = 1.01;

// The best plan for the limit. Without a module: the module as it is.
absl::StatusOr<Candidate> FindBest(const RematPlanOptions& options,
                                   RematTrials* trials) {
  remat_plan::LimitSearch search(options, trials);
  int64_t aim = options.limit_bytes;
  // The fastest that fits. Out of the way of plans that look better, until it
  // is known whether they fit.
  std::optional<Candidate> fitting;
  for (int round = 0;; ++round) {
    trials->SetTarget(aim);
    if (round > 0 || !trials->Met()) TF_RETURN_IF_ERROR(search.Run(aim));
    trials->SetTarget(options.limit_bytes);
    const double hoped_seconds = trials->best().work.seconds;
    TF_ASSIGN_OR_RETURN(const int64_t excess, trials->PlaceBest());
    aim -= excess;
    if (excess == 0 || round == kPlacedRounds || aim <= 0) break;
    if (!trials->Met()) continue;
    const double seconds = trials->best().work.seconds;
    if (seconds <= kPlacedSeconds * hoped_seconds) break;
    Candidate best = trials->TakeBest();
    if (!fitting.has_value() || seconds < fitting->outcome.work.seconds) {
      fitting = std::move(best);
    }
  }
  if (fitting.has_value()) {
    trials->Offer(*std::move(fitting));
    trials->SetTarget(options.limit_bytes);
  }
  Candidate best = trials->TakeBest();
  // More work for no less memory is no help.
  const Outcome& as_is = trials->base().outcome;
  const bool needs_less =
      best.rewritten() != nullptr && best.outcome.peak_bytes < as_is.peak_bytes;
  if (!needs_less) return Candidate{as_is, "none"};
  if (best.lender != nullptr) best.module = std::move(*best.lender);
  return best;
}

// Loops that are rewritten as far as possible need least.
absl::Status LookAtLoops(const RematPlanOptions& options, RematTrials* trials) {
  if (!options.across_loops || options.effort < 1) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const std::vector<remat_plan::ModuleVariant>* loops,
                      trials->FindLoopVariants());
  for (const remat_plan::ModuleVariant& variant : *loops) {
    // One algorithm may fail where others succeed.
    trials->Prepare(variant).IgnoreError();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> RematLowerBound(const HloModule& module,
                                        const RematPlanOptions& options) {
  TF_RETURN_IF_ERROR(CheckArguments(module, options));
  RematTrials trials(module, options);
  TF_RETURN_IF_ERROR(trials.Start());
  TF_RETURN_IF_ERROR(LookAtLoops(options, &trials));
  return std::min(trials.lower_bound_bytes(), trials.peak_before_bytes());
}

// All work happens on copies. The module itself changes in one step at the very
// end, so an error on the way leaves it untouched.
absl::StatusOr<RematPlanResult> PlanRematerialization(
    HloModule* module, const RematPlanOptions& options) {
  TF_RETURN_IF_ERROR(CheckArguments(*module, options));
  RematTrials trials(*module, options);
  TF_RETURN_IF_ERROR(trials.Start());
  TF_ASSIGN_OR_RETURN(Candidate best, FindBest(options, &trials));

  RematPlanResult result;
  result.method = best.method;
  result.peak_before_bytes = trials.peak_before_bytes();
  result.peak_after_bytes = best.outcome.peak_bytes;
  result.met = result.peak_after_bytes <= options.limit_bytes;
  if (!result.met) TF_RETURN_IF_ERROR(LookAtLoops(options, &trials));
  result.always_there = trials.always_there();
  // The arrays are the module's, which may be replaced.
  result.always_there.in_between.clear();
  // Others may find what none of the variants has.
  result.lower_bound_bytes =
      trials.lower_bound_bytes() <= result.peak_after_bytes
          ? trials.lower_bound_bytes()
          : std::min(result.always_there.total_bytes, result.peak_after_bytes);
  result.work_before = trials.base().outcome.work;
  result.work_after = best.outcome.work;
  result.fused_seconds = best.fused_seconds;
  result.instructions_before = trials.instruction_count();
  const HloModule& planned = best.module != nullptr ? *best.module : *module;
  result.instructions_after = planned.instruction_count();
  if (!result.met) {
    TF_ASSIGN_OR_RETURN(result.binding,
                        FindBindingBuffers(planned, options.sizes));
  }
  // From here on nothing fails that depends on the module.
  if (best.module != nullptr) {
    TF_RETURN_IF_ERROR(
        remat_plan::ReplaceContents(std::move(best.module), module));
    result.changed = true;
  }
  return result;
}

}  // namespace xla
