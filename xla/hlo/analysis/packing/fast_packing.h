#ifndef XLA_HLO_ANALYSIS_PACKING_FAST_PACKING_H_
#define XLA_HLO_ANALYSIS_PACKING_FAST_PACKING_H_

#include <cstdint>
#include <vector>

#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {

// Two ways to place items in O(n log n), for modules of which no one looks at
// the last percent. Both return the offset, in units, of each item. Items with
// fixed offsets are not supported; an item with several ranges takes all
// sections between them.

// In the order of time, as an allocator would do while the program runs: at the
// bottom of the smallest gap that is large enough, or on top. What ends is
// merged with the gaps beside it.
std::vector<int64_t> PackByMerging(const PackingItems& items);

// Splits time in halves: what lives across the middle goes lowest, longest
// first, each item as low as what is placed so far allows; then each half in
// the same way. Long lives form the floor, short ones fill the top.
std::vector<int64_t> PackBySplitting(const PackingItems& items);

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_FAST_PACKING_H_
