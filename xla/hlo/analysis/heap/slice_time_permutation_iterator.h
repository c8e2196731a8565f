#ifndef XLA_HLO_ANALYSIS_HEAP_SLICE_TIME_PERMUTATION_ITERATOR_H_
#define XLA_HLO_ANALYSIS_HEAP_SLICE_TIME_PERMUTATION_ITERATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/analysis/heap/allocation_block.h"

namespace xla {

// Enumerates assignments of start times to the slices of a block, by offset.
//
//   {2, 0, 1}: the slice of the lowest offset starts last, the middle one
//   first: elements are ranks of start times
//
// Permutations that equal start times make indistinguishable are returned once,
// the first of them.
class SliceTimePermutationIterator {
 public:
  enum class Ty {
    // All, in lexicographic order: n! for n slices.
    kAll,
    // Three: later slices above; later slices below; the first in the middle
    // and the others to its right and left in turn. For a repack the block's
    // own comes before them.
    kPreferred,
  };

  // For `inclusive_slice_start_times.size()` slices; the times are sorted.
  static std::unique_ptr<SliceTimePermutationIterator> CreateForNewAllocation(
      Ty ty, absl::Span<const int64_t> inclusive_slice_start_times);

  // For a block whose slices keep their sizes and start times: slices of one
  // size may change places. Null means a block without slices, which has the
  // one permutation {0}.
  static std::unique_ptr<SliceTimePermutationIterator> CreateForRepack(
      Ty ty, const SlicedAllocationData* original_sliced_allocation);

  // Goes to the first permutation. A new iterator is done.
  void Begin();
  bool Done() const { return done_; }
  void Next();
  // Not when done.
  absl::Span<const int64_t> Get() const { return current_; }

 private:
  SliceTimePermutationIterator(Ty ty, std::vector<int64_t> sorted_times)
      : ty_(ty), times_(std::move(sorted_times)) {}

  // To the candidate after current_; sets done_ after the last.
  void Advance();
  int NumPreferred() const;
  std::vector<int64_t> Preferred(int step) const;
  bool IsWanted() const;

  const Ty ty_;
  const std::vector<int64_t> times_;  // by rank
  // By rank of start time, if they are part of what must stay.
  std::optional<std::vector<int64_t>> sizes_by_rank_;
  std::vector<int64_t> sizes_by_offset_;
  std::vector<int64_t> original_;  // of a repack

  bool done_ = true;
  int step_ = 0;  // of kPreferred
  std::vector<int64_t> current_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_SLICE_TIME_PERMUTATION_ITERATOR_H_
