#include "xla/hlo/memory/schedulers/post_order_scheduler.h"

namespace xla {

absl::StatusOr<HloInstructionSequence> PostOrderScheduler::Run(
    HloComputation* computation, const HloAliasAnalysis& alias_analysis) const {
  return HloInstructionSequence(computation->MakeInstructionPostOrder());
}

}  // namespace xla
