#include "xla/hlo/analysis/buffers/buffer_allocation.h"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/service/buffer_assignment.pb.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"

namespace xla {

std::string BufferAllocation::Slice::ToString() const {
  return absl::StrCat("{index:", index(), ", offset:", offset_,
                      ", size:", size_, "}");
}

BufferAllocation::Slice BufferAllocation::GetSlice(
    const HloValue& buffer) const {
  auto it = assigned_buffers_.find(&buffer);
  CHECK(it != assigned_buffers_.end())
      << buffer.ToShortString() << " is not in allocation " << index_;
  return Slice(this, it->second.offset, it->second.size,
               buffer.shape().element_type());
}

std::vector<std::pair<const HloValue*, BufferAllocation::OffsetSize>>
BufferAllocation::SortedBuffers() const {
  std::vector<std::pair<const HloValue*, OffsetSize>> sorted(
      assigned_buffers_.begin(), assigned_buffers_.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first->id() < b.first->id();
  });
  return sorted;
}

std::vector<const HloValue*> BufferAllocation::CrossColorBuffers() const {
  std::vector<const HloValue*> values;
  for (const auto& [value, place] : SortedBuffers()) {
    if (value->color() != color_) values.push_back(value);
  }
  return values;
}

absl::StatusOr<buffer_assignment::BufferAllocationSliceProto>
BufferAllocation::Slice::ToProto() const {
  if (allocation_ == nullptr) {
    return absl::FailedPreconditionError(
        "buffer allocation: an empty slice has no proto");
  }
  buffer_assignment::BufferAllocationSliceProto proto;
  proto.set_buffer_allocation_index(index());
  proto.set_offset(offset_);
  proto.set_size(size_);
  proto.set_element_type(element_type_);
  return proto;
}

absl::StatusOr<BufferAllocation::Slice> BufferAllocation::Slice::FromProto(
    const buffer_assignment::BufferAllocationSliceProto& proto,
    absl::Span<const BufferAllocation> buffer_allocations) {
  const int64_t index = proto.buffer_allocation_index();
  if (index < 0 || index >= buffer_allocations.size()) {
    return absl::OutOfRangeError(absl::StrCat(
        "buffer allocation: there is no allocation ", index, " for a slice"));
  }
  const BufferAllocation& allocation = buffer_allocations[index];
  if (proto.offset() < 0 || proto.size() < 0 ||
      proto.offset() > allocation.size() ||
      proto.size() > allocation.size() - proto.offset()) {
    return absl::OutOfRangeError(absl::StrCat(
        "buffer allocation: a slice of ", proto.size(), " bytes at ",
        proto.offset(), " is not inside ", allocation.ToShortString()));
  }
  return Slice(&allocation, proto.offset(), proto.size(), proto.element_type());
}

std::string BufferAllocation::ToShortString(bool human_readable_size) const {
  std::string text = absl::StrCat(
      "allocation ", index_, ": size ",
      human_readable_size ? HumanBytes(size_) : absl::StrCat(size_));
  if (color_ != 0) absl::StrAppend(&text, ", color ", color_);
  if (is_entry_computation_parameter()) {
    absl::StrAppend(&text, ", parameter ", *parameter_number_, ", shape index ",
                    param_shape_index_.ToString());
  }
  if (parameter_aliased_with_output_) {
    absl::StrAppend(&text, ", aliased with output");
  }
  if (is_constant_) absl::StrAppend(&text, ", constant");
  if (is_thread_local_) absl::StrAppend(&text, ", thread-local");
  if (is_tuple_) absl::StrAppend(&text, ", tuple");
  if (maybe_live_out_) absl::StrAppend(&text, ", maybe-live-out");
  if (IsPreallocatedTempBuffer()) absl::StrAppend(&text, ", preallocated-temp");
  return text;
}

std::string BufferAllocation::ValuesToString() const {
  std::string text;
  for (const auto& [value, place] : SortedBuffers()) {
    absl::StrAppend(&text, "  ", value->ToShortString(), " (size=", place.size,
                    ", offset=", place.offset, ")\n");
  }
  return text;
}

std::string BufferAllocation::ToString() const {
  return absl::StrCat(ToShortString(), "\n", ValuesToString());
}

std::string BufferAllocation::MemoryUsageReport(const std::string& prefix,
                                                float percentile,
                                                int64_t more_than_k,
                                                bool print_shape_layout) const {
  auto sorted = SortedBuffers();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) {
                     return a.second.size > b.second.size;
                   });
  std::string text = absl::StrCat(prefix, ToShortString(true), "\n");
  for (int64_t i = 0; i < sorted.size(); ++i) {
    const auto& [value, place] = sorted[i];
    if (i >= more_than_k && place.size < percentile * size_) {
      absl::StrAppend(&text, prefix, "  and ", sorted.size() - i, " smaller\n");
      break;
    }
    absl::StrAppend(&text, prefix, "  ", HumanBytes(place.size), " at ",
                    place.offset, ": ", value->ToShortString(), " ",
                    print_shape_layout
                        ? ShapeUtil::HumanStringWithLayout(value->shape())
                        : ShapeUtil::HumanString(value->shape()),
                    "\n");
  }
  return text;
}

BufferAllocation BufferAllocation::FromProto(
    const BufferAllocationProto& proto) {
  BufferAllocation allocation(proto.index(), proto.size(), proto.color());
  allocation.is_thread_local_ = proto.is_thread_local();
  allocation.is_tuple_ = proto.is_tuple();
  allocation.is_constant_ = proto.is_constant();
  allocation.maybe_live_out_ = proto.maybe_live_out();
  if (proto.is_entry_computation_parameter()) {
    ShapeIndex index;
    for (int64_t i : proto.parameter_shape_index()) index.push_back(i);
    allocation.set_entry_computation_parameter(
        proto.parameter_number(), std::move(index),
        proto.is_parameter_aliased_with_output());
  }
  return allocation;
}

BufferAllocationProto BufferAllocation::ToProto() const {
  BufferAllocationProto proto;
  proto.set_index(index_);
  proto.set_size(size_);
  proto.set_is_thread_local(is_thread_local_);
  proto.set_is_tuple(is_tuple_);
  proto.set_color(color_);
  if (is_entry_computation_parameter()) {
    proto.set_is_entry_computation_parameter(true);
    proto.set_parameter_number(*parameter_number_);
    for (int64_t i : param_shape_index_) proto.add_parameter_shape_index(i);
    proto.set_is_parameter_aliased_with_output(parameter_aliased_with_output_);
  }
  proto.set_is_constant(is_constant_);
  proto.set_maybe_live_out(maybe_live_out_);
  for (const auto& [value, place] : SortedBuffers()) {
    auto* assigned = proto.add_assigned();
    assigned->set_logical_buffer_id(value->id());
    assigned->set_offset(place.offset);
    assigned->set_size(place.size);
    assigned->set_element_type(value->shape().element_type());
  }
  return proto;
}

std::ostream& operator<<(std::ostream& out, const BufferAllocation& buffer) {
  return out << buffer.ToString();
}

std::ostream& operator<<(std::ostream& out,
                         const BufferAllocation::Slice& slice) {
  return out << slice.ToString();
}

}  // namespace xla
