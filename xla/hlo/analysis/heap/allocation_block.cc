#include "xla/hlo/analysis/heap/allocation_block.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace xla {

std::string AllocatedSlice::ToString() const {
  return absl::StrCat(size, " bytes at ", offset, " from time ",
                      inclusive_start_time);
}

std::vector<int64_t> SlicedAllocationData::SizesSortedByOffset() const {
  std::vector<int64_t> sizes;
  for (const AllocatedSlice& slice : slices_sorted_by_offset) {
    sizes.push_back(slice.size);
  }
  return sizes;
}

std::vector<int64_t> SlicedAllocationData::SortedInclusiveStartTimes() const {
  std::vector<int64_t> times;
  for (const AllocatedSlice& slice : slices_sorted_by_offset) {
    times.push_back(slice.inclusive_start_time);
  }
  std::sort(times.begin(), times.end());
  return times;
}

std::string SlicedAllocationData::ToString() const {
  return absl::StrCat(
      "{ ",
      absl::StrJoin(slices_sorted_by_offset, "; ",
                    [](std::string* out, const AllocatedSlice& slice) {
                      absl::StrAppend(out, slice.ToString());
                    }),
      " }");
}

std::string AllocationBlock::ToString() const {
  std::string text =
      absl::StrCat("block ", id, ": time [", inclusive_start_time, ", ",
                   end_time, "], ", size, " bytes at ", offset);
  if (original_slice_data.has_value()) {
    absl::StrAppend(&text, ", slices ", original_slice_data->ToString());
  }
  if (repacked_slice_data.has_value()) {
    absl::StrAppend(&text, ", repacked ", repacked_slice_data->ToString());
  }
  return text;
}

std::vector<AllocationBlock*> AllocationBlock::GetColocations() {
  std::vector<AllocationBlock*> blocks = {this};
  for (AllocationBlock* next = next_colocated; next != nullptr && next != this;
       next = next->next_colocated) {
    blocks.push_back(next);
  }
  return blocks;
}

int AllocationBlock::GetColocationsCount() const {
  int count = 1;
  for (const AllocationBlock* next = next_colocated;
       next != nullptr && next != this; next = next->next_colocated) {
    ++count;
  }
  return count;
}

}  // namespace xla
