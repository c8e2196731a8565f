// Readers of a value that come after the point reached read another value.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_rewriter.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool IsAlias(const HloInstruction* inst) {
  return inst->opcode() == HloOpcode::kBitcast ||
         inst->opcode() == HloOpcode::kGetTupleElement;
}

// Makes everything after the current point that reads an instruction read a new
// value instead:
//  - collect readers that have not run yet, and withdraw their uses;
//  - rewrite their operands, cloning the get-tuple-elements and bitcasts in
//    between (AliasOf), and looking through tuples that were built only to be
//    taken apart;
//  - place the new value in front of the first reader, and the aliases right
//    behind it;
//  - register the uses again at their final places.
//
// Uses must be withdrawn first, because the lists of users are ordered by place
// and searched by bisection.
class Redirector {
 public:
  Redirector(RematComputation& state, RematItemId item, HloInstruction* value)
      : state_(state),
        item_(item),
        original_(state.instruction(item)),
        value_(value) {}

  absl::StatusOr<RematItemId> Run(const RedirectOptions& options,
                                  int64_t* aliases_added) {
    CollectReaders();
    TF_RETURN_IF_ERROR(RewriteOperands());
    TF_ASSIGN_OR_RETURN(const RematItemId id, state_.AddNewItem(value_));
    const RematItemId earliest = EarliestPlace(options);
    TF_RET_CHECK(earliest != kNoRematItem)
        << "nobody reads " << original_->name();
    state_.list().InsertBefore(id, earliest);
    state_.TakeNoTime(id);
    TF_RETURN_IF_ERROR(PlaceAliases(id));
    state_.tracker().AddUses(id);
    for (RematItemId alias : aliases_) {
      TF_RETURN_IF_ERROR(state_.buffers().UpdateOperands(alias));
      state_.tracker().AddUses(alias);
    }
    for (RematItemId reader : readers_) {
      TF_RETURN_IF_ERROR(state_.buffers().UpdateOperands(reader));
      state_.tracker().AddUses(reader);
    }
    *aliases_added = static_cast<int64_t>(new_aliases_.size());
    return id;
  }

 private:
  // All items after the point reached that read a buffer of the original, in
  // order, and no longer count as readers of anything until they are rewritten.
  void CollectReaders() {
    const RematBuffers& buffers = state_.buffers();
    for (RematBufferId b : buffers.outputs(buffers.item(item_))) {
      for (auto it = buffers.buffer(b).users.rbegin();
           it != buffers.buffer(b).users.rend() &&
           !state_.tracker().placed(*it);
           ++it) {
        readers_.push_back(*it);
      }
    }
    absl::c_sort(readers_, [&](RematItemId a, RematItemId b) {
      return state_.list().Precedes(a, b);
    });
    readers_.erase(std::unique(readers_.begin(), readers_.end()),
                   readers_.end());
    // The last ones go without moving others.
    for (auto it = readers_.rbegin(); it != readers_.rend(); ++it) {
      state_.tracker().DropUses(*it);
    }
  }

  bool Movable(const HloInstruction* inst) const {
    return IsAlias(inst) && !inst->IsRoot() && !inst->HasControlDependencies();
  }

  // Readers fall into three groups: aliases that move behind the new value
  // together with their own readers, anchors that read the value directly and
  // fix its place, and readers that do so only through an alias.
  absl::Status RewriteOperands() {
    std::vector<RematItemId> stay;
    for (RematItemId reader : readers_) {
      HloInstruction* inst = state_.instruction(reader);
      bool changed = false;
      for (int64_t i = 0; i < inst->operand_count(); ++i) {
        HloInstruction* operand = inst->mutable_operand(i);
        TF_ASSIGN_OR_RETURN(HloInstruction * now, Redirected(operand));
        if (now == nullptr) continue;
        changed = true;
        if (now == operand) continue;
        TF_RETURN_IF_ERROR(state_.policy().edits.ReplaceOperand(inst, i, now));
        state_.MayBeUnread(operand);
      }
      if (changed && Movable(inst)) {
        aliases_.push_back(reader);
        moved_.push_back(reader);
      } else {
        if (changed) anchors_.push_back(reader);
        stay.push_back(reader);
      }
    }
    readers_ = std::move(stay);
    return absl::OkStatus();
  }

  // What to read instead of `operand`, the same if that follows by itself; null
  // if it does not come from the original.
  absl::StatusOr<HloInstruction*> Redirected(HloInstruction* operand) {
    // Aliases between the operand and the original, those that a tuple undoes
    // left out.
    std::vector<HloInstruction*> steps;
    HloInstruction* at = operand;
    while (at != original_ && at != value_) {
      if (IsAlias(at)) {
        steps.push_back(at);
        at = at->mutable_operand(0);
      } else if (at->opcode() == HloOpcode::kTuple && !steps.empty() &&
                 steps.back()->opcode() == HloOpcode::kGetTupleElement) {
        at = at->mutable_operand(steps.back()->tuple_index());
        steps.pop_back();
      } else {
        return nullptr;
      }
    }
    HloInstruction* now = value_;
    for (auto it = steps.rbegin(); it != steps.rend(); ++it) {
      if ((*it)->operand(0) == now) {
        now = *it;
      } else {
        TF_ASSIGN_OR_RETURN(now, AliasOf(now, *it));
      }
    }
    return now;
  }

  // An alias of `now` as `before` is one of what it was.
  absl::StatusOr<HloInstruction*> AliasOf(HloInstruction* now,
                                          HloInstruction* before) {
    for (HloInstruction* alias : new_aliases_) {
      if (alias->operand(0) == now && alias->opcode() == before->opcode() &&
          ShapeUtil::Equal(alias->shape(), before->shape()) &&
          (before->opcode() != HloOpcode::kGetTupleElement ||
           alias->tuple_index() == before->tuple_index())) {
        return alias;
      }
    }
    const bool element = before->opcode() == HloOpcode::kGetTupleElement;
    HloInstruction* alias = state_.policy().edits.Add(
        state_.computation(),
        before->CloneWithNewOperands(before->shape(), {now}),
        element ? "gte.remat" : "bitcast.remat");
    new_aliases_.push_back(alias);
    if (state_.policy().on_rematerialized) {
      TF_RETURN_IF_ERROR(state_.policy().on_rematerialized(before, alias));
    }
    return alias;
  }

  // The first of all that must come after the value.
  RematItemId EarliestPlace(const RedirectOptions& options) {
    RematItemId earliest = kNoRematItem;
    const auto consider = [&](RematItemId item) {
      if (item == kNoRematItem || item < 0 || !state_.list().contains(item) ||
          state_.tracker().placed(item)) {
        return;
      }
      if (earliest == kNoRematItem || state_.list().Precedes(item, earliest)) {
        earliest = item;
      }
    };
    for (RematItemId reader : anchors_) consider(reader);
    for (RematItemId alias : moved_) {
      // Behind it, and so before those that read it, which are readers too; but
      // one that nothing reads has no place of its own.
      if (!state_.IsRead(state_.instruction(alias)) && anchors_.empty()) {
        consider(alias);
      }
    }
    for (const HloInstruction* after : value_->control_successors()) {
      consider(state_.buffers().Find(after));
    }
    if (options.heed_operand_readers) {
      for (const HloInstruction* operand : value_->unique_operands()) {
        consider(FirstReader(operand));
      }
    }
    return earliest;
  }

  // The first unplaced instruction that has `operand` as operand itself.
  RematItemId FirstReader(const HloInstruction* operand) const {
    const RematBuffers& buffers = state_.buffers();
    const RematBuffers::Item& item = buffers.item(buffers.Find(operand));
    const RematBufferId b = buffers.outputs(item)[0];
    if (state_.policy().ignore_small_operands &&
        buffers.buffer(b).shape_bytes <
            state_.DefinedBytes(buffers.Find(value_))) {
      return kNoRematItem;
    }
    const auto& users = buffers.buffer(b).users;
    const size_t ended = users.size() - state_.tracker().unfinished(b);
    for (size_t i = ended; i < users.size(); ++i) {
      const HloInstruction* user = state_.instruction(users[i]);
      if (state_.tracker().placed(users[i]) || !state_.IsRead(user)) continue;
      if (absl::c_linear_search(user->operands(), operand)) return users[i];
    }
    return kNoRematItem;
  }

  // Behind the value, each behind what it reads.
  absl::Status PlaceAliases(RematItemId value) {
    for (RematItemId alias : moved_) state_.list().Remove(alias);
    RematItemId last = value;
    for (HloInstruction* alias : new_aliases_) {
      TF_ASSIGN_OR_RETURN(const RematItemId id, state_.AddNewItem(alias));
      state_.Denylist(id);
      state_.list().InsertAfter(id, last);
      state_.tracker().AddUses(id);
      last = id;
    }
    for (RematItemId alias : moved_) {
      state_.list().InsertAfter(alias, last);
      last = alias;
    }
    for (; last != value; last = state_.list().prev(last)) {
      state_.TakeNoTime(last);
    }
    return absl::OkStatus();
  }

  RematComputation& state_;
  const RematItemId item_;
  HloInstruction* const original_;
  HloInstruction* const value_;
  std::vector<RematItemId> readers_;  // that stay where they are
  std::vector<RematItemId> anchors_;  // those of them that read the value
  std::vector<RematItemId> aliases_;  // all that move
  std::vector<RematItemId> moved_;
  std::vector<HloInstruction*> new_aliases_;
};

}  // namespace

absl::StatusOr<RematItemId> RedirectUnplacedReaders(
    RematComputation& state, RematItemId item, HloInstruction* value,
    const RedirectOptions& options, int64_t* aliases_added) {
  return Redirector(state, item, value).Run(options, aliases_added);
}

}  // namespace xla
