#include "xla/literal_util.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/types.h"

namespace xla {
namespace {

// A scalar made by `make`, which is given a value of the native type.
template <typename Make>
Literal ScalarOf(PrimitiveType type, const Make& make) {
  return primitive_util::ArrayTypeSwitch(
      [&](auto constant) -> Literal {
        using NativeT = primitive_util::NativeTypeOf<constant>;
        return LiteralUtil::CreateR0<NativeT>(make(NativeT{}));
      },
      type);
}

// Converts the arrays of one type in a literal to another.
Literal ConvertArrays(const LiteralSlice& literal, PrimitiveType from,
                      PrimitiveType to) {
  Shape shape = literal.shape();
  ShapeUtil::ForEachMutableSubshape(
      &shape, [&](Shape* subshape, const ShapeIndex&) {
        if (subshape->IsArray() && subshape->element_type() == from) {
          subshape->set_element_type(to);
        }
      });
  return literal.ConvertToShape(shape).value();
}

}  // namespace

// ---- Scalars ---------------------------------------------------------------

Literal LiteralUtil::GetFirstScalarLiteral(const LiteralSlice& literal) {
  CHECK(literal.shape().IsArray()) << literal.shape().ToString();
  CHECK_GT(literal.element_count(), 0);
  return GetScalarLiteral(
      literal, DimensionVector(literal.shape().dimensions().size(), 0));
}

Literal LiteralUtil::GetScalarLiteral(const LiteralBase& literal,
                                      absl::Span<const int64_t> multi_index) {
  Literal scalar(ShapeUtil::MakeShape(literal.shape().element_type(), {}));
  scalar.CopyElementFrom(literal, multi_index, {});
  return scalar;
}

void LiteralUtil::SetScalarLiteral(MutableLiteralBase& literal,
                                   absl::Span<const int64_t> multi_index,
                                   const LiteralBase& scalar) {
  literal.CopyElementFrom(scalar, {}, multi_index);
}

Literal LiteralUtil::MakeR0(PrimitiveType primitive_type, double value) {
  return CreateR0<double>(value).Convert(primitive_type).value();
}

Literal LiteralUtil::MakeR0(PrimitiveType primitive_type, int64_t value) {
  return CreateR0<int64_t>(value).Convert(primitive_type).value();
}

Literal LiteralUtil::Zero(PrimitiveType primitive_type) {
  return MakeR0(primitive_type, int64_t{0});
}

Literal LiteralUtil::One(PrimitiveType primitive_type) {
  return MakeR0(primitive_type, int64_t{1});
}

Literal LiteralUtil::MinValue(PrimitiveType primitive_type) {
  return ScalarOf(primitive_type, [](auto tag) {
    using NativeT = decltype(tag);
    if constexpr (is_complex_v<NativeT>) {
      LOG(FATAL) << "complex types have no minimum";
      return tag;
    } else {
      using Limits = std::numeric_limits<NativeT>;
      if constexpr (Limits::has_infinity) {
        return static_cast<NativeT>(-Limits::infinity());
      } else {
        return Limits::lowest();
      }
    }
  });
}

Literal LiteralUtil::MaxValue(PrimitiveType primitive_type) {
  return ScalarOf(primitive_type, [](auto tag) {
    using NativeT = decltype(tag);
    if constexpr (is_complex_v<NativeT>) {
      LOG(FATAL) << "complex types have no maximum";
      return tag;
    } else {
      using Limits = std::numeric_limits<NativeT>;
      if constexpr (Limits::has_infinity) {
        return Limits::infinity();
      } else {
        return Limits::max();
      }
    }
  });
}

Literal LiteralUtil::MaxFiniteValue(PrimitiveType primitive_type) {
  return ScalarOf(primitive_type, [](auto tag) {
    using NativeT = decltype(tag);
    if constexpr (is_complex_v<NativeT>) {
      LOG(FATAL) << "complex types have no maximum";
      return tag;
    } else {
      return std::numeric_limits<NativeT>::max();
    }
  });
}

absl::StatusOr<Literal> LiteralUtil::NanValue(PrimitiveType primitive_type) {
  if (primitive_util::IsComplexType(primitive_type)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return CreateR0(complex128(nan, nan)).Convert(primitive_type);
  }
  if (primitive_util::IsFloatingPointType(primitive_type) &&
      primitive_util::HasNaN(primitive_type)) {
    return ScalarOf(primitive_type, [](auto tag) {
      using NativeT = decltype(tag);
      if constexpr (is_complex_v<NativeT>) {
        return tag;
      } else {
        return std::numeric_limits<NativeT>::quiet_NaN();
      }
    });
  }
  return absl::InvalidArgumentError(
      absl::StrCat(primitive_util::LowercasePrimitiveTypeName(primitive_type),
                   " has no NaN"));
}

// ---- Arrays ----------------------------------------------------------------

Literal LiteralUtil::CreateR1U8(absl::string_view value) {
  Literal literal(
      ShapeUtil::MakeShape(U8, {static_cast<int64_t>(value.size())}));
  const absl::Span<uint8_t> dest = literal.data<uint8_t>();
  std::copy(value.begin(), value.end(), dest.begin());
  return literal;
}

Literal LiteralUtil::CreateR2F32Linspace(float from, float to, int64_t rows,
                                         int64_t cols) {
  const int64_t count = rows * cols;
  Literal literal(ShapeUtil::MakeShape(F32, {rows, cols}));
  const absl::Span<float> dest = literal.data<float>();
  const float step = count > 1 ? (to - from) / (count - 1) : 0;
  for (int64_t i = 0; i < count; ++i) dest[i] = from + i * step;
  return literal;
}

Literal LiteralUtil::CreateFromDimensions(
    PrimitiveType primitive_type, absl::Span<const int64_t> dimensions) {
  return Literal(ShapeUtil::MakeShape(primitive_type, dimensions));
}

Literal LiteralUtil::CreateToken() {
  return Literal(ShapeUtil::MakeTokenShape());
}

Literal LiteralUtil::MaxElement(const LiteralSlice& literal) {
  CHECK(literal.shape().IsArray()) << literal.shape().ToString();
  CHECK_GT(literal.element_count(), 0);
  return primitive_util::ArrayTypeSwitch(
      [&](auto constant) -> Literal {
        using NativeT = primitive_util::NativeTypeOf<constant>;
        if constexpr (is_complex_v<NativeT>) {
          LOG(FATAL) << "complex numbers have no order";
          return Literal();
        } else {
          NativeT max = literal.GetFirstElement<NativeT>();
          literal.EachCell<NativeT>(
              [&](absl::Span<const int64_t>, NativeT value) {
                if (max < value) max = value;
              });
          return CreateR0<NativeT>(max);
        }
      },
      literal.shape().element_type());
}

Literal LiteralUtil::ReshapeSlice(absl::Span<const int64_t> new_dimensions,
                                  absl::Span<const int64_t> minor_to_major,
                                  const LiteralSlice& literal) {
  Literal result = literal.Reshape(new_dimensions).value();
  if (std::is_sorted(minor_to_major.begin(), minor_to_major.end(),
                     std::greater<int64_t>())) {
    return result;
  }
  return result.Relayout(LayoutUtil::MakeLayout(minor_to_major));
}

// ---- Tuples ----------------------------------------------------------------

Literal LiteralUtil::MakeTuple(absl::Span<const Literal* const> elements) {
  std::vector<Literal> copies;
  copies.reserve(elements.size());
  for (const Literal* element : elements) copies.push_back(element->Clone());
  return MakeTupleOwned(std::move(copies));
}

Literal LiteralUtil::MakeTupleFromSlices(
    absl::Span<const LiteralSlice> elements) {
  std::vector<Literal> copies;
  copies.reserve(elements.size());
  for (const LiteralSlice& element : elements)
    copies.push_back(element.Clone());
  return MakeTupleOwned(std::move(copies));
}

Literal LiteralUtil::MakeTupleOwned(std::vector<Literal> elements) {
  return Literal::MoveIntoTuple(absl::MakeSpan(elements));
}

// ---- Conversions -----------------------------------------------------------

#define XLA_DEFINE_CONVERSION(Name, FROM, TO)              \
  Literal LiteralUtil::Name(const LiteralSlice& literal) { \
    return ConvertArrays(literal, FROM, TO);               \
  }
XLA_DEFINE_CONVERSION(ConvertF8E4M3FNToF32, F8E4M3FN, F32)
XLA_DEFINE_CONVERSION(ConvertF8E5M2ToF32, F8E5M2, F32)
XLA_DEFINE_CONVERSION(ConvertS8ToF32, S8, F32)
XLA_DEFINE_CONVERSION(ConvertBF16ToF32, BF16, F32)
XLA_DEFINE_CONVERSION(ConvertBF16ToF64, BF16, F64)
XLA_DEFINE_CONVERSION(ConvertF32ToF8E4M3FNUZ, F32, F8E4M3FNUZ)
XLA_DEFINE_CONVERSION(ConvertF32ToF8E5M2FNUZ, F32, F8E5M2FNUZ)
XLA_DEFINE_CONVERSION(ConvertF32ToF8E5M2, F32, F8E5M2)
XLA_DEFINE_CONVERSION(ConvertF32ToF8E4M3FN, F32, F8E4M3FN)
XLA_DEFINE_CONVERSION(ConvertF32ToBF16, F32, BF16)
XLA_DEFINE_CONVERSION(ConvertF32ToS8, F32, S8)
XLA_DEFINE_CONVERSION(ConvertF32ToF64, F32, F64)
XLA_DEFINE_CONVERSION(ConvertF64ToBF16, F64, BF16)
XLA_DEFINE_CONVERSION(ConvertF64ToF32, F64, F32)
XLA_DEFINE_CONVERSION(ConvertS32ToF32, S32, F32)
XLA_DEFINE_CONVERSION(ConvertS32ToS1, S32, S1)
#undef XLA_DEFINE_CONVERSION

// ---- Odds and ends ---------------------------------------------------------

std::string LiteralUtil::MultiIndexAsString(
    absl::Span<const int64_t> multi_index) {
  return absl::StrCat("{", absl::StrJoin(multi_index, ","), "}");
}

std::optional<int64_t> LiteralUtil::LiteralAsScalarInt64(const Literal& l) {
  if (!ShapeUtil::IsEffectiveScalar(l.shape())) return std::nullopt;
  const DimensionVector origin(l.shape().dimensions().size(), 0);
  const std::optional<int64_t> value = l.GetIntegralAsS64(origin);
  if (value.has_value() && *value < 0 &&
      primitive_util::IsUnsignedIntegralType(l.shape().element_type())) {
    return std::nullopt;
  }
  return value;
}

std::vector<const Literal*> LiteralUtil::MakePointers(
    absl::Span<const Literal> literals) {
  std::vector<const Literal*> pointers;
  pointers.reserve(literals.size());
  for (const Literal& literal : literals) pointers.push_back(&literal);
  return pointers;
}

}  // namespace xla
