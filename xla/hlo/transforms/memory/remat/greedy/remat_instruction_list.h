#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_INSTRUCTION_LIST_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_INSTRUCTION_LIST_H_

#include <cstdint>
#include <vector>

#include "xla/hlo/memory/accounting/remat_buffers.h"

namespace xla {

// The order in which items run: a list that tells in O(1) which of two comes
// first.
//
//   0 1 2 3; InsertBefore(4, 2)  →  0 1 4 2 3,  Precedes(1, 4), Precedes(4, 2)
//
// Each item has a label between those of its neighbors; if no label is free,
// all items are relabeled. Insertion is O(1) apart from that, which happens
// only after at least 20 insertions at one place.
class RematInstructionList {
 public:
  // Holds items 0 … count - 1.
  explicit RematInstructionList(int32_t count);

  int32_t size() const { return size_; }
  RematItemId first() const { return first_; }
  RematItemId last() const { return last_; }
  // kNoRematItem at the ends.
  RematItemId next(RematItemId item) const { return links_[item].next; }
  RematItemId prev(RematItemId item) const { return links_[item].prev; }
  bool contains(RematItemId item) const {
    return item < static_cast<RematItemId>(links_.size()) &&
           links_[item].listed;
  }

  // Both must be in the list.
  bool Precedes(RematItemId a, RematItemId b) const {
    return links_[a].label < links_[b].label;
  }

  // `item` must not be in the list.
  void InsertBefore(RematItemId item, RematItemId before);
  void InsertAfter(RematItemId item, RematItemId after);
  void Remove(RematItemId item);

 private:
  struct Link {
    RematItemId prev = kNoRematItem;
    RematItemId next = kNoRematItem;
    uint64_t label = 0;
    bool listed = false;
  };

  void Insert(RematItemId item, RematItemId prev, RematItemId next);
  void Relabel();

  std::vector<Link> links_;
  RematItemId first_ = kNoRematItem;
  RematItemId last_ = kNoRematItem;
  int32_t size_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_INSTRUCTION_LIST_H_
