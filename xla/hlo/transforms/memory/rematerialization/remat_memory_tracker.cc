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
  in_progress_ = kNoRematItem;
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
  if (record_) events_.placed.push_back(id);
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
  if (record_) events_.placed.push_back(id);
  in_progress_ = kNoRematItem;
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
}

void RematMemoryTracker::AddUses(RematItemId id) {
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

void RematMemoryTracker::Unplace(RematItemId id) {
  DCHECK_NE(in_progress_, id);
  DropUses(id);
  placed_[id] = false;
  const RematBuffers::Item& item = buffers_.item(id);
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) SetLive(b, false);
  list_.Remove(id);
}

}  // namespace xla
