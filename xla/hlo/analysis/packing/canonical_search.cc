#include "xla/hlo/analysis/packing/canonical_search.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "xla/hlo/analysis/packing/item_order.h"
#include "xla/hlo/analysis/packing/packing_items.h"
#include "xla/hlo/analysis/packing/placement_search.h"

// Complete search with restarts. A run explores canonical packings
// (PlacementSearch) depth first in the order of a few sort keys, until it
// proves the result or uses up its steps; the budgets follow the universal
// restart sequence of Luby, Sinclair and Zuckerman (1993), which is within a
// logarithmic factor of the best fixed sequence. Restarts perturb the keys and
// raise the load of the sections where earlier runs failed, so that difficult
// sections are decided first.

namespace xla::packing {
namespace {

// Steps per item of the first run of each order.
constexpr int kFirstStepsPerItem = 2;
// How much noise a restart puts on what it sorts by, as a fraction.
constexpr double kNoise = 0.3;
// How fast what a restart learned about sections is forgotten.
constexpr double kMemory = 0.8;
// How much load a restart adds to the section that failed most, as a fraction
// of the greatest load.
constexpr double kTrouble = 2;

using Order = std::array<OrderKey, 3>;
constexpr Order kPortfolio[] = {
    {OrderKey::kLoad, OrderKey::kDuration, OrderKey::kArea},
    {OrderKey::kLoad, OrderKey::kArea, OrderKey::kDuration},
    {OrderKey::kLoad, OrderKey::kSize, OrderKey::kDuration},
};
constexpr int kNumOrders = sizeof(kPortfolio) / sizeof(kPortfolio[0]);

// 1 1 2 1 1 2 4 …, the universal restart sequence (Luby, Sinclair, Zuckerman).
int64_t Luby(int64_t index) {
  int64_t position = index + 1;
  while (true) {
    int64_t power = 1;
    while (2 * power - 1 < position) power *= 2;
    if (2 * power - 1 == position) return power;
    position -= power - 1;
  }
}

// Restarts over one independent part of the time line.
class PartSearch {
 public:
  PartSearch(const PackingItems& items, std::vector<int> part, int64_t capacity,
             const CanonicalSearchOptions& options)
      : items_(items),
        part_(std::move(part)),
        options_(options),
        search_(items, part_, capacity, options.deadline),
        order_(items),
        trouble_(items.num_sections) {}

  SearchOutcome Run(int64_t max_steps);
  int64_t offset(int item) const { return search_.offset(item); }
  int64_t steps() const { return search_.steps(); }

 private:
  void LearnFromFailures();

  const PackingItems& items_;
  const std::vector<int> part_;
  const CanonicalSearchOptions& options_;
  PlacementSearch search_;
  const ItemOrder order_;
  std::vector<double> trouble_;  // per section, in units of load
  std::minstd_rand random_{2};
};

void PartSearch::LearnFromFailures() {
  std::vector<int64_t>& failures = search_.failures();
  const int64_t most = *std::max_element(failures.begin(), failures.end());
  const double scale = order_.max_load();
  for (int s = 0; s < items_.num_sections; ++s) {
    trouble_[s] *= kMemory;
    if (most > 0) trouble_[s] += kTrouble * scale * failures[s] / most;
    failures[s] = 0;
  }
}

SearchOutcome PartSearch::Run(int64_t max_steps) {
  for (int64_t run = 0; search_.steps() < max_steps; ++run) {
    const int64_t steps = std::min<int64_t>(
        max_steps - search_.steps(),
        kFirstStepsPerItem * part_.size() * Luby(run / kNumOrders) + 1);
    const Order& keys = kPortfolio[run % kNumOrders];
    const SearchOutcome outcome = search_.Run(
        run < kNumOrders
            ? order_.Sorted(keys, part_)
            : order_.SortedWithNoise(keys, part_, kNoise, trouble_, random_),
        steps);
    if (outcome != SearchOutcome::kGaveUp) return outcome;
    if (search_.timed_out()) break;
    LearnFromFailures();
  }
  return SearchOutcome::kGaveUp;
}

// Connected components of the overlap graph, by one sweep over start times.
// Parts that are never live together share no constraint and are solved one
// after the other.
std::vector<std::vector<int>> IndependentParts(const PackingItems& items) {
  std::vector<int> by_start(items.items.size());
  std::iota(by_start.begin(), by_start.end(), 0);
  std::stable_sort(by_start.begin(), by_start.end(), [&](int a, int b) {
    return items.items[a].lo() < items.items[b].lo();
  });
  std::vector<std::vector<int>> parts;
  int end = -1;
  for (int i : by_start) {
    if (items.items[i].lo() >= end) parts.emplace_back();
    parts.back().push_back(i);
    end = std::max(end, items.items[i].hi());
  }
  return parts;
}

}  // namespace

SearchOutcome SearchPacking(const PackingItems& items, int64_t capacity,
                            const CanonicalSearchOptions& options,
                            std::vector<int64_t>* offsets) {
  for (const PackingItem& item : items.items) {
    if (item.fixed_offset.has_value()) return SearchOutcome::kGaveUp;
  }
  offsets->assign(items.items.size(), 0);
  int64_t steps_left = options.max_steps;
  for (const std::vector<int>& part : IndependentParts(items)) {
    PartSearch search(items, part, capacity, options);
    const SearchOutcome outcome = search.Run(steps_left);
    if (outcome != SearchOutcome::kFound) return outcome;
    steps_left -= search.steps();
    for (int i : part) (*offsets)[i] = search.offset(i);
  }
  return SearchOutcome::kFound;
}

}  // namespace xla::packing
