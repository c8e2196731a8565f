#ifndef XLA_HLO_ANALYSIS_HEAP_SLICED_ALLOCATION_FINDER_H_
#define XLA_HLO_ANALYSIS_HEAP_SLICED_ALLOCATION_FINDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/heap/slice_time_permutation_iterator.h"

namespace xla {

// Finds a place for a block that gets its memory slice by slice: which slice,
// by offset, starts when, and the block's offset.
//
//   time ↑   free from time 1 on:      [0, 30)
//            free from time 0 on:      [10, 20)
//   two slices of 10 bytes, starting at 0 and 1
//   → the first slice at [10, 20), the second at [20, 30)
//
// For each permutation of start times, the offsets that suit one slice are
// intervals, one for each free chunk at its time; those that suit all slices
// are what the lists of all of them have in common. O(chunks × slices) per
// permutation.
class SlicedAllocationFinder {
 public:
  using Chunk = HeapChunk;
  // Offset → end, disjoint; those of the highest offset come first.
  using FreeChunks = absl::btree_map<int64_t, int64_t, std::greater<int64_t>>;
  // The chunk of each slice, by start time; then one that lies above the
  // highest slice and holds what blocks at the same offset need beyond it,
  // which may have no bytes. Empty if nothing fits.
  using ChunksSortedBySliceTime = std::vector<Chunk>;

  // A part of a free chunk with the first start time from which on it is free.
  struct FreeChunkPiece {
    // `[10,20) from 1`
    std::string ToString() const;

    int64_t earliest_free_slice_time;
    Chunk dimensions;
  };
  // By offset; those of the highest offset come first. They make up a chunk.
  using FreeChunkPieces =
      absl::btree_map<int64_t, FreeChunkPiece, std::greater<int64_t>>;

  // A chunk that is free from a start time on, cut into pieces where parts of
  // it are free earlier.
  struct FreeChunkRoot {
    // One piece.
    FreeChunkRoot(const Chunk& free_chunk, int64_t free_chunk_slice_time);

    // `[0,30): [0,10) from 1, [10,20) from 0, [20,30) from 1`
    std::string ToString() const;

    // Adds `free_chunk`, which is free from that start time, the one right
    // before the earliest so far. Only the part inside the chunk that is also
    // free at the next time is used.
    void Update(const Chunk& free_chunk, int64_t free_chunk_slice_time);

    Chunk chunk;
    FreeChunkPieces pieces;
  };
  // By offset; those of the highest offset come first.
  using FreeChunkRoots =
      absl::btree_map<int64_t, FreeChunkRoot, std::greater<int64_t>>;

  static bool AllOffsetsAllowed(int64_t offset) { return true; }

  // `free_chunks_per_slice_time`[i] is free from the i-th start time to the
  // next, the last to the end of the block's life; a slice must find its bytes
  // free at all times after its own.
  // `slice_sizes_sorted_by_offset`, `max_colocation_size` (the largest of the
  // blocks at this offset; -1: no more than the slices have),
  // `preferred_offset` (negative: none) and `alignment` (positive) in bytes.
  // `is_offset_allowed` is called for the aligned offsets of each suitable
  // interval, from the lowest on, until it returns true.
  SlicedAllocationFinder(
      absl::Span<const FreeChunks> free_chunks_per_slice_time,
      std::vector<int64_t> slice_sizes_sorted_by_offset,
      int64_t max_colocation_size, int64_t preferred_offset, int64_t alignment,
      std::unique_ptr<SliceTimePermutationIterator>
          slice_time_permutation_iterator,
      absl::AnyInvocable<bool(int64_t) const> is_offset_allowed =
          &AllOffsetsAllowed);

  // At the preferred offset if possible; else in the smallest chunk free from
  // the last start time on that it fits into, the lowest among equal ones;
  // there as low as possible. Permutations are tried in the order of the
  // iterator.
  ChunksSortedBySliceTime Find() const;

  // The same at this offset, which need not be aligned.
  ChunksSortedBySliceTime FindForOffset(int64_t offset) const;

  // The chunks that are free from the last start time on.
  FreeChunkRoots MakeFreeChunkRoots() const;

  // One line per start time, latest first.
  std::string FreeChunksToAsciiArt() const;
  // The request, and MakeFreeChunkRoots(), lowest first.
  std::string ToString() const;

 private:
  struct Range {
    int64_t first;  // offset
    int64_t last;   // offset, included
  };

  // Offsets at which every slice finds its bytes free, ascending.
  std::vector<Range> OffsetsFor(absl::Span<const int64_t> permutation) const;
  ChunksSortedBySliceTime ChunksAt(int64_t offset,
                                   absl::Span<const int64_t> permutation) const;

  std::vector<FreeChunks> free_chunks_;
  const std::vector<int64_t> sizes_;
  const int64_t extra_size_;  // beyond the slices
  const int64_t preferred_offset_;
  const int64_t alignment_;
  const std::unique_ptr<SliceTimePermutationIterator> permutations_;
  const absl::AnyInvocable<bool(int64_t) const> is_offset_allowed_;
};

// The parts of [0, end) outside `taken`, in chunks that begin at multiples of
// `alignment` and hold `size`; the one above everything taken must hold
// `room_on_top` as well. All in bytes.
SlicedAllocationFinder::FreeChunks FreeChunksBetween(
    std::vector<HeapChunk> taken, int64_t size, int64_t alignment,
    int64_t room_on_top, int64_t end);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_SLICED_ALLOCATION_FINDER_H_
