#include "xla/hlo/analysis/packing/range_tree.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "xla/hlo/analysis/packing/packing_items.h"

// A k-d tree over the points (lo, hi), split alternately by either coordinate.
// Each node knows the bounding box of its ranges and the least rank that is
// still present. A query looks for the least rank within a quadrant (lo >=
// window.lo and hi <= window.hi) and prunes subtrees by box and by the best
// rank found so far.

namespace xla::packing {
namespace {

constexpr int kNone = std::numeric_limits<int>::max();
constexpr int kLeafSize = 8;
constexpr int kMaxDepth = 64;  // halves, so that it is never reached

}  // namespace

RangeTree::RangeTree(std::vector<SectionRange> ranges)
    : ranges_(std::move(ranges)),
      order_(ranges_.size()),
      leaf_of_(ranges_.size()),
      removed_(ranges_.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  if (!ranges_.empty()) Build(0, ranges_.size(), -1, /*split_by_lo=*/true);
}

int RangeTree::Build(int begin, int end, int parent, bool split_by_lo) {
  const int index = nodes_.size();
  Node node = {};
  node.begin = begin;
  node.end = end;
  node.parent = parent;
  node.left = node.right = -1;
  node.least = kNone;
  node.min_lo = node.min_hi = kNone;
  node.max_lo = node.max_hi = -1;
  for (int o = begin; o < end; ++o) {
    const int rank = order_[o];
    node.min_lo = std::min(node.min_lo, ranges_[rank].lo);
    node.max_lo = std::max(node.max_lo, ranges_[rank].lo);
    node.min_hi = std::min(node.min_hi, ranges_[rank].hi);
    node.max_hi = std::max(node.max_hi, ranges_[rank].hi);
    node.least = std::min(node.least, rank);
    leaf_of_[rank] = index;
  }
  nodes_.push_back(node);
  if (end - begin <= kLeafSize) return index;
  const int middle = (begin + end) / 2;
  std::nth_element(
      order_.begin() + begin, order_.begin() + middle, order_.begin() + end,
      [&](int a, int b) {
        const int key_a = split_by_lo ? ranges_[a].lo : ranges_[a].hi;
        const int key_b = split_by_lo ? ranges_[b].lo : ranges_[b].hi;
        return key_a != key_b ? key_a < key_b : a < b;
      });
  const int left = Build(begin, middle, index, !split_by_lo);
  const int right = Build(middle, end, index, !split_by_lo);
  nodes_[index].left = left;
  nodes_[index].right = right;
  return index;
}

template <bool kTakesSubtrees, typename Accept>
int RangeTree::Search(const SectionRange& window, int bound,
                      Accept accept) const {
  if (nodes_.empty()) return -1;
  int best = bound;
  int stack[2 * kMaxDepth];
  int size = 0;
  stack[size++] = 0;
  while (size > 0) {
    const Node& node = nodes_[stack[--size]];
    if (node.least >= best || node.max_lo < window.lo ||
        node.min_hi > window.hi) {
      continue;
    }
    if (kTakesSubtrees && node.min_lo >= window.lo &&
        node.max_hi <= window.hi) {
      best = node.least;
    } else if (node.left < 0) {
      for (int o = node.begin; o < node.end; ++o) {
        const int rank = order_[o];
        if (rank < best && !removed_[rank] && ranges_[rank].lo >= window.lo &&
            ranges_[rank].hi <= window.hi && accept(rank)) {
          best = rank;
        }
      }
    } else {
      const bool left_first =
          nodes_[node.left].least < nodes_[node.right].least;
      stack[size++] = left_first ? node.right : node.left;
      stack[size++] = left_first ? node.left : node.right;
    }
  }
  return best == bound ? -1 : best;
}

int RangeTree::LeastWithin(const SectionRange& window) const {
  return Search<true>(window, kNone, [](int) { return true; });
}

// With a predicate a subtree that lies entirely in the window cannot be decided
// by its least rank alone, so the search goes down to the leaves.
int RangeTree::LeastWithin(const SectionRange& window, int bound,
                           absl::FunctionRef<bool(int rank)> accept) const {
  return Search<false>(window, bound, accept);
}

// Repairs the least rank on the path to the root.
void RangeTree::Remove(int rank) {
  removed_[rank] = 1;
  for (int index = leaf_of_[rank]; index >= 0; index = nodes_[index].parent) {
    Node& node = nodes_[index];
    if (node.least != rank) continue;
    node.least = kNone;
    if (node.left >= 0) {
      node.least = std::min(nodes_[node.left].least, nodes_[node.right].least);
      continue;
    }
    for (int o = node.begin; o < node.end; ++o) {
      if (!removed_[order_[o]]) node.least = std::min(node.least, order_[o]);
    }
  }
}

}  // namespace xla::packing
