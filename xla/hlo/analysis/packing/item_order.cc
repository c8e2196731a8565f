#include "xla/hlo/analysis/packing/item_order.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {
namespace {

// Sparse table: level k holds maxima of windows of 2^k, and two overlapping
// windows cover any range. O(n log n) space, O(1) per query.
class RangeMaximum {
 public:
  explicit RangeMaximum(std::vector<double> values) {
    levels_.push_back(std::move(values));
    for (int width = 1; 2 * width <= levels_[0].size(); width *= 2) {
      const std::vector<double>& last = levels_.back();
      std::vector<double> next(last.size() - width);
      for (int s = 0; s < next.size(); ++s) {
        next[s] = std::max(last[s], last[s + width]);
      }
      levels_.push_back(std::move(next));
    }
  }

  // The range must not be empty.
  double Over(const SectionRange& range) const {
    int level = 0;
    while ((2 << level) <= range.hi - range.lo) ++level;
    return std::max(levels_[level][range.lo],
                    levels_[level][range.hi - (1 << level)]);
  }

 private:
  std::vector<std::vector<double>> levels_;
};

}  // namespace

ItemOrder::ItemOrder(const PackingItems& items)
    : items_(items), loads_(SectionLoads(items)) {
  for (int64_t load : loads_) max_load_ = std::max(max_load_, load);
}

std::vector<double> ItemOrder::MostOverSections(
    const std::vector<int>& part, const std::vector<double>& values) const {
  std::vector<double> result(items_.items.size());
  if (part.empty()) return result;
  const RangeMaximum maximum(values);
  for (int i : part) {
    for (const SectionRange& range : items_.items[i].ranges) {
      result[i] = std::max(result[i], maximum.Over(range));
    }
  }
  return result;
}

// Lexicographic by the keys, descending; the index breaks ties, so that the
// order is deterministic.
std::vector<int> ItemOrder::SortedBy(absl::Span<const OrderKey> keys,
                                     std::vector<int> part,
                                     const std::vector<double>& load,
                                     const std::vector<double>& scale) const {
  auto value = [&](int i, OrderKey key) -> double {
    const PackingItem& item = items_.items[i];
    switch (key) {
      case OrderKey::kLoad:
        return load[i];
      case OrderKey::kDuration:
        return item.duration * scale[i];
      case OrderKey::kArea:
        return 1.0 * item.duration * item.size * scale[i];
      case OrderKey::kSize:
        return item.size * scale[i];
      case OrderKey::kEarly:
        return -item.lo();
    }
    return 0;
  };
  std::sort(part.begin(), part.end(), [&](int a, int b) {
    for (OrderKey key : keys) {
      const double value_a = value(a, key);
      const double value_b = value(b, key);
      if (value_a != value_b) return value_a > value_b;
    }
    return a < b;
  });
  return part;
}

std::vector<int> ItemOrder::Sorted(absl::Span<const OrderKey> keys) const {
  std::vector<int> all(items_.items.size());
  std::iota(all.begin(), all.end(), 0);
  return Sorted(keys, std::move(all));
}

std::vector<int> ItemOrder::Sorted(absl::Span<const OrderKey> keys,
                                   std::vector<int> part) const {
  const std::vector<double> load =
      MostOverSections(part, std::vector<double>(loads_.begin(), loads_.end()));
  return SortedBy(keys, std::move(part), load,
                  std::vector<double>(items_.items.size(), 1));
}

std::vector<int> ItemOrder::SortedWithNoise(
    absl::Span<const OrderKey> keys, std::vector<int> part, double noise,
    const std::vector<double>& more_load, std::minstd_rand& random) const {
  // Not std::uniform_real_distribution, whose values differ between libraries.
  auto factor = [&] { return 1 + noise * (random() % 65536) / 65536.0; };
  std::vector<double> section_load(loads_.size());
  for (int s = 0; s < loads_.size(); ++s) {
    section_load[s] = loads_[s] * factor() + more_load[s];
  }
  const std::vector<double> load = MostOverSections(part, section_load);
  std::vector<double> scale(items_.items.size());
  for (int i : part) scale[i] = factor();
  return SortedBy(keys, std::move(part), load, scale);
}

}  // namespace xla::packing
