#include "xla/hlo/analysis/buffers/buffer_assignment.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"

namespace xla {

BufferAllocation& BufferAssignment::NewAllocation(int64_t size,
                                                  BufferValue::Color color) {
  allocations_.emplace_back(allocations_.size(), size, color);
  return allocations_.back();
}

void BufferAssignment::Assign(BufferAllocation& allocation,
                              const HloValue& value, int64_t offset) {
  allocation.AddAssignment(value, offset, buffer_size_(value));
  allocation_of_value_[&value] = allocation.index();
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

void BufferAssignment::ComputeStats() {
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

std::string BufferAssignment::ToString() const {
  std::string text =
      absl::StrCat("buffer assignment of ", module_->name(), ":\n");
  for (const BufferAllocation& allocation : allocations_) {
    absl::StrAppend(&text, allocation.ToString());
  }
  return text;
}

std::string BufferAssignment::MemoryUsageReport(int64_t max_allocations) const {
  std::string text = absl::StrCat(
      "total ", stats_.total_allocation_bytes, " bytes: parameters ",
      stats_.parameter_allocation_bytes, ", constants ",
      stats_.constant_allocation_bytes, ", results ",
      stats_.maybe_live_out_allocation_bytes, ", temporary ",
      stats_.preallocated_temp_allocation_bytes, " (fragmentation ",
      stats_.preallocated_temp_fragmentation_bytes, ")\n");
  std::vector<const BufferAllocation*> largest;
  for (const BufferAllocation& allocation : allocations_) {
    largest.push_back(&allocation);
  }
  std::stable_sort(largest.begin(), largest.end(),
                   [](const BufferAllocation* a, const BufferAllocation* b) {
                     return a->size() > b->size();
                   });
  if (largest.size() > max_allocations) largest.resize(max_allocations);
  for (const BufferAllocation* allocation : largest) {
    absl::StrAppend(&text, "  ", allocation->ToShortString(), "\n");
  }
  return text;
}

BufferAssignmentProto BufferAssignment::ToProto() const {
  BufferAssignmentProto proto;
  for (const HloValue* value : dataflow_analysis().values()) {
    if (!HasAllocation(*value)) continue;
    *proto.add_logical_buffers() = value->ToProto(buffer_size_);
    for (const HloPosition& position : value->positions()) {
      if (position == value->defining_position()) continue;
      auto* alias = proto.add_buffer_aliases();
      alias->set_source_buffer_id(value->id());
      *alias->mutable_location() =
          BufferValue::ToLocationProto(*position.instruction, position.index);
    }
  }
  for (const BufferAllocation& allocation : allocations_) {
    *proto.add_buffer_allocations() = allocation.ToProto();
  }
  for (const HeapSimulatorTrace& trace : heap_traces_) {
    *proto.add_heap_simulator_traces() = trace;
  }
  return proto;
}

}  // namespace xla
