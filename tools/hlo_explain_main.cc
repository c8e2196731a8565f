// hlo-explain: explains where the memory of an HLO module goes.

#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "tools/tool_main.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/hlo_explain.h"

using xla::HloExplainOptions;

ABSL_FLAG(std::optional<xla::ScheduleAlgorithm>, schedule, std::nullopt,
          "Schedule to explain: list, dfs, postorder, bfs, default, best or "
          "as-is. Default: the module's own, or best if it has none.");
ABSL_FLAG(int64_t, effort, xla::BestMemoryScheduler::kDefaultEffort,
          "Search effort of --schedule=best; 0: simple heuristics only.");
ABSL_FLAG(xla::AsyncPlacement, async, xla::AsyncPlacement::kAsScheduled,
          "Placement of asynchronous operations: as-scheduled, or overlap "
          "(start early, finish late, run synchronous pairs concurrently).");
ABSL_FLAG(std::optional<std::string>, passes, std::nullopt,
          "Passes to run before scheduling. Default: those of pipeline "
          "'prepare', or none if the module has a schedule.");
ABSL_FLAG(std::string, as, "",
          "Compile the module first, and explain the result on one device: gpu "
          "(our pipeline), xla-gpu (approximately XLA:GPU and what it "
          "allocates) or cpu (the same for XLA:CPU). Default: gpu for modules "
          "that have yet to be partitioned, except with --fit, "
          "--budget-curve, --schedule and -o; --as=prepare shows all devices "
          "together.");
ABSL_FLAG(int64_t, num_partitions, 0,
          "Number of devices, overriding the module's header.");
ABSL_FLAG(std::string, limit, "",
          "Memory budget: bytes (16GiB), a share of the peak (80%) or a device "
          "(h100); exit status 3 if the module does not fit.");
ABSL_FLAG(std::string, memory_limit, "", "The same as --limit.");
ABSL_FLAG(bool, json, false, "Write the report as JSON.");
ABSL_FLAG(bool, curve, false,
          "Include the live bytes at every program point (JSON).");
ABSL_FLAG(int, max_buffers, 20,
          "Maximum rows of the tables of buffers, kernels and collectives.");
ABSL_FLAG(bool, seconds, true, "Report how long scheduling took.");
ABSL_FLAG(std::string, o, "",
          "Where to write the scheduled (with --fit: rewritten) module.");
ABSL_FLAG(std::string, report_file, "-", "Where to write the report.");
ABSL_FLAG(bool, keep_going, false,
          "With --json: report failures in the field 'error' and exit with "
          "status 0; for tables of many modules.");
ABSL_FLAG(std::string, buffers, "",
          "Where to write the live range of each buffer, as CSV for hlo-pack.");
ABSL_FLAG(std::string, html, "",
          "Where to write the report as an HTML page: memory over the program, "
          "buffers, kernels, collectives.");
ABSL_FLAG(std::string, perfetto, "",
          "Where to write the schedule as a trace for ui.perfetto.dev: kernels "
          "and collectives in modeled time, live bytes as a counter.");
ABSL_FLAG(std::string, device, "h100",
          "For --kernels, --html and --perfetto: the device whose kernel times "
          "are modeled, a name or the path of a description.");
ABSL_FLAG(bool, list, false,
          "List the modules in a folder written by --xla_dump_to; the first is "
          "the one that is read by default.");
ABSL_FLAG(bool, kernels, false,
          "Report the kernels instead, longest first, with equal ones in one "
          "row: modeled time on --device, bytes, share of the roofline.");
ABSL_FLAG(std::string, timings, "",
          "Kernel times measured by a CUDA program of this module (hlo-opt "
          "--emit=cuda; program --timings=FILE), to compare with the model; "
          "implies --kernels.");
ABSL_FLAG(std::string, calibrate, "",
          "With --timings: where to write a description of --device with the "
          "measured rates, for --device of any tool.");
ABSL_FLAG(bool, collectives, false,
          "Report the communication of a partitioned module instead: bytes per "
          "device by kind, and the largest collectives.");
ABSL_FLAG(std::string, mesh, "",
          "For --collectives and --html: device mesh and its links, such as "
          "2x4, 2x4:h100-multihost or 2x4@50e9/8e-6,450e9/2e-6.");
ABSL_FLAG(bool, fit, false,
          "Rewrite the module so that it fits in --limit, and report what that "
          "costs.");
ABSL_FLAG(std::string, jax, "",
          "Where to write the plan of --fit as Python for JAX: policies for "
          "jax.checkpoint, and the values to name for them.");
ABSL_FLAG(int, budget_curve, 0,
          "Report the cost of this many limits from the peak down, and of "
          "--limit if there is one.");
ABSL_FLAG(bool, csv, false, "Write the budget curve as CSV.");
ABSL_FLAG(xla::RematerializationAlgorithm, strategy,
          xla::RematerializationAlgorithm::kPlan,
          "Strategy: plan, always-remat, peak-priority or baseline-2018.");
ABSL_FLAG(
    xla::MemoryAccounting, accounting, xla::MemoryAccounting::kAuto,
    "How bytes are counted for the limit: ours, upstream (OpenXLA's "
    "rematerialization; --fit only), allocated (as its GPU compiler allocates "
    "them) or auto: allocated for modules with fusions of a compiler in their "
    "entry, which backends take as they are; ours for others.");
ABSL_FLAG(int64_t, fit_effort, 1, "Search effort of --strategy=plan.");
ABSL_FLAG(bool, across_loops, true, "For plan: rewrite loops, too.");
ABSL_FLAG(bool, reschedule, true, "For plan: allow another schedule.");
ABSL_FLAG(bool, fuse, true,
          "For plan: allow fusing masks and broadcasts into their consumers.");
ABSL_FLAG(bool, offload, false,
          "For plan: allow offloading values to host memory (space 5).");
ABSL_FLAG(double, host_bandwidth, 25e9,
          "For --offload: bandwidth in each direction, bytes per second.");
ABSL_FLAG(
    bool, barriers, false,
    "For plan: put recomputed values behind opt-barriers, so that CSE keeps "
    "them.");
ABSL_FLAG(xla::PlanReader, for, xla::PlanReader::kBackend,
          "For plan: what compiles the rewritten module: backend (keeps instructions and their order), or xla-gpu or xla-cpu (run all of their passes).");

namespace {

constexpr char kUsage[] =
    "explains where the memory of a module goes\n\n"
    "For modules that run out of memory: what is live at the peak, which "
    "layers\n"
    "produce it, whether it fits in a budget, and what to recompute so that it "
    "does.\n\n"
    "  hlo-explain model.hlo\n"
    "  hlo-explain dump/                        (from --xla_dump_to; see "
    "--list)\n"
    "  hlo-explain model.hlo --limit=16GiB\n"
    "  hlo-explain model.hlo --as=gpu           (for dumps from before "
    "optimization)\n"
    "  hlo-explain model.hlo --as=xla-gpu       (approximates what XLA "
    "allocates)\n"
    "  hlo-explain model.hlo --as=cpu           (the same for XLA:CPU)\n"
    "  hlo-explain model.hlo --as=gpu --kernels --device=h200\n"
    "  hlo-explain model.hlo --as=gpu --timings=measured.json\n"
    "  hlo-explain model.hlo --html=report.html\n"
    "  hlo-explain model.hlo --perfetto=trace.json\n"
    "  hlo-explain model.hlo --schedule=default --json\n"
    "  hlo-explain partitioned.hlo --collectives --mesh=2x4\n"
    "  hlo-explain model.hlo -o scheduled.hlo\n"
    "  hlo-explain model.hlo --fit --limit=16GiB -o smaller.hlo\n"
    "  hlo-explain step.hlo --fit --limit=16GiB --fuse=false --jax=plan.py\n"
    "  hlo-explain model.hlo --budget-curve=9 --html=report.html\n";

const std::vector<xla::FlagGroup>& Groups() {
  static const auto* const groups = new std::vector<xla::FlagGroup>{
      {"Input and schedule",
       {"list", "as", "passes", "num-partitions", "schedule", "effort",
        "async"}},
      {"Analysis",
       {"limit", "memory-limit", "fit", "budget-curve", "kernels", "timings",
        "collectives", "mesh", "device"}},
      {"Output",
       {"json", "curve", "csv", "max-buffers", "seconds", "report-file", "html",
        "perfetto", "buffers", "calibrate", "o", "jax", "keep-going"}},
      {"Options of --fit",
       {"strategy", "accounting", "fit-effort", "across-loops", "reschedule",
        "fuse", "offload", "host-bandwidth", "barriers", "for"}},
  };
  return *groups;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> inputs = xla::InitTool(
      argc, argv, kUsage, {{"budget-curve", "budget_curve=11"}}, Groups());
  if (inputs.size() != 1) {
    std::cerr << "usage: hlo-explain MODULE [flags]; see hlo-explain --help\n";
    if (inputs.size() == 2) {
      std::cerr << "two modules are compared by hlo-diff " << inputs[0] << " "
                << inputs[1] << "\n";
    }
    return xla::kFailed;
  }
  HloExplainOptions options;
  options.prepare.schedule = absl::GetFlag(FLAGS_schedule);
  options.prepare.effort = absl::GetFlag(FLAGS_effort);
  options.prepare.async = absl::GetFlag(FLAGS_async);
  options.prepare.passes = absl::GetFlag(FLAGS_passes);
  options.prepare.as = absl::GetFlag(FLAGS_as);
  options.prepare.num_partitions = absl::GetFlag(FLAGS_num_partitions);
  options.limit = absl::GetFlag(FLAGS_limit);
  if (options.limit.empty()) options.limit = absl::GetFlag(FLAGS_memory_limit);
  options.json = absl::GetFlag(FLAGS_json);
  options.curve = absl::GetFlag(FLAGS_curve);
  options.max_buffers = absl::GetFlag(FLAGS_max_buffers);
  options.seconds = absl::GetFlag(FLAGS_seconds);
  options.output = absl::GetFlag(FLAGS_o);
  options.report_file = absl::GetFlag(FLAGS_report_file);
  options.keep_going = absl::GetFlag(FLAGS_keep_going);
  options.buffers = absl::GetFlag(FLAGS_buffers);
  options.html = absl::GetFlag(FLAGS_html);
  options.perfetto = absl::GetFlag(FLAGS_perfetto);
  options.device = absl::GetFlag(FLAGS_device);
  options.progress = isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr;
  options.list = absl::GetFlag(FLAGS_list);
  options.kernels = absl::GetFlag(FLAGS_kernels);
  options.timings = absl::GetFlag(FLAGS_timings);
  options.calibrate = absl::GetFlag(FLAGS_calibrate);
  options.collectives = absl::GetFlag(FLAGS_collectives);
  options.mesh = absl::GetFlag(FLAGS_mesh);
  options.fit = absl::GetFlag(FLAGS_fit);
  options.jax = absl::GetFlag(FLAGS_jax);
  options.budget_curve = absl::GetFlag(FLAGS_budget_curve);
  options.fit_options.csv = absl::GetFlag(FLAGS_csv);
  xla::HloRematerializationOptions& remat = options.fit_options.remat;
  remat.strategy = absl::GetFlag(FLAGS_strategy);
  options.accounting = absl::GetFlag(FLAGS_accounting);
  remat.effort = absl::GetFlag(FLAGS_fit_effort);
  remat.across_loops = absl::GetFlag(FLAGS_across_loops);
  remat.reschedule = absl::GetFlag(FLAGS_reschedule);
  remat.fuse = absl::GetFlag(FLAGS_fuse);
  remat.host_offload = absl::GetFlag(FLAGS_offload) &&
                       remat.strategy == xla::RematerializationAlgorithm::kPlan;
  remat.to_host = remat.from_host = absl::GetFlag(FLAGS_host_bandwidth);
  remat.barriers = absl::GetFlag(FLAGS_barriers);
  remat.reader = absl::GetFlag(FLAGS_for);
  return xla::ExitStatus(
      xla::RunHloExplain(options, xla::AllPasses(), inputs.front(), std::cout));
}
