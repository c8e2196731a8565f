#include "xla/hlo/analysis/packing/skyline.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "xla/hlo/analysis/packing/packing_items.h"
#include "xla/hlo/analysis/packing/range_tree.h"

namespace xla::packing {
namespace {

// The maximal runs of free sections.
class FreeRuns {
 public:
  explicit FreeRuns(int num_sections)
      : end_of_(num_sections + 1, -1), begin_of_(num_sections + 1, -1) {}

  bool IsRun(const SectionRange& run) const {
    return end_of_[run.lo] == run.hi;
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
    }
    return run;
  }

  void Remove(const SectionRange& run) {
    end_of_[run.lo] = -1;
    begin_of_[run.hi] = -1;
  }

 private:
  std::vector<int> end_of_;    // of the run that begins at this section
  std::vector<int> begin_of_;  // of the run that ends at this section
};

}  // namespace

std::vector<int64_t> PackSkyline(const PackingItems& items,
                                 const std::vector<int>& order) {
  std::vector<SectionRange> hulls;
  hulls.reserve(order.size());
  for (int i : order) {
    hulls.push_back({items.items[i].lo(), items.items[i].hi()});
  }
  RangeTree open(hulls);
  FreeRuns free(items.num_sections);
  std::vector<int64_t> offsets(items.items.size());
  // The (top, sections) of what is placed and the level has not reached.
  using Block = std::tuple<int64_t, int, int>;
  std::priority_queue<Block, std::vector<Block>, std::greater<Block>> blocks;
  if (items.num_sections > 0) blocks.push({0, 0, items.num_sections});
  std::vector<SectionRange> runs;
  while (!blocks.empty()) {
    const int64_t level = std::get<0>(blocks.top());
    while (!blocks.empty() && std::get<0>(blocks.top()) == level) {
      const auto [top, lo, hi] = blocks.top();
      blocks.pop();
      runs.push_back(free.Add({lo, hi}));
    }
    while (!runs.empty()) {
      const SectionRange run = runs.back();
      runs.pop_back();
      if (run.lo >= run.hi || !free.IsRun(run)) continue;
      const int rank = open.LeastWithin(run);
      if (rank < 0) continue;
      open.Remove(rank);
      const PackingItem& item = items.items[order[rank]];
      const int64_t offset = AlignUp(level, item.alignment);
      offsets[order[rank]] = offset;
      blocks.push({offset + item.size, item.lo(), item.hi()});
      free.Remove(run);
      runs.push_back(free.Add({run.lo, item.lo()}));
      runs.push_back(free.Add({item.hi(), run.hi}));
    }
  }
  return offsets;
}

}  // namespace xla::packing
