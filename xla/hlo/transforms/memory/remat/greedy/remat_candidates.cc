#include "xla/hlo/transforms/memory/remat/greedy/remat_candidates.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"

// Prices of all blocks at the tracker's current point, maintained incrementally
// while it moves forward. The tracker logs what changes (placed items, buffers
// that start or stop being live, uses), TakeEvents marks the blocks that depend
// on it as dirty, and only those are priced again. A cost index over positions
// then returns the cheapest block in O(log n).

namespace xla {

RematCandidates::RematCandidates(RematComputation* state, int64_t limit_bytes,
                                 bool count_effort)
    : state_(*state), prices_(state, limit_bytes), count_effort_(count_effort) {
  state_.tracker().events().Clear();
  state_.tracker().RecordEvents(true);
  // Instructions placed already.
  const RematInstructionList& list = state_.list();
  for (RematItemId item = list.first(); item != kNoRematItem;
       item = list.next(item)) {
    if (!state_.tracker().placed(item)) break;
    state_.tracker().events().items.push_back(item);
  }
  NumberPlaced();
}

RematCandidates::~RematCandidates() { state_.tracker().RecordEvents(false); }

std::optional<RematCandidate> RematCandidates::BestAt(RematItemId first,
                                                      int32_t min_size,
                                                      int32_t max_size) {
  double ready_seconds = -1;
  std::optional<RematCandidate> best =
      prices_.BestAt(first, min_size, max_size, &ready_seconds);
  if (ready_seconds >= 0) later_.push({ready_seconds, first});
  return best;
}

void RematCandidates::NumberPlaced() {
  RematMemoryTracker::Events& events = state_.tracker().events();
  position_.resize(state_.buffers().item_count(), -1);
  for (RematItemId item : events.items) {
    if (position_[item] < 0 && state_.tracker().placed(item)) {
      position_[item] = static_cast<int32_t>(item_at_.size());
      item_at_.push_back(item);
      if (count_effort_ && !state_.denylisted(item) &&
          state_.rematerializable(item)) {
        ++eligible_;
      }
    }
    changed_.push_back(item);
  }
  events.items.clear();
}

void RematCandidates::MarkDirty(Range& range, RematItemId item) {
  // All blocks of the range that it may be part of.
  for (int32_t i = 1; item != kNoRematItem; ++i) {
    if (item >= static_cast<RematItemId>(range.is_dirty.size())) {
      range.is_dirty.resize(state_.buffers().item_count());
    }
    if (!range.is_dirty[item]) {
      range.is_dirty[item] = true;
      range.dirty.push_back(item);
    }
    if (i == range.max_size) return;
    item = state_.list().prev(item);
    if (item != kNoRematItem && !state_.rematerializable(item)) return;
  }
}

void RematCandidates::MarkAllRanges(RematItemId item) {
  if (position_[item] < 0) return;  // was never placed
  for (const auto& range : ranges_) MarkDirty(*range, item);
}

void RematCandidates::TakeEvents() {
  NumberPlaced();
  RematMemoryTracker::Events& events = state_.tracker().events();
  const RematBuffers& buffers = state_.buffers();
  // Once each.
  const auto unique = [](std::vector<RematBufferId>& ids) {
    absl::c_sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  };
  unique(events.liveness);
  unique(events.users);
  const bool blocks =
      absl::c_any_of(ranges_, [](const auto& r) { return r->max_size > 1; });
  for (RematBufferId b : events.liveness) {
    changed_.push_back(buffers.buffer(b).definer);
    for (RematItemId user : buffers.buffer(b).users) {
      if (!state_.tracker().placed(user)) break;
      changed_.push_back(user);
    }
  }
  for (RematBufferId b : events.users) {
    const RematBuffer& buffer = buffers.buffer(b);
    changed_.push_back(buffer.definer);
    if (!blocks) continue;
    // Those that forward it are part of blocks, too.
    for (RematItemId user : buffer.users) {
      if (!state_.tracker().placed(user)) break;
      if (buffers.item(user).defined_count < buffers.item(user).output_count) {
        changed_.push_back(user);
      }
    }
  }
  events.Clear();
  const RematItemId now = state_.tracker().in_progress();
  while (!later_.empty() && now != kNoRematItem &&
         later_.top().first <= state_.start_seconds()[now]) {
    changed_.push_back(later_.top().second);
    later_.pop();
  }
  absl::c_sort(changed_);
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (RematItemId item : changed_) {
    MarkAllRanges(item);
    if (!buffers.item(item).has_control_predecessors) continue;
    for (const HloInstruction* before :
         state_.instruction(item)->control_predecessors()) {
      MarkAllRanges(buffers.Find(before));
    }
  }
  changed_.clear();
}

RematCandidates::Range& RematCandidates::RangeFor(int32_t min_size,
                                                  int32_t max_size) {
  const auto [known, is_new] = FindOrAddRange(&ranges_, min_size, max_size);
  if (!is_new) return *known;
  Range& range = *known;
  range.is_dirty.assign(state_.buffers().item_count(), false);
  for (RematItemId item : item_at_) {
    range.is_dirty[item] = true;
    range.dirty.push_back(item);
  }
  return range;
}

std::optional<RematCandidate> RematCandidates::Best(int32_t min_size,
                                                    int32_t max_size) {
  TakeEvents();
  Range& range = RangeFor(min_size, max_size);
  while (true) {
    for (RematItemId item : range.dirty) {
      range.is_dirty[item] = false;
      const std::optional<RematCandidate> best =
          state_.list().contains(item) ? BestAt(item, min_size, max_size)
                                       : std::nullopt;
      if (position_[item] >= 0) {
        range.index.Set(position_[item],
                        best ? best->cost : RematCostIndex::kAbsent);
      }
    }
    range.dirty.clear();
    if (range.index.BestCost() == RematCostIndex::kAbsent) return std::nullopt;
    const RematItemId first = item_at_[range.index.Best()];
    const std::optional<RematCandidate> best =
        BestAt(first, min_size, max_size);
    if (best && best->cost == range.index.BestCost()) return best;
    // Time has passed: a transfer does not fit any more.
    MarkDirty(range, first);
  }
}

}  // namespace xla
