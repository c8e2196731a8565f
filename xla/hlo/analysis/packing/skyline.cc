#include "xla/hlo/analysis/packing/skyline.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "xla/hlo/analysis/packing/packing_items.h"
#include "xla/hlo/analysis/packing/range_tree.h"

// A level rises from offset 0. At each level the sections not covered by a
// block form maximal free runs; each run takes the first item in the given
// order that fits into it, which splits the run. The level then jumps to the
// next top of a block. Items with several ranges need a free run around each of
// them.
//
// Finding the first item that fits is a query of a tree over (lo, hi) pairs
// (RangeTree) instead of a scan over all items.

namespace xla::packing {
namespace {

// A set of integers below some bound. Finds the largest one up to a given one
// in O(log n) of base 64.
class IntegerSet {
 public:
  explicit IntegerSet(int bound) {
    do {
      bound = (bound + 63) / 64;
      levels_.emplace_back(bound);
    } while (bound > 1);
  }

  void Insert(int value) {
    for (std::vector<uint64_t>& level : levels_) {
      level[value / 64] |= uint64_t{1} << value % 64;
      value /= 64;
    }
  }

  void Remove(int value) {
    for (std::vector<uint64_t>& level : levels_) {
      level[value / 64] &= ~(uint64_t{1} << value % 64);
      if (level[value / 64] != 0) return;
      value /= 64;
    }
  }

  // -1 if there is none.
  int LastUpTo(int value) const {
    for (size_t l = 0; l < levels_.size(); ++l) {
      const uint64_t word =
          levels_[l][value / 64] & (~uint64_t{0} >> (63 - value % 64));
      if (word != 0) {
        int found = value / 64 * 64 + 63 - __builtin_clzll(word);
        while (l > 0) {
          --l;
          found = found * 64 + 63 - __builtin_clzll(levels_[l][found]);
        }
        return found;
      }
      if (value < 64) return -1;
      value = value / 64 - 1;
    }
    return -1;
  }

 private:
  std::vector<std::vector<uint64_t>> levels_;
};

// The maximal runs of free sections.
class FreeRuns {
 public:
  explicit FreeRuns(int num_sections)
      : end_of_(num_sections + 1, -1),
        begin_of_(num_sections + 1, -1),
        begins_(num_sections + 1) {}

  bool IsRun(const SectionRange& run) const {
    return end_of_[run.lo] == run.hi;
  }

  // The run that holds all sections of the range; an empty one if there is
  // none.
  SectionRange RunAround(const SectionRange& range) const {
    const int lo = begins_.LastUpTo(range.lo);
    if (lo < 0 || end_of_[lo] < range.hi) return {};
    return {lo, end_of_[lo]};
  }

  // Frees sections that are not free; returns the run that they now are in.
  SectionRange Add(SectionRange run) {
    if (begin_of_[run.lo] >= 0) {
      const int lo = begin_of_[run.lo];
      Remove({lo, run.lo});
      run.lo = lo;
    }
    if (end_of_[run.hi] >= 0) {
      const int hi = end_of_[run.hi];
      Remove({run.hi, hi});
      run.hi = hi;
    }
    if (run.lo < run.hi) {
      end_of_[run.lo] = run.hi;
      begin_of_[run.hi] = run.lo;
      begins_.Insert(run.lo);
    }
    return run;
  }

  void Remove(const SectionRange& run) {
    end_of_[run.lo] = -1;
    begin_of_[run.hi] = -1;
    begins_.Remove(run.lo);
  }

 private:
  std::vector<int> end_of_;    // of the run that begins at this section
  std::vector<int> begin_of_;  // of the run that ends at this section
  IntegerSet begins_;          // of runs
};

class Packer {
 public:
  Packer(const PackingItems& items, const std::vector<int>& order)
      : items_(items),
        order_(order),
        single_(HullsOf(items, order)),
        several_(RangesOf(items, order, &first_range_, &rank_of_range_)),
        free_(items.num_sections),
        offsets_(items.items.size()) {
    for (int rank = 0; rank < order.size(); ++rank) {
      if (items.items[order[rank]].ranges.size() > 1) single_.Remove(rank);
    }
  }

  std::vector<int64_t> Run() {
    if (items_.num_sections > 0) blocks_.push({0, 0, items_.num_sections});
    while (!blocks_.empty()) {
      const int64_t level = std::get<0>(blocks_.top());
      while (!blocks_.empty() && std::get<0>(blocks_.top()) == level) {
        const auto [top, lo, hi] = blocks_.top();
        blocks_.pop();
        runs_.push_back(free_.Add({lo, hi}));
      }
      while (!runs_.empty()) {
        const SectionRange run = runs_.back();
        runs_.pop_back();
        if (run.lo >= run.hi || !free_.IsRun(run)) continue;
        const int rank = FirstFor(run);
        if (rank >= 0) Place(rank, level);
      }
    }
    return std::move(offsets_);
  }

 private:
  // Ranges of the items that have one, by rank.
  static std::vector<SectionRange> HullsOf(const PackingItems& items,
                                           const std::vector<int>& order) {
    std::vector<SectionRange> hulls;
    hulls.reserve(order.size());
    for (int i : order) {
      const PackingItem& item = items.items[i];
      hulls.push_back(item.ranges.size() == 1 ? item.ranges[0]
                                              : SectionRange{-1, -1});
    }
    return hulls;
  }

  // Ranges of the items that have several, by rank of the item.
  static std::vector<SectionRange> RangesOf(const PackingItems& items,
                                            const std::vector<int>& order,
                                            std::vector<int>* first_range,
                                            std::vector<int>* rank_of_range) {
    std::vector<SectionRange> ranges;
    for (int rank = 0; rank < order.size(); ++rank) {
      first_range->push_back(ranges.size());
      const PackingItem& item = items.items[order[rank]];
      if (item.ranges.size() == 1) continue;
      ranges.insert(ranges.end(), item.ranges.begin(), item.ranges.end());
      rank_of_range->resize(ranges.size(), rank);
    }
    return ranges;
  }

  // The first item in the order that fits into free sections, some of them of
  // the run. -1: there is none.
  int FirstFor(const SectionRange& run) const {
    const int single = single_.LeastWithin(run);
    const int range = several_.LeastWithin(
        run, single < 0 ? rank_of_range_.size() : first_range_[single],
        [&](int range) { return IsFree(rank_of_range_[range]); });
    return range < 0 ? single : rank_of_range_[range];
  }

  bool IsFree(int rank) const {
    for (const SectionRange& range : items_.items[order_[rank]].ranges) {
      if (free_.RunAround(range).hi == 0) return false;
    }
    return true;
  }

  // The run around each range of the item is split in two; both remainders are
  // searched again at the same level.
  void Place(int rank, int64_t level) {
    const PackingItem& item = items_.items[order_[rank]];
    const int64_t offset = AlignUp(level, item.alignment);
    offsets_[order_[rank]] = offset;
    if (item.ranges.size() == 1) {
      single_.Remove(rank);
    } else {
      for (size_t r = 0; r < item.ranges.size(); ++r) {
        several_.Remove(first_range_[rank] + r);
      }
    }
    for (const SectionRange& range : item.ranges) {
      const SectionRange run = free_.RunAround(range);
      blocks_.push({offset + item.size, range.lo, range.hi});
      free_.Remove(run);
      runs_.push_back(free_.Add({run.lo, range.lo}));
      runs_.push_back(free_.Add({range.hi, run.hi}));
    }
  }

  const PackingItems& items_;
  const std::vector<int>& order_;
  // By rank: its first range in several_.
  std::vector<int> first_range_;
  std::vector<int> rank_of_range_;
  // Items that are not placed.
  RangeTree single_;
  RangeTree several_;
  FreeRuns free_;
  // The (top, sections) of what is placed and the level has not reached.
  using Block = std::tuple<int64_t, int, int>;
  std::priority_queue<Block, std::vector<Block>, std::greater<Block>> blocks_;
  // Free runs to look for items for.
  std::vector<SectionRange> runs_;
  std::vector<int64_t> offsets_;
};

}  // namespace

std::vector<int64_t> PackSkyline(const PackingItems& items,
                                 const std::vector<int>& order) {
  return Packer(items, order).Run();
}

}  // namespace xla::packing
