#include "xla/hlo/transforms/memory/hlo_trivial_scheduler.h"

#include <utility>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<bool> HloTrivialScheduler::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  HloSchedule schedule(module);
  bool differs = !module->has_schedule();
  for (HloComputation* computation :
       module->MakeComputationPostOrder(execution_threads)) {
    if (computation->IsFusionComputation()) continue;
    HloInstructionSequence sequence(computation->MakeInstructionPostOrder());
    differs = differs ||
              !module->schedule().is_computation_scheduled(computation) ||
              module->schedule().sequence(computation) != sequence;
    schedule.set_sequence(computation, std::move(sequence));
  }
  if (!differs &&
      schedule.sequences().size() == module->schedule().sequences().size()) {
    return false;
  }
  TF_RETURN_IF_ERROR(module->set_schedule(std::move(schedule)));
  return true;
}

}  // namespace xla
