// Depth first walks over operands.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/dfs_hlo_visitor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {

template <typename HloInstructionPtr>
absl::Status HloInstruction::Visit(
    DfsHloVisitorBase<HloInstructionPtr>* visitor) {
  switch (opcode_) {
#define XLA_CALL_HANDLER(enumerator, text, arity, handler, ...) \
  case HloOpcode::enumerator:                                   \
    return visitor->handler(this);
    HLO_OPCODE_LIST(XLA_CALL_HANDLER)
#undef XLA_CALL_HANDLER
  }
  return absl::InternalError(absl::StrCat(
      "no visitor method for opcode number ", static_cast<int>(opcode_)));
}

template absl::Status HloInstruction::Visit(DfsHloVisitor* visitor);
template absl::Status HloInstruction::Visit(ConstDfsHloVisitor* visitor);

namespace {

struct WalkOptions {
  bool ignore_control_predecessors = false;
  bool cross_computation = false;
  const HloInstruction::CompareFunction* operand_order = nullptr;
};

// Pushes what must come before `inst`, the first to visit last. False if one of
// them is being visited already: a cycle.
template <typename HloInstructionPtr>
bool PushDependencies(HloInstruction* inst,
                      DfsHloVisitorBase<HloInstructionPtr>* visitor,
                      const WalkOptions& options,
                      std::vector<HloInstruction*>& stack) {
  const size_t old_size = stack.size();
  auto push = [&](HloInstruction* dependency) {
    switch (visitor->GetVisitState(*dependency)) {
      case DfsHloVisitorBase<HloInstructionPtr>::kVisited:
        return true;
      case DfsHloVisitorBase<HloInstructionPtr>::kVisiting:
        return false;
      default:
        stack.push_back(dependency);
        return true;
    }
  };
  for (HloInstruction* operand : inst->operands()) {
    if (!push(operand)) return false;
  }
  if (options.operand_order != nullptr) {
    std::stable_sort(stack.begin() + old_size, stack.end(),
                     *options.operand_order);
  }
  if (!options.ignore_control_predecessors) {
    for (HloInstruction* predecessor : inst->control_predecessors()) {
      if (!push(predecessor)) return false;
    }
  }
  if (options.cross_computation) {
    for (HloComputation* computation : inst->called_computations()) {
      if (!push(computation->root_instruction())) return false;
    }
  }
  std::reverse(stack.begin() + old_size, stack.end());
  return true;
}

// Says where in the program an instruction that failed comes from, if it knows.
absl::Status WithSource(absl::Status status, const HloInstruction& inst) {
  if (status.ok() || (!StackFrameId{inst.metadata().stack_frame_id()}.valid() &&
                      inst.metadata().source_file().empty())) {
    return status;
  }
  absl::Status result(
      status.code(),
      absl::StrCat(status.message(), "\nPython Code Location:\n",
                   inst.GetStackTraceStringFromMetadata(/*indent=*/4)));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

// Without recursion, as chains of instructions may be longer than the stack is
// deep. An instruction may be on the stack once for each of its readers: the
// first time it is seen on top it is marked and its dependencies are put above
// it, the next time those are done and it is visited, and from then on it is
// dropped.
template <typename HloInstructionPtr>
absl::Status Walk(HloInstruction* root,
                  DfsHloVisitorBase<HloInstructionPtr>* visitor,
                  const WalkOptions& options) {
  if (root->parent() != nullptr) {
    visitor->ReserveVisitStates(root->parent()->instruction_count());
  }
  std::vector<HloInstruction*> stack = {root};
  while (!stack.empty()) {
    HloInstruction* inst = stack.back();
    if (visitor->DidVisit(*inst)) {
      stack.pop_back();
      continue;
    }
    if (visitor->IsVisiting(*inst)) {
      // All it depends on is done.
      stack.pop_back();
      TF_RETURN_IF_ERROR(visitor->Preprocess(inst));
      TF_RETURN_IF_ERROR(WithSource(inst->Visit(visitor), *inst));
      visitor->SetVisited(*inst);
      TF_RETURN_IF_ERROR(visitor->Postprocess(inst));
      continue;
    }
    if (!visitor->ShouldProcessNode(inst)) {
      visitor->SetVisited(*inst);
      stack.pop_back();
      continue;
    }
    visitor->SetVisiting(*inst);
    if (!PushDependencies(inst, visitor, options, stack)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "a cycle is detected while visiting instruction ", inst->name()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

template <typename HloInstructionPtr>
absl::Status HloInstruction::Accept(
    DfsHloVisitorBase<HloInstructionPtr>* visitor, bool call_finish_visit,
    bool ignore_control_predecessors, bool cross_computation) {
  WalkOptions options;
  options.ignore_control_predecessors = ignore_control_predecessors;
  options.cross_computation = cross_computation;
  TF_RETURN_IF_ERROR(Walk(this, visitor, options));
  return call_finish_visit ? visitor->FinishVisit(this) : absl::OkStatus();
}

template absl::Status HloInstruction::Accept(DfsHloVisitor* visitor,
                                             bool call_finish_visit,
                                             bool ignore_control_predecessors,
                                             bool cross_computation);
template absl::Status HloInstruction::Accept(ConstDfsHloVisitor* visitor,
                                             bool call_finish_visit,
                                             bool ignore_control_predecessors,
                                             bool cross_computation);

absl::Status HloInstruction::AcceptWithOperandOrder(
    DfsHloVisitor* visitor, CompareFunction operand_order,
    bool call_finish_visit) {
  WalkOptions options;
  options.operand_order = &operand_order;
  TF_RETURN_IF_ERROR(Walk<HloInstruction*>(this, visitor, options));
  return call_finish_visit ? visitor->FinishVisit(this) : absl::OkStatus();
}

}  // namespace xla
