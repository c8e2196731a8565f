#include "xla/hlo/transforms/memory/remat/greedy/remat_peak_candidates.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"

// A kinetic view of block prices: for a fixed block, the price is a step
// function of the point at which it is asked for. Each step is an interval of
// slots and is stored in the O(log n) canonical nodes of a segment tree over
// slots; all intervals that contain a point are then found in the nodes on the
// path from its leaf to the root. Each node keeps its entries sorted by cost,
// so the best block at a point is a merge of O(log n) sorted lists.
//
// Slots are assigned once. Instructions inserted later share the slot of their
// predecessor, so an interval may be slightly too long; the price is therefore
// re-evaluated at the point itself before a block is taken. When too many
// instructions share slots everything is renumbered and rebuilt.

namespace xla {

RematPeakCandidates::RematPeakCandidates(RematComputation* state,
                                         int64_t limit_bytes)
    : state_(*state), prices_(state, limit_bytes) {
  NumberSlots();
  state_.tracker().RecordRewrites(&rewrites_);
}

RematPeakCandidates::~RematPeakCandidates() {
  state_.tracker().StopRecording(&rewrites_);
}

void RematPeakCandidates::NumberSlots() {
  const RematInstructionList& list = state_.list();
  slot_.assign(state_.buffers().item_count(), -1);
  slots_ = 0;
  for (RematItemId item = list.first(); item != kNoRematItem;
       item = list.next(item)) {
    slot_[item] = slots_++;
  }
  ends_.resize(state_.buffers().buffer_count());
  for (RematBufferId b = 0; b < state_.buffers().buffer_count(); ++b) {
    ends_[b] = EndOf(b);
  }
  ranges_.clear();
}

// Stays where it was if that is between its neighbors.
void RematPeakCandidates::AssignSlot(RematItemId item) {
  const RematItemId prev = state_.list().prev(item);
  const RematItemId next = state_.list().next(item);
  const int32_t least = prev == kNoRematItem ? 0 : slot_[prev];
  if (slot_[item] < least ||
      (next != kNoRematItem && slot_[item] > slot_[next])) {
    slot_[item] = least;
  }
}

RematPeakCandidates::End RematPeakCandidates::EndOf(
    RematBufferId buffer) const {
  const auto& users = state_.buffers().buffer(buffer).users;
  if (users.empty()) return End();
  return {users.back(), slot_[users.back()]};
}

// Consumes the log of rewrites: finds the blocks whose price may have changed,
// that is, blocks of changed items, of definers of changed buffers, and of
// users of buffers that now end elsewhere.
void RematPeakCandidates::TakeRewrites() {
  const RematBuffers& buffers = state_.buffers();
  const RematInstructionList& list = state_.list();
  if (buffers.item_count() > 2 * slots_) {
    // Too many share a place.
    NumberSlots();
    rewrites_.Clear();
    changed_.clear();
    return;
  }
  rewrites_.Sort();
  slot_.resize(buffers.item_count(), -1);
  ends_.resize(buffers.buffer_count());
  std::vector<RematItemId> placed;
  for (RematItemId item : rewrites_.items) {
    changed_.push_back(item);
    if (list.contains(item)) placed.push_back(item);
  }
  absl::c_sort(placed, [&](RematItemId a, RematItemId b) {
    return list.Precedes(a, b);
  });
  for (RematItemId item : placed) AssignSlot(item);
  const bool blocks =
      absl::c_any_of(ranges_, [](const auto& r) { return r->max_size > 1; });
  for (RematBufferId b : rewrites_.buffers) {
    const RematBuffer& buffer = buffers.buffer(b);
    changed_.push_back(buffer.definer);
    const End now = EndOf(b);
    const bool end_changed =
        now.item != ends_[b].item || now.slot != ends_[b].slot;
    ends_[b] = now;
    if (!end_changed && !blocks) continue;
    for (RematItemId user : buffer.users) {
      // Those that forward it are part of blocks, too.
      if (end_changed ||
          buffers.item(user).defined_count < buffers.item(user).output_count) {
        changed_.push_back(user);
      }
    }
  }
  rewrites_.Clear();
  absl::c_sort(changed_);
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const auto& range : ranges_) {
    for (RematItemId item : changed_) MarkDirty(*range, item);
  }
  changed_.clear();
}

void RematPeakCandidates::MarkDirty(Range& range, RematItemId item) {
  range.is_dirty.resize(state_.buffers().item_count());
  range.pieces.resize(state_.buffers().item_count());
  // All blocks of the range that it may be part of.
  for (int32_t i = 1; item != kNoRematItem; ++i) {
    if (!range.is_dirty[item]) {
      range.is_dirty[item] = true;
      range.dirty.push_back(item);
    }
    if (i == range.max_size || !state_.list().contains(item)) return;
    item = state_.list().prev(item);
    if (item != kNoRematItem && !state_.rematerializable(item)) return;
  }
}

RematPeakCandidates::Range& RematPeakCandidates::RangeFor(int32_t min_size,
                                                          int32_t max_size) {
  const auto [known, is_new] = FindOrAddRange(&ranges_, min_size, max_size);
  if (!is_new) return *known;
  Range& range = *known;
  range.nodes.resize(2 * slots_);
  const RematInstructionList& list = state_.list();
  for (RematItemId item = list.first(); item != kNoRematItem;
       item = list.next(item)) {
    if (state_.rematerializable(item)) range.dirty.push_back(item);
  }
  range.is_dirty.assign(state_.buffers().item_count(), false);
  range.pieces.resize(state_.buffers().item_count());
  for (RematItemId item : range.dirty) range.is_dirty[item] = true;
  return range;
}

void RematPeakCandidates::AddPointsOf(RematItemId id, bool in_block) {
  const RematBuffers& buffers = state_.buffers();
  const RematBuffers::Item& item = buffers.item(id);
  points_.push_back(id);
  for (int32_t i = 0; i < item.defined_count; ++i) {
    const auto& users = buffers.buffer(item.first_defined + i).users;
    if (users.empty()) continue;
    points_.push_back(users.front());
    points_.push_back(users.back());
  }
  for (RematBufferId b : item.used) {
    const RematBuffer& buffer = buffers.buffer(b);
    if (buffer.bytes > 0) points_.push_back(buffer.users.back());
  }
  if (item.has_control_successors) {
    for (const HloInstruction* after : item.instruction->control_successors()) {
      points_.push_back(buffers.Find(after));
    }
  }
  if (in_block && item.defined_count == 0) {
    for (const HloInstruction* user : item.instruction->users()) {
      points_.push_back(buffers.Find(user));
    }
  }
}

// The points at which the price of a block starting at `first` can change:
// first and last uses of its buffers and last uses of what it reads.
void RematPeakCandidates::CollectPoints(RematItemId first, int32_t max_size) {
  const RematInstructionList& list = state_.list();
  points_.clear();
  int32_t size = 0;
  for (RematItemId item = first; item != kNoRematItem && size < max_size;
       item = list.next(item), ++size) {
    if (state_.denylisted(item) || !state_.rematerializable(item)) break;
    AddPointsOf(item, max_size > 1);
  }
  points_.erase(std::remove_if(points_.begin(), points_.end(),
                               [&](RematItemId item) {
                                 return !list.contains(item) ||
                                        list.Precedes(item, first);
                               }),
                points_.end());
  absl::c_sort(points_, [&](RematItemId a, RematItemId b) {
    return list.Precedes(a, b);
  });
  points_.erase(std::unique(points_.begin(), points_.end()), points_.end());
}

template <typename Fn>
void RematPeakCandidates::ForEachNode(Range& range, const Piece& piece,
                                      const Fn& fn) {
  const size_t leaves = range.nodes.size() / 2;
  size_t from = leaves + piece.from, to = leaves + piece.to + 1;
  for (; from < to; from /= 2, to /= 2) {
    if (from % 2 == 1) fn(range.nodes[from++]);
    if (to % 2 == 1) fn(range.nodes[--to]);
  }
}

// Prices the block at each of its points by moving the tracker there and back.
// Adjacent pieces of equal cost are merged.
void RematPeakCandidates::Update(Range& range, RematItemId item) {
  std::vector<Piece>& pieces = range.pieces[item];
  for (const Piece& piece : pieces) {
    ForEachNode(range, piece, [&](Node& node) { node.erase(piece.entry); });
  }
  pieces.clear();
  if (!state_.list().contains(item)) return;
  CollectPoints(item, range.max_size);
  RematMemoryTracker& tracker = state_.tracker();
  const RematMemoryTracker::Point here = tracker.point();
  const int64_t bytes_here = tracker.memory_usage();
  for (size_t i = 0; i < points_.size(); ++i) {
    tracker.JumpTo({points_[i], /*in_progress=*/false}, 0);
    double ready_seconds;
    const std::optional<RematCandidate> best =
        prices_.BestAt(item, range.min_size, range.max_size, &ready_seconds);
    if (!best.has_value()) continue;
    const int32_t from = slot_[points_[i]];
    const int32_t to =
        i + 1 < points_.size() ? slot_[points_[i + 1]] : slots_ - 1;
    if (!pieces.empty() && pieces.back().to >= from &&
        pieces.back().entry.cost == best->cost) {
      pieces.back().to = to;
    } else {
      pieces.push_back({from, to, {best->cost, slot_[item], item}});
    }
  }
  tracker.JumpTo(here, bytes_here);
  for (const Piece& piece : pieces) {
    ForEachNode(range, piece, [&](Node& node) { node.insert(piece.entry); });
  }
}

// A k-way merge, by stored cost, over the nodes on the path of the current
// point. Each entry that comes up is priced at the point itself; the merge
// stops when the next stored cost is above the best price confirmed so far.
std::optional<RematCandidate> RematPeakCandidates::Best(int32_t min_size,
                                                        int32_t max_size) {
  TakeRewrites();
  Range& range = RangeFor(min_size, max_size);
  for (RematItemId item : range.dirty) {
    range.is_dirty[item] = false;
    Update(range, item);
  }
  range.dirty.clear();
  const RematItemId now = state_.tracker().in_progress();
  std::vector<std::pair<Node::const_iterator, Node::const_iterator>> cursors;
  for (size_t node = slots_ + slot_[now]; node > 0; node /= 2) {
    if (range.nodes[node].empty()) continue;
    cursors.push_back({range.nodes[node].begin(), range.nodes[node].end()});
  }
  std::optional<RematCandidate> best;
  while (true) {
    auto* least = static_cast<decltype(cursors)::value_type*>(nullptr);
    for (auto& cursor : cursors) {
      if (cursor.first == cursor.second) continue;
      if (least == nullptr || *cursor.first < *least->first) least = &cursor;
    }
    if (least == nullptr) return best;
    const Entry entry = *least->first++;
    if (best.has_value() &&
        (entry.cost > best->cost ||
         (entry.cost == best->cost && entry.slot > slot_[best->first]))) {
      return best;
    }
    if (!state_.tracker().placed(entry.item)) continue;
    double ready_seconds;
    const std::optional<RematCandidate> candidate =
        prices_.BestAt(entry.item, min_size, max_size, &ready_seconds);
    if (!candidate.has_value()) continue;
    if (!best.has_value() || candidate->cost < best->cost ||
        (candidate->cost == best->cost &&
         state_.list().Precedes(candidate->first, best->first))) {
      best = candidate;
    }
  }
}

}  // namespace xla
