// Comparisons, properties and text of shapes.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {

std::string ShapeIndex::ToString() const {
  return absl::StrCat("{", absl::StrJoin(*this, ","), "}");
}

std::ostream& operator<<(std::ostream& out, const ShapeIndex& shape_index) {
  return out << shape_index.ToString();
}

// --- Text --------------------------------------------------------------------

void ShapeUtil::PrintHumanString(xla::Printer* printer, const Shape& shape) {
  shape.Print(printer, /*print_layout=*/false);
}

void ShapeUtil::PrintHumanStringWithLayout(xla::Printer* printer,
                                           const Shape& shape) {
  shape.Print(printer, /*print_layout=*/true);
}

void ShapeUtil::PrintHumanString(xla::Printer* printer,
                                 const ProgramShape& program_shape) {
  program_shape.Print(printer);
}

std::string ShapeUtil::HumanString(const Shape& shape) {
  return shape.ToString(/*print_layout=*/false);
}

std::string ShapeUtil::HumanStringWithLayout(const Shape& shape) {
  return shape.ToString(/*print_layout=*/true);
}

std::string ShapeUtil::HumanString(const ProgramShape& program_shape) {
  return program_shape.ToString();
}

// --- Comparisons -------------------------------------------------------------

bool ShapeUtil::SameDimensions(const Shape& lhs, const Shape& rhs) {
  CHECK(lhs.IsArray() && rhs.IsArray());
  return lhs.dimensions() == rhs.dimensions();
}

bool ShapeUtil::SameRank(const Shape& lhs, const Shape& rhs) {
  CHECK(lhs.IsArray() && rhs.IsArray());
  return lhs.dimensions_size() == rhs.dimensions_size();
}

bool ShapeUtil::SameElementTypeIgnoringFpPrecision(const Shape& a,
                                                   const Shape& b) {
  return SameElementType(a, b) ||
         (ElementIsFloating(a) && ElementIsFloating(b));
}

PrimitiveType ShapeUtil::HigherPrecisionElementType(const Shape& a,
                                                    const Shape& b) {
  return primitive_util::HigherPrecisionType(a.element_type(),
                                             b.element_type());
}

bool ShapeUtil::Compatible(const Shape& lhs, const Shape& rhs) {
  return Shape::Equal().IgnoreDynamicDimension().IgnoreLayout()(lhs, rhs);
}

bool ShapeUtil::CompatibleIgnoringElementType(const Shape& lhs,
                                              const Shape& rhs) {
  return Shape::Equal()
      .IgnoreDynamicDimension()
      .IgnoreElementType()
      .IgnoreLayout()(lhs, rhs);
}

bool ShapeUtil::CompatibleKind(const Shape& lhs, const Shape& rhs,
                               bool ignore_buffer) {
  if (lhs.IsTuple() || rhs.IsTuple()) {
    return lhs.IsTuple() && rhs.IsTuple() &&
           absl::c_equal(lhs.tuple_shapes(), rhs.tuple_shapes(),
                         [&](const Shape& l, const Shape& r) {
                           return CompatibleKind(l, r, ignore_buffer);
                         });
  }
  if (lhs.IsArray() != rhs.IsArray()) return false;
  if (lhs.IsArray()) return ignore_buffer || lhs.IsBuffer() == rhs.IsBuffer();
  return lhs.element_type() == rhs.element_type();
}

bool ShapeUtil::CompatibleIgnoringFpPrecision(const Shape& lhs,
                                              const Shape& rhs) {
  return Shape::Equal()
      .IgnoreDynamicDimension()
      .IgnoreFpPrecision()
      .IgnoreLayout()(lhs, rhs);
}

bool ShapeUtil::Equal(const Shape& lhs, const Shape& rhs) { return lhs == rhs; }

bool ShapeUtil::EqualIgnoringElementType(const Shape& lhs, const Shape& rhs) {
  return Shape::Equal().IgnoreElementType()(lhs, rhs);
}

bool ShapeUtil::EqualIgnoringFpPrecision(const Shape& lhs, const Shape& rhs) {
  return Shape::Equal().IgnoreFpPrecision()(lhs, rhs);
}

bool ShapeUtil::EqualStructure(const Shape& lhs, const Shape& rhs) {
  if (!lhs.IsTuple() || !rhs.IsTuple()) return lhs.IsTuple() == rhs.IsTuple();
  return absl::c_equal(
      lhs.tuple_shapes(), rhs.tuple_shapes(),
      [](const Shape& l, const Shape& r) { return EqualStructure(l, r); });
}

bool ShapeUtil::IsPrefix(
    const Shape& expected_prefix, const Shape& shape,
    absl::FunctionRef<bool(const Shape&, const Shape&)> equal_fn) {
  if (!expected_prefix.IsTuple() || !shape.IsTuple()) {
    return equal_fn(expected_prefix, shape);
  }
  const auto& prefix = expected_prefix.tuple_shapes();
  const auto& elements = shape.tuple_shapes();
  if (prefix.size() > elements.size()) return false;
  for (size_t i = 0; i < prefix.size(); ++i) {
    if (!IsPrefix(prefix[i], elements[i], equal_fn)) return false;
  }
  return true;
}

bool ShapeUtil::DynamicArrayShapeIsCompatible(const xla::Shape& dynamic_shape,
                                              const xla::Shape& bounded_shape) {
  if (dynamic_shape.dimensions_size() != bounded_shape.dimensions_size()) {
    return false;
  }
  for (int i = 0; i < dynamic_shape.dimensions_size(); ++i) {
    if (dynamic_shape.dimensions(i) > bounded_shape.dimensions(i)) return false;
  }
  return true;
}

bool ShapeUtil::DynamicShapeIsCompatible(const xla::Shape& dynamic_shape,
                                         const xla::Shape& bounded_shape) {
  if (dynamic_shape.IsTuple() || bounded_shape.IsTuple()) {
    return dynamic_shape.IsTuple() && bounded_shape.IsTuple() &&
           absl::c_equal(dynamic_shape.tuple_shapes(),
                         bounded_shape.tuple_shapes(),
                         DynamicShapeIsCompatible);
  }
  return dynamic_shape.IsArray() == bounded_shape.IsArray() &&
         DynamicArrayShapeIsCompatible(dynamic_shape, bounded_shape);
}

// --- Properties --------------------------------------------------------------

bool ShapeUtil::HasPrimitiveType(const Shape& shape,
                                 PrimitiveType primitive_type) {
  if (shape.element_type_including_buffer() == primitive_type ||
      shape.element_type() == primitive_type) {
    return true;
  }
  return shape.IsTuple() &&
         absl::c_any_of(shape.tuple_shapes(), [&](const Shape& element) {
           return HasPrimitiveType(element, primitive_type);
         });
}

int64_t ShapeUtil::TrueNumDimensions(const Shape& array_shape) {
  return absl::c_count_if(array_shape.dimensions(),
                          [](int64_t size) { return size != 1; });
}

DimensionVector ShapeUtil::CreateDimensionVectorFromShape(const Shape& shape) {
  return DimensionVector(shape.dimensions().begin(), shape.dimensions().end());
}

int64_t ShapeUtil::GetDimension(const Shape& shape, int64_t dimension_number) {
  return shape.dimensions(GetDimensionNumber(shape, dimension_number));
}

int64_t ShapeUtil::GetDimensionNumber(const Shape& shape,
                                      int64_t dimension_number) {
  if (dimension_number < 0) dimension_number += shape.dimensions_size();
  CHECK_GE(dimension_number, 0);
  return dimension_number;
}

bool ShapeUtil::IsEffectivelyMostMajorDimension(const Shape& shape,
                                                int64_t dimension) {
  absl::Span<const int64_t> order = shape.layout().minor_to_major();
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    if (*dim == dimension) return true;
    if (shape.dimensions(*dim) != 1) return false;
  }
  return false;
}

bool ShapeUtil::ElementIsIntegral(const Shape& shape) {
  return primitive_util::IsIntegralType(shape.element_type());
}

bool ShapeUtil::ElementIsFloating(const Shape& shape) {
  return primitive_util::IsFloatingPointType(shape.element_type());
}

bool ShapeUtil::ElementIsComplex(const Shape& shape) {
  return primitive_util::IsComplexType(shape.element_type());
}

bool ShapeUtil::ElementHasBitWidth(const Shape& shape, int bits) {
  return shape.IsArray() &&
         primitive_util::BitWidth(shape.element_type()) == bits;
}

bool ShapeUtil::ElementIsIntegralWithBits(const Shape& shape, int bits) {
  return ElementIsIntegral(shape) && ElementHasBitWidth(shape, bits);
}

bool ShapeUtil::ElementIsSigned(const Shape& shape) {
  return primitive_util::IsSignedIntegralType(shape.element_type()) ||
         ElementIsFloating(shape);
}

bool ShapeUtil::ElementCanUpcast(const Shape& from, const Shape& to) {
  return ElementIsFloating(from) == ElementIsFloating(to) &&
         ElementIsSigned(from) == ElementIsSigned(to) &&
         HigherPrecisionElementType(from, to) == to.element_type();
}

bool ShapeUtil::IsNestedTuple(const Shape& shape) {
  return shape.IsTuple() &&
         absl::c_any_of(shape.tuple_shapes(),
                        [](const Shape& element) { return element.IsTuple(); });
}

bool ShapeUtil::IsEmptyTuple(const Shape& shape) {
  return shape.IsTuple() && shape.tuple_shapes().empty();
}

bool ShapeUtil::HasDegenerateDimensions(const Shape& shape) {
  CHECK(shape.IsArray());
  return absl::c_linear_search(shape.dimensions(), 1);
}

bool ShapeUtil::LastDimIsMinorMost(const Shape& shape) {
  return shape.has_layout() && shape.dimensions_size() > 0 &&
         shape.layout().minor_to_major(0) == shape.dimensions_size() - 1;
}

absl::StatusOr<int64_t> ShapeUtil::PackedFactorFor1DInterleavedArray(
    const Shape& shape) {
  if (!shape.IsArray() || shape.dimensions_size() != 1) {
    return InvalidArgument("%s is not an array of rank 1", shape.ToString());
  }
  if (!shape.has_layout() || shape.layout().tiles().empty()) return 1;
  absl::Span<const int64_t> last = shape.layout().tiles().back().dimensions();
  return last.size() == 2 && last[1] == 1 ? last[0] : 1;
}

}  // namespace xla
