// Control dependencies.

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/ptrvec.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Erases one element, keeping the order of the others; false if it is absent.
bool EraseOne(PtrVec<HloInstruction*>& list, const HloInstruction* element) {
  // Lists are mostly taken apart from the end.
  for (size_t i = list.size(); i-- > 0;) {
    if (list[i] == element) {
      list.erase(list.begin() + i);
      return true;
    }
  }
  return false;
}

}  // namespace

absl::Status HloInstruction::AddControlDependencyTo(
    HloInstruction* instruction) {
  TF_RET_CHECK(instruction->parent() == parent())
      << "control dependency from " << name_ << " to " << instruction->name()
      << " in another computation";
  TF_RET_CHECK(instruction != this)
      << "control dependency of " << name_ << " on itself";
  const PtrVec<HloInstruction*>& successors = control_successors();
  const PtrVec<HloInstruction*>& predecessors =
      instruction->control_predecessors();
  const bool known = successors.size() <= predecessors.size()
                         ? absl::c_linear_search(successors, instruction)
                         : absl::c_linear_search(predecessors, this);
  if (known) return absl::OkStatus();
  mutable_rare()->control_successors.push_back(instruction);
  instruction->mutable_rare()->control_predecessors.push_back(this);
  return absl::OkStatus();
}

absl::Status HloInstruction::RemoveControlDependencyTo(
    HloInstruction* instruction) {
  TF_RET_CHECK(instruction->parent() == parent());
  if (!has_rare() || !instruction->has_rare() ||
      !EraseOne(mutable_rare()->control_successors, instruction) ||
      !EraseOne(instruction->mutable_rare()->control_predecessors, this)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no control dependency from ", name_, " to ", instruction->name()));
  }
  return absl::OkStatus();
}

absl::Status HloInstruction::DropAllControlDeps() {
  if (!HasControlDependencies()) return absl::OkStatus();
  for (HloInstruction* successor : rare_->control_successors) {
    TF_RET_CHECK(
        EraseOne(successor->mutable_rare()->control_predecessors, this));
  }
  for (HloInstruction* predecessor : rare_->control_predecessors) {
    TF_RET_CHECK(
        EraseOne(predecessor->mutable_rare()->control_successors, this));
  }
  rare_->control_successors.clear();
  rare_->control_predecessors.clear();
  return absl::OkStatus();
}

absl::Status HloInstruction::SafelyDropAllControlDependencies() {
  for (HloInstruction* predecessor : control_predecessors()) {
    for (HloInstruction* successor : control_successors()) {
      TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(successor));
    }
  }
  return DropAllControlDeps();
}

bool HloInstruction::HasControlDependencies() const {
  return has_rare() &&
         !(control_predecessors().empty() && control_successors().empty());
}

bool HloInstruction::HasSuccessorControlDependencies() const {
  return has_rare() && !control_successors().empty();
}

absl::Status HloInstruction::CopyAllControlDepsTo(HloInstruction* start,
                                                  HloInstruction* end) const {
  // start or end may be this very instruction: walk over copies.
  const std::vector<HloInstruction*> predecessors = control_predecessors();
  const std::vector<HloInstruction*> successors = control_successors();
  for (HloInstruction* predecessor : predecessors) {
    TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(start));
  }
  for (HloInstruction* successor : successors) {
    TF_RETURN_IF_ERROR(end->AddControlDependencyTo(successor));
  }
  return absl::OkStatus();
}

}  // namespace xla
