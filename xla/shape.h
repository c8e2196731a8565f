#ifndef XLA_SHAPE_H_
#define XLA_SHAPE_H_

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {

// The type of a value: an array (element type, dimensions, perhaps a layout), a
// tuple of shapes, a token, an opaque value, or a buffer around an array.
//
// Queries about arrays apply to the array inside a buffer, unless stated
// otherwise.
//
// 128 bytes; an array of rank <= 6 with a plain layout allocates nothing, and a
// move never does. A moved-from shape is like a default-constructed one.
class Shape {
 public:
  // Size of a dynamic dimension without a bound; `?` in text.
  static constexpr int64_t kUnboundedSize = std::numeric_limits<int64_t>::min();

  // True for sizes >= 0, and for kUnboundedSize if the dimension is dynamic.
  static constexpr bool IsValidDimensionSize(int64_t size, bool is_dynamic) {
    return size >= 0 || (is_dynamic && size == kUnboundedSize);
  }

  // An invalid shape, of type PRIMITIVE_TYPE_INVALID.
  Shape() noexcept : inline_dims_{} {}
  ~Shape() {
    if (storage_ != Storage::kInline) DestroyStorage();
  }
  Shape(const Shape& other)
      : type_(other.type_),
        has_layout_(other.has_layout_),
        inline_dims_{},
        layout_(other.layout_) {
    if (other.storage_ == Storage::kInline) {
      CopyInline(other);
    } else {
      CopyStorage(other);
    }
  }
  Shape(Shape&& other) noexcept
      : type_(other.type_),
        has_layout_(other.has_layout_),
        inline_dims_{},
        layout_(std::move(other.layout_)) {
    if (other.storage_ == Storage::kInline) {
      CopyInline(other);
    } else {
      MoveStorage(other);
    }
    other.Reset();
  }
  Shape& operator=(const Shape& other);
  Shape& operator=(Shape&& other) noexcept {
    if (this != &other) {
      this->~Shape();
      new (this) Shape(std::move(other));
    }
    return *this;
  }

  // A scalar, token, opaque value or empty tuple, without layout.
  explicit Shape(PrimitiveType element_type);
  // An array without layout. Sizes must be valid; `dynamic_dimensions` is empty
  // (all static) or as long as `dimensions`.
  explicit Shape(PrimitiveType element_type,
                 absl::Span<const int64_t> dimensions,
                 absl::Span<const bool> dynamic_dimensions = {});
  explicit Shape(std::vector<Shape> tuple_shapes);
  // A buffer around an array.
  static Shape MakeBufferShape(Shape element_shape);

  // InvalidArgument if the proto is inconsistent or nests too deeply.
  static absl::StatusOr<Shape> FromProto(const ShapeProto& shape_proto);
  void ToProto(ShapeProto& proto) const;
  ShapeProto ToProto() const;

  // Prints in HLO text, e.g. `(f32[2,<=3]{1,0}, token[])`.
  void Print(Printer* printer, bool print_layout = false) const;
  std::string ToString(bool print_layout = false) const;

  bool IsArrayExcludingBuffer() const {
    return type_ != PRIMITIVE_TYPE_INVALID && type_ != TUPLE &&
           type_ != OPAQUE_TYPE && type_ != TOKEN && type_ != BUFFER;
  }
  bool IsTuple() const { return type_ == TUPLE; }
  bool IsBuffer() const { return type_ == BUFFER; }
  bool IsToken() const { return type_ == TOKEN; }
  bool IsOpaque() const { return type_ == OPAQUE_TYPE; }
  // Arrays, and buffers around them.
  bool IsArray() const { return IsArrayExcludingBuffer() || IsBuffer(); }
  bool AreAllLeavesIntegers() const;

  bool is_static() const { return !is_dynamic(); }
  // True if a dimension, of any element of a tuple, is dynamic.
  bool is_dynamic() const;
  bool is_unbounded_dynamic() const;
  bool is_unbounded_dynamic_dimension(int dimension) const {
    return dimensions(dimension) == kUnboundedSize;
  }
  void set_unbounded_dynamic_dimension(int dimension) {
    set_dimensions(dimension, kUnboundedSize, true);
  }
  bool is_bounded_dynamic() const;
  bool is_bounded_dynamic_dimension(int dimension) const {
    return is_dynamic_dimension(dimension) &&
           !is_unbounded_dynamic_dimension(dimension);
  }
  bool is_dynamic_dimension(int dimension) const {
    const Shape& a = array();
    DCHECK_LT(static_cast<uint32_t>(dimension), a.rank_);
    return a.dynamic_data()[dimension];
  }
  bool is_static_dimension(int dimension) const {
    return !is_dynamic_dimension(dimension);
  }
  void set_dynamic_dimension(int dimension, bool is_dynamic);
  // One flag per dimension; empty for shapes that are not arrays.
  absl::Span<const bool> dynamic_dimensions() const {
    const Shape& a = array();
    return absl::MakeConstSpan(a.dynamic_data(), a.rank_);
  }

  // Removes dimensions, from the layout too.
  void DeleteDimension(int64_t dim_to_delete);
  // `dims_to_delete` in any order, without repeats.
  void DeleteDimensions(absl::Span<const int64_t> dims_to_delete);

  PrimitiveType element_type_including_buffer() const {
    return static_cast<PrimitiveType>(type_);
  }
  PrimitiveType element_type() const {
    return static_cast<PrimitiveType>(array().type_);
  }
  // A change to another kind of shape drops the fields that kind does not have.
  void set_element_type(PrimitiveType value);

  // Sizes (bounds where dynamic); empty for shapes that are not arrays.
  absl::Span<const int64_t> dimensions() const {
    const Shape& a = array();
    return absl::MakeConstSpan(a.dims_data(), a.rank_);
  }
  int dimensions_size() const { return array().rank_; }
  int64_t dimensions(int index) const {
    const Shape& a = array();
    DCHECK_LT(static_cast<uint32_t>(index), a.rank_);
    return a.dims_data()[index];
  }
  // The size of the `index`th most minor dimension of the layout.
  int64_t dimensions_minor(int index) const {
    return dimensions(layout().minor_to_major(index));
  }
  // Without `is_dynamic`, the dimension's dynamic flag is unchanged.
  void set_dimensions(int index, int64_t size,
                      std::optional<bool> is_dynamic = std::nullopt);
  void set_dimensions_minor(int index, int64_t size,
                            std::optional<bool> is_dynamic = std::nullopt) {
    set_dimensions(layout().minor_to_major(index), size, is_dynamic);
  }
  void add_dimensions(int64_t value, bool is_dynamic = false);
  void clear_dimensions();

  // The elements of a tuple.
  const std::vector<Shape>& tuple_shapes() const {
    CHECK(storage_ == Storage::kTuple) << "not a tuple shape";
    return tuple_;
  }
  std::vector<Shape>* mutable_tuple_shapes() {
    CHECK(storage_ == Storage::kTuple) << "not a tuple shape";
    return &tuple_;
  }
  // 0 for shapes that are not tuples.
  int tuple_shapes_size() const {
    return storage_ == Storage::kTuple ? tuple_.size() : 0;
  }
  const Shape& tuple_shapes(int index) const { return tuple_shapes()[index]; }
  Shape* mutable_tuple_shapes(int index) {
    return &(*mutable_tuple_shapes())[index];
  }
  Shape* add_tuple_shapes();
  void clear_tuple_shapes() { mutable_tuple_shapes()->clear(); }

  // The array inside a buffer.
  const Shape& buffer_shape() const {
    CHECK(storage_ == Storage::kBuffer) << "not a buffer shape";
    return *buffer_;
  }

  bool has_layout() const { return array().has_layout_; }
  const Layout& layout() const {
    CHECK(has_layout()) << "the shape has no layout";
    return array().layout_;
  }
  // Adds an empty layout if there is none.
  Layout* mutable_layout();
  void clear_layout();

  // Makes all dimensions static, of tuple elements too.
  void clear_dynamic_dimensions();

  void Clear() { *this = Shape(); }
  void Swap(Shape* other) { std::swap(*this, *other); }

  // Compares two shapes except for the properties named by Ignore* calls.
  class Equal {
   public:
    Equal() = default;

    bool operator()(const Shape& lhs, const Shape& rhs) const;

    Equal& IgnoreLayout(bool ignore_layout = true) {
      return Set(kLayout, ignore_layout);
    }
    Equal& IgnoreTilesInLayout() { return Set(kTiles); }
    Equal& IgnoreElementSizeInLayout() { return Set(kElementSize); }
    Equal& IgnoreMemorySpaceInLayout() { return Set(kMemorySpace); }
    Equal& MinorToMajorOnlyInLayout() { return Set(kMinorToMajorOnly); }
    Equal& IgnoreElementType() { return Set(kElementType); }
    Equal& IgnoreFpPrecision() { return Set(kFpPrecision); }
    Equal& IgnoreDynamicDimension() { return Set(kDynamic); }
    Equal& IgnoreDimensions() { return Set(kDimensions); }
    Equal& IgnoreTailPaddingAlignmentInElements() { return Set(kTailPadding); }
    Equal& IgnoreSplitConfigInLayout() { return Set(kSplitConfigs); }
    // A buffer equals the array inside it.
    Equal& IgnoreBuffer(bool ignore_buffer = true) {
      return Set(kBuffer, ignore_buffer);
    }

   private:
    enum : uint16_t {
      kLayout = 1 << 0,
      kTiles = 1 << 1,
      kElementSize = 1 << 2,
      kMemorySpace = 1 << 3,
      kMinorToMajorOnly = 1 << 4,
      kElementType = 1 << 5,
      kFpPrecision = 1 << 6,
      kDynamic = 1 << 7,
      kDimensions = 1 << 8,
      kTailPadding = 1 << 9,
      kSplitConfigs = 1 << 10,
      kBuffer = 1 << 11,
    };
    Equal& Set(uint16_t bit, bool on = true) {
      ignored_ = on ? ignored_ | bit : ignored_ & ~bit;
      return *this;
    }
    bool Ignores(uint16_t bit) const { return (ignored_ & bit) != 0; }
    bool TypesEqual(const Shape& lhs, const Shape& rhs) const;
    bool DimensionsEqual(const Shape& lhs, const Shape& rhs) const;
    bool LayoutsEqual(const Shape& lhs, const Shape& rhs) const;
    uint16_t ignored_ = 0;
  };

  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const { return !(*this == other); }

  template <typename H, bool kIsLayoutSensitive = true>
  static H Hash(H h, const Shape& s) {
    h = H::combine(std::move(h), s.type_);
    switch (s.storage_) {
      case Storage::kTuple:
        for (const Shape& element : s.tuple_) {
          h = Hash<H, kIsLayoutSensitive>(std::move(h), element);
        }
        return H::combine(std::move(h), s.tuple_.size());
      case Storage::kBuffer:
        h = Hash<H, kIsLayoutSensitive>(std::move(h), *s.buffer_);
        return H::combine(std::move(h), s.type_);
      case Storage::kInline:
      case Storage::kHeap:
        break;
    }
    h = H::combine(std::move(h), s.dimensions(), s.dynamic_dimensions());
    if (kIsLayoutSensitive && s.has_layout_) {
      h = H::combine(std::move(h), s.layout_);
    }
    return h;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Shape& s) {
    return Hash(std::move(h), s);
  }

 private:
  friend class Layout;

  // Which member of the union is alive.
  enum class Storage : uint8_t { kInline, kHeap, kTuple, kBuffer };
  static constexpr uint32_t kInlineRank = 6;

  // Dimensions of arrays of higher rank: one block, sizes and then flags.
  struct HeapDims {
    int64_t* dims;
    bool* dynamic;
    uint32_t capacity;
  };

  const Shape& array() const { return type_ == BUFFER ? *buffer_ : *this; }
  Shape& mutable_array() { return type_ == BUFFER ? *buffer_ : *this; }
  const int64_t* dims_data() const {
    return storage_ == Storage::kHeap ? heap_.dims : inline_dims_;
  }
  int64_t* mutable_dims_data() {
    return storage_ == Storage::kHeap ? heap_.dims : inline_dims_;
  }
  const bool* dynamic_data() const {
    return storage_ == Storage::kHeap ? heap_.dynamic : inline_dynamic_;
  }
  bool* mutable_dynamic_data() {
    return storage_ == Storage::kHeap ? heap_.dynamic : inline_dynamic_;
  }
  void CopyInline(const Shape& other) {
    rank_ = other.rank_;
    std::memcpy(inline_dims_, other.inline_dims_, sizeof(inline_dims_));
    std::memcpy(inline_dynamic_, other.inline_dynamic_,
                sizeof(inline_dynamic_));
  }
  // These three are for shapes whose storage is not inline.
  void CopyStorage(const Shape& other);
  void MoveStorage(Shape& other) noexcept;
  void DestroyStorage();
  // Resets a shape whose storage was moved or freed to a default-constructed
  // one.
  void Reset() {
    type_ = PRIMITIVE_TYPE_INVALID;
    storage_ = Storage::kInline;
    has_layout_ = false;
    rank_ = 0;
  }
  void Reserve(uint32_t rank);
  void PrintDimensions(Printer* printer) const;
  static absl::StatusOr<Shape> FromProtoAtDepth(const ShapeProto& proto,
                                                int depth);

  uint8_t type_ = PRIMITIVE_TYPE_INVALID;
  Storage storage_ = Storage::kInline;
  bool has_layout_ = false;
  uint32_t rank_ = 0;
  union {
    int64_t inline_dims_[kInlineRank];
    HeapDims heap_;
    std::vector<Shape> tuple_;
    Shape* buffer_;  // Owned.
  };
  bool inline_dynamic_[kInlineRank] = {};
  Layout layout_;
};

// The parameter and result shapes of a computation.
class ProgramShape {
 public:
  ProgramShape() = default;

  static absl::StatusOr<ProgramShape> FromProto(
      const ProgramShapeProto& program_shape_proto);
  void ToProto(ProgramShapeProto& proto) const;
  ProgramShapeProto ToProto() const;

  // Prints `(x: f32[2], y: f32[]) -> f32[2]`.
  void Print(Printer* printer) const;
  std::string ToString() const;

  int parameters_size() const { return parameters_.size(); }
  const Shape& parameters(int index) const { return parameters_[index]; }
  Shape* mutable_parameters(int index) { return &parameters_[index]; }
  void AddParameter(Shape shape, std::string name);
  // Appends a parameter without a name.
  Shape* add_parameters() {
    AddParameter(Shape(), "");
    return &parameters_.back();
  }
  void clear_parameters() {
    parameters_.clear();
    parameter_names_.clear();
  }
  const std::vector<Shape>& parameters() const { return parameters_; }
  std::vector<Shape>* mutable_parameters() { return &parameters_; }

  const Shape& result() const { return result_; }
  Shape* mutable_result() { return &result_; }

  int parameter_names_size() const { return parameter_names_.size(); }
  const std::string& parameter_names(int index) const {
    return parameter_names_[index];
  }
  void set_parameter_names(int index, const std::string& value) {
    if (index >= parameter_names_.size()) parameter_names_.resize(index + 1);
    parameter_names_[index] = value;
  }
  std::string* add_parameter_names() {
    return &parameter_names_.emplace_back();
  }
  void clear_parameter_names() { parameter_names_.clear(); }
  const std::vector<std::string>& parameter_names() const {
    return parameter_names_;
  }

  bool operator==(const ProgramShape& other) const {
    return parameters_ == other.parameters_ && result_ == other.result_ &&
           parameter_names_ == other.parameter_names_;
  }
  bool operator!=(const ProgramShape& other) const { return !(*this == other); }

 private:
  std::vector<Shape> parameters_;
  std::vector<std::string> parameter_names_;
  Shape result_;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, const ProgramShape& program_shape);

}  // namespace xla

#endif  // XLA_SHAPE_H_
