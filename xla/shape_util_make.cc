// Construction and validation of shapes.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
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

Shape ValueOrDie(absl::StatusOr<Shape> shape) {
  CHECK(shape.ok()) << shape.status();
  return *std::move(shape);
}

absl::Status ValidateArray(const Shape& shape) {
  // Dimensions of size 0 count as 1: strides are computed from the others.
  int64_t bytes = primitive_util::ByteWidth(shape.element_type());
  for (int i = 0; i < shape.dimensions_size(); ++i) {
    const int64_t size = shape.dimensions(i);
    if (!Shape::IsValidDimensionSize(size, shape.is_dynamic_dimension(i))) {
      return InvalidArgument("shape's dimension %d has invalid size %d", i,
                             size);
    }
    if (size > 1 && __builtin_mul_overflow(bytes, size, &bytes)) {
      return InvalidArgument("shape's size in bytes overflows 63 bits: %s",
                             shape.ToString());
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateWithoutLayout(const Shape& shape) {
  if (shape.IsTuple()) {
    for (const Shape& element : shape.tuple_shapes()) {
      TF_RETURN_IF_ERROR(ValidateWithoutLayout(element));
    }
    return absl::OkStatus();
  }
  if (shape.element_type() == PRIMITIVE_TYPE_INVALID ||
      !PrimitiveType_IsValid(shape.element_type())) {
    return InvalidArgument("shape has invalid element type %d: %s",
                           shape.element_type(), shape.ToString());
  }
  return shape.IsArray() ? ValidateArray(shape) : absl::OkStatus();
}

// An array without layout; the vector of flags is empty or one per dimension.
absl::StatusOr<Shape> MakeArray(PrimitiveType element_type,
                                absl::Span<const int64_t> dimensions,
                                const std::vector<bool>* dynamic_dimensions) {
  if (!primitive_util::IsArrayType(element_type)) {
    return InvalidArgument("invalid element type of an array: %s",
                           PrimitiveType_Name(element_type));
  }
  if (dynamic_dimensions != nullptr &&
      dynamic_dimensions->size() != dimensions.size()) {
    return InvalidArgument("dynamic dimensions size %d, but there are %d",
                           dynamic_dimensions->size(), dimensions.size());
  }
  Shape shape(element_type);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    // A dimension without a bound is dynamic, whether or not flags are given.
    const bool is_dynamic = dynamic_dimensions != nullptr
                                ? (*dynamic_dimensions)[i]
                                : dimensions[i] == Shape::kUnboundedSize;
    if (!Shape::IsValidDimensionSize(dimensions[i], is_dynamic)) {
      return InvalidArgument("dimension %d has invalid size %d", i,
                             dimensions[i]);
    }
    shape.add_dimensions(dimensions[i], is_dynamic);
  }
  return shape;
}

absl::StatusOr<Shape> MakeArrayWithDefaultLayout(
    PrimitiveType element_type, absl::Span<const int64_t> dimensions,
    const std::vector<bool>* dynamic_dimensions) {
  TF_ASSIGN_OR_RETURN(Shape shape,
                      MakeArray(element_type, dimensions, dynamic_dimensions));
  LayoutUtil::SetToDefaultLayout(&shape);
  TF_RETURN_IF_ERROR(ValidateArray(shape));
  return shape;
}

}  // namespace

// --- Arrays ------------------------------------------------------------------

absl::StatusOr<Shape> ShapeUtil::MakeValidatedShape(
    PrimitiveType element_type, absl::Span<const int64_t> dimensions) {
  return MakeArrayWithDefaultLayout(element_type, dimensions, nullptr);
}

absl::StatusOr<Shape> ShapeUtil::MakeValidatedShape(
    PrimitiveType element_type, absl::Span<const int64_t> dimensions,
    const std::vector<bool>& dynamic_dimensions) {
  return MakeArrayWithDefaultLayout(element_type, dimensions,
                                    &dynamic_dimensions);
}

Shape ShapeUtil::MakeShape(PrimitiveType element_type,
                           absl::Span<const int64_t> dimensions) {
  return ValueOrDie(MakeValidatedShape(element_type, dimensions));
}

Shape ShapeUtil::MakeShape(PrimitiveType element_type,
                           absl::Span<const int64_t> dimensions,
                           const std::vector<bool>& dynamic_dimensions) {
  return ValueOrDie(
      MakeValidatedShape(element_type, dimensions, dynamic_dimensions));
}

absl::StatusOr<Shape> ShapeUtil::MakeValidatedScalarShape(
    PrimitiveType element_type) {
  return MakeValidatedShape(element_type, {});
}

Shape ShapeUtil::MakeScalarShape(PrimitiveType element_type) {
  return MakeShape(element_type, {});
}

absl::StatusOr<Shape> ShapeUtil::MakeValidatedBufferShape(
    PrimitiveType element_type, absl::Span<const int64_t> dimensions) {
  TF_ASSIGN_OR_RETURN(Shape shape,
                      MakeValidatedShape(element_type, dimensions));
  return Shape::MakeBufferShape(std::move(shape));
}

absl::StatusOr<Shape> ShapeUtil::MakeValidatedBufferShape(Shape element_shape) {
  if (!element_shape.IsArrayExcludingBuffer()) {
    return InvalidArgument("a buffer holds an array, not %s",
                           element_shape.ToString());
  }
  TF_RETURN_IF_ERROR(ValidateShapeWithOptionalLayout(element_shape));
  return Shape::MakeBufferShape(std::move(element_shape));
}

absl::StatusOr<Shape> ShapeUtil::MakeValidatedShapeWithDenseLayout(
    PrimitiveType element_type, absl::Span<const int64_t> dimensions,
    absl::Span<const int64_t> minor_to_major, absl::Span<const Tile> tiles,
    int64_t tail_padding_alignment_in_elements, int64_t element_size_in_bits,
    int64_t memory_space, absl::Span<const SplitConfig> split_configs) {
  TF_ASSIGN_OR_RETURN(Shape shape,
                      MakeArray(element_type, dimensions, nullptr));
  *shape.mutable_layout() = LayoutUtil::MakeLayout(
      minor_to_major, tiles, tail_padding_alignment_in_elements,
      /*index_primitive_type=*/PRIMITIVE_TYPE_INVALID,
      /*pointer_primitive_type=*/PRIMITIVE_TYPE_INVALID, element_size_in_bits,
      memory_space, split_configs);
  TF_RETURN_IF_ERROR(ValidateShape(shape));
  return shape;
}

Shape ShapeUtil::MakeShapeWithDenseLayout(
    PrimitiveType element_type, absl::Span<const int64_t> dimensions,
    absl::Span<const int64_t> minor_to_major, absl::Span<const Tile> tiles,
    int64_t tail_padding_alignment_in_elements, int64_t element_size_in_bits,
    int64_t memory_space, absl::Span<const SplitConfig> split_configs) {
  return ValueOrDie(MakeValidatedShapeWithDenseLayout(
      element_type, dimensions, minor_to_major, tiles,
      tail_padding_alignment_in_elements, element_size_in_bits, memory_space,
      split_configs));
}

absl::StatusOr<Shape> ShapeUtil::MakeValidatedShapeWithDescendingLayout(
    PrimitiveType element_type, absl::Span<const int64_t> dimensions) {
  return MakeValidatedShape(element_type, dimensions);
}

Shape ShapeUtil::MakeShapeWithDescendingLayout(
    PrimitiveType element_type, absl::Span<const int64_t> dimensions) {
  return MakeShape(element_type, dimensions);
}

absl::StatusOr<Shape>
ShapeUtil::MakeValidatedShapeWithDescendingLayoutAndSamePhysicalLayout(
    const Shape& shape) {
  TF_RETURN_IF_ERROR(ValidateShape(shape));
  return MakeShapeWithDescendingLayoutAndSamePhysicalLayout(shape);
}

Shape ShapeUtil::MakeShapeWithDescendingLayoutAndSamePhysicalLayout(
    const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    elements.reserve(shape.tuple_shapes_size());
    for (const Shape& element : shape.tuple_shapes()) {
      elements.push_back(
          MakeShapeWithDescendingLayoutAndSamePhysicalLayout(element));
    }
    return Shape(std::move(elements));
  }
  if (!shape.IsArray() || !shape.has_layout()) return shape;
  absl::Span<const int64_t> order = shape.layout().minor_to_major();
  return PermuteDimensions(DimensionVector(order.rbegin(), order.rend()),
                           shape);
}

absl::Status ShapeUtil::PopulateShape(PrimitiveType element_type,
                                      absl::Span<const int64_t> dimensions,
                                      Shape* shape) {
  shape->Clear();
  TF_ASSIGN_OR_RETURN(*shape, MakeValidatedShape(element_type, dimensions));
  return absl::OkStatus();
}

// --- Tuples and programs -----------------------------------------------------

Shape ShapeUtil::MakeTupleShape(absl::Span<const Shape> shapes) {
  return Shape(std::vector<Shape>(shapes.begin(), shapes.end()));
}

Shape ShapeUtil::MakeTupleShape(std::vector<Shape>&& shapes) {
  return Shape(std::move(shapes));
}

Shape ShapeUtil::MakeTupleShape(std::initializer_list<Shape> shapes) {
  return Shape(std::vector<Shape>(shapes));
}

Shape ShapeUtil::MakeTupleShapeWithPtrs(absl::Span<const Shape* const> shapes) {
  std::vector<Shape> elements;
  elements.reserve(shapes.size());
  for (const Shape* shape : shapes) elements.push_back(*shape);
  return Shape(std::move(elements));
}

absl::StatusOr<Shape> ShapeUtil::MakeValidatedTupleShape(
    absl::Span<const Shape> shapes) {
  Shape shape = MakeTupleShape(shapes);
  TF_RETURN_IF_ERROR(ValidateShapeWithOptionalLayout(shape));
  return shape;
}

absl::StatusOr<Shape> ShapeUtil::MakeValidatedTupleShapeWithPtrs(
    absl::Span<const Shape* const> shapes) {
  Shape shape = MakeTupleShapeWithPtrs(shapes);
  TF_RETURN_IF_ERROR(ValidateShapeWithOptionalLayout(shape));
  return shape;
}

Shape ShapeUtil::MakeMaybeTupleShape(absl::Span<const Shape> shapes) {
  return shapes.size() == 1 ? shapes[0] : MakeTupleShape(shapes);
}

absl::StatusOr<Shape> ShapeUtil::MakeValidatedMaybeTupleShape(
    absl::Span<const Shape> shapes) {
  Shape shape = MakeMaybeTupleShape(shapes);
  TF_RETURN_IF_ERROR(ValidateShapeWithOptionalLayout(shape));
  return shape;
}

ProgramShape ShapeUtil::MakeProgramShape(
    std::initializer_list<Shape> parameters, Shape result) {
  ProgramShape program_shape;
  for (const Shape& parameter : parameters) {
    program_shape.AddParameter(parameter, "");
  }
  *program_shape.mutable_result() = std::move(result);
  return program_shape;
}

// --- Validation --------------------------------------------------------------

absl::Status ShapeUtil::ValidateShape(const Shape& shape) {
  TF_RETURN_IF_ERROR(ValidateWithoutLayout(shape));
  return LayoutUtil::ValidateLayoutInShape(shape);
}

absl::Status ShapeUtil::ValidateShapeWithOptionalLayout(const Shape& shape) {
  TF_RETURN_IF_ERROR(ValidateWithoutLayout(shape));
  return LayoutUtil::ValidateLayoutInShape(shape,
                                           /*allow_missing_layouts=*/true);
}

}  // namespace xla
