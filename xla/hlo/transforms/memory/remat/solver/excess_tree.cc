#include "xla/hlo/transforms/memory/remat/solver/excess_tree.h"

#include <algorithm>
#include <limits>

// A segment tree with lazy addition ("add" stays at the node and is included in
// the node's own summary, never pushed down). Besides the maximum, each node
// keeps the minimum of the points over the limit and the maximum of the points
// not over it. A range update that does not move either of the two across the
// limit leaves `over` of the whole subtree valid, so it stops at the canonical
// nodes; only if one of them crosses does Settle descend, and then only into
// subtrees that contain a crossing point. Each crossing costs O(log n), and the
// total is amortized against crossings.
//
// All summaries of a node are relative to what its ancestors add. `above`
// carries the sum of those additions down to where an absolute comparison with
// the limit is needed.

namespace xla::remat_plan {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

}  // namespace

ExcessTree::ExcessTree(absl::Span<const int64_t> bytes, int64_t limit)
    : size_(std::max<int64_t>(static_cast<int64_t>(bytes.size()), 1)),
      limit_(limit) {
  while (leaves_ * kBlock < size_) leaves_ *= 2;
  nodes_.resize(2 * leaves_);
  points_.assign(bytes.begin(), bytes.end());
  if (points_.empty()) points_.push_back(std::min<int64_t>(limit_, 0));
  for (int64_t node = 2 * leaves_ - 1; node > 0; --node) {
    nodes_[node].add = 0;
    if (node >= leaves_) {
      PullBlock(node, 0);
    } else {
      Pull(node);
    }
  }
}

// Recomputes an inner node from its children. Sentinels (no such point) must
// not be shifted by `add`.
void ExcessTree::Pull(int64_t node) {
  Node& self = nodes_[node];
  const Node& left = nodes_[2 * node];
  const Node& right = nodes_[2 * node + 1];
  self.min_over = std::min(left.min_over, right.min_over);
  self.max_under = std::max(left.max_under, right.max_under);
  self.max_all = std::max(left.max_all, right.max_all);
  if (self.min_over != kMost) self.min_over += self.add;
  if (self.max_under != kLeast) self.max_under += self.add;
  if (self.max_all != kLeast) self.max_all += self.add;
  self.over = left.over + right.over;
}

// Recomputes a leaf from its block of points, in a branch-free loop that
// compilers vectorize. Blocks past the end have no points.
void ExcessTree::PullBlock(int64_t node, int64_t above) {
  Node& self = nodes_[node];
  const int64_t begin = (node - leaves_) * kBlock;
  const int64_t end = std::min(begin + kBlock, size_);
  // The most that a point may have without being over the limit.
  const int64_t most = limit_ - above - self.add;
  int64_t min_over = kMost, max_under = kLeast, max_all = kLeast, over = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t point = points_[i];
    const bool is_over = point > most;
    over += is_over ? 1 : 0;
    min_over = std::min(min_over, is_over ? point : kMost);
    max_under = std::max(max_under, is_over ? kLeast : point);
    max_all = std::max(max_all, point);
  }
  self.min_over = min_over == kMost ? kMost : min_over + self.add;
  self.max_under = max_under == kLeast ? kLeast : max_under + self.add;
  self.max_all = max_all == kLeast ? kLeast : max_all + self.add;
  self.over = over;
}

void ExcessTree::Add(int64_t first, int64_t last, int64_t bytes) {
  last = std::min(last, size_ - 1);
  if (first > last || bytes == 0) return;
  AddTo(1, 0, leaves_ * kBlock - 1, first, last, bytes, 0);
}

void ExcessTree::AddTo(int64_t node, int64_t lo, int64_t hi, int64_t first,
                       int64_t last, int64_t bytes, int64_t above) {
  Node& self = nodes_[node];
  if (first <= lo && hi <= last) {
    if (self.min_over != kMost) self.min_over += bytes;
    if (self.max_under != kLeast) self.max_under += bytes;
    if (self.max_all != kLeast) self.max_all += bytes;
    self.add += bytes;
    Settle(node, above);
    return;
  }
  if (node >= leaves_) {
    const int64_t end = std::min(hi, last);
    for (int64_t i = std::max(lo, first); i <= end; ++i) points_[i] += bytes;
    PullBlock(node, above);
    return;
  }
  const int64_t mid = (lo + hi) / 2;
  above += self.add;
  if (first <= mid) AddTo(2 * node, lo, mid, first, last, bytes, above);
  if (last > mid) AddTo(2 * node + 1, mid + 1, hi, first, last, bytes, above);
  Pull(node);
}

// Moves points that have crossed the limit to the other side.
void ExcessTree::Settle(int64_t node, int64_t above) {
  Node& self = nodes_[node];
  const bool down = self.min_over != kMost && self.min_over + above <= limit_;
  const bool up = self.max_under != kLeast && self.max_under + above > limit_;
  if (!down && !up) return;
  if (node >= leaves_) return PullBlock(node, above);
  Settle(2 * node, above + self.add);
  Settle(2 * node + 1, above + self.add);
  Pull(node);
}

// Scans points of one block.
void ExcessTree::Scan(int64_t first, int64_t last, int64_t above,
                      Range* range) const {
  const int64_t most = limit_ - above;
  int64_t over = 0, max_under = kLeast, max_all = kLeast;
  for (int64_t i = first; i <= last; ++i) {
    const int64_t point = points_[i];
    over += point > most ? 1 : 0;
    max_under = std::max(max_under, point > most ? kLeast : point);
    max_all = std::max(max_all, point);
  }
  range->over += over;
  if (max_under != kLeast) {
    range->max_under = std::max(range->max_under, max_under + above);
  }
  if (max_all != kLeast) {
    range->max_all = std::max(range->max_all, max_all + above);
  }
}

// Bottom-up query from the blocks at both ends. Summaries taken on the way lie
// below the current node of their end, so that node's `add` still has to be
// applied to them (climb); partial blocks at the ends are scanned point by
// point with the sum of all additions above them.
ExcessTree::Range ExcessTree::RangeOf(int64_t first, int64_t last) const {
  last = std::min(last, size_ - 1);
  Range left = {0, kLeast, kLeast};
  if (first > last) return left;
  Range right = left;
  const auto take = [this](int64_t node, Range* range) {
    range->over += nodes_[node].over;
    range->max_under = std::max(range->max_under, nodes_[node].max_under);
    range->max_all = std::max(range->max_all, nodes_[node].max_all);
  };
  const auto climb = [](int64_t add, Range* range) {
    if (range->max_under != kLeast) range->max_under += add;
    if (range->max_all != kLeast) range->max_all += add;
  };
  const int64_t first_block = first / kBlock;
  const int64_t last_block = last / kBlock;
  int64_t l = first_block + leaves_;
  int64_t r = last_block + leaves_;
  // The sum of the pending additions of all nodes above the two ends.
  int64_t above_first = nodes_[l].add;
  int64_t above_last = nodes_[r].add;
  while (l / 2 != r / 2) {
    if (l % 2 == 0) take(l + 1, &left);
    if (r % 2 == 1) take(r - 1, &right);
    l /= 2;
    r /= 2;
    climb(nodes_[l].add, &left);
    climb(nodes_[r].add, &right);
    above_first += nodes_[l].add;
    above_last += nodes_[r].add;
  }
  left.over += right.over;
  left.max_under = std::max(left.max_under, right.max_under);
  left.max_all = std::max(left.max_all, right.max_all);
  int64_t above = 0;
  for (l /= 2; l > 0; l /= 2) above += nodes_[l].add;
  climb(above, &left);
  if (first_block == last_block) {
    Scan(first, last, above_first + above, &left);
    return left;
  }
  Scan(first, (first_block + 1) * kBlock - 1, above_first + above, &left);
  Scan(last_block * kBlock, last, above_last + above, &left);
  return left;
}

ExcessTree::Summary ExcessTree::Query(int64_t first, int64_t last) const {
  const Range range = RangeOf(first, last);
  return {range.over, range.max_under, range.max_all};
}

int64_t ExcessTree::Max(int64_t first, int64_t last) const {
  return RangeOf(first, last).max_all;
}

// Prefix counts. The additions above a block are summed once per block, O(n /
// kBlock log n) in all.
std::vector<int32_t> ExcessTree::OverBefore() const {
  std::vector<int32_t> before(size_ + 1, 0);
  for (int64_t begin = 0; begin < size_; begin += kBlock) {
    int64_t above = 0;
    for (int64_t node = begin / kBlock + leaves_; node > 0; node /= 2) {
      above += nodes_[node].add;
    }
    const int64_t end = std::min(begin + kBlock, size_);
    for (int64_t i = begin; i < end; ++i) {
      before[i + 1] = before[i] + (points_[i] + above > limit_ ? 1 : 0);
    }
  }
  return before;
}

}  // namespace xla::remat_plan
