#ifndef XLA_HLO_ANALYSIS_PACKING_BEST_FIT_H_
#define XLA_HLO_ANALYSIS_PACKING_BEST_FIT_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {

// Places items in the given order, each at the bottom of the smallest gap that
// it fits into between earlier items live at the same time; if there is none,
// on top of them. Items with fixed offsets are placed first. `order` lists
// items; returns the offset, in units, of each: -1 for those that are not
// listed and those that would end above `limit` (units). Costs the queries of
// an OccupancyTree: O(log² items) per item on modules, which have few gaps at
// any time.
std::vector<int64_t> PackBestFit(
    const PackingItems& items, const std::vector<int>& order,
    int64_t limit = std::numeric_limits<int64_t>::max());

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_BEST_FIT_H_
