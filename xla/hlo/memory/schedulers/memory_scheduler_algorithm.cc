#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

#include <memory>

#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/hlo/memory/schedulers/default_memory_scheduler.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// In tuples, bytes.
constexpr int64_t kPointerSize = 8;

}  // namespace

absl::StatusOr<HloSchedule> ComputationSchedulerAlgorithm::Run(
    HloModule* module, const HloAliasAnalysis& alias_analysis,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    int64_t* peak_memory) const {
  HloSchedule schedule(module);
  for (HloComputation* computation :
       module->MakeComputationPostOrder(execution_threads)) {
    if (computation->IsFusionComputation()) continue;
    TF_ASSIGN_OR_RETURN(HloInstructionSequence sequence,
                        Run(computation, alias_analysis));
    if (postprocessor_) sequence = postprocessor_(sequence);
    schedule.set_sequence(computation, std::move(sequence));
  }
  if (peak_memory != nullptr) {
    TF_ASSIGN_OR_RETURN(*peak_memory,
                        PeakOfSchedule(schedule, alias_analysis, alias_info(),
                                       size_function()));
  }
  return schedule;
}

absl::StatusOr<HloSchedule> ScheduleModule(
    HloModule* module, const ModuleSchedulerAlgorithm& algorithm,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    int64_t* peak_memory) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(module, algorithm.alias_info()));
  TF_ASSIGN_OR_RETURN(
      HloSchedule schedule,
      algorithm.Run(module, *alias_analysis, execution_threads, peak_memory));
  TF_RETURN_IF_ERROR(schedule.Verify());
  return schedule;
}

absl::StatusOr<HloSchedule> ScheduleModule(
    HloModule* module, const AliasInfo* alias_info,
    BufferValue::SizeFunction size_function,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    int64_t* peak_memory) {
  return ScheduleModule(
      module, DefaultMemoryScheduler(alias_info, std::move(size_function)),
      execution_threads, peak_memory);
}

BufferValue::SizeFunction DefaultSizeFunction() {
  return [](const BufferValue& value) {
    return ShapeUtil::ByteSizeOf(value.shape(), kPointerSize);
  };
}

}  // namespace xla
