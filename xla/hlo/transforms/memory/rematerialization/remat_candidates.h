#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_REMAT_CANDIDATES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_REMAT_CANDIDATES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "xla/hlo/transforms/memory/rematerialization/remat_computation.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_cost_index.h"

namespace xla {

enum class RematStrategy { kRecompute, kCompress, kHostOffload };

// Instructions in a row that leave memory together.
struct RematCandidate {
  RematItemId first = 0;
  int32_t size = 0;
  RematStrategy strategy = RematStrategy::kRecompute;
  int64_t cost = 0;
};

// Which block of placed instructions to take next: the one that frees most.
//
//   cost = limit / bytes freed now (integers), 0 if nobody has read it yet
//   bytes freed = live bytes that the block defines
//                 - dead ones it would read again
//
// The least cost wins, on equal costs the first in the schedule, then the
// smaller block, then compress, host offload, recompute. Never in a block: what
// the instruction in progress reads, what leaves the computation or is read
// indirectly, elements of elements, denylisted instructions, those that a
// placed instruction must follow by a control dependency; links of asynchronous
// chains that somebody outside of the block has read.
//
// An index over the placed instructions, one per range of block sizes: a tree
// of minima, in which only those blocks are looked at again whose buffers came
// to life, died or changed readers since the last question. A question is
// O(log n) and O(size of the block) for each such change, while every pick of a
// full search looks at all n. The tracker may go forth and back meanwhile, but
// for hosts, whose copies wait for time to pass; links of asynchronous chains
// must keep their places.
class RematCandidates {
 public:
  // `limit_bytes` is what costs are relative to. With `count_effort` EffortOf
  // can be asked.
  RematCandidates(RematComputation* state, int64_t limit_bytes,
                  bool count_effort = true);

  // Nothing frees memory: nullopt.
  std::optional<RematCandidate> Best(int32_t min_size, int32_t max_size);

  // How many blocks a full search would look at.
  int64_t EffortOf(int32_t min_size, int32_t max_size) const {
    return eligible_ * (max_size - min_size + 1);
  }

  // What an item is worth has changed in a way that buffers do not show.
  void Invalidate(RematItemId item) { changed_.push_back(item); }

 private:
  struct Range {
    int32_t min_size;
    int32_t max_size;
    RematCostIndex index;
    std::vector<RematItemId> dirty;
    std::vector<bool> is_dirty;  // per item
  };

  bool Eligible(RematItemId item);
  // Whether one of its buffers rules it out, with all that it is part of.
  bool Forbidden(RematItemId item);
  bool HasPlacedUser(RematItemId item);
  bool DefinesLive(RematItemId item) const;
  // Whether all that is placed and has `item` as operand lies before or at
  // `last`.
  bool IsReadUpTo(RematItemId item, RematItemId last) const;
  // The best block that begins there.
  std::optional<RematCandidate> BestAt(RematItemId first, int32_t min_size,
                                       int32_t max_size);
  void ConsiderSingle(RematItemId item, std::optional<RematCandidate>& best);
  int64_t BytesFreed(RematItemId item, RematItemId first);

  void TakeEvents();
  void MarkDirty(Range& range, RematItemId item);
  void MarkAllRanges(RematItemId item);
  void NumberPlaced();
  Range& RangeFor(int32_t min_size, int32_t max_size);

  RematComputation& state_;
  const int64_t limit_bytes_;
  const bool count_effort_;
  std::vector<std::unique_ptr<Range>> ranges_;
  std::vector<RematItemId> changed_;
  // Positions in the indexes: items in the order in which they were placed.
  std::vector<int32_t> position_;
  std::vector<RematItemId> item_at_;
  int64_t eligible_ = 0;
  // Of the block that BestAt looks at: buffers that would be read again, and
  // instructions that only move.
  std::vector<RematBufferId> revived_;
  std::vector<RematItemId> moves_;
  // (seconds, item): from then on its copy to the host may fit.
  std::priority_queue<std::pair<double, RematItemId>,
                      std::vector<std::pair<double, RematItemId>>,
                      std::greater<std::pair<double, RematItemId>>>
      later_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_REMAT_CANDIDATES_H_
