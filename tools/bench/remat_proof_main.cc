// Rewrites random modules for several limits and holds the results against
// everything that must be true of them; then compares plans for random graphs
// with exact ones. Exit status 1 if anything is wrong.

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/flags/flag.h"
#include "absl/log/globals.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/tool_main.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/memory/schedulers/remat_checker.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_exact.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_search.h"
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
ABSL_FLAG(bool, random_limits, false,
          "Four limits drawn for each module, not the same percents for all.");
ABSL_FLAG(bool, verbose, false,
          "Tells of each plan that needs more, or costs less, than one for a "
          "higher limit; to stderr.");
ABSL_FLAG(bool, list, false,
          "Lists all plans, to compare two planners: module, limit, peak, met, "
          "microseconds of the module, processor milliseconds of the planner, "
          "method.");

namespace {

using xla::remat_plan::NodeId;
using xla::remat_plan::RematProblem;
using xla::remat_plan::ValueId;

// Limits, in percent of the gap between the lower bound and the peak.
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
  // That it misses the limit is expected.
  absl::ScopedStderrThreshold quiet(absl::LogSeverityAtLeast::kError);
  return pass.Run(module).status();
}

struct Counts {
  int64_t plans = 0, over = 0, met = 0, changed = 0, evaluated = 0;
  int64_t always_met = 0;
  // Plans that need more, or cost less, than one for a higher limit.
  int64_t need_more = 0, cost_less = 0;
  // Sums over modules whose limit is met: seconds with the plan, and their
  // ratio to the seconds without it.
  double seconds = 0, ratios = 0;
  // Processor time of the planner for limits below the peak.
  std::vector<double> planner_ms;
};

// The best that plans for higher limits reached.
struct Curve {
  int64_t peak_bytes = std::numeric_limits<int64_t>::max();
  double seconds = 0;  // of those that are met
};

absl::Status Wrong(absl::string_view what) { return absl::InternalError(what); }

// One limit of a module, and how to call it.
struct Limit {
  int64_t bytes = 0;
  std::string name;
};

void CheckCurve(const xla::RematPlanResult& plan, const std::string& name,
                Curve* curve, Counts* counts) {
  const bool verbose = absl::GetFlag(FLAGS_verbose);
  if (plan.peak_after_bytes > curve->peak_bytes) {
    ++counts->need_more;
    if (verbose) {
      std::cerr << absl::StreamFormat(
          "%s (%s): needs %d bytes; for a higher limit %d\n", name, plan.method,
          plan.peak_after_bytes, curve->peak_bytes);
    }
  }
  curve->peak_bytes = std::min(curve->peak_bytes, plan.peak_after_bytes);
  if (!plan.met) return;
  const double seconds = plan.work_after.seconds;
  if (seconds < curve->seconds * (1 - 1e-9)) {
    ++counts->cost_less;
    if (verbose) {
      std::cerr << absl::StreamFormat(
          "%s (%s): takes %.6f us; for a higher limit %.6f\n", name,
          plan.method, 1e6 * seconds, 1e6 * curve->seconds);
    }
  }
  curve->seconds = std::max(curve->seconds, seconds);
}

// The result of always-remat for this limit is no better.
absl::Status CompareWithAlways(const xla::HloModule& module, int64_t limit,
                               const xla::RematPlanResult& plan,
                               Counts* counts) {
  std::unique_ptr<xla::HloModule> always = module.Clone("");
  TF_RETURN_IF_ERROR(AlwaysRemat(limit, always.get()));
  TF_ASSIGN_OR_RETURN(xla::RematPeak theirs,
                      xla::ComputeRematPeak(*always, always->schedule()));
  TF_ASSIGN_OR_RETURN(
      xla::RematWork work,
      xla::ComputeRematWork(*always, xla::DefaultRematDevice()));
  if (theirs.bytes > limit) return absl::OkStatus();
  ++counts->always_met;
  if (!plan.met) return Wrong("always-remat meets this limit");
  return plan.work_after.seconds > work.seconds * (1 + 1e-9)
             ? Wrong("always-remat costs less")
             : absl::OkStatus();
}

void Count(const xla::RematPlanResult& plan, const Limit& limit, double ms,
           Counts* counts) {
  ++counts->plans;
  if (absl::GetFlag(FLAGS_list)) {
    std::cout << absl::StreamFormat("%s: %d %d %d %.9f %.3f %s\n", limit.name,
                                    limit.bytes, plan.peak_after_bytes,
                                    plan.met, 1e6 * plan.work_after.seconds, ms,
                                    plan.method);
  }
  if (plan.peak_before_bytes <= limit.bytes) return;
  ++counts->over;
  counts->planner_ms.push_back(ms);
  if (!plan.met) return;
  ++counts->met;
  counts->seconds += plan.work_after.seconds;
  counts->ratios += plan.work_after.seconds / plan.work_before.seconds;
}

// One limit; what the plan did goes into `counts`.
absl::Status CheckPlan(const xla::HloModule& module, int64_t peak,
                       const Limit& limit, const xla::ModuleMeaning* meaning,
                       Curve* curve, Counts* counts) {
  std::unique_ptr<xla::HloModule> copy = module.Clone("");
  xla::RematPlanOptions options;
  options.limit_bytes = limit.bytes;
  options.others.emplace_back("always", AlwaysRemat);
  const std::clock_t start = std::clock();
  TF_ASSIGN_OR_RETURN(xla::RematPlanResult plan,
                      xla::PlanRematerialization(copy.get(), options));
  Count(plan, limit,
        1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC,
        counts);
  if (plan.peak_before_bytes != peak) return Wrong("another peak before");
  if (plan.met != (plan.peak_after_bytes <= limit.bytes)) return Wrong("met?");
  CheckCurve(plan, limit.name, curve, counts);
  xla::HloVerifierOpts verifier;
  verifier.allow_mixed_precision = true;
  TF_RETURN_IF_ERROR(xla::VerifyHloModule(copy.get(), verifier));
  TF_RETURN_IF_ERROR(xla::CheckRematPeak(*copy, plan.peak_after_bytes));
  TF_RETURN_IF_ERROR(CompareWithAlways(module, limit.bytes, plan, counts));
  if (plan.met) {
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

// From the highest one down.
std::vector<Limit> LimitsOf(uint64_t seed, int64_t peak, int64_t lower_bound) {
  const int64_t room = peak - lower_bound;
  std::vector<Limit> limits;
  if (absl::GetFlag(FLAGS_random_limits)) {
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < std::size(kPercents); ++i) {
      // Modules that meet the limit stay as they are, whatever could be saved.
      const uint64_t drawn =
          random() % static_cast<uint64_t>(std::max<int64_t>(room, 1));
      limits.push_back({lower_bound + static_cast<int64_t>(drawn), ""});
    }
    std::sort(limits.begin(), limits.end(),
              [](const Limit& a, const Limit& b) { return a.bytes > b.bytes; });
    for (Limit& limit : limits) {
      limit.name = absl::StrCat("module ", seed, " at ", limit.bytes, " bytes");
    }
    return limits;
  }
  for (int percent : kPercents) {
    limits.push_back({lower_bound + room * percent / 100,
                      absl::StrCat("module ", seed, " at ", percent, " %")});
  }
  return limits;
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
  Curve curve;
  for (const Limit& limit :
       LimitsOf(seed, peak.bytes, whole.lower_bound_bytes)) {
    absl::Status status =
        CheckPlan(*module, peak.bytes, limit,
                  meaning.ok() ? meaning->get() : nullptr, &curve, counts);
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(limit.name, ": ", status.message()));
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

void Report(Counts counts, int wrong) {
  std::cout << absl::StreamFormat(
      "%d plans, %d for limits below the peak: %d met (always-remat %d), %d "
      "modules changed, %d of those evaluated; %d need more and %d cost less "
      "than for a higher limit; %d wrong\n",
      counts.plans, counts.over, counts.met,
      counts.always_met - (counts.plans - counts.over), counts.changed,
      counts.evaluated, counts.need_more, counts.cost_less, wrong);
  std::vector<double>& ms = counts.planner_ms;
  if (ms.empty()) return;
  std::sort(ms.begin(), ms.end());
  std::cout << absl::StreamFormat(
      "modules whose limit is met: %.3f us together, by before mean %.6f; "
      "planner: processor ms %.2f mean, %.2f median, %.2f at most\n",
      1e6 * counts.seconds,
      counts.ratios / static_cast<double>(std::max<int64_t>(counts.met, 1)),
      std::accumulate(ms.begin(), ms.end(), 0.0) /
          static_cast<double>(ms.size()),
      ms[ms.size() / 2], ms.back());
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
  Report(std::move(counts), wrong);
  const absl::Status exact = CompareWithExact();
  if (!exact.ok()) std::cout << exact << "\n";
  return wrong == 0 && exact.ok() ? 0 : 1;
}
