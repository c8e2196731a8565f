#include "xla/hlo/transforms/memory/remat/greedy/remat_computation.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool ChangesLayout(const HloInstruction& copy) {
  const Shape& from = copy.operand(0)->shape();
  const Shape& to = copy.shape();
  return !from.IsArray() || !from.has_layout() || !to.has_layout() ||
         from.layout() != to.layout();
}

// Two ends of one chain cannot be made twice.
bool IsEndOfChain(const HloInstruction& inst) {
  return inst.IsAsyncStart() || inst.IsAsyncDone();
}

bool CanBeRematerialized(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kConstant:
    case HloOpcode::kCustomCall:
    case HloOpcode::kParameter:
    case HloOpcode::kAsyncUpdate:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_TRANSFER:
    // Order of tokens and of what they order.
    case HloOpcode::kAddDependency:
    case HloOpcode::kAfterAll:
    // A barrier of one of two copies holds nothing back.
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kDomain:
      return false;
    case HloOpcode::kCopy:
      if (!ChangesLayout(inst)) return false;
      break;
    case HloOpcode::kAllGather:
      if (Cast<HloAllGatherInstruction>(&inst)->constrain_layout()) {
        return false;
      }
      break;
    case HloOpcode::kAllReduce:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kAllToAll:
    case HloOpcode::kRaggedAllToAll:
      if (Cast<HloCollectiveInstruction>(&inst)->constrain_layout()) {
        return false;
      }
      break;
    case HloOpcode::kAsyncDone:
    case HloOpcode::kAsyncStart:
    case HloOpcode::kBitcast:
    case HloOpcode::kCollectiveBroadcast:
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kFusion:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kIota:
    case HloOpcode::kTuple:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_COPY_PAIR:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return !inst.HasSideEffect();
}

}  // namespace

RematComputation::RematComputation(HloComputation* computation,
                                   RematBuffers buffers, RematPolicy* policy)
    : computation_(computation),
      policy_(policy),
      buffers_(std::move(buffers)),
      list_(buffers_.item_count()),
      tracker_(&buffers_, &list_),
      flags_(buffers_.item_count()) {
  if (policy->host_offload) MeasureSeconds();
}

absl::StatusOr<std::unique_ptr<RematComputation>> RematComputation::Create(
    HloComputation* computation, const HloInstructionSequence& sequence,
    RematPolicy* policy) {
  TF_ASSIGN_OR_RETURN(RematBuffers buffers,
                      RematBuffers::Build(sequence, policy->sizes));
  return std::make_unique<RematComputation>(computation, std::move(buffers),
                                            policy);
}

void RematComputation::MeasureSeconds() {
  start_seconds_.resize(buffers_.item_count());
  for (RematItemId item = 0; item < buffers_.item_count(); ++item) {
    start_seconds_[item] = total_seconds_;
    total_seconds_ +=
        policy_->cost_analysis->optimal_seconds(*instruction(item));
  }
}

// Times are prefix sums over the original items. A new item starts when the one
// after it does, so that the sums of all others stay as they are.
void RematComputation::TakeNoTime(RematItemId item) {
  if (start_seconds_.empty()) return;
  if (item >= static_cast<RematItemId>(start_seconds_.size())) {
    start_seconds_.resize(buffers_.item_count());
  }
  const RematItemId next = list_.next(item);
  start_seconds_[item] =
      next == kNoRematItem ? total_seconds_ : start_seconds_[next];
}

void RematComputation::FindRematerializable(RematItemId item) {
  flags_[item].rematerializable = CanBeRematerialized(*instruction(item));
  flags_[item].only_moves = IsEndOfChain(*instruction(item));
}

absl::StatusOr<RematItemId> RematComputation::AddNewItem(
    HloInstruction* instruction) {
  TF_ASSIGN_OR_RETURN(const RematItemId id, tracker_.AddItem(instruction));
  flags_.resize(buffers_.item_count());
  flags_[id].is_new = true;
  flags_[id].denylisted = policy_->never_clone_clones;
  return id;
}

bool RematComputation::IsRead(const HloInstruction* instruction) const {
  return instruction->IsRoot() ||
         absl::c_any_of(instruction->users(), [&](const HloInstruction* user) {
           return !dropped(user);
         });
}

// A worklist from the instructions that have lost a reader: each one dropped
// may leave its operands unread in turn. An instruction comes here once per
// lost reader, so the work is bounded by the edges that go.
void RematComputation::DropUnread() {
  while (!may_be_unread_.empty()) {
    const RematItemId item = may_be_unread_.back();
    may_be_unread_.pop_back();
    if (!list_.contains(item)) continue;
    const HloInstruction* inst = instruction(item);
    if (inst->opcode() == HloOpcode::kParameter ||
        inst->HasControlDependencies() || IsRead(inst) ||
        inst->HasSideEffect()) {
      continue;
    }
    tracker_.TakeOut(item);
    flags_[item].dropped = true;
    policy_->edits.Drop(instruction(item));
    for (const HloInstruction* operand : inst->operands()) MayBeUnread(operand);
  }
}

int64_t RematComputation::DefinedBytes(RematItemId id) const {
  const RematBuffers::Item& item = buffers_.item(id);
  int64_t bytes = 0;
  for (int32_t i = 0; i < item.defined_count; ++i) {
    bytes += buffers_.buffer(item.first_defined + i).bytes;
  }
  return bytes;
}

HloInstructionSequence RematComputation::ToSequence() const {
  HloInstructionSequence sequence;
  sequence.reserve(list_.size());
  for (RematItemId item = list_.first(); item != kNoRematItem;
       item = list_.next(item)) {
    sequence.push_back(instruction(item));
  }
  return sequence;
}

}  // namespace xla
