#ifndef XLA_HLO_ANALYSIS_PACKING_RANGE_TREE_H_
#define XLA_HLO_ANALYSIS_PACKING_RANGE_TREE_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {

// A set of ranges, each with its rank, the position in the vector given. Finds
// the one of least rank inside a range. A k-d tree over (lo, hi): queries take
// O(√n) at worst, removals O(log n).
class RangeTree {
 public:
  explicit RangeTree(std::vector<SectionRange> ranges);

  // The least rank whose range lies within `window`, or -1.
  int LeastWithin(const SectionRange& window) const;
  // The same among ranks below `bound` for which `accept` returns true; it is
  // called for each candidate.
  int LeastWithin(const SectionRange& window, int bound,
                  absl::FunctionRef<bool(int rank)> accept) const;

  // The rank must be in the set.
  void Remove(int rank);

 private:
  struct Node {
    int begin;  // of its ranks in order_
    int end;
    int parent;
    int left = -1;  // -1: a leaf
    int right = -1;
    // Bounding box of the ranges it was built with.
    int min_lo, max_lo, min_hi, max_hi;
    int least;  // rank that is still there; kNone if none is
  };

  int Build(int begin, int end, int parent, bool split_by_lo);
  // `kTakesSubtrees`: the least rank of a subtree inside the window is taken
  // without asking `accept`.
  template <bool kTakesSubtrees, typename Accept>
  int Search(const SectionRange& window, int bound, Accept accept) const;

  std::vector<SectionRange> ranges_;
  std::vector<int> order_;    // ranks, each node's together
  std::vector<int> leaf_of_;  // node of each rank
  std::vector<char> removed_;
  std::vector<Node> nodes_;
};

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_RANGE_TREE_H_
