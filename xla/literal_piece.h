#ifndef XLA_LITERAL_PIECE_H_
#define XLA_LITERAL_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

// One node of a literal's tree: an array with its elements, a tuple with its
// children, or a token/opaque leaf without data.
//
// Elements lie densely in layout order (minor_to_major of the subshape, tiles
// and sub-byte packing ignored), one element per sizeof(NativeT) bytes. An
// array with dynamic dimensions has its actual sizes (int32 each, one per
// dimension) after the elements, 4-byte aligned. Buffers of at most 16 bytes
// are stored inside the node; owned heap buffers start zeroed.
//
// A node does not own its subshape; the literal that holds it does.
class LiteralPiece {
 public:
  using DynamicSizeType = ShapeUtil::DynamicSizeType;

  // Whether the elements of an array are known.
  enum class ArrayValueState : uint8_t {
    kKnown = 0,         // there are elements, possibly not allocated yet
    kUnknown = 1,       // a value that an analysis could not compute
    kUndetermined = 2,  // a value that no analysis has visited yet
    kElided = 3,        // fixed elements that were elided in the source
  };

  LiteralPiece() = default;
  ~LiteralPiece() { Reset(); }
  LiteralPiece(const LiteralPiece&) = delete;
  LiteralPiece& operator=(const LiteralPiece&) = delete;
  LiteralPiece(LiteralPiece&& other) noexcept { Steal(other); }
  LiteralPiece& operator=(LiteralPiece&& other) noexcept {
    if (this != &other) {
      Reset();
      Steal(other);
    }
    return *this;
  }

  const Shape& subshape() const { return *subshape_; }
  void set_subshape(const Shape* subshape) { subshape_ = subshape; }

  ArrayValueState get_array_value_state() const { return state_; }
  // Leaving kKnown drops the buffer. kElided gives the array an identity that
  // copies share: only copies of one elided value are equal.
  void set_array_value_state(ArrayValueState state);
  bool IsKnown() const;       // every array at or below has elements
  bool IsDetermined() const;  // no array at or below is kUndetermined
  bool IsElided() const;      // some array at or below is kElided
  uint64_t elided_id() const { return storage_.elided_id; }

  // Tuples.
  int64_t children_size() const {
    return kind_ == Kind::kTuple ? storage_.children->size() : 0;
  }
  const LiteralPiece& child(int64_t index) const {
    return (*storage_.children)[index];
  }
  LiteralPiece& child(int64_t index) { return (*storage_.children)[index]; }
  // Makes the node a tuple without children yet; it must hold no buffer.
  void BecomeTuple(int64_t reserved_children);
  void emplace_back(LiteralPiece child_piece);

  // Buffers. `buffer` is null when nothing is allocated.
  const char* buffer() const {
    return const_cast<LiteralPiece*>(this)->buffer();
  }
  char* buffer() {
    switch (kind_) {
      case Kind::kInline:
        return storage_.inlined;
      case Kind::kHeap:
      case Kind::kBorrowed:
        return storage_.pointer;
      default:
        return nullptr;
    }
  }
  // Makes the array use memory owned by others.
  void set_buffer(char* buffer);
  // Allocates total_bytes_dense() zeroed bytes; dynamic sizes start as the
  // bounds. ResourceExhausted when the size overflows or memory is short.
  absl::Status AllocateBuffers();
  void DeallocateBuffers();
  // The subshape has just become dynamic: elements move to a buffer that holds
  // dynamic sizes as well.
  void MakeRoomForDynamicSizes();
  // Moves the buffer (not the shape or the children) here from `from`.
  void MoveDataFrom(LiteralPiece& from);

  // Sizes of an array, in elements and bytes.
  int64_t element_count() const { return ShapeUtil::ElementsIn(*subshape_); }
  int64_t size_bytes_dense() const;
  int64_t dynamic_size_buffer_offset() const {
    return RoundUpTo<int64_t>(size_bytes_dense(), alignof(DynamicSizeType));
  }
  int64_t dynamic_size_buffer_bytes() const {
    return subshape_->dimensions().size() * sizeof(DynamicSizeType);
  }
  int64_t total_bytes_dense() const;

  const DynamicSizeType* dynamic_size_buffer() const {
    return reinterpret_cast<const DynamicSizeType*>(
        buffer() + dynamic_size_buffer_offset());
  }
  DynamicSizeType* dynamic_size_buffer() {
    return reinterpret_cast<DynamicSizeType*>(buffer() +
                                              dynamic_size_buffer_offset());
  }
  DynamicSizeType GetDynamicSize(int64_t dim_index) const;
  void SetDynamicSize(int64_t dim_index, DynamicSizeType size);
  // The sizes in use: dynamic sizes where dynamic, else bounds.
  DimensionVector valid_dimensions() const;

  // Typed access; NativeT must be the native type of the element type.
  template <typename NativeT>
  absl::Span<const NativeT> data() const {
    CheckReadable<NativeT>();
    return absl::MakeConstSpan(reinterpret_cast<const NativeT*>(buffer()),
                               element_count());
  }
  template <typename NativeT>
  absl::Span<NativeT> data() {
    CheckReadable<NativeT>();
    return absl::MakeSpan(reinterpret_cast<NativeT*>(buffer()),
                          element_count());
  }
  void* untyped_data() { return buffer(); }
  const void* untyped_data() const { return buffer(); }

  template <typename NativeT>
  NativeT Get(absl::Span<const int64_t> index) const {
    return GetLinear<NativeT>(LinearIndex(index));
  }
  template <typename NativeT>
  void Set(absl::Span<const int64_t> index, NativeT value) {
    SetLinear<NativeT>(LinearIndex(index), value);
  }
  template <typename NativeT>
  NativeT GetLinear(int64_t linear_index) const {
    DCHECK_LT(linear_index, element_count());
    CheckReadable<NativeT>();
    // Bytes that came from outside may hold more bits than a 4-bit type has.
    if constexpr (is_intN_v<NativeT>) {
      return NativeT(static_cast<int>(
          reinterpret_cast<const int8_t*>(buffer())[linear_index]));
    }
    return reinterpret_cast<const NativeT*>(buffer())[linear_index];
  }
  template <typename NativeT>
  void SetLinear(int64_t linear_index, NativeT value) {
    DCHECK_LT(linear_index, element_count());
    CheckReadable<NativeT>();
    reinterpret_cast<NativeT*>(buffer())[linear_index] = value;
  }

  // Position of a logical index in the buffer, in elements.
  int64_t LinearIndex(absl::Span<const int64_t> index) const {
    const absl::Span<const int64_t> dims = subshape_->dimensions();
    DCHECK_EQ(index.size(), dims.size());
    if (index.empty()) return 0;
    int64_t linear = 0;
    int64_t stride = 1;
    for (int64_t dim : subshape_->layout().minor_to_major()) {
      DCHECK(index[dim] >= 0 && index[dim] < dims[dim]);
      linear += index[dim] * stride;
      stride *= dims[dim];
    }
    return linear;
  }
  // Element strides by logical dimension.
  DimensionVector ElementStrides() const;

  // Calls `func(const ShapeIndex&, piece)` for this node and all below it,
  // parents first. The WithStatus/WithBool forms stop at the first failure.
  template <typename Fn>
  void ForEachSubpiece(const Fn& func) const {
    ShapeIndex index;
    Walk(*this, index, [&](const ShapeIndex& i, const LiteralPiece& p) {
      func(i, p);
      return true;
    });
  }
  template <typename Fn>
  bool ForEachSubpieceWithBool(const Fn& func) const {
    ShapeIndex index;
    return Walk(*this, index, func);
  }
  template <typename Fn>
  absl::Status ForEachSubpieceWithStatus(const Fn& func) const {
    ShapeIndex index;
    absl::Status status;
    Walk(*this, index, [&](const ShapeIndex& i, const LiteralPiece& p) {
      status = func(i, p);
      return status.ok();
    });
    return status;
  }
  template <typename Fn>
  void ForEachMutableSubpiece(const Fn& func) {
    ShapeIndex index;
    Walk(*this, index, [&](const ShapeIndex& i, LiteralPiece* p) {
      func(i, p);
      return true;
    });
  }
  template <typename Fn>
  absl::Status ForEachMutableSubpieceWithStatus(const Fn& func) {
    ShapeIndex index;
    absl::Status status;
    Walk(*this, index, [&](const ShapeIndex& i, LiteralPiece* p) {
      status = func(i, p);
      return status.ok();
    });
    return status;
  }

  // Bit equality of the valid elements of two arrays with equal valid
  // dimensions; layouts may differ.
  bool EqualElements(const LiteralPiece& other) const;
  bool EqualDynamicSize(const LiteralPiece& other) const;

  // Copies the elements (and dynamic sizes) of an array with the same
  // dimensions, any layout. With `only_dynamic_bound` the bounds may differ
  // and only what is valid in both is copied.
  absl::Status CopyFrom(const LiteralPiece& src, bool only_dynamic_bound);

  // Wire format of one array; the caller writes and reads the shape.
  void WriteToProto(LiteralProto* proto) const;
  // InvalidArgument when the number of values does not fit the shape. Checks
  // the counts before it allocates.
  absl::Status CopyFromProto(const LiteralProto& proto);

 private:
  enum class Kind : uint8_t { kNone, kInline, kHeap, kBorrowed, kTuple };
  static constexpr size_t kInlineBytes = 16;

  union Storage {
    char* pointer;
    std::vector<LiteralPiece>* children;
    uint64_t elided_id;
    alignas(8) char inlined[kInlineBytes];
  };

  void Reset();
  void Steal(LiteralPiece& other) {
    subshape_ = other.subshape_;
    storage_ = other.storage_;
    kind_ = other.kind_;
    state_ = other.state_;
    other.kind_ = Kind::kNone;
  }

  // Typed access needs the right type and a buffer (elided arrays have none).
  template <typename NativeT>
  void CheckReadable() const {
    if (ABSL_PREDICT_FALSE(
            subshape_->element_type() !=
                primitive_util::NativeToPrimitiveType<NativeT>() ||
            buffer() == nullptr)) {
      ExplainAccess(primitive_util::NativeToPrimitiveType<NativeT>());
    }
  }
  // Fails, unless the only fault is a missing buffer of an empty array.
  void ExplainAccess(PrimitiveType requested) const;

  template <typename Fn>
  static bool Walk(const LiteralPiece& piece, ShapeIndex& index,
                   const Fn& func) {
    if (!func(index, piece)) return false;
    for (int64_t i = 0; i < piece.children_size(); ++i) {
      index.push_back(i);
      if (!Walk(piece.child(i), index, func)) return false;
      index.pop_back();
    }
    return true;
  }
  template <typename Fn>
  static bool Walk(LiteralPiece& piece, ShapeIndex& index, const Fn& func) {
    if (!func(index, &piece)) return false;
    for (int64_t i = 0; i < piece.children_size(); ++i) {
      index.push_back(i);
      if (!Walk(piece.child(i), index, func)) return false;
      index.pop_back();
    }
    return true;
  }

  const Shape* subshape_ = nullptr;
  Storage storage_ = {nullptr};
  Kind kind_ = Kind::kNone;
  ArrayValueState state_ = ArrayValueState::kKnown;
};

}  // namespace xla

#endif  // XLA_LITERAL_PIECE_H_
