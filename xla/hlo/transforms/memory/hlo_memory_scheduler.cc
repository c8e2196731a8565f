#include "xla/hlo/transforms/memory/hlo_memory_scheduler.h"

#include <string>

#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/schedulers/schedule_checker.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool SameSequences(const HloSchedule& a, const HloSchedule& b) {
  if (a.sequences().size() != b.sequences().size()) return false;
  for (const auto& [id, sequence] : a.sequences()) {
    auto it = b.sequences().find(id);
    if (it == b.sequences().end() || it->second != sequence) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> HloMemoryScheduler::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (algorithm_ == nullptr) {
    ScheduleOptions options;
    options.algorithm = options_.algorithm;
    options.effort = options_.effort;
    options.postprocessor = MakeAsyncPostprocessor(options_.async);
    TF_ASSIGN_OR_RETURN(algorithm_, MakeSchedulerAlgorithm(options));
  }
  TF_ASSIGN_OR_RETURN(HloSchedule schedule,
                      ScheduleModule(module, *algorithm_, execution_threads));
  TF_RETURN_IF_ERROR(CheckSchedule(*module, schedule));
  if (module->has_schedule() && SameSequences(module->schedule(), schedule)) {
    return false;
  }
  TF_RETURN_IF_ERROR(module->set_schedule(std::move(schedule)));
  return true;
}

}  // namespace xla
