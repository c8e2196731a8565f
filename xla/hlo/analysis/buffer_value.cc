#include "xla/hlo/analysis/buffer_value.h"

#include "absl/strings/str_cat.h"
#include "xla/layout.h"

namespace xla {

BufferValue::Color BufferValue::color() const {
  if (color_ != kNoColor) return color_;
  const Shape& own = shape();
  return own.IsArray() && own.has_layout() ? own.layout().memory_space() : 0;
}

std::string BufferValue::ToString() const {
  return absl::StrCat("<", id_, " ", instruction_->name(),
                      index_.empty() ? "" : index_.ToString(), ">");
}

LogicalBufferProto BufferValue::ToProto(const SizeFunction& size_fn) const {
  LogicalBufferProto proto;
  proto.set_id(id_);
  proto.set_size(size_fn(*this));
  *proto.mutable_defined_at() = ToLocationProto(*instruction_, index_);
  proto.set_color(color());
  return proto;
}

LogicalBufferProto::Location BufferValue::ToLocationProto(
    const HloInstruction& instruction, const ShapeIndex& index) {
  LogicalBufferProto::Location proto;
  proto.set_instruction_id(instruction.unique_id());
  for (int64_t i : index) proto.add_shape_index(i);
  return proto;
}

std::ostream& operator<<(std::ostream& out, const BufferValue& buffer) {
  return out << buffer.ToString();
}

}  // namespace xla
