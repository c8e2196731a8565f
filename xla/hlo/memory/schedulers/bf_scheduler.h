#ifndef XLA_HLO_MEMORY_SCHEDULERS_BF_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_BF_SCHEDULER_H_

#include <utility>

#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// Breadth first: instructions in the order in which they become ready, so that
// as much as can runs side by side. O(instructions + edges).
class BFScheduler : public ComputationSchedulerAlgorithm {
 public:
  using ComputationSchedulerAlgorithm::Run;

  BFScheduler(const AliasInfo* alias_info,
              const BufferValue::SizeFunction* size_function,
              SchedulerPostprocessor postprocessor = {})
      : ComputationSchedulerAlgorithm(alias_info, size_function,
                                      std::move(postprocessor)) {}
  BFScheduler(const AliasInfo* alias_info,
              BufferValue::SizeFunction size_function,
              SchedulerPostprocessor postprocessor = {})
      : ComputationSchedulerAlgorithm(alias_info, std::move(size_function),
                                      std::move(postprocessor)) {}

  absl::StatusOr<HloInstructionSequence> Run(
      HloComputation* computation,
      const HloAliasAnalysis& alias_analysis) const override;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_BF_SCHEDULER_H_
