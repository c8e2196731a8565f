#include "xla/hlo/transforms/memory/remat_plan/excess_tree.h"

#include <algorithm>
#include <limits>

namespace xla::remat_plan {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

}  // namespace

ExcessTree::ExcessTree(absl::Span<const int64_t> bytes, int64_t limit)
    : size_(std::max<int64_t>(static_cast<int64_t>(bytes.size()), 1)),
      limit_(limit) {
  while (leaves_ < size_) leaves_ *= 2;
  nodes_.resize(2 * leaves_);
  for (int64_t i = 0; i < leaves_; ++i) {
    // Points past the end are never asked for.
    const int64_t value = i < static_cast<int64_t>(bytes.size())
                              ? bytes[i]
                              : std::min<int64_t>(limit_, 0);
    const bool over = i < size_ && value > limit_;
    nodes_[leaves_ + i] = {over ? value : kMost, over ? kLeast : value, value,
                           over ? 1 : 0, 0};
  }
  for (int64_t node = leaves_ - 1; node > 0; --node) {
    nodes_[node].add = 0;
    Pull(node);
  }
}

int64_t ExcessTree::max() const { return nodes_[1].max_all; }

void ExcessTree::Pull(int64_t node) {
  Node& self = nodes_[node];
  const Node& left = nodes_[2 * node];
  const Node& right = nodes_[2 * node + 1];
  self.min_over = std::min(left.min_over, right.min_over);
  self.max_under = std::max(left.max_under, right.max_under);
  self.max_all = std::max(left.max_all, right.max_all);
  if (self.min_over != kMost) self.min_over += self.add;
  if (self.max_under != kLeast) self.max_under += self.add;
  self.max_all += self.add;
  self.over = left.over + right.over;
}

void ExcessTree::Apply(int64_t node, int64_t bytes) {
  Node& self = nodes_[node];
  if (self.min_over != kMost) self.min_over += bytes;
  if (self.max_under != kLeast) self.max_under += bytes;
  self.max_all += bytes;
  self.add += bytes;
}

void ExcessTree::Add(int64_t first, int64_t last, int64_t bytes) {
  first = std::max<int64_t>(first, 0);
  last = std::min(last, size_ - 1);
  if (first > last || bytes == 0) return;
  AddTo(1, 0, leaves_ - 1, first, last, bytes);
  if (nodes_[1].min_over <= limit_ || nodes_[1].max_under > limit_) {
    Settle(1, 0, leaves_ - 1);
  }
}

void ExcessTree::AddTo(int64_t node, int64_t lo, int64_t hi, int64_t first,
                       int64_t last, int64_t bytes) {
  if (first <= lo && hi <= last) return Apply(node, bytes);
  const int64_t mid = (lo + hi) / 2;
  if (first <= mid) AddTo(2 * node, lo, mid, first, last, bytes);
  if (last > mid) AddTo(2 * node + 1, mid + 1, hi, first, last, bytes);
  Pull(node);
}

// Moves points that have crossed the limit to the other side.
void ExcessTree::Settle(int64_t node, int64_t lo, int64_t hi) {
  Node& self = nodes_[node];
  if (lo == hi) {
    const bool over = self.max_all > limit_;
    self.min_over = over ? self.max_all : kMost;
    self.max_under = over ? kLeast : self.max_all;
    self.over = over ? 1 : 0;
    return;
  }
  if (self.add != 0) {
    Apply(2 * node, self.add);
    Apply(2 * node + 1, self.add);
    self.add = 0;
  }
  const int64_t mid = (lo + hi) / 2;
  for (int64_t side = 0; side < 2; ++side) {
    const Node& child = nodes_[2 * node + side];
    if (child.min_over > limit_ && child.max_under <= limit_) continue;
    if (side == 0) {
      Settle(2 * node, lo, mid);
    } else {
      Settle(2 * node + 1, mid + 1, hi);
    }
  }
  Pull(node);
}

// From both ends upwards. What is taken on the way lies below the node that an
// end has got to, whose added bytes count for it.
ExcessTree::Range ExcessTree::RangeOf(int64_t first, int64_t last) const {
  first = std::max<int64_t>(first, 0);
  last = std::min(last, size_ - 1);
  Range left = {0, kLeast, kLeast};
  if (first > last) return left;
  Range right = left;
  const auto take = [this](int64_t node, Range* range) {
    range->over += nodes_[node].over;
    range->max_under = std::max(range->max_under, nodes_[node].max_under);
    range->max_all = std::max(range->max_all, nodes_[node].max_all);
  };
  const auto climb = [this](int64_t node, Range* range) {
    const int64_t add = nodes_[node].add;
    if (range->max_under != kLeast) range->max_under += add;
    if (range->max_all != kLeast) range->max_all += add;
  };
  int64_t l = first + leaves_;
  int64_t r = last + leaves_;
  take(l, &left);
  if (l != r) take(r, &right);
  while (l / 2 != r / 2) {
    if (l % 2 == 0) take(l + 1, &left);
    if (r % 2 == 1) take(r - 1, &right);
    l /= 2;
    r /= 2;
    climb(l, &left);
    climb(r, &right);
  }
  left.over += right.over;
  left.max_under = std::max(left.max_under, right.max_under);
  left.max_all = std::max(left.max_all, right.max_all);
  for (l /= 2; l > 0; l /= 2) climb(l, &left);
  return left;
}

ExcessTree::Summary ExcessTree::Query(int64_t first, int64_t last) const {
  const Range range = RangeOf(first, last);
  return {range.over, range.max_under};
}

int64_t ExcessTree::Max(int64_t first, int64_t last) const {
  return RangeOf(first, last).max_all;
}

}  // namespace xla::remat_plan
