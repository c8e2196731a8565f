#include "xla/hlo/memory/graph/order_chain.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace xla {

std::vector<int32_t> OrderChain::Pool::Steps(const Segment& segment) const {
  std::vector<int32_t> steps;
  for (int32_t step = segment.first;; step = next_[step]) {
    steps.push_back(step);
    if (step == segment.last) return steps;
  }
}

OrderChain::OrderChain(int32_t step, int64_t hill, int64_t valley) {
  segments_.insert({hill, valley, step, step});
}

bool OrderChain::InOrder(const Segment& first, const Segment& second) {
  bool rises = first.valley >= 0;
  if (rises != (second.valley >= 0)) return !rises;
  // Between equal segments a stop gains nothing.
  return rises ? first.hill - first.valley > second.hill - second.valley
               : first.hill < second.hill;
}

// The second segment starts from the valley of the first one.
OrderChain::Segment OrderChain::Join(const Segment& first,
                                     const Segment& second, Pool* pool) {
  pool->next_[first.last] = second.first;
  return {std::max(first.hill, first.valley + second.hill),
          first.valley + second.valley, first.first, second.last};
}

// Concatenation may violate the order of segments only at the seam. Neighbors
// that do are joined, which may create a new violation with the next segment on
// either side, and so on outwards; each join removes a segment, so the cost is
// amortized over all operations.
void OrderChain::Append(OrderChain* other, Pool* pool) {
  auto& before = segments_;
  auto& after = other->segments_;
  if (!before.empty() && !after.empty() &&
      !InOrder(*before.rbegin(), *after.begin())) {
    Segment joined = Join(*before.rbegin(), *after.begin(), pool);
    before.erase(std::prev(before.end()));
    after.erase(after.begin());
    while (true) {
      if (!before.empty() && !InOrder(*before.rbegin(), joined)) {
        joined = Join(*before.rbegin(), joined, pool);
        before.erase(std::prev(before.end()));
      } else if (!after.empty() && !InOrder(joined, *after.begin())) {
        joined = Join(joined, *after.begin(), pool);
        after.erase(after.begin());
      } else {
        break;
      }
    }
    before.insert(joined);
  }
  Merge(other);
}

void OrderChain::Merge(OrderChain* other) {
  if (segments_.size() < other->segments_.size()) {
    std::swap(segments_, other->segments_);
  }
  segments_.insert(other->segments_.begin(), other->segments_.end());
  other->segments_.clear();
}

std::vector<OrderChain::Segment> OrderChain::segments() const {
  return {segments_.begin(), segments_.end()};
}

int64_t OrderChain::Hill() const {
  int64_t hill = 0;
  int64_t level = 0;
  for (const Segment& segment : segments_) {
    hill = std::max(hill, level + segment.hill);
    level += segment.valley;
  }
  return hill;
}

}  // namespace xla
