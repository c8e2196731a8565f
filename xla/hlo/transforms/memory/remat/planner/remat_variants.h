#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_VARIANTS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_VARIANTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/transforms/memory/remat/planner/module_variant.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_frontier.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_trials.h"

namespace xla::remat_plan {

// Plans for one limit, in all variants of the module: the parts of a variant
// one after another, each combined with the best of the parts before.
//
//   plan → fuse+plan → residuals+fuse+plan → residuals+reschedule+fuse+plan …
class RematVariants {
 public:
  // Both must outlive this. The limit is at most the trials' target.
  RematVariants(const RematPlanOptions& options, int64_t limit_bytes,
                RematTrials* trials);

  absl::Status Run();

  // Whether the best plan for this limit meets the trials' target.
  bool Met() const { return best_.peak_bytes <= trials_.target(); }
  const ModuleVariant& best_variant() const { return best_variant_; }

  // Whether other variants, or lower limits, are not worth trying: in large
  // modules only. In others, gains found at a lower limit must be found here,
  // too.
  bool IsGoodEnough() const;

 private:
  absl::Status Search();
  // A variant may fail where others succeed: only the base, which rewrites
  // nothing, must not fail.
  absl::Status Try(const ModuleVariant& variant, bool always = false);
  absl::Status TryNarrowValues();
  absl::Status TryLoops();
  absl::Status TryFewerDrops();
  absl::Status TryOtherOrder();
  absl::Status TrySplitting();

  const RematPlanOptions& options_;
  const int64_t limit_;
  RematTrials& trials_;
  // Whether variants of loops may have updates.
  bool updates_ = true;
  std::vector<ModuleVariant> tried_;
  ModuleVariant best_variant_;
  Outcome best_;
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_VARIANTS_H_
