#include "xla/hlo/analysis/packing/placement_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/packing/packing_items.h"

// Depth-first search over canonical packings: every item rests on the bottom or
// on top of another item, and items are placed in ascending order of offset
// (ties by rank), so each packing is generated once. base_[i] is the lowest
// offset at which item i can still go given what is placed below it; it only
// rises along a branch.
//
// Pruning:
//  - Dominance. A branch that skips an item although it would have fitted there
//    unobstructed is no better than the branch that places it (PassedOver,
//    BoundPassedOver).
//  - Section bounds. In each section of time, the lowest possible offset of the
//    open items plus their total size must fit below the capacity
//    (BoundSections).
//  - Symmetry. Of equal items (twins) the one of lower rank is placed first.
//  - Decomposition. When no open item crosses a section boundary, the parts on
//    both sides are independent (SolveParts).
//
// All state changes go to a trail (changes_), and TakeBack undoes them down to
// a mark, so that backtracking costs what the branch changed. Bounds are kept
// with a witness, the item that proves them, and recomputed only when the
// witness is no longer valid.

namespace xla::packing {
namespace {

constexpr int64_t kInfinity = std::numeric_limits<int64_t>::max() / 4;

// Whether two items are live together: a merge of their sorted ranges.
bool Meet(const PackingItem& a, const PackingItem& b) {
  int i = 0;
  int j = 0;
  while (i < a.ranges.size() && j < b.ranges.size()) {
    if (a.ranges[i].hi <= b.ranges[j].lo) {
      ++i;
    } else if (b.ranges[j].hi <= a.ranges[i].lo) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

bool SameSections(const PackingItem& a, const PackingItem& b) {
  return std::equal(a.ranges.begin(), a.ranges.end(), b.ranges.begin(),
                    b.ranges.end(),
                    [](const SectionRange& x, const SectionRange& y) {
                      return x.lo == y.lo && x.hi == y.hi;
                    });
}

}  // namespace

PlacementSearch::PlacementSearch(const PackingItems& items,
                                 absl::Span<const int> part, int64_t capacity,
                                 absl::Time deadline)
    : items_(items.items),
      part_(part.begin(), part.end()),
      capacity_(capacity),
      deadline_(deadline),
      size_(items_.size()),
      meets_(items_.size()),
      twins_(items_.size()),
      live_(items.num_sections),
      rank_(items_.size()),
      placed_(items_.size()),
      base_(items_.size()),
      lowest_(items_.size()),
      open_load_(items.num_sections),
      crossing_(items.num_sections),
      floor_(items.num_sections),
      floor_witness_(items.num_sections),
      obstacle_(items_.size()),
      support_(items_.size()),
      failures_(items.num_sections) {
  for (int i : part_) {
    size_[i] = items_[i].size;
    for (const SectionRange& range : items_[i].ranges) {
      for (int s = range.lo; s < range.hi; ++s) live_[s].push_back(i);
    }
    for (int j : part_) {
      if (i == j || !Meet(items_[i], items_[j])) continue;
      meets_[i].push_back(j);
      if (items_[i].size == items_[j].size &&
          items_[i].alignment == items_[j].alignment &&
          SameSections(items_[i], items_[j])) {
        twins_[i].push_back(j);
      }
    }
  }
}

// Resets the state for a new order of ranks. The precomputed neighbor lists
// are kept, which makes restarts cheap.
SearchOutcome PlacementSearch::Run(const std::vector<int>& order,
                                   int64_t max_steps) {
  std::fill(open_load_.begin(), open_load_.end(), 0);
  std::fill(crossing_.begin(), crossing_.end(), 0);
  std::fill(floor_.begin(), floor_.end(), 0);
  changes_.clear();
  for (int r = 0; r < order.size(); ++r) {
    const int i = order[r];
    rank_[i] = r;
    placed_[i] = 0;
    base_[i] = 0;
    lowest_[i] = 0;
    obstacle_[i] = i;
    support_[i] = i;
    if (size_[i] > capacity_) return SearchOutcome::kImpossible;
    AddToSections(i, 1);
  }
  for (int s = 0; s < floor_.size(); ++s) {
    if (!live_[s].empty()) floor_witness_[s] = live_[s].front();
  }
  max_steps_ = steps_ + max_steps;
  const Threshold nothing = {0, -1};
  Open open;
  open.items = order;
  open.sections = {static_cast<int>(floor_.size()), 0};
  for (int i : order) {
    open.sections.lo = std::min(open.sections.lo, items_[i].lo());
    open.sections.hi = std::max(open.sections.hi, items_[i].hi());
  }
  if (!Bound(open, nothing)) return SearchOutcome::kImpossible;
  return Solve(std::move(open), nothing);
}

// open_load_: bytes of open items per section; crossing_: open items that are
// live on both sides of the boundary before a section.
void PlacementSearch::AddToSections(int item, int sign) {
  const int64_t units = sign * size_[item];
  for (const SectionRange& range : items_[item].ranges) {
    for (int s = range.lo; s < range.hi; ++s) open_load_[s] += units;
  }
  for (int s = items_[item].lo() + 1; s < items_[item].hi(); ++s) {
    crossing_[s] += sign;
  }
}

// Puts the item at its base and raises the base of everything that is live with
// it. False if something no longer fits.
bool PlacementSearch::Place(int item) {
  const int64_t top = base_[item] + size_[item];
  placed_[item] = 1;
  changes_.push_back({Change::kPlaced, item, 0});
  AddToSections(item, -1);
  for (int j : meets_[item]) {
    if (placed_[j] || base_[j] >= top) continue;
    changes_.push_back({Change::kBase, j, base_[j]});
    base_[j] = AlignUp(top, items_[j].alignment);
    if (base_[j] + size_[j] > capacity_) return false;
  }
  return true;
}

void PlacementSearch::TakeBack(size_t num_changes) {
  for (; changes_.size() > num_changes; changes_.pop_back()) {
    const Change& change = changes_.back();
    switch (change.kind) {
      case Change::kPlaced:
        placed_[change.index] = 0;
        AddToSections(change.index, 1);
        break;
      case Change::kBase:
        base_[change.index] = change.value;
        break;
      case Change::kLowest:
        lowest_[change.index] = change.value;
        break;
      case Change::kFloor:
        floor_[change.index] = change.value;
        break;
    }
  }
}

// Whether an open item could still begin below the top of this one, if it were
// placed at its base. If nothing can, the item may as well go there.
bool PlacementSearch::IsObstructed(int item) {
  const int64_t top = base_[item] + size_[item];
  const int known = obstacle_[item];
  if (known != item && !placed_[known] && lowest_[known] < top) return true;
  for (int j : meets_[item]) {
    if (placed_[j] || lowest_[j] >= top) continue;
    obstacle_[item] = j;
    return true;
  }
  return false;
}

// An item that was passed over must come to rest on an item placed later. Its
// lowest offset is therefore at least the lowest top of the open items it
// meets. False if that does not fit, or if nothing obstructs the place where it
// was passed over.
bool PlacementSearch::BoundPassedOver(int item) {
  // It fits where it was passed over, so this state is no better than the one
  // that was refuted.
  if (!IsObstructed(item)) return false;
  const int64_t alignment = items_[item].alignment;
  auto above = [&](int j) { return AlignUp(lowest_[j] + size_[j], alignment); };
  const int known = support_[item];
  if (known != item && !placed_[known] && above(known) <= lowest_[item]) {
    return true;
  }
  int64_t lowest_top = kInfinity;
  for (int j : meets_[item]) {
    if (placed_[j] || lowest_[j] + size_[j] >= lowest_top) continue;
    lowest_top = lowest_[j] + size_[j];
    support_[item] = j;
  }
  SetLowest(item, std::max(lowest_[item], AlignUp(lowest_top, alignment)));
  return lowest_[item] + size_[item] <= capacity_;
}

// A violated section is counted as a failure; restarts use the counts to decide
// difficult sections earlier.
bool PlacementSearch::BoundSections(const SectionRange& sections) {
  for (int s = sections.lo; s < sections.hi; ++s) {
    if (open_load_[s] == 0) continue;
    const int known = floor_witness_[s];
    if (placed_[known] || lowest_[known] > floor_[s]) {
      int64_t least = kInfinity;
      for (int i : live_[s]) {
        if (placed_[i] || lowest_[i] >= least) continue;
        least = lowest_[i];
        floor_witness_[s] = i;
        if (least <= floor_[s]) break;
      }
      if (least != floor_[s]) {
        changes_.push_back({Change::kFloor, s, floor_[s]});
        floor_[s] = least;
      }
    }
    if (floor_[s] + open_load_[s] > capacity_) {
      ++failures_[s];
      return false;
    }
  }
  return true;
}

// Updates the lower bounds of all open items to the threshold, the (offset,
// rank) of the last decision, and checks them. False: this branch holds no
// solution.
bool PlacementSearch::Bound(const Open& open, const Threshold& threshold) {
  for (int i : open.items) {
    if (placed_[i]) continue;
    const int64_t least =
        std::max(base_[i], AlignUp(threshold.offset, items_[i].alignment));
    if (lowest_[i] < least) SetLowest(i, least);
  }
  for (int i : open.items) {
    if (placed_[i] || !PassedOver(i, threshold)) continue;
    if (!BoundPassedOver(i)) return false;
  }
  return BoundSections(open.sections);
}

// Forced moves: items that nothing can obstruct any more are placed without
// branching, until there are none.
bool PlacementSearch::PlaceUnobstructed(Open& open,
                                        const Threshold& threshold) {
  for (bool again = true; again;) {
    again = false;
    for (int i : open.items) {
      if (placed_[i] || PassedOver(i, threshold) || IsObstructed(i)) continue;
      if (!Place(i)) return false;
      again = true;
    }
  }
  open.items.erase(std::remove_if(open.items.begin(), open.items.end(),
                                  [&](int i) { return placed_[i] != 0; }),
                   open.items.end());
  return true;
}

SearchOutcome PlacementSearch::Solve(Open open, const Threshold& threshold) {
  if (!PlaceUnobstructed(open, threshold)) return SearchOutcome::kImpossible;
  if (open.items.empty()) return SearchOutcome::kFound;
  return SolveParts(open, threshold);
}

// Independent parts are solved one after the other, the smallest first. One
// infeasible part makes the whole branch infeasible.
SearchOutcome PlacementSearch::SolveParts(const Open& open,
                                          const Threshold& threshold) {
  const auto end_of_sections = crossing_.begin() + open.sections.hi;
  if (std::find(crossing_.begin() + open.sections.lo + 1, end_of_sections, 0) ==
      end_of_sections) {
    return Branch(open, threshold);
  }
  std::vector<int> by_start = open.items;
  std::sort(by_start.begin(), by_start.end(), [&](int a, int b) {
    return std::make_pair(items_[a].lo(), rank_[a]) <
           std::make_pair(items_[b].lo(), rank_[b]);
  });
  std::vector<Open> parts;
  for (int i : by_start) {
    const SectionRange sections = {items_[i].lo(), items_[i].hi()};
    if (parts.empty() || sections.lo >= parts.back().sections.hi) {
      parts.push_back({{}, sections});
    }
    Open& part = parts.back();
    part.items.push_back(i);
    part.sections.hi = std::max(part.sections.hi, sections.hi);
  }
  // The choice that is refuted soonest goes first.
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Open& a, const Open& b) {
                     return a.items.size() < b.items.size();
                   });
  for (Open& part : parts) {
    std::sort(part.items.begin(), part.items.end(),
              [&](int a, int b) { return rank_[a] < rank_[b]; });
    const SearchOutcome outcome = Branch(part, threshold);
    if (outcome != SearchOutcome::kFound) return outcome;
  }
  return SearchOutcome::kFound;
}

bool PlacementSearch::HasUnplacedTwinBefore(int item) const {
  return absl::c_any_of(twins_[item], [&](int twin) {
    return !placed_[twin] && rank_[twin] < rank_[item];
  });
}

// Items that may be placed next. Some open item must begin below the lowest
// possible top of all open items.
std::vector<int> PlacementSearch::Candidates(const Open& open,
                                             const Threshold& threshold) const {
  // An item that begins where another open one could already end leaves room
  // for that one below all that follows.
  int64_t limit = kInfinity;
  for (int i : open.items) limit = std::min(limit, base_[i] + size_[i]);
  std::vector<int> candidates;
  for (int i : open.items) {
    if (base_[i] < limit && !PassedOver(i, threshold) &&
        !HasUnplacedTwinBefore(i)) {
      candidates.push_back(i);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](int a, int b) { return base_[a] < base_[b]; });
  return candidates;
}

// Tries the candidates from the lowest base upwards. Before the next candidate
// is tried, the ones already tried count as passed over, which often ends the
// loop.
SearchOutcome PlacementSearch::Branch(const Open& open,
                                      const Threshold& threshold) {
  const std::vector<int> candidates = Candidates(open, threshold);
  for (int c = 0; c < candidates.size(); ++c) {
    const int item = candidates[c];
    if (++steps_ > max_steps_) return SearchOutcome::kGaveUp;
    if (steps_ % 256 == 0 && absl::Now() > deadline_) {
      timed_out_ = true;
      return SearchOutcome::kGaveUp;
    }
    const int64_t offset = base_[item];
    if (c > 0 && !Bound(open, {offset, rank_[item] - 1})) break;
    const size_t num_changes = changes_.size();
    const Threshold next = {offset, rank_[item]};
    if (Place(item) && Bound(open, next)) {
      Open rest;
      rest.sections = open.sections;
      rest.items.reserve(open.items.size() - 1);
      for (int i : open.items) {
        if (i != item) rest.items.push_back(i);
      }
      const SearchOutcome outcome = Solve(std::move(rest), next);
      if (outcome != SearchOutcome::kImpossible) return outcome;
    }
    TakeBack(num_changes);
  }
  return SearchOutcome::kImpossible;
}

}  // namespace xla::packing
