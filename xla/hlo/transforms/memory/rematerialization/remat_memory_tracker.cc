#include "xla/hlo/transforms/memory/rematerialization/remat_memory_tracker.h"

#include <algorithm>

#include "absl/log/check.h"
#include "xla/status_macros.h"

namespace xla {

RematMemoryTracker::RematMemoryTracker(RematBuffers* buffers,
                                       RematInstructionList* list)
    : buffers_(*buffers), list_(*list) {
  Restart();
}

void RematMemoryTracker::Restart() {
  in_progress_ = last_ended_ = kNoRematItem;
  memory_usage_ = 0;
  events_.Clear();
  state_.assign(buffers_.buffer_count(), State());
  placed_.assign(buffers_.item_count(), false);
  for (RematBufferId id = 0; id < buffers_.buffer_count(); ++id) {
    state_[id].unfinished =
        static_cast<int32_t>(buffers_.buffer(id).users.size());
  }
}

void RematMemoryTracker::SetLive(RematBufferId buffer, bool live) {
  State& state = state_[buffer];
  if (state.live == live) return;
  state.live = live;
  const int64_t bytes = buffers_.buffer(buffer).bytes;
  memory_usage_ += live ? bytes : -bytes;
  if (record_ && bytes > 0) events_.liveness.push_back(buffer);
}

void RematMemoryTracker::Begin(RematItemId id) {
  DCHECK_EQ(in_progress_, kNoRematItem);
  in_progress_ = id;
  placed_[id] = true;
  const RematBuffers::Item& item = buffers_.item(id);
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) SetLive(b, true);
  for (RematBufferId b : item.used) {
    state_[b].in_use = id;
    if (record_) events_.users.push_back(b);
  }
  if (record_) events_.items.push_back(id);
}

void RematMemoryTracker::End(RematItemId id) {
  DCHECK_EQ(in_progress_, id);
  const RematBuffers::Item& item = buffers_.item(id);
  for (RematBufferId b : item.used) {
    if (--state_[b].unfinished == 0) SetLive(b, false);
    state_[b].in_use = kNoRematItem;
    if (record_) events_.users.push_back(b);
  }
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) {
    if (state_[b].unfinished == 0) SetLive(b, false);
  }
  if (record_) events_.items.push_back(id);
  in_progress_ = kNoRematItem;
  last_ended_ = id;
}

void RematMemoryTracker::TakeBackEnd(RematItemId id) {
  DCHECK_EQ(in_progress_, kNoRematItem);
  in_progress_ = id;
  const RematBuffers::Item& item = buffers_.item(id);
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) SetLive(b, true);
  for (RematBufferId b : item.used) {
    if (state_[b].unfinished++ == 0) SetLive(b, true);
    state_[b].in_use = id;
    if (record_) events_.users.push_back(b);
  }
  if (record_) events_.items.push_back(id);
}

void RematMemoryTracker::TakeBackBegin(RematItemId id) {
  DCHECK_EQ(in_progress_, id);
  const RematBuffers::Item& item = buffers_.item(id);
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) SetLive(b, false);
  for (RematBufferId b : item.used) {
    state_[b].in_use = kNoRematItem;
    if (record_) events_.users.push_back(b);
  }
  if (record_) events_.items.push_back(id);
  placed_[id] = false;
  in_progress_ = kNoRematItem;
  last_ended_ = list_.prev(id);
}

void RematMemoryTracker::MoveTo(RematItemId id) {
  if (in_progress_ == id) return;
  if (in_progress_ != kNoRematItem) End(in_progress_);
  while (last_ended_ != kNoRematItem && !list_.Precedes(last_ended_, id)) {
    TakeBackEnd(last_ended_);
    if (in_progress_ == id) return;
    TakeBackBegin(in_progress_);
  }
  for (RematItemId at = last_ended_ == kNoRematItem ? list_.first()
                                                    : list_.next(last_ended_);
       at != id; at = list_.next(at)) {
    Begin(at);
    End(at);
  }
  Begin(id);
}

RematItemId RematMemoryTracker::FirstUnplacedUser(RematBufferId id) const {
  const auto& users = buffers_.buffer(id).users;
  size_t at = users.size() - state_[id].unfinished;
  if (at < users.size() && placed_[users[at]]) ++at;  // in progress
  return at < users.size() ? users[at] : kNoRematItem;
}

RematItemId RematMemoryTracker::LastPlacedUser(RematBufferId id) const {
  const auto& users = buffers_.buffer(id).users;
  size_t at = users.size() - state_[id].unfinished;
  if (at < users.size() && placed_[users[at]]) ++at;
  return at > 0 ? users[at - 1] : kNoRematItem;
}

absl::StatusOr<RematItemId> RematMemoryTracker::AddItem(
    HloInstruction* instruction) {
  TF_ASSIGN_OR_RETURN(const RematItemId id, buffers_.AddItem(instruction));
  state_.resize(buffers_.buffer_count());
  placed_.resize(buffers_.item_count(), false);
  return id;
}

void RematMemoryTracker::MarkEnded(RematItemId id) {
  placed_[id] = true;
  const RematBuffers::Item& item = buffers_.item(id);
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) {
    SetLive(b, state_[b].unfinished > 0);
  }
  if (record_) events_.items.push_back(id);
}

void RematMemoryTracker::NoteRewrite(RematItemId id) {
  if (rewrites_ == nullptr) return;
  rewrites_->items.push_back(id);
  const RematBuffers::Item& item = buffers_.item(id);
  rewrites_->buffers.insert(rewrites_->buffers.end(), item.used.begin(),
                            item.used.end());
  for (int32_t i = 0; i < item.defined_count; ++i) {
    rewrites_->buffers.push_back(item.first_defined + i);
  }
}

void RematMemoryTracker::AddUses(RematItemId id) {
  NoteRewrite(id);
  for (RematBufferId b : buffers_.item(id).used) {
    RematBuffer& buffer = buffers_.buffer(b);
    auto at = std::lower_bound(
        buffer.users.begin(), buffer.users.end(), id,
        [&](RematItemId x, RematItemId y) { return list_.Precedes(x, y); });
    if (at != buffer.users.end() && *at == id) continue;
    buffer.users.insert(at, id);
    if (record_) events_.users.push_back(b);
    if (placed_[id]) continue;
    ++state_[b].unfinished;
    if (placed_[buffer.definer]) SetLive(b, true);
  }
}

void RematMemoryTracker::DropUses(RematItemId id) {
  NoteRewrite(id);
  for (RematBufferId b : buffers_.item(id).used) {
    RematBuffer& buffer = buffers_.buffer(b);
    auto at = std::lower_bound(
        buffer.users.begin(), buffer.users.end(), id,
        [&](RematItemId x, RematItemId y) { return list_.Precedes(x, y); });
    CHECK(at != buffer.users.end() && *at == id);
    buffer.users.erase(at);
    if (record_) events_.users.push_back(b);
    if (placed_[id]) continue;
    if (--state_[b].unfinished == 0 && buffer.definer != in_progress_) {
      SetLive(b, false);
    }
  }
}

void RematMemoryTracker::TakeOut(RematItemId id) {
  DCHECK_NE(in_progress_, id);
  DropUses(id);
  placed_[id] = false;
  const RematBuffers::Item& item = buffers_.item(id);
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) SetLive(b, false);
  const RematItemId before = list_.prev(id);
  if (record_) {
    events_.items.push_back(id);
    if (before != kNoRematItem) events_.items.push_back(before);
  }
  if (last_ended_ == id) last_ended_ = before;
  list_.Remove(id);
}

}  // namespace xla
