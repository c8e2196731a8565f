#ifndef XLA_TYPES_H_
#define XLA_TYPES_H_

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla/float_types.h"
#include "xla/int_types.h"

// The native C++ type of every element type, and traits over them.

namespace xla {

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

template <typename T>
struct is_complex : std::false_type {};
template <typename T>
struct is_complex<std::complex<T>> : std::true_type {};
template <typename T>
inline constexpr bool is_complex_v = is_complex<T>::value;

// float, double and every MiniFloat; not complex.
template <typename T>
struct is_specialized_floating_point
    : std::bool_constant<std::numeric_limits<T>::is_specialized &&
                         !std::numeric_limits<T>::is_integer> {};
template <typename T>
inline constexpr bool is_specialized_floating_point_v =
    is_specialized_floating_point<T>::value;

// The C++ integers (bool too) and every intN.
template <typename T>
struct is_specialized_integral
    : std::bool_constant<std::numeric_limits<T>::is_specialized &&
                         std::numeric_limits<T>::is_integer> {};
template <typename T>
inline constexpr bool is_specialized_integral_v =
    is_specialized_integral<T>::value;

// The integer of the same width and the other signedness, for intN too.
template <typename T>
struct make_specialized_unsigned {
  using type = std::make_unsigned_t<T>;
};
template <int kBits, bool kSigned>
struct make_specialized_unsigned<intN<kBits, kSigned>> {
  using type = intN<kBits, false>;
};
template <typename T>
using make_specialized_unsigned_t = typename make_specialized_unsigned<T>::type;

template <typename T>
struct make_specialized_signed {
  using type = std::make_signed_t<T>;
};
template <int kBits, bool kSigned>
struct make_specialized_signed<intN<kBits, kSigned>> {
  using type = intN<kBits, true>;
};
template <typename T>
using make_specialized_signed_t = typename make_specialized_signed<T>::type;

template <typename T>
struct has_negative_zero
    : std::bool_constant<std::numeric_limits<T>::is_iec559> {};
template <int B, int E, int M, int S, FloatKind K>
struct has_negative_zero<MiniFloat<B, E, M, S, K>>
    : std::bool_constant<MiniFloat<B, E, M, S, K>::kHasNegativeZero> {};
template <typename T>
inline constexpr bool has_negative_zero_v = has_negative_zero<T>::value;

template <typename T>
struct has_positive_zero : std::true_type {};
template <int B, int E, int M, int S>
struct has_positive_zero<MiniFloat<B, E, M, S, FloatKind::kPowerOfTwo>>
    : std::false_type {};
template <typename T>
inline constexpr bool has_positive_zero_v = has_positive_zero<T>::value;

template <typename T>
struct has_positive_or_negative_zero
    : std::bool_constant<has_positive_zero_v<T> || has_negative_zero_v<T>> {};
template <typename T>
inline constexpr bool has_positive_or_negative_zero_v =
    has_positive_or_negative_zero<T>::value;

template <typename T>
inline constexpr bool has_zero_v = has_positive_or_negative_zero_v<T>;

// The exponent field of 2^0.
template <typename T>
struct exponent_bias
    : std::integral_constant<int, 2 - std::numeric_limits<T>::min_exponent> {};
template <int B, int E, int M, int S, FloatKind K>
struct exponent_bias<MiniFloat<B, E, M, S, K>>
    : std::integral_constant<int, S> {};
template <typename T>
inline constexpr int exponent_bias_v = exponent_bias<T>::value;

}  // namespace xla

#endif  // XLA_TYPES_H_
