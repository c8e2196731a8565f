#include "xla/hlo/transforms/operations/op_expander_pass.h"

#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<bool> OpExpanderPass::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  std::vector<HloInstruction*> matches;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread has to stay one operation.
    if (computation->IsAsyncComputation() && computation->IsMainThread()) {
      continue;
    }
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (InstructionMatchesPattern(inst)) matches.push_back(inst);
    }
  }
  bool changed = false;
  for (HloInstruction* inst : matches) {
    TF_ASSIGN_OR_RETURN(HloInstruction * expanded, ExpandInstruction(inst));
    if (expanded == nullptr || expanded == inst) continue;
    TF_RETURN_IF_ERROR(expanded->CopyAllControlDepsFrom(inst));
    TF_RETURN_IF_ERROR(inst->DropAllControlDeps());
    TF_RETURN_IF_ERROR(inst->parent()->ReplaceInstruction(inst, expanded));
    changed = true;
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
