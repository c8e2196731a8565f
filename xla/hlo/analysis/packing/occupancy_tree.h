#ifndef XLA_HLO_ANALYSIS_PACKING_OCCUPANCY_TREE_H_
#define XLA_HLO_ANALYSIS_PACKING_OCCUPANCY_TREE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {

// Which offsets are in use during which sections.
//
//   Add([0, 2), 0-4); Add([1, 3), 6-8)
//   → taken during [0, 1): 0-4; during [1, 2) and [0, 3): 0-4 and 6-8
//
// A segment tree over the sections (Bentley 1977). A node stores the extents in
// use during all of its sections and those in use during some of them, each as
// a list of extents that neither overlap nor touch. Packings leave few gaps, so
// these lists are short: Add and TakenDuring visit O(log sections) of them.
class OccupancyTree {
 public:
  // Offsets [begin, end), in units.
  struct Extent {
    int64_t begin;
    int64_t end;
  };
  using Extents = std::vector<Extent>;

  explicit OccupancyTree(int num_sections);

  // `range` and `extent` must not be empty.
  void Add(const SectionRange& range, const Extent& extent);

  // Intervals taken in some section of some of the ranges, ascending; valid
  // until the next call.
  const Extents& TakenDuring(absl::Span<const SectionRange> ranges);

 private:
  struct Node {
    Extents during_all;
    Extents during_some;
  };

  static void Insert(const Extent& extent, Extents& extents);
  // Adds to taken_.
  void Unite(const Extents& extents);
  // `node` covers the sections [begin, end). Recursion depth is that of the
  // tree: log2 of the sections.
  void Add(int node, int begin, int end, const SectionRange& range,
           const Extent& extent);
  void Collect(int node, int begin, int end, const SectionRange& range);

  int size_ = 1;  // sections, as a power of two
  std::vector<Node> nodes_;
  Extents taken_;
  Extents united_;
};

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_OCCUPANCY_TREE_H_
