#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_CANDIDATES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_CANDIDATES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "xla/hlo/transforms/memory/remat/greedy/remat_block_prices.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_computation.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_cost_index.h"

namespace xla {

// Which block of placed instructions to take next, at each point of a walk.
//
// An index over the placed instructions, one per range of block sizes: a tree
// of minima, in which only those blocks are re-evaluated whose buffers came to
// life, died or changed readers since the last query. A query takes O(log n)
// and O(size of the block) for each such change, while a full search looks at
// all n for every pick. The tracker may advance meanwhile, but not jump.
class RematCandidates : public RematCandidateSource {
 public:
  // `limit_bytes` is what costs are relative to. `count_effort` enables
  // EffortOf.
  RematCandidates(RematComputation* state, int64_t limit_bytes,
                  bool count_effort = true);
  ~RematCandidates() override;

  std::optional<RematCandidate> Best(int32_t min_size,
                                     int32_t max_size) override;

  // How many blocks a full search would look at.
  int64_t EffortOf(int32_t min_size, int32_t max_size) const {
    return eligible_ * (max_size - min_size + 1);
  }

  void Invalidate(RematItemId item) override { changed_.push_back(item); }

 private:
  struct Range {
    int32_t min_size;
    int32_t max_size;
    RematCostIndex index;
    std::vector<RematItemId> dirty;
    std::vector<bool> is_dirty;  // per item
  };

  // The best block that begins there.
  std::optional<RematCandidate> BestAt(RematItemId first, int32_t min_size,
                                       int32_t max_size);

  void TakeEvents();
  void MarkDirty(Range& range, RematItemId item);
  void MarkAllRanges(RematItemId item);
  void NumberPlaced();
  Range& RangeFor(int32_t min_size, int32_t max_size);

  RematComputation& state_;
  RematBlockPrices prices_;
  const bool count_effort_;
  std::vector<std::unique_ptr<Range>> ranges_;
  std::vector<RematItemId> changed_;
  // Positions in the indexes: items in the order in which they were placed.
  std::vector<int32_t> position_;
  std::vector<RematItemId> item_at_;
  int64_t eligible_ = 0;
  // (seconds, item): from then on its copy to the host may fit.
  std::priority_queue<std::pair<double, RematItemId>,
                      std::vector<std::pair<double, RematItemId>>,
                      std::greater<std::pair<double, RematItemId>>>
      later_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_CANDIDATES_H_
