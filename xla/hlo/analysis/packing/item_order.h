#ifndef XLA_HLO_ANALYSIS_PACKING_ITEM_ORDER_H_
#define XLA_HLO_ANALYSIS_PACKING_ITEM_ORDER_H_

#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {

// The first sort key of an order of items, then the tie-breakers; largest
// first.
enum class OrderKey {
  kLoad,      // of the item's fullest section
  kDuration,  // time units live
  kArea,      // duration × size
  kSize,
  kEarly,  // the earlier the start, the larger
};

// Sorts indices of items.
class ItemOrder {
 public:
  explicit ItemOrder(const PackingItems& items);

  // All items, or those of `part`, sorted by `keys`, then by index.
  std::vector<int> Sorted(absl::Span<const OrderKey> keys) const;
  std::vector<int> Sorted(absl::Span<const OrderKey> keys,
                          std::vector<int> part) const;

  // The same with up to that fraction of noise on the keys, and with more load,
  // in units, on each section. The same state of `random` gives the same order.
  std::vector<int> SortedWithNoise(absl::Span<const OrderKey> keys,
                                   std::vector<int> part, double noise,
                                   const std::vector<double>& more_load,
                                   std::minstd_rand& random) const;

  const std::vector<int64_t>& loads() const { return loads_; }
  int64_t max_load() const { return max_load_; }

 private:
  // The largest of `values` over each item's sections.
  std::vector<double> MostOverSections(const std::vector<int>& part,
                                       const std::vector<double>& values) const;
  std::vector<int> SortedBy(absl::Span<const OrderKey> keys,
                            std::vector<int> part,
                            const std::vector<double>& load,
                            const std::vector<double>& scale) const;

  const PackingItems& items_;
  std::vector<int64_t> loads_;  // of each section
  int64_t max_load_ = 0;
};

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_ITEM_ORDER_H_
