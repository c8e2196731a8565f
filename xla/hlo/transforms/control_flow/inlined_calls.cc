#include "xla/hlo/transforms/control_flow/inlined_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/call_inliner.h"
#include "xla/status_macros.h"

namespace xla {

absl::Status InlineInPlaceOf(HloInstruction* instruction,
                             HloComputation* callee, HloInstruction* operand) {
  HloComputation* computation = instruction->parent();
  std::vector<HloComputation*> callees = CalleesOf(*instruction);
  HloInstruction* call = computation->AddInstruction(
      HloInstruction::CreateCall(instruction->shape(), {operand}, callee));
  call->set_metadata(instruction->metadata());
  TF_RETURN_IF_ERROR(call->CopyAllControlDepsFrom(instruction));
  TF_RETURN_IF_ERROR(instruction->DropAllControlDeps());
  TF_RETURN_IF_ERROR(instruction->ReplaceAllUsesWith(call));
  TF_RETURN_IF_ERROR(computation->ForceRemoveInstruction(instruction));
  TF_RETURN_IF_ERROR(
      CallInliner::Inline(call, /*propagate_metadata=*/false).status());
  return RemoveIfUncalled(std::move(callees));
}

// Looks at what is removed and what that called only: a module with many such
// instructions is not walked for each of them.
absl::Status RemoveIfUncalled(std::vector<HloComputation*> computations) {
  absl::flat_hash_set<const HloComputation*> removed;
  while (!computations.empty()) {
    HloComputation* computation = computations.back();
    computations.pop_back();
    if (removed.contains(computation) || !computation->IsDeadComputation()) {
      continue;
    }
    removed.insert(computation);
    for (const HloInstruction* inst : computation->instructions()) {
      computations.insert(computations.end(),
                          inst->called_computations().begin(),
                          inst->called_computations().end());
    }
    TF_RETURN_IF_ERROR(
        computation->parent()->RemoveEmbeddedComputation(computation));
  }
  return absl::OkStatus();
}

std::vector<HloComputation*> CalleesOf(const HloInstruction& instruction) {
  return {instruction.called_computations().begin(),
          instruction.called_computations().end()};
}

// The reverse of a post order has callers before callees, so when a
// computation's turn comes, all that might call it have been seen: one pass
// finds what the entry runs.
std::vector<HloComputation*> MakeCalledPostOrder(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  std::vector<HloComputation*> order = module->MakeComputationPostOrder();
  absl::flat_hash_set<const HloComputation*> called = {
      module->entry_computation()};
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!called.contains(*it)) continue;
    for (const HloInstruction* inst : (*it)->instructions()) {
      called.insert(inst->called_computations().begin(),
                    inst->called_computations().end());
    }
  }
  const auto is_left_out = [&](const HloComputation* computation) {
    return !called.contains(computation) ||
           (!execution_threads.empty() &&
            !execution_threads.contains(computation->execution_thread()));
  };
  order.erase(std::remove_if(order.begin(), order.end(), is_left_out),
              order.end());
  return order;
}

bool Communicates(const HloComputation& computation) {
  // Callees that several share are looked at once.
  absl::flat_hash_set<const HloComputation*> seen = {&computation};
  std::vector<const HloComputation*> pending = {&computation};
  while (!pending.empty()) {
    const HloComputation* next = pending.back();
    pending.pop_back();
    for (const HloInstruction* inst : next->instructions()) {
      if (HloPredicateIsOp<HloOpcode::kSend, HloOpcode::kSendDone,
                           HloOpcode::kRecv, HloOpcode::kRecvDone>(inst)) {
        return true;
      }
      for (const HloComputation* callee : inst->called_computations()) {
        if (seen.insert(callee).second) pending.push_back(callee);
      }
    }
  }
  return false;
}

absl::Status UpdateScheduleIfAny(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!module->has_schedule()) return absl::OkStatus();
  return module->schedule().Update(execution_threads);
}

}  // namespace xla
