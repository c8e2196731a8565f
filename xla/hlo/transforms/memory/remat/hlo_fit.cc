#include "xla/hlo/transforms/memory/remat/hlo_fit.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/log/globals.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/ir/instruction_source.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/hlo/memory/report/remat_report.h"
#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/layout.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

absl::StatusOr<int64_t> PeakByReport(const HloModule& module) {
  AliasInfo alias_info;
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(&module, &alias_info));
  return PeakOfSchedule(module.schedule(), *alias_analysis, &alias_info,
                        DefaultSizeFunction());
}

absl::StatusOr<int64_t> PeakOf(const HloModule& module,
                               RematAccounting accounting) {
  if (accounting == RematAccounting::kOurs) return PeakByReport(module);
  TF_ASSIGN_OR_RETURN(RematPeak peak,
                      ComputeRematPeak(module, module.schedule()));
  return peak.bytes;
}

// Makes values wait on the host until the limit is met.
absl::Status Offload(double bandwidth, int64_t limit_bytes, HloModule* module) {
  absl::ScopedStderrThreshold quiet(absl::LogSeverityAtLeast::kError);
  HloCostAnalysis cost(DefaultRematDevice());
  HloRematerialization::Options options(
      cost,
      HloRematerialization::RematerializationModeConfig(
          /*recompute=*/false, /*compress=*/false, /*host_offload=*/true),
      limit_bytes, /*block_size_limit=*/1, /*block_rematerialization_factor=*/1,
      /*min_remat_size=*/0, nullptr,
      HloRematerialization::HostMemoryOffloadConfig(
          Layout::kHostMemorySpace, static_cast<float>(bandwidth),
          static_cast<float>(bandwidth)),
      {});
  HloRematerialization::RematerializationSizes sizes;
  return HloRematerialization(options, sizes).Run(module).status();
}

absl::Status RunAlgorithm(RematerializationAlgorithm algorithm,
                          int64_t limit_bytes, HloModule* module) {
  HloCostAnalysis cost(DefaultRematDevice());
  HloRematerialization::Options options(
      cost,
      HloRematerialization::RematerializationModeConfig(true, false, false),
      limit_bytes, /*block_size_limit=*/1, /*block_rematerialization_factor=*/1,
      /*min_remat_size=*/0, nullptr, std::nullopt, {},
      algorithm == RematerializationAlgorithm::kPeakPriority
          ? HloRematerialization::kPeakPriority
          : HloRematerialization::kAlwaysRemat);
  options.direct_uses_only =
      algorithm == RematerializationAlgorithm::kBaseline2018;
  HloRematerialization::RematerializationSizes sizes;
  HloRematerialization pass(options, sizes);
  return pass.Run(module).status();
}

// The limit of OpenXLA's algorithms under another accounting: they count less
// by what they leave out.
absl::StatusOr<int64_t> LimitForAlgorithms(const HloModule& module,
                                           RematAccounting accounting,
                                           int64_t limit_bytes) {
  if (accounting == RematAccounting::kUpstream) return limit_bytes;
  TF_ASSIGN_OR_RETURN(int64_t ours, PeakOf(module, accounting));
  TF_ASSIGN_OR_RETURN(int64_t theirs,
                      PeakOf(module, RematAccounting::kUpstream));
  return std::max<int64_t>(0, limit_bytes - (ours - theirs));
}

RematPlanOptions MakePlanOptions(const HloFitOptions& options) {
  RematPlanOptions plan;
  plan.effort = options.effort;
  plan.across_loops = options.across_loops;
  plan.reschedule = options.reschedule;
  plan.fuse = options.fuse;
  plan.optimization_barriers = options.barriers;
  if (options.accounting == RematAccounting::kOurs) plan.peak = PeakByReport;
  return plan;
}

absl::StatusOr<RematPlanResult> Plan(const HloFitOptions& options,
                                     int64_t limit_bytes, HloModule* module) {
  RematPlanOptions plan = MakePlanOptions(options);
  plan.limit_bytes = limit_bytes;
  if (options.offload) {
    plan.move_out = [&options](int64_t limit, HloModule* copy) {
      return Offload(options.host_bandwidth, limit, copy);
    };
  }
  for (RematerializationAlgorithm algorithm :
       {RematerializationAlgorithm::kAlwaysRemat,
        RematerializationAlgorithm::kPeakPriority}) {
    const auto rewrite = [algorithm, limit_bytes,
                          &options](HloModule* copy) -> absl::Status {
      TF_ASSIGN_OR_RETURN(
          int64_t their_limit,
          LimitForAlgorithms(*copy, options.accounting, limit_bytes));
      // That a candidate misses the limit is no news.
      absl::ScopedStderrThreshold quiet(absl::LogSeverityAtLeast::kError);
      return RunAlgorithm(algorithm, their_limit, copy);
    };
    plan.others.emplace_back(AbslUnparseFlag(algorithm), rewrite);
  }
  return PlanRematerialization(module, plan);
}

// What the module needs and does; no limit is as much.
absl::StatusOr<RematPlanResult> Describe(const HloFitOptions& options,
                                         HloModule* module) {
  RematPlanOptions plan = MakePlanOptions(options);
  plan.limit_bytes = std::numeric_limits<int64_t>::max();
  return PlanRematerialization(module, plan);
}

// Rewrites by one of OpenXLA's algorithms, and measures what that takes without
// what is counted for the report before and after.
absl::StatusOr<RematPlanResult> RunOther(const HloFitOptions& options,
                                         int64_t limit_bytes, HloModule* module,
                                         absl::Duration* taken) {
  TF_ASSIGN_OR_RETURN(RematPlanResult result, Describe(options, module));
  if (result.peak_before_bytes > limit_bytes) {
    TF_ASSIGN_OR_RETURN(
        int64_t their_limit,
        LimitForAlgorithms(*module, options.accounting, limit_bytes));
    const absl::Time start = absl::Now();
    TF_RETURN_IF_ERROR(RunAlgorithm(options.strategy, their_limit, module));
    *taken = absl::Now() - start;
    TF_ASSIGN_OR_RETURN(RematPlanResult after, Describe(options, module));
    result.peak_after_bytes = after.peak_before_bytes;
    result.work_after = after.work_before;
    result.instructions_after = after.instructions_before;
    result.method = AbslUnparseFlag(options.strategy);
  }
  result.met = result.peak_after_bytes <= limit_bytes;
  if (!result.met) {
    TF_ASSIGN_OR_RETURN(result.binding, FindBindingBuffers(*module));
  }
  return result;
}

double Fraction(double after, double before) {
  return before > 0 ? after / before - 1 : 0;
}

void AddBinding(const RematPlanResult& result, RematReport* report) {
  for (const RematBindingBuffer& buffer : result.binding) {
    const HloInstruction& inst = *buffer.instruction;
    RematReport::Buffer* added = report->add_binding();
    added->set_name(std::string(inst.name()));
    added->set_computation(std::string(inst.parent()->name()));
    added->set_opcode(std::string(HloOpcodeString(inst.opcode())));
    added->set_shape(ShapeUtil::HumanString(inst.shape()));
    added->set_bytes(static_cast<double>(buffer.bytes));
    added->set_op_name(inst.metadata().op_name());
    added->set_source(InstructionSource(inst));
  }
}

RematReport MakeReport(const HloFitOptions& options, int64_t limit_bytes,
                       const RematPlanResult& result, const HloModule& module) {
  RematReport report;
  report.set_module(std::string(module.name()));
  report.set_strategy(AbslUnparseFlag(options.strategy));
  report.set_method(result.method);
  report.set_accounting(AbslUnparseFlag(options.accounting));
  report.set_met(result.met);
  report.set_limit_bytes(static_cast<double>(limit_bytes));
  report.set_peak_before_bytes(static_cast<double>(result.peak_before_bytes));
  report.set_peak_after_bytes(static_cast<double>(result.peak_after_bytes));
  report.set_lower_bound_bytes(static_cast<double>(result.lower_bound_bytes));
  const RematWork& before = result.work_before;
  const RematWork& after = result.work_after;
  report.set_added_flops(after.flops - before.flops);
  report.set_added_flops_fraction(Fraction(after.flops, before.flops));
  report.set_added_bytes(after.bytes - before.bytes);
  report.set_added_bytes_fraction(Fraction(after.bytes, before.bytes));
  report.set_added_seconds(after.seconds - before.seconds);
  report.set_added_seconds_fraction(Fraction(after.seconds, before.seconds));
  report.set_instructions_added(static_cast<double>(
      result.instructions_after - result.instructions_before));
  AddBinding(result, &report);
  return report;
}

RematCurve::Point MakePoint(const RematPlanResult& result,
                            const RematReport& report) {
  RematCurve::Point point;
  point.set_met(result.met);
  point.set_peak_bytes(report.peak_after_bytes());
  point.set_added_flops_fraction(report.added_flops_fraction());
  point.set_added_seconds(report.added_seconds());
  point.set_added_seconds_fraction(report.added_seconds_fraction());
  point.set_instructions_added(report.instructions_added());
  point.set_method(result.method);
  return point;
}

// The plan of another point for this one's limit.
void TakePlan(const RematCurve::Point& from, RematCurve::Point* to) {
  const double limit = to->limit_bytes(), fraction = to->limit_fraction();
  *to = from;
  to->set_limit_bytes(limit);
  to->set_limit_fraction(fraction);
  to->set_met(to->peak_bytes() <= limit);
}

// Lets plans serve other limits, of points from the highest limit down: higher
// ones where they cost less, lower ones where no plan fits.
void ShareAlongCurve(std::vector<RematCurve::Point>* points) {
  for (size_t i = points->size(); i-- > 1;) {
    const RematCurve::Point& below = (*points)[i];
    RematCurve::Point& point = (*points)[i - 1];
    const bool fits = below.peak_bytes() <= point.limit_bytes();
    const bool cheaper = below.added_seconds() < point.added_seconds();
    const bool less = below.peak_bytes() < point.peak_bytes();
    if (point.met() ? fits && cheaper : fits || less) TakePlan(below, &point);
  }
  for (size_t i = 1; i < points->size(); ++i) {
    const RematCurve::Point& above = (*points)[i - 1];
    RematCurve::Point& point = (*points)[i];
    if (!point.met() && above.peak_bytes() < point.peak_bytes()) {
      TakePlan(above, &point);
    }
  }
}

absl::Status VerifyRewritten(HloModule* module) {
  HloVerifierOpts opts;
  opts.allow_mixed_precision = true;
  return VerifyHloModule(module, opts);
}

}  // namespace

bool AbslParseFlag(absl::string_view text, RematAccounting* accounting,
                   std::string* error) {
  if (text == "ours") {
    *accounting = RematAccounting::kOurs;
  } else if (text == "upstream") {
    *accounting = RematAccounting::kUpstream;
  } else {
    *error = absl::StrCat("'", text, "' is neither ours nor upstream");
    return false;
  }
  return true;
}

std::string AbslUnparseFlag(RematAccounting accounting) {
  return accounting == RematAccounting::kOurs ? "ours" : "upstream";
}

absl::Status FitModule(const HloFitOptions& options, HloModule* module,
                       std::ostream& out) {
  if (options.limit.empty()) {
    return absl::InvalidArgumentError("--fit needs a --limit");
  }
  TF_ASSIGN_OR_RETURN(int64_t peak, PeakOf(*module, options.accounting));
  TF_ASSIGN_OR_RETURN(int64_t limit_bytes,
                      ParseMemoryLimit(options.limit, peak));
  RematPlanResult result;
  absl::Duration taken;
  if (options.strategy == RematerializationAlgorithm::kPlan) {
    const absl::Time start = absl::Now();
    TF_ASSIGN_OR_RETURN(result, Plan(options, limit_bytes, module));
    taken = absl::Now() - start;
  } else {
    TF_ASSIGN_OR_RETURN(result, RunOther(options, limit_bytes, module, &taken));
  }
  TF_RETURN_IF_ERROR(VerifyRewritten(module));
  RematReport report = MakeReport(options, limit_bytes, result, *module);
  if (options.seconds) {
    report.set_seconds(absl::ToDoubleSeconds(taken));
  }
  if (options.json) {
    TF_ASSIGN_OR_RETURN(std::string json, RematReportToJson(report));
    out << json;
  } else {
    out << RematReportToText(report, options.max_buffers);
  }
  if (result.met) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      module->name(), " does not fit in ",
      HumanBytes(static_cast<double>(limit_bytes)), ": the best plan needs ",
      HumanBytes(static_cast<double>(result.peak_after_bytes))));
}

absl::Status PrintBudgetCurve(const HloFitOptions& options, int points,
                              const HloModule& module, std::ostream& out) {
  std::unique_ptr<HloModule> copy = module.Clone("");
  TF_ASSIGN_OR_RETURN(RematPlanResult whole, Describe(options, copy.get()));
  RematCurve curve;
  curve.set_module(std::string(module.name()));
  curve.set_accounting(AbslUnparseFlag(options.accounting));
  const double peak = static_cast<double>(whole.peak_before_bytes);
  const double floor =
      std::min(peak, static_cast<double>(whole.lower_bound_bytes));
  curve.set_peak_before_bytes(peak);
  curve.set_lower_bound_bytes(floor);
  std::vector<RematCurve::Point> found;
  for (int i = 0; i < points; ++i) {
    const double share = points <= 1 ? 0 : i / static_cast<double>(points - 1);
    const int64_t limit = static_cast<int64_t>(peak - share * (peak - floor));
    copy = module.Clone("");
    TF_ASSIGN_OR_RETURN(RematPlanResult result,
                        Plan(options, limit, copy.get()));
    RematCurve::Point point =
        MakePoint(result, MakeReport(options, limit, result, *copy));
    point.set_limit_bytes(static_cast<double>(limit));
    point.set_limit_fraction(peak > 0 ? static_cast<double>(limit) / peak : 1);
    found.push_back(std::move(point));
  }
  ShareAlongCurve(&found);
  for (RematCurve::Point& point : found) *curve.add_points() = std::move(point);
  if (options.json) {
    TF_ASSIGN_OR_RETURN(std::string json, RematCurveToJson(curve));
    out << json;
  } else {
    out << (options.csv ? RematCurveToCsv(curve) : RematCurveToText(curve));
  }
  return absl::OkStatus();
}

}  // namespace xla
