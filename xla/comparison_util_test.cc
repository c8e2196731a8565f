#include "xla/comparison_util.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using Direction = Comparison::Direction;
using Order = Comparison::Order;
using Type = Comparison::Type;

constexpr Direction kDirections[] = {Direction::kEq, Direction::kNe,
                                     Direction::kGe, Direction::kGt,
                                     Direction::kLe, Direction::kLt};

TEST(ComparisonTest, NamesLeadBack) {
  for (Direction direction : kDirections) {
    EXPECT_EQ(
        *StringToComparisonDirection(ComparisonDirectionToString(direction)),
        direction);
  }
  for (Type type :
       {Type::kFloat, Type::kFloatTotalOrder, Type::kSigned, Type::kUnsigned}) {
    EXPECT_EQ(*StringToComparisonType(ComparisonTypeToString(type)), type);
  }
  EXPECT_FALSE(StringToComparisonDirection("eq").ok());
  EXPECT_FALSE(StringToComparisonType("").ok());
  EXPECT_EQ(absl::StrCat(Direction::kGe, " ", Order::kPartial),
            "GE PARTIALORDER");
}

TEST(ComparisonTest, TypesHaveDefaultOrders) {
  EXPECT_EQ(Comparison(Direction::kLt, BF16).GetOrder(), Order::kPartial);
  EXPECT_EQ(Comparison(Direction::kEq, C64).GetOrder(), Order::kPartial);
  EXPECT_EQ(Comparison(Direction::kLt, U8).GetOrder(), Order::kTotal);
  EXPECT_EQ(Comparison(Direction::kLt, PRED).GetType(), Type::kUnsigned);
  EXPECT_EQ(Comparison(Direction::kLt, S8).GetType(), Type::kSigned);
  EXPECT_EQ(Comparison(Direction::kLt, F64, Order::kTotal).GetType(),
            Type::kFloatTotalOrder);
  EXPECT_TRUE(
      Comparison(Direction::kLt, Type::kFloatTotalOrder).IsF32TotalOrder());
  EXPECT_TRUE(Comparison(Direction::kLt, Type::kFloat).IsStandardF32());
  EXPECT_TRUE(Comparison(Direction::kLt, Type::kSigned).IsStandardS32());
  EXPECT_EQ(Comparison::DefaultComparisonType(F8E5M2), Type::kFloat);
}

TEST(ComparisonTest, ConverseSwapsOperandsAndInverseNegates) {
  for (Direction direction : kDirections) {
    const Comparison comparison(direction, S32);
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        EXPECT_EQ(comparison.Compare<int>(a, b),
                  comparison.Converse().Compare<int>(b, a));
        EXPECT_NE(comparison.Compare<int>(a, b),
                  comparison.Inverse()->Compare<int>(a, b));
      }
    }
    EXPECT_FALSE(Comparison(direction, F32).Inverse().has_value());
    EXPECT_TRUE(
        Comparison(direction, F32, Order::kTotal).Inverse().has_value());
  }
}

TEST(ComparisonTest, ReflexiveOnlyWhereNanCannotInterfere) {
  EXPECT_TRUE(Comparison(Direction::kGe, S32).IsReflexive());
  EXPECT_FALSE(Comparison(Direction::kGe, F32).IsReflexive());
  EXPECT_TRUE(Comparison(Direction::kLt, F32).IsAntireflexive());
  EXPECT_FALSE(Comparison(Direction::kNe, F32).IsAntireflexive());
  EXPECT_TRUE(Comparison(Direction::kNe, S32).IsAntireflexive());
}

TEST(ComparisonTest, OrderDecidesAboutNanAndZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Comparison partial(Direction::kLt, F32);
  const Comparison total(Direction::kLt, F32, Order::kTotal);
  EXPECT_FALSE(partial.Compare<float>(INFINITY, nan));
  EXPECT_TRUE(total.Compare<float>(INFINITY, nan));
  EXPECT_TRUE(total.Compare<float>(-nan, -INFINITY));
  EXPECT_FALSE(partial.Compare<float>(-0.0f, 0.0f));
  EXPECT_TRUE(total.Compare<float>(-0.0f, 0.0f));
  const Comparison equal(Direction::kEq, BF16, Order::kTotal);
  EXPECT_TRUE(equal.Compare<bfloat16>(bfloat16(NAN), bfloat16(NAN)));
  EXPECT_TRUE(Comparison(Direction::kNe, C64)
                  .Compare<complex64>(complex64(1, 2), complex64(1, 3)));
  EXPECT_TRUE(Comparison(Direction::kGt, U4).Compare<u4>(u4(15), u4(1)));
}

TEST(ComparisonTest, TextAndEquality) {
  const Comparison c(Direction::kGt, F32, Order::kTotal);
  EXPECT_EQ(c.ToString(), ".GT.F32.TOTALORDER");
  EXPECT_EQ(c.ToString("(", ",", ";"), "(GT,F32;TOTALORDER");
  EXPECT_EQ(c, Comparison(Direction::kGt, Type::kFloatTotalOrder));
  EXPECT_NE(c, Comparison(Direction::kGt, F32));
  EXPECT_TRUE(LessThanByKey([](int x) { return -x; })(2, 1));
  EXPECT_TRUE(c.GetComparator<int>()(2, 1));
}

}  // namespace
}  // namespace xla
