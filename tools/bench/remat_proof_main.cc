// Rewrites random modules for several limits and holds the results against
// everything that must be true of them; then compares plans for random graphs
// with exact ones. Exit status 1 if anything is wrong.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/tool_main.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/memory/compute_schedule.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_exact.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_planner.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_problem.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_search.h"
#include "xla/hlo/transforms/memory/rematerialization/hlo_rematerialization.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_accounting.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_checker.h"
#include "xla/hlo/transforms/simplifiers/call_inliner.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/status_macros.h"

ABSL_FLAG(int, modules, 2000, "Random modules; each for four limits.");
ABSL_FLAG(int, first, 0, "Seed of the first of them.");
ABSL_FLAG(int, steps, 30, "Of the growth of a module.");
ABSL_FLAG(int, graphs, 1000, "Random graphs.");
ABSL_FLAG(int, nodes, 13, "Of a graph, at most 16.");

namespace {

using xla::remat_plan::NodeId;
using xla::remat_plan::RematProblem;
using xla::remat_plan::ValueId;

// Of what lies between the peak and the lower bound.
constexpr int kPercents[] = {85, 60, 35, 10};

absl::Status Prepare(xla::HloModule* module) {
  TF_RETURN_IF_ERROR(xla::CallInliner().Run(module).status());
  TF_RETURN_IF_ERROR(xla::FlattenCallGraph().Run(module).status());
  TF_RETURN_IF_ERROR(xla::TupleSimplifier().Run(module).status());
  TF_RETURN_IF_ERROR(xla::HloDCE().Run(module).status());
  xla::ScheduleOptions options;
  options.algorithm = xla::ScheduleAlgorithm::kDefault;
  TF_ASSIGN_OR_RETURN(auto schedule, xla::ComputeSchedule(module, options));
  return module->set_schedule(std::move(schedule.schedule));
}

absl::Status AlwaysRemat(int64_t limit, xla::HloModule* module) {
  xla::HloCostAnalysis cost(xla::DefaultRematDevice());
  xla::HloRematerialization::RematerializationSizes sizes;
  xla::HloRematerialization pass(
      xla::HloRematerialization::Options(
          cost,
          xla::HloRematerialization::RematerializationModeConfig(true, false,
                                                                 false),
          limit, 1, 1, 0, nullptr, std::nullopt, {}),
      sizes);
  return pass.Run(module).status();
}

struct Counts {
  int64_t plans = 0, over = 0, met = 0, changed = 0, evaluated = 0;
  int64_t always_met = 0;
  // Plans that need more, or cost less, than one for a higher limit.
  int64_t need_more = 0, cost_less = 0;
};

// Of plans for higher limits.
struct Curve {
  int64_t peak_bytes = std::numeric_limits<int64_t>::max();
  double seconds = 0;  // of those that are met
};

absl::Status Wrong(absl::string_view what) { return absl::InternalError(what); }

void CheckCurve(const xla::RematPlanResult& plan, Curve* curve,
                Counts* counts) {
  if (plan.peak_after_bytes > curve->peak_bytes) ++counts->need_more;
  curve->peak_bytes = std::min(curve->peak_bytes, plan.peak_after_bytes);
  if (!plan.met) return;
  const double seconds = plan.work_after.seconds;
  if (seconds < curve->seconds * (1 - 1e-9)) ++counts->cost_less;
  curve->seconds = std::max(curve->seconds, seconds);
}

// One limit; what the plan did goes into `counts`.
absl::Status CheckPlan(const xla::HloModule& module, int64_t peak,
                       int64_t limit, const xla::ModuleMeaning* meaning,
                       Curve* curve, Counts* counts) {
  ++counts->plans;
  std::unique_ptr<xla::HloModule> copy = module.Clone("");
  xla::RematPlanOptions options;
  options.limit_bytes = limit;
  options.others.emplace_back("always", [limit](xla::HloModule* other) {
    return AlwaysRemat(limit, other);
  });
  TF_ASSIGN_OR_RETURN(xla::RematPlanResult plan,
                      xla::PlanRematerialization(copy.get(), options));
  if (plan.peak_before_bytes != peak) return Wrong("another peak before");
  if (plan.met != (plan.peak_after_bytes <= limit)) return Wrong("met?");
  CheckCurve(plan, curve, counts);
  xla::HloVerifierOpts verifier;
  verifier.allow_mixed_precision = true;
  TF_RETURN_IF_ERROR(xla::VerifyHloModule(copy.get(), verifier));
  TF_RETURN_IF_ERROR(xla::CheckRematPeak(*copy, plan.peak_after_bytes));
  std::unique_ptr<xla::HloModule> always = module.Clone("");
  TF_RETURN_IF_ERROR(AlwaysRemat(limit, always.get()));
  TF_ASSIGN_OR_RETURN(xla::RematPeak theirs,
                      xla::ComputeRematPeak(*always, always->schedule()));
  TF_ASSIGN_OR_RETURN(
      xla::RematWork work,
      xla::ComputeRematWork(*always, xla::DefaultRematDevice()));
  if (theirs.bytes <= limit) {
    ++counts->always_met;
    if (!plan.met) return Wrong("always-remat meets this limit");
    if (plan.work_after.seconds > work.seconds * (1 + 1e-9)) {
      return Wrong("always-remat costs less");
    }
  }
  if (peak > limit) ++counts->over;
  if (plan.met) {
    counts->met += peak > limit ? 1 : 0;
    TF_ASSIGN_OR_RETURN(xla::RematPlanResult again,
                        xla::PlanRematerialization(copy.get(), options));
    if (again.changed) return Wrong("a second run changes the module");
  }
  if (!plan.changed) return absl::OkStatus();
  ++counts->changed;
  if (meaning == nullptr) return absl::OkStatus();
  ++counts->evaluated;
  TF_ASSIGN_OR_RETURN(auto difference, meaning->DifferenceFrom(*copy));
  return difference.has_value() ? Wrong(*difference) : absl::OkStatus();
}

absl::Status CheckModule(uint64_t seed, Counts* counts) {
  xla::RandomModuleOptions random;
  random.steps = absl::GetFlag(FLAGS_steps);
  std::unique_ptr<xla::HloModule> module = xla::RandomModule(seed, random);
  TF_RETURN_IF_ERROR(Prepare(module.get()));
  TF_ASSIGN_OR_RETURN(xla::RematPeak peak,
                      xla::ComputeRematPeak(*module, module->schedule()));
  xla::MeaningOptions options;
  options.max_work = 5'000'000;
  auto meaning = xla::ModuleMeaning::Make(*module, options);
  xla::RematPlanOptions as_is;
  as_is.limit_bytes = std::numeric_limits<int64_t>::max();
  TF_ASSIGN_OR_RETURN(xla::RematPlanResult whole,
                      xla::PlanRematerialization(module.get(), as_is));
  const int64_t room = peak.bytes - whole.lower_bound_bytes;
  Curve curve;
  for (int percent : kPercents) {
    absl::Status status = CheckPlan(
        *module, peak.bytes, whole.lower_bound_bytes + room * percent / 100,
        meaning.ok() ? meaning->get() : nullptr, &curve, counts);
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("module ", seed, " at ", percent,
                                       " %: ", status.message()));
    }
  }
  return absl::OkStatus();
}

RematProblem RandomProblem(int seed, int nodes) {
  std::mt19937 random(seed);
  const auto draw = [&](int n) { return static_cast<int>(random() % n); };
  RematProblem problem;
  for (int i = 0; i < nodes; ++i) {
    std::set<ValueId> reads;
    if (i > 0) {
      reads.insert(draw(i));
      if (draw(2) == 0) reads.insert(std::max(0, i - 1 - draw(2)));
      if (draw(3) == 0) reads.insert(draw(i));
    }
    RematProblem::Node node;
    node.seconds = i == 0 ? 0 : 1 + draw(9);
    node.recomputable = i > 0 && draw(8) != 0;
    node.first_value = i;
    node.value_count = 1;
    node.reads.assign(reads.begin(), reads.end());
    problem.nodes.push_back(node);
    problem.values.push_back({i, i == 0 ? 0 : 1 + draw(10), -1});
    problem.order.push_back(i);
  }
  problem.outputs = {nodes - 1};
  return problem;
}

// Seconds of plans by those of exact programs, for limits between the lower
// bound and the peak.
absl::Status CompareWithExact() {
  double sum = 0, worst = 1;
  int count = 0, missed = 0;
  for (int seed = 0; seed < absl::GetFlag(FLAGS_graphs); ++seed) {
    const int nodes = 6 + seed % (absl::GetFlag(FLAGS_nodes) - 5);
    const RematProblem problem = RandomProblem(seed, nodes);
    xla::remat_plan::RematTrace trace;
    TF_RETURN_IF_ERROR(TraceProgram(problem, problem.order, &trace));
    const int64_t bound = LowerBoundBytes(problem);
    if (bound >= trace.peak_bytes) continue;
    xla::remat_plan::RematSearchOptions options;
    options.limit_bytes = bound + (trace.peak_bytes - bound) * (seed % 3) / 3;
    options.reorder = false;  // exact plans are for this order
    const auto exact = xla::remat_plan::ExactProgram(
        problem, options.limit_bytes, int64_t{1} << 21);
    if (!exact.has_value()) continue;
    TF_RETURN_IF_ERROR(TraceProgram(problem, *exact, &trace));
    TF_ASSIGN_OR_RETURN(auto found,
                        SearchProgram(problem, problem.order, options));
    ++count;
    missed += found.peak_bytes > options.limit_bytes ? 1 : 0;
    const double ratio = found.seconds / trace.seconds;
    sum += ratio;
    worst = std::max(worst, ratio);
  }
  std::cout << absl::StreamFormat(
      "%d graphs with exact plans: seconds by exact mean %.4f, worst %.3f; "
      "%d limits missed\n",
      count, sum / std::max(count, 1), worst, missed);
  return missed == 0 ? absl::OkStatus() : Wrong("limits missed");
}

}  // namespace

int main(int argc, char** argv) {
  xla::InitTool(argc, argv, "proves properties of rematerialization plans\n");
  Counts counts;
  int wrong = 0;
  const int first = absl::GetFlag(FLAGS_first);
  for (int seed = first; seed < first + absl::GetFlag(FLAGS_modules); ++seed) {
    absl::Status status = CheckModule(seed, &counts);
    if (status.ok()) continue;
    ++wrong;
    std::cout << status << "\n";
  }
  std::cout << absl::StreamFormat(
      "%d plans, %d for limits below the peak: %d met (always-remat %d), %d "
      "modules changed, %d of those evaluated; %d need more and %d cost less "
      "than for a higher limit; %d wrong\n",
      counts.plans, counts.over, counts.met,
      counts.always_met - (counts.plans - counts.over), counts.changed,
      counts.evaluated, counts.need_more, counts.cost_less, wrong);
  const absl::Status exact = CompareWithExact();
  if (!exact.ok()) std::cout << exact << "\n";
  return wrong == 0 && exact.ok() ? 0 : 1;
}
