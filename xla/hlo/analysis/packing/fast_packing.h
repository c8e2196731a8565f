#ifndef XLA_HLO_ANALYSIS_PACKING_FAST_PACKING_H_
#define XLA_HLO_ANALYSIS_PACKING_FAST_PACKING_H_

#include <cstdint>
#include <vector>

#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {

// Two ways to place items in O(n log n), where the last percent does not
// matter. Both return the offset, in units, of each item. Items with fixed
// offsets are not supported; an item with several ranges takes all sections
// between them.

// In the order of time, like an allocator while the program runs: at the bottom
// of the smallest gap that is large enough, or on top. The memory of items that
// end is merged with adjacent gaps.
std::vector<int64_t> PackByMerging(const PackingItems& items);

// Splits time in halves: items live across the middle go lowest, longest first,
// each as low as those already placed allow; then each half in the same way.
// Long live ranges form the floor, short ones fill the top.
std::vector<int64_t> PackBySplitting(const PackingItems& items);

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_FAST_PACKING_H_
