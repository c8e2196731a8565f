#include "xla/hlo/transforms/memory/remat/greedy/remat_instruction_list.h"

#include "absl/log/check.h"

namespace xla {
namespace {

constexpr uint64_t kGap = uint64_t{1} << 32;

}  // namespace

RematInstructionList::RematInstructionList(int32_t count) : size_(count) {
  links_.resize(count);
  for (RematItemId item = 0; item < count; ++item) {
    links_[item].prev = item - 1;
    links_[item].next = item + 1 < count ? item + 1 : kNoRematItem;
    links_[item].listed = true;
  }
  first_ = count > 0 ? 0 : kNoRematItem;
  last_ = count - 1;
  Relabel();
}

void RematInstructionList::Relabel() {
  uint64_t label = kGap;
  for (RematItemId item = first_; item != kNoRematItem;
       item = links_[item].next) {
    links_[item].label = label;
    label += kGap;
  }
}

// A new label lies in the middle of its neighbors': each insertion at one place
// halves what is left of a gap of 2^32 there. Where nothing is left, or at the
// end of 64 bits, all labels are given anew, which is O(items), but rare enough
// for the few clones that a pass adds.
void RematInstructionList::Insert(RematItemId item, RematItemId prev,
                                  RematItemId next) {
  if (item >= static_cast<RematItemId>(links_.size())) links_.resize(item + 1);
  Link& link = links_[item];
  CHECK(!link.listed);
  link.prev = prev;
  link.next = next;
  link.listed = true;
  (prev == kNoRematItem ? first_ : links_[prev].next) = item;
  (next == kNoRematItem ? last_ : links_[next].prev) = item;
  ++size_;
  const uint64_t low = prev == kNoRematItem ? 0 : links_[prev].label;
  const uint64_t high =
      next == kNoRematItem ? low + 2 * kGap : links_[next].label;
  link.label = low + (high - low) / 2;
  if (link.label == low || link.label >= ~uint64_t{0} - 4 * kGap) Relabel();
}

void RematInstructionList::InsertBefore(RematItemId item, RematItemId before) {
  Insert(item, links_[before].prev, before);
}

void RematInstructionList::InsertAfter(RematItemId item, RematItemId after) {
  Insert(item, after, links_[after].next);
}

void RematInstructionList::Remove(RematItemId item) {
  Link& link = links_[item];
  CHECK(link.listed);
  (link.prev == kNoRematItem ? first_ : links_[link.prev].next) = link.next;
  (link.next == kNoRematItem ? last_ : links_[link.next].prev) = link.prev;
  link.listed = false;
  --size_;
}

}  // namespace xla
