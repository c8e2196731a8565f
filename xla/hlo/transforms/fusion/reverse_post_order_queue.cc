#include "xla/hlo/transforms/fusion/reverse_post_order_queue.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

// Offers consumers from the end of the computation to its beginning, and for
// each the operands that come last in post order first. A consumer therefore
// grows backwards as far as it can before its producers get their own turn.
// Operands of fused producers join the heap of the current consumer, so each
// edge is offered at most once.

namespace xla {

ReversePostOrderQueue::ReversePostOrderQueue(
    const std::vector<HloInstruction*>& post_order,
    FusionConfigCollection record)
    : post_order_(post_order), record_(record) {
  int32_t ids = 0;
  for (const HloInstruction* hlo : post_order_) {
    ids = std::max(ids, hlo->local_id() + 1);
  }
  position_.assign(ids, -1);
  for (int32_t i = 0; i < static_cast<int32_t>(post_order_.size()); ++i) {
    position_[post_order_[i]->local_id()] = i;
  }
  consumer_position_ = static_cast<int32_t>(post_order_.size());
  if (record_ == FusionConfigCollection::kPerNode) {
    configuration_.resize(post_order_.size(), false);
  }
}

std::pair<HloInstruction*, std::vector<int64_t>>
ReversePostOrderQueue::DequeueNextInstructionAndOperandsToFuseInOrder() {
  while (true) {
    while (consumer_ != nullptr && !candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end());
      HloInstruction* operand = post_order_[candidates_.back()];
      candidates_.pop_back();
      if (operand == nullptr || !consumer_->IsUserOf(operand)) continue;
      return {consumer_, {consumer_->operand_index(operand)}};
    }
    do {
      if (consumer_position_ == 0) return {nullptr, {}};
      consumer_ = post_order_[--consumer_position_];
    } while (consumer_ == nullptr);
    candidates_.clear();
    seen_.clear();
    AddCandidates(consumer_);
  }
}

void ReversePostOrderQueue::AddCandidates(const HloInstruction* instruction) {
  for (const HloInstruction* operand : instruction->operands()) {
    const int32_t id = operand->local_id();
    if (id >= static_cast<int32_t>(position_.size())) continue;
    const int32_t position = position_[id];
    if (position < 0 || !seen_.insert(position).second) continue;
    candidates_.push_back(position);
    std::push_heap(candidates_.begin(), candidates_.end());
  }
}

void ReversePostOrderQueue::OnFusingInstruction(
    HloInstruction* fusion, HloInstruction* original_producer,
    HloInstruction* original_consumer) {
  consumer_ = fusion;
  post_order_[consumer_position_] = fusion;
  // A fusion that is part of this one, with its outputs, has gone.
  AddCandidates(fusion->parent()->IsMarkedAsDead(original_producer)
                    ? fusion
                    : original_producer);
  if (record_ == FusionConfigCollection::kPerEdge) {
    configuration_.push_back(true);
  }
}

void ReversePostOrderQueue::NotFusingInstruction(HloInstruction* producer,
                                                 HloInstruction* consumer) {
  if (record_ == FusionConfigCollection::kPerEdge) {
    configuration_.push_back(false);
  }
}

void ReversePostOrderQueue::RemoveInstruction(HloInstruction* instruction) {
  if (instruction == consumer_) consumer_ = nullptr;
  const int32_t id = instruction->local_id();
  if (id < 0 || id >= static_cast<int32_t>(position_.size())) return;
  const int32_t position = position_[id];
  if (position < 0) return;
  post_order_[position] = nullptr;
  if (record_ == FusionConfigCollection::kPerNode) {
    configuration_[position] = true;
  }
}

}  // namespace xla
