#include "xla/hlo/analysis/packing/best_fit.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {
namespace {

// A range of a placed item; kept in the order of offsets.
struct Block {
  int lo;
  int hi;
  int64_t offset;
  int64_t top;
};

bool LiveTogether(const PackingItem& item, const Block& block) {
  if (block.lo >= item.hi() || item.lo() >= block.hi) return false;
  if (item.ranges.size() == 1) return true;
  for (const SectionRange& range : item.ranges) {
    if (block.lo < range.hi && range.lo < block.hi) return true;
  }
  return false;
}

int64_t BestOffset(const PackingItem& item, const std::vector<Block>& blocks) {
  int64_t top = 0;  // of the blocks seen so far
  int64_t best_offset = -1;
  int64_t best_gap = std::numeric_limits<int64_t>::max();
  for (const Block& block : blocks) {
    if (!LiveTogether(item, block)) continue;
    const int64_t bottom = AlignUp(top, item.alignment);
    const int64_t gap = block.offset - bottom;
    if (gap >= item.size && gap < best_gap) {
      best_gap = gap;
      best_offset = bottom;
    }
    top = std::max(top, block.top);
  }
  return best_offset >= 0 ? best_offset : AlignUp(top, item.alignment);
}

void AddBlocks(const PackingItem& item, int64_t offset,
               std::vector<Block>& blocks) {
  for (const SectionRange& range : item.ranges) {
    const Block block = {range.lo, range.hi, offset, offset + item.size};
    blocks.insert(std::upper_bound(blocks.begin(), blocks.end(), block,
                                   [](const Block& a, const Block& b) {
                                     return a.offset < b.offset;
                                   }),
                  block);
  }
}

}  // namespace

std::vector<int64_t> PackBestFit(const PackingItems& items,
                                 const std::vector<int>& order, int64_t limit) {
  std::vector<Block> blocks;
  blocks.reserve(order.size());
  std::vector<int64_t> offsets(items.items.size(), -1);
  for (int i : order) {
    const PackingItem& item = items.items[i];
    if (!item.fixed_offset.has_value()) continue;
    offsets[i] = *item.fixed_offset;
    AddBlocks(item, offsets[i], blocks);
  }
  for (int i : order) {
    const PackingItem& item = items.items[i];
    if (item.fixed_offset.has_value()) continue;
    const int64_t offset = BestOffset(item, blocks);
    if (offset > limit - item.size) continue;
    offsets[i] = offset;
    AddBlocks(item, offsets[i], blocks);
  }
  return offsets;
}

}  // namespace xla::packing
