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
  int64_t leaves = 1;
  while (leaves < size_) leaves *= 2;
  nodes_.resize(2 * leaves);
  const std::vector<int64_t> one_point = {0};
  Build(1, 0, size_ - 1, bytes.empty() ? absl::MakeSpan(one_point) : bytes);
}

int64_t ExcessTree::max() const { return nodes_[1].max_all; }

void ExcessTree::Build(int64_t node, int64_t lo, int64_t hi,
                       absl::Span<const int64_t> bytes) {
  nodes_[node].add = 0;
  if (lo == hi) {
    const bool over = bytes[lo] > limit_;
    nodes_[node].min_over = over ? bytes[lo] : kMost;
    nodes_[node].max_under = over ? kLeast : bytes[lo];
    nodes_[node].max_all = bytes[lo];
    nodes_[node].over = over ? 1 : 0;
    return;
  }
  const int64_t mid = (lo + hi) / 2;
  Build(2 * node, lo, mid, bytes);
  Build(2 * node + 1, mid + 1, hi, bytes);
  Pull(node);
}

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
  AddTo(1, 0, size_ - 1, first, last, bytes);
  if (nodes_[1].min_over <= limit_ || nodes_[1].max_under > limit_) {
    Settle(1, 0, size_ - 1);
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

void ExcessTree::QueryIn(int64_t node, int64_t lo, int64_t hi, int64_t first,
                         int64_t last, int64_t add, Summary* summary,
                         int64_t* max) const {
  const Node& self = nodes_[node];
  if (first <= lo && hi <= last) {
    summary->over += self.over;
    if (self.max_under != kLeast) {
      summary->max_under = std::max(summary->max_under, self.max_under + add);
    }
    *max = std::max(*max, self.max_all + add);
    return;
  }
  const int64_t mid = (lo + hi) / 2;
  add += self.add;
  if (first <= mid) QueryIn(2 * node, lo, mid, first, last, add, summary, max);
  if (last > mid) {
    QueryIn(2 * node + 1, mid + 1, hi, first, last, add, summary, max);
  }
}

ExcessTree::Summary ExcessTree::Query(int64_t first, int64_t last) const {
  Summary summary;
  summary.max_under = kLeast;
  int64_t max = kLeast;
  first = std::max<int64_t>(first, 0);
  last = std::min(last, size_ - 1);
  if (first <= last) {
    QueryIn(1, 0, size_ - 1, first, last, 0, &summary, &max);
  }
  return summary;
}

int64_t ExcessTree::Max(int64_t first, int64_t last) const {
  Summary summary;
  summary.max_under = kLeast;
  int64_t max = kLeast;
  first = std::max<int64_t>(first, 0);
  last = std::min(last, size_ - 1);
  if (first <= last) {
    QueryIn(1, 0, size_ - 1, first, last, 0, &summary, &max);
  }
  return max;
}

}  // namespace xla::remat_plan
