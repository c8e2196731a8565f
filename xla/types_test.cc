#include "xla/types.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

template <typename T>
T FromCode(uint32_t code) {
  return T::FromRep(static_cast<typename T::Rep>(code));
}

// The number that a code stands for, straight from the definition of the
// formats: (-1)^s * 2^(e - bias) * 1.m, or 2^(1 - bias) * 0.m where e is 0.
template <typename T>
double Decode(uint32_t code) {
  if (T::kFloatKind == FloatKind::kPowerOfTwo) {
    return code == 255 ? NAN : std::ldexp(1.0, static_cast<int>(code) - 127);
  }
  const bool negative = (code >> (T::kTotalBits - 1)) & 1;
  const int exponent =
      (code >> T::kMantissaBits) & ((1 << T::kExponentBits) - 1);
  const int mantissa = code & ((1 << T::kMantissaBits) - 1);
  const bool top = exponent == (1 << T::kExponentBits) - 1;
  switch (T::kFloatKind) {
    case FloatKind::kIeee:
      if (top && mantissa != 0) return NAN;
      if (top) return negative ? -INFINITY : INFINITY;
      break;
    case FloatKind::kFn:
      if (top && mantissa == (1 << T::kMantissaBits) - 1) return NAN;
      break;
    case FloatKind::kFnuz:
      if (negative && exponent == 0 && mantissa == 0) return NAN;
      break;
    default:
      break;
  }
  const double magnitude =
      exponent == 0
          ? std::ldexp(mantissa, 1 - T::kExponentBias - T::kMantissaBits)
          : std::ldexp(mantissa + (1 << T::kMantissaBits),
                       exponent - T::kExponentBias - T::kMantissaBits);
  return negative ? -magnitude : magnitude;
}

template <typename T>
uint32_t CodeCount() {
  return 1u << T::kTotalBits;
}

// The codes of the finite values >= 0, which are in the order of the values.
template <typename T>
std::vector<uint32_t> FiniteCodes() {
  std::vector<uint32_t> codes;
  for (uint32_t code = 0; code < CodeCount<T>(); ++code) {
    const double value = Decode<T>(code);
    if (std::isfinite(value) && !std::signbit(value)) codes.push_back(code);
  }
  return codes;
}

template <typename T>
class MiniFloatTest : public testing::Test {};

using AllTypes =
    testing::Types<bfloat16, half, float8_e5m2, float8_e4m3, float8_e3m4,
                   float8_e4m3fn, float8_e4m3b11fnuz, float8_e5m2fnuz,
                   float8_e4m3fnuz, float8_e8m0fnu, float6_e3m2fn,
                   float6_e2m3fn, float4_e2m1fn>;
TYPED_TEST_SUITE(MiniFloatTest, AllTypes);

TYPED_TEST(MiniFloatTest, EveryCodeWidensToItsDefinition) {
  for (uint32_t code = 0; code < CodeCount<TypeParam>(); ++code) {
    const TypeParam x = FromCode<TypeParam>(code);
    const double expected = Decode<TypeParam>(code);
    const float widened = static_cast<float>(x);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(widened)) << code;
      EXPECT_TRUE(isnan(x) && !isinf(x) && !isfinite(x)) << code;
      continue;
    }
    EXPECT_EQ(widened, expected) << code;
    EXPECT_EQ(std::signbit(widened), std::signbit(expected)) << code;
    EXPECT_EQ(isinf(x), std::isinf(expected)) << code;
    EXPECT_EQ(isfinite(x), std::isfinite(expected)) << code;
    EXPECT_FALSE(isnan(x)) << code;
    EXPECT_EQ(signbit(x), std::signbit(expected)) << code;
  }
}

TYPED_TEST(MiniFloatTest, EveryCodeSurvivesTheWayThroughFloatAndDouble) {
  for (uint32_t code = 0; code < CodeCount<TypeParam>(); ++code) {
    const TypeParam x = FromCode<TypeParam>(code);
    const TypeParam by_float(static_cast<float>(x));
    const TypeParam by_double(static_cast<double>(x));
    if (isnan(x)) {
      EXPECT_TRUE(isnan(by_float) && isnan(by_double)) << code;
    } else {
      EXPECT_EQ(by_float.rep(), x.rep());
      EXPECT_EQ(by_double.rep(), x.rep());
    }
  }
}

TYPED_TEST(MiniFloatTest, RoundsToNearestTiesToEvenOrUp) {
  constexpr bool kUp = TypeParam::kFloatKind == FloatKind::kPowerOfTwo;
  const std::vector<uint32_t> codes = FiniteCodes<TypeParam>();
  for (size_t i = 0; i + 1 < codes.size(); ++i) {
    const double low = Decode<TypeParam>(codes[i]);
    const double high = Decode<TypeParam>(codes[i + 1]);
    const double tie = (low + high) / 2;  // Exact in double.
    const uint32_t even = !kUp && codes[i] % 2 == 0 ? codes[i] : codes[i + 1];
    EXPECT_EQ(TypeParam(tie).rep(), even) << tie;
    EXPECT_EQ(TypeParam(std::nextafter(tie, 0)).rep(), codes[i]) << tie;
    EXPECT_EQ(TypeParam(std::nextafter(tie, high)).rep(), codes[i + 1]) << tie;
    const float tie_f = static_cast<float>(tie);
    if (tie_f == tie) {
      EXPECT_EQ(TypeParam(tie_f).rep(), even) << tie;
      EXPECT_EQ(TypeParam(std::nextafter(tie_f, 0.0f)).rep(), codes[i]);
      EXPECT_EQ(TypeParam(std::nextafter(tie_f, INFINITY)).rep(), codes[i + 1]);
    }
    if (TypeParam::kHasSign && even != 0) {
      EXPECT_EQ(TypeParam(-tie).rep(), even | TypeParam::kSignMask) << tie;
    }
  }
}

TYPED_TEST(MiniFloatTest, OverflowsBeyondTheLastTie) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<uint32_t> codes = FiniteCodes<TypeParam>();
  const double max = Decode<TypeParam>(codes.back());
  const double ulp = TypeParam::kFloatKind == FloatKind::kPowerOfTwo
                         ? max
                         : max - Decode<TypeParam>(codes[codes.size() - 2]);
  EXPECT_EQ(static_cast<double>(Limits::max()), max);
  const double tie = max + ulp / 2;
  // The next code would be odd where that of max is even.
  const bool tie_stays =
      codes.back() % 2 == 0 && TypeParam::kFloatKind != FloatKind::kPowerOfTwo;
  const auto overflowed = [](TypeParam x, bool negative) {
    switch (TypeParam::kFloatKind) {
      case FloatKind::kIeee:
        return isinf(x) && signbit(x) == negative;
      case FloatKind::kFinite:
        return x == (negative ? Limits::lowest() : Limits::max());
      default:
        return isnan(x);
    }
  };
  EXPECT_EQ(TypeParam(std::nextafter(tie, 0.0)).rep(), codes.back());
  if (tie_stays) {
    EXPECT_EQ(TypeParam(tie).rep(), codes.back());
  } else {
    EXPECT_TRUE(overflowed(TypeParam(tie), false));
    EXPECT_TRUE(overflowed(TypeParam(-tie), true));
  }
  for (double beyond :
       {std::nextafter(tie, INFINITY), 1e300, static_cast<double>(INFINITY)}) {
    EXPECT_TRUE(overflowed(TypeParam(beyond), false)) << beyond;
    EXPECT_TRUE(overflowed(TypeParam(-beyond), true)) << beyond;
  }
  EXPECT_TRUE(overflowed(TypeParam(INFINITY), false));
}

TYPED_TEST(MiniFloatTest, NanStaysNanWhereThereIsOne) {
  EXPECT_EQ(isnan(TypeParam(NAN)), TypeParam::kHasNan);
  EXPECT_EQ(isnan(TypeParam(-std::numeric_limits<double>::quiet_NaN())),
            TypeParam::kHasNan);
  if (!TypeParam::kHasNan) {
    EXPECT_EQ(TypeParam(NAN).rep(), TypeParam::kSignMask);
  } else {
    const TypeParam nan(NAN);
    EXPECT_FALSE(nan == nan);
    EXPECT_TRUE(nan != nan);
    EXPECT_FALSE(nan < nan || nan >= nan);
  }
}

TYPED_TEST(MiniFloatTest, ZeroKeepsItsSignWhereItHasOne) {
  if (TypeParam::kFloatKind == FloatKind::kPowerOfTwo) {
    EXPECT_TRUE(isnan(TypeParam(0.0f)) && isnan(TypeParam(-0.0)));
    EXPECT_TRUE(isnan(TypeParam(0)) && isnan(TypeParam(-1.0f)));
    EXPECT_EQ(TypeParam(0x1p-149f).rep(), 0);  // 2^-127
    EXPECT_EQ(TypeParam(1e-300).rep(), 0);
    EXPECT_TRUE(isnan(-TypeParam(1.0f)));
    return;
  }
  EXPECT_EQ(TypeParam(0.0f).rep(), 0);
  EXPECT_EQ(TypeParam(-0.0f).rep(),
            TypeParam::kHasNegativeZero ? TypeParam::kSignMask : 0);
  // A tiny negative number rounds to -0 as well.
  EXPECT_EQ(TypeParam(-1e-300).rep(),
            TypeParam::kHasNegativeZero ? TypeParam::kSignMask : 0);
  EXPECT_TRUE(TypeParam(-0.0f) == TypeParam(0.0f));
  EXPECT_EQ((-TypeParam(0.0f)).rep(),
            TypeParam::kHasNegativeZero ? TypeParam::kSignMask : 0);
}

TYPED_TEST(MiniFloatTest, ArithmeticIsTheExactResultRoundedOnce) {
  std::mt19937 rng(7);
  const auto& codes = FiniteCodes<TypeParam>();
  // Products of powers of two may be below every float but zero, which is NaN.
  const auto rounded = [](double exact) {
    return TypeParam::kFloatKind == FloatKind::kPowerOfTwo
               ? TypeParam(static_cast<float>(exact))
               : TypeParam(exact);
  };
  for (int i = 0; i < 2000; ++i) {
    const TypeParam a = FromCode<TypeParam>(codes[rng() % codes.size()]);
    const TypeParam b = FromCode<TypeParam>(codes[rng() % codes.size()]);
    const double x = static_cast<double>(a);
    const double y = static_cast<double>(b);
    // Sums of numbers this narrow are exact in double unless they are so far
    // apart that the smaller one cannot decide a tie.
    EXPECT_TRUE((a + b).rep() == rounded(x + y).rep());
    EXPECT_TRUE((a * b).rep() == rounded(x * y).rep());
    if (y != 0) {
      EXPECT_TRUE((a / b).rep() == rounded(x / y).rep());
    }
    EXPECT_EQ(a < b, x < y);
    EXPECT_EQ(a >= b, x >= y);
  }
}

TYPED_TEST(MiniFloatTest, LimitsDescribeTheFormat) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<uint32_t> codes = FiniteCodes<TypeParam>();
  double smallest_normal = 0;
  for (uint32_t code : codes) {
    if (Limits::has_denorm == std::denorm_absent ||
        (code >> TypeParam::kMantissaBits) != 0) {
      smallest_normal = Decode<TypeParam>(code);
      break;
    }
  }
  EXPECT_EQ(static_cast<double>(Limits::min()), smallest_normal);
  EXPECT_EQ(std::ldexp(1.0, Limits::min_exponent - 1), smallest_normal);
  const double max = static_cast<double>(Limits::max());
  EXPECT_LT(max, std::ldexp(1.0, Limits::max_exponent));
  EXPECT_GE(max, std::ldexp(1.0, Limits::max_exponent - 1));
  EXPECT_EQ(Limits::digits, TypeParam::kMantissaBits + 1);
  EXPECT_EQ(static_cast<double>(Limits::epsilon()),
            std::ldexp(1.0, -TypeParam::kMantissaBits));
  EXPECT_EQ(Limits::has_quiet_NaN, isnan(Limits::quiet_NaN()));
  EXPECT_EQ(Limits::has_infinity, isinf(Limits::infinity()));
  const uint32_t first = Limits::has_denorm == std::denorm_absent ? 0 : 1;
  EXPECT_EQ(static_cast<double>(Limits::denorm_min()),
            Decode<TypeParam>(codes[first]));
  if (Limits::is_signed) {
    EXPECT_EQ(static_cast<double>(Limits::lowest()), -max);
  }
  EXPECT_EQ(
      std::ldexp(1.0, 1 - exponent_bias_v<TypeParam>) * 1.0 <= smallest_normal,
      TypeParam::kFloatKind != FloatKind::kPowerOfTwo);
}

TEST(FloatTypesTest, LargestValuesAreThoseOfTheSpecifications) {
  EXPECT_EQ(float{std::numeric_limits<half>::max()}, 65504.0f);
  EXPECT_EQ(float(std::numeric_limits<float8_e5m2>::max()), 57344.0f);
  EXPECT_EQ(float(std::numeric_limits<float8_e4m3>::max()), 240.0f);
  EXPECT_EQ(float(std::numeric_limits<float8_e4m3fn>::max()), 448.0f);
  EXPECT_EQ(float(std::numeric_limits<float8_e4m3b11fnuz>::max()), 30.0f);
  EXPECT_EQ(float(std::numeric_limits<float8_e3m4>::max()), 15.5f);
  EXPECT_EQ(float(std::numeric_limits<float8_e5m2fnuz>::max()), 57344.0f);
  EXPECT_EQ(float(std::numeric_limits<float8_e4m3fnuz>::max()), 240.0f);
  EXPECT_EQ(float(std::numeric_limits<float8_e8m0fnu>::max()), 0x1p127f);
  EXPECT_EQ(float(std::numeric_limits<float6_e3m2fn>::max()), 28.0f);
  EXPECT_EQ(float(std::numeric_limits<float6_e2m3fn>::max()), 7.5f);
  EXPECT_EQ(float(std::numeric_limits<float4_e2m1fn>::max()), 6.0f);
}

TEST(FloatTypesTest, DoubleIsNotRoundedByWayOfFloat) {
  // In float this would be a tie, which goes down to 1.
  const double above_tie = 1.0 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(float{bfloat16(above_tie)}, 1.0f + 0x1p-7f);
  EXPECT_EQ(float{bfloat16(static_cast<float>(above_tie))}, 1.0f);
  const double half_above_tie = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(float{half(half_above_tie)}, 1.0f + 0x1p-10f);
}

TEST(FloatTypesTest, IntegersAreRoundedOnce) {
  // 2^61 + 2^53 is a tie of bfloat16; the last bit decides it, but is lost on
  // the way to double.
  const int64_t tie = (int64_t{1} << 61) + (int64_t{1} << 53);
  EXPECT_EQ(float{bfloat16(tie)}, 0x1p61f);
  EXPECT_EQ(float{bfloat16(tie + 1)}, 0x1p61f + 0x1p54f);
  EXPECT_EQ(float{bfloat16(-tie - 1)}, -0x1p61f - 0x1p54f);
  EXPECT_EQ(float{half(2049)}, 2048.0f);
  EXPECT_EQ(float{half(2051)}, 2052.0f);
  EXPECT_EQ(float{bfloat16(uint64_t{0xffffffffffffffff})}, 0x1p64f);
}

TEST(FloatTypesTest, NarrowTypesMixWithFloat) {
  const bfloat16 a(1.5f);
  EXPECT_EQ(a + 1.0f, 2.5f);
  EXPECT_EQ(2 * a, 3.0f);
  EXPECT_TRUE((std::is_same_v<decltype(a + a), bfloat16>));
  EXPECT_EQ(static_cast<int>(half(3.75f)), 3);
  EXPECT_EQ(float(static_cast<float8_e5m2>(a)), 1.5f);
  EXPECT_FALSE((std::is_convertible_v<float8_e5m2, float>));
  EXPECT_TRUE((std::is_constructible_v<float, float8_e5m2>));
  EXPECT_EQ(absl::StrCat(a, " ", float8_e4m3fn(0.5f)), "1.5 0.5");
  EXPECT_EQ(absl::HashOf(half(0.0f)), absl::HashOf(half(-0.0f)));
}

TEST(FloatTypesTest, NanPayloadWidens) {
  EXPECT_EQ(absl::bit_cast<uint32_t>(float{bfloat16::FromRep(0xff81)}),
            0xff810000u);
  EXPECT_EQ(absl::bit_cast<uint32_t>(half::FromRep(0x7c01).ToFloat()),
            0x7f802000u);
}

template <typename T>
class IntNTest : public testing::Test {};
using IntTypes = testing::Types<s1, u1, s2, u2, s4, u4>;
TYPED_TEST_SUITE(IntNTest, IntTypes);

TYPED_TEST(IntNTest, EveryOperationWrapsAround) {
  using Limits = std::numeric_limits<TypeParam>;
  const int modulus = 1 << TypeParam::bits;
  const int low = static_cast<int>(Limits::min());
  const int high = static_cast<int>(Limits::max());
  EXPECT_EQ(high - low + 1, modulus);
  const auto wrap = [&](int x) {
    while (x < low) x += modulus;
    while (x > high) x -= modulus;
    return x;
  };
  for (int a = low; a <= high; ++a) {
    const TypeParam x(a);
    EXPECT_EQ(static_cast<int>(x), a);
    EXPECT_EQ(static_cast<int>(-x), wrap(-a));
    EXPECT_EQ(static_cast<int>(~x), wrap(~a));
    for (int b = low; b <= high; ++b) {
      const TypeParam y(b);
      EXPECT_EQ(static_cast<int>(x + y), wrap(a + b));
      EXPECT_EQ(static_cast<int>(x - y), wrap(a - b));
      EXPECT_EQ(static_cast<int>(x * y), wrap(a * b));
      if (b != 0) {
        EXPECT_EQ(static_cast<int>(x / y), wrap(a / b));
        EXPECT_EQ(static_cast<int>(x % y), wrap(a % b));
      }
      EXPECT_EQ(x < y, a < b);
      EXPECT_EQ(x == y, a == b);
      EXPECT_EQ(x == static_cast<int64_t>(b), a == b);
    }
    for (int s = 0; s < TypeParam::bits; ++s) {
      EXPECT_EQ(static_cast<int>(x << s), wrap(a * (1 << s)));
      EXPECT_EQ(static_cast<int>(x >> s), a >> s);
    }
  }
  TypeParam x = Limits::max();
  ++x;
  EXPECT_EQ(x, Limits::min());
}

TEST(IntNTest, TraitsTellTheTypesApart) {
  EXPECT_TRUE(is_intN_v<u4>);
  EXPECT_FALSE(is_intN_v<uint8_t>);
  EXPECT_TRUE((std::is_same_v<make_specialized_unsigned_t<s4>, u4>));
  EXPECT_TRUE((std::is_same_v<make_specialized_signed_t<uint16_t>, int16_t>));
  EXPECT_TRUE(is_specialized_integral_v<u2> && is_specialized_integral_v<int>);
  EXPECT_FALSE(is_specialized_floating_point_v<u2>);
  EXPECT_TRUE(is_specialized_floating_point_v<float8_e8m0fnu>);
  EXPECT_FALSE(is_specialized_floating_point_v<complex64>);
  EXPECT_TRUE(has_negative_zero_v<float8_e4m3fn>);
  EXPECT_FALSE(has_negative_zero_v<float8_e4m3fnuz>);
  EXPECT_FALSE(has_zero_v<float8_e8m0fnu>);
  EXPECT_TRUE(has_zero_v<s4>);
  EXPECT_EQ(exponent_bias_v<float>, 127);
  EXPECT_EQ(exponent_bias_v<double>, 1023);
}

}  // namespace
}  // namespace xla
