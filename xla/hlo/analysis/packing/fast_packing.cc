#include "xla/hlo/analysis/packing/fast_packing.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {
namespace {

// Free list of a heap: free ranges indexed by offset, for coalescing, and by
// size, for best fit. Ranges never touch each other or the top.
class Gaps {
 public:
  // Returns the offset.
  int64_t Take(int64_t size, int64_t alignment) {
    for (auto it = by_size_.lower_bound({size, 0}); it != by_size_.end();
         ++it) {
      const auto [gap, begin] = *it;
      const int64_t offset = AlignUp(begin, alignment);
      if (offset + size > begin + gap) continue;
      Remove(begin, begin + gap);
      Add(begin, offset);
      Add(offset + size, begin + gap);
      return offset;
    }
    const int64_t offset = AlignUp(top_, alignment);
    Add(top_, offset);
    top_ = offset + size;
    return offset;
  }

  void Free(int64_t begin, int64_t end) {
    auto above = by_offset_.lower_bound(begin);
    if (above != by_offset_.begin()) {
      const auto [its_begin, its_end] = *std::prev(above);
      if (its_end == begin) {
        Remove(its_begin, its_end);
        begin = its_begin;
      }
    }
    above = by_offset_.lower_bound(end);
    if (above != by_offset_.end() && above->first == end) {
      const int64_t its_end = above->second;
      Remove(end, its_end);
      end = its_end;
    }
    if (end == top_) {
      top_ = begin;
    } else {
      Add(begin, end);
    }
  }

 private:
  void Add(int64_t begin, int64_t end) {
    if (begin == end) return;
    by_offset_[begin] = end;
    by_size_.insert({end - begin, begin});
  }
  void Remove(int64_t begin, int64_t end) {
    by_offset_.erase(begin);
    by_size_.erase({end - begin, begin});
  }

  int64_t top_ = 0;
  std::map<int64_t, int64_t> by_offset_;           // begin → end
  std::set<std::pair<int64_t, int64_t>> by_size_;  // size, begin
};

// Segment tree with range assignment and range maximum. Assignments are pushed
// down lazily. A raise never lowers a height, so the maximum of a node under an
// assignment is the assigned height itself.
class Heights {
 public:
  explicit Heights(int num_sections) {
    while (size_ < num_sections) size_ *= 2;
    most_.assign(2 * size_, 0);
    assigned_.assign(2 * size_, -1);
  }

  int64_t MostOver(int lo, int hi) { return Most(1, 0, size_, lo, hi); }
  // `height` must not be below what it replaces.
  void Raise(int lo, int hi, int64_t height) {
    Assign(1, 0, size_, lo, hi, height);
  }

 private:
  // Recursion is as deep as the tree: log2 of the sections.
  int64_t Most(int node, int begin, int end, int lo, int hi) {
    if (hi <= begin || end <= lo) return 0;
    if (lo <= begin && end <= hi) return most_[node];
    if (assigned_[node] >= 0) return assigned_[node];
    const int middle = (begin + end) / 2;
    return std::max(Most(2 * node, begin, middle, lo, hi),
                    Most(2 * node + 1, middle, end, lo, hi));
  }
  void Assign(int node, int begin, int end, int lo, int hi, int64_t height) {
    if (hi <= begin || end <= lo) return;
    if (lo <= begin && end <= hi) {
      most_[node] = assigned_[node] = height;
      return;
    }
    for (int child : {2 * node, 2 * node + 1}) {
      if (assigned_[node] < 0) break;
      most_[child] = assigned_[child] = assigned_[node];
    }
    assigned_[node] = -1;
    const int middle = (begin + end) / 2;
    Assign(2 * node, begin, middle, lo, hi, height);
    Assign(2 * node + 1, middle, end, lo, hi, height);
    most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
  }

  int size_ = 1;
  std::vector<int64_t> most_;
  std::vector<int64_t> assigned_;  // of the whole node; -1: see its children
};

// The height of the node that holds both ends in a binary tree over sections:
// the larger, the longer the stretch that is halved where the item lives on.
int SplitLevel(const PackingItem& item) {
  unsigned differing =
      static_cast<unsigned>(item.lo()) ^ static_cast<unsigned>(item.hi() - 1);
  int level = 0;
  for (; differing != 0; differing >>= 1) ++level;
  return level;
}

}  // namespace

// Replays allocations and deallocations in time order through a best-fit free
// list. O(n log n).
std::vector<int64_t> PackByMerging(const PackingItems& items) {
  // Section, whether it starts, item.
  std::vector<std::tuple<int, bool, int>> events;
  for (int i = 0; i < items.items.size(); ++i) {
    events.emplace_back(items.items[i].lo(), true, i);
    events.emplace_back(items.items[i].hi(), false, i);
  }
  // Larger ones first among those that start together.
  std::sort(events.begin(), events.end(), [&](const auto& a, const auto& b) {
    auto key = [&](const std::tuple<int, bool, int>& event) {
      const auto& [section, starts, item] = event;
      return std::make_tuple(section, starts, -items.items[item].size, item);
    };
    return key(a) < key(b);
  });
  std::vector<int64_t> offsets(items.items.size());
  Gaps gaps;
  for (const auto& [section, starts, i] : events) {
    const PackingItem& item = items.items[i];
    if (starts) {
      offsets[i] = gaps.Take(item.size, item.alignment);
    } else {
      gaps.Free(offsets[i], offsets[i] + item.size);
    }
  }
  return offsets;
}

// Stacks items on a skyline over time, items that cross the middle of long
// stretches first; what lies within one half is never live together with the
// other half.
std::vector<int64_t> PackBySplitting(const PackingItems& items) {
  std::vector<int> order(items.items.size());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](int i) {
    const PackingItem& item = items.items[i];
    return std::make_tuple(-SplitLevel(item), -item.duration, -item.size, i);
  };
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return key(a) < key(b); });
  Heights heights(std::max(1, items.num_sections));
  std::vector<int64_t> offsets(items.items.size());
  for (int i : order) {
    const PackingItem& item = items.items[i];
    offsets[i] =
        AlignUp(heights.MostOver(item.lo(), item.hi()), item.alignment);
    heights.Raise(item.lo(), item.hi(), offsets[i] + item.size);
  }
  return offsets;
}

}  // namespace xla::packing
