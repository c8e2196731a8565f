#include "xla/hlo/analysis/heap/best_fit_heap.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/heap/allocation_block.h"
#include "xla/hlo/analysis/heap/heap_algorithm.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/heap/slice_time_permutation_iterator.h"
#include "xla/hlo/analysis/heap/sliced_allocation_finder.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/packing/best_fit.h"
#include "xla/hlo/analysis/packing/fast_packing.h"
#include "xla/hlo/analysis/packing/offset_planner.h"
#include "xla/hlo/analysis/packing/packing_items.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

// Heap algorithms that first record the lifetimes of all buffers (one tick per
// allocation or deallocation) and place them afterwards, when all intervals are
// known. Placing in order of decreasing size, or of decreasing lifetime, with
// best fit is the usual heuristic for dynamic storage allocation, which is
// NP-hard.

namespace xla {
namespace {

// Some tenths of a second of exact search, where the heuristics leave a gap.
constexpr int64_t kPlannedHeapSteps = 50'000;

constexpr int64_t kNumPhases = 16;

}  // namespace

template <typename BufferType>
void IntervalRecordingHeap<BufferType>::Alloc(const BufferType* buffer,
                                              int64_t size) {
  CHECK(index_.emplace(buffer, intervals_.size()).second)
      << "a buffer was allocated twice";
  BufferInterval interval;
  interval.buffer = buffer;
  interval.size = size;
  interval.start = now_;
  interval.need_allocation = true;
  intervals_.push_back(std::move(interval));
  canonical_[buffer] = buffer;
  if (size > 0) ++now_;
  ++num_live_;
}

template <typename BufferType>
void IntervalRecordingHeap<BufferType>::ShareWith(const BufferType* buffer,
                                                  const BufferType* share_with,
                                                  int64_t size) {
  Alloc(buffer, size);
  intervals_.back().need_allocation = false;
  const BufferType* canonical = canonical_.at(share_with);
  canonical_[buffer] = canonical;
  intervals_[index_.at(canonical)].colocations.push_back(buffer);
}

template <typename BufferType>
void IntervalRecordingHeap<BufferType>::Free(const BufferType* buffer,
                                             int64_t size) {
  BufferInterval& interval = intervals_[index_.at(buffer)];
  CHECK_EQ(interval.size, size) << "a buffer was freed with a different size";
  CHECK_EQ(interval.end, -1) << "a buffer was freed twice";
  interval.end = now_;
  if (size > 0) ++now_;
  --num_live_;
}

template <typename BufferType>
absl::Status IntervalRecordingHeap<BufferType>::CheckAllFreed() const {
  if (num_live_ == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("heap: ", num_live_, " buffers have not been freed"));
}

template <typename BufferType>
std::vector<int64_t> IntervalRecordingHeap<BufferType>::CanonicalIntervals()
    const {
  std::vector<int64_t> canonical;
  for (int64_t i = 0; i < intervals_.size(); ++i) {
    if (intervals_[i].need_allocation) canonical.push_back(i);
  }
  return canonical;
}

template <typename BufferType>
int64_t IntervalRecordingHeap<BufferType>::GroupSize(int64_t index) const {
  int64_t size = intervals_[index].size;
  for (const BufferType* other : intervals_[index].colocations) {
    size = std::max(size, IntervalOf(other).size);
  }
  return size;
}

// Colocated buffers become one group: same offset, size of the largest.
// Lifetimes of a group that overlap are merged; those that do not stay
// separate, so that other buffers may use the memory in between.
template <typename BufferType>
packing::PackingProblem IntervalRecordingHeap<BufferType>::MakeProblem(
    const std::vector<int64_t>& indices, int64_t alignment) const {
  packing::PackingProblem problem;
  for (int64_t group = 0; group < indices.size(); ++group) {
    const BufferInterval& canonical = intervals_[indices[group]];
    std::vector<std::pair<int64_t, int64_t>> lives = {
        {canonical.start, canonical.end}};
    for (const BufferType* other : canonical.colocations) {
      lives.emplace_back(IntervalOf(other).start, IntervalOf(other).end);
    }
    std::sort(lives.begin(), lives.end());
    packing::PackingBuffer buffer;
    buffer.size = GroupSize(indices[group]);
    buffer.alignment = alignment;
    buffer.colocation = group;
    // Lives of buffers without bytes may start at one time.
    const size_t first = problem.buffers.size();
    for (const auto& [start, end] : lives) {
      if (problem.buffers.size() > first && start < buffer.upper) {
        problem.buffers.back().upper = buffer.upper =
            std::max(buffer.upper, end + 1);
        continue;
      }
      buffer.lower = start;
      buffer.upper = end + 1;
      problem.buffers.push_back(buffer);
    }
  }
  return problem;
}

template <typename BufferType>
void IntervalRecordingHeap<BufferType>::AddToHeap(int64_t index, int64_t offset,
                                                  HeapResult& heap) const {
  const BufferInterval& canonical = intervals_[index];
  const Chunk chunk = Chunk::FromOffsetSize(offset, GroupSize(index));
  heap.heap_size = heap.UpdatedHeapSize(chunk);
  heap.chunk_map.emplace(canonical.buffer, chunk);
  for (const BufferType* other : canonical.colocations) {
    heap.chunk_map.emplace(other, chunk);
  }
}

template <typename BufferType>
void IntervalRecordingHeap<BufferType>::FindColocationTimes() {
  for (BufferInterval& interval : intervals_) {
    interval.min_colocation_start_time = interval.start;
    interval.max_colocation_end_time = interval.end;
    for (const BufferType* other : interval.colocations) {
      const BufferInterval& its = IntervalOf(other);
      interval.min_colocation_start_time =
          std::min(interval.min_colocation_start_time, its.start);
      interval.max_colocation_end_time =
          std::max(interval.max_colocation_end_time, its.end);
    }
  }
}

// The sort key by heuristic, ties by id: spatial (size first, then the lifetime
// of the first buffer alone, without those that share with it), temporal
// (lifetime of all of them first), or by phases, where time is divided into
// windows and buffers that cross a window boundary are placed before those
// within one.
template <typename BufferType>
auto GlobalDecreasingSizeBestFitHeap<BufferType>::KeyOf(
    const BufferInterval& interval, int64_t end_of_time) const -> Key {
  const int64_t start = interval.min_colocation_start_time;
  const int64_t end = interval.max_colocation_end_time;
  const int64_t duration = end - start;
  switch (type_) {
    case kTemporal:
      return {-duration, -interval.size};
    case kPhaseWindow:
    case kPhaseWindowEnd: {
      const int64_t width = end_of_time / kNumPhases + 1;
      const int64_t first = start / width;
      const int64_t last = end / width;
      // Those of several windows come before all windows.
      const int64_t window = first != last           ? -1
                             : type_ == kPhaseWindow ? first
                                                     : kNumPhases - last;
      return {window, -interval.size};
    }
    default:
      return {-interval.size, interval.start - interval.end};
  }
}

template <typename BufferType>
auto GlobalDecreasingSizeBestFitHeap<
    BufferType>::GetSpatialBufferIntervalCompare() const
    -> BufferIntervalCompare {
  return [](const BufferInterval& a, const BufferInterval& b) {
    auto key = [](const BufferInterval& interval) {
      return std::make_tuple(-interval.size, interval.start - interval.end,
                             std::cref(*interval.buffer));
    };
    return key(a) < key(b);
  };
}

template <typename BufferType>
std::vector<int64_t>
GlobalDecreasingSizeBestFitHeap<BufferType>::SortedIntervals() const {
  std::vector<int64_t> sorted = this->CanonicalIntervals();
  const auto& intervals = this->intervals();
  if (type_ == kCustom && compare_ != nullptr) {
    std::stable_sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) {
      return compare_(intervals[a], intervals[b]);
    });
    return sorted;
  }
  int64_t end_of_time = 0;
  for (const BufferInterval& interval : intervals) {
    end_of_time = std::max(end_of_time, interval.end);
  }
  std::vector<Key> keys(intervals.size());
  for (int64_t i : sorted) keys[i] = KeyOf(intervals[i], end_of_time);
  std::stable_sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) {
    if (keys[a] != keys[b]) return keys[a] < keys[b];
    return *intervals[a].buffer < *intervals[b].buffer;
  });
  return sorted;
}

template <typename BufferType>
absl::StatusOr<std::vector<int64_t>>
GlobalDecreasingSizeBestFitHeap<BufferType>::Pack(
    const std::vector<int64_t>& indices, int64_t limit) const {
  const packing::PackingProblem problem =
      this->MakeProblem(indices, alignment_);
  absl::Status status = packing::ValidatePackingProblem(problem);
  if (!status.ok()) return status;
  const packing::PackingItems items = packing::MakePackingItems(problem);
  std::vector<int64_t> packed;
  if (type_ == kFastMerge) {
    packed = packing::PackByMerging(items);
  } else if (type_ == kFastSplit) {
    packed = packing::PackBySplitting(items);
  } else {
    // Items come in the order of their groups.
    std::vector<int> order(items.items.size());
    std::iota(order.begin(), order.end(), 0);
    packed = packing::PackBestFit(items, order, limit / items.unit);
  }
  for (int64_t i = 0; i < packed.size(); ++i) {
    if (packed[i] > limit / items.unit - items.items[i].size) packed[i] = -1;
  }
  std::vector<int64_t> offsets(indices.size());  // 0 where there are no bytes
  for (int64_t i = 0; i < packed.size(); ++i) {
    const int64_t group = problem.buffers[items.items[i].buffers[0]].colocation;
    offsets[group] = packed[i] < 0 ? -1 : packed[i] * items.unit;
  }
  return offsets;
}

template <typename BufferType>
absl::StatusOr<HeapSimulationOf<BufferType>>
GlobalDecreasingSizeBestFitHeap<BufferType>::Finish() {
  absl::Status status = this->CheckAllFreed();
  if (!status.ok()) return status;
  this->FindColocationTimes();
  const std::vector<int64_t> sorted = SortedIntervals();
  absl::StatusOr<std::vector<int64_t>> offsets =
      Pack(sorted, std::numeric_limits<int64_t>::max());
  if (!offsets.ok()) return offsets.status();
  Result result;
  result.heap_results.emplace_back();
  for (int64_t i = 0; i < sorted.size(); ++i) {
    this->AddToHeap(sorted[i], (*offsets)[i], result.heap_results[0]);
  }
  result.heap_size = result.heap_results[0].heap_size;
  return result;
}

template <typename BufferType>
absl::StatusOr<HeapSimulationOf<BufferType>>
ConstrainedGlobalDecreasingSizeBestFitHeap<BufferType>::Finish() {
  absl::Status status = this->CheckAllFreed();
  if (!status.ok()) return status;
  this->FindColocationTimes();
  // One heap after the other, each filled with what still fits under the limit.
  // A heap takes at least the first buffer that is left, by itself if it
  // exceeds the limit, so this ends.
  Result result;
  for (std::vector<int64_t> left = this->SortedIntervals(); !left.empty();) {
    // The first is placed alone where it is above the limit itself.
    const int64_t first_size = this->GroupSize(left[0]);
    const bool alone = first_size > size_limit_per_heap_;
    absl::StatusOr<std::vector<int64_t>> offsets =
        alone ? std::vector<int64_t>(left.size(), -1)
              : this->Pack(left, size_limit_per_heap_);
    if (!offsets.ok()) return offsets.status();
    if (alone) (*offsets)[0] = 0;
    auto& heap = result.heap_results.emplace_back();
    std::vector<int64_t> rest;
    for (int64_t i = 0; i < left.size(); ++i) {
      if ((*offsets)[i] < 0) {
        rest.push_back(left[i]);
      } else {
        this->AddToHeap(left[i], (*offsets)[i], heap);
      }
    }
    result.heap_size += heap.heap_size;
    left = std::move(rest);
  }
  if (result.heap_results.empty()) result.heap_results.emplace_back();
  return result;
}

template <typename BufferType>
int64_t GlobalDecreasingSizeBestFitHeap<BufferType>::GroupSizeOf(
    const BufferInterval& interval) const {
  int64_t size = interval.size;
  for (const BufferType* other : interval.colocations) {
    const BufferInterval* its = this->FindInterval(other);
    if (its != nullptr) size = std::max(size, its->size);
  }
  return size;
}

template <typename BufferType>
auto GlobalDecreasingSizeBestFitHeap<BufferType>::MakeFreeChunks(
    const BufferInterval& buffer_interval, int64_t max_colocation_size) const
    -> FreeChunks {
  std::vector<Chunk> taken = interval_tree_.ChunksOverlappingInTime(
      buffer_interval.start, buffer_interval.end);
  for (const BufferType* other : buffer_interval.colocations) {
    const BufferInterval* its = this->FindInterval(other);
    if (its == nullptr) continue;
    for (const Chunk& chunk :
         interval_tree_.ChunksOverlappingInTime(its->start, its->end)) {
      taken.push_back(chunk);
    }
  }
  return FreeChunksBetween(std::move(taken), buffer_interval.size, alignment_,
                           /*room_on_top=*/max_colocation_size,
                           std::numeric_limits<int64_t>::max());
}

template <typename BufferType>
std::vector<HeapChunk>
GlobalDecreasingSizeBestFitHeap<BufferType>::FindChunkCandidates(
    const SlicedBufferInterval& sliced_buffer_interval,
    int64_t preferred_offset) const {
  const int64_t group_size =
      GroupSizeOf(sliced_buffer_interval.full_buffer_interval());
  std::vector<FreeChunks> free;
  for (int64_t i = 0; i < sliced_buffer_interval.num_slices(); ++i) {
    free.push_back(MakeFreeChunks(
        sliced_buffer_interval.IntervalForMakeFreeChunks(i), group_size));
  }
  std::vector<Chunk> chunks =
      xla::SlicedAllocationFinder(
          free, sliced_buffer_interval.SliceSizesSortedByOffset(), group_size,
          preferred_offset, alignment_,
          SliceTimePermutationIterator::CreateForNewAllocation(
              permutations_, sliced_buffer_interval.inclusive_start_times()))
          .Find();
  if (!chunks.empty() && chunks.back().size == 0) chunks.pop_back();
  return chunks;
}

template <typename BufferType>
HeapChunk GlobalDecreasingSizeBestFitHeap<BufferType>::FindChunkCandidate(
    const BufferInterval& buffer_interval, int64_t preferred_offset) const {
  std::vector<Chunk> chunks = FindChunkCandidates(
      SlicedBufferInterval::CreateConstInterval(buffer_interval),
      preferred_offset);
  CHECK(!chunks.empty()) << "there is always free space at the end";
  return Chunk::FromOffsetSize(chunks[0].offset, buffer_interval.size);
}

template <typename BufferType>
std::vector<std::pair<const BufferType*, HeapChunk>>
GlobalDecreasingSizeBestFitHeap<BufferType>::TakeChunks(
    const BufferInterval& buffer_interval, Chunk chunk, HeapResult& result) {
  std::vector<std::pair<const BufferType*, Chunk>> taken;
  if (chunk.size < 0) return taken;
  auto take = [&](const BufferInterval& interval) {
    const Chunk its = Chunk::FromOffsetSize(chunk.offset, interval.size);
    result.heap_size = result.UpdatedHeapSize(its);
    interval_tree_.Add(interval.start, interval.end, its);
    taken.emplace_back(interval.buffer, its);
  };
  take(buffer_interval);
  for (const BufferType* other : buffer_interval.colocations) {
    const BufferInterval* its = this->FindInterval(other);
    if (its != nullptr) take(*its);
  }
  return taken;
}

template <typename BufferType>
void GlobalDecreasingSizeBestFitHeap<BufferType>::CommitChunk(
    const BufferInterval& buffer_interval, Chunk chunk, HeapResult& result) {
  for (const auto& taken : TakeChunks(buffer_interval, chunk, result)) {
    result.chunk_map.insert(taken);
  }
}

template <typename BufferType>
void GlobalDecreasingSizeBestFitHeap<BufferType>::CommitChunk(
    const BufferInterval& buffer_interval, Chunk chunk) {
  for (const auto& [buffer, its] :
       TakeChunks(buffer_interval, chunk, result_)) {
    AddToChunkMap(buffer, its);
  }
}

template <typename BufferType>
absl::StatusOr<HeapSimulationOf<BufferType>> PlannedHeap<BufferType>::Finish() {
  absl::Status status = this->CheckAllFreed();
  if (!status.ok()) return status;
  const std::vector<int64_t> indices = this->CanonicalIntervals();
  packing::PackingProblem problem = this->MakeProblem(indices, alignment_);
  // Whole multiples, so that the bound counts what alignment wastes.
  for (packing::PackingBuffer& buffer : problem.buffers) {
    buffer.size = packing::AlignUp(buffer.size, alignment_);
  }
  packing::OffsetPlannerOptions options;
  options.max_steps = kPlannedHeapSteps;
  absl::StatusOr<packing::OffsetPlan> plan =
      packing::PlanOffsets(problem, options);
  if (!plan.ok()) return plan.status();
  Result result;
  result.heap_results.emplace_back();
  int64_t last_group = -1;
  for (int64_t b = 0; b < problem.buffers.size(); ++b) {
    const int64_t group = problem.buffers[b].colocation;
    if (group == last_group) continue;
    last_group = group;
    this->AddToHeap(indices[group], plan->solution.offsets[b],
                    result.heap_results[0]);
  }
  result.heap_size = result.heap_results[0].heap_size;
  return result;
}

template class IntervalRecordingHeap<HloValue>;
template class IntervalRecordingHeap<AllocationBlock>;
template class GlobalDecreasingSizeBestFitHeap<HloValue>;
template class GlobalDecreasingSizeBestFitHeap<AllocationBlock>;
template class ConstrainedGlobalDecreasingSizeBestFitHeap<HloValue>;
template class ConstrainedGlobalDecreasingSizeBestFitHeap<AllocationBlock>;
template class PlannedHeap<HloValue>;
template class PlannedHeap<AllocationBlock>;

}  // namespace xla
