#include "xla/hlo/analysis/packing/occupancy_tree.h"

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "xla/hlo/analysis/packing/packing_items.h"

// Segment tree over time whose nodes hold sorted, disjoint extents of memory.
// during_all has what is taken during the node's whole time range and is
// inherited by all descendants; during_some has what is taken at any time
// inside. A query unites during_all along the way down and during_some of the
// canonical nodes.

namespace xla::packing {

OccupancyTree::OccupancyTree(int num_sections) {
  while (size_ < num_sections) size_ *= 2;
  nodes_.resize(2 * static_cast<int64_t>(size_));
}

// Inserts and coalesces: extents that overlap or touch the new one become part
// of it, so the list stays sorted and disjoint.
void OccupancyTree::Insert(const Extent& extent, Extents& extents) {
  // The first that ends at or behind the begin; those that begin at or before
  // the end become one with it.
  auto first = std::lower_bound(
      extents.begin(), extents.end(), extent.begin,
      [](const Extent& a, int64_t begin) { return a.end < begin; });
  if (first == extents.end() || first->begin > extent.end) {
    extents.insert(first, extent);
    return;
  }
  first->begin = std::min(first->begin, extent.begin);
  auto last = first;
  while (last + 1 != extents.end() && (last + 1)->begin <= extent.end) ++last;
  first->end = std::max(last->end, extent.end);
  extents.erase(first + 1, last + 1);
}

void OccupancyTree::Add(int node, int begin, int end, const SectionRange& range,
                        const Extent& extent) {
  Insert(extent, nodes_[node].during_some);
  if (range.lo <= begin && end <= range.hi) {
    Insert(extent, nodes_[node].during_all);
    return;
  }
  const int middle = (begin + end) / 2;
  if (range.lo < middle) Add(2 * node, begin, middle, range, extent);
  if (range.hi > middle) Add(2 * node + 1, middle, end, range, extent);
}

void OccupancyTree::Add(const SectionRange& range, const Extent& extent) {
  Add(1, 0, size_, range, extent);
}

// Merges two sorted lists of disjoint extents into taken_; linear.
void OccupancyTree::Unite(const Extents& extents) {
  if (extents.empty()) return;
  if (taken_.empty()) {
    taken_ = extents;
    return;
  }
  united_.clear();
  auto a = taken_.begin();
  auto b = extents.begin();
  while (a != taken_.end() || b != extents.end()) {
    const bool from_a =
        b == extents.end() || (a != taken_.end() && a->begin <= b->begin);
    const Extent next = from_a ? *a++ : *b++;
    if (!united_.empty() && next.begin <= united_.back().end) {
      united_.back().end = std::max(united_.back().end, next.end);
    } else {
      united_.push_back(next);
    }
  }
  taken_.swap(united_);
}

void OccupancyTree::Collect(int node, int begin, int end,
                            const SectionRange& range) {
  if (nodes_[node].during_some.empty()) return;
  if (range.lo <= begin && end <= range.hi) {
    Unite(nodes_[node].during_some);
    return;
  }
  Unite(nodes_[node].during_all);
  const int middle = (begin + end) / 2;
  if (range.lo < middle) Collect(2 * node, begin, middle, range);
  if (range.hi > middle) Collect(2 * node + 1, middle, end, range);
}

const OccupancyTree::Extents& OccupancyTree::TakenDuring(
    absl::Span<const SectionRange> ranges) {
  taken_.clear();
  for (const SectionRange& range : ranges) Collect(1, 0, size_, range);
  return taken_;
}

}  // namespace xla::packing
