#ifndef XLA_HLO_PIPELINE_MEMORY_AWARE_FUSION_H_
#define XLA_HLO_PIPELINE_MEMORY_AWARE_FUSION_H_

#include <cstdint>

#include "xla/backends/gpu/transforms/mof/multi_output_fusion.h"
#include "xla/backends/gpu/transforms/priority_fusion/priority_fusion.h"
#include "xla/hlo/transforms/memory/compute_schedule.h"

namespace xla {

// The options of a pass for fusion, and of the schedules behind its
// memory-limit.
template <typename PassOptions>
struct MemoryAwareOptions : PassOptions {
  ScheduleAlgorithm schedule = ScheduleAlgorithm::kBest;
  int64_t schedule_effort = 0;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    PassOptions::VisitFields(visit);
    visit("schedule", schedule,
          "under memory-limit: the order in which peaks are measured");
    visit("schedule-effort", schedule_effort, "of schedule best");
  }
};

using MemoryAwarePriorityFusionOptions =
    MemoryAwareOptions<gpu::PriorityFusionOptions>;
using MemoryAwareMultiOutputFusionOptions =
    MemoryAwareOptions<gpu::MultiOutputFusionOptions>;

// gpu::PriorityFusion and gpu::MultiOutputFusion whose memory-limit is held by
// the peaks of schedules that ComputeSchedule makes. Here, because fusion and
// scheduling do not know of one another.
class MemoryAwarePriorityFusion : public gpu::PriorityFusion {
 public:
  explicit MemoryAwarePriorityFusion(
      const MemoryAwarePriorityFusionOptions& options = {});
};
class MemoryAwareMultiOutputFusion : public gpu::MultiOutputFusion {
 public:
  explicit MemoryAwareMultiOutputFusion(
      const MemoryAwareMultiOutputFusionOptions& options = {});
};

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_MEMORY_AWARE_FUSION_H_
