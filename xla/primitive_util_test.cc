#include "xla/primitive_util.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "gtest/gtest.h"
#include "xla/types.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace primitive_util {
namespace {

std::vector<PrimitiveType> AllTypes() {
  std::vector<PrimitiveType> types;
  for (int i = 1; i < PrimitiveType_ARRAYSIZE; ++i) {
    if (PrimitiveType_IsValid(i))
      types.push_back(static_cast<PrimitiveType>(i));
  }
  return types;
}

TEST(PrimitiveUtilTest, EveryTypeOfTheEnumHasANameThatLeadsBack) {
  EXPECT_EQ(AllTypes().size(), 36u);
  for (PrimitiveType type : AllTypes()) {
    const std::string& name = LowercasePrimitiveTypeName(type);
    EXPECT_NE(name, "invalid") << PrimitiveType_Name(type);
    EXPECT_TRUE(IsPrimitiveTypeName(name)) << name;
    EXPECT_EQ(*StringToPrimitiveType(name), type) << name;
    EXPECT_FALSE(IsPrimitiveTypeName(name + "x"));
    EXPECT_FALSE(IsPrimitiveTypeName(name.substr(1) + "_"));
  }
  EXPECT_EQ(LowercasePrimitiveTypeName(F8E4M3B11FNUZ), "f8e4m3b11fnuz");
  EXPECT_EQ(LowercasePrimitiveTypeName(OPAQUE_TYPE), "opaque");
}

TEST(PrimitiveUtilTest, OtherNamesAreErrors) {
  for (const char* name : {"", "f", "F32", "f33", "primitive_type_invalid",
                           "opaque_type", "s3", "preds"}) {
    EXPECT_FALSE(IsPrimitiveTypeName(name)) << name;
    EXPECT_EQ(StringToPrimitiveType(name).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(PrimitiveUtilTest, EveryTypeWithElementsIsOfOneKind) {
  for (PrimitiveType type : AllTypes()) {
    const int kinds = IsIntegralType(type) + IsFloatingPointType(type) +
                      IsComplexType(type) + (type == PRED);
    EXPECT_EQ(kinds, IsArrayType(type) ? 1 : 0) << PrimitiveType_Name(type);
  }
  EXPECT_FALSE(IsArrayType(TUPLE) || IsArrayType(TOKEN) ||
               IsArrayType(OPAQUE_TYPE) || IsArrayType(BUFFER));
  EXPECT_FALSE(IsArrayType(static_cast<PrimitiveType>(-1)));
  EXPECT_FALSE(IsArrayType(static_cast<PrimitiveType>(1000)));
}

TEST(PrimitiveUtilTest, Widths) {
  EXPECT_EQ(BitWidth(PRED), 1);
  EXPECT_EQ(ByteWidth(PRED), 1);
  EXPECT_EQ(StorageBitWidth(PRED), 8);
  EXPECT_EQ(BitWidth(S1), 1);
  EXPECT_EQ(BitWidth(U4), 4);
  EXPECT_EQ(StorageBitWidth(U4), 4);
  EXPECT_EQ(BitWidth(F4E2M1FN), 4);
  EXPECT_EQ(BitWidth(F6E3M2FN), 6);
  EXPECT_EQ(StorageBitWidth(F6E3M2FN), 8);
  EXPECT_EQ(BitWidth(BF16), 16);
  EXPECT_EQ(BitWidth(C128), 128);
  ArrayTypeForEach([](auto type) {
    EXPECT_EQ(ByteWidth(type), sizeof(NativeTypeOf<type>));
    EXPECT_EQ(NativeToPrimitiveType<NativeTypeOf<type>>(), type);
  });
  EXPECT_TRUE(IsSubByteNonPredType(S4) && IsSubByteNonPredType(F4E2M1FN));
  EXPECT_FALSE(IsSubByteNonPredType(PRED) || IsSubByteNonPredType(F6E2M3FN));
}

TEST(PrimitiveUtilTest, FloatingPointFormats) {
  EXPECT_EQ(SignificandWidth(F32), 24);
  EXPECT_EQ(ExponentWidth(F32), 8);
  EXPECT_EQ(ExponentBias(F32), 127);
  EXPECT_EQ(UnderflowExponent(F32), -125);
  EXPECT_EQ(OverflowExponent(F32), 128);
  EXPECT_EQ(ExponentWidth(F64), 11);
  EXPECT_EQ(ExponentWidth(F8E5M2), 5);
  EXPECT_EQ(ExponentWidth(F8E8M0FNU), 8);
  EXPECT_EQ(ExponentBias(F8E4M3B11FNUZ), 11);
  EXPECT_EQ(ExponentBias(F8E8M0FNU), 127);
  EXPECT_EQ(ExponentWidth(F4E2M1FN), 2);
  EXPECT_TRUE(HasInfinity(F16) && !HasInfinity(F8E4M3FN));
  EXPECT_TRUE(HasNaN(F8E4M3FN) && !HasNaN(F4E2M1FN));
  EXPECT_TRUE(HasNegativeZero(F4E2M1FN) && !HasNegativeZero(F8E5M2FNUZ));
  EXPECT_FALSE(HasPositiveZero(F8E8M0FNU));
}

TEST(PrimitiveUtilTest, RelatedTypes) {
  EXPECT_EQ(UnsignedIntegralTypeForBitWidth(16), U16);
  EXPECT_EQ(SignedIntegralTypeForBitWidth(2), S2);
  EXPECT_EQ(SignedIntegralTypeForBitWidth(3), PRIMITIVE_TYPE_INVALID);
  EXPECT_EQ(ComplexType(F32), C64);
  EXPECT_EQ(ComplexComponentType(C128), F64);
  EXPECT_EQ(HigherPrecisionType(F16, BF16), BF16);
  EXPECT_EQ(HigherPrecisionType(S32, F16), F16);
  EXPECT_EQ(HigherPrecisionType(C64, F64), C64);
  EXPECT_EQ(HigherPrecisionType(S32, U32), S32);
  EXPECT_EQ(HigherPrecisionType(S8, U32), U32);
  EXPECT_EQ(HigherPrecisionType(F32, F32), F32);
}

TEST(PrimitiveUtilTest, HigherPrecisionTypeIsSymmetric) {
  ArrayTypeForEach([](auto a) {
    ArrayTypeForEach([=](auto b) {
      EXPECT_EQ(HigherPrecisionType(a, b), HigherPrecisionType(b, a));
    });
  });
}

// All values of a type of at most 16 bits, by their bytes.
template <typename T>
std::vector<T> AllValues() {
  std::vector<T> values;
  if constexpr (is_mini_float_v<T>) {
    for (uint32_t i = 0; i < (1u << T::kTotalBits); ++i) {
      values.push_back(T::FromRep(static_cast<typename T::Rep>(i)));
    }
  } else {
    const auto low = static_cast<int64_t>(std::numeric_limits<T>::min());
    const auto high = static_cast<int64_t>(std::numeric_limits<T>::max());
    for (int64_t i = low; i <= high; ++i) values.push_back(static_cast<T>(i));
  }
  return values;
}

template <typename To, typename From>
bool Preserves(From value) {
  if constexpr (is_specialized_floating_point_v<From>) {
    const double x = static_cast<double>(value);
    const double y = static_cast<double>(static_cast<To>(x));
    if (std::isnan(x)) return std::isnan(y);
    return x == y && std::signbit(x) == std::signbit(y);
  } else {
    const auto x = static_cast<int64_t>(value);
    if constexpr (std::numeric_limits<To>::is_integer) {
      return static_cast<int64_t>(static_cast<To>(x)) == x &&
             (x >= 0 || std::numeric_limits<To>::is_signed);
    } else {
      return static_cast<double>(static_cast<To>(x)) == x;
    }
  }
}

TEST(PrimitiveUtilTest, CastPreservesValuesAgreesWithTryingAll) {
  ArrayTypeForEach([](auto from) {
    using From = NativeTypeOf<from>;
    if constexpr (sizeof(From) <= 2 && !is_complex_v<From>) {
      const std::vector<From> values = AllValues<From>();
      ArrayTypeForEach([&](auto to) {
        using To = NativeTypeOf<to>;
        if constexpr (!is_complex_v<To> &&
                      !(is_specialized_floating_point_v<From> &&
                        is_specialized_integral_v<To>)) {
          // OpenXLA's answers where one bit is a number or a truth value.
          const bool is_bit_to_bit =
              (from == PRED && to == S1) || (from == U1 && to == PRED);
          const bool expected = is_bit_to_bit
                                    ? from == PRED
                                    : absl::c_all_of(values, [](From value) {
                                        return Preserves<To>(value);
                                      });
          EXPECT_EQ(CastPreservesValues(from, to), expected)
              << LowercasePrimitiveTypeName(from) << " to "
              << LowercasePrimitiveTypeName(to);
        }
      });
    }
  });
}

TEST(PrimitiveUtilTest, CastPreservesValuesOfWideTypes) {
  EXPECT_TRUE(CastPreservesValues(S32, F64));
  EXPECT_FALSE(CastPreservesValues(S32, F32));
  EXPECT_FALSE(CastPreservesValues(S64, F64));
  EXPECT_TRUE(CastPreservesValues(F32, C64));
  EXPECT_FALSE(CastPreservesValues(F64, C64));
  EXPECT_FALSE(CastPreservesValues(C64, F64));
  EXPECT_TRUE(CastPreservesValues(C64, C128));
  EXPECT_FALSE(CastPreservesValues(F32, S64));
  EXPECT_FALSE(CastPreservesValues(TUPLE, F32));
}

TEST(PrimitiveUtilTest, FitsInIntegralType) {
  EXPECT_TRUE(FitsInIntegralType(127, S8));
  EXPECT_FALSE(FitsInIntegralType(128, S8));
  EXPECT_FALSE(FitsInIntegralType(-1, U64));
  EXPECT_TRUE(FitsInIntegralType(std::numeric_limits<int64_t>::min(), S64));
  EXPECT_TRUE(FitsInIntegralType(-1, S1));
  EXPECT_FALSE(FitsInIntegralType(16, U4));
}

TEST(PrimitiveUtilTest, SwitchGivesTheConstant) {
  for (PrimitiveType type : AllTypes()) {
    PrimitiveTypeSwitch<void>(
        [&](auto constant) { EXPECT_EQ(constant(), type); }, type);
    if (!IsArrayType(type)) continue;
    const int size = ArrayTypeSwitch(
        [](auto constant) -> int { return sizeof(NativeTypeOf<constant>); },
        type);
    EXPECT_EQ(size, ByteWidth(type));
  }
  const std::string name = FloatingPointTypeSwitch<std::string>(
      [](auto constant) { return PrimitiveType_Name(constant()); }, BF16);
  EXPECT_EQ(name, "BF16");
}

TEST(PrimitiveUtilDeathTest, SwitchDiesForOtherKinds) {
  EXPECT_DEATH(IntegralTypeSwitch([](auto) {}, F32), "IntegralTypeSwitch");
  EXPECT_DEATH(BitWidth(TUPLE), "tuple");
}

}  // namespace
}  // namespace primitive_util
}  // namespace xla
