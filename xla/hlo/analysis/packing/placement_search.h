#ifndef XLA_HLO_ANALYSIS_PACKING_PLACEMENT_SEARCH_H_
#define XLA_HLO_ANALYSIS_PACKING_PLACEMENT_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/packing/packing_items.h"

namespace xla::packing {

enum class SearchOutcome {
  kFound,
  kImpossible,  // proven: no packing within the capacity exists
  kGaveUp,      // out of steps or time
};

// The depth-first search of canonical_search.h, over one part of the time line
// and with one order of preference at a time.
class PlacementSearch {
 public:
  PlacementSearch(const PackingItems& items, absl::Span<const int> part,
                  int64_t capacity, absl::Time deadline);

  // Searches with this order of preference for at most `max_steps` placements.
  SearchOutcome Run(const std::vector<int>& order, int64_t max_steps);

  int64_t offset(int item) const { return base_[item]; }
  int64_t steps() const { return steps_; }
  bool timed_out() const { return timed_out_; }
  // The number of failures of the bound in each section.
  std::vector<int64_t>& failures() { return failures_; }

 private:
  // Items at or below this (offset, rank) have been skipped.
  struct Threshold {
    int64_t offset;
    int rank;
  };

  bool PassedOver(int item, const Threshold& threshold) const {
    return base_[item] < threshold.offset ||
           (base_[item] == threshold.offset && rank_[item] <= threshold.rank);
  }

  // Items still to be placed, by rank, and sections around them.
  struct Open {
    std::vector<int> items;
    SectionRange sections;
  };

  SearchOutcome Solve(Open open, const Threshold& threshold);
  SearchOutcome SolveParts(const Open& open, const Threshold& threshold);
  SearchOutcome Branch(const Open& open, const Threshold& threshold);
  std::vector<int> Candidates(const Open& open,
                              const Threshold& threshold) const;
  bool HasUnplacedTwinBefore(int item) const;

  // Raises bounds after a placement or a new threshold. False if they show that
  // the open items no longer fit.
  bool Bound(const Open& open, const Threshold& threshold);
  bool BoundPassedOver(int item);
  bool BoundSections(const SectionRange& sections);

  // Whether an open item that meets `item` may lie below its top at its base.
  bool IsObstructed(int item);

  // Puts items that fit below everything open that they meet; false if one of
  // those no longer fits.
  bool PlaceUnobstructed(Open& open, const Threshold& threshold);

  // False if an item no longer fits.
  bool Place(int item);
  void AddToSections(int item, int sign);

  // Changes to be undone on backtracking.
  struct Change {
    enum Kind { kPlaced, kBase, kLowest, kFloor } kind;
    int index;
    int64_t value;
  };
  void SetLowest(int item, int64_t value) {
    if (lowest_[item] == value) return;
    changes_.push_back({Change::kLowest, item, lowest_[item]});
    lowest_[item] = value;
  }
  void TakeBack(size_t num_changes);

  const std::vector<PackingItem>& items_;
  const std::vector<int> part_;
  const int64_t capacity_;
  absl::Time deadline_;
  std::vector<int64_t> size_;            // of each item, close together
  std::vector<std::vector<int>> meets_;  // items live at a common time
  std::vector<std::vector<int>> twins_;  // same sections, size and alignment

  std::vector<std::vector<int>> live_;  // of each section

  std::vector<int> rank_;
  std::vector<char> placed_;
  std::vector<int64_t> base_;       // lowest offset above what is placed
  std::vector<int64_t> lowest_;     // bound on the offset of an open item
  std::vector<int64_t> open_load_;  // unplaced units per section
  std::vector<int> crossing_;       // open items live in s - 1 and s
  std::vector<int64_t> floor_;      // least `lowest_` of a section's items
  // Witnesses, which make most checks O(1) and survive backtracking: an open
  // item that gives a section its floor, one that obstructs an item, one that
  // may be the lowest support of an item that was passed over.
  std::vector<int> floor_witness_;
  std::vector<int> obstacle_;
  std::vector<int> support_;
  std::vector<Change> changes_;
  std::vector<int64_t> failures_;
  int64_t steps_ = 0;
  int64_t max_steps_ = 0;
  bool timed_out_ = false;
};

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_PLACEMENT_SEARCH_H_
