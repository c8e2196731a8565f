#ifndef XLA_HLO_MEMORY_SCHEDULERS_LIST_MEMORY_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_LIST_MEMORY_SCHEDULER_H_

#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// Greedy list scheduling: of the instructions that are ready, always the one
// that frees most over what it defines; then the one with most users, then the
// one that became ready last.
//
// Results of at most one element go as soon as they can; an outfeed that has a
// configuration as early, such an infeed as late as possible. Parameters and
// constants count nothing. What an instruction needs while it runs, and what
// the computations that it calls need, is not looked at.
// O((instructions + edges) log n) plus the elements of tuples at each reader;
// a get-tuple-element reads its element alone.
class ListMemoryScheduler : public ComputationSchedulerAlgorithm {
 public:
  using ComputationSchedulerAlgorithm::ComputationSchedulerAlgorithm;
  using ComputationSchedulerAlgorithm::Run;

  absl::StatusOr<HloInstructionSequence> Run(
      HloComputation* computation,
      const HloAliasAnalysis& alias_analysis) const override;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_LIST_MEMORY_SCHEDULER_H_
