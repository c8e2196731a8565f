#include "xla/backends/gpu/kernel_ir/kernel_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/float_types.h"

namespace xla::gpu {
namespace {

using kir::ElementType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Keeps `bits` bits of the significand, ties to even, and fewer below the
// least normal number, which is 2^(min_exponent - 1). What is more than `max`
// then becomes `beyond`, with its sign.
//
// Scales the last kept bit to the units place, rounds to nearest even there,
// and scales back; both scalings are exact.
double RoundSignificand(double value, int bits, int min_exponent, double max,
                        double beyond) {
  if (value == 0 || std::isnan(value)) return value;
  if (std::isinf(value)) return std::copysign(beyond, value);
  int exponent = 0;
  std::frexp(value, &exponent);
  const int last = std::max(exponent, min_exponent) - bits;
  value = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  return std::fabs(value) > max ? std::copysign(beyond, value) : value;
}

int IntegerBits(ElementType type) {
  switch (type) {
    case ElementType::kS8:
    case ElementType::kU8:
      return 8;
    case ElementType::kS16:
    case ElementType::kU16:
      return 16;
    case ElementType::kS32:
    case ElementType::kU32:
      return 32;
    case ElementType::kS64:
    case ElementType::kU64:
      return 64;
    default:
      return 0;  // None.
  }
}

bool IsUnsigned(ElementType type) {
  return type == ElementType::kU8 || type == ElementType::kU16 ||
         type == ElementType::kU32 || type == ElementType::kU64;
}

// The value modulo 2^bits, as conversions and overflowing arithmetic of
// integers have it. A negative remainder of fmod moves up by the modulus first,
// and what is then beyond the signed range moves down: -1 as u8 is 255, 200 as
// s8 is -56.
double Wrap(double value, int bits, bool is_signed) {
  if (!std::isfinite(value)) return 0;
  const double modulus = std::ldexp(1.0, bits);
  const double low = is_signed ? -modulus / 2 : 0;
  const double end = low + modulus;
  double v = std::trunc(value);
  // With 64 bits, the end stands for the last integer, which no double is.
  const auto is_inside = [&](double x) {
    return x >= low && (x < end || (x == end && bits == 64));
  };
  if (is_inside(v)) return v;
  v = std::fmod(v, modulus);
  if (v < low) v += modulus;
  return is_inside(v) ? v : v - modulus;
}

// The bits of a number of 64, with a sign or without.
int64_t Integer(double v) {
  if (v >= 0x1p64) return -1;
  if (v >= 0x1p63) return static_cast<int64_t>(static_cast<uint64_t>(v));
  return static_cast<int64_t>(std::max(v, -0x1p63));
}

// Towards zero; at the ends of the type where it is beyond.
double Saturate(double v, ElementType type) {
  const int bits = IntegerBits(type) - (IsUnsigned(type) ? 0 : 1);
  if (std::isnan(v)) return 0;
  const double end = std::ldexp(1.0, bits);
  if (v >= end) return end - 1;
  return std::max(std::trunc(v), IsUnsigned(type) ? 0 : -end);
}

// Sums, products and shifts of integers of up to 32 bits: exact, then wrapped.
// 64-bit results are exact only as far as a double holds them.
std::optional<double> ApplyInteger(absl::string_view op, double a, double b,
                                   ElementType type) {
  const int bits = IntegerBits(type);
  if (bits == 0) return std::nullopt;
  const auto x = static_cast<uint64_t>(Integer(a));
  const auto y = static_cast<uint64_t>(Integer(b));
  uint64_t r;
  if (op == "mul" && std::fabs(a * b) >= 0x1p53) {
    r = x * y;
  } else if (op == "shl") {
    r = b < 0 || b >= bits ? 0 : x << y;
  } else {
    return std::nullopt;
  }
  if (bits < 64) r &= (uint64_t{1} << bits) - 1;
  return IsUnsigned(type) || bits < 64
             ? static_cast<double>(r)
             : static_cast<double>(static_cast<int64_t>(r));
}

double ShiftRight(double a, double b) {
  const bool out = b < 0 || b > 63;
  if (out) return a < 0 ? -1.0 : 0.0;
  if (a < 0) return static_cast<double>(Integer(a) >> static_cast<int>(b));
  return static_cast<double>(static_cast<uint64_t>(Integer(a)) >>
                             static_cast<int>(b));
}

// Integers: 1 / a^-b, rounded towards zero, where b is negative.
double Power(double a, double b, ElementType type) {
  if (IntegerBits(type) == 0) return std::pow(a, b);
  if (b < 0) {
    if (std::fabs(a) > 1 || a == 0) return 0;
    return a == 1 || std::fmod(b, 2) == 0 ? 1 : -1;
  }
  auto base = static_cast<uint64_t>(Integer(a));
  uint64_t result = 1;
  for (auto e = static_cast<uint64_t>(b); e != 0; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  if (IsUnsigned(type)) return static_cast<double>(result);
  return static_cast<double>(static_cast<int64_t>(result));
}

double CountBits(double v) {
  auto bits = static_cast<uint64_t>(v);
  double count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

double LeadingZeros(double v, ElementType type) {
  auto bits = static_cast<uint64_t>(v);
  double count = IntegerBits(type);
  for (; bits != 0; bits >>= 1) --count;
  return count;
}

double Sign(double v) {
  return v == 0 || std::isnan(v) ? v : std::copysign(1.0, v);
}

}  // namespace

double RoundToType(double value, ElementType type) {
  switch (type) {
    case ElementType::kPred:
      return value != 0;
    case ElementType::kS8:
      return Wrap(value, 8, true);
    case ElementType::kU8:
      return Wrap(value, 8, false);
    case ElementType::kS16:
      return Wrap(value, 16, true);
    case ElementType::kU16:
      return Wrap(value, 16, false);
    case ElementType::kS32:
      return Wrap(value, 32, true);
    case ElementType::kU32:
      return Wrap(value, 32, false);
    case ElementType::kS64:
      return Wrap(value, 64, true);
    case ElementType::kU64:
      return Wrap(value, 64, false);
    case ElementType::kF16:
      return RoundSignificand(value, 11, -13, 65504, kInfinity);
    case ElementType::kBF16:
      return RoundSignificand(value, 8, -125, 0x1.fep127, kInfinity);
    case ElementType::kF8E4M3FN:
      return RoundSignificand(value, 4, -5, 448, kNan);
    case ElementType::kF8E5M2:
      return RoundSignificand(value, 3, -13, 57344, kInfinity);
    case ElementType::kF32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

namespace {

// The bits of a number, and the number that has them.
uint64_t BitsOf(double value, ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return absl::bit_cast<uint64_t>(value);
    case ElementType::kF32:
      return absl::bit_cast<uint32_t>(static_cast<float>(value));
    case ElementType::kBF16:
      return absl::bit_cast<uint16_t>(bfloat16(value));
    case ElementType::kF16:
      return absl::bit_cast<uint16_t>(half(value));
    case ElementType::kF8E4M3FN:
      return absl::bit_cast<uint8_t>(float8_e4m3fn(value));
    case ElementType::kF8E5M2:
      return absl::bit_cast<uint8_t>(float8_e5m2(value));
    default:
      return static_cast<uint64_t>(Integer(value));
  }
}

double OfBits(uint64_t bits, ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return absl::bit_cast<double>(bits);
    case ElementType::kS64:
      return static_cast<double>(static_cast<int64_t>(bits));
    case ElementType::kF32:
      return absl::bit_cast<float>(static_cast<uint32_t>(bits));
    case ElementType::kBF16:
      return absl::bit_cast<bfloat16>(static_cast<uint16_t>(bits));
    case ElementType::kF16:
      return absl::bit_cast<half>(static_cast<uint16_t>(bits));
    case ElementType::kF8E4M3FN:
      return static_cast<float>(
          absl::bit_cast<float8_e4m3fn>(static_cast<uint8_t>(bits)));
    case ElementType::kF8E5M2:
      return static_cast<float>(
          absl::bit_cast<float8_e5m2>(static_cast<uint8_t>(bits)));
    default:
      return RoundToType(static_cast<double>(bits), type);
  }
}

}  // namespace

double ApplyKernelOp(absl::string_view op, absl::Span<const double> x,
                     ElementType type) {
  const double a = x.empty() ? 0 : x[0];
  const double b = x.size() > 1 ? x[1] : 0;
  const double c = x.size() > 2 ? x[2] : 0;
  using Unary = double (*)(double);
  static constexpr std::pair<absl::string_view, Unary> kUnary[] = {
      {"neg", [](double v) { return -v; }},
      {"abs", [](double v) { return std::fabs(v); }},
      {"exp", [](double v) { return std::exp(v); }},
      {"log", [](double v) { return std::log(v); }},
      {"sqrt", [](double v) { return std::sqrt(v); }},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }},
      {"rcp", [](double v) { return 1 / v; }},
      {"tanh", [](double v) { return std::tanh(v); }},
      {"sin", [](double v) { return std::sin(v); }},
      {"cos", [](double v) { return std::cos(v); }},
      {"floor", [](double v) { return std::floor(v); }},
      {"ceil", [](double v) { return std::ceil(v); }},
      {"tan", [](double v) { return std::tan(v); }},
      {"acos", [](double v) { return std::acos(v); }},
      {"acosh", [](double v) { return std::acosh(v); }},
      {"asin", [](double v) { return std::asin(v); }},
      {"asinh", [](double v) { return std::asinh(v); }},
      {"atanh", [](double v) { return std::atanh(v); }},
      {"cosh", [](double v) { return std::cosh(v); }},
      {"sinh", [](double v) { return std::sinh(v); }},
      {"expm1", [](double v) { return std::expm1(v); }},
      {"log1p", [](double v) { return std::log1p(v); }},
      {"cbrt", [](double v) { return std::cbrt(v); }},
      {"erf", [](double v) { return std::erf(v); }},
      {"sign", Sign},
      {"rint", [](double v) { return std::nearbyint(v); }},
      {"round", [](double v) { return std::round(v); }},
      {"popcnt", CountBits},
      {"relu", [](double v) { return std::max(v, 0.0); }},
      {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"not", [](double v) { return v == 0 ? 1.0 : 0.0; }},
  };
  for (const auto& [name, function] : kUnary) {
    if (name == op) return function(a);
  }
  if (std::optional<double> exact = ApplyInteger(op, a, b, type)) {
    return *exact;
  }
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "div") return a / b;
  if (op == "rem") return std::fmod(a, b);
  // Both propagate NaN, and -0 is less than 0.
  const bool same = a == b;
  if (op == "max") {
    return std::isnan(a) || a > b || (same && !std::signbit(a)) ? a : b;
  }
  if (op == "min") {
    return std::isnan(a) || a < b || (same && std::signbit(a)) ? a : b;
  }
  if (op == "pow") return Power(a, b, type);
  if (op == "and") return static_cast<double>(Integer(a) & Integer(b));
  if (op == "or") return static_cast<double>(Integer(a) | Integer(b));
  if (op == "xor") return static_cast<double>(Integer(a) ^ Integer(b));
  if (op == "shr") return ShiftRight(a, b);
  if (op == "atan2") return std::atan2(a, b);
  if (op == "clz") return LeadingZeros(a, type);
  if (op == "saturate") return Saturate(a, type);
  if (op == "eq") return a == b;
  if (op == "lt") return a < b;
  if (op == "le") return a <= b;
  if (op == "gt") return a > b;
  if (op == "ge") return a >= b;
  if (op == "select") return a != 0 ? b : c;
  if (op == "fma") return a * b + c;
  if (op == "clamp") {
    return ApplyKernelOp("min", {ApplyKernelOp("max", {a, b}, type), c}, type);
  }
  // Operations that pass their input on.
  return a;
}

double ApplyToBits(absl::string_view op, absl::Span<const double> x,
                   ElementType from, ElementType to) {
  constexpr uint64_t kLow = 0xffffffff;
  const uint64_t bits = BitsOf(x[0], from);
  if (op == "high_bits") return static_cast<double>(bits >> 32);
  if (op == "low_bits") return static_cast<double>(bits & kLow);
  if (x.size() < 2) return OfBits(bits, to);
  return OfBits(bits << 32 | (BitsOf(x[1], ElementType::kU32) & kLow), to);
}

double ApplyCombiner(kir::Combiner combiner, double a, double b) {
  switch (combiner) {
    case kir::Combiner::kMul:
      return a * b;
    case kir::Combiner::kMax:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
    case kir::Combiner::kMin:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
    default:
      return a + b;
  }
}

double CombinerIdentity(kir::Combiner combiner) {
  switch (combiner) {
    case kir::Combiner::kMul:
      return 1;
    case kir::Combiner::kMax:
      return -std::numeric_limits<double>::infinity();
    case kir::Combiner::kMin:
      return std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

}  // namespace xla::gpu
