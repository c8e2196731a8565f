#include "xla/backends/gpu/transforms/priority_fusion/fusion_order.h"

#include <vector>

namespace xla::gpu {

FusionOrder::FusionOrder(const HloComputation& computation)
    : dag_(static_cast<ContractedDag::Node>(computation.instruction_count())) {
  ContractedDag::Node next = 0;
  for (const HloInstruction* hlo : computation.MakeInstructionPostOrder()) {
    nodes_[hlo] = next;
    for (const HloInstruction* operand : hlo->unique_operands()) {
      dag_.AddEdge(nodes_.at(operand), next);
    }
    for (const HloInstruction* before : hlo->control_predecessors()) {
      dag_.AddEdge(nodes_.at(before), next);
    }
    ++next;
  }
}

ContractedDag::Node FusionOrder::NodeOf(
    const HloInstruction& instruction) const {
  auto it = nodes_.find(&instruction);
  return it == nodes_.end() ? ContractedDag::kNone : it->second;
}

bool FusionOrder::CanMerge(const HloInstruction& producer,
                           const HloInstruction& consumer) const {
  const ContractedDag::Node first = NodeOf(producer);
  const ContractedDag::Node second = NodeOf(consumer);
  return first != ContractedDag::kNone && second != ContractedDag::kNone &&
         dag_.FindBetween(first, second) == ContractedDag::kNone;
}

// Where the producer goes in as a copy, what it follows from is what the
// consumer followed from before.
void FusionOrder::Fused(const HloInstruction& producer,
                        const HloInstruction& consumer,
                        const HloInstruction& fusion) {
  const ContractedDag::Node node = NodeOf(consumer);
  // The consumer's place becomes that of the producer, which took it in.
  if (&fusion == &producer) Remove(producer);
  nodes_.erase(&consumer);
  if (node != ContractedDag::kNone) nodes_[&fusion] = node;
}

void FusionOrder::Merged(const HloInstruction& producer,
                         const HloInstruction& consumer,
                         const HloInstruction& fusion) {
  const ContractedDag::Node node = nodes_.at(&producer);
  dag_.Merge(node, nodes_.at(&consumer));
  nodes_.erase(&producer);
  nodes_.erase(&consumer);
  nodes_[&fusion] = node;
}

void FusionOrder::Remove(const HloInstruction& instruction) {
  const ContractedDag::Node node = NodeOf(instruction);
  if (node == ContractedDag::kNone) return;
  dag_.Remove(node);
  nodes_.erase(&instruction);
}

}  // namespace xla::gpu
