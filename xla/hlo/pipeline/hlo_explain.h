#ifndef XLA_HLO_PIPELINE_HLO_EXPLAIN_H_
#define XLA_HLO_PIPELINE_HLO_EXPLAIN_H_

#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "xla/hlo/memory/schedulers/async_postprocessor.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/transforms/memory/remat/hlo_fit.h"

namespace xla {

// The work of the hlo-explain tool: says where the memory of a module goes.
struct HloExplainOptions {
  // Which order the module runs in. Unset: its own where it has one, else best.
  std::optional<ScheduleAlgorithm> schedule;
  int64_t effort = BestMemoryScheduler::kDefaultEffort;
  // Where the order has starts and dones of asynchronous operations.
  AsyncPlacement async = AsyncPlacement::kAsScheduled;
  // Passes before scheduling, as text. Unset: the pipeline `prepare` for a
  // module without a schedule, which inlines calls and removes what is dead;
  // for one that has a schedule nothing, or `flatten-call-graph` where
  // computations are shared.
  std::optional<std::string> passes;
  // A pipeline instead, such as "gpu": what a compiler would make of a module
  // that no compiler has seen. Empty: none.
  std::string as;
  // Partitions that the module counts, whatever its header says; 0: as it says.
  int64_t num_partitions = 0;
  // The memory that there is, as MemoryLimit::Parse() reads it; empty: not
  // asked. Shares are of the peak as scheduled.
  std::string limit;

  bool json = false;
  // The live bytes of every program point, in the JSON report.
  bool curve = false;
  // Rows that the text lists: buffers, equal layers together.
  int max_buffers = 20;
  // Leave out how long it took, for reproducible output.
  bool seconds = true;
  // Where the scheduled module goes; empty: nowhere.
  std::string output;
  // Where the buffers to find offsets for go, as hlo-pack reads them; empty:
  // nowhere.
  std::string buffers;
  // Where the report as one page of HTML goes (page/memory_page.h), with times
  // of kernels on `device`; empty: nowhere.
  std::string html;
  std::string device = "h100";

  // Say what devices send each other instead (collective_report.h), of the
  // module as it is, or after `passes`; on a mesh as MeshCost::FromText reads
  // it, "" for all devices by h100-nvlink.
  bool collectives = false;
  std::string mesh;

  // Rewrite the scheduled module so that it fits in `limit`, and report that
  // instead (hlo_fit.h); or what several limits would take: 0: not asked.
  bool fit = false;
  int budget_curve = 0;
  HloFitOptions fit_options;  // limit, json, … are taken from above
};

// Reads `path` ("-": standard input) and writes the report to `out`.
//
// Errors: those of reading, passes and scheduling; ResourceExhausted, after the
// report, if the module does not fit in the limit.
absl::Status RunHloExplain(const HloExplainOptions& options,
                           const PassRegistry& registry,
                           const std::string& path, std::ostream& out);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_HLO_EXPLAIN_H_
