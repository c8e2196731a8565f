#ifndef XLA_HLO_ANALYSIS_PACKING_PACKING_ITEMS_H_
#define XLA_HLO_ANALYSIS_PACKING_PACKING_ITEMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla::packing {

// Sections [lo, hi) of the time line.
struct SectionRange {
  int lo = 0;
  int hi = 0;
};

// A unit with one offset: a buffer, or the buffers of a colocation group.
struct PackingItem {
  int64_t size = 0;                             // in units
  int64_t alignment = 1;                        // in units
  std::optional<int64_t> fixed_offset;          // in units
  absl::InlinedVector<SectionRange, 1> ranges;  // ascending, disjoint
  absl::InlinedVector<int, 1> buffers;          // indices into the problem
  int64_t duration = 0;  // time units for which it is live

  int lo() const { return ranges.front().lo; }
  int hi() const { return ranges.back().hi; }
};

// A problem in the form that the solvers use: time is divided into sections, of
// which only those are kept whose set of live buffers is not a subset of a
// neighbor's; bytes become multiples of the greatest common divisor; groups
// become items; empty buffers are dropped.
struct PackingItems {
  std::vector<PackingItem> items;
  int num_sections = 0;
  int64_t unit = 1;  // bytes
};

// The problem must be valid.
PackingItems MakePackingItems(const PackingProblem& problem);

// The live units of each section.
std::vector<int64_t> SectionLoads(const PackingItems& items);

// The solution in bytes for an offset, in units, of each item.
PackingSolution ToSolution(const PackingProblem& problem,
                           const PackingItems& items,
                           const std::vector<int64_t>& item_offsets);

// `value` rounded up to a multiple of `alignment`.
inline int64_t AlignUp(int64_t value, int64_t alignment) {
  return alignment == 1 ? value
                        : (value + alignment - 1) / alignment * alignment;
}

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_PACKING_ITEMS_H_
