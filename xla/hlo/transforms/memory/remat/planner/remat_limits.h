#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_LIMITS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_LIMITS_H_

#include "absl/status/status.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_trials.h"

namespace xla::remat_plan {

// Searches plans for the caller's limit. Those for lower limits may cost less,
// as they look at other variants, or need less than what misses this one:
//
//   limit 60 % of the peak: plans for 60, then for 50, 40, … % while these
//   cost less; where 60 % is missed, for all tenths, then by halves. Where all
//   plans are kept, then all of that for 50, 40, … % while these cost less, or
//   for 70, 80, … % up to what is met.
//
// At the end the other ways of the options are tried, here and below.
absl::Status SearchAtLimit(const RematPlanOptions& options,
                           RematTrials* trials);

// Searches plans for limits that do not depend on the caller's: whoever asks
// for a lower limit chooses among the same plans. For modules with a curve.
absl::Status SearchCurve(const RematPlanOptions& options, RematTrials* trials);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_LIMITS_H_
