#ifndef XLA_HLO_EVALUATOR_VALUE_H_
#define XLA_HLO_EVALUATOR_VALUE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Run-time values of the evaluator.
//
// An array is a dense buffer in logical row-major order, whatever layout its
// shape has, one element per sizeof(native type) bytes; a tuple is a list of
// values. Values are handles: copying one, taking a tuple apart and reshaping
// cost O(1), since buffers are shared and only written to by a sole owner.
// Layouts matter at the border alone, where literals come in and go out.
//
// The dimensions of an array are its actual sizes: an array whose shape is
// bounded dynamic, s32[<=8], holds just the elements that it has.

namespace xla {
namespace evaluator {

// Counts the bytes of live buffers, and refuses those beyond a limit. Shared by
// all devices of a run; outlives all values made with it.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t limit_bytes) : limit_(limit_bytes) {}
  int64_t limit_bytes() const { return limit_; }
  int64_t live_bytes() const { return live_; }
  int64_t peak_bytes() const { return peak_; }

  // ResourceExhausted, with both figures, where the limit would be passed.
  absl::Status Reserve(int64_t bytes);
  void Release(int64_t bytes) { live_ -= bytes; }

 private:
  int64_t limit_;
  int64_t live_ = 0;
  int64_t peak_ = 0;
};

class Value {
 public:
  // No value at all.
  Value() = default;

  static Value Token();
  static Value Tuple(std::vector<Value> elements);
  // An array with undefined elements (zeros for MakeZeros), owned by the value.
  // ResourceExhausted when over budget; `budget` may be null.
  static absl::StatusOr<Value> Make(PrimitiveType type,
                                    absl::Span<const int64_t> dims,
                                    MemoryBudget* budget);
  static absl::StatusOr<Value> MakeZeros(PrimitiveType type,
                                         absl::Span<const int64_t> dims,
                                         MemoryBudget* budget);
  // Zeros (tokens, tuples of zeros) of a shape; dynamic dimensions at bounds.
  static absl::StatusOr<Value> ZerosOfShape(const Shape& shape,
                                            MemoryBudget* budget);
  template <typename T>
  static Value Scalar(T value) {
    absl::StatusOr<Value> made =
        Make(primitive_util::NativeToPrimitiveType<T>(), {}, nullptr);
    CHECK_OK(made.status());
    *made->mutable_data<T>() = value;
    return *std::move(made);
  }

  // With `borrow`, arrays with descending layout and static dimensions point
  // into the literal, which must then outlive the value and all its copies.
  // FailedPrecondition for literals whose elements are elided or not known.
  static absl::StatusOr<Value> FromLiteral(const LiteralBase& literal,
                                           MemoryBudget* budget, bool borrow);
  // The value in the layout of `shape`, which must agree with it but may be
  // more static; Internal if it does not agree.
  absl::StatusOr<Literal> ToLiteral(const Shape& shape) const;

  bool has_value() const { return kind_ != Kind::kNone; }
  bool IsArray() const { return kind_ == Kind::kArray; }
  bool IsTuple() const { return kind_ == Kind::kTuple; }
  bool IsToken() const { return kind_ == Kind::kToken; }

  // Tuples.
  int64_t element_count() const { return elements_->size(); }
  const Value& element(int64_t i) const { return (*elements_)[i]; }
  const std::vector<Value>& elements() const { return *elements_; }
  // The elements, moved out if no other handle shares them.
  std::vector<Value> TakeElements() &&;
  // One element, moved out if no other handle shares the tuple.
  Value TakeElement(int64_t i);

  // Arrays.
  PrimitiveType type() const { return type_; }
  const DimensionVector& dims() const { return dims_; }
  int64_t dim(int64_t i) const { return dims_[i]; }
  int64_t rank() const { return dims_.size(); }
  int64_t count() const { return count_; }
  int64_t element_bytes() const { return element_bytes_; }
  int64_t bytes() const { return count_ * element_bytes_; }
  const char* raw() const { return buffer_->data; }
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(buffer_->data);
  }
  template <typename T>
  T scalar() const {
    return *data<T>();
  }
  // Whether this handle is the only one to its own buffer, which it may then
  // change.
  bool unique() const {
    return buffer_ != nullptr && buffer_.use_count() == 1 && buffer_->owned;
  }
  char* mutable_raw() {
    DCHECK(unique());
    return buffer_->data;
  }
  template <typename T>
  T* mutable_data() {
    return reinterpret_cast<T*>(mutable_raw());
  }

  // The first (only) element of an integral or PRED array as an integer.
  int64_t AsInt64() const { return Int64At(0); }
  int64_t Int64At(int64_t index) const;

  // The same elements, in the same order, with other dimensions of the same
  // product. Shares the buffer.
  Value Reshaped(absl::Span<const int64_t> dims) const;
  // The same bytes as elements of another type of the same width.
  Value Retyped(PrimitiveType type) const;
  // A copy that `unique()` holds for; the value itself where it does already.
  static absl::StatusOr<Value> MakeUnique(Value value, MemoryBudget* budget);

  // Bit equality, through tuples.
  friend bool operator==(const Value& a, const Value& b);
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }

  // An empty shape with the value's types and sizes: f32[2,3].
  Shape StaticShape() const;
  // Whether it has this shape except for sizes, which may be smaller. Looks
  // into tuples.
  bool FitsIn(const Shape& shape) const;

 private:
  enum class Kind : uint8_t { kNone, kToken, kTuple, kArray };
  struct Buffer {
    Buffer(char* d, int64_t b, bool o, MemoryBudget* m)
        : data(d), bytes(b), owned(o), budget(m) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();
    char* data;
    int64_t bytes;
    bool owned;
    MemoryBudget* budget;
  };

  Kind kind_ = Kind::kNone;
  PrimitiveType type_ = PRIMITIVE_TYPE_INVALID;
  int32_t element_bytes_ = 0;
  int64_t count_ = 0;
  DimensionVector dims_;
  std::shared_ptr<Buffer> buffer_;
  std::shared_ptr<std::vector<Value>> elements_;
};

// Bytes that an element takes in a Value: sizeof the native type.
int64_t ElementBytes(PrimitiveType type);
// Strides, in elements, of a dense row-major array.
DimensionVector RowMajorStrides(absl::Span<const int64_t> dims);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_VALUE_H_
