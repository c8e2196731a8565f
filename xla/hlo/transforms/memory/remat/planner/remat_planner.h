#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_PLANNER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_PLANNER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/memory/limit/memory_accounting.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_work.h"

namespace xla {

struct RematPlanOptions {
  // Bytes that the module may need, its outputs included; at least 0.
  int64_t limit_bytes = 0;
  // Bytes of arrays and tables.
  RematSizeOptions sizes;
  // Function that measures a module's memory, in bytes. Empty: the accounting
  // of HloRematerialization (see remat_accounting.h): parameters and what
  // leaves a computation 0 inside it, callees added where they run, the result
  // once. With any other accounting the planner expects that results reuse the
  // memory of operands without later readers (in_place_values.h), and retries
  // where they do not.
  std::function<absl::StatusOr<int64_t>(const HloModule&)> peak;
  // Which of them do so, by that accounting.
  std::shared_ptr<const AliasInfo> in_place = std::make_shared<AliasInfo>();
  // The bytes in which the buffers of a scheduled module find places, asked of
  // the module as it is and of plans that would be returned: where these exceed
  // the limit, they count, and plans that need less are looked for. Empty: the
  // peak.
  std::function<absl::StatusOr<int64_t>(const HloModule&)> placed;
  // The memory that no plan can save, counted in the same way; empty: the
  // result, at all times.
  std::function<absl::StatusOr<MemoryAlwaysThere>(const HloModule&)>
      always_there;
  // Seconds of instructions. Trip counts always multiply.
  HloCostAnalysis::Options device = DefaultRematDevice();
  // How long to search: 0 one greedy plan, 1 the default, more: more variants.
  int64_t effort = 1;
  // Rewrites of loops: invariants sunk into bodies, stacked residuals computed
  // again in the loop that reads them.
  bool across_loops = true;
  // May run instructions in another order, if that needs less.
  bool reschedule = true;
  // May compute values that follow from smaller ones inside of fusions with
  // their readers: broadcasts, iotas, masks, converts.
  bool fuse = true;
  // Makes values wait on the host, or in a compact layout, until the module
  // needs at most the bytes given by rematerialization's accounting, as far as
  // that costs next to nothing: transfers hidden behind what runs meanwhile.
  // Recomputation then does the rest. Empty: all values stay where they are.
  std::function<absl::Status(int64_t limit_bytes, HloModule*)> move_out;
  // Whose computations a plan changes; empty: of all threads. Where there are
  // others, nothing that rewrites whole modules is tried: loops, fusions and
  // orders stay as they are.
  absl::flat_hash_set<std::string> execution_threads;
  // Clones wait behind opt-barriers for values that are there shortly before
  // they are read (clone_ties.h), so that no later common subexpression
  // elimination, fusion or scheduler undoes them.
  bool tie_clones = false;
  // Where `peak` is that of what a compiler makes of a module: names of
  // instructions that it computes inside of their readers. Plans leave these
  // out, and clones bring what is fused into them; the lower bound is what is
  // always there.
  std::optional<absl::flat_hash_set<std::string>> fused;
  // How many plans `peak` is asked for.
  int64_t max_measured = std::numeric_limits<int64_t>::max();
  // Other ways to rewrite a scheduled module for a limit in bytes, that cost
  // something; each gets a copy, and the best result of all is taken. Not asked
  // where a plan costs nothing.
  using Rewrite = std::function<absl::Status(int64_t limit_bytes, HloModule*)>;
  std::vector<std::pair<std::string, Rewrite>> others;
};

struct RematPlanResult {
  bool changed = false;
  bool met = false;
  int64_t peak_before_bytes = 0;
  int64_t peak_after_bytes = 0;
  // Permanent memory plus the largest need of a single instruction, of the
  // least of the variants tried: no plan that leaves instructions and loops as
  // they are there can do with less. Where one of `others` does, arguments and
  // results. Never more than peak_after_bytes.
  int64_t lower_bound_bytes = 0;
  // Arguments and results: no plan at all can do with less.
  MemoryAlwaysThere always_there;
  RematWork work_before, work_after;
  int64_t instructions_before = 0, instructions_after = 0;
  // Which parts made the plan: "none", "plan", "reschedule+plan",
  // "residuals+invariants+fuse+plan", or the name of one of `others`.
  std::string method;
  // Where the limit is not met: what is live at the peak, largest first.
  std::vector<RematBindingBuffer> binding;
};

// Changes a scheduled module so that it needs at most `limit_bytes`, at little
// added cost.
//
//   before: v = f(a); … ; g(v) ; … ; h(v)      (v is live all the time)
//   after:  v = f(a); … ; g(v) ; … ; v.remat = f(a); h(v.remat)
//
// Values are dropped between two uses and computed again before the second one,
// with what they need; in loops, residuals that one loop stacks and another
// one reads are computed again in the second; masks and broadcasts are computed
// in fusions with their readers. Each choice has a price, seconds
// per byte and instruction over the limit; cheapest first, then choices that
// turned out needless are taken back (remat_search.h).
//
// Returns the plan with met=true whose seconds are the least found, or, where
// no plan found meets the limit, the one that needs least memory, met=false.
// In modules of less than 500 instructions the choice is, but for `others`,
// made among plans that are the same for all limits: lower limits cost no less,
// and need no more. In others of up to 5000 that goes for limits that are
// multiples of a tenth of the peak, as far as they add more than a thousandth
// of the run time or are missed (remat_limits.h). Where a compiler measures
// plans, each limit has its own. Works on copies, and gives
// the module the computations of the best one: what pointed into the module
// points nowhere then. Leaves the module alone if it meets the limit, and on
// errors: InvalidArgument for a negative limit, FailedPrecondition without
// schedule, those of `peak`.
absl::StatusOr<RematPlanResult> PlanRematerialization(
    HloModule* module, const RematPlanOptions& options);

// The lower_bound_bytes of limits that nothing meets: of all variants of loops
// that there are, though no plan is made.
absl::StatusOr<int64_t> RematLowerBound(const HloModule& module,
                                        const RematPlanOptions& options);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_PLANNER_H_
