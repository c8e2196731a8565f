#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_PEAK_CANDIDATES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_PEAK_CANDIDATES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/btree_set.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_block_prices.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_computation.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_memory_tracker.h"

namespace xla {

// Which block to take next, at points visited in any order.
//
//   a = …; b = f(a) [last reader of a]; c = g(b); …; z = h(b)
//   b is worth its bytes - a's from c to z: one piece of time
//
// The value of a block changes where one of its buffers is read for the first
// or last time, or one of its operands' dies. Between these points it is a
// piece with a constant cost. A tree over the initial instructions holds the
// pieces, each in the O(log n) nodes that make it up; the nodes on the path to
// a point have all pieces there, the cheapest first. New instructions belong to
// the slot of the one before them, so that pieces may seem longer than they
// are, and operands of the instruction in progress are in pieces, too: a block
// is repriced at the point itself before it is taken.
//
// Building takes O(pieces log² n); a query O(log² n) for each piece of a block
// that has changed since the last one, and O(log n) for each one looked at.
// Copies to the host, whose value depends on more than buffers, are not
// included.
class RematPeakCandidates : public RematCandidateSource {
 public:
  // `limit_bytes` is what costs are relative to.
  RematPeakCandidates(RematComputation* state, int64_t limit_bytes);
  ~RematPeakCandidates() override;
  RematPeakCandidates(const RematPeakCandidates&) = delete;
  RematPeakCandidates& operator=(const RematPeakCandidates&) = delete;

  // At the instruction in progress.
  std::optional<RematCandidate> Best(int32_t min_size,
                                     int32_t max_size) override;
  void Invalidate(RematItemId item) override { changed_.push_back(item); }

 private:
  // The cheaper one comes first; of equal ones, the one that runs first.
  struct Entry {
    int64_t cost;
    int32_t slot;
    RematItemId item;
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.cost != b.cost) return a.cost < b.cost;
      return a.slot != b.slot ? a.slot < b.slot : a.item < b.item;
    }
  };
  // Values of the blocks that begin at an item, by slot.
  struct Piece {
    int32_t from = 0;
    int32_t to = 0;
    Entry entry;
  };
  using Node = absl::btree_set<Entry>;
  struct Range {
    int32_t min_size;
    int32_t max_size;
    std::vector<Node> nodes;
    std::vector<std::vector<Piece>> pieces;  // per item
    std::vector<RematItemId> dirty;
    std::vector<bool> is_dirty;  // per item
  };
  // The last reader of a buffer, and where it stood.
  struct End {
    RematItemId item = kNoRematItem;
    int32_t slot = -1;
  };

  void NumberSlots();
  void AssignSlot(RematItemId item);
  End EndOf(RematBufferId buffer) const;
  void TakeRewrites();
  void MarkDirty(Range& range, RematItemId item);
  Range& RangeFor(int32_t min_size, int32_t max_size);

  void Update(Range& range, RematItemId item);
  // The points at which the value of a block that begins there changes.
  void CollectPoints(RematItemId first, int32_t max_size);
  void AddPointsOf(RematItemId item, bool in_block);
  template <typename Fn>
  static void ForEachNode(Range& range, const Piece& piece, const Fn& fn);

  RematComputation& state_;
  RematBlockPrices prices_;
  std::vector<std::unique_ptr<Range>> ranges_;
  RematMemoryTracker::Rewrites rewrites_;
  std::vector<RematItemId> changed_;
  // Slots of the tree; they never decrease along the list.
  int32_t slots_ = 0;
  std::vector<int32_t> slot_;  // per item
  std::vector<End> ends_;      // per buffer
  std::vector<RematItemId> points_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_PEAK_CANDIDATES_H_
