// Clones of instructions that run again.

#include <cstdint>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_rewriter.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool HasUnplacedReader(const RematComputation& state, RematItemId item) {
  const RematBuffers& buffers = state.buffers();
  for (RematBufferId b : buffers.outputs(buffers.item(item))) {
    if (state.tracker().FirstUnplacedUser(b) != kNoRematItem) {
      return true;
    }
  }
  return false;
}

// Whether somebody reads it for more than passing it on to nobody.
bool HasLiveReader(const RematComputation& state, const HloInstruction* inst) {
  std::vector<const HloInstruction*> to_visit = {inst};
  while (!to_visit.empty()) {
    const HloInstruction* at = to_visit.back();
    to_visit.pop_back();
    for (const HloInstruction* user : at->users()) {
      if (state.dropped(user)) continue;
      const bool alias = user->opcode() == HloOpcode::kBitcast ||
                         user->opcode() == HloOpcode::kGetTupleElement;
      if (!alias || user->IsRoot()) return true;
      to_visit.push_back(user);
    }
  }
  return false;
}

// Lets an instruction that only unplaced ones read run right before the first
// of these, of readers of its operands and of what must follow it.
absl::Status RunLater(RematComputation& state, RematItemId item) {
  RematMemoryTracker& tracker = state.tracker();
  const HloInstruction* inst = state.instruction(item);
  tracker.TakeOut(item);
  RematItemId earliest = kNoRematItem;
  const auto consider = [&](RematItemId id) {
    if (id == kNoRematItem || tracker.placed(id) ||
        !state.list().contains(id)) {
      return;
    }
    if (earliest == kNoRematItem || state.list().Precedes(id, earliest)) {
      earliest = id;
    }
  };
  for (const HloInstruction* user : inst->users()) {
    consider(state.buffers().Find(user));
  }
  for (const HloInstruction* after : inst->control_successors()) {
    consider(state.buffers().Find(after));
  }
  for (RematBufferId b : state.buffers().item(item).used) {
    consider(tracker.FirstUnplacedUser(b));
  }
  TF_RET_CHECK(earliest != kNoRematItem) << "nobody reads " << inst->name();
  state.list().InsertBefore(item, earliest);
  state.TakeNoTime(item);
  tracker.AddUses(item);
  if (state.is_move(item)) state.Denylist(item);
  state.set_is_move(item);
  return absl::OkStatus();
}

}  // namespace

// Last ones first: a clone is an unplaced reader of its operands, so those of
// the same block are cloned after it if, and only if, something behind still
// needs them.
absl::StatusOr<RematChange> Recompute(RematComputation& state,
                                      RematItemId first, int32_t size) {
  std::vector<RematItemId> block;
  for (RematItemId item = first; static_cast<int32_t>(block.size()) < size;
       item = state.list().next(item)) {
    block.push_back(item);
  }
  RematPolicy& policy = state.policy();
  RematChange change;
  for (auto it = block.rbegin(); it != block.rend(); ++it) {
    if (!HasUnplacedReader(state, *it)) continue;
    if (state.only_moves(*it)) {
      TF_RETURN_IF_ERROR(RunLater(state, *it));
      ++change.rematerialized;
      continue;
    }
    HloInstruction* original = state.instruction(*it);
    TF_ASSIGN_OR_RETURN(HloInstruction * clone,
                        policy.edits.AddClone(original));
    if (policy.on_rematerialized) {
      TF_RETURN_IF_ERROR(policy.on_rematerialized(original, clone));
    }
    int64_t aliases = 0;
    TF_ASSIGN_OR_RETURN(const RematItemId item,
                        RedirectUnplacedReaders(state, *it, clone,
                                                RedirectOptions(), &aliases));
    ++change.rematerialized;
    change.net_added += aliases;
    state.MayBeUnread(original);
    if (HasLiveReader(state, original)) {
      ++change.net_added;
      continue;
    }
    // Moved. Moving on and on must end.
    if (state.is_move(*it)) state.Denylist(item);
    state.set_is_move(item);
  }
  return change;
}

}  // namespace xla
