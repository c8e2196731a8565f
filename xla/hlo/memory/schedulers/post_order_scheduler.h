#ifndef XLA_HLO_MEMORY_SCHEDULERS_POST_ORDER_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_POST_ORDER_SCHEDULER_H_

#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// The computation's post order: operands in their order, users in theirs.
// O(instructions + edges).
class PostOrderScheduler : public ComputationSchedulerAlgorithm {
 public:
  using ComputationSchedulerAlgorithm::ComputationSchedulerAlgorithm;
  using ComputationSchedulerAlgorithm::Run;

  absl::StatusOr<HloInstructionSequence> Run(
      HloComputation* computation,
      const HloAliasAnalysis& alias_analysis) const override;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_POST_ORDER_SCHEDULER_H_
