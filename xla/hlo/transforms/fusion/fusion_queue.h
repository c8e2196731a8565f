#ifndef XLA_HLO_TRANSFORMS_FUSION_FUSION_QUEUE_H_
#define XLA_HLO_TRANSFORMS_FUSION_FUSION_QUEUE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Decides which edges of a computation InstructionFusion considers, in which
// order, and is told the outcome.
class FusionQueue {
 public:
  FusionQueue() = default;
  virtual ~FusionQueue() = default;

  // The next consumer and the positions of those of its operands that may be
  // fused into it, the best first; null and none when there is nothing left.
  // After a fusion the rest of the list is dropped, and the queue asked again.
  virtual std::pair<HloInstruction*, std::vector<int64_t>>
  DequeueNextInstructionAndOperandsToFuseInOrder() = 0;

  // Before a producer is fused into a consumer.
  virtual void PreFusion(HloInstruction* producer, HloInstruction* consumer) {}
  // After it: `fusion` has taken the place of `original_consumer`, which may
  // be itself. The producer is still there.
  virtual void OnFusingInstruction(HloInstruction* fusion,
                                   HloInstruction* original_producer,
                                   HloInstruction* original_consumer) {}
  // Called when the two are not fused.
  virtual void NotFusingInstruction(HloInstruction* producer,
                                    HloInstruction* consumer) {}
  // Before an instruction is removed from the computation.
  virtual void RemoveInstruction(HloInstruction* instruction) = 0;

  // An entry per decision or per instruction, in order; null if not requested
  // for it.
  virtual const std::vector<bool>* FusionConfiguration() = 0;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_FUSION_FUSION_QUEUE_H_
