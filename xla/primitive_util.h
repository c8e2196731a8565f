#ifndef XLA_PRIMITIVE_UTIL_H_
#define XLA_PRIMITIVE_UTIL_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/types.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Properties of the element types (PrimitiveType), and conversions to and from
// native C++ types. All queries are constant time.

namespace xla {
namespace primitive_util {

// X(PrimitiveType, native type, name in text) for every type with elements.
#define XLA_INTEGRAL_TYPES(X) \
  X(S1, ::xla::s1, "s1")      \
  X(S2, ::xla::s2, "s2")      \
  X(S4, ::xla::s4, "s4")      \
  X(S8, int8_t, "s8")         \
  X(S16, int16_t, "s16")      \
  X(S32, int32_t, "s32")      \
  X(S64, int64_t, "s64")      \
  X(U1, ::xla::u1, "u1")      \
  X(U2, ::xla::u2, "u2")      \
  X(U4, ::xla::u4, "u4")      \
  X(U8, uint8_t, "u8")        \
  X(U16, uint16_t, "u16")     \
  X(U32, uint32_t, "u32")     \
  X(U64, uint64_t, "u64")
#define XLA_FLOATING_POINT_TYPES(X)                            \
  X(F4E2M1FN, ::xla::float4_e2m1fn, "f4e2m1fn")                \
  X(F6E2M3FN, ::xla::float6_e2m3fn, "f6e2m3fn")                \
  X(F6E3M2FN, ::xla::float6_e3m2fn, "f6e3m2fn")                \
  X(F8E3M4, ::xla::float8_e3m4, "f8e3m4")                      \
  X(F8E4M3, ::xla::float8_e4m3, "f8e4m3")                      \
  X(F8E4M3FN, ::xla::float8_e4m3fn, "f8e4m3fn")                \
  X(F8E4M3B11FNUZ, ::xla::float8_e4m3b11fnuz, "f8e4m3b11fnuz") \
  X(F8E4M3FNUZ, ::xla::float8_e4m3fnuz, "f8e4m3fnuz")          \
  X(F8E5M2, ::xla::float8_e5m2, "f8e5m2")                      \
  X(F8E5M2FNUZ, ::xla::float8_e5m2fnuz, "f8e5m2fnuz")          \
  X(F8E8M0FNU, ::xla::float8_e8m0fnu, "f8e8m0fnu")             \
  X(F16, ::xla::half, "f16")                                   \
  X(BF16, ::xla::bfloat16, "bf16")                             \
  X(F32, float, "f32")                                         \
  X(F64, double, "f64")
#define XLA_COMPLEX_TYPES(X)      \
  X(C64, ::xla::complex64, "c64") \
  X(C128, ::xla::complex128, "c128")
#define XLA_ARRAY_TYPES(X)    \
  X(PRED, bool, "pred")       \
  XLA_INTEGRAL_TYPES(X)       \
  XLA_FLOATING_POINT_TYPES(X) \
  XLA_COMPLEX_TYPES(X)
// Types without elements.
#define XLA_NON_ARRAY_TYPES(X)   \
  X(TUPLE, void, "tuple")        \
  X(OPAQUE_TYPE, void, "opaque") \
  X(TOKEN, void, "token")        \
  X(BUFFER, void, "buffer")

// PrimitiveType -> native type, as ::type or NativeTypeOf.
template <PrimitiveType kType>
struct PrimitiveTypeToNative;

// Native type -> PrimitiveType.
template <typename NativeT>
constexpr PrimitiveType NativeToPrimitiveType() = delete;

#define XLA_DEFINE_TYPE(TYPE, Native, name)                 \
  template <>                                               \
  struct PrimitiveTypeToNative<TYPE> {                      \
    using type = Native;                                    \
  };                                                        \
  template <>                                               \
  constexpr PrimitiveType NativeToPrimitiveType<Native>() { \
    return TYPE;                                            \
  }
XLA_ARRAY_TYPES(XLA_DEFINE_TYPE)
#undef XLA_DEFINE_TYPE

template <PrimitiveType kType>
using NativeTypeOf = typename PrimitiveTypeToNative<kType>::type;

// A PrimitiveType as a type, so that a generic lambda can take it:
//   [&](auto type) { using NativeT = NativeTypeOf<type>; ... }
template <PrimitiveType kPrimitiveType>
using PrimitiveTypeConstant =
    std::integral_constant<PrimitiveType, kPrimitiveType>;

namespace internal {

// Properties of a type, by its number. Widths are in bits.
struct TypeInfo {
  bool is_array = false;
  bool is_signed_integral = false;
  bool is_unsigned_integral = false;
  bool is_floating_point = false;
  bool is_complex = false;
  bool has_infinity = false;
  bool has_nan = false;
  bool has_negative_zero = false;
  bool has_positive_zero = false;
  int16_t bit_width = 0;
  int16_t storage_bit_width = 0;
  int16_t byte_width = 0;
  int16_t digits = 0;  // Value bits of integers, significand bits of floats.
  int16_t min_exponent = 0;
  int16_t max_exponent = 0;
};

template <PrimitiveType kType>
constexpr TypeInfo MakeTypeInfo() {
  using NativeT = NativeTypeOf<kType>;
  using Limits = std::numeric_limits<NativeT>;
  TypeInfo info;
  info.is_array = true;
  int bits = sizeof(NativeT) * 8;
  int storage_bits = bits;
  if constexpr (is_complex_v<NativeT>) {
    info.is_complex = true;
  } else {
    info.digits = Limits::digits;
    info.min_exponent = Limits::min_exponent;
    info.max_exponent = Limits::max_exponent;
    info.has_infinity = Limits::has_infinity;
    info.has_nan = Limits::has_quiet_NaN;
    info.has_negative_zero = has_negative_zero_v<NativeT>;
    info.has_positive_zero = has_positive_zero_v<NativeT>;
    if constexpr (kType == PRED) {
      bits = 1;
    } else if constexpr (Limits::is_integer) {
      info.is_signed_integral = Limits::is_signed;
      info.is_unsigned_integral = !Limits::is_signed;
      bits = Limits::digits + Limits::is_signed;
      storage_bits = bits;
    } else {
      info.is_floating_point = true;
      if constexpr (is_mini_float_v<NativeT>) {
        bits = NativeT::kTotalBits;
        // 6 does not divide a byte; 4 does.
        storage_bits = bits == 6 ? 8 : bits;
      }
    }
  }
  info.bit_width = static_cast<int16_t>(bits);
  info.storage_bit_width = static_cast<int16_t>(storage_bits);
  info.byte_width = static_cast<int16_t>((bits + 7) / 8);
  return info;
}

struct TypeInfoTable {
  TypeInfo of[PrimitiveType_ARRAYSIZE];
};
constexpr TypeInfoTable MakeTypeInfoTable() {
  TypeInfoTable table{};
#define XLA_FILL_TYPE(TYPE, Native, name) table.of[TYPE] = MakeTypeInfo<TYPE>();
  XLA_ARRAY_TYPES(XLA_FILL_TYPE)
#undef XLA_FILL_TYPE
  return table;
}
inline constexpr TypeInfoTable kTypeInfo = MakeTypeInfoTable();

// The row of `type`; that of PRIMITIVE_TYPE_INVALID for numbers out of range.
constexpr const TypeInfo& Info(PrimitiveType type) {
  const auto index = static_cast<uint32_t>(type);
  return kTypeInfo.of[index < PrimitiveType_ARRAYSIZE ? index : 0u];
}

[[noreturn]] void FatalTypeError(const char* expected, PrimitiveType type);

}  // namespace internal

// ---- Kinds ------------------------------------------------------------------

constexpr bool IsArrayType(PrimitiveType type) {
  return internal::Info(type).is_array;
}
constexpr bool IsFloatingPointType(PrimitiveType type) {
  return internal::Info(type).is_floating_point;
}
constexpr bool IsComplexType(PrimitiveType type) {
  return internal::Info(type).is_complex;
}
constexpr bool IsSignedIntegralType(PrimitiveType type) {
  return internal::Info(type).is_signed_integral;
}
constexpr bool IsUnsignedIntegralType(PrimitiveType type) {
  return internal::Info(type).is_unsigned_integral;
}
// PRED is not integral.
constexpr bool IsIntegralType(PrimitiveType type) {
  return IsSignedIntegralType(type) || IsUnsignedIntegralType(type);
}
constexpr bool Is8BitIntegralType(PrimitiveType type) {
  return type == S8 || type == U8;
}
constexpr bool IsF6Type(PrimitiveType type) {
  return type == F6E2M3FN || type == F6E3M2FN;
}
constexpr bool IsF8Type(PrimitiveType type) {
  return IsFloatingPointType(type) && internal::Info(type).bit_width == 8;
}
// Types of the OCP Microscaling formats.
constexpr bool IsMXType(PrimitiveType type) {
  return type == F4E2M1FN || IsF6Type(type) || type == F8E8M0FNU;
}
// Whether several elements of the type can be packed into one byte.
constexpr bool IsSubByteNonPredType(PrimitiveType type) {
  return IsArrayType(type) && type != PRED &&
         internal::Info(type).storage_bit_width < 8;
}

// ---- Widths and floating point formats --------------------------------------
// Pre of the widths: an array type. Pre of the formats: a floating point type.

// Bits of information; 1 for PRED.
int BitWidth(PrimitiveType type);
// Bits of an element where elements are packed: 8 for PRED and F6.
int StorageBitWidth(PrimitiveType type);
// Bytes that an unpacked element takes.
int ByteWidth(PrimitiveType type);

// Significand bits with the leading 1, and exponent bits.
int SignificandWidth(PrimitiveType type);
int ExponentWidth(PrimitiveType type);
// 2^(UnderflowExponent - 1) is the smallest normal number; all finite numbers
// are below 2^OverflowExponent.
int UnderflowExponent(PrimitiveType type);
int OverflowExponent(PrimitiveType type);
int ExponentBias(PrimitiveType type);
bool HasInfinity(PrimitiveType type);
bool HasNaN(PrimitiveType type);
bool HasNegativeZero(PrimitiveType type);
bool HasPositiveZero(PrimitiveType type);

// ---- Related types ----------------------------------------------------------

// PRIMITIVE_TYPE_INVALID if there is none of that width.
constexpr PrimitiveType UnsignedIntegralTypeForBitWidth(int64_t src_bitwidth) {
  switch (src_bitwidth) {
    case 1:
      return U1;
    case 2:
      return U2;
    case 4:
      return U4;
    case 8:
      return U8;
    case 16:
      return U16;
    case 32:
      return U32;
    case 64:
      return U64;
    default:
      return PRIMITIVE_TYPE_INVALID;
  }
}
constexpr PrimitiveType SignedIntegralTypeForBitWidth(int64_t src_bitwidth) {
  switch (src_bitwidth) {
    case 1:
      return S1;
    case 2:
      return S2;
    case 4:
      return S4;
    case 8:
      return S8;
    case 16:
      return S16;
    case 32:
      return S32;
    case 64:
      return S64;
    default:
      return PRIMITIVE_TYPE_INVALID;
  }
}

// C64 -> F32, C128 -> F64. Pre: complex.
PrimitiveType ComplexComponentType(PrimitiveType complex_type);
// F32 -> C64, F64 -> C128, complex types to themselves, others to
// PRIMITIVE_TYPE_INVALID.
constexpr PrimitiveType ComplexType(PrimitiveType base_type) {
  switch (base_type) {
    case F32:
    case C64:
      return C64;
    case F64:
    case C128:
      return C128;
    default:
      return PRIMITIVE_TYPE_INVALID;
  }
}

// The one that keeps more of the values: complex over real; then the larger
// range and the longer significand of floating point over integers; then the
// wider; then signed; then the one with the lower enum number.
PrimitiveType HigherPrecisionType(PrimitiveType a, PrimitiveType b);

// Whether converting any value (infinities, NaN and -0 too) from `from_type` to
// `to_type` and back preserves it.
bool CastPreservesValues(PrimitiveType from_type, PrimitiveType to_type);

// Whether the integral type `ty` can represent x.
bool FitsInIntegralType(int64_t x, PrimitiveType ty);

// Whether NativeT can hold every value of `type`, being its native type.
template <typename NativeT>
constexpr bool IsCanonicalRepresentation(PrimitiveType type) {
  return IsArrayType(type) && NativeToPrimitiveType<NativeT>() == type;
}
template <typename NativeT>
constexpr bool CanRepresent(PrimitiveType type) {
  return IsCanonicalRepresentation<NativeT>(type);
}

// ---- Names ------------------------------------------------------------------

// "f32", "pred", "tuple", "opaque", ...; "invalid" for other numbers.
const std::string& LowercasePrimitiveTypeName(PrimitiveType s);
// The inverse; InvalidArgument for other names.
absl::StatusOr<PrimitiveType> StringToPrimitiveType(
    absl::string_view lower_name);
// The same, but PRIMITIVE_TYPE_INVALID for other names.
PrimitiveType PrimitiveTypeFromName(absl::string_view lower_name);
bool IsPrimitiveTypeName(absl::string_view name);

// ---- Packing ----------------------------------------------------------------

// PackIntN / UnpackIntN with the width of a sub-byte type.
inline void PackIntN(PrimitiveType input_type, absl::Span<const char> input,
                     absl::Span<char> output) {
  xla::PackIntN(BitWidth(input_type), input, output);
}
inline void UnpackIntN(PrimitiveType input_type, absl::Span<const char> input,
                       absl::Span<char> output) {
  xla::UnpackIntN(BitWidth(input_type), input, output);
}

// ---- Dispatch ---------------------------------------------------------------
// Each calls f(PrimitiveTypeConstant<type>()) with `type` as a constant, and
// dies if `type` is not of the kind. The result type is that of f, or R where
// it is given: PrimitiveTypeSwitch<R>(f, type).

#define XLA_TYPE_CASE(TYPE, Native, name) \
  case TYPE:                              \
    return std::forward<F>(f)(PrimitiveTypeConstant<TYPE>());

#define XLA_DEFINE_TYPE_SWITCH(Name, TYPES, kExample)         \
  template <typename R, typename F>                           \
  constexpr R Name(F&& f, PrimitiveType type) {               \
    switch (type) {                                           \
      TYPES(XLA_TYPE_CASE)                                    \
      default:                                                \
        internal::FatalTypeError(#Name, type);                \
    }                                                         \
  }                                                           \
  template <typename F>                                       \
  constexpr decltype(auto) Name(F&& f, PrimitiveType type) {  \
    using R = decltype(f(PrimitiveTypeConstant<kExample>())); \
    return Name<R, F>(std::forward<F>(f), type);              \
  }

XLA_DEFINE_TYPE_SWITCH(IntegralTypeSwitch, XLA_INTEGRAL_TYPES, S32)
XLA_DEFINE_TYPE_SWITCH(FloatingPointTypeSwitch, XLA_FLOATING_POINT_TYPES, F32)
XLA_DEFINE_TYPE_SWITCH(ComplexTypeSwitch, XLA_COMPLEX_TYPES, C64)
XLA_DEFINE_TYPE_SWITCH(ArrayTypeSwitch, XLA_ARRAY_TYPES, F32)

#define XLA_ALL_TYPES(X) XLA_ARRAY_TYPES(X) XLA_NON_ARRAY_TYPES(X)
XLA_DEFINE_TYPE_SWITCH(PrimitiveTypeSwitch, XLA_ALL_TYPES, F32)
#undef XLA_ALL_TYPES

#undef XLA_DEFINE_TYPE_SWITCH
#undef XLA_TYPE_CASE

// Calls f with each type of the kind in turn.
#define XLA_TYPE_CALL(TYPE, Native, name) f(PrimitiveTypeConstant<TYPE>());
template <typename F>
constexpr void IntegralTypeForEach(F&& f) {
  XLA_INTEGRAL_TYPES(XLA_TYPE_CALL)
}
template <typename F>
constexpr void FloatingPointTypeForEach(F&& f) {
  XLA_FLOATING_POINT_TYPES(XLA_TYPE_CALL)
}
template <typename F>
constexpr void ComplexTypeForEach(F&& f) {
  XLA_COMPLEX_TYPES(XLA_TYPE_CALL)
}
template <typename F>
constexpr void ArrayTypeForEach(F&& f) {
  XLA_ARRAY_TYPES(XLA_TYPE_CALL)
}
#undef XLA_TYPE_CALL

}  // namespace primitive_util
}  // namespace xla

#endif  // XLA_PRIMITIVE_UTIL_H_
