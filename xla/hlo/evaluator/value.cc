#include "xla/hlo/evaluator/value.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"

namespace xla {
namespace evaluator {
namespace {

// Strides, in elements, of an array with bounds `dims` in this layout.
DimensionVector LayoutStrides(absl::Span<const int64_t> dims,
                              const Shape& shape) {
  if (!shape.has_layout()) return RowMajorStrides(dims);
  DimensionVector strides(dims.size());
  int64_t stride = 1;
  for (int64_t d : shape.layout().minor_to_major()) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

bool HasDescendingLayout(const Shape& shape) {
  return !shape.has_layout() ||
         LayoutUtil::IsMonotonicWithDim0Major(shape.layout());
}

// Shapes may be more static than sizes at run time turn out to be, which is the
// module's fault.
absl::Status Disagreement(const Value& value, const Shape& shape) {
  const std::string text = absl::StrCat(
      "found a value of shape ", ShapeUtil::HumanString(value.StaticShape()),
      " where ", ShapeUtil::HumanString(shape), " is expected");
  return value.FitsIn(shape) ? absl::InvalidArgumentError(text)
                             : absl::InternalError(text);
}

// Copies the array `value` over the array at `index` of `literal`.
absl::Status CopyArray(const Value& value, const Shape& shape,
                       const ShapeIndex& index, Literal& literal) {
  if (value.type() != shape.element_type() ||
      value.rank() != static_cast<int64_t>(shape.dimensions().size())) {
    return Disagreement(value, shape);
  }
  for (int64_t d = 0; d < value.rank(); ++d) {
    const bool dynamic = shape.is_dynamic_dimension(d);
    if (dynamic ? value.dim(d) > shape.dimensions(d)
                : value.dim(d) != shape.dimensions(d)) {
      return Disagreement(value, shape);
    }
    if (dynamic) literal.SetDynamicSize(d, index, value.dim(d));
  }
  if (value.count() == 0) return absl::OkStatus();
  CopyStridedBox(static_cast<char*>(literal.untyped_data(index)),
                 LayoutStrides(shape.dimensions(), shape), value.raw(),
                 RowMajorStrides(value.dims()), value.dims(),
                 value.element_bytes());
  return absl::OkStatus();
}

absl::Status CopyInto(const Value& value, const Shape& shape, ShapeIndex& index,
                      Literal& literal) {
  if (shape.IsTuple()) {
    if (!value.IsTuple() ||
        value.element_count() != shape.tuple_shapes_size()) {
      return Disagreement(value, shape);
    }
    for (int64_t i = 0; i < value.element_count(); ++i) {
      index.push_back(i);
      TF_RETURN_IF_ERROR(
          CopyInto(value.element(i), shape.tuple_shapes(i), index, literal));
      index.pop_back();
    }
    return absl::OkStatus();
  }
  if (shape.IsArray()) {
    if (!value.IsArray()) return Disagreement(value, shape);
    return CopyArray(value, shape, index, literal);
  }
  return absl::OkStatus();
}

}  // namespace

int64_t ElementBytes(PrimitiveType type) {
  return primitive_util::ByteWidth(type);
}

DimensionVector RowMajorStrides(absl::Span<const int64_t> dims) {
  DimensionVector strides(dims.size());
  int64_t stride = 1;
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

absl::Status MemoryBudget::Reserve(int64_t bytes) {
  if (bytes > limit_ - live_) {
    return ResourceExhausted(
        "allocating %d bytes beside the %d live ones exceeds the limit of %d "
        "bytes",
        bytes, live_, limit_);
  }
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  return absl::OkStatus();
}

Value::Buffer::~Buffer() {
  if (owned) std::free(data);
  if (budget != nullptr) budget->Release(bytes);
}

Value Value::Token() {
  Value value;
  value.kind_ = Kind::kToken;
  return value;
}

Value Value::Tuple(std::vector<Value> elements) {
  Value value;
  value.kind_ = Kind::kTuple;
  value.elements_ = std::make_shared<std::vector<Value>>(std::move(elements));
  return value;
}

absl::StatusOr<Value> Value::Make(PrimitiveType type,
                                  absl::Span<const int64_t> dims,
                                  MemoryBudget* budget) {
  if (!primitive_util::IsArrayType(type)) {
    return Internal("not an array type: %s",
                    primitive_util::LowercasePrimitiveTypeName(type));
  }
  Value value;
  value.kind_ = Kind::kArray;
  value.type_ = type;
  value.element_bytes_ = static_cast<int32_t>(ElementBytes(type));
  value.dims_.assign(dims.begin(), dims.end());
  int64_t bytes = value.element_bytes_;
  for (int64_t dim : dims) {
    if (dim == 0) {
      bytes = 0;
      break;
    }
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes)) {
      return ResourceExhausted("an array needs more than 2^63 bytes");
    }
  }
  value.count_ = bytes / value.element_bytes_;
  if (budget != nullptr) TF_RETURN_IF_ERROR(budget->Reserve(bytes));
  // One element too many: kernels may point behind the last one.
  char* data = static_cast<char*>(std::malloc(bytes + 16));
  if (data == nullptr) {
    if (budget != nullptr) budget->Release(bytes);
    return ResourceExhausted("cannot allocate %d bytes", bytes);
  }
  value.buffer_ = std::make_shared<Buffer>(data, bytes, /*owned=*/true, budget);
  return value;
}

absl::StatusOr<Value> Value::MakeZeros(PrimitiveType type,
                                       absl::Span<const int64_t> dims,
                                       MemoryBudget* budget) {
  TF_ASSIGN_OR_RETURN(Value value, Make(type, dims, budget));
  std::memset(value.mutable_raw(), 0, value.bytes());
  return value;
}

absl::StatusOr<Value> Value::ZerosOfShape(const Shape& shape,
                                          MemoryBudget* budget) {
  if (shape.IsTuple()) {
    std::vector<Value> elements;
    elements.reserve(shape.tuple_shapes_size());
    for (const Shape& element : shape.tuple_shapes()) {
      TF_ASSIGN_OR_RETURN(Value zero, ZerosOfShape(element, budget));
      elements.push_back(std::move(zero));
    }
    return Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return Token();
  return MakeZeros(shape.element_type(), shape.dimensions(), budget);
}

absl::StatusOr<Value> Value::FromLiteral(const LiteralBase& literal,
                                         MemoryBudget* budget, bool borrow) {
  const Shape& shape = literal.shape();
  if (shape.IsTuple()) {
    std::vector<Value> elements;
    elements.reserve(shape.tuple_shapes_size());
    for (int64_t i = 0; i < shape.tuple_shapes_size(); ++i) {
      TF_ASSIGN_OR_RETURN(Value element, FromLiteral(LiteralSlice(literal, {i}),
                                                     budget, borrow));
      elements.push_back(std::move(element));
    }
    return Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return Token();
  if (literal.is_elided()) {
    return FailedPrecondition(
        "the elements of a literal are elided; --fill-elided-constants makes "
        "up values");
  }
  if (!literal.IsKnown()) {
    return FailedPrecondition("the elements of a literal are not known");
  }
  DimensionVector dims(shape.dimensions().begin(), shape.dimensions().end());
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (shape.is_dynamic_dimension(d)) dims[d] = literal.GetDynamicSize(d);
  }
  if (borrow && shape.is_static() && HasDescendingLayout(shape)) {
    Value value;
    value.kind_ = Kind::kArray;
    value.type_ = shape.element_type();
    value.element_bytes_ = static_cast<int32_t>(ElementBytes(value.type_));
    value.dims_ = std::move(dims);
    value.count_ = ShapeUtil::ElementsIn(shape);
    value.buffer_ = std::make_shared<Buffer>(
        const_cast<char*>(static_cast<const char*>(literal.untyped_data())), 0,
        /*owned=*/false, nullptr);
    return value;
  }
  TF_ASSIGN_OR_RETURN(Value value, Make(shape.element_type(), dims, budget));
  if (value.count_ > 0) {
    CopyStridedBox(value.mutable_raw(), RowMajorStrides(dims),
                   static_cast<const char*>(literal.untyped_data()),
                   LayoutStrides(shape.dimensions(), shape), dims,
                   value.element_bytes_);
  }
  return value;
}

absl::StatusOr<Literal> Value::ToLiteral(const Shape& shape) const {
  TF_ASSIGN_OR_RETURN(Literal literal, Literal::Make(shape));
  ShapeIndex index;
  TF_RETURN_IF_ERROR(CopyInto(*this, literal.shape(), index, literal));
  return literal;
}

bool Value::FitsIn(const Shape& shape) const {
  if (shape.IsTuple()) {
    return IsTuple() && element_count() == shape.tuple_shapes_size() &&
           absl::c_equal(*elements_, shape.tuple_shapes(),
                         [](const Value& value, const Shape& part) {
                           return value.FitsIn(part);
                         });
  }
  if (!shape.IsArray()) return has_value();
  return IsArray() && type() == shape.element_type() &&
         absl::c_equal(dims(), shape.dimensions(), std::less_equal<>());
}

std::vector<Value> Value::TakeElements() && {
  if (elements_.use_count() == 1) return std::move(*elements_);
  return *elements_;
}

Value Value::TakeElement(int64_t i) {
  if (elements_.use_count() == 1) return std::move((*elements_)[i]);
  return (*elements_)[i];
}

int64_t Value::Int64At(int64_t index) const {
  switch (type_) {
    case PRED:
      return data<bool>()[index];
    case S1:
    case S2:
    case S4:
    case S8:
      return data<int8_t>()[index];
    case U1:
    case U2:
    case U4:
    case U8:
      return data<uint8_t>()[index];
    case S16:
      return data<int16_t>()[index];
    case U16:
      return data<uint16_t>()[index];
    case S32:
      return data<int32_t>()[index];
    case U32:
      return data<uint32_t>()[index];
    case S64:
      return data<int64_t>()[index];
    case U64:
      // Sizes and indices above int64_t exceed any dimension anyway.
      return static_cast<int64_t>(std::min<uint64_t>(
          data<uint64_t>()[index], std::numeric_limits<int64_t>::max()));
    default:
      return 0;
  }
}

Value Value::Reshaped(absl::Span<const int64_t> dims) const {
  Value value = *this;
  value.dims_.assign(dims.begin(), dims.end());
  DCHECK_EQ(Product(dims), count_);
  return value;
}

Value Value::Retyped(PrimitiveType type) const {
  Value value = *this;
  DCHECK_EQ(ElementBytes(type), element_bytes_);
  value.type_ = type;
  return value;
}

absl::StatusOr<Value> Value::MakeUnique(Value value, MemoryBudget* budget) {
  if (value.unique()) return value;
  TF_ASSIGN_OR_RETURN(Value copy, Make(value.type_, value.dims_, budget));
  std::memcpy(copy.mutable_raw(), value.raw(), value.bytes());
  return copy;
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_) return false;
  if (a.IsTuple()) return *a.elements_ == *b.elements_;
  if (!a.IsArray()) return true;
  return a.type_ == b.type_ && a.dims_ == b.dims_ &&
         (a.buffer_ == b.buffer_ ||
          std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

Shape Value::StaticShape() const {
  if (IsArray()) return ShapeUtil::MakeShape(type_, dims_);
  if (!IsTuple()) return ShapeUtil::MakeTokenShape();
  std::vector<Shape> shapes;
  shapes.reserve(elements_->size());
  for (const Value& element : *elements_) {
    shapes.push_back(element.StaticShape());
  }
  return ShapeUtil::MakeTupleShape(std::move(shapes));
}

}  // namespace evaluator
}  // namespace xla
