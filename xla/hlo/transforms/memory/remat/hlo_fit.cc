#include "xla/hlo/transforms/memory/remat/hlo_fit.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "xla/hlo/ir/instruction_source.h"
#include "xla/hlo/memory/limit/memory_accounting.h"
#include "xla/hlo/memory/limit/memory_limit.h"
#include "xla/hlo/memory/report/remat_report.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// With what accounting `auto` means for the module.
HloFitOptions WithAccounting(HloFitOptions options, const HloModule& module) {
  options.remat.accounting = AccountingOf(options.remat.accounting, module);
  return options;
}

// Reports on the module as it is: a plan without a limit changes nothing.
absl::StatusOr<RematPlanResult> Describe(const HloFitOptions& options,
                                         HloModule* module) {
  return PlanRematerialization(
      module, MakeRematPlanOptions(
                  options.remat, std::numeric_limits<int64_t>::max(), *module));
}

// Rewrites by one of OpenXLA's algorithms, and measures what that takes without
// what is counted for the report before and after.
absl::StatusOr<RematPlanResult> RunOther(const HloFitOptions& options,
                                         int64_t limit_bytes, HloModule* module,
                                         absl::Duration* taken) {
  TF_ASSIGN_OR_RETURN(RematPlanResult result, Describe(options, module));
  if (result.peak_before_bytes > limit_bytes) {
    const absl::Time start = absl::Now();
    TF_RETURN_IF_ERROR(
        Rematerialize(options.remat, limit_bytes, module).status());
    *taken = absl::Now() - start;
    TF_ASSIGN_OR_RETURN(RematPlanResult after, Describe(options, module));
    result.peak_after_bytes = after.peak_before_bytes;
    result.work_after = after.work_before;
    result.instructions_after = after.instructions_before;
    result.method = AbslUnparseFlag(options.remat.strategy);
  }
  result.met = result.peak_after_bytes <= limit_bytes;
  result.lower_bound_bytes =
      std::min(result.lower_bound_bytes, result.peak_after_bytes);
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
  report.set_strategy(AbslUnparseFlag(options.remat.strategy));
  report.set_method(result.method);
  report.set_accounting(AbslUnparseFlag(options.remat.accounting));
  report.set_reader(AbslUnparseFlag(options.remat.reader));
  report.set_met(result.met);
  report.set_limit_bytes(static_cast<double>(limit_bytes));
  report.set_limit_given(DecimalLimit(options.remat.memory_limit));
  report.set_peak_before_bytes(static_cast<double>(result.peak_before_bytes));
  report.set_peak_after_bytes(static_cast<double>(result.peak_after_bytes));
  report.set_lower_bound_bytes(static_cast<double>(result.lower_bound_bytes));
  report.set_argument_bytes(
      static_cast<double>(result.always_there.argument_bytes));
  report.set_always_there_bytes(
      static_cast<double>(result.always_there.total_bytes));
  const RematWork& before = result.work_before;
  const RematWork& after = result.work_after;
  report.set_added_flops(after.flops - before.flops);
  report.set_added_flops_fraction(Fraction(after.flops, before.flops));
  report.set_added_bytes(after.bytes - before.bytes);
  report.set_added_bytes_fraction(Fraction(after.bytes, before.bytes));
  report.set_added_seconds(after.seconds - before.seconds);
  report.set_added_seconds_fraction(Fraction(after.seconds, before.seconds));
  if (result.fused_seconds.has_value() && before.seconds > 0) {
    report.set_fused_seconds_fraction(
        Fraction(*result.fused_seconds, before.seconds));
    report.set_recomputed_seconds_fraction(
        (after.seconds - *result.fused_seconds) / before.seconds);
  }
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

// The planner is a heuristic: the plan for a lower limit may cost less than the
// one that was found for a higher limit, and a limit that was missed may be met
// by the plan for another one. A curve must not show either.
//
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

// The plan for one limit. The module stays as it is.
absl::StatusOr<RematCurve::Point> PlanPoint(const HloFitOptions& options,
                                            int64_t limit, int64_t peak,
                                            const HloModule& module) {
  const std::unique_ptr<HloModule> copy = module.Clone("");
  TF_ASSIGN_OR_RETURN(const RematPlanResult result,
                      Rematerialize(options.remat, limit, copy.get()));
  RematCurve::Point point =
      MakePoint(result, MakeReport(options, limit, result, *copy));
  point.set_limit_bytes(static_cast<double>(limit));
  point.set_limit_fraction(
      peak > 0 ? static_cast<double>(limit) / static_cast<double>(peak) : 1);
  return point;
}

// What no plan gets below. That of the module as it is and of its loops is
// quickly told. Planning for that limit, or for one just below the peak if the
// module meets it as it is, looks at other rewrites, which may go lower.
absl::StatusOr<int64_t> FloorOfCurve(const HloFitOptions& options, int64_t peak,
                                     const HloModule& module) {
  TF_ASSIGN_OR_RETURN(
      const int64_t bound,
      RematLowerBound(
          module,
          MakeRematPlanOptions(options.remat,
                               std::numeric_limits<int64_t>::max(), module)));
  const int64_t floor = std::min(peak, bound);
  const std::unique_ptr<HloModule> copy = module.Clone("");
  TF_ASSIGN_OR_RETURN(
      const RematPlanResult result,
      Rematerialize(options.remat,
                    std::max<int64_t>(std::min(floor, peak - 1), 0),
                    copy.get()));
  return std::min(floor, result.lower_bound_bytes);
}

absl::Status VerifyRewritten(HloModule* module) {
  HloVerifierOpts opts;
  opts.allow_mixed_precision = true;
  return VerifyHloModule(module, opts);
}

}  // namespace

absl::Status FitModule(const HloFitOptions& given, HloModule* module,
                       std::ostream& out) {
  const HloFitOptions options = WithAccounting(given, *module);
  if (options.remat.memory_limit.empty()) {
    return absl::InvalidArgumentError(
        "--fit needs a --limit, such as --limit=80% or --limit=h100");
  }
  TF_ASSIGN_OR_RETURN(const int64_t limit_bytes,
                      RematerializationLimit(options.remat, *module));
  RematPlanResult result;
  absl::Duration taken;
  if (options.remat.strategy == RematerializationAlgorithm::kPlan) {
    const absl::Time start = absl::Now();
    TF_ASSIGN_OR_RETURN(result,
                        Rematerialize(options.remat, limit_bytes, module));
    taken = absl::Now() - start;
  } else {
    TF_ASSIGN_OR_RETURN(result, RunOther(options, limit_bytes, module, &taken));
  }
  TF_RETURN_IF_ERROR(VerifyRewritten(module));
  RematReport report = MakeReport(options, limit_bytes, result, *module);
  if (options.seconds) {
    report.set_seconds(absl::ToDoubleSeconds(taken));
  }
  if (options.json_text != nullptr) {
    TF_ASSIGN_OR_RETURN(*options.json_text, RematReportToJson(report));
  }
  if (options.json) {
    TF_ASSIGN_OR_RETURN(std::string json, RematReportToJson(report));
    out << json;
  } else {
    out << RematReportToText(report, options.max_buffers);
  }
  if (result.met) return absl::OkStatus();
  return UnmetLimitError(module->name(), limit_bytes, result.peak_after_bytes,
                         options.remat.accounting, options.remat.memory_limit);
}

absl::StatusOr<RematCurve> BuildBudgetCurve(const HloFitOptions& given,
                                            int points,
                                            const HloModule& module) {
  const HloFitOptions options = WithAccounting(given, module);
  HloFitOptions planned = options;
  planned.remat.strategy = RematerializationAlgorithm::kPlan;
  std::unique_ptr<HloModule> copy = module.Clone("");
  TF_ASSIGN_OR_RETURN(RematPlanResult whole, Describe(options, copy.get()));
  RematCurve curve;
  curve.set_module(std::string(module.name()));
  curve.set_accounting(AbslUnparseFlag(options.remat.accounting));
  const int64_t peak = whole.peak_before_bytes;
  TF_ASSIGN_OR_RETURN(const int64_t floor, FloorOfCurve(planned, peak, module));
  curve.set_peak_before_bytes(static_cast<double>(peak));
  curve.set_lower_bound_bytes(static_cast<double>(floor));
  std::vector<int64_t> limits;
  for (int i = 0; i < points; ++i) {
    const double share = points <= 1 ? 0 : i / static_cast<double>(points - 1);
    limits.push_back(static_cast<int64_t>(
        static_cast<double>(peak) - share * static_cast<double>(peak - floor)));
  }
  if (!options.remat.memory_limit.empty()) {
    TF_ASSIGN_OR_RETURN(const int64_t limit,
                        RematerializationLimit(options.remat, module));
    curve.set_limit_bytes(static_cast<double>(limit));
    curve.set_limit_given(DecimalLimit(options.remat.memory_limit));
    if (limit < peak && limit >= floor) limits.push_back(limit);
    std::sort(limits.begin(), limits.end(), std::greater<int64_t>());
  }
  // Where nothing is to be gained, all of them are the peak.
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  std::vector<RematCurve::Point> found;
  for (const int64_t limit : limits) {
    TF_ASSIGN_OR_RETURN(RematCurve::Point point,
                        PlanPoint(planned, limit, peak, module));
    found.push_back(std::move(point));
  }
  ShareAlongCurve(&found);
  for (RematCurve::Point& point : found) *curve.add_points() = std::move(point);
  return curve;
}

absl::Status CheckBudgetCurve(const HloFitOptions& options,
                              const RematCurve& curve) {
  if (!curve.has_limit_bytes()) return absl::OkStatus();
  double least = curve.peak_before_bytes();
  for (const RematCurve::Point& point : curve.points()) {
    least = std::min(least, point.peak_bytes());
  }
  if (least <= curve.limit_bytes()) return absl::OkStatus();
  MemoryAccounting accounting = MemoryAccounting::kOurs;
  std::string error;
  AbslParseFlag(curve.accounting(), &accounting, &error);
  return UnmetLimitError(
      curve.module(), static_cast<int64_t>(curve.limit_bytes()),
      static_cast<int64_t>(least), accounting, options.remat.memory_limit);
}

absl::Status PrintBudgetCurve(const HloFitOptions& options,
                              const RematCurve& curve, std::ostream& out) {
  if (options.json) {
    TF_ASSIGN_OR_RETURN(std::string json, RematCurveToJson(curve));
    out << json;
  } else {
    out << (options.csv ? RematCurveToCsv(curve) : RematCurveToText(curve));
  }
  return absl::OkStatus();
}

}  // namespace xla
