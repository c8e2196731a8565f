#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_RESCHEDULE_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_RESCHEDULE_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// Gives a scheduled module the order of BestMemoryScheduler if that needs less
// by rematerialization's accounting. In modules that the backend has finished
// (overwritten_values.h) computations keep their order if another one would
// read overwritten values. FailedPrecondition if nothing is gained; errors of
// ComputeSchedule.
absl::Status RescheduleForMemory(HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_RESCHEDULE_H_
