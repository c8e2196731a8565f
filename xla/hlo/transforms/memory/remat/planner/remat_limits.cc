#include "xla/hlo/transforms/memory/remat/planner/remat_limits.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_variants.h"
#include "xla/status_macros.h"

// Why a search for one limit plans for others too: the solver is a heuristic,
// and its result is not monotone in the limit. A plan for a lower limit may
// turn out cheaper, and one for a higher limit may need less memory than what a
// failed search for this limit returns. The limits tried here are fixed shares
// of the peak, independent of the caller's limit, so that callers who ask for
// different limits choose among the same plans.

namespace xla::remat_plan {
namespace {

constexpr int kSteps = 6;
constexpr int kCurveRungs = 20;
// One after the other, before no more are looked at.
constexpr int kMissedRungs = 2;
constexpr int kRungsAbove = 3;
// Relative to the run time of the module as it is.
constexpr double kCostly = 1.05;

// Shares of the peak in steps of 10 %, the highest first. Computed the way a
// limit in percent is, so that such a limit hits a rung exactly.
std::vector<int64_t> Rungs(int64_t peak_bytes) {
  std::vector<int64_t> rungs;
  for (int tenths = 9; tenths > 0; --tenths) {
    rungs.push_back(static_cast<int64_t>(10.0 * tenths / 100 *
                                         static_cast<double>(peak_bytes)));
  }
  return rungs;
}

// Limits from `from_bytes`, without it, down to `to_bytes`.
std::vector<int64_t> CurveRungs(int64_t from_bytes, int64_t to_bytes) {
  const double room = static_cast<double>(from_bytes - to_bytes);
  std::vector<int64_t> rungs;
  for (int k = kCurveRungs - 1; k >= 0 && room > 0; --k) {
    const int64_t rung =
        to_bytes + static_cast<int64_t>(room * k / kCurveRungs);
    if (rungs.empty() || rungs.back() != rung) rungs.push_back(rung);
  }
  return rungs;
}

class LimitSearch {
 public:
  LimitSearch(const RematPlanOptions& options, RematTrials* trials)
      : options_(options), trials_(*trials) {}

  // Plans are the caller's choice of those for all limits near by, where all
  // are kept: what misses the limit needs no more than what misses a higher
  // one. What meets it may still cost more than a plan that is only found on
  // the way from a lower one.
  absl::Status Run() {
    TF_RETURN_IF_ERROR(RunForTarget());
    if (!trials_.KeepsAll()) return absl::OkStatus();
    TF_RETURN_IF_ERROR(trials_.Met() ? RunForLower() : RunForHigher());
    trials_.SetTarget(options_.limit_bytes);
    return absl::OkStatus();
  }

 private:
  absl::Status RunForTarget() {
    TF_RETURN_IF_ERROR(SearchForTarget());
    return trials_.TryOthers();
  }

  // Up to the first limit that is met.
  absl::Status RunForHigher() {
    std::vector<int64_t> rungs = RungsOfModule();
    std::reverse(rungs.begin(), rungs.end());
    for (int64_t rung : rungs) {
      if (rung <= options_.limit_bytes || rung < trials_.lower_bound_bytes()) {
        continue;
      }
      trials_.SetTarget(rung);
      TF_RETURN_IF_ERROR(RunForTarget());
      if (trials_.Met()) break;
    }
    return absl::OkStatus();
  }

  // While that makes a costly plan cheaper.
  absl::Status RunForLower() {
    for (int64_t rung : RungsOfModule()) {
      if (rung >= options_.limit_bytes) continue;
      if (rung < trials_.lower_bound_bytes() || !IsCostly()) break;
      const double before = trials_.best().work.seconds;
      trials_.SetTarget(rung);
      TF_RETURN_IF_ERROR(RunForTarget());
      // What it has learnt of the accounting may help here, too.
      trials_.SetTarget(options_.limit_bytes);
      TF_RETURN_IF_ERROR(RunForTarget());
      if (trials_.best().work.seconds >= before) break;
    }
    return absl::OkStatus();
  }

  bool IsCostly() const {
    return trials_.best().work.seconds >
           kCostly * trials_.base().outcome.work.seconds;
  }

  absl::Status SearchForTarget() {
    RematVariants variants(options_, trials_.target(), &trials_);
    TF_RETURN_IF_ERROR(variants.Run());
    if (options_.effort < 1) return absl::OkStatus();
    if (!variants.Met()) return TryOtherLimits(variants.best_variant());
    if (!variants.IsGoodEnough()) TF_RETURN_IF_ERROR(TryLowerLimits());
    return TryJustBelow(variants.best_variant());
  }

  std::vector<int64_t> RungsOfModule() const {
    return Rungs(trials_.base().outcome.peak_bytes);
  }

  // A plan for a lower limit may cost less than the one found, for example
  // because only that limit makes a variant worth preparing. Stops at the first
  // rung that brings nothing.
  absl::Status TryLowerLimits() {
    for (int64_t rung : RungsOfModule()) {
      if (rung >= trials_.target()) continue;
      if (rung < trials_.lower_bound_bytes() || !trials_.HasTimeForLimits()) {
        break;
      }
      const double before = trials_.best().work.seconds;
      RematVariants lower(options_, rung, &trials_);
      TF_RETURN_IF_ERROR(lower.Run());
      // Where these cost no less, those for still lower limits do not, either.
      if (!lower.Met() || trials_.best().work.seconds >= before) break;
    }
    return absl::OkStatus();
  }

  // An expensive plan may become cheaper with a limit slightly below the real
  // one, which leads the greedy search along another path.
  absl::Status TryJustBelow(const ModuleVariant& variant) {
    if (trials_.IsLarge() || !IsCostly()) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(Prepared * prepared, trials_.Prepare(variant));
    const int64_t room = trials_.target() - trials_.lower_bound_bytes();
    for (int part = 4; part <= 64; part *= 2) {
      TF_RETURN_IF_ERROR(
          trials_.FindPrograms(trials_.target() - room / part, prepared)
              .status());
    }
    return absl::OkStatus();
  }

  // The limit was missed. Plans for lower rungs may meet it nevertheless; plans
  // for rungs between the limit and the lowest peak so far may at least come
  // closer.
  absl::Status TryOtherLimits(const ModuleVariant& variant) {
    TF_ASSIGN_OR_RETURN(Prepared * prepared, trials_.Prepare(variant));
    const std::vector<int64_t> rungs = RungsOfModule();
    for (int64_t rung : rungs) {
      if (rung >= trials_.target()) continue;
      if (rung < trials_.lower_bound_bytes()) break;
      TF_RETURN_IF_ERROR(trials_.FindPrograms(rung, prepared).status());
      if (trials_.Met()) return absl::OkStatus();
    }
    for (int64_t rung : rungs) {
      if (rung >= trials_.best().peak_bytes) continue;
      if (rung <= trials_.target()) break;
      TF_RETURN_IF_ERROR(trials_.FindPrograms(rung, prepared).status());
    }
    return Descend(prepared);
  }

  // Bisects between the lower bound and the lowest peak found. The limits
  // depend on the module only, not on which limit the caller missed.
  absl::Status Descend(Prepared* prepared) {
    int64_t missed = trials_.base().lower_bound_bytes;
    for (int step = 0; step < kSteps && !trials_.Met(); ++step) {
      const int64_t least = trials_.best().peak_bytes;
      if (least - missed <= 1) break;
      if (trials_.IsLarge() && !trials_.HasTimeForLimits()) break;
      const int64_t limit = missed + (least - missed) / 2;
      TF_RETURN_IF_ERROR(trials_.FindPrograms(limit, prepared).status());
      if (trials_.best().peak_bytes > limit) missed = limit;
    }
    return absl::OkStatus();
  }

  const RematPlanOptions& options_;
  RematTrials& trials_;
};

class CurveSearch {
 public:
  CurveSearch(const RematPlanOptions& options, RematTrials* trials)
      : options_(options), trials_(*trials) {}

  absl::Status Run() {
    const Prepared& base = trials_.base();
    const int64_t bound = base.lower_bound_bytes;
    std::vector<int64_t> rungs = CurveRungs(base.outcome.peak_bytes, bound);
    // Where there is nothing to gain, variants are tried once all the same.
    if (rungs.empty()) rungs.push_back(bound);
    int missed = 0;
    TF_RETURN_IF_ERROR(PlanForRungs(rungs, &missed));
    // Others of the variants may go below what bounds the module as it is.
    const std::vector<int64_t> below =
        CurveRungs(bound, trials_.lower_bound_bytes());
    TF_RETURN_IF_ERROR(PlanForRungs(below, &missed));
    rungs.insert(rungs.end(), below.begin(), below.end());
    trials_.SetTarget(options_.limit_bytes);
    if (!trials_.Met() && trials_.HasTimeForCurve()) {
      TF_RETURN_IF_ERROR(Extend(rungs));
    }
    // Where all of that takes too long, this limit may not have come up.
    if (!trials_.HasTimeForCurve()) {
      TF_RETURN_IF_ERROR(PlanFor(options_.limit_bytes));
    }
    return trials_.TryOthers();
  }

 private:
  absl::Status PlanFor(int64_t limit) {
    return RematVariants(options_, limit, &trials_).Run();
  }

  // Each beside those for the limits before. Ends where `*missed` limits in a
  // row are too many.
  absl::Status PlanForRungs(const std::vector<int64_t>& rungs, int* missed) {
    for (int64_t rung : rungs) {
      if (*missed >= kMissedRungs || !trials_.HasTimeForCurve()) break;
      trials_.SetTarget(rung);
      TF_RETURN_IF_ERROR(PlanFor(rung));
      *missed = trials_.Met() ? 0 : *missed + 1;
    }
    return absl::OkStatus();
  }

  // Pushes the low end of the curve further down, at any cost: plans for the
  // rungs just above the lowest peak, then bisection towards the lower bound.
  absl::Status Extend(const std::vector<int64_t>& rungs) {
    trials_.SetTarget(0);
    const int64_t reached = trials_.best().peak_bytes;
    int above = 0;
    for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung) {
      if (*rung < reached) continue;
      if (++above > kRungsAbove) break;
      TF_RETURN_IF_ERROR(PlanFor(*rung));
    }
    int64_t missed = trials_.lower_bound_bytes();
    for (int step = 0; step < kSteps; ++step) {
      const int64_t least = trials_.best().peak_bytes;
      if (least - missed <= 1) break;
      const int64_t limit = missed + (least - missed) / 2;
      TF_RETURN_IF_ERROR(PlanFor(limit));
      if (trials_.best().peak_bytes > limit) missed = limit;
    }
    trials_.SetTarget(options_.limit_bytes);
    return absl::OkStatus();
  }

  const RematPlanOptions& options_;
  RematTrials& trials_;
};

}  // namespace

absl::Status SearchAtLimit(const RematPlanOptions& options,
                           RematTrials* trials) {
  return LimitSearch(options, trials).Run();
}

absl::Status SearchCurve(const RematPlanOptions& options, RematTrials* trials) {
  return CurveSearch(options, trials).Run();
}

}  // namespace xla::remat_plan
