#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_NESTED_PLAN_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_NESTED_PLAN_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"
#include "xla/hlo/transforms/memory/remat/planner/fused_values.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_search.h"

namespace xla::remat_plan {

// Programs for the computations of a scheduled module that call each other.
//
//   entry: a; while(w) {body}; b      limit of body = limit - what is live at w
//
// Where a step exceeds the limit, either the computations that it runs or the
// one that contains it can be reduced. A few shares of the excess are tried for
// the inner ones; the cheapest result is taken. Trip counts multiply the cost
// of inner computations.
class NestedPlanner {
 public:
  // The module, its schedule, the analysis, `sizes` and `in_place` must outlive
  // the planner. `*work` limits searches (remat_search.h); null: unlimited.
  // `threads`: whose computations may change, empty: all; `reorder`: programs
  // may run in another order. `in_place`: which results may take the memory of
  // operands, null: none. `fused`: names of instructions that will be computed
  // inside of their readers (fused_values.h).
  NestedPlanner(const HloModule& module, const HloCostAnalysis& cost,
                const RematSizeOptions& sizes, int64_t effort, bool reorder,
                const AliasInfo* in_place, int64_t* work = nullptr,
                absl::flat_hash_set<std::string> threads = {},
                const absl::flat_hash_set<std::string>& fused = {});

  struct Plan {
    // Added seconds, trip counts included; and the part of them that is only
    // launches of repeated runs.
    double added_seconds = 0;
    double launch_seconds = 0;
    int64_t peak_bytes = 0;
    // The new program of each computation that changes.
    absl::flat_hash_map<const HloComputation*, std::vector<NodeId>> programs;
  };

  // For the entry, with a limit that excludes the result. Plans that add
  // `useless_seconds`, launches excluded, are useless: if no others can be
  // expected, the result may exceed the limit. `room_bytes`: what a plan may
  // need in the end, if that is more (remat_search.h); always the same for one
  // limit.
  absl::StatusOr<Plan> PlanEntry(
      int64_t limit_bytes,
      double useless_seconds = std::numeric_limits<double>::infinity(),
      int64_t room_bytes = 0);

  // For plans that are rejected although they fit: neither they nor plans with
  // one of their programs are used for later limits, unless they are found
  // again.
  void Forget(const Plan& plan);

  // No plan that leaves loops as they are needs less, result excluded.
  // `in_place`: no accounting needs less that lets results take the memory of
  // operands, and counts one callee of an instruction at a time and results
  // only once they exist. `counted`: arrays of the entry that the caller counts
  // already.
  int64_t LowerBound(bool in_place,
                     absl::Span<const HloInstruction* const> counted) const;

  // Rewrites a fresh clone of the module, and its schedule.
  absl::Status ApplyToClone(const Plan& plan, const ApplyOptions& options,
                            HloModule* clone) const;

 private:
  struct Computation {
    ComputationProblem problem;
    // If the problem leaves out what is fused into readers.
    std::unique_ptr<FusedValues> fused;
    std::vector<int32_t> callers;  // nodes with internal bytes
    // The last ones found, for whatever limits.
    std::vector<std::vector<NodeId>> programs;
    // Plans made so far, by limit.
    std::map<int64_t, Plan> plans;
    int64_t peak_bytes = 0;
    int64_t lower_bound_bytes = 0;
    int64_t in_place_bound_bytes = 0;
  };

  const Computation& Get(const HloComputation* computation) const {
    return *computations_.at(computation);
  }
  void AddComputation(const HloComputation* computation,
                      const absl::flat_hash_set<std::string>& fused);
  // The bytes of the computations that an instruction runs: their sum if they
  // run `at_once`, else their maximum.
  int64_t CalleeBytes(const HloInstruction& inst, int64_t Computation::*bytes,
                      bool at_once) const;
  // LowerBoundBytes() with the bounds of callees instead of their needs.
  int64_t BoundOf(const Computation& computation, RematProblem problem,
                  bool in_place) const;
  // The cheapest of the plans that fit, or `best` if none costs less.
  static Plan Cheapest(const std::map<int64_t, Plan>& plans, Plan best,
                       int64_t limit_bytes);
  // `useless_seconds`: as for the entry, launches included.
  absl::StatusOr<Plan> PlanComputation(const HloComputation* computation,
                                       int64_t limit_bytes,
                                       double useless_seconds);
  // With `share` of the excess assigned to callees, and what then still exceeds
  // the limit to this computation.
  absl::StatusOr<Plan> PlanWithShare(const HloComputation* computation,
                                     int64_t limit_bytes, double share,
                                     double useless_seconds);
  // The callees of a node with plans that take up to `bytes` less; peak_bytes
  // is what they need together then.
  absl::StatusOr<Plan> LowerCallees(const HloInstruction& caller,
                                    int64_t bytes);
  // Plans a computation again, whose callees may have changed.
  // `useless_seconds`: of the whole program.
  absl::StatusOr<RematProgram> Search(const HloComputation* computation,
                                      const RematProblem& problem,
                                      int64_t limit_bytes,
                                      double useless_seconds);

  const HloModule& module_;
  const HloCostAnalysis& cost_;
  const RematSizeOptions& sizes_;
  const int64_t effort_;
  const bool reorder_;
  const AliasInfo* const in_place_;
  int64_t* const work_;
  const absl::flat_hash_set<std::string> threads_;
  const bool placed_;       // IsPlacedByBackend()
  int64_t room_bytes_ = 0;  // of the entry
  absl::flat_hash_map<const HloComputation*, std::unique_ptr<Computation>>
      computations_;
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_NESTED_PLAN_H_
