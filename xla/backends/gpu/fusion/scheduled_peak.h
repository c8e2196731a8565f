#ifndef XLA_BACKENDS_GPU_FUSION_SCHEDULED_PEAK_H_
#define XLA_BACKENDS_GPU_FUSION_SCHEDULED_PEAK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/fusion/fusion_memory_limit.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"

namespace xla::gpu {

// The peak memory of the schedule that ComputeSchedule finds for the module,
// and the values live there if the peak exceeds `limit_bytes`. The module is
// left unchanged. Errors are those of alias analysis and of scheduling.
absl::StatusOr<FusionPeak> ScheduledPeak(HloModule* module, int64_t limit_bytes,
                                         const ScheduleOptions& options);

// The same as a FusionPeakFunction.
FusionPeakFunction ScheduledPeakFunction(ScheduleAlgorithm algorithm,
                                         int64_t effort);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_SCHEDULED_PEAK_H_
