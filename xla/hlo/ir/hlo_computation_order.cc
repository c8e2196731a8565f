// Orders of the instructions of a computation, and walks along them.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/dfs_hlo_visitor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// A depth-first walk against the edges, with an explicit stack. Cycles, which
// only the verifier reports, are cut where they close, so that every order
// holds every instruction once.
class PostOrderWalk {
 public:
  explicit PostOrderWalk(const HloComputation& computation)
      : seen_(computation.next_unique_instruction_internal_id(), false) {}

  // Appends what `root` depends on and was not reached before, then `root`.
  void From(HloInstruction* root) {
    Push(root);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      HloInstruction* predecessor = Next(frame);
      if (predecessor != nullptr) {
        Push(predecessor);
      } else {
        order_.push_back(frame.instruction);
        stack_.pop_back();
      }
    }
  }

  void Reserve(int64_t size) { order_.reserve(size); }
  std::vector<HloInstruction*> Take() { return std::move(order_); }
  int64_t size() const { return order_.size(); }

 private:
  struct Frame {
    HloInstruction* instruction;
    // Next of the operands followed by the control predecessors.
    int64_t next;
  };

  void Push(HloInstruction* instruction) {
    if (seen_[instruction->local_id()]) return;
    seen_[instruction->local_id()] = true;
    stack_.push_back({instruction, 0});
  }

  // The next predecessor that was not seen; null if there is none left.
  HloInstruction* Next(Frame& frame) {
    const auto& operands = frame.instruction->operands();
    while (frame.next < static_cast<int64_t>(operands.size())) {
      HloInstruction* operand = operands[frame.next++];
      if (!seen_[operand->local_id()]) return operand;
    }
    const auto& predecessors = frame.instruction->control_predecessors();
    const int64_t end = operands.size() + predecessors.size();
    while (frame.next < end) {
      HloInstruction* predecessor =
          predecessors[frame.next++ - operands.size()];
      if (!seen_[predecessor->local_id()]) return predecessor;
    }
    return nullptr;
  }

  std::vector<bool> seen_;
  std::vector<Frame> stack_;
  std::vector<HloInstruction*> order_;
};

// Walks from the instructions without users, in storage order, and then from
// whatever is left, which is only on cycles.
void WalkAll(const HloComputation& computation, PostOrderWalk& walk) {
  for (HloInstruction* instruction : computation.instructions()) {
    if (instruction->users().empty()) walk.From(instruction);
  }
  if (walk.size() == computation.instruction_count()) return;
  for (HloInstruction* instruction : computation.instructions()) {
    walk.From(instruction);
  }
}

}  // namespace

std::vector<HloInstruction*> HloComputation::MakeInstructionPostOrder() const {
  PostOrderWalk walk(*this);
  walk.Reserve(instruction_count());
  WalkAll(*this, walk);
  return walk.Take();
}

std::vector<HloInstruction*> HloComputation::MakeInstructionPostOrderFrom(
    HloInstruction& instruction) const {
  PostOrderWalk walk(*this);
  walk.From(&instruction);
  return walk.Take();
}

std::vector<HloInstruction*>
HloComputation::MakeInstructionPostOrderWithReshapeFirst() const {
  PostOrderWalk walk(*this);
  walk.Reserve(instruction_count());
  for (HloInstruction* instruction : instructions()) {
    if (instruction->opcode() == HloOpcode::kReshape) walk.From(instruction);
  }
  WalkAll(*this, walk);
  return walk.Take();
}

void HloComputation::ForEachInstructionPostOrder(
    absl::FunctionRef<void(HloInstruction*)> func) const {
  for (HloInstruction* instruction : MakeInstructionPostOrder()) {
    if (!IsMarkedAsDead(instruction)) func(instruction);
  }
}

template <typename HloInstructionPtr>
absl::Status HloComputation::Accept(
    DfsHloVisitorBase<HloInstructionPtr>* visitor) const {
  // The visitor may add and remove instructions.
  std::vector<HloInstruction*> other_roots;
  for (HloInstruction* instruction : instructions()) {
    if (instruction != root_instruction_ && instruction->users().empty() &&
        instruction->control_successors().empty()) {
      other_roots.push_back(instruction);
    }
  }
  for (HloInstruction* instruction : other_roots) {
    if (IsMarkedAsDead(instruction)) continue;
    TF_RETURN_IF_ERROR(
        instruction->Accept(visitor, /*call_finish_visit=*/false));
  }
  return root_instruction_->Accept(visitor, /*call_finish_visit=*/true);
}

absl::Status HloComputation::AcceptWithOperandOrder(
    DfsHloVisitor* visitor,
    const HloInstruction::CompareFunction& operand_order) const {
  std::vector<HloInstruction*> other_roots;
  for (HloInstruction* instruction : instructions()) {
    if (instruction != root_instruction_ && instruction->users().empty() &&
        instruction->control_successors().empty()) {
      other_roots.push_back(instruction);
    }
  }
  for (HloInstruction* instruction : other_roots) {
    if (IsMarkedAsDead(instruction)) continue;
    TF_RETURN_IF_ERROR(instruction->AcceptWithOperandOrder(
        visitor, operand_order, /*call_finish_visit=*/false));
  }
  return root_instruction_->AcceptWithOperandOrder(visitor, operand_order,
                                                   /*call_finish_visit=*/true);
}

template <typename HloInstructionPtr>
absl::Status HloComputation::AcceptOrdered(
    DfsHloVisitorBase<HloInstructionPtr>* visitor,
    absl::Span<HloInstruction* const> order) const {
  TF_RET_CHECK(static_cast<int64_t>(order.size()) == instruction_count())
      << "order of " << order.size() << " instructions for " << name_;
  std::vector<bool> visited(next_unique_instruction_internal_id(), false);
  for (HloInstruction* instruction : order) {
    TF_RET_CHECK(instruction->parent() == this)
        << instruction->name() << " is not in " << name_;
    TF_RET_CHECK(!visited[instruction->local_id()])
        << instruction->name() << " is in the order twice";
    for (const HloInstruction* operand : instruction->operands()) {
      TF_RET_CHECK(visited[operand->local_id()])
          << instruction->name() << " comes before its operand "
          << operand->name();
    }
    visited[instruction->local_id()] = true;
  }
  for (HloInstruction* instruction : order) {
    TF_RETURN_IF_ERROR(visitor->Preprocess(instruction));
    TF_RETURN_IF_ERROR(instruction->Visit(visitor));
    visitor->SetVisited(*instruction);
    TF_RETURN_IF_ERROR(visitor->Postprocess(instruction));
  }
  return visitor->FinishVisit(root_instruction_);
}

template absl::Status HloComputation::Accept(
    DfsHloVisitorBase<HloInstruction*>* visitor) const;
template absl::Status HloComputation::Accept(
    DfsHloVisitorBase<const HloInstruction*>* visitor) const;
template absl::Status HloComputation::AcceptOrdered(
    DfsHloVisitorBase<HloInstruction*>* visitor,
    absl::Span<HloInstruction* const> order) const;
template absl::Status HloComputation::AcceptOrdered(
    DfsHloVisitorBase<const HloInstruction*>* visitor,
    absl::Span<HloInstruction* const> order) const;

}  // namespace xla
