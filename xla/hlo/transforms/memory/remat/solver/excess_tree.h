#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_EXCESS_TREE_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_EXCESS_TREE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace xla::remat_plan {

// Bytes at each point of a line, some of them over a limit. A segment tree
// whose nodes know the least of the points over the limit and the most of the
// others: a point changes sides only when one of the two crosses the limit, so
// that each change of side costs O(log n), and everything else is O(log n) per
// call. Leaves are blocks of points, so that the tree stays in the cache.
class ExcessTree {
 public:
  struct Summary {
    int64_t over = 0;       // points over the limit
    int64_t max_under = 0;  // most bytes of the others; INT64_MIN: none
    int64_t max = 0;        // most bytes of all; INT64_MIN: none
  };

  ExcessTree(absl::Span<const int64_t> bytes, int64_t limit);

  // Adds to points [first, last]; nothing if first > last.
  void Add(int64_t first, int64_t last, int64_t bytes);
  Summary Query(int64_t first, int64_t last) const;
  // Most bytes of points [first, last]; INT64_MIN if there are none.
  int64_t Max(int64_t first, int64_t last) const;
  int64_t over() const { return nodes_[1].over; }
  int64_t max() const { return nodes_[1].max_all; }
  // For each point, and finally for the end: how many points before it exceed
  // the limit. Linear.
  std::vector<int32_t> OverBefore() const;

 private:
  static constexpr int64_t kBlock = 16;

  struct Node {
    int64_t min_over;
    int64_t max_under;
    int64_t max_all;
    int64_t over;
    int64_t add;  // of all points below, included in the three above
  };
  struct Range {
    int64_t over;
    int64_t max_under;
    int64_t max_all;
  };

  // `above`: what the nodes above this one add.
  void AddTo(int64_t node, int64_t lo, int64_t hi, int64_t first, int64_t last,
             int64_t bytes, int64_t above);
  void Pull(int64_t node);
  void PullBlock(int64_t node, int64_t above);
  void Settle(int64_t node, int64_t above);
  void Scan(int64_t first, int64_t last, int64_t above, Range* range) const;
  Range RangeOf(int64_t first, int64_t last) const;

  int64_t size_;
  int64_t leaves_ = 1;  // blocks: a power of 2
  int64_t limit_;
  std::vector<Node> nodes_;
  std::vector<int64_t> points_;  // without what nodes add
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_EXCESS_TREE_H_
