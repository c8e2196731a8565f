#include "xla/hlo/analysis/buffers/buffer_allocation.h"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/service/hlo.pb.h"

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

std::string BufferAllocation::ToShortString() const {
  std::string text = absl::StrCat("allocation ", index_, ": size ", size_);
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

std::string BufferAllocation::ToString() const {
  std::string text = absl::StrCat(ToShortString(), "\n");
  for (const auto& [value, place] : SortedBuffers()) {
    absl::StrAppend(&text, "  ", value->ToShortString(), " (size=", place.size,
                    ", offset=", place.offset, ")\n");
  }
  return text;
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
