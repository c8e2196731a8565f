#ifndef XLA_HLO_MEMORY_SCHEDULERS_BF_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_BF_SCHEDULER_H_

#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// Breadth first: instructions in the order in which they become ready, so that
// as many as possible can run in parallel. O(instructions + edges).
class BFScheduler : public ComputationSchedulerAlgorithm {
 public:
  using ComputationSchedulerAlgorithm::ComputationSchedulerAlgorithm;
  using ComputationSchedulerAlgorithm::Run;

  absl::StatusOr<HloInstructionSequence> Run(
      HloComputation* computation,
      const HloAliasAnalysis& alias_analysis) const override;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_BF_SCHEDULER_H_
