#include "xla/hlo/transforms/memory/remat/planner/module_contents.h"

#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {

absl::Status ReplaceContents(std::unique_ptr<HloModule> rewritten,
                             HloModule* module) {
  TF_RETURN_IF_ERROR(rewritten->RemoveUnusedComputations());
  TF_RETURN_IF_ERROR(rewritten->schedule().Verify());
  // Schedules go by ids, which change with the module.
  std::vector<std::pair<HloComputation*, std::vector<HloInstruction*>>>
      sequences;
  for (HloComputation* computation : rewritten->computations()) {
    if (!rewritten->schedule().is_computation_scheduled(computation)) continue;
    sequences.emplace_back(
        computation,
        rewritten->schedule().sequence(computation).instructions());
  }
  HloInputOutputAliasConfig aliases = module->input_output_alias_config();
  HloBufferDonorConfig donors = module->buffer_donor_config();
  module->clear_schedule();
  module->MoveComputationsFrom(rewritten.get());
  module->set_input_output_alias_config(std::move(aliases));
  module->set_buffer_donor_config(std::move(donors));
  TF_RETURN_IF_ERROR(module->RemoveUnusedComputations());
  module->Cleanup();
  HloSchedule schedule(module);
  for (auto& [computation, sequence] : sequences) {
    schedule.set_sequence(computation, sequence);
  }
  return module->set_schedule(std::move(schedule));
}

}  // namespace xla::remat_plan
