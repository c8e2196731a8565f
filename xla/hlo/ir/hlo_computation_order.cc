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
//
// Instructions lie apart in memory: following operands from one to the next
// waits for memory at each step. The edges are copied in storage order first,
// which can be fetched ahead, and the walk stays within a few bytes per edge.
class PostOrderWalk {
 public:
  explicit PostOrderWalk(const HloComputation& computation)
      : nodes_(computation.next_unique_instruction_internal_id()),
        marks_(nodes_.size(), 0) {
    const int64_t count = computation.instruction_count();
    order_.reserve(count);
    edges_.reserve(2 * count);
    auto ahead = computation.instructions().begin();
    const auto end = computation.instructions().end();
    for (int i = 0; i < kFetchedAhead && ahead != end; ++i, ++ahead) {
      __builtin_prefetch(*ahead);
    }
    for (HloInstruction* instruction : computation.instructions()) {
      if (ahead != end) {
        __builtin_prefetch(*ahead);
        ++ahead;
      }
      Node& node = nodes_[instruction->local_id()];
      node.instruction = instruction;
      node.next = static_cast<int32_t>(edges_.size());
      // OpenXLA's order: the last control predecessor first, then the operands.
      const auto& predecessors = instruction->control_predecessors();
      for (auto it = predecessors.rbegin(); it != predecessors.rend(); ++it) {
        edges_.push_back((*it)->local_id());
      }
      for (const HloInstruction* operand : instruction->operands()) {
        edges_.push_back(operand->local_id());
        marks_[operand->local_id()] |= kUsed;
      }
      node.end = static_cast<int32_t>(edges_.size());
    }
  }

  // Appends what the instruction depends on and was not reached before, then
  // itself.
  void From(int32_t local_id) {
    Push(local_id);
    while (!stack_.empty()) {
      Node& node = nodes_[stack_.back()];
      if (node.next < node.end) {
        Push(edges_[node.next++]);
      } else {
        order_.push_back(node.instruction);
        stack_.pop_back();
      }
    }
  }

  // Walks from the instructions without users, in storage order, and then from
  // whatever is left, which is only on cycles.
  void All() {
    const int32_t bound = static_cast<int32_t>(nodes_.size());
    for (int32_t id = 0; id < bound; ++id) {
      if (marks_[id] == 0 && nodes_[id].instruction != nullptr) From(id);
    }
    for (int32_t id = 0; id < bound; ++id) {
      if ((marks_[id] & kSeen) == 0 && nodes_[id].instruction != nullptr) {
        From(id);
      }
    }
  }

  std::vector<HloInstruction*> Take() { return std::move(order_); }

 private:
  static constexpr int kFetchedAhead = 8;
  static constexpr uint8_t kUsed = 1;
  static constexpr uint8_t kSeen = 2;

  // One slot; the instruction is null if the slot is empty.
  struct Node {
    HloInstruction* instruction = nullptr;
    // Range of edges_ that is left to follow.
    int32_t next = 0;
    int32_t end = 0;
  };

  void Push(int32_t id) {
    if ((marks_[id] & kSeen) != 0) return;
    marks_[id] |= kSeen;
    stack_.push_back(id);
  }

  std::vector<Node> nodes_;
  // Local ids of operands, then of control predecessors, by instruction.
  std::vector<int32_t> edges_;
  std::vector<uint8_t> marks_;
  std::vector<int32_t> stack_;
  std::vector<HloInstruction*> order_;
};

}  // namespace

std::vector<HloInstruction*> HloComputation::MakeInstructionPostOrder() const {
  PostOrderWalk walk(*this);
  walk.All();
  return walk.Take();
}

std::vector<HloInstruction*> HloComputation::MakeInstructionPostOrderFrom(
    HloInstruction& instruction) const {
  PostOrderWalk walk(*this);
  walk.From(instruction.local_id());
  return walk.Take();
}

std::vector<HloInstruction*>
HloComputation::MakeInstructionPostOrderWithReshapeFirst() const {
  PostOrderWalk walk(*this);
  for (const HloInstruction* instruction : instructions()) {
    if (instruction->opcode() == HloOpcode::kReshape) {
      walk.From(instruction->local_id());
    }
  }
  walk.All();
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
