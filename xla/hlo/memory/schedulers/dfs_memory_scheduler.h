#ifndef XLA_HLO_MEMORY_SCHEDULERS_DFS_MEMORY_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_DFS_MEMORY_SCHEDULER_H_

#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// Post order, where the operand with more behind it comes first.
//
// "More" is: more users beyond the first of all that it depends on, then more
// bytes defined by all that, then the lesser name. Both sums count what is
// reached on several paths several times, up to all instructions and up to all
// bytes so far. O((instructions + edges) log degree).
class DFSMemoryScheduler : public ComputationSchedulerAlgorithm {
 public:
  using ComputationSchedulerAlgorithm::ComputationSchedulerAlgorithm;
  using ComputationSchedulerAlgorithm::Run;

  absl::StatusOr<HloInstructionSequence> Run(
      HloComputation* computation,
      const HloAliasAnalysis& alias_analysis) const override;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_DFS_MEMORY_SCHEDULER_H_
