#ifndef XLA_HLO_ANALYSIS_COST_COLLECTIVE_REPORT_H_
#define XLA_HLO_ANALYSIS_COST_COLLECTIVE_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/cost/mesh_cost.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// The communication between the devices of a partitioned module.
//
//   step: 96.0 KiB per device in 12 collectives, 3.1 us
//     all-reduce          8    64.0 KiB
//     all-gather          4    32.0 KiB
//
//     per device, largest first   runs     bytes     time
//     all-reduce                     8  64.0 KiB   2.0 us  %ar.1 in body, …
//     4 x all-gather                 4  32.0 KiB   1.1 us  %ag in entry, …
struct CollectiveUse {
  const HloInstruction* instruction;
  CollectiveKind kind;
  // How often it runs: the product of the trip counts of the enclosing loops.
  double runs = 1;
  // The cost of one run on rings (see mesh_cost.h).
  CollectiveCost cost;
};

struct CollectiveTotal {
  int64_t instructions = 0;
  double runs = 0;
  double bytes_per_device = 0;
  double seconds = 0;
};

struct CollectiveReport {
  std::string module;
  int64_t replicas = 1;
  int64_t partitions = 1;
  std::string mesh;
  // Most bytes first, then by name.
  std::vector<CollectiveUse> uses;
  std::map<CollectiveKind, CollectiveTotal> by_kind;
  CollectiveTotal total;
  // Loops with collectives and unknown trip counts; they count once.
  std::vector<const HloInstruction*> unknown_loops;
};

// Every collective reachable from the entry computation; all branches of a
// conditional count. The module must outlive the report. Errors: those of
// MeshCost::Cost.
absl::StatusOr<CollectiveReport> BuildCollectiveReport(const HloModule& module,
                                                       const MeshCost& mesh);

// The table above with at most this many rows of collectives (-1: all); equal
// ones of one operation of the model share a row.
std::string CollectiveReportToText(const CollectiveReport& report,
                                   int64_t max_rows);
// {"module", "partitions", "replicas", "mesh", "bytes_per_device", "seconds",
// "collectives": {kind: {"count", "runs", "bytes_per_device", "seconds"}},
// "instructions": [{"name", "kind", "runs", "bytes_per_device", "seconds",
// "op_name", "source"}], "unknown_loops": [name]}.
std::string CollectiveReportToJson(const CollectiveReport& report);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_COST_COLLECTIVE_REPORT_H_
