#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_MEASURED_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_MEASURED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/transforms/memory/remat/planner/module_variant.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_trials.h"

namespace xla::remat_plan {

// Searches plans for a limit, the trials' target, if a compiler measures them
// (RematPlanOptions::fused). The measurements only roughly follow the plans: an
// instruction that runs again may be fused into others, or keep others from
// being fused, and the plans with the lowest aims rarely need least. So plans
// for aims across the whole range are measured first, then plans between those
// that came nearest to the limit, or fit and cost least, until the number of
// measurements is used up.
//
//   measured |      x                        o: fits
//            | x         x
//     limit  |-----------------x--
//            |      x     o          x
//            +---------------------------- aim
class MeasuredSearch {
 public:
  // Which must outlive this, and have started.
  explicit MeasuredSearch(RematTrials* trials) : trials_(*trials) {}

  // For the trials' target and the module after the rewrites of a variant, with
  // at most this many measurements. FailedPrecondition as
  // RematTrials::Prepare().
  absl::Status Run(const ModuleVariant& variant, int64_t max_measured);

 private:
  // The outcome of an aim.
  struct Sample {
    int64_t aim_bytes = 0;
    Trial trial;
  };

  // Plans for equally spaced aims, the highest first.
  absl::Status TryRange();
  // If the limit is missed: plans for equally spaced aims above it, so that a
  // limit that is too low ends with no more than higher ones.
  absl::Status TryAbove();
  int64_t CanMeasure() const { return trials_.CanMeasure() - left_over_; }
  // A plan for an aim between two of those. Returns whether one was worth it.
  absl::StatusOr<bool> TryBetween();
  // What a plan between samples `i` and the next may achieve: bytes, assuming
  // that they change by at most two per byte of aim or, if a plan that fits is
  // known, seconds and bytes over the limit, both relative; less is better.
  // Nothing if the aims are too close.
  std::optional<double> Promise(size_t i) const;
  // An aim between samples `i` and the next: the middle of the part that the
  // plan of the first does not serve.
  int64_t AimBetween(size_t i) const;
  // Inserts the result before sample `place`.
  absl::StatusOr<Trial> Try(int64_t aim_bytes, size_t place);

  RematTrials& trials_;
  Prepared* module_ = nullptr;
  // Measurements that are left for others, and the aims of a range.
  int64_t left_over_ = 0;
  int64_t aims_ = 0;
  std::vector<Sample> samples_;  // from the highest aim down
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_MEASURED_H_
