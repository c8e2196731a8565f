#include "xla/hlo/transforms/memory/remat/planner/reschedule.h"

#include <utility>

#include "absl/status/status.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {

absl::Status RescheduleForMemory(HloModule* module) {
  ScheduleOptions options;
  options.algorithm = ScheduleAlgorithm::kBest;
  options.effort = BestMemoryScheduler::kDefaultEffort / 32;
  TF_ASSIGN_OR_RETURN(ScheduleResult best, ComputeSchedule(module, options));
  TF_ASSIGN_OR_RETURN(RematPeak now,
                      ComputeRematPeak(*module, module->schedule()));
  TF_ASSIGN_OR_RETURN(RematPeak then, ComputeRematPeak(*module, best.schedule));
  if (then.bytes >= now.bytes) {
    return absl::FailedPreconditionError("no order found needs less");
  }
  return module->set_schedule(std::move(best.schedule));
}

}  // namespace xla::remat_plan
