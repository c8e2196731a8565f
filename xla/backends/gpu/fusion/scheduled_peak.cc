#include "xla/backends/gpu/fusion/scheduled_peak.h"

#include <memory>

#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"
#include "xla/hlo/memory/timeline/memory_timeline.h"
#include "xla/status_macros.h"

namespace xla::gpu {

// An array that is alive at the peak is charged both to the instruction that
// defines it and to its last reader, since leaving out either fusion may
// shorten its live range.
absl::StatusOr<FusionPeak> ScheduledPeak(HloModule* module, int64_t limit_bytes,
                                         const ScheduleOptions& options) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(module, options.alias_info));
  TF_ASSIGN_OR_RETURN(ScheduleResult result,
                      ComputeSchedule(module, *alias_analysis, options));
  FusionPeak peak;
  peak.bytes = result.peak_bytes;
  if (peak.bytes <= limit_bytes) return peak;
  TF_ASSIGN_OR_RETURN(
      MemoryTimeline timeline,
      BuildMemoryTimeline(result.schedule, *alias_analysis, options.alias_info,
                          DefaultSizeFunction()));
  for (const MemoryTimeline::Interval& interval : timeline.intervals) {
    if (interval.begin > timeline.peak_tick ||
        interval.end <= timeline.peak_tick) {
      continue;
    }
    const HloInstruction* last = timeline.ticks[interval.end - 1];
    if (interval.value != nullptr && interval.value->instruction() != last) {
      peak.held.push_back({interval.value->instruction(), interval.bytes});
    }
    peak.held.push_back({last, interval.bytes});
  }
  return peak;
}

FusionPeakFunction ScheduledPeakFunction(ScheduleAlgorithm algorithm,
                                         int64_t effort) {
  ScheduleOptions options;
  options.algorithm = algorithm;
  options.effort = effort;
  return [options](HloModule* module, int64_t limit_bytes) {
    return ScheduledPeak(module, limit_bytes, options);
  };
}

}  // namespace xla::gpu
