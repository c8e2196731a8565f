#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_MEASURED_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_MEASURED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_trials.h"

namespace xla::remat_plan {

// Searches plans for a limit where a compiler says what they take
// (RematPlanOptions::fused). That follows only roughly from what was planned:
// an instruction that runs again may be fused into others, or keep others from
// being fused, and the lowest plans rarely take least. So plans for aims all
// over the range are measured first, then such between those that came nearest
// to the limit, or fit and cost least, until no more may be asked for.
//
//   measured |      x                        o: fits
//            | x         x
//     limit  |-----------------x--
//            |      x     o          x
//            +---------------------------- aim
class MeasuredSearch {
 public:
  // Both must outlive this. The trials have started.
  MeasuredSearch(const RematPlanOptions& options, RematTrials* trials);

  // Rewrites no loops. Ends with the limit as the trials' target.
  absl::Status Run(int64_t limit_bytes);

 private:
  // What an aim has led to.
  struct Sample {
    int64_t aim_bytes = 0;
    Trial trial;
  };

  // Plans for aims of equal distances, the highest first.
  absl::Status TryRange();
  // A plan for an aim between two of those. Returns whether there was one that
  // is worth it.
  absl::StatusOr<bool> TryBetween();
  // What a plan between samples `i` and the next may come to: bytes, as if
  // these changed by at most two per byte of aim, or, where a plan that fits is
  // known, seconds and bytes over the limit, both relative; less is better.
  // Nothing where aims are too close.
  std::optional<double> Promise(size_t i) const;
  // An aim between samples `i` and the next: half way, as far as the plan of
  // the first does not serve.
  int64_t AimBetween(size_t i) const;
  // The result comes before sample `place`.
  absl::StatusOr<Trial> Try(int64_t aim_bytes, size_t place);

  const RematPlanOptions& options_;
  RematTrials& trials_;
  Prepared* module_ = nullptr;
  std::vector<Sample> samples_;  // from the highest aim down
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_MEASURED_H_
