#include "xla/hlo/transforms/memory/remat/planner/nested_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/memory/remat/planner/in_place_values.h"
#include "xla/hlo/transforms/memory/remat/planner/overwritten_values.h"
#include "xla/status_macros.h"

// Plans a tree of computations bottom-up on demand. Each computation has a
// RematProblem of its own in which a caller (while, call, conditional) is a
// single node whose internal_bytes are the peaks of its callees. When a step
// with callees is over the limit, the excess can be removed inside the callees,
// which shrinks internal_bytes at the price of seconds times trip count, or
// outside, by dropping values that live across the step. PlanWithShare fixes
// the split and PlanComputation tries the shares 1, 0 and 1/2; recursion over
// callees does the same one level down.
//
// Plans are memoized by computation and limit; the cheapest that fits serves,
// whatever limit it was made for. Results that missed the limit while a bound
// on useful seconds applied are not stored, since another caller might have
// accepted them. Programs that were found serve later searches, too.

namespace xla::remat_plan {
namespace {

// What one more run of a short instruction costs at least, so that plans do not
// repeat thousands of them for nothing.
constexpr double kLaunchSeconds = 2e-8;

// Programs of a computation that later searches begin with, too.
constexpr size_t kKnownPrograms = 16;

bool IsLaunched(const HloInstruction& inst) {
  return inst.opcode() != HloOpcode::kConstant;
}

double SecondsOf(const HloCostAnalysis& cost, const HloInstruction& inst) {
  return IsLaunched(inst) ? cost.optimal_seconds(inst) + kLaunchSeconds : 0;
}

double LaunchSeconds(const ComputationProblem& problem,
                     absl::Span<const NodeId> program) {
  int64_t launched = 0;
  for (NodeId node : program) {
    launched += IsLaunched(*problem.instructions[node]) ? 1 : 0;
  }
  return kLaunchSeconds * static_cast<double>(launched);
}

double TripsOf(const HloInstruction& inst) {
  if (inst.opcode() != HloOpcode::kWhile) return 1;
  return static_cast<double>(ComputeWhileLoopTripCount(&inst).value_or(1));
}

}  // namespace

NestedPlanner::NestedPlanner(const HloModule& module,
                             const HloCostAnalysis& cost,
                             const RematSizeOptions& sizes, int64_t effort,
                             bool reorder, const AliasInfo* in_place,
                             int64_t* work,
                             absl::flat_hash_set<std::string> threads,
                             const absl::flat_hash_set<std::string>& fused)
    : module_(module),
      cost_(cost),
      sizes_(sizes),
      effort_(effort),
      reorder_(reorder),
      in_place_(in_place),
      work_(work),
      threads_(std::move(threads)),
      placed_(IsPlacedByBackend(module)) {
  for (const HloComputation* computation : ComputationsThatRun(module)) {
    AddComputation(computation, fused);
  }
}

int64_t NestedPlanner::CalleeBytes(const HloInstruction& inst,
                                   int64_t Computation::*bytes,
                                   bool at_once) const {
  int64_t sum = 0, most = 0;
  if (!RunsComputations(inst)) return sum;
  for (const HloComputation* callee : inst.called_computations()) {
    auto it = computations_.find(callee);
    if (it == computations_.end()) continue;
    sum += (*it->second).*bytes;
    most = std::max(most, (*it->second).*bytes);
  }
  return at_once ? sum : most;
}

int64_t NestedPlanner::BoundOf(const Computation& computation,
                               RematProblem problem, bool in_place) const {
  for (NodeId n : computation.callers) {
    problem.nodes[n].internal_bytes =
        CalleeBytes(*computation.problem.instructions[n],
                    in_place ? &Computation::in_place_bound_bytes
                             : &Computation::lower_bound_bytes,
                    /*at_once=*/!in_place);
  }
  return LowerBoundBytes(problem, in_place);
}

// Called in post order, so that the callees' peaks and bounds are known.
void NestedPlanner::AddComputation(
    const HloComputation* computation,
    const absl::flat_hash_set<std::string>& fused) {
  if (!module_.schedule().is_computation_scheduled(computation)) return;
  auto added = std::make_unique<Computation>();
  added->problem = MakeComputationProblem(
      module_.schedule().sequence(computation),
      [&](const Shape& shape) { return sizes_.SizeOf(shape); },
      [&](const HloInstruction& inst) { return SecondsOf(cost_, inst); },
      [&](const HloInstruction& inst) {
        return CalleeBytes(inst, &Computation::peak_bytes, /*at_once=*/true);
      },
      placed_);
  if (in_place_ != nullptr) FindInPlaceValues(*in_place_, &added->problem);
  if (!fused.empty()) {
    std::vector<bool> is_fused;
    for (const HloInstruction* inst : added->problem.instructions) {
      is_fused.push_back(fused.contains(inst->name()));
    }
    added->fused = std::make_unique<FusedValues>(std::move(added->problem),
                                                 std::move(is_fused));
    added->problem = added->fused->rest();
  }
  const RematProblem& problem = added->problem.problem;
  RematTrace trace;
  if (TraceProgram(problem, problem.order, &trace).ok()) {
    added->peak_bytes = trace.peak_bytes;
  }
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    if (problem.nodes[n].internal_bytes == 0) continue;
    added->callers.push_back(static_cast<int32_t>(n));
  }
  added->lower_bound_bytes = BoundOf(*added, problem, /*in_place=*/false);
  added->in_place_bound_bytes = BoundOf(*added, problem, /*in_place=*/true);
  computations_[computation] = std::move(added);
}

int64_t NestedPlanner::LowerBound(
    bool in_place, absl::Span<const HloInstruction* const> counted) const {
  const Computation& entry = Get(module_.entry_computation());
  if (counted.empty()) {
    return in_place ? entry.in_place_bound_bytes : entry.lower_bound_bytes;
  }
  const absl::flat_hash_set<const HloInstruction*> arrays(counted.begin(),
                                                          counted.end());
  RematProblem problem = entry.problem.problem;
  for (RematProblem::Value& value : problem.values) {
    if (arrays.contains(entry.problem.instructions[value.node])) {
      value.bytes = 0;
    }
  }
  return BoundOf(entry, std::move(problem), in_place);
}

absl::StatusOr<NestedPlanner::Plan> NestedPlanner::PlanEntry(
    int64_t limit_bytes, double useless_seconds, int64_t room_bytes) {
  room_bytes_ = room_bytes;
  const HloComputation* entry = module_.entry_computation();
  // Bound on the cost of launches.
  const double launches =
      kLaunchSeconds *
      static_cast<double>(Get(entry).problem.problem.nodes.size());
  return PlanComputation(entry, limit_bytes, useless_seconds + launches);
}

absl::StatusOr<RematProgram> NestedPlanner::Search(
    const HloComputation* computation, const RematProblem& problem,
    int64_t limit_bytes, double useless_seconds) {
  std::vector<std::vector<NodeId>>& known =
      computations_.at(computation)->programs;
  RematSearchOptions options;
  options.room_bytes =
      computation == module_.entry_computation() ? room_bytes_ : 0;
  options.limit_bytes = limit_bytes;
  options.useless_seconds = useless_seconds;
  options.effort = effort_;
  options.reorder = reorder_;
  options.known = known;
  int64_t part = 0, left = 0;
  if (work_ != nullptr) {
    // Others may come after it.
    part = computations_.size() > 1 ? *work_ / 3 : *work_ / 3 * 2;
    left = part;
    options.work = &left;
  }
  TF_ASSIGN_OR_RETURN(RematProgram program,
                      SearchProgram(problem, problem.order, options));
  if (work_ != nullptr) *work_ -= part - left;
  if (program.steps != problem.order &&
      !absl::c_linear_search(known, program.steps)) {
    if (known.size() == kKnownPrograms) known.erase(known.begin());
    known.push_back(program.steps);
  }
  return program;
}

NestedPlanner::Plan NestedPlanner::Cheapest(
    const std::map<int64_t, Plan>& plans, Plan best, int64_t limit_bytes) {
  for (const auto& [limit, plan] : plans) {
    if (plan.peak_bytes > limit_bytes) continue;
    if (best.peak_bytes > limit_bytes ||
        plan.added_seconds < best.added_seconds) {
      best = plan;
    }
  }
  return best;
}

void NestedPlanner::Forget(const Plan& plan) {
  const auto has_one = [&](const Plan& other) {
    return absl::c_any_of(plan.programs, [&](const auto& program) {
      const auto it = other.programs.find(program.first);
      return it != other.programs.end() && it->second == program.second;
    });
  };
  for (auto& [computation, of] : computations_) {
    for (auto it = of->plans.begin(); it != of->plans.end();) {
      it = has_one(it->second) ? of->plans.erase(it) : std::next(it);
    }
    const auto program = plan.programs.find(computation);
    if (program == plan.programs.end()) continue;
    std::vector<std::vector<NodeId>>& known = of->programs;
    known.erase(std::remove(known.begin(), known.end(), program->second),
                known.end());
  }
}

absl::StatusOr<NestedPlanner::Plan> NestedPlanner::PlanComputation(
    const HloComputation* computation, int64_t limit_bytes,
    double useless_seconds) {
  const Computation& of = Get(computation);
  Plan best;
  best.peak_bytes = of.peak_bytes;
  if (!threads_.empty() && !threads_.contains(computation->execution_thread()))
    return best;
  // Limits that nothing meets are all the same.
  limit_bytes = std::max(limit_bytes, of.lower_bound_bytes);
  if (of.peak_bytes <= limit_bytes) return best;
  const int64_t room = computation == module_.entry_computation()
                           ? std::max(limit_bytes, room_bytes_)
                           : limit_bytes;
  std::map<int64_t, Plan>& plans = computations_.at(computation)->plans;
  auto known = plans.find(limit_bytes);
  if (known != plans.end()) return Cheapest(plans, known->second, room);
  bool first = true;
  for (double share : {1.0, 0.0, 0.5}) {
    // The next one is to cost less.
    const double useless = !first && best.peak_bytes <= limit_bytes
                               ? std::min(useless_seconds, best.added_seconds)
                               : useless_seconds;
    TF_ASSIGN_OR_RETURN(
        Plan plan, PlanWithShare(computation, limit_bytes, share, useless));
    const bool met = plan.peak_bytes <= limit_bytes;
    const bool best_met = best.peak_bytes <= limit_bytes;
    if (first || (met && !best_met) ||
        (met == best_met && (met ? plan.added_seconds < best.added_seconds
                                 : plan.peak_bytes < best.peak_bytes))) {
      best = std::move(plan);
    }
    first = false;
    if (of.callers.empty()) break;
  }
  // Others may take what is of no use to this caller.
  if (best.peak_bytes <= limit_bytes || std::isinf(useless_seconds)) {
    plans[limit_bytes] = best;
  }
  return Cheapest(plans, std::move(best), room);
}

// Distributes the reduction over the callees in proportion to their peaks; all
// of them are live together at most.
absl::StatusOr<NestedPlanner::Plan> NestedPlanner::LowerCallees(
    const HloInstruction& caller, int64_t bytes) {
  std::vector<const HloComputation*> callees;
  int64_t total = 0;
  for (const HloComputation* callee : caller.called_computations()) {
    if (!computations_.contains(callee)) continue;
    callees.push_back(callee);
    total += Get(callee).peak_bytes;
  }
  Plan result;
  result.peak_bytes = total;
  for (const HloComputation* callee : callees) {
    const int64_t peak = Get(callee).peak_bytes;
    if (peak == 0) continue;
    const double part = static_cast<double>(peak) / static_cast<double>(total);
    // Shares are rounded down: one byte more.
    const int64_t lower =
        static_cast<int64_t>(static_cast<double>(bytes) * part) + 1;
    TF_ASSIGN_OR_RETURN(
        Plan inner, PlanComputation(callee, peak - lower,
                                    std::numeric_limits<double>::infinity()));
    if (inner.peak_bytes >= peak) continue;
    result.peak_bytes -= peak - inner.peak_bytes;
    result.added_seconds += TripsOf(caller) * inner.added_seconds;
    result.launch_seconds += TripsOf(caller) * inner.launch_seconds;
    for (auto& [computation, program] : inner.programs) {
      result.programs[computation] = std::move(program);
    }
  }
  return result;
}

// First lowers callees by `share` of the excess at each step, then searches a
// program for this computation. If that misses the limit, what is still over it
// in the found program is given to the callees in full and the search repeated.
// Seconds of the callees count against what the program may cost.
absl::StatusOr<NestedPlanner::Plan> NestedPlanner::PlanWithShare(
    const HloComputation* computation, int64_t limit_bytes, double share,
    double useless_seconds) {
  const Computation& of = Get(computation);
  RematProblem problem = of.problem.problem;
  RematTrace trace;
  TF_RETURN_IF_ERROR(TraceProgram(problem, problem.order, &trace));
  const double seconds = trace.seconds;
  absl::btree_map<NodeId, Plan> inner;
  // Lowers callees by this part of the excess of a step of `trace`.
  const auto lower = [&](double part) -> absl::Status {
    for (int64_t step = 0; step < trace.step_count(); ++step) {
      const NodeId node = trace.steps[step];
      const int64_t excess = trace.live[step] - limit_bytes;
      RematProblem::Node& caller = problem.nodes[node];
      if (excess <= 0 || caller.internal_bytes == 0) continue;
      const int64_t already =
          of.problem.problem.nodes[node].internal_bytes - caller.internal_bytes;
      TF_ASSIGN_OR_RETURN(
          Plan plan,
          LowerCallees(*of.problem.instructions[node],
                       already + static_cast<int64_t>(
                                     static_cast<double>(excess) * part)));
      if (plan.peak_bytes >= caller.internal_bytes) continue;
      caller.internal_bytes = plan.peak_bytes;
      inner[node] = std::move(plan);
    }
    return absl::OkStatus();
  };
  const auto search = [&]() {
    double useless = seconds + useless_seconds;
    for (const auto& [node, callees] : inner) useless -= callees.added_seconds;
    return Search(computation, problem, limit_bytes, useless);
  };
  if (share > 0) TF_RETURN_IF_ERROR(lower(share));
  TF_ASSIGN_OR_RETURN(RematProgram program, search());
  if (program.peak_bytes > limit_bytes && share < 1 && !of.callers.empty() &&
      program.seconds <= seconds + useless_seconds) {
    TF_RETURN_IF_ERROR(TraceProgram(problem, program.steps, &trace));
    TF_RETURN_IF_ERROR(lower(1.0));
    TF_ASSIGN_OR_RETURN(program, search());
  }
  Plan plan;
  plan.peak_bytes = program.peak_bytes;
  plan.added_seconds = program.seconds - seconds;
  plan.launch_seconds = LaunchSeconds(of.problem, program.steps) -
                        LaunchSeconds(of.problem, problem.order);
  for (auto& [node, callees] : inner) {
    plan.added_seconds += callees.added_seconds;
    plan.launch_seconds += callees.launch_seconds;
    for (auto& [callee, callee_program] : callees.programs) {
      plan.programs[callee] = std::move(callee_program);
    }
  }
  if (program.steps != problem.order) {
    plan.programs[computation] = std::move(program.steps);
  }
  return plan;
}

// Instructions of the clone correspond to those of the module by computation
// order and place in the sequence.
absl::Status NestedPlanner::ApplyToClone(const Plan& plan,
                                         const ApplyOptions& options,
                                         HloModule* clone) const {
  const std::vector<HloComputation*> from = ComputationsThatRun(module_);
  const std::vector<HloComputation*> to = ComputationsThatRun(*clone);
  TF_RET_CHECK(from.size() == to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    auto it = plan.programs.find(from[i]);
    if (it == plan.programs.end()) continue;
    const std::vector<HloInstruction*>& old =
        module_.schedule().sequence(from[i]).instructions();
    const std::vector<HloInstruction*>& now =
        clone->schedule().sequence(to[i]).instructions();
    TF_RET_CHECK(old.size() == now.size());
    absl::flat_hash_map<const HloInstruction*, HloInstruction*> clone_of;
    for (size_t k = 0; k < old.size(); ++k) clone_of[old[k]] = now[k];
    const Computation& of = Get(from[i]);
    std::vector<HloInstruction*> nodes;
    for (const HloInstruction* inst : of.fused != nullptr
                                          ? of.fused->instructions()
                                          : of.problem.instructions) {
      nodes.push_back(clone_of.at(inst));
    }
    const std::vector<NodeId> program =
        of.fused != nullptr ? of.fused->Expand(it->second) : it->second;
    TF_RETURN_IF_ERROR(
        ApplyProgram(nodes, program, options, to[i], &clone->schedule()));
  }
  return absl::OkStatus();
}

}  // namespace xla::remat_plan
