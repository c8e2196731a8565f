// Callers and callees of computations.

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

void HloComputation::AddCallee(HloInstruction* caller, HloComputation* callee) {
  DCHECK(caller->parent() == this);
  if (callee == nullptr) return;
  ++callees_[callee];
  ++callee->callers_[caller];
}

void HloComputation::RemoveCallee(HloInstruction* caller,
                                  HloComputation* callee) {
  if (callee == nullptr) return;
  auto callee_it = callees_.find(callee);
  // A callee that was destroyed has been forgotten already, and is not looked
  // at any more.
  if (callee_it == callees_.end()) return;
  if (--callee_it->second == 0) callees_.erase(callee_it);
  auto caller_it = callee->callers_.find(caller);
  if (caller_it == callee->callers_.end()) return;
  if (--caller_it->second == 0) callee->callers_.erase(caller_it);
}

HloComputation::CountByComputation HloComputation::callee_computations() const {
  return CountByComputation(callees_.begin(), callees_.end());
}

HloComputation::CountByComputation HloComputation::caller_computations() const {
  CountByComputation callers;
  for (const auto& [caller, count] : callers_) {
    callers[caller->parent()] += count;
  }
  return callers;
}

absl::InlinedVector<HloInstruction*, 1> HloComputation::caller_instructions(
    std::optional<HloOpcode> caller_opcode) const {
  absl::InlinedVector<HloInstruction*, 1> callers;
  for (const auto& [caller, count] : callers_) {
    if (!caller_opcode.has_value() || caller->opcode() == *caller_opcode) {
      callers.push_back(caller);
    }
  }
  if (callers.size() > 1) {
    std::sort(callers.begin(), callers.end(),
              [](const HloInstruction* a, const HloInstruction* b) {
                return a->unique_id() < b->unique_id();
              });
  }
  return callers;
}

std::optional<HloInstruction*> HloComputation::GetUniqueCaller(
    HloOpcode opcode) const {
  std::optional<HloInstruction*> unique;
  for (const auto& [caller, count] : callers_) {
    if (caller->opcode() != opcode) continue;
    if (unique.has_value()) return std::nullopt;
    unique = caller;
  }
  return unique;
}

bool HloComputation::IsFusionComputation() const {
  for (const auto& [caller, count] : callers_) {
    if (caller->opcode() == HloOpcode::kFusion) return true;
  }
  return false;
}

HloInstruction* HloComputation::FusionInstruction() const {
  HloInstruction* first = nullptr;
  for (const auto& [caller, count] : callers_) {
    if (caller->opcode() == HloOpcode::kFusion &&
        (first == nullptr || caller->unique_id() < first->unique_id())) {
      first = caller;
    }
  }
  return first;
}

bool HloComputation::IsAsyncComputation() const {
  for (const auto& [caller, count] : callers_) {
    if (HloOpcodeIsAsync(caller->opcode())) return true;
  }
  return false;
}

void HloComputation::ClearCalledComputations() {
  if (callees_.empty()) return;
  for (HloInstruction* instruction : instructions()) {
    instruction->ClearCalledComputations();
  }
  CHECK(callees_.empty()) << "calls of " << name_ << " were miscounted";
}

std::vector<HloComputation*> HloComputation::MakeEmbeddedComputationsList()
    const {
  struct Frame {
    HloComputation* computation;
    std::vector<HloComputation*> callees;
    size_t next = 0;
  };
  // Callees in the order of the instructions that call them.
  auto callees_in_order = [](const HloComputation* computation) {
    std::vector<HloComputation*> callees;
    if (computation->callees_.empty()) return callees;
    absl::flat_hash_set<const HloComputation*> listed;
    for (const HloInstruction* instruction : computation->instructions()) {
      for (HloComputation* callee : instruction->called_computations()) {
        if (listed.insert(callee).second) callees.push_back(callee);
      }
    }
    return callees;
  };

  std::vector<HloComputation*> post_order;
  absl::flat_hash_set<const HloComputation*> visited = {this};
  std::vector<Frame> stack;
  stack.push_back({nullptr, callees_in_order(this)});
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next < frame.callees.size()) {
      HloComputation* callee = frame.callees[frame.next++];
      if (visited.insert(callee).second) {
        stack.push_back({callee, callees_in_order(callee)});
      }
      continue;
    }
    if (frame.computation != nullptr) post_order.push_back(frame.computation);
    stack.pop_back();
  }
  return post_order;
}

}  // namespace xla
