#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_BLOCK_PRICES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_BLOCK_PRICES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "xla/hlo/transforms/memory/remat/greedy/remat_computation.h"

namespace xla {

enum class RematStrategy { kRecompute, kCompress, kHostOffload };

// Consecutive instructions that leave memory together.
struct RematCandidate {
  RematItemId first = 0;
  int32_t size = 0;
  RematStrategy strategy = RematStrategy::kRecompute;
  int64_t cost = 0;
};

// Where the blocks to take come from: the one that frees most at the current
// point.
//
//   cost = limit / bytes freed now (integers), 0 if nothing has read it yet
//   bytes freed = live bytes that the block defines
//                 - dead ones it would read again
//
// The least cost wins, among equal costs the first in the schedule, then the
// smaller block, then compress, host offload, recompute. Never in a block:
// operands of the instruction in progress, values that leave the computation or
// are read indirectly, elements of elements, denylisted instructions, control
// predecessors of placed instructions, and links of asynchronous chains that
// have been read outside of the block.
class RematCandidateSource {
 public:
  virtual ~RematCandidateSource() = default;
  // nullopt if nothing frees memory.
  virtual std::optional<RematCandidate> Best(int32_t min_size,
                                             int32_t max_size) = 0;
  // The cost of an item has changed in a way that buffers do not show.
  virtual void Invalidate(RematItemId item) = 0;
};

// The entry for blocks of these sizes, and whether it is new: then only its
// sizes are set. Few different sizes are requested.
template <typename Range>
std::pair<Range*, bool> FindOrAddRange(
    std::vector<std::unique_ptr<Range>>* ranges, int32_t min_size,
    int32_t max_size) {
  for (const auto& range : *ranges) {
    if (range->min_size == min_size && range->max_size == max_size) {
      return {range.get(), false};
    }
  }
  ranges->push_back(std::make_unique<Range>());
  ranges->back()->min_size = min_size;
  ranges->back()->max_size = max_size;
  return {ranges->back().get(), true};
}

// Costs of single blocks at the tracker's current position.
class RematBlockPrices {
 public:
  // `limit_bytes` is what costs are relative to.
  RematBlockPrices(RematComputation* state, int64_t limit_bytes)
      : state_(*state), limit_bytes_(limit_bytes) {}

  // The best block that begins there. If a copy to the host may fit later,
  // `ready_seconds` is set to that time. O(operands and outputs of the block).
  std::optional<RematCandidate> BestAt(RematItemId first, int32_t min_size,
                                       int32_t max_size, double* ready_seconds);

 private:
  bool Eligible(RematItemId item);
  // Whether one of its buffers rules it out, and with it every block that
  // contains it.
  bool Forbidden(RematItemId item);
  bool HasPlacedUser(RematItemId item);
  bool DefinesLive(RematItemId item) const;
  // Whether all placed readers of `item` are at or before `last`.
  bool IsReadUpTo(RematItemId item, RematItemId last) const;
  void ConsiderSingle(RematItemId item, std::optional<RematCandidate>& best,
                      double* ready_seconds);
  int64_t BytesFreed(RematItemId item, RematItemId first);

  RematComputation& state_;
  const int64_t limit_bytes_;
  // Scratch for the block that BestAt prices: buffers it would revive, and
  // instructions that it only moves.
  std::vector<RematBufferId> revived_;
  std::vector<RematItemId> moves_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_BLOCK_PRICES_H_
