#include "xla/hlo/transforms/memory/rematerialization/remat_candidates.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_offload.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_rewriter.h"

namespace xla {
RematCandidates::RematCandidates(RematComputation* state, int64_t limit_bytes,
                                 bool count_effort)
    : state_(*state), limit_bytes_(limit_bytes), count_effort_(count_effort) {
  state_.tracker().events().Clear();
  state_.tracker().RecordEvents(true);
  // What is placed already.
  const RematInstructionList& list = state_.list();
  for (RematItemId item = list.first(); item != kNoRematItem;
       item = list.next(item)) {
    if (!state_.tracker().placed(item)) break;
    state_.tracker().events().items.push_back(item);
  }
  NumberPlaced();
}

bool RematCandidates::Eligible(RematItemId item) {
  return state_.tracker().placed(item) &&
         item != state_.tracker().in_progress() && !state_.denylisted(item) &&
         state_.rematerializable(item);
}

bool RematCandidates::Forbidden(RematItemId id) {
  const RematBuffers& buffers = state_.buffers();
  const RematBuffers::Item& item = buffers.item(id);
  const bool direct_only = state_.policy().direct_uses_only;
  if (direct_only && (item.output_count != 1 || state_.only_moves(id))) {
    return true;
  }
  for (RematBufferId b : buffers.outputs(item)) {
    const RematBuffer& buffer = buffers.buffer(b);
    // What moves may read, and hand on, what others do.
    if (state_.only_moves(id)) continue;
    if (buffer.live_out || buffer.indirect || buffer.nested ||
        state_.tracker().in_use(b)) {
      return true;
    }
    if (!direct_only) continue;
    for (RematItemId user : buffer.users) {
      if (!absl::c_linear_search(state_.instruction(user)->operands(),
                                 item.instruction)) {
        return true;
      }
    }
  }
  if (!item.has_control_successors) return false;
  for (const HloInstruction* after : item.instruction->control_successors()) {
    if (state_.tracker().placed(buffers.Find(after))) return true;
  }
  return false;
}

bool RematCandidates::HasPlacedUser(RematItemId id) {
  const RematBuffers::Item& item = state_.buffers().item(id);
  const RematMemoryTracker& tracker = state_.tracker();
  if (item.defined_count == 0) {
    return absl::c_any_of(item.instruction->users(),
                          [&](const HloInstruction* user) {
                            return tracker.placed(state_.buffers().Find(user));
                          });
  }
  for (int32_t i = 0; i < item.defined_count; ++i) {
    const auto& users = state_.buffers().buffer(item.first_defined + i).users;
    if (!users.empty() && tracker.placed(users.front())) return true;
  }
  return false;
}

bool RematCandidates::IsReadUpTo(RematItemId id, RematItemId last) const {
  for (const HloInstruction* user : state_.instruction(id)->users()) {
    const RematItemId reader = state_.buffers().Find(user);
    if (state_.tracker().placed(reader) &&
        (reader == state_.tracker().in_progress() ||
         state_.list().Precedes(last, reader))) {
      return false;
    }
  }
  return true;
}

bool RematCandidates::DefinesLive(RematItemId id) const {
  const RematBuffers::Item& item = state_.buffers().item(id);
  for (int32_t i = 0; i < item.defined_count; ++i) {
    if (state_.tracker().live(item.first_defined + i)) return true;
  }
  return false;
}

int64_t RematCandidates::BytesFreed(RematItemId id, RematItemId first) {
  const RematBuffers& buffers = state_.buffers();
  const RematMemoryTracker& tracker = state_.tracker();
  const RematBuffers::Item& item = buffers.item(id);
  int64_t bytes = 0;
  for (int32_t i = 0; i < item.defined_count; ++i) {
    const RematBufferId b = item.first_defined + i;
    if (tracker.live(b)) bytes += buffers.buffer(b).bytes;
  }
  for (RematBufferId b : item.used) {
    const RematBuffer& buffer = buffers.buffer(b);
    if (buffer.bytes == 0 || tracker.live(b)) continue;
    // Made inside the block, which is in a row.
    if (!state_.list().Precedes(buffer.definer, first)) continue;
    if (absl::c_linear_search(revived_, b)) continue;
    revived_.push_back(b);
    bytes -= buffer.bytes;
  }
  return bytes;
}

void RematCandidates::ConsiderSingle(RematItemId item,
                                     std::optional<RematCandidate>& best) {
  const auto consider = [&](RematStrategy strategy, int64_t bytes) {
    if (bytes <= 0) return;
    const int64_t cost = limit_bytes_ / bytes;
    if (!best.has_value() || cost < best->cost) {
      best = RematCandidate{item, 1, strategy, cost};
    }
  };
  if (state_.policy().compress) {
    consider(RematStrategy::kCompress, BytesFreedByCompression(state_, item));
  }
  if (state_.policy().host_offload) {
    double ready_seconds;
    consider(RematStrategy::kHostOffload,
             BytesFreedByOffload(state_, item, &ready_seconds));
    if (ready_seconds >= 0) later_.push({ready_seconds, item});
  }
}

std::optional<RematCandidate> RematCandidates::BestAt(RematItemId first,
                                                      int32_t min_size,
                                                      int32_t max_size) {
  std::optional<RematCandidate> best;
  // One that is dead frees nothing, whatever the way.
  if (max_size == 1 && !DefinesLive(first)) return best;
  const int64_t smallest = state_.policy().min_remat_size;
  if (smallest > 0 && !state_.is_new(first) &&
      state_.DefinedBytes(first) < smallest) {
    return best;
  }
  int64_t bytes = 0;
  bool has_placed_user = false;
  revived_.clear();
  moves_.clear();
  int32_t size = 0;
  for (RematItemId item = first; item != kNoRematItem && size < max_size;
       item = state_.list().next(item)) {
    if (!Eligible(item) || Forbidden(item)) break;
    ++size;
    if (size == 1 && min_size == 1) ConsiderSingle(item, best);
    if (!state_.policy().recompute) break;
    bytes += BytesFreed(item, first);
    has_placed_user = has_placed_user || HasPlacedUser(item);
    if (state_.only_moves(item)) moves_.push_back(item);
    if (size < min_size || bytes <= 0) continue;
    if (!absl::c_all_of(
            moves_, [&](RematItemId move) { return IsReadUpTo(move, item); })) {
      continue;
    }
    const int64_t cost = has_placed_user ? limit_bytes_ / bytes : 0;
    if (!best.has_value() || cost < best->cost) {
      best = RematCandidate{first, size, RematStrategy::kRecompute, cost};
    }
  }
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
  for (const auto& range : ranges_) {
    if (range->min_size == min_size && range->max_size == max_size) {
      return *range;
    }
  }
  ranges_.push_back(std::make_unique<Range>());
  Range& range = *ranges_.back();
  range.min_size = min_size;
  range.max_size = max_size;
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
