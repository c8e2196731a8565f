#ifndef XLA_HLO_PIPELINE_HLO_EXPLAIN_H_
#define XLA_HLO_PIPELINE_HLO_EXPLAIN_H_

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/limit/memory_accounting.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/pipeline/prepared_module.h"
#include "xla/hlo/transforms/memory/remat/hlo_fit.h"

namespace xla {

// The work of the hlo-explain tool: says where the memory of a module goes.
struct HloExplainOptions {
  PrepareOptions prepare;
  // The memory that there is, as MemoryLimit::Parse() reads it; empty: not
  // asked. Shares are of the peak as scheduled.
  std::string limit;

  bool json = false;
  // Takes the JSON form beside what is written; null: not wanted.
  std::string* json_text = nullptr;
  // The live bytes of every program point, in the JSON report.
  bool curve = false;
  // Rows that the text lists: buffers, equal layers together.
  int max_buffers = 20;
  // Leave out how long it took, for reproducible output.
  bool seconds = true;
  // Where the report goes, text or JSON; "-": standard output.
  std::string report_file = "-";
  // Errors become the field `error` of the JSON report, and an unmet limit its
  // field `fits`: for tables of many modules.
  bool keep_going = false;
  // Where the scheduled module goes; empty: nowhere.
  std::string output;
  // Where the buffers to find offsets for go, as hlo-pack reads them; empty:
  // nowhere.
  std::string buffers;
  // Where the report as one page of HTML goes (page/memory_page.h), with times
  // of kernels on `device`; of the rewritten module with `fit`, with what
  // limits cost with `budget_curve`; empty: nowhere.
  std::string html;
  std::string device = "h100";
  // Where the schedule as a trace goes (page/perfetto_trace.h).
  std::string perfetto;

  // Where long runs say what they do (progress_watch.h); null: nowhere.
  std::ostream* progress = nullptr;
  // Only name the modules of the folder that is given.
  bool list = false;

  // Say what devices send each other instead (collective_report.h), of the
  // module as it is, or after `passes`; on a mesh as MeshCost::FromText reads
  // it, "" for all devices by h100-nvlink.
  bool collectives = false;
  std::string mesh;

  // List what runs by itself instead (page/kernel_report.h), with times on
  // `device`; beside what a program measured (kernel_timings.h), from the file
  // `timings`, which writes the device that would have said so to `calibrate`.
  // Empty: neither.
  bool kernels = false;
  std::string timings;
  std::string calibrate;

  // Where the plan of `fit` goes as Python for JAX (jax_policies.h); empty:
  // nowhere.
  std::string jax;

  // Rewrite the scheduled module so that it fits in `limit`, and report that
  // instead (hlo_fit.h); or what several limits would take: 0: not asked.
  bool fit = false;
  int budget_curve = 0;
  // How bytes are counted that limits are compared with, for reports but
  // upstream's way. kAuto is about the prepared module, so that a plan, reports
  // before and after it and the pass hlo-rematerialization count alike; but
  // --as=xla-gpu, and plans with --for=xla-gpu of modules that XLA has yet to
  // optimize, count what XLA allocates in the end, whatever the fusions.
  MemoryAccounting accounting = MemoryAccounting::kAuto;
  HloFitOptions fit_options;  // limit, json, … are taken from above
};

// Reads `path` ("-": standard input) and writes the report to `out`.
//
// Errors: those of reading, passes and scheduling; ResourceExhausted, after the
// report, if the module does not fit in the limit.
absl::Status RunHloExplain(const HloExplainOptions& options,
                           const PassRegistry& registry,
                           const std::string& path, std::ostream& out);

// The same for a module that is there; `list`, `report_file` and `keep_going`
// do not matter. `*module` becomes the module that the report is of: prepared,
// with its order, with `fit` rewritten; null after other errors than
// ResourceExhausted.
absl::Status ExplainModule(const HloExplainOptions& options,
                           const PassRegistry& registry,
                           std::unique_ptr<HloModule>* module,
                           std::ostream& out);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_HLO_EXPLAIN_H_
