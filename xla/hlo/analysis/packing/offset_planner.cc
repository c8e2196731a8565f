#include "xla/hlo/analysis/packing/offset_planner.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "xla/hlo/analysis/packing/best_fit.h"
#include "xla/hlo/analysis/packing/canonical_search.h"
#include "xla/hlo/analysis/packing/item_order.h"
#include "xla/hlo/analysis/packing/packing_checker.h"
#include "xla/hlo/analysis/packing/packing_items.h"
#include "xla/hlo/analysis/packing/packing_problem.h"
#include "xla/hlo/analysis/packing/skyline.h"

namespace xla::packing {
namespace {

// Best fit is quadratic: for few buffers, and for more where skyline packing
// leaves more than that part of the bound.
constexpr int kMaxBestFitBuffers = 4000;
constexpr int kMaxBestFitBuffersForGap = 12'000;
constexpr double kGapForBestFit = 0.001;
// Steps for each height that bisection tries in its first round.
constexpr int64_t kFirstSlice = 10'000;

using Order = std::array<OrderKey, 3>;
constexpr Order kSkylineOrders[] = {
    {OrderKey::kLoad, OrderKey::kDuration, OrderKey::kArea},
    {OrderKey::kArea, OrderKey::kDuration, OrderKey::kLoad},
    {OrderKey::kSize, OrderKey::kDuration, OrderKey::kLoad},
    {OrderKey::kLoad, OrderKey::kSize, OrderKey::kDuration},
    {OrderKey::kLoad, OrderKey::kArea, OrderKey::kDuration},
    {OrderKey::kEarly, OrderKey::kDuration, OrderKey::kSize},
};
constexpr Order kBestFitOrders[] = {
    {OrderKey::kSize, OrderKey::kDuration, OrderKey::kLoad},
    {OrderKey::kDuration, OrderKey::kSize, OrderKey::kLoad},
    {OrderKey::kArea, OrderKey::kDuration, OrderKey::kLoad},
};

// Heuristics first: skyline packing under several orders, then best fit, which
// is quadratic and therefore limited in size. If none of them reaches the lower
// bound (the maximum load) or the capacity, an exact search decides feasibility
// of single heights: of the capacity if there is one, otherwise of heights
// found by bisection.
class Planner {
 public:
  Planner(const PackingProblem& problem, const OffsetPlannerOptions& options)
      : problem_(problem),
        options_(options),
        items_(MakePackingItems(problem)),
        order_(items_),
        has_fixed_(absl::c_any_of(items_.items, [](const PackingItem& item) {
          return item.fixed_offset.has_value();
        })) {
    plan_.lower_bound = MaxLoad(problem);
  }

  OffsetPlan Run() {
    RunHeuristics();
    if (!IsDone() && !has_fixed_ && items_.items.size() <= kMaxExactBuffers) {
      if (options_.capacity.has_value()) {
        Search(*options_.capacity, options_.max_steps);
      } else {
        Bisect();
      }
    }
    return std::move(plan_);
  }

 private:
  int64_t height() const { return plan_.solution.height; }

  bool IsDone() const {
    return has_solution_ && height() <= std::max(plan_.lower_bound,
                                                 options_.capacity.value_or(0));
  }

  void Offer(const std::vector<int64_t>& item_offsets) {
    PackingSolution solution = ToSolution(problem_, items_, item_offsets);
    if (has_solution_ && solution.height >= height()) return;
    plan_.solution = std::move(solution);
    has_solution_ = true;
  }

  void RunHeuristics() {
    for (const Order& keys : kSkylineOrders) {
      if (has_fixed_ || IsDone()) break;
      Offer(PackSkyline(items_, order_.Sorted(keys)));
    }
    const auto gap = static_cast<double>(height() - plan_.lower_bound);
    const int64_t max_best_fit =
        gap > kGapForBestFit * static_cast<double>(plan_.lower_bound)
            ? kMaxBestFitBuffersForGap
            : kMaxBestFitBuffers;
    for (const Order& keys : kBestFitOrders) {
      if (has_solution_ && items_.items.size() > max_best_fit) break;
      if (IsDone()) break;
      Offer(PackBestFit(items_, order_.Sorted(keys)));
    }
  }

  SearchOutcome Search(int64_t capacity, int64_t max_steps) {
    CanonicalSearchOptions options;
    options.max_steps = max_steps;
    options.deadline = options_.deadline;
    std::vector<int64_t> offsets;
    const SearchOutcome outcome =
        SearchPacking(items_, capacity / items_.unit, options, &offsets);
    if (outcome == SearchOutcome::kFound) Offer(offsets);
    if (outcome == SearchOutcome::kImpossible) {
      plan_.lower_bound = std::max(plan_.lower_bound,
                                   (capacity / items_.unit + 1) * items_.unit);
    }
    return outcome;
  }

  // Feasibility is monotone in the height, but the search may give up, which
  // counts as infeasible for the current round. The lower bound is tried first,
  // since packings are often tight, then the midpoint between the last height
  // given up and the best solution. When the two meet, the next round starts
  // over with twice the steps per height.
  void Bisect() {
    int64_t steps_left = options_.max_steps;
    for (int64_t slice = kFirstSlice; steps_left > 0 && !IsDone(); slice *= 2) {
      int64_t given_up = plan_.lower_bound - items_.unit;
      bool at_bound = true;
      while (height() - given_up > items_.unit && steps_left > 0 &&
             absl::Now() < options_.deadline) {
        const int64_t target =
            at_bound ? plan_.lower_bound : given_up + (height() - given_up) / 2;
        at_bound = false;
        slice = std::min(slice, steps_left);
        if (Search(target, slice) != SearchOutcome::kFound) {
          given_up = std::max(target, given_up + items_.unit);
        }
        steps_left -= slice;
      }
      if (absl::Now() >= options_.deadline) break;
    }
  }

  const PackingProblem& problem_;
  const OffsetPlannerOptions& options_;
  const PackingItems items_;
  const ItemOrder order_;
  const bool has_fixed_;
  bool has_solution_ = false;
  OffsetPlan plan_;
};

}  // namespace

absl::StatusOr<OffsetPlan> PlanOffsets(const PackingProblem& problem,
                                       const OffsetPlannerOptions& options) {
  absl::Status status = ValidatePackingProblem(problem);
  if (!status.ok()) return status;
  OffsetPlan plan = Planner(problem, options).Run();
  // Fixed offsets are the caller's, and may collide.
  status = CheckPacking(problem, plan.solution);
  if (!status.ok()) return status;
  return plan;
}

}  // namespace xla::packing
