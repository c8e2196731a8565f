#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_REMAT_MEMORY_TRACKER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_REMAT_MEMORY_TRACKER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_buffers.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_instruction_list.h"

namespace xla {

// Walks through a computation, forth and back, and knows the bytes that are
// live, while instructions after (and copies before) the point reached come and
// change.
//
//   Begin(a)  a is placed: its buffers live
//   End(a)    buffers whose last reader it was die
//
// Users of a buffer are kept in the order of the list, so that those that have
// ended are a prefix. Begin and End are O(operands); uses are added and dropped
// in O(users) moves, that is a memmove.
class RematMemoryTracker {
 public:
  // Buffers and list must outlive the tracker. Starts before the first item.
  RematMemoryTracker(RematBuffers* buffers, RematInstructionList* list);

  // Back before the first item, with the items there are now.
  void Restart();

  void Begin(RematItemId item);
  void End(RematItemId item);
  // From wherever the point is to where `item` has begun. O(items between).
  void MoveTo(RematItemId item);

  // Live bytes; between Begin and End those of operands and results.
  int64_t memory_usage() const { return memory_usage_; }
  RematItemId in_progress() const { return in_progress_; }

  bool placed(RematItemId item) const { return placed_[item]; }
  bool live(RematBufferId buffer) const { return state_[buffer].live; }
  // Read by the instruction in progress.
  bool in_use(RematBufferId buffer) const {
    return state_[buffer].in_use == in_progress_ &&
           in_progress_ != kNoRematItem;
  }
  // Users that have not ended.
  int32_t unfinished(RematBufferId buffer) const {
    return state_[buffer].unfinished;
  }
  // The first user that is not placed; kNoRematItem if all are.
  RematItemId FirstUnplacedUser(RematBufferId buffer) const;
  // The last user that is placed; kNoRematItem if none is.
  RematItemId LastPlacedUser(RematBufferId buffer) const;

  // Takes in an instruction that is in the list already (AddToList first).
  // `placed` items count as ended. Its uses begin with AddUses.
  absl::StatusOr<RematItemId> AddItem(HloInstruction* instruction);
  void MarkEnded(RematItemId item);

  // The item reads / no longer reads what its `used` says. Unplaced, or ended.
  void AddUses(RematItemId item);
  void DropUses(RematItemId item);

  // Takes an item, ended or not begun, out of the list: it is not placed, and
  // reads nothing until it has a new place and AddUses. Nobody that is placed
  // may read it.
  void TakeOut(RematItemId item);

  // Buffers that have died, come to life or changed users since the last call,
  // and items that have been placed or taken back since then, or have another
  // neighbor.
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

  // Buffers whose readers have changed, and items that may have got, changed or
  // lost their place, wherever the point is.
  struct Rewrites {
    std::vector<RematBufferId> buffers;
    std::vector<RematItemId> items;
  };
  // Null at first: nobody wants to know.
  void RecordRewrites(Rewrites* rewrites) { rewrites_ = rewrites; }

 private:
  struct State {
    int32_t unfinished = 0;
    bool live = false;
    RematItemId in_use = kNoRematItem;
  };

  void SetLive(RematBufferId buffer, bool live);
  // What Begin and End did is undone.
  void TakeBackBegin(RematItemId item);
  void TakeBackEnd(RematItemId item);
  void NoteRewrite(RematItemId item);

  RematBuffers& buffers_;
  RematInstructionList& list_;
  std::vector<State> state_;  // per buffer
  std::vector<bool> placed_;  // per item
  RematItemId in_progress_ = kNoRematItem;
  // If none is in progress: the last one that has ended.
  RematItemId last_ended_ = kNoRematItem;
  int64_t memory_usage_ = 0;
  bool record_ = false;
  Events events_;
  Rewrites* rewrites_ = nullptr;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_REMAT_MEMORY_TRACKER_H_
