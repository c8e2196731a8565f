#include "xla/hlo/pipeline/memory_aware_fusion.h"

#include <memory>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/transforms/mof/mof_memory_limit.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/memory/memory_timeline.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

absl::StatusOr<gpu::MofPeak> PeakOf(HloModule* module, int64_t limit_bytes,
                                    const ScheduleOptions& options) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(module, options.alias_info));
  TF_ASSIGN_OR_RETURN(ScheduleResult result,
                      ComputeSchedule(module, *alias_analysis, options));
  gpu::MofPeak peak;
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

gpu::MofPeakFunction PeakFunction(ScheduleAlgorithm algorithm, int64_t effort) {
  ScheduleOptions options;
  options.algorithm = algorithm;
  options.effort = effort;
  return [options](HloModule* module, int64_t limit_bytes) {
    return PeakOf(module, limit_bytes, options);
  };
}

}  // namespace

MemoryAwarePriorityFusion::MemoryAwarePriorityFusion(
    const MemoryAwarePriorityFusionOptions& options)
    : gpu::PriorityFusion(options) {
  set_peak_function(PeakFunction(options.schedule, options.schedule_effort));
}

MemoryAwareMultiOutputFusion::MemoryAwareMultiOutputFusion(
    const MemoryAwareMultiOutputFusionOptions& options)
    : gpu::MultiOutputFusion(options) {
  set_peak_function(PeakFunction(options.schedule, options.schedule_effort));
}

}  // namespace xla
