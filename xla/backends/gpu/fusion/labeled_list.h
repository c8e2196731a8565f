#ifndef XLA_BACKENDS_GPU_FUSION_LABELED_LIST_H_
#define XLA_BACKENDS_GPU_FUSION_LABELED_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace xla::gpu {

// A list of numbers that supports moving items and tells in O(1) which of two
// comes first.
//
// Items have ascending labels. Where no label is free between two neighbors,
// the smallest sparse enough range around them is relabeled evenly: one with
// fewer than (2 / 1.3)^i items among 2^i labels (M. Bender et al., "Two
// simplified algorithms for maintaining order in a list", ESA 2002). Amortized
// O(log n) labels per inserted item.
class LabeledList {
 public:
  using Item = int32_t;

  // 0 … items - 1, in this order.
  explicit LabeledList(Item items);

  bool IsBefore(Item a, Item b) const { return labels_[a] < labels_[b]; }
  // front() before the first one.
  Item Previous(Item item) const { return previous_[item]; }
  // A sentinel before all items; not an item itself.
  Item front() const { return front_; }

  void Remove(Item item);
  // Inserts `items`, which must have been removed, in this order right after
  // `place`, an item or front().
  void InsertAfter(absl::Span<const Item> items, Item place);
  // `item`, which must have been removed, takes the place of `old`, which
  // leaves the list.
  void Replace(Item old, Item item);

  // How many labels have been assigned in all.
  int64_t labels_given() const { return labels_given_; }

 private:
  // Labels the `count` items from `first` on with `label`, `label` + `step`, …
  void Label(Item first, int64_t count, int64_t label, int64_t step);
  // Makes room around `first` … `last`, the `count` items without labels.
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
