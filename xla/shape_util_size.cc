// Sizes of shapes in elements and bytes. Numbers that do not fit saturate.

#include <algorithm>
#include <climits>
#include <cstdint>
#include <limits>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t Times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kMax : product;
}

int64_t Plus(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kMax : sum;
}

int64_t RoundUp(int64_t n, int64_t unit) {
  return n % unit == 0 ? n : Times(n / unit + 1, unit);
}

// Bytes of elements, packed if the layout says how many bits each takes.
int64_t BytesOf(int64_t elements, const Shape& shape) {
  const int64_t bits =
      shape.has_layout() ? shape.layout().element_size_in_bits() : 0;
  if (bits == 0) {
    return Times(elements,
                 ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type()));
  }
  if (elements <= kMax / bits) {
    return CeilOfRatio<int64_t>(elements * bits, CHAR_BIT);
  }
  return Times(elements / CHAR_BIT + 1, bits);
}

}  // namespace

int64_t ShapeUtil::ElementsInRecursive(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray() ? ElementsIn(shape) : 0;
  int64_t sum = 0;
  for (const Shape& element : shape.tuple_shapes()) {
    sum = Plus(sum, ElementsInRecursive(element));
  }
  return sum;
}

bool ShapeUtil::IsZeroElementArray(const Shape& shape) {
  return shape.IsArray() &&
         std::find(shape.dimensions().begin(), shape.dimensions().end(), 0) !=
             shape.dimensions().end();
}

int64_t ShapeUtil::ByteSizeOfPrimitiveType(PrimitiveType primitive_type) {
  return primitive_util::ByteWidth(primitive_type);
}

int64_t ShapeUtil::ByteSizeOf(const Shape& shape, int64_t pointer_size) {
  if (shape.IsTuple()) return ByteSizeOfTupleIndexTable(shape, pointer_size);
  if (shape.IsArray()) return ByteSizeOfElements(shape);
  if (shape.IsToken()) return 0;
  CHECK(shape.IsOpaque()) << "a value of an invalid shape has no size";
  CHECK_GT(pointer_size, 0) << "the size of " << shape << " is a pointer's";
  return pointer_size;
}

int64_t ShapeUtil::ByteSizeOfTupleIndexTable(const Shape& shape,
                                             int64_t pointer_size) {
  CHECK_GT(pointer_size, 0) << "the size of " << shape << " needs a pointer's";
  return pointer_size * shape.tuple_shapes_size();
}

int64_t ShapeUtil::ByteSizeOfElements(const Shape& shape) {
  CHECK(shape.IsArray()) << shape;
  return BytesOf(ElementsIn(shape), shape);
}

int64_t ShapeUtil::ByteSizeOfElementsRecursive(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray() ? ByteSizeOfElements(shape) : 0;
  int64_t sum = 0;
  for (const Shape& element : shape.tuple_shapes()) {
    sum = Plus(sum, ByteSizeOfElementsRecursive(element));
  }
  return sum;
}

int64_t ShapeUtil::ArraySize(const Shape& shape) {
  CHECK(shape.IsArray()) << shape;
  if (!shape.has_layout() || shape.layout().is_plain()) {
    return ByteSizeOfElements(shape);
  }
  const Layout& layout = shape.layout();
  const int64_t elements = RoundUp(LayoutUtil::MaxElementsInPerSplit(shape),
                                   layout.tail_padding_alignment_in_elements());
  return Plus(BytesOf(elements, shape),
              layout.dynamic_shape_metadata_prefix_bytes());
}

int64_t ShapeUtil::ArrayDataSize(const Shape& shape) {
  CHECK(shape.IsArray()) << shape;
  if (!shape.has_layout() || shape.layout().is_plain()) {
    return ByteSizeOfElements(shape);
  }
  if (IsZeroElementArray(shape)) return 0;
  if (shape.is_unbounded_dynamic()) return ArraySize(shape);
  DimensionVector last;
  for (int64_t size : shape.dimensions()) last.push_back(size - 1);
  return BytesOf(LayoutUtil::LinearIndex(shape, last) + 1, shape);
}

int64_t ShapeUtil::ElementSizeInBits(const Shape& shape) {
  if (shape.has_layout() && shape.layout().element_size_in_bits() != 0) {
    return shape.layout().element_size_in_bits();
  }
  return ByteSizeOfPrimitiveType(shape.element_type()) * CHAR_BIT;
}

absl::StatusOr<int64_t> ShapeUtil::SerializedSize(const Shape& shape) {
  return SerializedSizeWithProto(shape, shape.ToProto());
}

absl::StatusOr<int64_t> ShapeUtil::SerializedSizeWithProto(
    const Shape& shape, const ShapeProto& proto) {
  TF_RETURN_IF_ERROR(ValidateShapeWithOptionalLayout(shape));
  // The size of the proto, the proto, and then the leaves.
  int64_t size = sizeof(int64_t) + proto.ByteSizeLong();
  TF_RETURN_IF_ERROR(ForEachLeafShapeWithStatus(
      shape, [&](const Shape& leaf, const ShapeIndex&) -> absl::Status {
        if (!leaf.IsArray() || leaf.is_unbounded_dynamic()) {
          return InvalidArgument("Shape cannot be serialized: %s",
                                 shape.ToString());
        }
        if (leaf.is_dynamic()) {
          size += sizeof(DynamicSizeType) * leaf.dimensions_size();
        }
        const PrimitiveType type = leaf.element_type();
        const int64_t elements = ElementsIn(leaf);
        if (type == PRED || primitive_util::IsSubByteNonPredType(type)) {
          const int64_t per_byte =
              type == PRED ? CHAR_BIT
                           : CHAR_BIT / primitive_util::BitWidth(type);
          size = Plus(size, CeilOfRatio<int64_t>(elements, per_byte));
        } else {
          size = Plus(size, Times(elements, ByteSizeOfPrimitiveType(type)));
        }
        return absl::OkStatus();
      }));
  return size;
}

}  // namespace xla
