#ifndef XLA_FLOAT_TYPES_H_
#define XLA_FLOAT_TYPES_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_format.h"

// The floating point types narrower than float: bfloat16, half (IEEE
// binary16), and the 8, 6 and 4 bit types of the OCP and MX formats and of
// accelerator vendors. All are instances of MiniFloat. They are trivially
// copyable and hold their encoding in the low bits of one integer.
//
// Sources of the formats: IEEE 754-2019; OCP 8-bit Floating Point
// Specification 1.0; OCP Microscaling Formats 1.0; Noune et al., "8-bit
// Numerical Formats for Deep Neural Networks" (the fnuz types).

namespace xla {

// The meaning of the codes of a format that are not finite numbers.
enum class FloatKind {
  kIeee,  // All-ones exponent: infinity and NaNs.
  kFn,    // No infinity; NaN only where exponent and significand are all ones.
  kFnuz,  // No infinity, no -0: the code of -0 is the one NaN.
  kFinite,      // Neither infinity nor NaN.
  kPowerOfTwo,  // Unsigned, no zero, no significand; NaN is all ones.
};

// Implicit or explicit conversion to float, as a base of MiniFloat.
template <typename Derived, bool kImplicit>
struct FloatConversion {
  constexpr operator float() const {  // NOLINT(google-explicit-constructor)
    return static_cast<const Derived*>(this)->ToFloat();
  }
};
template <typename Derived>
struct FloatConversion<Derived, false> {
  explicit constexpr operator float() const {
    return static_cast<const Derived*>(this)->ToFloat();
  }
};

// A number of 1 sign bit (none for kPowerOfTwo), kExp exponent bits and kMant
// significand bits (the leading 1 not stored), with exponent bias kBias.
//
// Conversion to float is exact. Conversion from a number rounds to nearest,
// ties to the even code, once (also from double and integers). A result beyond
// the largest finite value becomes infinity, or NaN in kFn, kFnuz and
// kPowerOfTwo, or the largest finite value in kFinite, which also maps NaN to
// -0. kPowerOfTwo rounds ties up, as XLA does, maps zero and negative numbers
// to NaN, and smaller positive numbers to its smallest value. NaN keeps its
// sign where the format has one; its payload is not kept.
//
// Arithmetic is done in float and rounded, which equals one rounding of the
// exact result for + - * / of every format here.
template <int kBits, int kExp, int kMant, int kBias, FloatKind kKind>
class MiniFloat
    : public FloatConversion<MiniFloat<kBits, kExp, kMant, kBias, kKind>,
                             (kBits > 8)> {
 public:
  using Rep = std::conditional_t<(kBits > 8), uint16_t, uint8_t>;

  static constexpr int kTotalBits = kBits;
  static constexpr int kExponentBits = kExp;
  static constexpr int kMantissaBits = kMant;
  static constexpr int kExponentBias = kBias;
  static constexpr FloatKind kFloatKind = kKind;
  static constexpr bool kHasSign = kKind != FloatKind::kPowerOfTwo;
  static constexpr bool kHasInfinity = kKind == FloatKind::kIeee;
  static constexpr bool kHasNan = kKind != FloatKind::kFinite;
  static constexpr bool kHasNegativeZero =
      kHasSign && kKind != FloatKind::kFnuz;

  constexpr MiniFloat() = default;
  // Any arithmetic type, or another MiniFloat.
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  explicit constexpr MiniFloat(T value) : rep_(Round(value)) {}
  template <int B, int E, int M, int S, FloatKind K,
            std::enable_if_t<!(B == kBits && E == kExp && M == kMant &&
                               S == kBias && K == kKind),
                             int> = 0>
  explicit constexpr MiniFloat(MiniFloat<B, E, M, S, K> value)
      : rep_(Round(value.ToFloat())) {}

  template <typename T,
            std::enable_if_t<
                std::is_arithmetic_v<T> && !std::is_same_v<T, float>, int> = 0>
  explicit constexpr operator T() const {
    return static_cast<T>(ToFloat());
  }

  constexpr Rep rep() const { return rep_; }
  static constexpr MiniFloat FromRep(Rep rep) {
    MiniFloat result;
    result.rep_ = rep;
    return result;
  }

  constexpr float ToFloat() const {
    if constexpr (kBits == 16 && kExp == 8) {  // bfloat16: the top of a float.
      return absl::bit_cast<float>(uint32_t{rep_} << 16);
    } else {
      return Widen(rep_);
    }
  }

  // Encodings. kInfinity stands for the result of an overflow.
  static constexpr Rep kSignMask =
      kHasSign ? static_cast<Rep>(Rep{1} << (kBits - 1)) : Rep{0};
  static constexpr Rep kMagnitudeMask =
      static_cast<Rep>((1 << (kHasSign ? kBits - 1 : kBits)) - 1);
  static constexpr Rep kMaxFinite = static_cast<Rep>(
      kKind == FloatKind::kIeee ? (((1 << kExp) - 1) << kMant) - 1
      : kKind == FloatKind::kFn || kKind == FloatKind::kPowerOfTwo
          ? kMagnitudeMask - 1
          : kMagnitudeMask);
  static constexpr Rep kQuietNan = static_cast<Rep>(
      kKind == FloatKind::kIeee
          ? (((1 << kExp) - 1) << kMant) | (1 << (kMant - 1))
      : kKind == FloatKind::kFnuz || kKind == FloatKind::kFinite
          ? kSignMask
          : kMagnitudeMask);
  static constexpr Rep kInfinity =
      static_cast<Rep>(kKind == FloatKind::kIeee     ? kMaxFinite + 1
                       : kKind == FloatKind::kFinite ? kMaxFinite
                                                     : kQuietNan);

  constexpr MiniFloat operator-() const {
    if constexpr (!kHasSign) return FromRep(kQuietNan);
    if (kKind == FloatKind::kFnuz && (rep_ & kMagnitudeMask) == 0) return *this;
    return FromRep(rep_ ^ kSignMask);
  }
  constexpr MiniFloat operator+() const { return *this; }

#define XLA_MINI_FLOAT_ARITHMETIC(op)                                \
  friend constexpr MiniFloat operator op(MiniFloat a, MiniFloat b) { \
    return MiniFloat(a.ToFloat() op b.ToFloat());                    \
  }                                                                  \
  constexpr MiniFloat& operator op##=(MiniFloat other) {             \
    return *this = *this op other;                                   \
  }
  XLA_MINI_FLOAT_ARITHMETIC(+)
  XLA_MINI_FLOAT_ARITHMETIC(-)
  XLA_MINI_FLOAT_ARITHMETIC(*)
  XLA_MINI_FLOAT_ARITHMETIC(/)
#undef XLA_MINI_FLOAT_ARITHMETIC

#define XLA_MINI_FLOAT_COMPARISON(op)                           \
  friend constexpr bool operator op(MiniFloat a, MiniFloat b) { \
    return a.ToFloat() op b.ToFloat();                          \
  }
  XLA_MINI_FLOAT_COMPARISON(==)
  XLA_MINI_FLOAT_COMPARISON(!=)
  XLA_MINI_FLOAT_COMPARISON(<)
  XLA_MINI_FLOAT_COMPARISON(<=)
  XLA_MINI_FLOAT_COMPARISON(>)
  XLA_MINI_FLOAT_COMPARISON(>=)
#undef XLA_MINI_FLOAT_COMPARISON

  MiniFloat& operator++() { return *this = MiniFloat(ToFloat() + 1.0f); }
  MiniFloat& operator--() { return *this = MiniFloat(ToFloat() - 1.0f); }

  friend constexpr bool isnan(MiniFloat a) {
    const Rep magnitude = a.rep_ & kMagnitudeMask;
    switch (kKind) {
      case FloatKind::kIeee:
        return magnitude > kInfinity;
      case FloatKind::kFn:
      case FloatKind::kPowerOfTwo:
        return magnitude == kMagnitudeMask;
      case FloatKind::kFnuz:
        return a.rep_ == kSignMask;
      case FloatKind::kFinite:
        return false;
    }
    return false;
  }
  friend constexpr bool isinf(MiniFloat a) {
    return kHasInfinity && (a.rep_ & kMagnitudeMask) == kInfinity;
  }
  friend constexpr bool isfinite(MiniFloat a) { return !isnan(a) && !isinf(a); }
  friend constexpr bool signbit(MiniFloat a) {
    return kHasSign && (a.rep_ & kSignMask) != 0;
  }
  friend constexpr MiniFloat abs(MiniFloat a) {
    if (kKind == FloatKind::kFnuz && a.rep_ == kSignMask) return a;
    return FromRep(a.rep_ & kMagnitudeMask);
  }

  friend std::ostream& operator<<(std::ostream& os, MiniFloat a) {
    return os << a.ToFloat();
  }
  template <typename Sink>
  friend void AbslStringify(Sink& sink, MiniFloat a) {
    absl::Format(&sink, "%v", a.ToFloat());
  }
  template <typename H>
  friend H AbslHashValue(H h, MiniFloat a) {
    return H::combine(std::move(h), a.ToFloat());
  }

 private:
  static constexpr float Widen(Rep rep) {
    const uint32_t sign = kHasSign ? uint32_t{static_cast<Rep>(rep & kSignMask)}
                                         << (32 - kBits)
                                   : 0;
    const uint32_t magnitude = rep & kMagnitudeMask;
    const uint32_t exponent = magnitude >> kMant;
    const uint32_t mantissa = magnitude & ((1 << kMant) - 1);
    constexpr uint32_t kFloatInf = 0x7f800000;
    if (kKind == FloatKind::kIeee && magnitude >= kInfinity) {
      return absl::bit_cast<float>(sign | kFloatInf |
                                   (mantissa << (23 - kMant)));
    }
    if (kHasNan && isnan(FromRep(rep))) {
      return absl::bit_cast<float>(sign | kFloatInf | 0x400000);
    }
    if constexpr (kKind == FloatKind::kPowerOfTwo) {
      // 2^-127 is a subnormal float.
      return absl::bit_cast<float>(exponent == 0 ? 0x400000u : exponent << 23);
    } else {
      if (exponent == 0) {
        // Exact: mantissa has few bits, and the unit is a normal float.
        constexpr float kUnit =
            absl::bit_cast<float>(uint32_t{127 + 1 - kBias - kMant} << 23);
        const float value = static_cast<float>(mantissa) * kUnit;
        return sign != 0 ? -value : value;
      }
      return absl::bit_cast<float>(sign | ((exponent + (127 - kBias)) << 23) |
                                   (mantissa << (23 - kMant)));
    }
  }

  // x / 2^shift, to nearest; see MiniFloat for ties. 1 <= shift <= 63.
  static constexpr uint64_t ShiftRightRounded(uint64_t x, int shift) {
    const uint64_t is_odd =
        kKind == FloatKind::kPowerOfTwo ? 1 : (x >> shift) & 1;
    return (x + ((uint64_t{1} << (shift - 1)) - 1) + is_odd) >> shift;
  }

  template <typename T>
  static constexpr Rep Round(T value) {
    if constexpr (std::is_same_v<T, float> && kBits == 16 && kExp == 8) {
      return RoundToBfloat16(value);
    } else if constexpr (std::is_integral_v<T> && sizeof(T) > 4) {
      return RoundFromDouble(ToDoubleKeepingStickyBit(value));
    } else {
      return RoundFromDouble(static_cast<double>(value));
    }
  }

  // Integers above 2^53 are rounded to odd first, so that the rounding to the
  // narrow format that follows sees on which side of a tie they were.
  template <typename T>
  static constexpr double ToDoubleKeepingStickyBit(T value) {
    const bool negative = value < 0;
    uint64_t magnitude =
        negative ? uint64_t{0} - static_cast<uint64_t>(value) : value;
    if ((magnitude >> 53) != 0 && (magnitude & 0x7ff) != 0) {
      magnitude = (magnitude & ~uint64_t{0x7ff}) | 0x800;
    }
    const double result = static_cast<double>(magnitude);
    return negative ? -result : result;
  }

  static constexpr Rep RoundToBfloat16(float value) {
    const uint32_t bits = absl::bit_cast<uint32_t>(value);
    if (value != value) {
      return static_cast<Rep>(((bits >> 16) & 0x8000) | 0x7fc0);
    }
    return static_cast<Rep>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }

  // A double holds every float and every int32 exactly, so this is the only
  // rounding.
  static constexpr Rep RoundFromDouble(double value) {
    const uint64_t bits = absl::bit_cast<uint64_t>(value);
    const bool negative = (bits >> 63) != 0;
    const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
    const Rep sign = negative ? kSignMask : Rep{0};
    constexpr uint64_t kDoubleInf = uint64_t{0x7ff} << 52;
    if (magnitude > kDoubleInf) {
      return kKind == FloatKind::kIeee || kKind == FloatKind::kFn
                 ? static_cast<Rep>(kQuietNan | sign)
                 : kQuietNan;
    }
    if (!kHasSign && (negative || magnitude == 0)) return kQuietNan;

    // The exponent field that the value would have here.
    const int exponent = static_cast<int>(magnitude >> 52) - 1023 + kBias;
    const uint64_t mantissa = magnitude & ((uint64_t{1} << 52) - 1);
    uint64_t code = 0;
    if (exponent > (1 << kExp)) {
      code = uint64_t{kMagnitudeMask} + 1;
    } else if (exponent >= (kKind == FloatKind::kPowerOfTwo ? 0 : 1)) {
      code = ShiftRightRounded(
          (static_cast<uint64_t>(exponent) << 52) | mantissa, 52 - kMant);
    } else if (kKind != FloatKind::kPowerOfTwo &&
               52 - kMant + 1 - exponent <= 54) {
      code = ShiftRightRounded((uint64_t{1} << 52) | mantissa,
                               52 - kMant + 1 - exponent);
    }
    if (code > kMaxFinite) {
      return kKind == FloatKind::kFnuz || !kHasSign
                 ? kInfinity
                 : static_cast<Rep>(kInfinity | sign);
    }
    if (kKind == FloatKind::kFnuz && code == 0) return 0;
    return static_cast<Rep>(code) | sign;
  }

  Rep rep_ = 0;
};

using bfloat16 = MiniFloat<16, 8, 7, 127, FloatKind::kIeee>;
using half = MiniFloat<16, 5, 10, 15, FloatKind::kIeee>;
using float8_e5m2 = MiniFloat<8, 5, 2, 15, FloatKind::kIeee>;
using float8_e4m3 = MiniFloat<8, 4, 3, 7, FloatKind::kIeee>;
using float8_e3m4 = MiniFloat<8, 3, 4, 3, FloatKind::kIeee>;
using float8_e4m3fn = MiniFloat<8, 4, 3, 7, FloatKind::kFn>;
using float8_e4m3b11fnuz = MiniFloat<8, 4, 3, 11, FloatKind::kFnuz>;
using float8_e5m2fnuz = MiniFloat<8, 5, 2, 16, FloatKind::kFnuz>;
using float8_e4m3fnuz = MiniFloat<8, 4, 3, 8, FloatKind::kFnuz>;
using float8_e8m0fnu = MiniFloat<8, 8, 0, 127, FloatKind::kPowerOfTwo>;
using float6_e3m2fn = MiniFloat<6, 3, 2, 3, FloatKind::kFinite>;
using float6_e2m3fn = MiniFloat<6, 2, 3, 1, FloatKind::kFinite>;
using float4_e2m1fn = MiniFloat<4, 2, 1, 1, FloatKind::kFinite>;

template <typename T>
struct is_mini_float : std::false_type {};
template <int B, int E, int M, int S, FloatKind K>
struct is_mini_float<MiniFloat<B, E, M, S, K>> : std::true_type {};
template <typename T>
inline constexpr bool is_mini_float_v = is_mini_float<T>::value;

}  // namespace xla

namespace tsl {
using xla::bfloat16;
using xla::float4_e2m1fn;
using xla::float6_e2m3fn;
using xla::float6_e3m2fn;
using xla::float8_e3m4;
using xla::float8_e4m3;
using xla::float8_e4m3b11fnuz;
using xla::float8_e4m3fn;
using xla::float8_e4m3fnuz;
using xla::float8_e5m2;
using xla::float8_e5m2fnuz;
using xla::float8_e8m0fnu;
using xla::half;
}  // namespace tsl

template <int kBits, int kExp, int kMant, int kBias, xla::FloatKind kKind>
class std::numeric_limits<xla::MiniFloat<kBits, kExp, kMant, kBias, kKind>> {
  using T = xla::MiniFloat<kBits, kExp, kMant, kBias, kKind>;
  static constexpr bool kPowerOfTwo = kKind == xla::FloatKind::kPowerOfTwo;
  // log10(2) = 0.30103
  static constexpr int FloorLog10Of2To(int n) {
    return n >= 0 ? n * 30103 / 100000 : -((-n * 30103 + 99999) / 100000);
  }
  static constexpr int CeilLog10Of2To(int n) { return -FloorLog10Of2To(-n); }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = T::kHasSign;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = T::kHasInfinity;
  static constexpr bool has_quiet_NaN = T::kHasNan;
  static constexpr bool has_signaling_NaN = T::kHasInfinity;
  static constexpr std::float_denorm_style has_denorm =
      kPowerOfTwo ? std::denorm_absent : std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_iec559 = kKind == xla::FloatKind::kIeee;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int radix = 2;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;

  static constexpr int digits = kMant + 1;
  static constexpr int digits10 = FloorLog10Of2To(kMant);
  static constexpr int max_digits10 = 1 + CeilLog10Of2To(digits);
  // The smallest normal number is 2^(min_exponent - 1), and the largest finite
  // one is below 2^max_exponent.
  static constexpr int min_exponent = (kPowerOfTwo ? 1 : 2) - kBias;
  static constexpr int max_exponent =
      (1 << kExp) - kBias -
      (kKind == xla::FloatKind::kIeee || kPowerOfTwo ? 1 : 0);
  static constexpr int min_exponent10 = CeilLog10Of2To(min_exponent - 1);
  static constexpr int max_exponent10 = FloorLog10Of2To(max_exponent);

  static constexpr T min() { return T::FromRep(kPowerOfTwo ? 0 : 1 << kMant); }
  static constexpr T max() { return T::FromRep(T::kMaxFinite); }
  static constexpr T lowest() {
    return kPowerOfTwo ? T::FromRep(0)
                       : T::FromRep(T::kMaxFinite | T::kSignMask);
  }
  static constexpr T epsilon() {
    return T(absl::bit_cast<float>(uint32_t{127 - kMant} << 23));
  }
  static constexpr T round_error() { return kPowerOfTwo ? T(1.0f) : T(0.5f); }
  static constexpr T denorm_min() { return T::FromRep(kPowerOfTwo ? 0 : 1); }
  // For types without infinity, the result of an overflow. See MiniFloat.
  static constexpr T infinity() { return T::FromRep(T::kInfinity); }
  static constexpr T quiet_NaN() { return T::FromRep(T::kQuietNan); }
  static constexpr T signaling_NaN() {
    return T::FromRep(T::kHasInfinity && kMant >= 2
                          ? T::kInfinity | (1 << (kMant - 2))
                          : T::kQuietNan);
  }
};

#endif  // XLA_FLOAT_TYPES_H_
