#ifndef XLA_HLO_ANALYSIS_PACKING_SKYLINE_H_
#define XLA_HLO_ANALYSIS_PACKING_SKYLINE_H_

#include <cstdint>
#include <vector>

#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {

// Packs from the bottom up: of the items that can be placed lowest, the first
// one in `order` is placed next. `order` lists all items; returns the offset,
// in units, of each item. Nothing is ever put below placed items, so it suits
// orders that put the hard parts first, and large problems: it comes within 1 %
// of the most live bytes on training graphs of 60,000 buffers, where best fit
// stays at 3 % (specs of the benchmarks: tools/bench/packing.py).
//
// A level rises through the tops of the placed items. Sections whose height the
// level has reached are free; an item can be placed where all its sections are
// free. A tree over the ranges of the open items finds the first of them in a
// run of free sections. O(n √n) at worst for items with one range; those with
// several are tried wherever one of their ranges is free.
//
// Items with fixed offsets are not supported.
std::vector<int64_t> PackSkyline(const PackingItems& items,
                                 const std::vector<int>& order);

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_SKYLINE_H_
