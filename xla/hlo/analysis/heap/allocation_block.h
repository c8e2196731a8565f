#ifndef XLA_HLO_ANALYSIS_HEAP_ALLOCATION_BLOCK_H_
#define XLA_HLO_ANALYSIS_HEAP_ALLOCATION_BLOCK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace xla {

// A part of a block with a start time of its own.
struct AllocatedSlice {
  int64_t size = 0;    // bytes
  int64_t offset = 0;  // bytes
  int64_t inclusive_start_time = 0;

  // `4 bytes at 16 from time 3`
  std::string ToString() const;
  std::tuple<int64_t, int64_t, int64_t> ToTuple() const {
    return {size, offset, inclusive_start_time};
  }
  bool operator==(const AllocatedSlice& rhs) const {
    return ToTuple() == rhs.ToTuple();
  }
};

// The slices of a block that gets its memory slice by slice.
struct SlicedAllocationData {
  // Adjacent: each begins where the one before it ends.
  std::vector<AllocatedSlice> slices_sorted_by_offset;

  std::vector<int64_t> SizesSortedByOffset() const;
  std::vector<int64_t> SortedInclusiveStartTimes() const;
  int64_t num_slices() const { return slices_sorted_by_offset.size(); }
  std::string ToString() const;
  bool operator==(const SlicedAllocationData& rhs) const {
    return slices_sorted_by_offset == rhs.slices_sorted_by_offset;
  }
};

// A block of memory with a lifetime, independent of HLO, for heap algorithms
// that do not run on a module.
struct AllocationBlock {
  int64_t inclusive_start_time = 0;
  int64_t end_time = 0;         // included, too
  int64_t size = 0;             // bytes
  int64_t offset = -1;          // bytes; where it is now
  int64_t initial_offset = -1;  // bytes; where it was, if anywhere
  int64_t id = 0;
  // The next of a ring of blocks that must have the same offset; null: none.
  AllocationBlock* next_colocated = nullptr;
  // If sliced: the slices before repacking / as placed by
  // RepackAllocationBlocks.
  std::optional<SlicedAllocationData> original_slice_data;
  std::optional<SlicedAllocationData> repacked_slice_data;

  std::string ToString() const;

  // The ring, starting here; itself counts.
  std::vector<AllocationBlock*> GetColocations();
  int GetColocationsCount() const;

  // By id.
  bool operator<(const AllocationBlock& other) const { return id < other.id; }
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_ALLOCATION_BLOCK_H_
