#include "xla/hlo/analysis/heap/best_fit_heap.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
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
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/packing/best_fit.h"
#include "xla/hlo/analysis/packing/offset_planner.h"
#include "xla/hlo/analysis/packing/packing_items.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla {
namespace {

// Some tenths of a second of exact search, where the heuristics leave a gap.
constexpr int64_t kPlannedHeapSteps = 50'000;

}  // namespace

template <typename BufferType>
std::string IntervalRecordingHeap<BufferType>::BufferInterval::ToString()
    const {
  return absl::StrCat("{ ", size, " bytes, [", start, ", ", end, "], ",
                      colocations.size(), " colocations }");
}

template <typename BufferType>
void IntervalRecordingHeap<BufferType>::Alloc(const BufferType* buffer,
                                              int64_t size) {
  CHECK(index_.emplace(buffer, intervals_.size()).second)
      << "a buffer was allocated twice";
  BufferInterval interval;
  interval.buffer = buffer;
  interval.size = size;
  interval.start = now_++;
  interval.need_allocation = true;
  intervals_.push_back(std::move(interval));
  canonical_[buffer] = buffer;
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
  CHECK_EQ(interval.size, size) << "a buffer was freed with another size";
  CHECK_EQ(interval.end, -1) << "a buffer was freed twice";
  interval.end = now_++;
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
    for (const auto& [start, end] : lives) {
      if (start > lives[0].first && start < buffer.upper) {
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
  auto add = [&](const BufferType* buffer, int64_t size) {
    const Chunk chunk = Chunk::FromOffsetSize(offset, size);
    heap.heap_size = heap.UpdatedHeapSize(chunk);
    heap.chunk_map.emplace(buffer, chunk);
  };
  add(canonical.buffer, canonical.size);
  for (const BufferType* other : canonical.colocations) {
    add(other, IntervalOf(other).size);
  }
}

template <typename BufferType>
bool GlobalDecreasingSizeBestFitHeap<BufferType>::Before(
    const BufferInterval& a, const BufferInterval& b) const {
  if (type_ == kCustom && compare_ != nullptr) {
    if (compare_(a, b)) return true;
    if (compare_(b, a)) return false;
    return a.start < b.start;
  }
  auto duration = [&](const BufferInterval& interval) {
    int64_t end = interval.end;
    for (const BufferType* other : interval.colocations) {
      end = std::max(end, this->IntervalOf(other).end);
    }
    return end - interval.start;
  };
  auto key = [&](const BufferInterval& interval) {
    return type_ == kTemporal
               ? std::make_tuple(-duration(interval), -interval.size,
                                 interval.start)
               : std::make_tuple(-interval.size, -duration(interval),
                                 interval.start);
  };
  return key(a) < key(b);
}

template <typename BufferType>
std::vector<int64_t>
GlobalDecreasingSizeBestFitHeap<BufferType>::SortedIntervals() const {
  std::vector<int64_t> sorted = this->CanonicalIntervals();
  std::stable_sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) {
    return Before(this->intervals()[a], this->intervals()[b]);
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
  // Items come in the order of their groups.
  std::vector<int> order(items.items.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int64_t> packed =
      packing::PackBestFit(items, order, limit / items.unit);
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
