#ifndef XLA_HLO_ANALYSIS_HEAP_BUFFER_INTERVAL_H_
#define XLA_HLO_ANALYSIS_HEAP_BUFFER_INTERVAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace xla {

// When a buffer lives, both times included.
// GlobalDecreasingSizeBestFitHeap::BufferInterval.
template <typename BufferType>
struct BufferIntervalOf {
  std::string ToString() const;

  const BufferType* buffer = nullptr;
  int64_t size = -1;  // bytes
  int64_t start = -1;
  int64_t end = -1;
  // Buffers that were allocated by ShareWith with this one.
  absl::InlinedVector<const BufferType*, 2> colocations;
  // False for buffers allocated by ShareWith.
  bool need_allocation = false;
  // The first start and the last end of this one and those that share with it;
  // set by Finish().
  int64_t min_colocation_start_time = -1;
  int64_t max_colocation_end_time = -1;
};

// A buffer that gets its memory slice by slice, each from its own start time to
// the buffer's end. GlobalDecreasingSizeBestFitHeap::SlicedBufferInterval.
//
//   Slice({3, 5}); UpdateInclusiveSliceStartTimes({10, 20})
//   → 3 bytes and, right above them, 5; one of the two is there from time 10
//     on, the other from time 20 on
template <typename BufferType>
class SlicedBufferIntervalOf {
 public:
  using BufferInterval = BufferIntervalOf<BufferType>;

  // A single slice, read-only. `full_buffer_interval` must outlive the result,
  // here and below.
  static const SlicedBufferIntervalOf CreateConstInterval(
      const BufferInterval& full_buffer_interval) {
    return SlicedBufferIntervalOf(full_buffer_interval, nullptr);
  }
  static SlicedBufferIntervalOf CreateMutableInterval(
      BufferInterval& full_buffer_interval) {
    return SlicedBufferIntervalOf(full_buffer_interval, &full_buffer_interval);
  }

  // Slices the buffer; the sizes (bytes) must add up to its size. All slices
  // start when it starts. No sizes: one slice.
  void Slice(absl::Span<const int64_t> slice_sizes_sorted_by_offset);

  // Ascending, one per slice. The buffer starts when its first slice does. An
  // exclusive time is the last one before the slice starts.
  void UpdateInclusiveSliceStartTimes(
      const std::vector<int64_t>& inclusive_start_times);
  void UpdateExclusiveSliceStartTimes(
      const std::vector<int64_t>& exclusive_start_times);
  void UpdateEndTime(int64_t end_time);

  const BufferInterval& full_buffer_interval() const { return *full_; }
  size_t num_slices() const { return sizes_.size(); }
  const std::vector<int64_t>& SliceSizesSortedByOffset() const {
    return sizes_;
  }
  std::vector<int64_t> inclusive_start_times() const;

  // The interval from the start time of that rank to the next: chunks that are
  // free then, at least as large as the smallest slice, and free at all later
  // times may hold a slice. The last one is the whole buffer until its end,
  // with those that share its offset.
  const BufferInterval& IntervalForMakeFreeChunks(int64_t slice_time) const {
    return intervals_[slice_time];
  }

  std::string ToString() const;

 private:
  SlicedBufferIntervalOf(const BufferInterval& full,
                         BufferInterval* mutable_full);

  const BufferInterval* full_;
  BufferInterval* mutable_full_;           // null: may not be changed
  std::vector<int64_t> sizes_;             // by offset
  std::vector<BufferInterval> intervals_;  // by rank of start time
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_BUFFER_INTERVAL_H_
