#include "xla/hlo/analysis/buffers/buffer_assignment.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/scratch_layout.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"

namespace xla {

BufferAllocation* BufferAssignment::NewEmptyAllocation(
    int64_t size, BufferValue::Color color) {
  return &allocations_.emplace_back(allocations_.size(), size, color);
}

void BufferAssignment::AddAssignment(BufferAllocation* allocation,
                                     const HloValue& value, int64_t offset) {
  allocation->AddAssignment(value, offset, buffer_size_(value));
  if (value.id() >= allocation_of_value_.size()) {
    allocation_of_value_.resize(value.id() + 1, -1);
  }
  allocation_of_value_[value.id()] = allocation->index();
}

void BufferAssignment::ClearAllocations() {
  allocations_.clear();
  allocation_of_value_.clear();
  stats_ = Stats();
}

std::vector<BufferAllocation> BufferAssignment::TakeAllocations() {
  for (BufferAllocation& allocation : allocations_) {
    allocation.assigned_buffers_.clear();
    allocation.peak_buffers_.clear();
  }
  allocation_of_value_.clear();
  return std::exchange(allocations_, {});
}

int64_t BufferAssignment::HloBufferSize(const HloBuffer& buffer) const {
  int64_t size = 0;
  for (const HloValue* value : buffer.values()) {
    size = std::max(size, buffer_size_(*value));
  }
  return size;
}

bool BufferAssignment::HasAllocationAt(const HloInstruction* instruction,
                                       const ShapeIndex& index) const {
  for (const HloValue* value : GetSourceBuffers(instruction, index)) {
    if (HasAllocation(*value)) return true;
  }
  return false;
}

std::set<BufferAllocation::Slice> BufferAssignment::GetAllSlices(
    const HloInstruction* instruction, const ShapeIndex& index) const {
  std::set<BufferAllocation::Slice> slices;
  for (const HloValue* value : GetSourceBuffers(instruction, index)) {
    if (!HasAllocation(*value)) continue;
    slices.insert(GetAssignedAllocation(*value).GetSlice(*value));
  }
  return slices;
}

absl::StatusOr<BufferAllocation::Slice> BufferAssignment::GetUniqueSlice(
    const HloInstruction* instruction, const ShapeIndex& index) const {
  const std::set<BufferAllocation::Slice> slices =
      GetAllSlices(instruction, index);
  if (slices.size() == 1) return *slices.begin();
  return absl::FailedPreconditionError(
      absl::StrCat("buffer assignment: ", instruction->name(), " has ",
                   slices.size(), " slices at ", index.ToString()));
}

absl::StatusOr<BufferAllocation::Slice>
BufferAssignment::GetUniqueTopLevelOutputSlice() const {
  return GetUniqueTopLevelSlice(
      module_->entry_computation()->root_instruction());
}

absl::StatusOr<Shape> BufferAssignment::GetShapeForUniqueSlice(
    const HloInstruction* instruction, const ShapeIndex& index) const {
  absl::StatusOr<BufferAllocation::Slice> slice =
      GetUniqueSlice(instruction, index);
  if (!slice.ok()) return slice.status();
  for (const HloValue* value : GetSourceBuffers(instruction, index)) {
    if (HasAllocation(*value)) return value->shape();
  }
  return absl::InternalError("buffer assignment: a slice without a value");
}

const BufferAllocation* BufferAssignment::GetInstructionAllocation(
    const HloInstruction* hlo, const ShapeIndex& shape_index) const {
  absl::StatusOr<BufferAllocation::Slice> slice =
      GetUniqueSlice(hlo, shape_index);
  return slice.ok() ? slice->allocation() : nullptr;
}

bool BufferAssignment::SharesSliceAtIndex(
    const HloInstruction* hlo_a, const ShapeIndex& shape_index_a,
    const HloInstruction* hlo_b, const ShapeIndex& shape_index_b) const {
  absl::StatusOr<BufferAllocation::Slice> a =
      GetUniqueSlice(hlo_a, shape_index_a);
  absl::StatusOr<BufferAllocation::Slice> b =
      GetUniqueSlice(hlo_b, shape_index_b);
  return a.ok() && b.ok() && *a == *b;
}

bool BufferAssignment::HaveDisjointSlices(const HloInstruction* hlo_a,
                                          const HloInstruction* hlo_b) const {
  auto all_slices = [&](const HloInstruction* hlo) {
    std::set<BufferAllocation::Slice> slices;
    ShapeUtil::ForEachSubshape(hlo->shape(),
                               [&](const Shape&, const ShapeIndex& index) {
                                 slices.merge(GetAllSlices(hlo, index));
                               });
    return slices;
  };
  const std::set<BufferAllocation::Slice> slices_b = all_slices(hlo_b);
  for (const BufferAllocation::Slice& a : all_slices(hlo_a)) {
    for (const BufferAllocation::Slice& b : slices_b) {
      if (a.OverlapsWith(b)) return false;
    }
  }
  return true;
}

// A sweep over the starts and ends of live ranges. Ends sort before starts of
// the same time, because their change is negative, so that ranges that only
// touch do not count as overlapping. The values alive at the first time of
// maximal size are the peak. Of values at one offset that live at the same
// time, which share their bytes, the one that starts last counts.
void BufferAssignment::FindPeakBuffers(BufferAllocation& allocation) const {
  struct Life {
    int64_t start, end;  // times, both included
    const HloValue* value;
    int64_t size;
  };
  std::map<int64_t, std::vector<Life>> by_offset;
  const HloValue* largest = nullptr;
  int64_t largest_size = -1;
  for (const auto& [value, place] : allocation.SortedBuffers()) {
    if (place.size >= largest_size) {
      largest = value;
      largest_size = place.size;
    }
    if (!HasHloLiveRange()) continue;
    auto range = live_range_->buffer_live_ranges().find(value);
    if (range == live_range_->buffer_live_ranges().end()) continue;
    by_offset[place.offset].push_back(
        {range->second.start, range->second.end, value, place.size});
  }
  std::vector<Life> lives;
  std::vector<std::pair<int64_t, int64_t>> changes;  // time, bytes
  for (auto& [offset, at_offset] : by_offset) {
    absl::c_stable_sort(at_offset, [](const Life& a, const Life& b) {
      return a.start < b.start;
    });
    for (size_t i = 0; i < at_offset.size(); ++i) {
      Life& life = at_offset[i];
      if (i + 1 < at_offset.size()) {
        life.end = std::min(life.end, at_offset[i + 1].start - 1);
      }
      if (life.end < life.start) continue;
      lives.push_back(life);
      changes.emplace_back(life.start, life.size);
      changes.emplace_back(life.end + 1, -life.size);
    }
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0, most = -1, peak = -1;
  for (const auto& [time, bytes] : changes) {
    live += bytes;
    if (live <= most) continue;
    most = live;
    peak = time;
  }
  std::vector<const HloValue*>& values = allocation.peak_buffers_;
  values.clear();
  for (const Life& life : lives) {
    if (life.start <= peak && peak <= life.end) values.push_back(life.value);
  }
  absl::c_sort(values, HloValue::IdLessThan);
  // Without times all values are there one after the other.
  if (values.empty() && largest != nullptr) values.push_back(largest);
}

void BufferAssignment::Finalize() {
  for (BufferAllocation& allocation : allocations_) {
    FindPeakBuffers(allocation);
  }
  stats_ = Stats();
  for (const BufferAllocation& allocation : allocations_) {
    const int64_t size = allocation.size();
    ++stats_.total_allocation_count;
    stats_.total_allocation_bytes += size;
    if (allocation.is_entry_computation_parameter()) {
      ++stats_.parameter_allocation_count;
      stats_.parameter_allocation_bytes += size;
    }
    if (allocation.is_constant()) {
      ++stats_.constant_allocation_count;
      stats_.constant_allocation_bytes += size;
    }
    if (allocation.maybe_live_out()) {
      ++stats_.maybe_live_out_allocation_count;
      stats_.maybe_live_out_allocation_bytes += size;
    }
    if (allocation.IsPreallocatedTempBuffer()) {
      ++stats_.preallocated_temp_allocation_count;
      stats_.preallocated_temp_allocation_bytes += size;
      stats_.preallocated_temp_fragmentation_bytes +=
          allocation.fragmentation_bytes();
    }
  }
}

void BufferAssignment::CombineTemporaries(
    const BufferValue::AlignmentFunction& alignment,
    std::optional<BufferValue::Color> temp_color) {
  const auto scratch =
      std::stable_partition(allocations_.begin(), allocations_.end(),
                            [](const BufferAllocation& allocation) {
                              return !allocation.IsPreallocatedTempBuffer();
                            });
  std::vector<ScratchLayout::Piece> pieces;
  for (auto it = scratch; it != allocations_.end(); ++it) {
    pieces.push_back({it->color(), it->size()});
  }
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  const uint64_t page_size = multiheap_size_constraint_per_heap();
  const ScratchLayout layout = LayOutScratch(
      pieces, alignment,
      page_size == 0 ? kNoLimit : std::min<uint64_t>(page_size, kNoLimit));

  std::vector<BufferAllocation> blocks;
  for (const ScratchLayout::Block& block : layout.blocks) {
    BufferAllocation& allocation = blocks.emplace_back(
        /*index=*/0, block.size,
        block.color == 0 ? temp_color.value_or(0) : block.color);
    allocation.page_id_ = block.page;
    allocation.is_tuple_ = true;
    allocation.fragmentation_bytes_ = block.padding;
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const BufferAllocation& piece = scratch[i];
    const auto [block, base] = layout.places[i];
    BufferAllocation& allocation = blocks[block];
    for (const auto& [value, place] : piece.assigned_buffers_) {
      allocation.AddAssignment(*value, base + place.offset, place.size);
    }
    for (const HeapSimulatorTrace& trace : piece.heap_traces_) {
      allocation.AddHeapTrace(trace);
    }
    allocation.is_tuple_ &= piece.is_tuple_;
    allocation.fragmentation_bytes_ += piece.fragmentation_bytes_;
  }
  allocations_.erase(scratch, allocations_.end());
  absl::c_move(blocks, std::back_inserter(allocations_));

  BufferAllocation::Index index = 0;
  for (BufferAllocation& allocation : allocations_) {
    allocation.index_ = index;
    for (HeapSimulatorTrace& trace : allocation.heap_traces_) {
      trace.set_buffer_allocation_index(index);
    }
    for (const auto& [value, place] : allocation.assigned_buffers_) {
      allocation_of_value_[value->id()] = index;
    }
    ++index;
  }
}

}  // namespace xla
