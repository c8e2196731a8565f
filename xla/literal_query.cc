// Questions about the elements of a literal.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/fingerprint.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_packing.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/types.h"

namespace xla {
namespace {

// Whether two elements are the same; NaN is, too.
template <typename NativeT>
bool Same(NativeT a, NativeT b) {
  if constexpr (is_complex_v<NativeT>) {
    return Same(a.real(), b.real()) && Same(a.imag(), b.imag());
  } else if constexpr (is_specialized_floating_point_v<NativeT>) {
    return a == b || (a != a && b != b);
  } else {
    return a == b;
  }
}

// Calls `f` with a value of the native type of `type`.
template <typename F>
decltype(auto) WithNative(PrimitiveType type, const F& f) {
  return primitive_util::ArrayTypeSwitch(
      [&](auto constant) -> decltype(auto) {
        using NativeT = primitive_util::NativeTypeOf<constant>;
        return f(NativeT{});
      },
      type);
}

bool IsReadableArray(const LiteralPiece& piece) {
  return piece.subshape().IsArray() && piece.buffer() != nullptr;
}

// Whether `test` holds for the valid elements, in buffer order if all are.
template <typename NativeT, typename Test>
bool AllOf(const LiteralPiece& piece, const Test& test) {
  const absl::Span<const NativeT> values = piece.data<NativeT>();
  if (piece.subshape().is_static()) {
    return std::all_of(values.begin(), values.end(), test);
  }
  const DimensionVector dims = piece.valid_dimensions();
  if (!literal_internal::HasElements(dims)) return true;
  DimensionVector index(dims.size(), 0);
  do {
    if (!test(values[piece.LinearIndex(index)])) return false;
  } while (literal_internal::BumpRowMajor(dims, absl::MakeSpan(index)));
  return true;
}

// Whether a floating-point number is the integer `value`.
template <typename T>
bool IsInteger(double number, T value) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  const double above = std::ldexp(1.0, kDigits);
  // Also false for NaN.
  if (!(number < above && number >= (std::is_signed_v<T> ? -above : 0.0))) {
    return false;
  }
  return number == std::trunc(number) && static_cast<T>(number) == value;
}

// The value of type NativeT that equals `value`, if there is one. T is int64_t,
// uint64_t, double or complex128.
template <typename NativeT, typename T>
std::optional<NativeT> ExactCast(T value) {
  if constexpr (is_complex_v<T>) {
    if constexpr (is_complex_v<NativeT>) {
      using Part = typename NativeT::value_type;
      const std::optional<Part> real = ExactCast<Part>(value.real());
      const std::optional<Part> imag = ExactCast<Part>(value.imag());
      if (!real.has_value() || !imag.has_value()) return std::nullopt;
      return NativeT(*real, *imag);
    } else {
      if (value.imag() != 0) return std::nullopt;
      return ExactCast<NativeT>(value.real());
    }
  } else if constexpr (is_complex_v<NativeT>) {
    const auto real = ExactCast<typename NativeT::value_type>(value);
    if (!real.has_value()) return std::nullopt;
    return NativeT(*real);
  } else if constexpr (std::is_integral_v<T>) {
    const NativeT cast = static_cast<NativeT>(value);
    if constexpr (is_specialized_integral_v<NativeT>) {
      // The sign is lost when a large unsigned number is cast, or a negative
      // number to an unsigned type; bits are lost when the cast truncates.
      const int64_t back = static_cast<int64_t>(cast);
      const bool cast_negative =
          std::numeric_limits<NativeT>::is_signed && back < 0;
      const bool value_negative =
          std::is_signed_v<T> && static_cast<int64_t>(value) < 0;
      if (back != static_cast<int64_t>(value) ||
          cast_negative != value_negative) {
        return std::nullopt;
      }
    } else if (!IsInteger(static_cast<double>(cast), value)) {
      return std::nullopt;
    }
    return cast;
  } else if constexpr (std::is_same_v<NativeT, bool>) {
    if (value != 0 && value != 1) return std::nullopt;
    return value == 1;
  } else if constexpr (is_specialized_integral_v<NativeT>) {
    using Limits = std::numeric_limits<NativeT>;
    const double above = std::ldexp(1.0, Limits::digits);
    // Also refuses NaN.
    if (!(value < above) || value < (Limits::is_signed ? -above : 0.0) ||
        value != std::trunc(value)) {
      return std::nullopt;
    }
    return static_cast<NativeT>(value);
  } else {
    const NativeT cast = static_cast<NativeT>(value);
    if (!Same(static_cast<double>(cast), static_cast<double>(value))) {
      return std::nullopt;
    }
    return cast;
  }
}

// Absent for what is too large.
template <typename NativeT>
std::optional<int64_t> AsInt64(NativeT value) {
  const auto number = static_cast<int64_t>(value);
  if (!std::numeric_limits<NativeT>::is_signed && number < 0) {
    return std::nullopt;
  }
  return number;
}

void AddNumber(uint64_t number, Fingerprinter* fingerprint) {
  fingerprint->Update(absl::string_view(reinterpret_cast<const char*>(&number),
                                        sizeof(number)));
}

// Adds whole elements; spare bits of narrow ones, which are no part of the
// value, as if they were clean.
void AddElements(PrimitiveType type, const char* data, int64_t bytes,
                 Fingerprinter* fingerprint) {
  if (type == PRED || primitive_util::BitWidth(type) >= 8) {
    fingerprint->Update(absl::string_view(data, bytes));
    return;
  }
  std::string clean(data, bytes);
  literal_internal::NormalizeElements(type, clean.data(), bytes);
  fingerprint->Update(clean);
}

// Adds the sizes and at most `byte_limit` bytes of valid elements, in buffer or
// logical order.
void AddArray(const LiteralPiece& piece, bool layout_sensitive,
              int64_t byte_limit, Fingerprinter* fingerprint) {
  const Shape& shape = piece.subshape();
  const DimensionVector dims = piece.valid_dimensions();
  for (int64_t size : dims) AddNumber(size, fingerprint);
  // Nothing is the same with a buffer and without one.
  if (!literal_internal::HasElements(dims)) return;
  if (piece.buffer() == nullptr) {
    AddNumber(static_cast<uint64_t>(piece.get_array_value_state()),
              fingerprint);
    return;
  }
  const int64_t bytes =
      ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type());
  const bool buffer_order_will_do =
      shape.dimensions().empty() || layout_sensitive ||
      LayoutUtil::HasDescendingLayout(shape.layout());
  if (shape.is_static() && buffer_order_will_do) {
    // Whole elements, as below.
    AddElements(shape.element_type(), piece.buffer(),
                std::min(piece.size_bytes_dense(), byte_limit / bytes * bytes),
                fingerprint);
    return;
  }
  // The slowest dimension first.
  const DimensionVector strides = piece.ElementStrides();
  DimensionVector sizes, steps;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d =
        layout_sensitive ? LayoutUtil::Major(shape.layout(), i) : i;
    sizes.push_back(dims[d]);
    steps.push_back(strides[d] * bytes);
  }
  DimensionVector index(dims.size(), 0);
  int64_t added = bytes;
  do {
    if (added > byte_limit) break;
    const int64_t offset = std::inner_product(index.begin(), index.end(),
                                              steps.begin(), int64_t{0});
    AddElements(shape.element_type(), piece.buffer() + offset, bytes,
                fingerprint);
    added += bytes;
  } while (literal_internal::BumpRowMajor(sizes, absl::MakeSpan(index)));
}

}  // namespace

uint64_t LiteralBase::DataFingerprint(bool layout_sensitive,
                                      int64_t byte_limit) const {
  Fingerprinter fingerprint;
  root_piece().ForEachSubpiece([&](const ShapeIndex&, const Piece& piece) {
    if (piece.subshape().IsArray()) {
      AddArray(piece, layout_sensitive, byte_limit, &fingerprint);
    }
  });
  return fingerprint.Finish();
}

bool LiteralBase::Equal(const LiteralBase& other, bool layout_sensitive) const {
  if (this == &other || &root_piece() == &other.root_piece()) return true;
  // Dynamic dimensions are as long as their sizes say, whatever their bounds.
  if (!Shape::Equal()
           .IgnoreLayout(!layout_sensitive)
           .IgnoreDimensions()
           .IgnoreDynamicDimension()(shape(), other.shape())) {
    return false;
  }
  return root_piece().ForEachSubpieceWithBool(
      [&](const ShapeIndex& index, const Piece& piece) {
        if (!piece.subshape().IsArray()) return true;
        const Piece& other_piece = other.piece(index);
        if (!piece.EqualDynamicSize(other_piece)) return false;
        const ArrayValueState state = piece.get_array_value_state();
        if (state != other_piece.get_array_value_state()) return false;
        if (state == ArrayValueState::kElided) {
          return piece.elided_id() == other_piece.elided_id();
        }
        if (state == ArrayValueState::kKnown &&
            !literal_internal::HasElements(piece.valid_dimensions())) {
          return true;
        }
        if (piece.buffer() == nullptr || other_piece.buffer() == nullptr) {
          return piece.buffer() == other_piece.buffer();
        }
        return piece.EqualElements(other_piece);
      });
}

// ---- Single elements -------------------------------------------------------

std::optional<int64_t> LiteralBase::GetFirstInteger() const {
  if (!shape().IsArray() ||
      !primitive_util::IsIntegralType(shape().element_type()) ||
      ShapeUtil::IsZeroElementArray(shape()) || untyped_data() == nullptr) {
    return std::nullopt;
  }
  return WithNative(shape().element_type(),
                    [&](auto tag) -> std::optional<int64_t> {
                      using NativeT = decltype(tag);
                      if constexpr (is_specialized_integral_v<NativeT>) {
                        return AsInt64(GetLinear<NativeT>(0));
                      }
                      return std::nullopt;
                    });
}

std::optional<int64_t> LiteralBase::GetIntegralAsS64(
    absl::Span<const int64_t> multi_index) const {
  if (!IsReadableArray(root_piece())) return std::nullopt;
  return WithNative(shape().element_type(),
                    [&](auto tag) -> std::optional<int64_t> {
                      using NativeT = decltype(tag);
                      if constexpr (is_specialized_integral_v<NativeT>) {
                        return static_cast<int64_t>(Get<NativeT>(multi_index));
                      }
                      return std::nullopt;
                    });
}

std::optional<double> LiteralBase::GetAsDouble(
    absl::Span<const int64_t> multi_index) const {
  if (!IsReadableArray(root_piece())) return std::nullopt;
  return WithNative(shape().element_type(),
                    [&](auto tag) -> std::optional<double> {
                      using NativeT = decltype(tag);
                      if constexpr (!is_complex_v<NativeT>) {
                        return static_cast<double>(Get<NativeT>(multi_index));
                      }
                      return std::nullopt;
                    });
}

std::optional<complex128> LiteralBase::GetAsComplex128(
    absl::Span<const int64_t> multi_index) const {
  if (!IsReadableArray(root_piece())) return std::nullopt;
  return WithNative(
      shape().element_type(), [&](auto tag) -> std::optional<complex128> {
        using NativeT = decltype(tag);
        const NativeT value = Get<NativeT>(multi_index);
        if constexpr (is_complex_v<NativeT>) {
          return complex128(value);
        } else if constexpr (is_specialized_floating_point_v<NativeT>) {
          return complex128(static_cast<double>(value), 0.0);
        } else {
          return std::nullopt;
        }
      });
}

std::optional<double> LiteralBase::GetSumAsDouble(
    absl::Span<const int64_t> linear_indices) const {
  if (!IsReadableArray(root_piece()) ||
      !primitive_util::IsFloatingPointType(shape().element_type())) {
    return std::nullopt;
  }
  return WithNative(shape().element_type(),
                    [&](auto tag) -> std::optional<double> {
                      using NativeT = decltype(tag);
                      if constexpr (is_specialized_floating_point_v<NativeT>) {
                        double sum = 0;
                        for (int64_t i : linear_indices) {
                          sum += static_cast<double>(GetLinear<NativeT>(i));
                        }
                        return sum;
                      }
                      return std::nullopt;
                    });
}

bool LiteralBase::IsIntegerEqualAt(absl::Span<const int64_t> multi_index,
                                   int64_t value, bool is_unsigned) const {
  if (!IsReadableArray(root_piece())) return false;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    const std::optional<NativeT> wanted =
        is_unsigned ? ExactCast<NativeT>(static_cast<uint64_t>(value))
                    : ExactCast<NativeT>(value);
    return wanted.has_value() && Get<NativeT>(multi_index) == *wanted;
  });
}

bool LiteralBase::IsDoubleEqualAt(absl::Span<const int64_t> multi_index,
                                  double value) const {
  if (!IsReadableArray(root_piece())) return false;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    const std::optional<NativeT> wanted = ExactCast<NativeT>(value);
    return wanted.has_value() && Get<NativeT>(multi_index) == *wanted;
  });
}

bool LiteralBase::IsEqualAt(absl::Span<const int64_t> multi_index,
                            complex128 value) const {
  if (!IsReadableArray(root_piece())) return false;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    const std::optional<NativeT> wanted = ExactCast<NativeT>(value);
    return wanted.has_value() && Get<NativeT>(multi_index) == *wanted;
  });
}

bool LiteralBase::IsZero(absl::Span<const int64_t> indices) const {
  if (!IsReadableArray(root_piece())) return false;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    if constexpr (is_complex_v<NativeT>) {
      return Get<NativeT>(indices) == NativeT(0);
    } else {
      // As a double: not every type has a 0 to compare with.
      return static_cast<double>(Get<NativeT>(indices)) == 0;
    }
  });
}

absl::Status MutableLiteralBase::SetIntegralAsS64(
    absl::Span<const int64_t> multi_index, int64_t value) {
  TF_RETURN_IF_ERROR(CheckPopulatable(PRIMITIVE_TYPE_INVALID));
  return WithNative(shape().element_type(), [&](auto tag) -> absl::Status {
    using NativeT = decltype(tag);
    if constexpr (is_specialized_integral_v<NativeT>) {
      Set<NativeT>(multi_index, static_cast<NativeT>(value));
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError("the element type is not integral");
  });
}

absl::Status MutableLiteralBase::SetFromDouble(
    absl::Span<const int64_t> multi_index, double value) {
  TF_RETURN_IF_ERROR(CheckPopulatable(PRIMITIVE_TYPE_INVALID));
  return WithNative(shape().element_type(), [&](auto tag) -> absl::Status {
    using NativeT = decltype(tag);
    if constexpr (is_complex_v<NativeT>) {
      Set<NativeT>(multi_index,
                   NativeT(static_cast<typename NativeT::value_type>(value)));
      return absl::OkStatus();
    } else if constexpr (is_specialized_floating_point_v<NativeT>) {
      Set<NativeT>(multi_index, static_cast<NativeT>(value));
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        "the element type is not floating point");
  });
}

// ---- All elements ----------------------------------------------------------

bool LiteralBase::IsAll(const Literal& scalar) const {
  CHECK(ShapeUtil::IsScalar(scalar.shape())) << scalar.shape().ToString();
  if (!IsReadableArray(root_piece()) || scalar.untyped_data() == nullptr ||
      shape().element_type() != scalar.shape().element_type()) {
    return false;
  }
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    const NativeT wanted = scalar.GetFirstElement<NativeT>();
    return AllOf<NativeT>(root_piece(),
                          [&](NativeT value) { return Same(value, wanted); });
  });
}

bool LiteralBase::IsAll(int8_t value) const {
  if (!IsReadableArray(root_piece())) return false;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    const std::optional<NativeT> wanted = ExactCast<NativeT>(int64_t{value});
    return wanted.has_value() && AllOf<NativeT>(root_piece(), [&](NativeT v) {
             return v == *wanted;
           });
  });
}

bool LiteralBase::IsAllFloat(float value) const {
  if (!IsReadableArray(root_piece())) return false;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    if constexpr (is_specialized_floating_point_v<NativeT>) {
      const NativeT wanted = static_cast<NativeT>(value);
      return AllOf<NativeT>(root_piece(),
                            [&](NativeT v) { return Same(v, wanted); });
    }
    return false;
  });
}

bool LiteralBase::IsAllComplex(complex64 value) const {
  if (!IsReadableArray(root_piece())) return false;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    if constexpr (is_complex_v<NativeT>) {
      const NativeT wanted(value);
      return AllOf<NativeT>(root_piece(),
                            [&](NativeT v) { return Same(v, wanted); });
    }
    return false;
  });
}

bool LiteralBase::IsAllFirst() const {
  const Piece& piece = root_piece();
  if (!IsReadableArray(piece)) return false;
  if (!literal_internal::HasElements(piece.valid_dimensions())) return false;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    const NativeT first = GetFirstElement<NativeT>();
    return AllOf<NativeT>(piece, [&](const NativeT& v) {
      return std::memcmp(&v, &first, sizeof(NativeT)) == 0;
    });
  });
}

namespace {

template <typename NativeT>
int64_t CountIn(const LiteralPiece& piece,
                const std::optional<NativeT>& wanted) {
  if (!wanted.has_value()) return 0;
  int64_t count = 0;
  AllOf<NativeT>(piece, [&](NativeT value) {
    count += Same(value, *wanted);
    return true;
  });
  return count;
}

}  // namespace

int64_t LiteralBase::CountEqualInteger(int64_t value, bool is_unsigned) const {
  if (!IsReadableArray(root_piece())) return 0;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    return CountIn<NativeT>(
        root_piece(), is_unsigned
                          ? ExactCast<NativeT>(static_cast<uint64_t>(value))
                          : ExactCast<NativeT>(value));
  });
}

int64_t LiteralBase::CountEqualDouble(double value) const {
  if (!IsReadableArray(root_piece())) return 0;
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    return CountIn<NativeT>(root_piece(), ExactCast<NativeT>(value));
  });
}

int64_t LiteralBase::CountEqualComplex(complex128 value) const {
  if (!IsReadableArray(root_piece())) return 0;
  return WithNative(shape().element_type(), [&](auto tag) -> int64_t {
    using NativeT = decltype(tag);
    if constexpr (is_complex_v<NativeT>) {
      return CountIn<NativeT>(root_piece(), ExactCast<NativeT>(value));
    }
    return 0;
  });
}

bool LiteralBase::IsR1Iota() const {
  if (!IsReadableArray(root_piece()) || shape().dimensions_size() != 1) {
    return false;
  }
  const int64_t count = GetDynamicSize(0);
  return WithNative(shape().element_type(), [&](auto tag) {
    using NativeT = decltype(tag);
    const absl::Span<const NativeT> values = data<NativeT>();
    for (int64_t i = 0; i < count; ++i) {
      const std::optional<NativeT> wanted = ExactCast<NativeT>(i);
      if (!wanted.has_value() || values[i] != *wanted) return false;
    }
    return true;
  });
}

std::optional<int64_t> LiteralBase::IsR1StridedIota() const {
  if (!IsReadableArray(root_piece()) || shape().dimensions_size() != 1 ||
      !primitive_util::IsIntegralType(shape().element_type())) {
    return std::nullopt;
  }
  const int64_t count = GetDynamicSize(0);
  if (count < 2) return std::nullopt;
  return WithNative(
      shape().element_type(), [&](auto tag) -> std::optional<int64_t> {
        using NativeT = decltype(tag);
        if constexpr (is_specialized_integral_v<NativeT>) {
          const absl::Span<const NativeT> values = data<NativeT>();
          const int64_t stride = static_cast<int64_t>(values[1]);
          if (!(values[0] == 0)) return std::nullopt;
          for (int64_t i = 1; i < count; ++i) {
            int64_t next;
            if (__builtin_add_overflow(static_cast<int64_t>(values[i - 1]),
                                       stride, &next) ||
                static_cast<int64_t>(values[i]) != next) {
              return std::nullopt;
            }
          }
          return stride;
        }
        return std::nullopt;
      });
}

}  // namespace xla
