#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_COST_INDEX_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_COST_INDEX_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace xla {

// A row of costs, most of them absent, that returns the least one, the first of
// several equal ones.
//
//   Set(3, 7), Set(5, 2), Set(9, 2)  →  Best() = 5
//
// A tree of minima: Set is O(log n), Best is O(log n), growing O(1) amortized.
class RematCostIndex {
 public:
  static constexpr int64_t kAbsent = std::numeric_limits<int64_t>::max();

  void Set(int32_t position, int64_t cost);
  int64_t Get(int32_t position) const {
    return position < leaves_ ? tree_[leaves_ + position] : kAbsent;
  }

  // kAbsent if there is none.
  int64_t BestCost() const { return leaves_ == 0 ? kAbsent : tree_[1]; }
  // There must be one.
  int32_t Best() const;

 private:
  void Grow(int32_t leaves);

  int32_t leaves_ = 0;  // a power of 2
  std::vector<int64_t> tree_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_COST_INDEX_H_
