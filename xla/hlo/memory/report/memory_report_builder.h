#ifndef XLA_HLO_MEMORY_REPORT_MEMORY_REPORT_BUILDER_H_
#define XLA_HLO_MEMORY_REPORT_MEMORY_REPORT_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/packing/packing_problem.h"
#include "xla/hlo/memory/report/memory_report.pb.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/memory/timeline/memory_timeline.h"

namespace xla {

struct MemoryReportOptions {
  // The one the schedule was computed with.
  const AliasInfo* alias_info = nullptr;
  BufferValue::SizeFunction size_function;
  // Available bytes; unset: no limit. If the heap exceeds them, the search for
  // a smaller one takes longer, so the result may be lower than without a
  // limit.
  std::optional<int64_t> limit_bytes;
  // Bytes counted by kAllocated, if requested: they are compared with the limit
  // instead of the larger of peak and heap.
  std::optional<int64_t> allocated_bytes;
  // Fill MemoryReport.curve.
  bool curve = false;
  // Report how long scheduling took; off for reproducible reports.
  bool seconds = true;
};

struct BuiltMemoryReport {
  MemoryReport report;
  // Live bytes at each tick of the MemoryTimeline.
  std::vector<double> curve;
  // The intervals that need offsets, over the ticks of the MemoryTimeline.
  packing::PackingProblem buffers;
  // The time line that the report describes; for each of its intervals the
  // offset and MemoryReport.Buffer.kind.
  MemoryTimeline timeline;
  std::vector<int64_t> offsets;
  std::vector<std::string> kinds;
};

// Reports where the memory of a module goes when it runs in `schedule`: the
// peak and what is live there, the bytes of arguments, outputs and temporaries,
// and the height of a heap in which every buffer has an offset.
//
// `fits` compares allocated_bytes with the limit, or else the larger of peak
// and heap. Errors are those of BuildMemoryTimeline().
absl::StatusOr<BuiltMemoryReport> BuildMemoryReport(
    const ScheduleResult& schedule, const HloAliasAnalysis& alias_analysis,
    const MemoryReportOptions& options);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_REPORT_MEMORY_REPORT_BUILDER_H_
