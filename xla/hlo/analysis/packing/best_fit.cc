#include "xla/hlo/analysis/packing/best_fit.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "xla/hlo/analysis/packing/occupancy_tree.h"
#include "xla/hlo/analysis/packing/packing_items.h"

// Best fit in a given order: each item goes into the smallest gap between the
// blocks that are live together with it, or on top of them. Two representations
// of the placed blocks share the gap search. A sorted list is O(n) per item
// with a small constant; the tree over time (OccupancyTree) returns the union
// of the occupied ranges and pays off for many items.

namespace xla::packing {
namespace {

// Up to this many items, a list of the placed ones is faster than a tree.
constexpr int64_t kMaxListedItems = 1000;

// Finds the smallest sufficient gap below blocks that are visited in ascending
// order of offset. Blocks may overlap, since blocks that are not live together
// may share memory.
class GapSearch {
 public:
  explicit GapSearch(const PackingItem& item) : item_(item) {}

  void AddBlock(int64_t offset, int64_t top) {
    const int64_t bottom = AlignUp(top_, item_.alignment);
    const int64_t gap = offset - bottom;
    if (gap >= item_.size && gap < best_gap_) {
      best_gap_ = gap;
      best_offset_ = bottom;
    }
    top_ = std::max(top_, top);
  }

  int64_t BestOffset() const {
    return best_offset_ >= 0 ? best_offset_ : AlignUp(top_, item_.alignment);
  }

 private:
  const PackingItem& item_;
  int64_t top_ = 0;  // of the blocks seen so far
  int64_t best_offset_ = -1;
  int64_t best_gap_ = std::numeric_limits<int64_t>::max();
};

// The placed items, as a list in the order of offsets.
class BlockList {
 public:
  explicit BlockList(const PackingItems& items) {}

  void Add(const PackingItem& item, int64_t offset) {
    for (const SectionRange& range : item.ranges) {
      const Block block = {range.lo, range.hi, offset, offset + item.size};
      blocks_.insert(std::upper_bound(blocks_.begin(), blocks_.end(), block,
                                      [](const Block& a, const Block& b) {
                                        return a.offset < b.offset;
                                      }),
                     block);
    }
  }

  int64_t BestOffset(const PackingItem& item) {
    GapSearch gaps(item);
    for (const Block& block : blocks_) {
      if (LiveTogether(item, block)) gaps.AddBlock(block.offset, block.top);
    }
    return gaps.BestOffset();
  }

 private:
  struct Block {
    int lo;
    int hi;
    int64_t offset;
    int64_t top;
  };

  static bool LiveTogether(const PackingItem& item, const Block& block) {
    if (block.lo >= item.hi() || item.lo() >= block.hi) return false;
    if (item.ranges.size() == 1) return true;
    for (const SectionRange& range : item.ranges) {
      if (block.lo < range.hi && range.lo < block.hi) return true;
    }
    return false;
  }

  std::vector<Block> blocks_;
};

// The placed items, as a tree over time.
class BlockTree {
 public:
  explicit BlockTree(const PackingItems& items) : tree_(items.num_sections) {}

  void Add(const PackingItem& item, int64_t offset) {
    for (const SectionRange& range : item.ranges) {
      tree_.Add(range, {offset, offset + item.size});
    }
  }

  int64_t BestOffset(const PackingItem& item) {
    GapSearch gaps(item);
    for (const OccupancyTree::Extent& extent : tree_.TakenDuring(item.ranges)) {
      gaps.AddBlock(extent.begin, extent.end);
    }
    return gaps.BestOffset();
  }

 private:
  OccupancyTree tree_;
};

template <typename Blocks>
std::vector<int64_t> Pack(const PackingItems& items,
                          const std::vector<int>& order, int64_t limit) {
  Blocks blocks(items);
  std::vector<int64_t> offsets(items.items.size(), -1);
  for (int i : order) {
    const PackingItem& item = items.items[i];
    if (!item.fixed_offset.has_value()) continue;
    offsets[i] = *item.fixed_offset;
    blocks.Add(item, offsets[i]);
  }
  for (int i : order) {
    const PackingItem& item = items.items[i];
    if (item.fixed_offset.has_value()) continue;
    const int64_t offset = blocks.BestOffset(item);
    if (offset > limit - item.size) continue;
    offsets[i] = offset;
    blocks.Add(item, offset);
  }
  return offsets;
}

}  // namespace

std::vector<int64_t> PackBestFit(const PackingItems& items,
                                 const std::vector<int>& order, int64_t limit) {
  return order.size() <= kMaxListedItems ? Pack<BlockList>(items, order, limit)
                                         : Pack<BlockTree>(items, order, limit);
}

}  // namespace xla::packing
