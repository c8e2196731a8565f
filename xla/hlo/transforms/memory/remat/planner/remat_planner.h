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
  // Which operands they reuse, by that accounting.
  std::shared_ptr<const AliasInfo> in_place = std::make_shared<AliasInfo>();
  // The bytes that a placement of the buffers of a scheduled module takes,
  // computed for the module as it is and for plans about to be returned: if
  // this exceeds the limit, it counts as the peak, and plans that need less are
  // searched. Empty: the peak.
  std::function<absl::StatusOr<int64_t>(const HloModule&)> placed;
  // The memory that no plan can save, counted in the same way; empty: the
  // result, all the time.
  std::function<absl::StatusOr<MemoryAlwaysThere>(const HloModule&)>
      always_there;
  // Seconds of instructions. Trip counts always multiply.
  HloCostAnalysis::Options device = DefaultRematDevice();
  // How long to search: 0 one greedy plan, 1 the default, more: more variants.
  int64_t effort = 1;
  // Rewrites of loops: invariants sunk into bodies, stacked residuals
  // recomputed in the loop that reads them.
  bool across_loops = true;
  // May reorder instructions if that needs less.
  bool reschedule = true;
  // May compute values that follow from smaller ones inside of fusions with
  // their readers: broadcasts, iotas, masks, converts. And may keep what
  // fusions make of larger values instead of these: masks of activations.
  bool fuse = true;
  // Moves values to the host, or into a compact layout, until the module needs
  // at most the given bytes by rematerialization's accounting, as far as that
  // costs next to nothing: transfers hidden behind concurrent work.
  // Recomputation then does the rest. Empty: all values stay where they are.
  std::function<absl::Status(int64_t limit_bytes, HloModule*)> move_out;
  // Threads whose computations a plan changes; empty: all. If there are other
  // threads, rewrites of whole modules are not tried: loops, fusions and orders
  // stay as they are.
  absl::flat_hash_set<std::string> execution_threads;
  // Clones wait behind opt-barriers for values that become available shortly
  // before they are read (clone_ties.h), so that no later common subexpression
  // elimination, fusion or scheduler undoes them.
  bool tie_clones = false;
  // If `peak` measures the result of a compiler: names of instructions that it
  // computes inside of their readers. Plans leave these out, and clones bring
  // along what is fused into them; the lower bound is what is always live.
  std::optional<absl::flat_hash_set<std::string>> fused;
  // Maximum number of plans for which `peak` is called.
  int64_t max_measured = std::numeric_limits<int64_t>::max();
  // Other ways to rewrite a scheduled module for a limit in bytes, at some
  // cost; each gets a copy, and the best result of all is taken. Not tried if a
  // plan costs nothing.
  using Rewrite = std::function<absl::Status(int64_t limit_bytes, HloModule*)>;
  std::vector<std::pair<std::string, Rewrite>> others;
};

struct RematPlanResult {
  bool changed = false;
  bool met = false;
  int64_t peak_before_bytes = 0;
  int64_t peak_after_bytes = 0;
  // Permanent memory plus the largest need of a single instruction, the least
  // over the variants tried: no plan that leaves instructions and loops as they
  // are there can need less. If one of `others` does, arguments and results.
  // Never more than peak_after_bytes.
  int64_t lower_bound_bytes = 0;
  // Arguments and results: no plan at all can need less.
  MemoryAlwaysThere always_there;
  RematWork work_before, work_after;
  // What the module takes fused and ordered as planned, but before values are
  // recomputed; none if that is not known apart.
  std::optional<double> fused_seconds;
  int64_t instructions_before = 0, instructions_after = 0;
  // The parts that the plan is made of: "none", "plan", "reschedule+plan",
  // "residuals+invariants+fuse+plan", or the name of one of `others`.
  std::string method;
  // If the limit is not met: what is live at the peak, largest first.
  std::vector<RematBindingBuffer> binding;
};

// Changes a scheduled module so that it needs at most `limit_bytes`, at little
// added cost.
//
//   before: v = f(a); … ; g(v) ; … ; h(v)      (v is live all the time)
//   after:  v = f(a); … ; g(v) ; … ; v.remat = f(a); h(v.remat)
//
// Values are dropped between two uses and recomputed before the second one,
// with what they need; in loops, residuals that one loop stacks and another one
// reads are recomputed in the second; masks and broadcasts are computed in
// fusions with their readers. Each choice has a price, seconds per byte and
// instruction over the limit; cheapest first, then choices that turned out to
// be unnecessary are undone (remat_search.h).
//
// Returns the plan with met=true and the least seconds found, or, if no plan
// found meets the limit, the one that needs least memory, met=false. In modules
// of less than 500 instructions the choice is, except for `others`, among plans
// that are the same for all limits: lower limits cost no less, and need no
// more. In modules of up to 5000 instructions this holds for limits that are
// multiples of a tenth of the peak, as far as they add more than a thousandth
// of the run time or are missed (remat_limits.h). If a compiler measures plans,
// each limit has its own. Works on copies, and gives the module the
// computations of the best one: pointers into the module dangle afterwards.
// Leaves the module unchanged if it meets the limit, and on errors:
// InvalidArgument for a negative limit, FailedPrecondition without schedule,
// those of `peak`.
absl::StatusOr<RematPlanResult> PlanRematerialization(
    HloModule* module, const RematPlanOptions& options);

// The lower_bound_bytes reported for limits that nothing meets: the least over
// all variants of loops, without making a plan.
absl::StatusOr<int64_t> RematLowerBound(const HloModule& module,
                                        const RematPlanOptions& options);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_PLANNER_H_
