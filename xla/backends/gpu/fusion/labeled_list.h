#ifndef XLA_BACKENDS_GPU_FUSION_LABELED_LIST_H_
#define XLA_BACKENDS_GPU_FUSION_LABELED_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace xla::gpu {

// A list of numbers in which items move, and that tells in O(1) which of two
// comes first.
//
// Items have ascending labels. Where there is no room left between two of them,
// the smallest surroundings that are sparse enough get new labels, evenly: less
// than (2 / 1.3)^i items among 2^i labels (M. Bender et al., "Two simplified
// algorithms for maintaining order in a list", ESA 2002). Amortized O(log n)
// labels per item that is put anywhere.
class LabeledList {
 public:
  using Item = int32_t;

  // 0 … items - 1, in this order.
  explicit LabeledList(Item items);

  bool IsBefore(Item a, Item b) const { return labels_[a] < labels_[b]; }
  // front() before the first one.
  Item Previous(Item item) const { return previous_[item]; }
  // Stands before all items and is none.
  Item front() const { return front_; }

  void Remove(Item item);
  // Items that have been removed, in their order, to right after `place`, an
  // item or front().
  void InsertAfter(absl::Span<const Item> items, Item place);
  // `item`, which has been removed, takes the place of `old`, which goes.
  void Replace(Item old, Item item);

  // How often an item has got a label.
  int64_t labels_given() const { return labels_given_; }

 private:
  // Gives labels to the `count` items from `first` on, as multiples of `step`
  // from `label` on.
  void Label(Item first, int64_t count, int64_t label, int64_t step);
  // Makes room around `first` … `last`, `count` items without labels.
  void LabelSurroundings(Item first, Item last, int64_t count);

  // A ring of the items and front_.
  std::vector<Item> next_;
  std::vector<Item> previous_;
  std::vector<int64_t> labels_;  // front_: 0
  Item front_;
  int64_t labels_given_ = 0;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_LABELED_LIST_H_
