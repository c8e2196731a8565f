#include "xla/literal_format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/base/casts.h"
#include "absl/log/check.h"
#include "absl/numeric/int128.h"
#include "xla/primitive_util.h"
#include "xla/types.h"
#include "xla/util.h"

namespace xla {
namespace literal_internal {
namespace {

char* AppendText(const std::string& text, char* out) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* AppendInt(int64_t value, char* out) {
  return std::to_chars(out, out + kMaxElementChars, value).ptr;
}

// Writes zero and other integers of at most `max_digits` digits, which look the
// same in all notations; null for other numbers.
template <typename Float>
char* AppendSmallInteger(Float value, uint64_t limit, char* out) {
  if (!(std::abs(value) < static_cast<Float>(limit))) return nullptr;
  const int64_t integer = static_cast<int64_t>(value);
  if (static_cast<Float>(integer) != value) return nullptr;
  if (integer == 0 && std::signbit(value)) *out++ = '-';
  return AppendInt(integer, out);
}

// A decimal number of `count` digits: d.ddd * 10^exponent, where dddd is
// `integer`, which does not begin with 0.
struct Decimal {
  bool negative = false;
  int exponent = 0;
  int count = 0;
  uint64_t integer = 0;
};

// Writes what printf's %g makes of a number at a precision, trailing zeros
// dropped.
char* AppendGeneral(const Decimal& decimal, int precision, char* out) {
  char digits[20];
  int count = static_cast<int>(
      std::to_chars(digits, digits + sizeof(digits), decimal.integer).ptr -
      digits);
  while (count > 1 && digits[count - 1] == '0') --count;
  const int exponent = decimal.exponent;
  if (decimal.negative) *out++ = '-';
  if (exponent < -4 || exponent >= precision) {
    *out++ = digits[0];
    if (count > 1) {
      *out++ = '.';
      std::memcpy(out, digits + 1, count - 1);
      out += count - 1;
    }
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    const int magnitude = std::abs(exponent);
    if (magnitude < 10) *out++ = '0';
    return AppendInt(magnitude, out);
  }
  if (exponent < 0) {
    *out++ = '0';
    *out++ = '.';
    for (int i = exponent + 1; i < 0; ++i) *out++ = '0';
    std::memcpy(out, digits, count);
    return out + count;
  }
  for (int i = 0; i <= exponent; ++i) *out++ = i < count ? digits[i] : '0';
  if (count <= exponent + 1) return out;
  *out++ = '.';
  std::memcpy(out, digits + exponent + 1, count - exponent - 1);
  return out + count - exponent - 1;
}

// The fewest digits from which the value can be got back.
template <typename Float>
Decimal ShortestDecimal(Float value) {
  char text[kMaxElementChars];
  char* const end = std::to_chars(text, text + sizeof(text), value,
                                  std::chars_format::scientific)
                        .ptr;
  *end = '\0';
  Decimal decimal;
  const char* p = text;
  decimal.negative = *p == '-';
  for (p += decimal.negative; *p != 'e'; ++p) {
    if (*p == '.') continue;
    decimal.integer = decimal.integer * 10 + *p - '0';
    ++decimal.count;
  }
  decimal.exponent = std::atoi(p + 1);
  return decimal;
}

constexpr uint64_t Pow10(int n) { return n == 0 ? 1 : 10 * Pow10(n - 1); }

// The integer nearest to value * 10^scale, ties to even; absent where 128 bits
// do not hold the exact product. The value is normal.
std::optional<uint64_t> RoundScaled(double value, int scale) {
  constexpr int kMaxScale = 32;  // 53 bits * 5^32 < 2^128
  static const auto* const powers_of_5 = [] {
    auto* powers = new std::array<absl::uint128, kMaxScale + 1>();
    (*powers)[0] = 1;
    for (int i = 1; i <= kMaxScale; ++i) (*powers)[i] = (*powers)[i - 1] * 5;
    return powers;
  }();
  if (scale < 0 || scale > kMaxScale) return std::nullopt;
  const uint64_t bits = absl::bit_cast<uint64_t>(value);
  const uint64_t mantissa =
      (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023 - 52;
  const absl::uint128 product = (*powers_of_5)[scale] * mantissa;
  const int shift = -(exponent + scale);
  if (shift <= 0 || shift >= 128) return std::nullopt;
  const absl::uint128 quotient = product >> shift;
  if (absl::Uint128High64(quotient) != 0) return std::nullopt;
  const absl::uint128 rest = product - (quotient << shift);
  const absl::uint128 half = absl::uint128(1) << (shift - 1);
  const uint64_t result = absl::Uint128Low64(quotient);
  return result + (rest > half || (rest == half && (result & 1) != 0));
}

// The value rounded to `kDigits` digits; absent where RoundScaled is.
template <int kDigits>
std::optional<Decimal> RoundedDecimal(double value) {
  constexpr uint64_t kLimit = Pow10(kDigits);
  const int binary_exponent =
      static_cast<int>(absl::bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023;
  Decimal decimal;
  // floor(log10 2^binary_exponent), which is at most one too small.
  decimal.exponent = binary_exponent * 1233 >> 12;
  std::optional<uint64_t> digits =
      RoundScaled(value, kDigits - 1 - decimal.exponent);
  if (digits.has_value() && *digits >= kLimit) {
    ++decimal.exponent;
    digits = RoundScaled(value, kDigits - 1 - decimal.exponent);
  }
  if (!digits.has_value() || *digits < kLimit / 10 || *digits >= kLimit) {
    return std::nullopt;
  }
  decimal.negative = value < 0;
  decimal.count = kDigits;
  decimal.integer = *digits;
  return decimal;
}

// Whether the Float that a decimal of max_digits10 digits comes from may be the
// one nearest to a decimal of digits10 digits. Then the further digits are
// those of its rounding error, which is at most 2^-digits of the number.
template <typename Float>
bool MayHaveFewDigits(const Decimal& decimal) {
  using Limits = std::numeric_limits<Float>;
  constexpr uint64_t kMaxError =
      (Pow10(Limits::max_digits10) >> Limits::digits) + 2;
  constexpr uint64_t kLimit = Pow10(Limits::max_digits10 - Limits::digits10);
  const uint64_t tail = decimal.integer % kLimit;
  return tail <= kMaxError || tail >= kLimit - kMaxError;
}

// Whether a decimal of digits10 digits reads back as `magnitude`; absent where
// that takes more than one exact operation.
template <typename Float>
std::optional<bool> ReadsBackAs(const Decimal& decimal, Float magnitude) {
  // The largest power of 10 that Float holds exactly.
  constexpr int kMaxScale = std::is_same_v<Float, float> ? 10 : 22;
  const int scale = decimal.exponent - (decimal.count - 1);
  if (std::abs(scale) > kMaxScale) return std::nullopt;
  static constexpr double kPowers[] = {
      1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const Float power = static_cast<Float>(kPowers[std::abs(scale)]);
  const Float integer = static_cast<Float>(decimal.integer);
  return (scale < 0 ? integer / power : integer * power) == magnitude;
}

// digits10 digits (%g) where they are enough to get the value back, else
// max_digits10.
template <typename Float>
char* AppendBinaryFloat(Float value, char* out) {
  constexpr int kFew = std::numeric_limits<Float>::digits10;
  constexpr int kMany = std::numeric_limits<Float>::max_digits10;
  if (char* end = AppendSmallInteger(value, Pow10(kFew), out)) return end;
  // Outside the normal range there are fewer bits, and digits, than usual.
  if (!std::isnormal(value)) return AppendText(RoundTripFpToString(value), out);
  const std::optional<Decimal> many = RoundedDecimal<kMany>(value);
  if (!many.has_value() || MayHaveFewDigits<Float>(*many)) {
    const std::optional<Decimal> few = RoundedDecimal<kFew>(value);
    std::optional<bool> enough;
    if (few.has_value()) enough = ReadsBackAs<Float>(*few, std::abs(value));
    if (enough.has_value()) {
      if (*enough) return AppendGeneral(*few, kFew, out);
    } else {
      const Decimal shortest = ShortestDecimal(value);
      if (shortest.count <= kFew) return AppendGeneral(shortest, kFew, out);
    }
  }
  if (many.has_value()) return AppendGeneral(*many, kMany, out);
  return std::to_chars(out, out + kMaxElementChars, value,
                       std::chars_format::general, kMany)
      .ptr;
}

template <typename Float>
char* AppendHalfFloat(Float value, char* out) {
  constexpr int kDigits = std::numeric_limits<Float>::max_digits10;
  const float wide = static_cast<float>(value);
  if (char* end = AppendSmallInteger(wide, Pow10(kDigits), out)) return end;
  if (!std::isfinite(wide)) return AppendText(RoundTripFpToString(value), out);
  if (const auto decimal = RoundedDecimal<kDigits>(wide)) {
    return AppendGeneral(*decimal, kDigits, out);
  }
  return std::to_chars(out, out + kMaxElementChars, wide,
                       std::chars_format::general, kDigits)
      .ptr;
}

// The texts of all values of a type of at most 8 bits.
template <typename Float>
char* AppendTinyFloat(Float value, char* out) {
  struct Text {
    uint8_t size;
    char chars[15];
  };
  static const auto* const texts = [] {
    auto* table = new std::array<Text, 256>();
    for (int rep = 0; rep < (1 << Float::kTotalBits); ++rep) {
      const std::string text = RoundTripFpToString(Float::FromRep(rep));
      CHECK_LE(text.size(), sizeof(Text::chars));
      (*table)[rep].size = text.size();
      std::memcpy((*table)[rep].chars, text.data(), text.size());
    }
    return table;
  }();
  // Spare bits are no part of the value.
  const Text& text = (*texts)[value.rep() & ((1 << Float::kTotalBits) - 1)];
  std::memcpy(out, text.chars, sizeof(text.chars));
  return out + text.size;
}

template <typename NativeT>
char* Append(const NativeT& value, char* out) {
  if constexpr (is_complex_v<NativeT>) {
    *out++ = '(';
    out = AppendBinaryFloat(value.real(), out);
    *out++ = ',';
    *out++ = ' ';
    out = AppendBinaryFloat(value.imag(), out);
    *out++ = ')';
    return out;
  } else if constexpr (std::is_same_v<NativeT, bool>) {
    *out++ = value ? '1' : '0';
    return out;
  } else if constexpr (std::is_floating_point_v<NativeT>) {
    return AppendBinaryFloat(value, out);
  } else if constexpr (is_specialized_floating_point_v<NativeT>) {
    if constexpr (sizeof(NativeT) == 1) {
      return AppendTinyFloat(value, out);
    } else {
      return AppendHalfFloat(value, out);
    }
  } else if constexpr (std::is_same_v<NativeT, uint64_t>) {
    return std::to_chars(out, out + kMaxElementChars, value).ptr;
  } else {
    // An intN in memory may have anything in its spare bits.
    const int64_t wide = static_cast<int64_t>(value);
    return AppendInt(static_cast<int64_t>(NativeT(wide)), out);
  }
}

template <typename NativeT>
char* FormatElement(const char* element, char* out) {
  NativeT value;
  std::memcpy(&value, element, sizeof(value));
  return Append(value, out);
}

}  // namespace

FormatFn FormatterOf(PrimitiveType type) {
  return primitive_util::ArrayTypeSwitch(
      [](auto constant) -> FormatFn {
        return &FormatElement<primitive_util::NativeTypeOf<constant>>;
      },
      type);
}

}  // namespace literal_internal
}  // namespace xla
