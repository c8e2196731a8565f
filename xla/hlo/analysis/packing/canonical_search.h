#ifndef XLA_HLO_ANALYSIS_PACKING_CANONICAL_SEARCH_H_
#define XLA_HLO_ANALYSIS_PACKING_CANONICAL_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "xla/hlo/analysis/packing/packing_items.h"
#include "xla/hlo/analysis/packing/placement_search.h"

namespace xla::packing {

struct CanonicalSearchOptions {
  // Placements to try, over all restarts. The result depends on nothing else
  // unless the deadline expires first.
  int64_t max_steps = 1'000'000;
  absl::Time deadline = absl::InfiniteFuture();
};

// Exact search for a packing within `capacity` units.
//
// Where there is a packing there is a canonical one, in which every item lies
// at 0 or upon another item; placing its items from the bottom up visits
// offsets that never fall (Moffitt, MiniMalloc, ASPLOS 2023). Depth-first
// search over such orders, with
// - a bound per section: lowest offset that an unplaced item can still get +
//   what is unplaced there. An item that was passed over at its lowest offset
//   must wait for another to lie beneath it, which lifts its lowest offset;
// - dominance: an item that fits below all that is to come is placed at once,
//   and a state in which a refuted placement would fit so is abandoned;
//   interchangeable items keep their order;
// - independent parts of the time line solved apart, whenever they come apart;
// - restarts over a portfolio of orders with growing (Luby) step limits, noise,
//   and weights learned from the sections where the bound failed: run times of
//   one order are heavy-tailed.
// Each restart is complete within its limit, so that kImpossible is a proof.
// Memory O(items²). `offsets` (units) is set if found. Items with
// fixed offsets are not supported: kGaveUp.
SearchOutcome SearchPacking(const PackingItems& items, int64_t capacity,
                            const CanonicalSearchOptions& options,
                            std::vector<int64_t>* offsets);

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_CANONICAL_SEARCH_H_
