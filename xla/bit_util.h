#ifndef XLA_BIT_UTIL_H_
#define XLA_BIT_UTIL_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/base/casts.h"
#include "absl/log/check.h"
#include "absl/numeric/bits.h"
#include "xla/types.h"

// Bits of integers and of the encodings of floating point numbers.

namespace xla {

// A T whose `width` low bits are set. 0 <= width <= bits of T.
template <typename T>
constexpr T LsbMask(int width) {
  static_assert(std::is_unsigned_v<T>, "T is an unsigned integer");
  return width == 0 ? T{0}
                    : static_cast<T>(static_cast<T>(-1) >>
                                     (std::numeric_limits<T>::digits - width));
}

// The largest n with 2^n <= x; -1 for 0.
template <typename T>
constexpr int Log2Floor(T x) {
  static_assert(std::is_unsigned_v<T>, "T is an unsigned integer");
  return absl::bit_width(x) - 1;
}

// The smallest n with 2^n >= x; -1 for 0.
template <typename T>
constexpr int Log2Ceiling(T x) {
  static_assert(std::is_unsigned_v<T>, "T is an unsigned integer");
  return x == 0 ? -1 : absl::bit_width(static_cast<T>(x - 1));
}

// The number of bits below the sign bit that equal it.
template <typename T>
constexpr int CountLeadingSignBits(T x) {
  static_assert(std::is_signed_v<T>, "T is a signed integer");
  using UnsignedType = std::make_unsigned_t<T>;
  return absl::countl_zero(static_cast<UnsignedType>(x < 0 ? ~x : x)) - 1;
}

// `value` with all but its `width` low bits cleared.
template <typename T>
constexpr T KeepLowerBits(T value, int width) {
  static_assert(std::is_unsigned_v<T>, "T is an unsigned integer");
  return value & LsbMask<T>(width);
}

// base^exponent by squaring. exponent >= 0.
template <typename T, typename ExpType>
constexpr T IPow(T base, ExpType exponent) {
  static_assert(std::numeric_limits<ExpType>::is_integer);
  if constexpr (std::numeric_limits<ExpType>::is_signed) {
    CHECK_GE(exponent, ExpType{0}) << "negative exponent";
  }
  T result(1);
  while (exponent > 0) {
    if ((exponent & 1) != 0) result *= base;
    exponent >>= 1;
    if (exponent > 0) base *= base;
  }
  return result;
}

// The integer types of `kBytes` bytes.
template <size_t kBytes>
struct UnsignedIntegerTypeForSize;
template <>
struct UnsignedIntegerTypeForSize<1> {
  using type = uint8_t;
};
template <>
struct UnsignedIntegerTypeForSize<2> {
  using type = uint16_t;
};
template <>
struct UnsignedIntegerTypeForSize<4> {
  using type = uint32_t;
};
template <>
struct UnsignedIntegerTypeForSize<8> {
  using type = uint64_t;
};
template <size_t kBytes>
using UnsignedIntegerTypeForSizeType =
    typename UnsignedIntegerTypeForSize<kBytes>::type;
template <size_t kBytes>
using SignedIntegerTypeForSizeType =
    std::make_signed_t<UnsignedIntegerTypeForSizeType<kBytes>>;

// (sign, magnitude) of the encoding of a floating point number; the sign is
// the top bit of the integer, whatever the width of the type.
template <typename T>
auto SignAndMagnitude(T x) {
  using BitType = UnsignedIntegerTypeForSizeType<sizeof(T)>;
  constexpr BitType kTopBit = BitType{1} << (sizeof(T) * 8 - 1);
  if constexpr (is_mini_float_v<T>) {
    const BitType magnitude = abs(x).rep();
    return std::make_pair(x.rep() == magnitude ? BitType{0} : kTopBit,
                          magnitude);
  } else {
    const BitType bits = absl::bit_cast<BitType>(x);
    return std::make_pair(static_cast<BitType>(bits & kTopBit),
                          static_cast<BitType>(bits & ~kTopBit));
  }
}

// An integer that orders encodings as IEEE totalOrder does: -NaN < -inf < ...
// < -0 < +0 < ... < inf < NaN.
template <typename T>
auto SignAndMagnitudeToTwosComplement(T sign, T magnitude) {
  static_assert(!std::numeric_limits<T>::is_signed);
  using SignedType = SignedIntegerTypeForSizeType<sizeof(T)>;
  return static_cast<SignedType>(
      static_cast<SignedType>(magnitude) ^
      (static_cast<SignedType>(sign) < 0 ? SignedType{-1} : SignedType{0}));
}
template <typename T>
auto ToSignMagnitude(T input) {
  const auto [sign, magnitude] = SignAndMagnitude(input);
  if constexpr (std::numeric_limits<T>::is_signed) {
    return SignAndMagnitudeToTwosComplement(sign, magnitude);
  } else {
    return magnitude;  // All bits are magnitude.
  }
}

// The significand bits of a NaN; 0 for types with only one NaN (per sign).
template <typename T>
constexpr int NanPayloadBits() {
  if constexpr (!std::numeric_limits<T>::has_signaling_NaN) {
    return 0;
  } else {
    return std::numeric_limits<T>::digits - 1;
  }
}

// The payload of a quiet NaN without other bits.
template <typename T>
constexpr uint64_t QuietNanWithoutPayload() {
  constexpr int kBits = NanPayloadBits<T>();
  return kBits > 0 ? uint64_t{1} << (kBits > 0 ? kBits - 1 : 0) : 0;
}

template <typename T>
constexpr uint64_t NanPayloadBitMask() {
  return LsbMask<uint64_t>(NanPayloadBits<T>());
}

// A NaN of that sign, where T has one, and payload. The payload is not zero
// (that encoding is infinity) unless T has only one NaN.
template <typename T>
T NanWithSignAndPayload(bool sign, uint64_t nan_payload) {
  using RepT = UnsignedIntegerTypeForSizeType<sizeof(T)>;
  RepT rep = absl::bit_cast<RepT>(std::numeric_limits<T>::quiet_NaN());
  RepT sign_bit = RepT{1} << (sizeof(T) * 8 - 1);
  if constexpr (is_mini_float_v<T>) sign_bit = T::kSignMask;
  constexpr uint64_t kMask = NanPayloadBitMask<T>();
  if constexpr (kMask != 0) {
    CHECK_NE(nan_payload & kMask, 0u);
    rep = static_cast<RepT>((rep & ~static_cast<RepT>(kMask)) |
                            static_cast<RepT>(nan_payload & kMask));
  }
  if (has_negative_zero_v<T>) {
    rep = static_cast<RepT>(sign ? rep | sign_bit : rep & ~sign_bit);
  }
  return absl::bit_cast<T>(rep);
}

}  // namespace xla

#endif  // XLA_BIT_UTIL_H_
