#include "double_negation.h"

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/pattern_matcher.h"
#include "xla/tsl/platform/errors.h"

namespace m = xla::match;

absl::StatusOr<bool> DoubleNegation::RunImpl(
    xla::HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    for (xla::HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      xla::HloInstruction* x = nullptr;
      if (!xla::Match(inst, m::Negate(m::Negate(m::Op(&x))))) continue;
      TF_RETURN_IF_ERROR(inst->ReplaceAllUsesWith(x));
      changed = true;
    }
  }
  return changed;
}
