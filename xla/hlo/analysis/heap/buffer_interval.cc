#include "xla/hlo/analysis/heap/buffer_interval.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/heap/allocation_block.h"
#include "xla/hlo/analysis/hlo_value.h"

namespace xla {

template <typename BufferType>
std::string BufferIntervalOf<BufferType>::ToString() const {
  return absl::StrCat("{ ", size, " bytes, [", start, ", ", end, "], ",
                      colocations.size(), " colocations }");
}

template <typename BufferType>
SlicedBufferIntervalOf<BufferType>::SlicedBufferIntervalOf(
    const BufferInterval& full, BufferInterval* mutable_full)
    : full_(&full),
      mutable_full_(mutable_full),
      sizes_(1, full.size),
      intervals_(1, full) {}

template <typename BufferType>
void SlicedBufferIntervalOf<BufferType>::Slice(
    absl::Span<const int64_t> slice_sizes_sorted_by_offset) {
  if (slice_sizes_sorted_by_offset.empty()) {
    sizes_ = {full_->size};
  } else {
    sizes_.assign(slice_sizes_sorted_by_offset.begin(),
                  slice_sizes_sorted_by_offset.end());
  }
  CHECK_EQ(std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0}),
           full_->size)
      << "slices must make up the buffer";
  BufferInterval interval = *full_;
  interval.size = *std::min_element(sizes_.begin(), sizes_.end());
  interval.colocations.clear();
  intervals_.assign(sizes_.size(), interval);
  intervals_.back() = *full_;
}

template <typename BufferType>
void SlicedBufferIntervalOf<BufferType>::UpdateInclusiveSliceStartTimes(
    const std::vector<int64_t>& inclusive_start_times) {
  CHECK(mutable_full_ != nullptr) << "the interval is constant";
  CHECK_EQ(inclusive_start_times.size(), num_slices());
  CHECK(std::is_sorted(inclusive_start_times.begin(),
                       inclusive_start_times.end()));
  mutable_full_->start = inclusive_start_times.front();
  for (int64_t i = 0; i < intervals_.size(); ++i) {
    intervals_[i].start = inclusive_start_times[i];
    if (i > 0) intervals_[i - 1].end = inclusive_start_times[i] - 1;
  }
}

template <typename BufferType>
void SlicedBufferIntervalOf<BufferType>::UpdateExclusiveSliceStartTimes(
    const std::vector<int64_t>& exclusive_start_times) {
  std::vector<int64_t> inclusive = exclusive_start_times;
  for (int64_t& time : inclusive) ++time;
  UpdateInclusiveSliceStartTimes(inclusive);
}

template <typename BufferType>
void SlicedBufferIntervalOf<BufferType>::UpdateEndTime(int64_t end_time) {
  CHECK(mutable_full_ != nullptr) << "the interval is constant";
  mutable_full_->end = end_time;
  intervals_.back().end = end_time;
}

template <typename BufferType>
std::vector<int64_t> SlicedBufferIntervalOf<BufferType>::inclusive_start_times()
    const {
  std::vector<int64_t> times;
  for (const BufferInterval& interval : intervals_) {
    times.push_back(interval.start);
  }
  return times;
}

template <typename BufferType>
std::string SlicedBufferIntervalOf<BufferType>::ToString() const {
  return absl::StrCat("{ ", full_->ToString(), ", slices of ",
                      absl::StrJoin(sizes_, ", "), " bytes from times ",
                      absl::StrJoin(inclusive_start_times(), ", "), " on }");
}

template struct BufferIntervalOf<HloValue>;
template struct BufferIntervalOf<AllocationBlock>;
template class SlicedBufferIntervalOf<HloValue>;
template class SlicedBufferIntervalOf<AllocationBlock>;

}  // namespace xla
