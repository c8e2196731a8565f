#include "xla/hlo/analysis/heap/sliced_allocation_finder.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/heap/slice_time_permutation_iterator.h"
#include "xla/hlo/analysis/packing/packing_items.h"

// Finds a place for a block whose slices become live at different times. For
// one permutation (which slice starts when), each slice restricts the offset of
// the block to a set of ranges given by the free chunks at its start time;
// intersecting these sets gives all feasible offsets at once (OffsetsFor).
// Trying the permutations one by one is factorial in the number of slices,
// which is small.

namespace xla {

using packing::AlignUp;

namespace {

using FreeChunks = SlicedAllocationFinder::FreeChunks;

// O(chunks).
FreeChunks InBoth(const FreeChunks& a, const FreeChunks& b) {
  FreeChunks both;
  auto x = a.rbegin();
  auto y = b.rbegin();
  while (x != a.rend() && y != b.rend()) {
    const int64_t begin = std::max(x->first, y->first);
    const int64_t end = std::min(x->second, y->second);
    if (begin < end) both[begin] = end;
    if (x->second < y->second) {
      ++x;
    } else {
      ++y;
    }
  }
  return both;
}

// Offsets of one gap that are asked about before it is given up.
constexpr int64_t kMaxOffsetsPerGap = int64_t{1} << 20;

}  // namespace

SlicedAllocationFinder::SlicedAllocationFinder(
    absl::Span<const FreeChunks> free_chunks_per_slice_time,
    std::vector<int64_t> slice_sizes_sorted_by_offset,
    int64_t max_colocation_size, int64_t preferred_offset, int64_t alignment,
    std::unique_ptr<SliceTimePermutationIterator>
        slice_time_permutation_iterator,
    absl::AnyInvocable<bool(int64_t) const> is_offset_allowed)
    : free_chunks_(free_chunks_per_slice_time.begin(),
                   free_chunks_per_slice_time.end()),
      sizes_(std::move(slice_sizes_sorted_by_offset)),
      extra_size_(std::max<int64_t>(
          0, max_colocation_size -
                 std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0}))),
      preferred_offset_(preferred_offset),
      alignment_(alignment),
      permutations_(std::move(slice_time_permutation_iterator)),
      is_offset_allowed_(std::move(is_offset_allowed)) {
  CHECK_EQ(free_chunks_.size(), sizes_.size())
      << "free chunks are needed for the start time of each slice";
  // A slice keeps its memory: what is free from a time on is free at all later
  // ones, too.
  for (int64_t i = static_cast<int64_t>(free_chunks_.size()) - 2; i >= 0; --i) {
    free_chunks_[i] = InBoth(free_chunks_[i], free_chunks_[i + 1]);
  }
}

// Intersects sorted lists of ranges, one list per slice; linear in the number
// of free chunks for each slice.
std::vector<SlicedAllocationFinder::Range> SlicedAllocationFinder::OffsetsFor(
    absl::Span<const int64_t> permutation) const {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  std::vector<Range> common = {{0, kMax}};
  int64_t below = 0;  // bytes of the block under this slice
  // The part above the slices is occupied from the last start time on.
  const int64_t num_pieces = sizes_.size() + (extra_size_ > 0 ? 1 : 0);
  for (int64_t i = 0; i < num_pieces; ++i) {
    const bool is_slice = i < sizes_.size();
    const int64_t size = is_slice ? sizes_[i] : extra_size_;
    const FreeChunks& free =
        is_slice ? free_chunks_[permutation[i]] : free_chunks_.back();
    std::vector<Range> both;
    auto range = common.begin();
    for (auto it = free.rbegin(); it != free.rend(); ++it) {
      const Range fits = {it->first - below, it->second - size - below};
      if (fits.last < fits.first) continue;
      while (range != common.end() && range->last < fits.first) ++range;
      for (auto r = range; r != common.end() && r->first <= fits.last; ++r) {
        both.push_back(
            {std::max(r->first, fits.first), std::min(r->last, fits.last)});
      }
    }
    common = std::move(both);
    below += size;
  }
  return common;
}

SlicedAllocationFinder::ChunksSortedBySliceTime
SlicedAllocationFinder::ChunksAt(int64_t offset,
                                 absl::Span<const int64_t> permutation) const {
  ChunksSortedBySliceTime chunks(sizes_.size() + 1);
  for (int64_t i = 0; i < sizes_.size(); ++i) {
    chunks[permutation[i]] = Chunk::FromOffsetSize(offset, sizes_[i]);
    offset += sizes_[i];
  }
  chunks.back() = Chunk::FromOffsetSize(offset, extra_size_);
  return chunks;
}

SlicedAllocationFinder::ChunksSortedBySliceTime
SlicedAllocationFinder::FindForOffset(int64_t offset) const {
  if (!is_offset_allowed_(offset)) return {};
  for (permutations_->Begin(); !permutations_->Done(); permutations_->Next()) {
    for (const Range& range : OffsetsFor(permutations_->Get())) {
      if (range.first <= offset && offset <= range.last) {
        return ChunksAt(offset, permutations_->Get());
      }
    }
  }
  return {};
}

// The preferred offset if it is feasible; otherwise best fit: the smallest free
// chunk, as of the last start time, that holds the whole block.
SlicedAllocationFinder::ChunksSortedBySliceTime SlicedAllocationFinder::Find()
    const {
  if (free_chunks_.empty()) return {};
  if (preferred_offset_ >= 0 && preferred_offset_ % alignment_ == 0) {
    ChunksSortedBySliceTime chunks = FindForOffset(preferred_offset_);
    if (!chunks.empty()) return chunks;
  }
  ChunksSortedBySliceTime best;
  std::pair<int64_t, int64_t> best_key;  // size and offset of the free chunk
  for (permutations_->Begin(); !permutations_->Done(); permutations_->Next()) {
    for (const Range& range : OffsetsFor(permutations_->Get())) {
      int64_t offset = AlignUp(range.first, alignment_);
      for (int64_t asked = 0;
           offset <= range.last && asked < kMaxOffsetsPerGap &&
           !is_offset_allowed_(offset);
           ++asked) {
        if (offset > range.last - alignment_) break;
        offset += alignment_;
      }
      if (offset > range.last || !is_offset_allowed_(offset)) continue;
      // All of the block lies in one chunk of the last start time.
      auto root = free_chunks_.back().lower_bound(offset);
      if (root == free_chunks_.back().end()) continue;
      const std::pair<int64_t, int64_t> key = {root->second - root->first,
                                               offset};
      if (!best.empty() && key >= best_key) continue;
      best = ChunksAt(offset, permutations_->Get());
      best_key = key;
    }
  }
  return best;
}

std::string SlicedAllocationFinder::FreeChunkPiece::ToString() const {
  return absl::StrCat(dimensions.ToString(), " from ",
                      earliest_free_slice_time);
}

SlicedAllocationFinder::FreeChunkRoot::FreeChunkRoot(
    const Chunk& free_chunk, int64_t free_chunk_slice_time)
    : chunk(free_chunk) {
  pieces[free_chunk.offset] = {free_chunk_slice_time, free_chunk};
}

std::string SlicedAllocationFinder::FreeChunkRoot::ToString() const {
  std::string text = absl::StrCat(chunk.ToString(), ":");
  for (auto it = pieces.rbegin(); it != pieces.rend(); ++it) {
    absl::StrAppend(&text, it == pieces.rbegin() ? " " : ", ",
                    it->second.ToString());
  }
  return text;
}

// Times come in descending order, and a place is free from time t on only if it
// is so from t + 1 on as well: of a piece that is free from later only, the
// part stays as it is.
void SlicedAllocationFinder::FreeChunkRoot::Update(
    const Chunk& free_chunk, int64_t free_chunk_slice_time) {
  FreeChunkPieces updated;
  auto add = [&](int64_t begin, int64_t end, int64_t time) {
    if (begin >= end) return;
    updated[begin] = {time, Chunk::FromOffsetEnd(begin, end)};
  };
  for (const auto& [offset, piece] : pieces) {
    const int64_t end = piece.dimensions.chunk_end();
    const int64_t time = piece.earliest_free_slice_time;
    const int64_t lo = std::max(offset, free_chunk.offset);
    const int64_t hi = std::min(end, free_chunk.chunk_end());
    if (lo >= hi || time != free_chunk_slice_time + 1) {
      add(offset, end, time);
      continue;
    }
    add(offset, lo, time);
    add(lo, hi, free_chunk_slice_time);
    add(hi, end, time);
  }
  pieces = std::move(updated);
}

SlicedAllocationFinder::FreeChunkRoots
SlicedAllocationFinder::MakeFreeChunkRoots() const {
  FreeChunkRoots roots;
  int64_t time = static_cast<int64_t>(free_chunks_.size()) - 1;
  if (time < 0) return roots;
  for (const auto& [begin, end] : free_chunks_[time]) {
    roots.emplace(begin, FreeChunkRoot(Chunk::FromOffsetEnd(begin, end), time));
  }
  while (time-- > 0) {
    for (const auto& [begin, end] : free_chunks_[time]) {
      // The last root that begins at or before it, which holds all of it.
      auto root = roots.lower_bound(begin);
      if (root == roots.end()) continue;
      root->second.Update(Chunk::FromOffsetEnd(begin, end), time);
    }
  }
  return roots;
}

std::string SlicedAllocationFinder::FreeChunksToAsciiArt() const {
  std::string text;
  for (int64_t i = static_cast<int64_t>(free_chunks_.size()) - 1; i >= 0; --i) {
    absl::StrAppend(&text, "start ", i, ":");
    for (auto it = free_chunks_[i].rbegin(); it != free_chunks_[i].rend();
         ++it) {
      absl::StrAppend(&text, " [", it->first, ",", it->second, ")");
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string SlicedAllocationFinder::ToString() const {
  std::string text =
      absl::StrCat("slices of ", absl::StrJoin(sizes_, ", "), " and ",
                   extra_size_, " more bytes, multiples of ", alignment_,
                   ", preferred offset ", preferred_offset_, "; free:\n");
  const FreeChunkRoots roots = MakeFreeChunkRoots();
  for (auto it = roots.rbegin(); it != roots.rend(); ++it) {
    absl::StrAppend(&text, "  ", it->second.ToString(), "\n");
  }
  return text;
}

SlicedAllocationFinder::FreeChunks FreeChunksBetween(
    std::vector<HeapChunk> taken, int64_t size, int64_t alignment,
    int64_t room_on_top, int64_t end) {
  std::sort(taken.begin(), taken.end(),
            [](const HeapChunk& a, const HeapChunk& b) {
              return a.offset < b.offset;
            });
  SlicedAllocationFinder::FreeChunks free;
  int64_t top = 0;
  auto add = [&](int64_t chunk_end, int64_t least) {
    const int64_t offset = AlignUp(top, alignment);
    if (chunk_end - offset >= least) free[offset] = chunk_end;
  };
  for (const HeapChunk& chunk : taken) {
    if (chunk.offset > top) add(std::min(chunk.offset, end), size);
    top = std::max(top, chunk.chunk_end());
  }
  add(end, std::max(size, room_on_top));
  return free;
}

}  // namespace xla
