#ifndef XLA_HLO_ANALYSIS_HEAP_ALLOCATION_REPACKER_H_
#define XLA_HLO_ANALYSIS_HEAP_ALLOCATION_REPACKER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/heap/allocation_block.h"
#include "xla/hlo/analysis/heap/slice_time_permutation_iterator.h"

namespace xla {

// Finds new offsets for blocks that already have offsets, so that all of them
// fit into a smaller heap: for a heap filled block by block that has run out of
// space through fragmentation.
//
//   a: time [0, 9] 4 bytes at 4; b: time [5, 9] 4 bytes at 12; max_size 8
//   → true; a at 0, b at 4
//
// Blocks of a ring of colocations keep a common offset. A block with
// original_slice_data keeps the sizes of its slices; its start times may change
// places among slices of equal size, and repacked_slice_data tells how. At most
// one block of a ring has slices.
//
// Blocks without slices go to the offset planner (packing/offset_planner.h);
// else best fit in the order of size, then of lifetime.
//
// True if a packing of at most `max_size` bytes was found, whose offsets and
// slices are then those of the blocks; false leaves the blocks as they were.
// InvalidArgument, naming the block, for one that ends before it starts, has a
// negative size, a ring that is not closed or has members outside `blocks`, or
// slices that do not make up its size or start outside of its life.
absl::StatusOr<bool> RepackAllocationBlocks(
    absl::Span<AllocationBlock* const> blocks, int64_t max_size,
    int64_t alignment,
    SliceTimePermutationIterator::Ty permutations =
        SliceTimePermutationIterator::Ty::kAll);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_ALLOCATION_REPACKER_H_
