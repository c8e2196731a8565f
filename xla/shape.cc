#include "xla/shape.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/primitive_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

Shape::Shape(PrimitiveType element_type) : Shape() {
  set_element_type(element_type);
}

Shape::Shape(PrimitiveType element_type, absl::Span<const int64_t> dimensions,
             absl::Span<const bool> dynamic_dimensions)
    : Shape() {
  type_ = element_type;
  CHECK(IsArrayExcludingBuffer()) << "not an array type: " << element_type;
  CHECK(dynamic_dimensions.empty() ||
        dynamic_dimensions.size() == dimensions.size());
  Reserve(dimensions.size());
  rank_ = dimensions.size();
  int64_t* dims = mutable_dims_data();
  bool* dynamic = mutable_dynamic_data();
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const bool is_dynamic =
        !dynamic_dimensions.empty() && dynamic_dimensions[i];
    CHECK(IsValidDimensionSize(dimensions[i], is_dynamic))
        << "invalid size " << dimensions[i] << " of dimension " << i;
    dims[i] = dimensions[i];
    dynamic[i] = is_dynamic;
  }
}

Shape::Shape(std::vector<Shape> tuple_shapes)
    : type_(TUPLE), storage_(Storage::kTuple) {
  new (&tuple_) std::vector<Shape>(std::move(tuple_shapes));
}

Shape Shape::MakeBufferShape(Shape element_shape) {
  CHECK(element_shape.IsArrayExcludingBuffer()) << "buffers hold arrays";
  Shape shape(BUFFER);
  *shape.buffer_ = std::move(element_shape);
  return shape;
}

Shape& Shape::operator=(const Shape& other) {
  if (this == &other) return *this;
  if (storage_ == Storage::kInline && other.storage_ == Storage::kInline) {
    type_ = other.type_;
    has_layout_ = other.has_layout_;
    layout_ = other.layout_;
    CopyInline(other);
    return *this;
  }
  // `other` may be an element of this tuple.
  Shape copy(other);
  return *this = std::move(copy);
}

// --- Storage -----------------------------------------------------------------

void Shape::Reserve(uint32_t rank) {
  const uint32_t capacity =
      storage_ == Storage::kHeap ? heap_.capacity : kInlineRank;
  if (rank <= capacity) return;
  const uint32_t new_capacity = std::max(rank, 2 * capacity);
  char* block =
      new char[static_cast<size_t>(new_capacity) * (sizeof(int64_t) + 1)];
  HeapDims grown;
  grown.dims = reinterpret_cast<int64_t*>(block);
  grown.dynamic =
      reinterpret_cast<bool*>(block + new_capacity * sizeof(int64_t));
  grown.capacity = new_capacity;
  std::memcpy(grown.dims, dims_data(), rank_ * sizeof(int64_t));
  std::memcpy(grown.dynamic, dynamic_data(), rank_);
  if (storage_ == Storage::kHeap) DestroyStorage();
  heap_ = grown;
  storage_ = Storage::kHeap;
}

void Shape::CopyStorage(const Shape& other) {
  switch (other.storage_) {
    case Storage::kInline:
      break;
    case Storage::kHeap:
      Reserve(other.rank_);
      rank_ = other.rank_;
      std::memcpy(mutable_dims_data(), other.dims_data(),
                  rank_ * sizeof(int64_t));
      std::memcpy(mutable_dynamic_data(), other.dynamic_data(), rank_);
      return;
    case Storage::kTuple:
      new (&tuple_) std::vector<Shape>(other.tuple_);
      break;
    case Storage::kBuffer:
      buffer_ = new Shape(*other.buffer_);
      break;
  }
  storage_ = other.storage_;
}

void Shape::MoveStorage(Shape& other) noexcept {
  rank_ = other.rank_;
  storage_ = other.storage_;
  switch (other.storage_) {
    case Storage::kInline:
      break;
    case Storage::kHeap:
      heap_ = other.heap_;
      break;
    case Storage::kTuple:
      new (&tuple_) std::vector<Shape>(std::move(other.tuple_));
      other.tuple_.~vector();
      break;
    case Storage::kBuffer:
      buffer_ = other.buffer_;
      break;
  }
}

void Shape::DestroyStorage() {
  switch (storage_) {
    case Storage::kInline:
      break;
    case Storage::kHeap:
      delete[] reinterpret_cast<char*>(heap_.dims);
      break;
    case Storage::kTuple:
      tuple_.~vector();
      break;
    case Storage::kBuffer:
      delete buffer_;
      break;
  }
}

void Shape::set_element_type(PrimitiveType value) {
  if (value == TUPLE) {
    if (IsTuple()) return;
    *this = Shape(std::vector<Shape>());
    return;
  }
  if (value == BUFFER) {
    if (IsBuffer()) return;
    *this = Shape();
    buffer_ = new Shape();
    type_ = BUFFER;
    storage_ = Storage::kBuffer;
    return;
  }
  const bool is_array =
      value != PRIMITIVE_TYPE_INVALID && value != TOKEN && value != OPAQUE_TYPE;
  if (is_array && IsBuffer()) {
    buffer_->set_element_type(value);
    return;
  }
  if (!is_array || storage_ == Storage::kTuple ||
      storage_ == Storage::kBuffer) {
    *this = Shape();
  }
  type_ = value;
}

// --- Dimensions --------------------------------------------------------------

bool Shape::is_dynamic() const {
  if (IsTuple()) {
    return absl::c_any_of(tuple_,
                          [](const Shape& s) { return s.is_dynamic(); });
  }
  return absl::c_linear_search(dynamic_dimensions(), true);
}

bool Shape::is_unbounded_dynamic() const {
  if (IsTuple()) {
    return absl::c_any_of(
        tuple_, [](const Shape& s) { return s.is_unbounded_dynamic(); });
  }
  return absl::c_linear_search(dimensions(), kUnboundedSize);
}

bool Shape::is_bounded_dynamic() const {
  if (IsTuple()) {
    return absl::c_any_of(
        tuple_, [](const Shape& s) { return s.is_bounded_dynamic(); });
  }
  for (int i = 0; i < dimensions_size(); ++i) {
    if (is_bounded_dynamic_dimension(i)) return true;
  }
  return false;
}

void Shape::set_dynamic_dimension(int dimension, bool is_dynamic) {
  Shape& a = mutable_array();
  CHECK_LT(static_cast<uint32_t>(dimension), a.rank_);
  CHECK(IsValidDimensionSize(a.dims_data()[dimension], is_dynamic))
      << "a dimension without a bound is dynamic";
  a.mutable_dynamic_data()[dimension] = is_dynamic;
}

void Shape::set_dimensions(int index, int64_t size,
                           std::optional<bool> is_dynamic) {
  Shape& a = mutable_array();
  CHECK_LT(static_cast<uint32_t>(index), a.rank_);
  bool& dynamic = a.mutable_dynamic_data()[index];
  if (is_dynamic.has_value()) dynamic = *is_dynamic;
  CHECK(IsValidDimensionSize(size, dynamic))
      << "invalid size " << size << " of dimension " << index;
  a.mutable_dims_data()[index] = size;
}

void Shape::add_dimensions(int64_t value, bool is_dynamic) {
  Shape& a = mutable_array();
  CHECK(a.IsArrayExcludingBuffer()) << "only arrays have dimensions";
  CHECK(IsValidDimensionSize(value, is_dynamic)) << "invalid size " << value;
  a.Reserve(a.rank_ + 1);
  a.mutable_dims_data()[a.rank_] = value;
  a.mutable_dynamic_data()[a.rank_] = is_dynamic;
  ++a.rank_;
}

void Shape::clear_dimensions() { mutable_array().rank_ = 0; }

void Shape::DeleteDimension(int64_t dim_to_delete) {
  DeleteDimensions({dim_to_delete});
}

void Shape::DeleteDimensions(absl::Span<const int64_t> dims_to_delete) {
  Shape& a = mutable_array();
  absl::InlinedVector<int64_t, kInlineRank> sorted(dims_to_delete.begin(),
                                                   dims_to_delete.end());
  absl::c_sort(sorted);
  int64_t* dims = a.mutable_dims_data();
  bool* dynamic = a.mutable_dynamic_data();
  uint32_t kept = 0;
  auto next = sorted.begin();
  for (uint32_t i = 0; i < a.rank_; ++i) {
    if (next != sorted.end() && *next == i) {
      ++next;
      continue;
    }
    dims[kept] = dims[i];
    dynamic[kept++] = dynamic[i];
  }
  CHECK(next == sorted.end()) << "no such dimension: " << *next;
  a.rank_ = kept;
  if (!a.has_layout_) return;
  for (auto it = sorted.rbegin(); it != sorted.rend(); ++it) {
    a.layout_.DeleteDimension(*it);
  }
}

void Shape::clear_dynamic_dimensions() {
  if (IsTuple()) {
    for (Shape& element : tuple_) element.clear_dynamic_dimensions();
    return;
  }
  Shape& a = mutable_array();
  for (uint32_t i = 0; i < a.rank_; ++i) {
    CHECK(a.dims_data()[i] != kUnboundedSize)
        << "a dimension without a bound is dynamic";
    a.mutable_dynamic_data()[i] = false;
  }
}

// --- Layout ------------------------------------------------------------------

Layout* Shape::mutable_layout() {
  Shape& a = mutable_array();
  CHECK(a.IsArrayExcludingBuffer()) << "only arrays have layouts";
  if (!a.has_layout_) {
    a.layout_.Clear();
    a.has_layout_ = true;
  }
  return &a.layout_;
}

void Shape::clear_layout() {
  Shape& a = mutable_array();
  a.layout_.Clear();
  a.has_layout_ = false;
}

// --- Comparisons -------------------------------------------------------------

bool Shape::AreAllLeavesIntegers() const {
  if (IsTuple()) {
    return absl::c_all_of(
        tuple_, [](const Shape& s) { return s.AreAllLeavesIntegers(); });
  }
  return primitive_util::IsIntegralType(element_type());
}

bool Shape::operator==(const Shape& other) const {
  if (type_ != other.type_) return false;
  if (storage_ == Storage::kTuple) return tuple_ == other.tuple_;
  if (storage_ == Storage::kBuffer) return *buffer_ == *other.buffer_;
  return rank_ == other.rank_ && has_layout_ == other.has_layout_ &&
         std::memcmp(dims_data(), other.dims_data(), rank_ * sizeof(int64_t)) ==
             0 &&
         std::memcmp(dynamic_data(), other.dynamic_data(), rank_) == 0 &&
         (!has_layout_ || layout_ == other.layout_);
}

bool Shape::Equal::operator()(const Shape& lhs, const Shape& rhs) const {
  if (Ignores(kBuffer) && lhs.IsBuffer() != rhs.IsBuffer()) {
    return (*this)(lhs.array(), rhs.array());
  }
  if (lhs.IsTuple() || rhs.IsTuple()) {
    return lhs.IsTuple() && rhs.IsTuple() &&
           absl::c_equal(lhs.tuple_, rhs.tuple_,
                         [this](const Shape& l, const Shape& r) {
                           return (*this)(l, r);
                         });
  }
  if (lhs.IsBuffer() != rhs.IsBuffer() || lhs.IsArray() != rhs.IsArray()) {
    return false;
  }
  if (!lhs.IsArray()) return lhs.type_ == rhs.type_;
  return TypesEqual(lhs, rhs) && DimensionsEqual(lhs, rhs) &&
         (Ignores(kLayout) || LayoutsEqual(lhs, rhs));
}

bool Shape::Equal::TypesEqual(const Shape& lhs, const Shape& rhs) const {
  if (Ignores(kElementType)) return true;
  const PrimitiveType l = lhs.element_type();
  const PrimitiveType r = rhs.element_type();
  return l == r ||
         (Ignores(kFpPrecision) && primitive_util::IsFloatingPointType(l) &&
          primitive_util::IsFloatingPointType(r));
}

bool Shape::Equal::DimensionsEqual(const Shape& lhs, const Shape& rhs) const {
  absl::Span<const int64_t> l = lhs.dimensions();
  absl::Span<const int64_t> r = rhs.dimensions();
  if (l.size() != r.size()) return false;
  if (!Ignores(kDynamic) &&
      lhs.dynamic_dimensions() != rhs.dynamic_dimensions()) {
    return false;
  }
  if (Ignores(kDimensions)) return true;
  for (size_t i = 0; i < l.size(); ++i) {
    if (l[i] == r[i]) continue;
    // Without regard to dynamism, no bound fits any size.
    if (Ignores(kDynamic) &&
        (l[i] == kUnboundedSize || r[i] == kUnboundedSize)) {
      continue;
    }
    return false;
  }
  return true;
}

bool Shape::Equal::LayoutsEqual(const Shape& lhs, const Shape& rhs) const {
  if (lhs.has_layout() != rhs.has_layout()) return false;
  if (!lhs.has_layout()) return true;
  Layout::Equal equal;
  if (Ignores(kTiles)) equal.IgnoreTiles();
  if (Ignores(kElementSize)) equal.IgnoreElementSize();
  if (Ignores(kMemorySpace)) equal.IgnoreMemorySpace();
  if (Ignores(kMinorToMajorOnly)) equal.MinorToMajorOnly();
  if (Ignores(kTailPadding)) equal.IgnoreTailPaddingAlignmentInElements();
  if (Ignores(kSplitConfigs)) equal.IgnoreSplitConfigs();
  return equal(lhs.layout(), rhs.layout());
}

Shape* Shape::add_tuple_shapes() {
  return &mutable_tuple_shapes()->emplace_back();
}

void ProgramShape::AddParameter(Shape shape, std::string name) {
  parameters_.push_back(std::move(shape));
  parameter_names_.push_back(std::move(name));
}

}  // namespace xla
