#include "xla/hlo/analysis/hlo_dfs_reachability.h"

#include "absl/log/check.h"

namespace xla {

std::unique_ptr<HloDfsReachability> HloDfsReachability::Build(
    const HloComputation* computation) {
  std::unique_ptr<HloDfsReachability> result(new HloDfsReachability());
  result->computation_ = computation;
  result->position_.resize(computation->next_unique_instruction_internal_id(),
                           -1);
  int32_t next = 0;
  for (const HloInstruction* inst : computation->MakeInstructionPostOrder()) {
    result->position_[inst->local_id()] = next++;
  }
  return result;
}

bool HloDfsReachability::IsPresent(const HloInstruction* instruction) const {
  const int32_t id = instruction->local_id();
  return instruction->parent() == computation_ && id >= 0 &&
         id < static_cast<int64_t>(position_.size()) && position_[id] >= 0;
}

int32_t HloDfsReachability::PositionOf(
    const HloInstruction* instruction) const {
  CHECK(IsPresent(instruction))
      << instruction->name() << " is not in the reachability";
  return position_[instruction->local_id()];
}

// A search from `to` towards its predecessors. Positions of a post order only
// fall on the way, so one that is below `from`'s leads nowhere.
bool HloDfsReachability::IsReachable(const HloInstruction* from,
                                     const HloInstruction* to) const {
  if (from == to) return true;
  const int32_t first = PositionOf(from);
  if (PositionOf(to) < first) return false;
  // Only instructions between the two are ever marked.
  std::vector<bool> seen(PositionOf(to) - first + 1);
  std::vector<const HloInstruction*> work = {to};
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    bool found = false;
    auto visit = [&](const HloInstruction* predecessor) {
      found |= predecessor == from;
      if (!IsPresent(predecessor)) return;
      const int32_t position = position_[predecessor->local_id()];
      const int64_t offset = static_cast<int64_t>(position) - first;
      if (offset <= 0 || offset >= static_cast<int64_t>(seen.size()) ||
          seen[offset]) {
        return;
      }
      seen[offset] = true;
      work.push_back(predecessor);
    };
    for (const HloInstruction* operand : inst->operands()) visit(operand);
    for (const HloInstruction* predecessor : inst->control_predecessors()) {
      visit(predecessor);
    }
    if (found) return true;
  }
  return false;
}

bool HloDfsReachability::IsConnected(const HloInstruction* a,
                                     const HloInstruction* b) const {
  return IsReachable(a, b) || IsReachable(b, a);
}

void HloDfsReachability::OnInstructionReplaced(const HloInstruction* previous,
                                               const HloInstruction* current) {
  const int32_t id = previous->local_id();
  CHECK(id >= 0 && id < static_cast<int64_t>(position_.size()) &&
        position_[id] >= 0)
      << previous->name() << " is not in the reachability";
  if (previous == current) return;
  if (current->local_id() >= static_cast<int64_t>(position_.size())) {
    position_.resize(current->local_id() + 1, -1);
  }
  position_[current->local_id()] = position_[id];
  position_[id] = -1;
}

size_t HloDfsReachability::MemoryBytes() const {
  return position_.capacity() * sizeof(position_[0]);
}

}  // namespace xla
