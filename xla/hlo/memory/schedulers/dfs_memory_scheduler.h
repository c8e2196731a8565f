#ifndef XLA_HLO_MEMORY_SCHEDULERS_DFS_MEMORY_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_DFS_MEMORY_SCHEDULER_H_

#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// Post order in which the operand with more behind it is visited first.
//
// "More" is: more extra users (beyond the first) of its ancestors, then more
// bytes defined by them, then the lesser name. Both sums count an ancestor once
// per path, capped at all instructions and all bytes so far. O((instructions +
// edges) log degree).
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
