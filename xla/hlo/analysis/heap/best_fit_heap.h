#ifndef XLA_HLO_ANALYSIS_HEAP_BEST_FIT_HEAP_H_
#define XLA_HLO_ANALYSIS_HEAP_BEST_FIT_HEAP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/heap/heap_algorithm.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla {

// Records the lifetime of every buffer, and which share one chunk. Time is the
// number of calls so far. Base of the algorithms that pack at the end.
template <typename BufferType>
class IntervalRecordingHeap : public HeapAlgorithm<BufferType> {
 public:
  using Result = HeapSimulationOf<BufferType>;
  using Chunk = HeapChunk;

  // When a buffer lives, both times included.
  struct BufferInterval {
    std::string ToString() const;

    const BufferType* buffer = nullptr;
    int64_t size = -1;
    int64_t start = -1;
    int64_t end = -1;
    // Buffers that were allocated with ShareWith this one.
    absl::InlinedVector<const BufferType*, 2> colocations;
    // False for those.
    bool need_allocation = false;
  };

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

// Best fit in the order of decreasing size (kSpatial), lifetime (kTemporal) or
// a comparison of the caller (kCustom); ties by the other of the two, then by
// time. Each buffer goes to the bottom of the smallest gap that it fits into.
//
// Sharing buffers have the chunk of the largest of them. O(n²).
template <typename BufferType>
class GlobalDecreasingSizeBestFitHeap
    : public IntervalRecordingHeap<BufferType> {
 public:
  using HeapResult = HeapResultOf<BufferType>;
  using Result = HeapSimulationOf<BufferType>;
  using BufferInterval =
      typename IntervalRecordingHeap<BufferType>::BufferInterval;
  // Whether the first goes before the second.
  using BufferIntervalCompare =
      std::function<bool(const BufferInterval&, const BufferInterval&)>;

  enum PackingStrategy { kSpatial = 0, kTemporal, kCustom };

  // `alignment` (bytes) must be a power of two. kCustom needs a comparison.
  explicit GlobalDecreasingSizeBestFitHeap(
      int64_t alignment, PackingStrategy type = kSpatial,
      BufferIntervalCompare buffer_interval_compare = nullptr)
      : alignment_(alignment),
        type_(type),
        compare_(std::move(buffer_interval_compare)) {}

  absl::StatusOr<Result> Finish() override;

 protected:
  // CanonicalIntervals(), first those to be placed first.
  std::vector<int64_t> SortedIntervals() const;
  // The offset of each of `indices` in a heap of at most `limit` bytes, placed
  // in this order; -1 for those that do not fit.
  absl::StatusOr<std::vector<int64_t>> Pack(const std::vector<int64_t>& indices,
                                            int64_t limit) const;

 private:
  bool Before(const BufferInterval& a, const BufferInterval& b) const;

  const int64_t alignment_;
  const PackingStrategy type_;
  const BufferIntervalCompare compare_;
};

// The same with heaps of limited size (bytes): what does not fit into the first
// goes to the second, and so on. A buffer above the limit gets a heap of its
// own that is as large as it must be.
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

// Our offset planner (see packing/offset_planner.h): as low as a fixed
// budget allows, the same on every run. Sizes count as multiples of the
// alignment.
template <typename BufferType>
class PlannedHeap : public IntervalRecordingHeap<BufferType> {
 public:
  using Result = HeapSimulationOf<BufferType>;

  // `alignment` (bytes) must be a power of two.
  explicit PlannedHeap(int64_t alignment) : alignment_(alignment) {}

  absl::StatusOr<Result> Finish() override;

 private:
  const int64_t alignment_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_BEST_FIT_HEAP_H_
