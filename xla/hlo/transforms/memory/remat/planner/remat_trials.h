#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_TRIALS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_TRIALS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/memory/remat/planner/module_variant.h"
#include "xla/hlo/transforms/memory/remat/planner/nested_plan.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_frontier.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_work.h"

namespace xla::remat_plan {

// A module after the rewrites of a variant, and what is known about it.
struct Prepared {
  ModuleVariant variant;
  std::unique_ptr<HloModule> rewritten;
  const HloModule* module = nullptr;
  Outcome outcome;
  std::unique_ptr<HloCostAnalysis> cost;
  std::unique_ptr<NestedPlanner> planner;
  // The part of the peak that the planner's problems leave out, and the largest
  // such part seen in any plan.
  int64_t uncounted_bytes = 0;
  int64_t most_uncounted_bytes = 0;
  int64_t lower_bound_bytes = 0;
  // If a compiler measures: outcomes of plans by their planned bytes and
  // seconds.
  std::map<std::pair<int64_t, double>, Outcome> measured;
  // Seconds of the plan for the target; infinite if it is not met.
  std::optional<double> seconds_for_limit;

  // What the variant alone takes, unless a part of that is recomputation.
  std::optional<double> FusedSeconds() const {
    if (variant.Recomputes()) return std::nullopt;
    return outcome.work.seconds;
  }
};

// The result of planning for an aim.
struct Trial {
  int64_t planned_bytes = 0;  // by the problem: uncounted bytes are left out
  Outcome outcome;
  // If false, the outcome is the planned one, which is useless, or, if the plan
  // lost reads, that of the module.
  bool tried_out = false;
};

// Tries plans on copies of a module, and keeps the best of them: for the
// target, a limit in bytes, or, if the module has a curve, for all limits.
class RematTrials {
 public:
  // Both must outlive this.
  RematTrials(const HloModule& module, const RematPlanOptions& options);

  // Analyzes the module as it is. Call first, and once; errors: those of the
  // peak, and of instructions without a cost.
  absl::Status Start();

  // The module as it is.
  const Prepared& base() const { return *prepared_.front(); }
  int64_t instruction_count() const { return instruction_count_; }
  int64_t peak_before_bytes() const { return peak_before_bytes_; }
  // The least of all variants prepared.
  int64_t lower_bound_bytes() const { return lower_bound_bytes_; }
  const MemoryAlwaysThere& always_there() const { return always_there_; }
  // Whether the searches so far leave time for limits lower than the caller's,
  // and for more of a curve.
  bool HasTimeForLimits() const;
  bool HasTimeForCurve() const;

  // Whether the module is too large to search for chance results of lower
  // limits.
  bool IsLarge() const;
  // Whether the module is so small that plans for many limits take no time.
  bool HasCurve() const;
  // Whether all results are kept, for whatever limit: in modules that are not
  // large.
  bool KeepsAll() const;
  // Whether a compiler measures plans, and how many more it can measure.
  bool IsCompiled() const { return options_.fused.has_value(); }
  int64_t CanMeasure() const { return options_.max_measured - measured_; }

  int64_t target() const { return target_; }
  const Outcome& best() const { return best_; }
  bool Met() const { return best_.peak_bytes <= target_; }
  // The limit for which plans are compared, in addition to those known.
  void SetTarget(int64_t limit_bytes);
  // Whether `a` is better for the target: meets it while `b` does not, needs
  // less if both miss it, takes less time otherwise.
  bool IsBetter(const Outcome& a, const Outcome& b) const;

  // The loop variants of the module, found once (module_variant.h).
  absl::StatusOr<const std::vector<ModuleVariant>*> FindLoopVariants();

  // Rewrites a copy of the module, once per variant. FailedPrecondition if
  // there is nothing to do.
  absl::StatusOr<Prepared*> Prepare(const ModuleVariant& variant);

  // Finds programs for a prepared module and tries them out; returns the best
  // outcome for the target. The abstract problem leaves small tables out, and
  // may count differently from the caller's peak: the aim is lowered by the
  // excess, a few times. Plans that cost no less than the best one are not
  // tried. For a limit lower than the target, the result may need as much as
  // the target.
  absl::StatusOr<Outcome> FindPrograms(int64_t limit_bytes, Prepared* prepared);

  // One such plan: for an aim, which is a limit minus what the problem does not
  // count.
  absl::StatusOr<Trial> TryAim(int64_t aim_bytes, Prepared* prepared);

  // Rewrites copies of the module for the target in the other ways that the
  // options provide, if plans have a cost. A rewrite that fails is not a
  // candidate.
  absl::Status TryOthers();

  // Measures the placement of the best one for the target, and continues with
  // the next best while it exceeds the target. Returns by how much the least of
  // those rejected exceeds the target; 0: none was rejected.
  absl::StatusOr<int64_t> PlaceBest();

  // The best one for the target, removed from those that are known. There must
  // be one.
  Candidate TakeBest() { return frontier_.TakeBestFor(target_); }
  // Adds one to those that are known. Returns whether it reads the values that
  // it should.
  bool Offer(Candidate candidate);

 private:
  absl::StatusOr<int64_t> Peak(const HloModule& module) const;
  absl::StatusOr<MemoryAlwaysThere> AlwaysThere(const HloModule& module) const;
  int64_t LowerBound(const MemoryAlwaysThere& there,
                     const NestedPlanner& planner) const;
  // Peak, cost and problems of the module.
  absl::Status Analyze(Prepared* made);
  // Useless if it adds `useless_seconds`; `room_bytes`: as for PlanEntry().
  absl::StatusOr<Trial> TryAim(int64_t aim_bytes, double useless_seconds,
                               int64_t room_bytes, Prepared* prepared);
  // What the backend of a module that it has finished still does with a plan
  // before it assigns memory: drops instructions without readers, and copies
  // whose originals would do (needless_copies.h). Leaves other modules alone.
  absl::Status Settle(HloModule* module) const;
  // Applies a plan to a copy of the prepared module.
  absl::StatusOr<std::unique_ptr<HloModule>> Apply(
      const Prepared& prepared, const NestedPlanner::Plan& plan) const;
  // The result of another way to rewrite a copy of the module.
  absl::Status OfferModule(const std::string& method,
                           std::unique_ptr<HloModule> module);
  // Whether a rewrite of a module that a backend has finished reads overwritten
  // values (lost_reads.h).
  bool LosesReads(const Candidate& candidate) const;
  // For the search of one variant.
  int64_t WorkOfSearch() const;

  const HloModule& module_;
  const RematPlanOptions& options_;
  const int64_t instruction_count_;
  int64_t peak_before_bytes_ = 0;
  int64_t lower_bound_bytes_ = 0;
  // CountLostReads() of a module that a backend has finished.
  std::optional<int64_t> lost_reads_;
  MemoryAlwaysThere always_there_;
  std::vector<std::unique_ptr<Prepared>> prepared_;
  std::optional<std::vector<ModuleVariant>> loop_variants_;
  int64_t target_;
  Outcome best_;
  // The cost from which on a plan is useless: that of the best one found since
  // this has been the target. Plans left over from other targets may cost more
  // than what a search finds once it is under way, and do not end it.
  double useless_seconds_ = std::numeric_limits<double>::infinity();
  // Unless all are kept, only the candidate of best_.
  Frontier frontier_;
  // Plans whose peaks were asked for.
  int64_t measured_ = 0;
  // Work left for the current search, and work done by all.
  int64_t work_ = 0;
  int64_t spent_ = 0;
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_TRIALS_H_
