#include "xla/hlo/transforms/memory/remat/greedy/remat_memory_tracker.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "xla/status_macros.h"

namespace xla {

RematMemoryTracker::RematMemoryTracker(RematBuffers* buffers,
                                       RematInstructionList* list)
    : buffers_(*buffers), list_(*list) {}

void RematMemoryTracker::Restart() {
  point_ = Point();
  memory_usage_ = 0;
  events_.Clear();
}

void RematMemoryTracker::NoteLiveness(RematBufferId id, bool live) {
  const int64_t bytes = buffers_.buffer(id).bytes;
  memory_usage_ += live ? bytes : -bytes;
  if (record_ && bytes > 0) events_.liveness.push_back(id);
}

void RematMemoryTracker::Begin(RematItemId id) {
  DCHECK(!point_.in_progress);
  point_ = {id, /*in_progress=*/true};
  const RematBuffers::Item& item = buffers_.item(id);
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) {
    NoteLiveness(b, true);
  }
  if (!record_) return;
  events_.users.insert(events_.users.end(), item.used.begin(), item.used.end());
  events_.items.push_back(id);
}

// memory_usage_ is the sum of the buffers for which live() holds, kept by
// differences: a buffer dies with its last user, and one without users with the
// item that defines it.
void RematMemoryTracker::End(RematItemId id) {
  DCHECK_EQ(in_progress(), id);
  point_.in_progress = false;
  const RematBuffers::Item& item = buffers_.item(id);
  for (RematBufferId b : item.used) {
    if (buffers_.buffer(b).users.back() == id) NoteLiveness(b, false);
  }
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) {
    if (buffers_.buffer(b).users.empty()) NoteLiveness(b, false);
  }
  if (!record_) return;
  events_.users.insert(events_.users.end(), item.used.begin(), item.used.end());
  events_.items.push_back(id);
}

int64_t RematMemoryTracker::CountLiveBytes() const {
  int64_t bytes = 0;
  for (RematBufferId b = 0; b < buffers_.buffer_count(); ++b) {
    if (live(b)) bytes += buffers_.buffer(b).bytes;
  }
  return bytes;
}

bool RematMemoryTracker::live(RematBufferId id) const {
  const RematBuffer& buffer = buffers_.buffer(id);
  if (!placed(buffer.definer)) return false;
  return buffer.users.empty() ? !ended(buffer.definer)
                              : !ended(buffer.users.back());
}

bool RematMemoryTracker::in_use(RematBufferId buffer) const {
  return point_.in_progress &&
         absl::c_binary_search(buffers_.item(point_.last_placed).used, buffer);
}

// Users are in list order, and what has ended is a prefix of the list, so a
// binary search finds the first that has not; Precedes() compares places in
// O(1).
int32_t RematMemoryTracker::unfinished(RematBufferId buffer) const {
  const auto& users = buffers_.buffer(buffer).users;
  if (users.empty() || ended(users.back())) return 0;
  return static_cast<int32_t>(
      users.end() -
      std::partition_point(users.begin(), users.end(),
                           [this](RematItemId user) { return ended(user); }));
}

RematItemId RematMemoryTracker::FirstUnplacedUser(RematBufferId id) const {
  const auto& users = buffers_.buffer(id).users;
  if (users.empty() || placed(users.back())) return kNoRematItem;
  return *std::partition_point(
      users.begin(), users.end(),
      [this](RematItemId user) { return placed(user); });
}

absl::StatusOr<RematItemId> RematMemoryTracker::AddItem(
    HloInstruction* instruction) {
  return buffers_.AddItem(instruction);
}

void RematMemoryTracker::Rewrites::Sort() {
  for (auto* ids : {&items, &buffers}) {
    absl::c_sort(*ids);
    ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
  }
}

void RematMemoryTracker::StopRecording(const Rewrites* rewrites) {
  rewrites_.erase(absl::c_find(rewrites_, rewrites));
}

// Logs the item, its predecessor (whose place in chunks or slots may change)
// and the buffers involved, for every index that listens.
void RematMemoryTracker::NoteRewrite(RematItemId id) {
  const RematBuffers::Item& item = buffers_.item(id);
  const RematItemId before = list_.prev(id);
  for (Rewrites* rewrites : rewrites_) {
    rewrites->items.push_back(id);
    if (before != kNoRematItem) rewrites->items.push_back(before);
    rewrites->buffers.insert(rewrites->buffers.end(), item.used.begin(),
                             item.used.end());
    for (int32_t i = 0; i < item.defined_count; ++i) {
      rewrites->buffers.push_back(item.first_defined + i);
    }
  }
}

// Whether a buffer is live depends on its definer and last user only, so it is
// compared before and after the insertion, and memory_usage_ corrected by the
// difference.
void RematMemoryTracker::AddUses(RematItemId id) {
  ++uses_added_;
  NoteRewrite(id);
  for (RematBufferId b : buffers_.item(id).used) {
    RematBuffer& buffer = buffers_.buffer(b);
    auto at = std::lower_bound(
        buffer.users.begin(), buffer.users.end(), id,
        [&](RematItemId x, RematItemId y) { return list_.Precedes(x, y); });
    if (at != buffer.users.end() && *at == id) continue;
    const bool was_live = live(b);
    buffer.users.insert(at, id);
    if (record_) events_.users.push_back(b);
    if (!was_live && live(b)) NoteLiveness(b, true);
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
    const bool was_live = live(b);
    buffer.users.erase(at);
    if (record_) events_.users.push_back(b);
    if (was_live && !live(b)) NoteLiveness(b, false);
  }
}

void RematMemoryTracker::TakeOut(RematItemId id) {
  DCHECK_NE(in_progress(), id);
  DropUses(id);
  const RematBuffers::Item& item = buffers_.item(id);
  const RematBufferId end = item.first_defined + item.defined_count;
  for (RematBufferId b = item.first_defined; b < end; ++b) {
    if (live(b)) NoteLiveness(b, false);
  }
  const RematItemId before = list_.prev(id);
  if (record_) {
    events_.items.push_back(id);
    if (before != kNoRematItem) events_.items.push_back(before);
  }
  if (point_.last_placed == id) point_.last_placed = before;
  list_.Remove(id);
}

}  // namespace xla
