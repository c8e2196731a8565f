#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_LIMITS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_LIMITS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/transforms/memory/remat/planner/module_variant.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_trials.h"

namespace xla::remat_plan {

// Searches plans for a limit, and for other limits besides: the solver is a
// heuristic whose result is not monotone in the limit. A plan for a lower limit
// may turn out cheaper, and one for a higher limit may need less memory than
// what a failed search for this limit returns.
//
// If all plans are kept, the limits are the same for all callers, in the same
// order, so that callers with different limits choose among the same plans:
//
//   < 500 instructions     20 limits from the peak to the lower bound
//   up to 5000             90, 80, 70, … % of the peak, down to the caller's;
//                          further while that is missed, or costs time and
//                          not too much was looked at; no further than the
//                          bound, or the first that is missed
//
// Then the caller's own, if it is not one of these. In larger modules the
// caller's limit comes first, then lower ones while these cost less. If a
// compiler measures plans, it is the only one, unless the module is large
// (remat_measured.h).
class LimitSearch {
 public:
  // Both must outlive this. The trials have started.
  LimitSearch(const RematPlanOptions& options, RematTrials* trials);

  // For a limit that no known plan meets; can be called again for lower ones.
  // Leaves the limit as the trials' target.
  absl::Status Run(int64_t limit_bytes);

 private:
  // Spends all measurements on one limit.
  absl::Status RunMeasured(int64_t limit_bytes);
  absl::Status RunCurve(int64_t limit_bytes);
  absl::Status RunShares(int64_t limit_bytes);

  // Whether one of `limits_` is left that is worth a search.
  bool HasNext() const;
  absl::Status RunNext();
  // Plans for one limit, and further attempts if it is missed or costly.
  absl::Status RunFor(int64_t limit_bytes);

  // Whether the best plan adds much to the run time.
  bool IsCostly() const;
  // Plans for the limit in all variants, in addition to those known.
  absl::Status PlanFor(int64_t limit_bytes);
  absl::Status TryLowerLimits();
  absl::Status TryOtherLimits(const ModuleVariant& variant);
  absl::Status Bisect(int64_t missed,
                      absl::FunctionRef<absl::Status(int64_t)> plan_for);
  absl::Status Extend();

  const RematPlanOptions& options_;
  RematTrials& trials_;
  // Percentages of the peak in steps of 10 %, the highest first.
  const std::vector<int64_t> shares_;
  // Limits common to all callers, how many of them have been run, the last of
  // these, and how many in a row were missed.
  std::vector<int64_t> limits_;
  size_t done_ = 0;
  int64_t last_ = 0;
  int missed_ = 0;
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_LIMITS_H_
