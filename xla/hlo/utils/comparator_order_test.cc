#include "xla/hlo/utils/comparator_order.h"

#include <memory>
#include <string>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// Checks a comparator of integers a, b and c, d, and floats x, y.
absl::Status Check(absl::string_view body,
                   FloatOrders floats = FloatOrders::kTotalOnly) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(R"(HloModule m
ENTRY less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  x = f32[] parameter(4)
  y = f32[] parameter(5)
  one = s32[] constant(1)
)",
                                                            body, "}"));
  CHECK_OK(module.status());
  return CheckComparatorOrder(*(*module)->entry_computation(), floats);
}

// Empty where it is an order.
std::string WhyNone(absl::string_view body,
                    FloatOrders floats = FloatOrders::kTotalOnly) {
  const absl::Status status = Check(body, floats);
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  constexpr absl::string_view kBegin =
      "its comparator is not known to be an order: ";
  EXPECT_TRUE(absl::StartsWith(status.message(), kBegin)) << status;
  return std::string(status.message().substr(kBegin.size()));
}

TEST(ComparatorOrderTest, OneKey) {
  EXPECT_EQ(WhyNone("ROOT r = pred[] compare(a, b), direction=LT"), "");
  EXPECT_EQ(WhyNone("ROOT r = pred[] compare(b, a), direction=LT"), "");
  EXPECT_EQ(WhyNone("ROOT r = pred[] compare(d, c), direction=GT"), "");
  EXPECT_EQ(WhyNone("ROOT r = pred[] compare(a, b), direction=LE"),
            "r can hold for two elements both ways");
  EXPECT_EQ(WhyNone("ROOT r = pred[] compare(a, b), direction=NE"),
            "r can hold for two elements both ways");
  EXPECT_EQ(WhyNone("ROOT r = pred[] compare(a, d), direction=LT"),
            "r compares no expression of both elements");
}

TEST(ComparatorOrderTest, KeysAreTheSameExpressionOfBoth) {
  EXPECT_EQ(WhyNone(R"(
  f = s32[] multiply(a, one)
  g = s32[] multiply(b, one)
  ROOT r = pred[] compare(f, g), direction=LT)"),
            "");
  EXPECT_EQ(WhyNone(R"(
  f = s32[] multiply(a, one)
  g = s32[] add(b, one)
  ROOT r = pred[] compare(f, g), direction=LT)"),
            "r compares no expression of both elements");
  EXPECT_EQ(WhyNone(R"(
  f = s32[] subtract(a, c)
  g = s32[] subtract(d, b)
  ROOT r = pred[] compare(f, g), direction=LT)"),
            "r compares no expression of both elements");
}

// One instruction that both sides read says nothing of the other element.
TEST(ComparatorOrderTest, SharedExpressionsReadNoElement) {
  EXPECT_EQ(WhyNone(R"(
  h = s32[] or(a, one)
  f = s32[] multiply(a, h)
  g = s32[] multiply(b, h)
  ROOT r = pred[] compare(f, g), direction=LT)"),
            "r compares no expression of both elements");
  EXPECT_EQ(WhyNone(R"(
  h = s32[] negate(one)
  f = s32[] multiply(a, h)
  g = s32[] multiply(b, h)
  ROOT r = pred[] compare(f, g), direction=LT)"),
            "");
}

TEST(ComparatorOrderTest, RandomNumbersAreNoExpression) {
  constexpr absl::string_view kRandom = R"(
  n = s32[] rng(one, one), distribution=rng_uniform
  f = s32[] add(a, n)
  g = s32[] add(b, n)
  ROOT r = pred[] compare(f, g), direction=LT)";
  EXPECT_EQ(WhyNone(kRandom), "r compares no expression of both elements");
}

TEST(ComparatorOrderTest, SeveralKeys) {
  EXPECT_EQ(WhyNone(R"(
  l = pred[] compare(a, b), direction=LT
  e = pred[] compare(b, a), direction=EQ
  m = pred[] compare(c, d), direction=GT
  n = pred[] and(m, e)
  ROOT r = pred[] or(l, n))"),
            "");
  EXPECT_EQ(WhyNone(R"(
  l = pred[] compare(a, b), direction=LT
  e = pred[] compare(c, d), direction=EQ
  m = pred[] compare(c, d), direction=GT
  ROOT r = pred[] select(e, l, m))"),
            "");
  EXPECT_EQ(WhyNone(R"(
  l = pred[] compare(a, b), direction=LT
  e = pred[] compare(c, d), direction=EQ
  m = pred[] compare(x, y), direction=LT, type=TOTALORDER
  n = pred[] and(m, e)
  ROOT r = pred[] or(l, n))"),
            "r can hold for two elements both ways");
  EXPECT_EQ(WhyNone(R"(
  l = pred[] compare(a, b), direction=LT
  e = pred[] compare(c, d), direction=EQ
  ROOT r = pred[] and(l, e))"),
            "r is not transitive");
}

TEST(ComparatorOrderTest, NanHasAPlaceInTheTotalOrderOnly) {
  constexpr absl::string_view kPartial =
      "ROOT r = pred[] compare(x, y), direction=LT";
  EXPECT_EQ(WhyNone(kPartial, FloatOrders::kAll), "");
  EXPECT_EQ(WhyNone(kPartial), "r has no place for NaNs");
  EXPECT_EQ(WhyNone("ROOT r = pred[] compare(x, y), direction=LT, "
                    "type=TOTALORDER"),
            "");
  // Each side is a number of one element alone.
  EXPECT_EQ(WhyNone(R"(
  f = pred[] compare(x, x), direction=NE
  g = pred[] compare(y, y), direction=NE
  n = pred[] not(f)
  ROOT r = pred[] and(n, g))"),
            "");
}

// Trees are measured before anything walks down to their leaves.
TEST(ComparatorOrderTest, DeepOnesAreRefused) {
  HloComputation::Builder builder("deep");
  const Shape shape = ShapeUtil::MakeShape(S32, {});
  HloInstruction* sides[2];
  for (int side : {0, 1}) {
    sides[side] = builder.AddInstruction(
        HloInstruction::CreateParameter(side, shape, absl::StrCat("p", side)));
    for (int i = 0; i < 200'000; ++i) {
      sides[side] = builder.AddInstruction(
          HloInstruction::CreateUnary(shape, HloOpcode::kNegate, sides[side]));
    }
  }
  builder.AddInstruction(
      HloInstruction::CreateCompare(ShapeUtil::MakeShape(PRED, {}), sides[0],
                                    sides[1], ComparisonDirection::kLt));
  const std::unique_ptr<HloComputation> less = builder.Build();
  EXPECT_TRUE(absl::StrContains(
      CheckComparatorOrder(*less, FloatOrders::kAll).message(),
      "is too large"));
}

}  // namespace
}  // namespace xla
