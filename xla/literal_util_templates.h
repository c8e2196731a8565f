#ifndef XLA_LITERAL_UTIL_TEMPLATES_H_
#define XLA_LITERAL_UTIL_TEMPLATES_H_

// Bodies of the member templates of xla/literal_util.h; include that instead.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/array2d.h"
#include "xla/array3d.h"
#include "xla/array4d.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/types.h"

namespace xla {

template <typename NativeT>
Literal LiteralUtil::CreateR0(NativeT value) {
  Literal literal(ShapeUtil::MakeShape(
      primitive_util::NativeToPrimitiveType<NativeT>(), {}));
  literal.data<NativeT>()[0] = value;
  return literal;
}

template <typename T>
Literal LiteralUtil::CreateR0(PrimitiveType primitive_type, T value) {
  if constexpr (is_complex<T>::value) {
    return CreateR0(value).Convert(primitive_type).value();
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      return CreateR0<uint64_t>(value).Convert(primitive_type).value();
    } else {
      return MakeR0(primitive_type, static_cast<int64_t>(value));
    }
  } else {
    return MakeR0(primitive_type, static_cast<double>(value));
  }
}

template <typename NativeT>
Literal LiteralUtil::CreateR1(absl::Span<const NativeT> values) {
  Literal literal(
      ShapeUtil::MakeShape(primitive_util::NativeToPrimitiveType<NativeT>(),
                           {static_cast<int64_t>(values.size())}));
  literal.PopulateR1(values);
  return literal;
}

template <typename NativeT>
Literal LiteralUtil::CreateR2WithLayout(
    std::initializer_list<std::initializer_list<NativeT>> values,
    const Layout& layout) {
  Literal literal(ShapeUtil::MakeShapeWithDenseLayout(
      primitive_util::NativeToPrimitiveType<NativeT>(),
      {static_cast<int64_t>(values.size()),
       static_cast<int64_t>(values.begin()->size())},
      layout.minor_to_major()));
  literal.PopulateR2(values);
  return literal;
}

template <typename NativeT>
Literal LiteralUtil::CreateR2(
    std::initializer_list<std::initializer_list<NativeT>> values) {
  return CreateR2WithLayout(values, LayoutUtil::GetDefaultLayoutForR2());
}

template <typename NativeT>
Literal LiteralUtil::CreateR3WithLayout(
    std::initializer_list<std::initializer_list<std::initializer_list<NativeT>>>
        values,
    const Layout& layout) {
  return CreateFromArrayWithLayout(Array<NativeT>(values), layout);
}

template <typename NativeT>
Literal LiteralUtil::CreateR3(
    std::initializer_list<std::initializer_list<std::initializer_list<NativeT>>>
        values) {
  return CreateFromArray(Array<NativeT>(values));
}

template <typename NativeT>
Literal LiteralUtil::CreateR4WithLayout(
    std::initializer_list<std::initializer_list<
        std::initializer_list<std::initializer_list<NativeT>>>>
        values,
    const Layout& layout) {
  return CreateFromArrayWithLayout(Array<NativeT>(values), layout);
}

template <typename NativeT>
Literal LiteralUtil::CreateR4(
    std::initializer_list<std::initializer_list<
        std::initializer_list<std::initializer_list<NativeT>>>>
        values) {
  return CreateFromArray(Array<NativeT>(values));
}

template <typename NativeT>
Literal LiteralUtil::CreateFullWithDescendingLayout(
    absl::Span<const int64_t> dimensions, NativeT value) {
  Literal literal(ShapeUtil::MakeShapeWithDescendingLayout(
      primitive_util::NativeToPrimitiveType<NativeT>(), dimensions));
  literal.PopulateWithValue(value);
  return literal;
}

template <typename NativeT>
Literal LiteralUtil::CreateFromArrayWithLayout(const Array<NativeT>& values,
                                               const Layout& layout) {
  Literal literal(ShapeUtil::MakeShapeWithDenseLayout(
      primitive_util::NativeToPrimitiveType<NativeT>(), values.dimensions(),
      layout.minor_to_major()));
  literal.PopulateFromArray(values);
  return literal;
}

template <typename NativeT>
Literal LiteralUtil::CreateFromArray(const Array<NativeT>& values) {
  return CreateFromArrayWithLayout(
      values, LayoutUtil::GetDefaultLayoutForRank(values.num_dimensions()));
}

template <typename NativeT>
Literal LiteralUtil::CreateR3Projected(
    std::initializer_list<std::initializer_list<NativeT>> values,
    int64_t projection) {
  return CreateR2(values).template Replicate<NativeT>(projection);
}

template <typename NativeT>
Literal LiteralUtil::CreateR4Projected(
    std::initializer_list<std::initializer_list<NativeT>> values,
    int64_t projection_p, int64_t projection_z) {
  return CreateR2(values)
      .template Replicate<NativeT>(projection_z)
      .template Replicate<NativeT>(projection_p);
}

template <typename NativeT>
Literal LiteralUtil::MakeScalarMatrixR2(int64_t size, NativeT scalar) {
  Literal literal(ShapeUtil::MakeShapeWithDescendingLayout(
      primitive_util::NativeToPrimitiveType<NativeT>(), {size, size}));
  const absl::Span<NativeT> dest = literal.data<NativeT>();
  for (int64_t i = 0; i < size; ++i) dest[i * (size + 1)] = scalar;
  return literal;
}

template <typename NativeT>
Literal LiteralUtil::CreateFingerprintMatixR2(int64_t m, int64_t n,
                                              NativeT scale) {
  double digits = 1;
  for (int64_t rest = n; rest > 0; rest /= 10) digits *= 10;
  Literal literal(ShapeUtil::MakeShapeWithDescendingLayout(
      primitive_util::NativeToPrimitiveType<NativeT>(), {m, n}));
  const absl::Span<NativeT> dest = literal.data<NativeT>();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      dest[i * n + j] =
          scale * static_cast<NativeT>(static_cast<double>(i) + j / digits);
    }
  }
  return literal;
}

template <PrimitiveType type, typename T>
absl::StatusOr<Literal> LiteralUtil::CreateLiteralWithGenerator(
    const Shape& shape,
    absl::FunctionRef<T(absl::Span<const int64_t>)> generator) {
  using NativeT = primitive_util::NativeTypeOf<type>;
  if (shape.element_type() != type) {
    return absl::InvalidArgumentError("the shape has another element type");
  }
  absl::StatusOr<Literal> literal = Literal::Make(shape);
  if (!literal.ok()) return literal.status();
  absl::Status status = literal->template Populate<NativeT>(
      [&](absl::Span<const int64_t> index) { return generator(index); });
  if (!status.ok()) return status;
  return literal;
}

template <PrimitiveType type, typename E, typename T>
absl::StatusOr<Literal> LiteralUtil::CreateRandomLiteral(const Shape& shape,
                                                         E* engine, T mean,
                                                         T stddev) {
  using NativeT = primitive_util::NativeTypeOf<type>;
  std::normal_distribution<double> distribution(static_cast<double>(mean),
                                                static_cast<double>(stddev));
  return CreateLiteralWithGenerator<type, NativeT>(
      shape, [&](absl::Span<const int64_t>) {
        return static_cast<NativeT>(distribution(*engine));
      });
}

template <typename E>
absl::StatusOr<Literal> LiteralUtil::CreateRandomLiteral(const Shape& shape,
                                                         E* engine, double mean,
                                                         double stddev) {
  if (!shape.IsArray() ||
      !primitive_util::IsFloatingPointType(shape.element_type())) {
    return absl::InvalidArgumentError("random literals are floating point");
  }
  return primitive_util::FloatingPointTypeSwitch(
      [&](auto constant) -> absl::StatusOr<Literal> {
        using NativeT = primitive_util::NativeTypeOf<constant>;
        return CreateRandomLiteral<constant, E, NativeT>(
            shape, engine, static_cast<NativeT>(mean),
            static_cast<NativeT>(stddev));
      },
      shape.element_type());
}

template <PrimitiveType type, typename T>
absl::StatusOr<Literal> LiteralUtil::CreateRandomLiteral(const Shape& shape,
                                                         T mean, T stddev) {
  std::minstd_rand0 engine;
  return CreateRandomLiteral<type, std::minstd_rand0, T>(shape, &engine, mean,
                                                         stddev);
}

}  // namespace xla

#endif  // XLA_LITERAL_UTIL_TEMPLATES_H_
