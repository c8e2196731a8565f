#ifndef XLA_HLO_ANALYSIS_PACKING_OFFSET_PLANNER_H_
#define XLA_HLO_ANALYSIS_PACKING_OFFSET_PLANNER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla::packing {

struct OffsetPlannerOptions {
  // Bytes within which any packing will do. Unset: as low as the budget allows.
  std::optional<int64_t> capacity;
  // Budget of the exact search, in placements tried; some 300,000 a second. The
  // result depends on nothing else unless the deadline expires first.
  int64_t max_steps = 300'000;
  absl::Time deadline = absl::InfiniteFuture();
};

struct OffsetPlan {
  PackingSolution solution;
  // No packing is lower: the most live bytes, or a bound proven by the search.
  int64_t lower_bound = 0;
};

// Finds offsets for the buffers of a problem: skyline packing in several
// orders; best fit where buffers have fixed offsets or are few, or up to 12,000
// and skyline stays 0.1 % above the bound; then exact search, for up to
// kMaxExactBuffers, down to the capacity or, by bisection, towards the lower
// bound. Ends as soon as the capacity or the bound is met.
//
// InvalidArgument for an invalid problem; exceeding the capacity is not an
// error. Buffers with fixed offsets that overlap one another are reported as
// FailedPrecondition.
absl::StatusOr<OffsetPlan> PlanOffsets(
    const PackingProblem& problem, const OffsetPlannerOptions& options = {});

inline constexpr int kMaxExactBuffers = 2000;

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_OFFSET_PLANNER_H_
