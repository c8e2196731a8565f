#ifndef XLA_HLO_MEMORY_SCHEDULERS_LIST_MEMORY_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_LIST_MEMORY_SCHEDULER_H_

#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// Greedy list scheduling: picks the ready instruction that frees the most bytes
// net of those it defines; then the one with most users, then the one that
// became ready last.
//
// Results of at most one element are scheduled as early as possible; so is an
// outfeed with a configuration, and such an infeed as late as possible.
// Parameters and constants are not counted. Memory needed while an instruction
// runs, including that of called computations, is ignored.
// O((instructions + edges) log n) plus the elements of tuples at each reader;
// a get-tuple-element reads only its element.
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
