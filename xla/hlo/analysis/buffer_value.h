#ifndef XLA_HLO_ANALYSIS_BUFFER_VALUE_H_
#define XLA_HLO_ANALYSIS_BUFFER_VALUE_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

// Memory that an instruction defines at one index of its shape. Common part of
// LogicalBuffer (points-to analysis) and HloValue (dataflow analysis).
class BufferValue {
 public:
  // Memory space.
  using Color = int64_t;
  // Unique in one analysis.
  using Id = int64_t;
  // Bytes of a buffer.
  using SizeFunction = std::function<int64_t(const BufferValue&)>;
  // Bytes that addresses of a color are multiples of.
  using AlignmentFunction = std::function<int64_t(Color)>;

  BufferValue(const BufferValue&) = default;
  BufferValue& operator=(const BufferValue&) = default;
  BufferValue(BufferValue&&) = default;
  BufferValue& operator=(BufferValue&&) = default;
  virtual ~BufferValue() = default;

  Id id() const { return id_; }
  HloInstruction* instruction() const { return instruction_; }
  const ShapeIndex& index() const { return index_; }

  // The color that was set, else the memory space of the layout, else 0.
  Color color() const;
  void set_color(Color color) { color_ = color; }
  bool has_color() const { return color_ != kNoColor; }

  const Shape& shape() const {
    return ShapeUtil::GetSubshape(instruction_->shape(), index_);
  }
  // At index {}.
  bool IsTopLevel() const { return index_.empty(); }
  bool IsTuple() const { return shape().IsTuple(); }
  bool IsArray() const { return shape().IsArray(); }

  // By id.
  bool operator<(const BufferValue& other) const { return id_ < other.id_; }

  // `name{1,0}` with the id.
  std::string ToString() const;

  // Calls `size_fn` for arrays and for tuples.
  LogicalBufferProto ToProto(const SizeFunction& size_fn) const;
  static LogicalBufferProto::Location ToLocationProto(
      const HloInstruction& instruction, const ShapeIndex& index);

 protected:
  BufferValue(HloInstruction* instruction, const ShapeIndex& index, Id id)
      : instruction_(instruction), index_(index), id_(id) {}

 private:
  static constexpr Color kNoColor = -1;

  HloInstruction* instruction_;
  ShapeIndex index_;
  Id id_;
  Color color_ = kNoColor;
};

std::ostream& operator<<(std::ostream& out, const BufferValue& buffer);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFER_VALUE_H_
