#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_MEMORY_TRACKER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_MEMORY_TRACKER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_instruction_list.h"

namespace xla {

// A point in a computation, which can advance or jump, and the bytes live
// there, while instructions after it (and copies before it) are added and
// changed.
//
//   Begin(a)  a is placed: its buffers live
//   End(a)    buffers whose last reader it was die
//
// Whether an item is placed, live or ended follows from positions in the list
// alone. Users of a buffer are kept in list order, so that those that have
// ended are a prefix. Begin and End are O(operands), jumps O(1); adding and
// dropping a use takes O(users) moves, that is, a memmove.
class RematMemoryTracker {
 public:
  // Buffers and list must outlive the tracker. Starts before the first item.
  RematMemoryTracker(RematBuffers* buffers, RematInstructionList* list);

  // Moves back before the first item, with the current items.
  void Restart();

  void Begin(RematItemId item);
  void End(RematItemId item);

  // At an item in progress, after the last one that has ended, or before the
  // first item.
  struct Point {
    RematItemId last_placed = kNoRematItem;
    bool in_progress = false;
  };
  const Point& point() const { return point_; }
  // The caller must know what is live there.
  void JumpTo(const Point& point, int64_t memory_usage) {
    point_ = point;
    memory_usage_ = memory_usage;
  }

  // Live bytes; between Begin and End those of operands and results.
  int64_t memory_usage() const { return memory_usage_; }
  // The same, recounted. O(buffers).
  int64_t CountLiveBytes() const;
  RematItemId in_progress() const {
    return point_.in_progress ? point_.last_placed : kNoRematItem;
  }

  bool placed(RematItemId item) const {
    return point_.last_placed != kNoRematItem && list_.contains(item) &&
           !list_.Precedes(point_.last_placed, item);
  }
  bool ended(RematItemId item) const {
    return placed(item) && !(point_.in_progress && item == point_.last_placed);
  }
  bool live(RematBufferId buffer) const;
  // Read by the instruction in progress.
  bool in_use(RematBufferId buffer) const;
  // Users that have not ended.
  int32_t unfinished(RematBufferId buffer) const;
  // The first user that is not placed; kNoRematItem if all are.
  RematItemId FirstUnplacedUser(RematBufferId buffer) const;

  // Registers an instruction that has no place in the list yet. Its uses begin
  // with AddUses, once it has one.
  absl::StatusOr<RematItemId> AddItem(HloInstruction* instruction);
  // Records a new item whose place is before the point.
  void NoteEnded(RematItemId item) {
    if (record_) events_.items.push_back(item);
  }

  // The item reads / no longer reads what its `used` says. It is unplaced, or
  // ended.
  void AddUses(RematItemId item);
  void DropUses(RematItemId item);

  // Calls of AddUses so far, which measure how much has been rewritten.
  int64_t uses_added() const { return uses_added_; }

  // Takes an item that has ended or not begun out of the list: it is not
  // placed, and reads nothing until it has a new place and AddUses. No placed
  // item may read it.
  void TakeOut(RematItemId item);

  // Buffers that have died, come to life or changed users since the last call,
  // and items that have been placed, taken out or given another neighbor since
  // then.
  struct Events {
    std::vector<RematBufferId> liveness;
    std::vector<RematBufferId> users;
    std::vector<RematItemId> items;
    void Clear() {
      liveness.clear();
      users.clear();
      items.clear();
    }
  };
  Events& events() { return events_; }
  // Off at first.
  void RecordEvents(bool on) { record_ = on; }

  // Buffers whose readers have changed, and items whose place or neighbors may
  // have changed, wherever the point is.
  struct Rewrites {
    std::vector<RematBufferId> buffers;
    std::vector<RematItemId> items;
    // Each once, in order of their numbers.
    void Sort();
    void Clear() {
      buffers.clear();
      items.clear();
    }
  };
  // Until StopRecording, which must be called before the object is destroyed.
  void RecordRewrites(Rewrites* rewrites) { rewrites_.push_back(rewrites); }
  void StopRecording(const Rewrites* rewrites);

 private:
  // It came to life or died.
  void NoteLiveness(RematBufferId buffer, bool live);
  void NoteRewrite(RematItemId item);

  RematBuffers& buffers_;
  RematInstructionList& list_;
  Point point_;
  int64_t memory_usage_ = 0;
  int64_t uses_added_ = 0;
  bool record_ = false;
  Events events_;
  std::vector<Rewrites*> rewrites_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_MEMORY_TRACKER_H_
