#ifndef XLA_HLO_TRANSFORMS_FUSION_REVERSE_POST_ORDER_QUEUE_H_
#define XLA_HLO_TRANSFORMS_FUSION_REVERSE_POST_ORDER_QUEUE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/transforms/fusion/fusion_queue.h"

namespace xla {

// Consumers in reverse post order; for each, its operands and those of what it
// takes in, from the last to the first in post order, each once, one at a time.
// When an operand is offered, its users in the fusion are already there.
// O(edges log operands).
class ReversePostOrderQueue : public FusionQueue {
 public:
  // `record`: keep a configuration. Per edge: an entry per operand offered,
  // whether it was fused. Per node: an entry per instruction of `post_order`,
  // whether in the end only fusions compute it, of one or more of its users.
  ReversePostOrderQueue(
      const std::vector<HloInstruction*>& post_order,
      FusionConfigCollection record = FusionConfigCollection::kOff);

  std::pair<HloInstruction*, std::vector<int64_t>>
  DequeueNextInstructionAndOperandsToFuseInOrder() override;
  void OnFusingInstruction(HloInstruction* fusion,
                           HloInstruction* original_producer,
                           HloInstruction* original_consumer) override;
  void NotFusingInstruction(HloInstruction* producer,
                            HloInstruction* consumer) override;
  void RemoveInstruction(HloInstruction* instruction) override;
  const std::vector<bool>* FusionConfiguration() override {
    return record_ == FusionConfigCollection::kOff ? nullptr : &configuration_;
  }

 private:
  void AddCandidates(const HloInstruction* instruction);

  // Null for instructions that have been removed.
  std::vector<HloInstruction*> post_order_;
  // By local id; -1 for instructions that were not there at the start.
  std::vector<int32_t> position_;
  HloInstruction* consumer_ = nullptr;
  // The position of the consumer; those before it are still to come.
  int32_t consumer_position_;
  // A heap of positions of operands of the consumer, and what has been in it.
  std::vector<int32_t> candidates_;
  absl::flat_hash_set<int32_t> seen_;
  FusionConfigCollection record_;
  std::vector<bool> configuration_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_FUSION_REVERSE_POST_ORDER_QUEUE_H_
