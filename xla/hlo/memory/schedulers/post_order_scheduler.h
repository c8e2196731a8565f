#ifndef XLA_HLO_MEMORY_SCHEDULERS_POST_ORDER_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_POST_ORDER_SCHEDULER_H_

#include <utility>

#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// The computation's post order: operands in their order, users in theirs.
// O(instructions + edges).
class PostOrderScheduler : public ComputationSchedulerAlgorithm {
 public:
  using ComputationSchedulerAlgorithm::Run;

  PostOrderScheduler(const AliasInfo* alias_info,
                     const BufferValue::SizeFunction* size_function,
                     SchedulerPostprocessor postprocessor = {})
      : ComputationSchedulerAlgorithm(alias_info, size_function,
                                      std::move(postprocessor)) {}
  PostOrderScheduler(const AliasInfo* alias_info,
                     BufferValue::SizeFunction size_function,
                     SchedulerPostprocessor postprocessor = {})
      : ComputationSchedulerAlgorithm(alias_info, std::move(size_function),
                                      std::move(postprocessor)) {}

  absl::StatusOr<HloInstructionSequence> Run(
      HloComputation* computation,
      const HloAliasAnalysis& alias_analysis) const override;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_POST_ORDER_SCHEDULER_H_
