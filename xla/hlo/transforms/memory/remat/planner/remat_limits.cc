#include "xla/hlo/transforms/memory/remat/planner/remat_limits.h"

#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_measured.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_variants.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

constexpr int kSteps = 6;
constexpr int kCurveRungs = 20;
// One after the other, before no more of a curve are looked at.
constexpr int kMissedRungs = 2;
constexpr int kRungsAbove = 3;
// By a compiler, before it is known which variant is best.
constexpr int64_t kMeasuredOfVariant = 3;
// Relative to the run time of the module as it is.
constexpr double kCostly = 1.001;

// Computed the way a limit in percent is, so that such a limit is one of them.
std::vector<int64_t> SharesOf(int64_t peak_bytes) {
  std::vector<int64_t> shares;
  for (int tenths = 9; tenths > 0; --tenths) {
    shares.push_back(static_cast<int64_t>(10.0 * tenths / 100 *
                                          static_cast<double>(peak_bytes)));
  }
  return shares;
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

}  // namespace

LimitSearch::LimitSearch(const RematPlanOptions& options, RematTrials* trials)
    : options_(options),
      trials_(*trials),
      shares_(SharesOf(trials->peak_before_bytes())) {
  if (!trials_.HasCurve()) {
    limits_ = shares_;
    return;
  }
  const int64_t bound = trials_.base().lower_bound_bytes;
  limits_ = CurveRungs(trials_.peak_before_bytes(), bound);
  // Where there is nothing to gain, variants are tried once all the same.
  if (limits_.empty()) limits_.push_back(bound);
}

absl::Status LimitSearch::Run(int64_t limit_bytes) {
  // A plan for a large module takes too long for many.
  if (trials_.IsCompiled() && trials_.KeepsAll()) {
    TF_RETURN_IF_ERROR(RunMeasured(limit_bytes));
  } else if (trials_.HasCurve()) {
    TF_RETURN_IF_ERROR(RunCurve(limit_bytes));
  } else if (trials_.KeepsAll()) {
    TF_RETURN_IF_ERROR(RunShares(limit_bytes));
  } else {
    trials_.SetTarget(limit_bytes);
    TF_RETURN_IF_ERROR(RunFor(limit_bytes));
  }
  trials_.SetTarget(limit_bytes);
  return trials_.TryOthers();
}

// Loops come in variants: a few measurements for each, all others for the best.
absl::Status LimitSearch::RunMeasured(int64_t limit_bytes) {
  MeasuredSearch search(&trials_);
  ModuleVariant best;
  trials_.SetTarget(limit_bytes);
  if (options_.across_loops) {
    TF_ASSIGN_OR_RETURN(const std::vector<ModuleVariant>* loops,
                        trials_.FindLoopVariants());
    if (!loops->empty()) {
      TF_RETURN_IF_ERROR(search.Run(best, kMeasuredOfVariant));
    }
    for (const ModuleVariant& variant : *loops) {
      const Outcome before = trials_.best();
      // Nothing to do for this one, perhaps; what can be prepared can be
      // searched.
      if (!trials_.Prepare(variant).ok()) continue;
      TF_RETURN_IF_ERROR(search.Run(variant, kMeasuredOfVariant));
      if (trials_.IsBetter(trials_.best(), before)) best = variant;
    }
  }
  return search.Run(best, trials_.CanMeasure());
}

absl::Status LimitSearch::RunCurve(int64_t limit_bytes) {
  if (done_ == 0) {
    while (HasNext()) TF_RETURN_IF_ERROR(RunNext());
    // Others of the variants may go below what bounds the module as it is.
    done_ = limits_.size();
    absl::c_copy(CurveRungs(trials_.base().lower_bound_bytes,
                            trials_.lower_bound_bytes()),
                 std::back_inserter(limits_));
    while (HasNext()) TF_RETURN_IF_ERROR(RunNext());
    trials_.SetTarget(limit_bytes);
    if (!trials_.Met() && trials_.HasTimeForCurve()) {
      TF_RETURN_IF_ERROR(Extend());
    }
    // Where all of that takes too long, this limit may not have come up.
    if (trials_.HasTimeForCurve()) return absl::OkStatus();
  }
  trials_.SetTarget(limit_bytes);
  return PlanFor(limit_bytes);
}

absl::Status LimitSearch::RunShares(int64_t limit_bytes) {
  while (HasNext() && limits_[done_] >= limit_bytes) {
    TF_RETURN_IF_ERROR(RunNext());
  }
  trials_.SetTarget(limit_bytes);
  const bool hopeless = missed_ > 0 && limit_bytes <= last_;
  if ((!trials_.Met() || IsCostly()) && !hopeless &&
      !absl::c_linear_search(limits_, limit_bytes)) {
    TF_RETURN_IF_ERROR(RunFor(limit_bytes));
  }
  while (HasNext() &&
         (!trials_.Met() || (IsCostly() && trials_.HasTimeForCurve()))) {
    TF_RETURN_IF_ERROR(RunNext());
    trials_.SetTarget(limit_bytes);
  }
  return absl::OkStatus();
}

bool LimitSearch::HasNext() const {
  if (done_ == limits_.size()) return false;
  if (trials_.HasCurve()) {
    return missed_ < kMissedRungs && trials_.HasTimeForCurve();
  }
  return missed_ == 0;
}

absl::Status LimitSearch::RunNext() {
  last_ = limits_[done_];
  if (trials_.HasCurve()) {
    ++done_;
    trials_.SetTarget(last_);
    TF_RETURN_IF_ERROR(PlanFor(last_));
  } else {
    // The bound is the last limit that is worth a search, unless variants that
    // this one brings up have a lower one.
    const int64_t bound = trials_.lower_bound_bytes();
    const bool is_bound = last_ < bound;
    last_ = std::max(last_, bound);
    trials_.SetTarget(last_);
    TF_RETURN_IF_ERROR(RunFor(last_));
    TF_RETURN_IF_ERROR(trials_.TryOthers());
    if (!is_bound) {
      ++done_;
    } else if (trials_.lower_bound_bytes() == bound) {
      done_ = limits_.size();
    }
  }
  missed_ = trials_.Met() ? 0 : missed_ + 1;
  return absl::OkStatus();
}

absl::Status LimitSearch::PlanFor(int64_t limit_bytes) {
  return RematVariants(options_, limit_bytes, &trials_).Run();
}

absl::Status LimitSearch::RunFor(int64_t limit_bytes) {
  RematVariants variants(options_, limit_bytes, &trials_);
  TF_RETURN_IF_ERROR(variants.Run());
  if (options_.effort < 1) return absl::OkStatus();
  if (!variants.Met()) return TryOtherLimits(variants.best_variant());
  const bool alone = !trials_.KeepsAll();
  return alone && !variants.IsGoodEnough() ? TryLowerLimits()
                                           : absl::OkStatus();
}

bool LimitSearch::IsCostly() const {
  return trials_.best().work.seconds >
         kCostly * trials_.base().outcome.work.seconds;
}

// A plan for a lower limit may cost less than the one found, for example
// because only that limit makes a variant worth preparing. Stops at the first
// share that brings nothing.
absl::Status LimitSearch::TryLowerLimits() {
  for (int64_t share : shares_) {
    if (share >= trials_.target()) continue;
    if (share < trials_.lower_bound_bytes() || !trials_.HasTimeForLimits()) {
      break;
    }
    const double before = trials_.best().work.seconds;
    RematVariants lower(options_, share, &trials_);
    TF_RETURN_IF_ERROR(lower.Run());
    // Where these cost no less, those for still lower limits do not, either.
    if (!lower.Met() || trials_.best().work.seconds >= before) break;
  }
  return absl::OkStatus();
}

// The limit was missed. Plans for lower shares may meet it nevertheless; plans
// for shares between the limit and the lowest peak so far may at least come
// closer.
absl::Status LimitSearch::TryOtherLimits(const ModuleVariant& variant) {
  TF_ASSIGN_OR_RETURN(Prepared * prepared, trials_.Prepare(variant));
  for (int64_t share : shares_) {
    if (share >= trials_.target()) continue;
    if (share < trials_.lower_bound_bytes()) break;
    TF_RETURN_IF_ERROR(trials_.FindPrograms(share, prepared).status());
    if (trials_.Met()) return absl::OkStatus();
  }
  for (int64_t share : shares_) {
    if (share >= trials_.best().peak_bytes) continue;
    if (share <= trials_.target()) break;
    TF_RETURN_IF_ERROR(trials_.FindPrograms(share, prepared).status());
  }
  return Bisect(trials_.base().lower_bound_bytes, [&](int64_t limit) {
    return trials_.FindPrograms(limit, prepared).status();
  });
}

// Looks between what is known to be missed and the lowest peak found. These
// limits depend on the module only, not on which one the caller missed.
absl::Status LimitSearch::Bisect(
    int64_t missed, absl::FunctionRef<absl::Status(int64_t)> plan_for) {
  for (int step = 0; step < kSteps && !trials_.Met(); ++step) {
    const int64_t least = trials_.best().peak_bytes;
    if (least - missed <= 1) break;
    if (trials_.IsLarge() && !trials_.HasTimeForLimits()) break;
    const int64_t limit = missed + (least - missed) / 2;
    TF_RETURN_IF_ERROR(plan_for(limit));
    if (trials_.best().peak_bytes > limit) missed = limit;
  }
  return absl::OkStatus();
}

// Pushes the low end of the curve further down, at any cost: plans for the
// rungs just above the lowest peak, then bisection towards the lower bound.
absl::Status LimitSearch::Extend() {
  trials_.SetTarget(0);
  const int64_t reached = trials_.best().peak_bytes;
  int above = 0;
  for (auto rung = limits_.rbegin(); rung != limits_.rend(); ++rung) {
    if (*rung < reached) continue;
    if (++above > kRungsAbove) break;
    TF_RETURN_IF_ERROR(PlanFor(*rung));
  }
  return Bisect(trials_.lower_bound_bytes(),
                [this](int64_t limit) { return PlanFor(limit); });
}

}  // namespace xla::remat_plan
