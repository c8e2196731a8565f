#ifndef XLA_HLO_ANALYSIS_HEAP_BEST_FIT_HEAP_H_
#define XLA_HLO_ANALYSIS_HEAP_BEST_FIT_HEAP_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/heap/buffer_interval.h"
#include "xla/hlo/analysis/heap/buffer_interval_tree.h"
#include "xla/hlo/analysis/heap/heap_algorithm.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/heap/slice_time_permutation_iterator.h"
#include "xla/hlo/analysis/heap/sliced_allocation_finder.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla {

class HloValue;

// Records the lifetime of every buffer, and which buffers share one chunk. Time
// is the number of calls so far. Base of the algorithms that pack in Finish().
template <typename BufferType>
class IntervalRecordingHeap : public HeapAlgorithm<BufferType> {
 public:
  using Result = HeapSimulationOf<BufferType>;
  using Chunk = HeapChunk;

  using BufferInterval = BufferIntervalOf<BufferType>;

  void Alloc(const BufferType* buffer, int64_t size) override;
  void Free(const BufferType* buffer, int64_t size) override;
  void ShareWith(const BufferType* buffer, const BufferType* share_with,
                 int64_t size) override;

 protected:
  using HeapResult = HeapResultOf<BufferType>;

  // In the order of allocation.
  const std::vector<BufferInterval>& intervals() const { return intervals_; }
  const BufferInterval& IntervalOf(const BufferType* buffer) const {
    return intervals_[index_.at(buffer)];
  }
  // Null if it was not allocated.
  const BufferInterval* FindInterval(const BufferType* buffer) const {
    auto it = index_.find(buffer);
    return it == index_.end() ? nullptr : &intervals_[it->second];
  }
  // Sets when each group of sharing buffers starts and ends.
  void FindColocationTimes();
  // Indices of those that need allocation.
  std::vector<int64_t> CanonicalIntervals() const;
  // The largest size of those that share with this interval.
  int64_t GroupSize(int64_t index) const;
  // A problem with a colocation group for each of `indices`, by position.
  packing::PackingProblem MakeProblem(const std::vector<int64_t>& indices,
                                      int64_t alignment) const;
  // Adds a chunk for the interval and for all that share with it.
  void AddToHeap(int64_t index, int64_t offset, HeapResult& heap) const;
  absl::Status CheckAllFreed() const;

 private:
  int64_t now_ = 0;
  int64_t num_live_ = 0;
  std::vector<BufferInterval> intervals_;
  absl::flat_hash_map<const BufferType*, int64_t> index_;
  absl::flat_hash_map<const BufferType*, const BufferType*> canonical_;
};

// Packs the buffers in Finish(). Sharing buffers get the chunk of the largest
// of them. The names of the strategies are OpenXLA's, the algorithms our own:
// - kSpatial, kTemporal, kCustom: best fit in the order of decreasing size,
//   decreasing lifetime, or a comparison of the caller; ties by the other of
//   the first two, then by id. Each buffer goes to the bottom of the smallest
//   gap that it fits into (packing/best_fit.h). O(n log² n) on modules.
// - kPhaseWindow, kPhaseWindowEnd: time is cut into 16 windows of equal length.
//   The buffers that live in several of them by decreasing size, then the
//   others window by window, first (kPhaseWindowEnd: last) window first, placed
//   in the same way.
// - kFastMerge, kFastSplit: see packing/fast_packing.h. O(n log n).
//
// For subclasses that place buffers one by one instead, there is a tree of the
// chunks that are taken: look for a place, then CommitChunk.
template <typename BufferType>
class GlobalDecreasingSizeBestFitHeap
    : public IntervalRecordingHeap<BufferType> {
 public:
  using HeapResult = HeapResultOf<BufferType>;
  using Result = HeapSimulationOf<BufferType>;
  using Chunk = HeapChunk;
  using FreeChunks = xla::SlicedAllocationFinder::FreeChunks;
  using BufferInterval = BufferIntervalOf<BufferType>;
  using SlicedBufferInterval = SlicedBufferIntervalOf<BufferType>;
  using SlicedAllocationFinder = xla::SlicedAllocationFinder;
  // Whether the first goes before the second.
  using BufferIntervalCompare =
      std::function<bool(const BufferInterval&, const BufferInterval&)>;

  enum PackingStrategy {
    kSpatial = 0,
    kTemporal,
    kCustom,
    kFastMerge,
    kFastSplit,
    kPhaseWindow,
    kPhaseWindowEnd,
  };

  // `alignment` (bytes) must be positive. kCustom needs a comparison.
  explicit GlobalDecreasingSizeBestFitHeap(
      int64_t alignment, PackingStrategy type = kSpatial,
      BufferIntervalCompare buffer_interval_compare = nullptr,
      SliceTimePermutationIterator::Ty slice_time_permutation_iterator_type =
          SliceTimePermutationIterator::Ty::kAll)
      : alignment_(alignment),
        type_(type),
        compare_(std::move(buffer_interval_compare)),
        permutations_(slice_time_permutation_iterator_type) {}

  absl::StatusOr<Result> Finish() override;

  // The comparison used by kSpatial.
  BufferIntervalCompare GetSpatialBufferIntervalCompare() const;

 protected:
  // CanonicalIntervals(), first those to be placed first.
  std::vector<int64_t> SortedIntervals() const;
  // The offset of each of `indices` in a heap of at most `limit` bytes, placed
  // in this order; -1 for those that do not fit.
  absl::StatusOr<std::vector<int64_t>> Pack(const std::vector<int64_t>& indices,
                                            int64_t limit) const;

  // Chunks that are free while the interval and those it shares with are live,
  // and that hold its size; the last, which holds max_colocation_size (bytes),
  // is unbounded (INT64_MAX).
  FreeChunks MakeFreeChunks(const BufferInterval& buffer_interval,
                            int64_t max_colocation_size) const;
  // At the preferred offset (bytes; negative: none) if that is free, else where
  // best fit puts it.
  Chunk FindChunkCandidate(const BufferInterval& buffer_interval,
                           int64_t preferred_offset = -1) const;
  // The chunk of each slice by start time; see SlicedAllocationFinder::Find,
  // without the last chunk where it holds nothing.
  std::vector<Chunk> FindChunkCandidates(
      const SlicedBufferInterval& sliced_buffer_interval,
      int64_t preferred_offset = -1) const;
  // Marks the chunk as taken and adds it to `result` for the interval's buffer.
  // A chunk with a negative size (Chunk::size) takes nothing.
  void CommitChunk(const BufferInterval& buffer_interval, Chunk chunk,
                   HeapResult& result);
  // The same with a result of the heap's own, result_.
  void CommitChunk(const BufferInterval& buffer_interval, Chunk chunk);
  // Called by that for each buffer that gets a chunk; keeps it in result_.
  virtual void AddToChunkMap(const BufferType* buffer, Chunk chunk) {
    result_.chunk_map.emplace(buffer, chunk);
  }

  BufferIntervalTree interval_tree_;
  HeapResult result_;

 private:
  using Key = std::pair<int64_t, int64_t>;
  Key KeyOf(const BufferInterval& interval, int64_t end_of_time) const;
  int64_t GroupSizeOf(const BufferInterval& interval) const;
  // Takes the chunk of the interval and those of its colocations; returns them.
  std::vector<std::pair<const BufferType*, Chunk>> TakeChunks(
      const BufferInterval& buffer_interval, Chunk chunk, HeapResult& result);

  const int64_t alignment_;
  const PackingStrategy type_;
  const BufferIntervalCompare compare_;
  const SliceTimePermutationIterator::Ty permutations_;
};

// The same with heaps of limited size (bytes): buffers that do not fit into the
// first go to the second, and so on. A buffer above the limit gets a heap of
// its own, as large as needed.
template <typename BufferType>
class ConstrainedGlobalDecreasingSizeBestFitHeap
    : public GlobalDecreasingSizeBestFitHeap<BufferType> {
 public:
  using Base = GlobalDecreasingSizeBestFitHeap<BufferType>;
  using Result = HeapSimulationOf<BufferType>;

  ConstrainedGlobalDecreasingSizeBestFitHeap(
      uint64_t size_limit_per_heap, int64_t alignment,
      typename Base::PackingStrategy packing_strategy = Base::kSpatial,
      typename Base::BufferIntervalCompare buffer_interval_compare = nullptr)
      : Base(alignment, packing_strategy, std::move(buffer_interval_compare)),
        size_limit_per_heap_(size_limit_per_heap) {}

  absl::StatusOr<Result> Finish() override;

 private:
  const uint64_t size_limit_per_heap_;
};

// Without a type of buffers, those of modules: OpenXLA's class has no other.
template <typename... Args>
ConstrainedGlobalDecreasingSizeBestFitHeap(uint64_t, int64_t, Args...)
    -> ConstrainedGlobalDecreasingSizeBestFitHeap<HloValue>;

// Our offset planner (see packing/offset_planner.h): as low as a fixed
// budget allows, the same on every run. Sizes count as multiples of the
// alignment.
template <typename BufferType>
class PlannedHeap : public IntervalRecordingHeap<BufferType> {
 public:
  using Result = HeapSimulationOf<BufferType>;

  // `alignment` (bytes) must be positive.
  explicit PlannedHeap(int64_t alignment) : alignment_(alignment) {}

  absl::StatusOr<Result> Finish() override;

 private:
  const int64_t alignment_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_BEST_FIT_HEAP_H_
