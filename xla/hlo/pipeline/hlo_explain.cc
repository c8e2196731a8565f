#include "xla/hlo/pipeline/hlo_explain.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/analysis/cost/collective_report.h"
#include "xla/hlo/analysis/cost/mesh_cost.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/packing/packing_csv.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/memory/limit/memory_accounting.h"
#include "xla/hlo/memory/limit/memory_limit.h"
#include "xla/hlo/memory/report/memory_report.h"
#include "xla/hlo/memory/report/memory_report_builder.h"
#include "xla/hlo/memory/report/remat_report.h"
#include "xla/hlo/pipeline/compiled_memory.h"
#include "xla/hlo/pipeline/explain_notes.h"
#include "xla/hlo/pipeline/explain_pages.h"
#include "xla/hlo/pipeline/page/explain_kernels.h"
#include "xla/hlo/pipeline/page/kernel_report.h"
#include "xla/hlo/pipeline/page/memory_page.h"
#include "xla/hlo/pipeline/target_flags.h"
#include "xla/hlo/transforms/memory/remat/jax_policies.h"
#include "xla/hlo/utils/check_writable.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/flag_check.h"
#include "xla/hlo/utils/module_file.h"
#include "xla/hlo/utils/progress_watch.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

absl::Status WriteModule(const HloModule &module, const std::string &path) {
  if (path.empty()) return absl::OkStatus();
  // It is there to be run: nothing is left out.
  const std::string text =
      module.ToString(HloPrintOptions().set_print_large_constants(true));
  return WriteFileOrStdout(path, absl::StrCat(text, "\n"));
}

absl::Status CheckNumbers(const HloExplainOptions &options) {
  TF_RETURN_IF_ERROR(CheckFlag("effort", options.prepare.effort, 0));
  TF_RETURN_IF_ERROR(
      CheckFlag("num-partitions", options.prepare.num_partitions, 0));
  TF_RETURN_IF_ERROR(CheckFlag("max-buffers", int64_t{options.max_buffers}, 0));
  TF_RETURN_IF_ERROR(
      CheckFlag("budget-curve", int64_t{options.budget_curve}, 0, 1000));
  TF_RETURN_IF_ERROR(
      CheckFlag("fit-effort", options.fit_options.remat.effort, 0));
  return CheckFlag("host-bandwidth", options.fit_options.remat.to_host, 1.0);
}

HloFitOptions FitOptions(const HloExplainOptions &options) {
  HloFitOptions fit_options = options.fit_options;
  fit_options.remat.memory_limit = options.limit;
  fit_options.json = options.json;
  fit_options.json_text = options.json_text;
  fit_options.max_buffers = options.max_buffers;
  fit_options.seconds = options.seconds;
  return fit_options;
}

// Whether the question is what XLA allocates in the end.
bool IsAsXla(const HloExplainOptions &options) {
  return options.prepare.as == "xla-gpu";
}

// Whether plans are made for what XLA leaves of the module, which it has yet to
// see.
bool IsForCompiler(const HloExplainOptions &options,
                   const PreparedModule &prepared) {
  const HloRematerializationOptions &remat = options.fit_options.remat;
  return (options.fit || options.budget_curve > 0) &&
         remat.reader == PlanReader::kXlaGpu &&
         remat.strategy == RematerializationAlgorithm::kPlan &&
         options.accounting == MemoryAccounting::kAuto &&
         options.prepare.as.empty() && !prepared.input.optimized();
}

// How bytes are counted. Where the question is what XLA allocates in the end,
// that is what counts, even if it fuses nothing.
MemoryAccounting Accounting(const HloExplainOptions &options,
                            const PreparedModule &prepared) {
  if (options.accounting == MemoryAccounting::kAuto &&
      (IsAsXla(options) || IsForCompiler(options, prepared))) {
    return MemoryAccounting::kAllocated;
  }
  return AccountingOf(options.accounting, *prepared.module);
}

// Makes the module fit, and reports what that takes.
absl::Status Fit(const HloExplainOptions &options, HloModule *module,
                 std::ostream &out) {
  absl::Status fits = FitModule(FitOptions(options), module, out);
  // The best plan is worth having even if it misses the limit.
  if (fits.ok() || absl::IsResourceExhausted(fits)) {
    TF_RETURN_IF_ERROR(WriteModule(*module, options.output));
    if (!options.jax.empty()) {
      TF_RETURN_IF_ERROR(WriteFileOrStdout(options.jax, JaxPolicies(*module)));
    }
  }
  return fits;
}

// Lists the modules in a folder of dumps, the default one first.
absl::Status ListModules(const std::string &folder, std::ostream &out) {
  TF_ASSIGN_OR_RETURN(const std::vector<DumpedModule> modules,
                      ListDumpedModules(folder));
  for (const DumpedModule &module : modules) {
    out << absl::StrFormat("%10s  %-12s  %s\n", HumanBytes(module.bytes),
                           module.after_optimizations ? "optimized" : "",
                           module.path);
  }
  return absl::OkStatus();
}

absl::Status ExplainCollectives(const HloExplainOptions &options,
                                const PassRegistry &registry,
                                std::unique_ptr<HloModule> *module,
                                std::ostream &out) {
  SetNumPartitions(options.prepare, module->get());
  TF_ASSIGN_OR_RETURN(const OneDevice one,
                      CompileForOneDevice(options.prepare, registry, module));
  Preparation preparation = one.preparation.value_or(Preparation{});
  if (options.prepare.passes.has_value() || !options.prepare.as.empty()) {
    TF_ASSIGN_OR_RETURN(
        preparation, RunPreparation(options.prepare, registry, module->get()));
  }
  const HloModuleConfig &config = (*module)->config();
  const int64_t devices = std::max<int64_t>(config.replica_count(), 1) *
                          std::max<int64_t>(config.num_partitions(), 1);
  TF_ASSIGN_OR_RETURN(
      const MeshCost mesh,
      MeshCost::FromText(options.mesh.empty() ? absl::StrCat(devices)
                                              : options.mesh));
  TF_ASSIGN_OR_RETURN(const CollectiveReport report,
                      BuildCollectiveReport(**module, mesh));
  if (options.json_text != nullptr) {
    *options.json_text = CollectiveReportToJson(report);
  }
  const std::string note = one.preparation.has_value() ? NoteOnOneDevice()
                           : !one.refusal.ok()
                               ? NoteOnRefusal(**module, one.refusal)
                               : NoteOnDevices(**module, "their collectives");
  out << (options.json
              ? CollectiveReportToJson(report)
              : absl::StrCat(
                    CollectiveReportToText(report, options.max_buffers), note));
  TF_RETURN_IF_ERROR(WriteModule(**module, options.output));
  return preparation.unmet_limit;
}

// Where pages are written, and the device that their kernels are modeled on.
ExplainPageOptions PageOptions(const HloExplainOptions &options) {
  // Reports do not support accounting=upstream.
  const bool allocated =
      options.fit_options.remat.accounting == MemoryAccounting::kAllocated;
  return {options.html, options.perfetto, options.device, options.mesh,
          allocated ? MemoryAccounting::kAllocated : MemoryAccounting::kOurs};
}

// Whether standard output is free for text.
bool HasTextOutput(const HloExplainOptions &options) {
  return options.html != "-" && options.perfetto != "-";
}

// The kernels and their times.
absl::Status ListKernels(const HloExplainOptions &options,
                         const PreparedModule &prepared,
                         const BuiltMemoryReport &built, std::ostream &out) {
  ExplainKernelsOptions kernels;
  kernels.device = options.device;
  kernels.mesh = options.mesh;
  kernels.timings = options.timings;
  kernels.calibrate = options.calibrate;
  TF_ASSIGN_OR_RETURN(KernelReport report,
                      ExplainKernels(kernels, *prepared.module, built,
                                     *prepared.alias_analysis));
  if (!prepared.input.optimized() && options.prepare.as.empty() &&
      prepared.input.passes() != "gpu") {
    report.set_note(
        "the module is not optimized, so every instruction counts as a kernel; "
        "--as=gpu fuses them first");
  }
  if (options.json_text != nullptr) {
    TF_ASSIGN_OR_RETURN(*options.json_text, KernelReportToJson(report));
  }
  if (options.json) {
    TF_ASSIGN_OR_RETURN(const std::string json, KernelReportToJson(report));
    out << json;
  } else {
    out << KernelReportToText(report, options.max_buffers);
  }
  return absl::OkStatus();
}

// Writes the report in all formats that were asked for.
absl::Status WriteReport(const HloExplainOptions &options,
                         const std::string &path, const HloModule &module,
                         const HloAliasAnalysis &alias_analysis,
                         const BuiltMemoryReport &built, std::ostream &out) {
  MemoryReportTextOptions text_options;
  text_options.max_buffers = options.max_buffers;
  std::string note = NoteOnDevices(module, "what one of them needs");
  if (note.empty()) note = NoteOnFusion(options.prepare, built.report.input());
  const std::string text = absl::StrCat(
      MemoryReportToText(built.report, built.curve, text_options), note,
      HasOrderOfXla(options.prepare, built.report.input())
          ? NoteOnXla(built.report, path, options.max_buffers)
          : "");
  if (options.json_text != nullptr) {
    TF_ASSIGN_OR_RETURN(*options.json_text, MemoryReportToJson(built.report));
  }
  if (options.json) {
    TF_ASSIGN_OR_RETURN(std::string json, MemoryReportToJson(built.report));
    out << json;
  } else if (HasTextOutput(options)) {
    out << text;
  }
  return WritePages(PageOptions(options), module, alias_analysis, built, text,
                    MemoryPage());
}

// The cost of limits from the peak down, and of --limit if it is given.
absl::StatusOr<RematCurve> PriceLimits(const HloExplainOptions &options,
                                       ProgressWatch &watch,
                                       PreparedModule &prepared) {
  HloModule &module = *prepared.module;
  // A copy: the page needs the schedule, too.
  TF_RETURN_IF_ERROR(module.set_schedule(prepared.schedule.schedule));
  watch.Phase("planning rematerialization for each limit",
              "a smaller --budget-curve or --fit-effort=0 is faster");
  TF_ASSIGN_OR_RETURN(
      RematCurve curve,
      BuildBudgetCurve(FitOptions(options), options.budget_curve, module));
  watch.Stop();
  return curve;
}

// Writes those costs. ResourceExhausted if --limit cannot be met.
absl::Status ReportPrices(const HloExplainOptions &options,
                          ProgressWatch &watch, PreparedModule &prepared,
                          std::ostream &out) {
  MemoryPage more;
  TF_ASSIGN_OR_RETURN(*more.mutable_budget(),
                      PriceLimits(options, watch, prepared));
  const RematCurve &curve = more.budget();
  if (options.json_text != nullptr) {
    TF_ASSIGN_OR_RETURN(*options.json_text, RematCurveToJson(curve));
  }
  if (HasTextOutput(options)) {
    TF_RETURN_IF_ERROR(PrintBudgetCurve(FitOptions(options), curve, out));
    if (!options.json) {
      out << NoteOnDevices(*prepared.module,
                           "what one of them needs, --as=gpu --budget-curve "
                           "what its limits cost");
    }
  }
  const ExplainPageOptions page_options = PageOptions(options);
  if (HasPages(page_options)) {
    std::optional<int64_t> limit_bytes;
    if (curve.has_limit_bytes()) {
      limit_bytes = static_cast<int64_t>(curve.limit_bytes());
    }
    TF_RETURN_IF_ERROR(WritePagesOf(page_options, prepared, limit_bytes,
                                    RematCurveToText(curve), more));
  }
  return CheckBudgetCurve(FitOptions(options), curve);
}

// The reports of --budget-curve and --fit; as JSON, one object with both.
std::string JoinReports(bool json, const std::string &curve,
                        const std::string &plan) {
  if (!json) return absl::StrCat(curve, "\n", plan);
  return absl::StrCat("{\n\"curve\": ", absl::StripSuffix(curve, "\n"),
                      ",\n\"fit\": ", absl::StripSuffix(plan, "\n"), "\n}\n");
}

// Plans how to fit and reports it, after the budget curve if there is one.
absl::Status FitPrepared(const HloExplainOptions &options,
                         const PassRegistry &registry,
                         const std::optional<MemoryLimit> &limit,
                         ProgressWatch &watch, PreparedModule &prepared,
                         std::ostream &out) {
  HloModule *const module = prepared.module.get();
  const ExplainPageOptions page_options = PageOptions(options);
  const bool pages = limit.has_value() && HasPages(page_options);
  MemoryPage more;
  std::ostringstream curve;
  if (options.budget_curve > 0) {
    TF_ASSIGN_OR_RETURN(*more.mutable_budget(),
                        PriceLimits(options, watch, prepared));
    TF_RETURN_IF_ERROR(
        PrintBudgetCurve(FitOptions(options), more.budget(), curve));
  }
  if (pages) {
    TF_ASSIGN_OR_RETURN(*more.mutable_before(), DescribeBefore(prepared));
  }
  TF_ASSIGN_OR_RETURN(const int64_t needed,
                      NeededBytes(page_options.accounting, prepared));
  TF_RETURN_IF_ERROR(
      module->set_schedule(std::move(prepared.schedule.schedule)));
  watch.Phase("planning rematerialization",
              "--strategy=peak-priority or --fit-effort=0 is faster");
  const std::string note =
      options.json ? ""
                   : NoteOnDevices(*module,
                                   "what one of them needs, --as=gpu --fit a "
                                   "plan for it");
  std::ostringstream plan;
  const absl::Status fits = Fit(options, module, plan);
  watch.Stop();
  const bool planned = fits.ok() || absl::IsResourceExhausted(fits);
  const std::string text =
      planned && options.budget_curve > 0
          ? JoinReports(options.json, curve.str(), plan.str())
          : plan.str();
  if (HasTextOutput(options)) out << text << note;
  if (options.json_text != nullptr && planned && options.budget_curve > 0) {
    TF_ASSIGN_OR_RETURN(const std::string prices,
                        RematCurveToJson(more.budget()));
    *options.json_text = JoinReports(/*json=*/true, prices, *options.json_text);
  }
  if (!pages || !planned) return fits;
  more.mutable_before()->set_plan(plan.str());
  TF_RETURN_IF_ERROR(WriteFittedPages(page_options, registry, more,
                                      limit->BytesOf(needed), &prepared));
  return fits;
}

// Reports where the memory of a prepared module goes.
absl::Status ReportPrepared(const HloExplainOptions &options,
                            const std::string &path,
                            const std::optional<MemoryLimit> &limit,
                            ProgressWatch &watch, PreparedModule &prepared,
                            std::ostream &out) {
  HloModule *const module = prepared.module.get();
  ScheduleResult &schedule = prepared.schedule;
  const MemoryAccounting accounting = PageOptions(options).accounting;
  MemoryReportOptions report_options;
  // XLA's bytes are the first thing to know of what XLA has compiled.
  if (limit.has_value() || IsAsXla(options) ||
      (accounting == MemoryAccounting::kAllocated &&
       HasOrderOfXla(options.prepare, prepared.input))) {
    TF_ASSIGN_OR_RETURN(const int64_t needed,
                        NeededBytes(accounting, prepared));
    if (limit.has_value()) report_options.limit_bytes = limit->BytesOf(needed);
    if (accounting == MemoryAccounting::kAllocated) {
      report_options.allocated_bytes = needed;
    }
  }
  watch.Phase("planning offsets");
  AliasInfo alias_info;
  report_options.alias_info = &alias_info;
  report_options.curve = options.curve;
  report_options.seconds = options.seconds;
  TF_ASSIGN_OR_RETURN(
      BuiltMemoryReport built,
      BuildMemoryReport(schedule, *prepared.alias_analysis, report_options));
  *built.report.mutable_input() = prepared.input;
  if (limit.has_value()) {
    built.report.set_limit_origin(limit->origin());
    built.report.set_limit_given(DecimalLimit(options.limit));
  }
  watch.Stop();
  if (options.kernels || !options.timings.empty()) {
    TF_RETURN_IF_ERROR(ListKernels(options, prepared, built, out));
    TF_RETURN_IF_ERROR(WritePages(PageOptions(options), *module,
                                  *prepared.alias_analysis, built, "",
                                  MemoryPage()));
  } else {
    TF_RETURN_IF_ERROR(WriteReport(options, path, *module,
                                   *prepared.alias_analysis, built, out));
  }
  if (!options.buffers.empty()) {
    TF_RETURN_IF_ERROR(WriteFileOrStdout(
        options.buffers, packing::PackingProblemToCsv(built.buffers)));
  }
  TF_RETURN_IF_ERROR(module->set_schedule(std::move(schedule.schedule)));
  TF_RETURN_IF_ERROR(WriteModule(*module, options.output));
  if (built.report.has_fits() && !built.report.fits()) {
    const int64_t ours = static_cast<int64_t>(
        std::max(built.report.peak_bytes(), built.report.heap_bytes()));
    return UnmetLimitError(module->name(), *report_options.limit_bytes,
                           report_options.allocated_bytes.value_or(ours),
                           accounting, options.limit);
  }
  return absl::OkStatus();
}

// `path`: the file of the module, empty if there is none; `found`: the user
// named its folder instead.
absl::Status ExplainRead(const HloExplainOptions &given,
                         const PassRegistry &registry, const std::string &path,
                         bool found, ProgressWatch &watch,
                         std::unique_ptr<HloModule> *module,
                         std::ostream &out) {
  HloExplainOptions options = given;
  std::optional<MemoryLimit> limit;
  if (!options.limit.empty()) {
    TF_ASSIGN_OR_RETURN(limit, MemoryLimit::Parse(options.limit));
  } else if (options.fit) {
    return absl::InvalidArgumentError(
        "--fit needs a --limit, such as --limit=80% or --limit=h100");
  }
  // Plans and schedules are for the module as its reader gets it.
  options.prepare.one_device =
      !options.fit && options.budget_curve == 0 && options.output.empty();
  if (options.collectives) {
    return ExplainCollectives(options, registry, module, out);
  }
  watch.Phase("running passes and scheduling",
              "--effort=0 or --schedule=list is faster");
  TF_ASSIGN_OR_RETURN(
      PreparedModule prepared,
      PrepareModule(std::move(*module), options.prepare, registry));
  if (found) prepared.input.set_file(path);
  options.fit_options.remat.accounting = Accounting(options, prepared);
  if (IsForCompiler(options, prepared)) {
    options.fit_options.remat.compiled = MemoryAfterXlaGpu(registry);
  }
  const absl::Status unmet_before = prepared.unmet_limit;
  absl::Status status =
      options.fit ? FitPrepared(options, registry, limit, watch, prepared, out)
      : options.budget_curve > 0
          ? ReportPrices(options, watch, prepared, out)
          : ReportPrepared(options, path, limit, watch, prepared, out);
  if (status.ok()) status = unmet_before;
  if (status.ok() || absl::IsResourceExhausted(status)) {
    // The analysis refers to the module.
    prepared.alias_analysis.reset();
    *module = std::move(prepared.module);
  }
  return status;
}

absl::Status CheckFlags(const HloExplainOptions &options) {
  if (!options.calibrate.empty() && options.timings.empty()) {
    return absl::InvalidArgumentError("--calibrate needs --timings");
  }
  if (!options.calibrate.empty() &&
      options.calibrate.find_first_of("/.") == std::string::npos) {
    return absl::InvalidArgumentError(
        "--calibrate: the name of the file must contain a '.' or '/', so that "
        "--device takes it for a file");
  }
  for (const std::string &path :
       {options.output, options.report_file, options.html, options.perfetto,
        options.buffers, options.jax, options.calibrate}) {
    TF_RETURN_IF_ERROR(CheckWritable(path));
  }
  TF_RETURN_IF_ERROR(CheckNumbers(options));
  TF_RETURN_IF_ERROR(CheckDeviceFlag(options.device));
  if (!options.jax.empty() && !options.fit) {
    return absl::InvalidArgumentError(
        "--jax needs --fit, whose plan it writes");
  }
  if (options.fit_options.csv && options.budget_curve == 0) {
    return absl::InvalidArgumentError(
        "--csv needs --budget-curve, whose limits it writes; --buffers=FILE "
        "writes buffers as CSV");
  }
  return CheckMeshFlag(options.mesh);
}

absl::Status Explain(const HloExplainOptions &options,
                     const PassRegistry &registry, const std::string &path,
                     std::ostream &out) {
  TF_RETURN_IF_ERROR(CheckFlags(options));
  if (options.list) return ListModules(path, out);
  if (!options.limit.empty()) {
    // Fails before minutes are spent on the module.
    TF_RETURN_IF_ERROR(MemoryLimit::Parse(options.limit).status());
  }
  ProgressWatch watch(options.progress);
  TF_ASSIGN_OR_RETURN(const std::string file, ResolveModulePath(path));
  watch.Phase(absl::StrCat("reading ", file));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ReadVerifiedModule(file));
  HloExplainOptions read = options;
  read.prepare.for_report = options.output.empty();
  return ExplainRead(read, registry, file, /*found=*/file != path, watch,
                     &module, out);
}

}  // namespace

absl::Status ExplainModule(const HloExplainOptions &options,
                           const PassRegistry &registry,
                           std::unique_ptr<HloModule> *module,
                           std::ostream &out) {
  TF_RETURN_IF_ERROR(CheckFlags(options));
  ProgressWatch watch(options.progress);
  return ExplainRead(options, registry, /*path=*/"", /*found=*/false, watch,
                     module, out);
}

absl::Status RunHloExplain(const HloExplainOptions &options,
                           const PassRegistry &registry,
                           const std::string &path, std::ostream &out) {
  if (options.report_file == "-" && !options.keep_going) {
    return Explain(options, registry, path, out);
  }
  std::ostringstream report;
  absl::Status status = Explain(options, registry, path, report);
  std::string text = report.str();
  if (options.keep_going && !status.ok()) {
    if (text.empty()) {
      MemoryReport failed;
      failed.set_error(std::string(status.message()));
      TF_ASSIGN_OR_RETURN(text, MemoryReportToJson(failed));
    }
    status = absl::OkStatus();
  }
  if (options.report_file == "-") {
    out << text;
  } else {
    TF_RETURN_IF_ERROR(WriteFileOrStdout(options.report_file, text));
  }
  return status;
}

}  // namespace xla
