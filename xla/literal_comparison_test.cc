#include "xla/literal_comparison.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "xla/error_spec.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/types.h"

namespace xla {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

bool Near(float expected, float actual, const ErrorSpec& error) {
  return literal_comparison::Near(LiteralUtil::CreateR0(expected),
                                  LiteralUtil::CreateR0(actual), error)
      .ok();
}

TEST(LiteralComparisonTest, ShapesSayWhatDiffers) {
  const auto message = [](const Shape& a, const Shape& b) {
    return std::string(literal_comparison::EqualShapes(a, b).message());
  };
  const Shape f32 = ShapeUtil::MakeShape(F32, {2, 3});
  EXPECT_TRUE(literal_comparison::EqualShapes(
                  f32, ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1}))
                  .ok());
  EXPECT_TRUE(absl::StrContains(message(f32, ShapeUtil::MakeShape(S32, {2, 3})),
                                "element types"));
  EXPECT_TRUE(absl::StrContains(message(f32, ShapeUtil::MakeShape(F32, {2, 4})),
                                "dimension 1"));
  EXPECT_TRUE(absl::StrContains(
      message(ShapeUtil::MakeTupleShape({f32, f32}),
              ShapeUtil::MakeTupleShape({f32, ShapeUtil::MakeShape(F32, {})})),
      "in element {1}: ranks"));
  EXPECT_TRUE(absl::StrContains(message(ShapeUtil::MakeTupleShape({f32}), f32),
                                "element types"));
}

TEST(LiteralComparisonTest, EqualShowsTheFirstDifferences) {
  Literal a = LiteralUtil::CreateR2<int32_t>({{1, 2}, {3, 4}});
  Literal b = LiteralUtil::CreateR2<int32_t>({{1, 2}, {5, 4}});
  EXPECT_TRUE(literal_comparison::Equal(a, a).ok());
  const absl::Status status = literal_comparison::Equal(a, b);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "1 of 4 elements of s32[2,2] differ:\n"
                                "  at {1,0}: expected 3, actual 5"))
      << status;
}

TEST(LiteralComparisonTest, EqualTakesNansAsEqualButNotSignedZeros) {
  EXPECT_TRUE(literal_comparison::Equal(LiteralUtil::CreateR0(kNan),
                                        LiteralUtil::CreateR0(-kNan))
                  .ok());
  EXPECT_FALSE(literal_comparison::Equal(LiteralUtil::CreateR0(0.0f),
                                         LiteralUtil::CreateR0(-0.0f))
                   .ok());
}

TEST(LiteralComparisonTest, NearTakesEitherBound) {
  EXPECT_TRUE(Near(1.0f, 1.05f, ErrorSpec(0.1f)));
  EXPECT_FALSE(Near(1.0f, 1.2f, ErrorSpec(0.1f)));
  EXPECT_TRUE(Near(1000.0f, 1001.0f, ErrorSpec(0.1f, 0.01f)));
  EXPECT_TRUE(Near(0.0f, 0.05f, ErrorSpec(0.1f, 0.01f)));
  EXPECT_FALSE(Near(0.0f, 0.2f, ErrorSpec(0.1f, 0.01f)));
}

TEST(LiteralComparisonTest, NearKnowsNansAndInfinities) {
  ErrorSpec spec(1.0f, 1.0f);
  EXPECT_TRUE(Near(kNan, kNan, spec));
  EXPECT_FALSE(Near(kNan, 1, spec));
  EXPECT_FALSE(Near(1, kNan, spec));
  EXPECT_TRUE(Near(kInf, kInf, spec));
  EXPECT_FALSE(Near(kInf, -kInf, spec));
  EXPECT_FALSE(Near(1, kInf, spec));
  EXPECT_FALSE(Near(kInf, 1, spec));
  spec.relaxed_nans = true;
  EXPECT_TRUE(Near(kNan, 1, spec));
  EXPECT_FALSE(Near(1, kNan, spec));
  spec.more_infs_ok = true;
  EXPECT_TRUE(Near(1, kInf, spec));
  EXPECT_FALSE(Near(kInf, 1, spec));
  spec.fewer_infs_ok = true;
  EXPECT_TRUE(Near(kInf, 1, spec));
}

TEST(LiteralComparisonTest, NearByRepresentableValues) {
  ErrorSpec spec(0);
  spec.low_precision_fp_error_spec.type = F8E4M3FN;
  spec.low_precision_fp_error_spec.within_n_values = 1;
  using F8 = float8_e4m3fn;
  const auto near = [&](float a, float b) {
    return literal_comparison::Near(LiteralUtil::CreateR0(F8(a)),
                                    LiteralUtil::CreateR0(F8(b)), spec)
        .ok();
  };
  EXPECT_TRUE(near(1.0f, 1.125f));
  EXPECT_FALSE(near(1.0f, 1.25f));
  EXPECT_TRUE(near(416.0f, 448.0f));
}

TEST(LiteralComparisonTest, IntegersAreNeverNear) {
  EXPECT_FALSE(literal_comparison::Near(LiteralUtil::CreateR0(1),
                                        LiteralUtil::CreateR0(2), ErrorSpec(10))
                   .ok());
}

TEST(LiteralComparisonTest, WorstFirstAndCallback) {
  Literal expected = LiteralUtil::CreateR1<float>({1, 2, 3});
  Literal actual = LiteralUtil::CreateR1<float>({1.5, 2, 5});
  int calls = 0;
  const absl::Status status = literal_comparison::Near(
      LiteralUtil::MakeTuple({&expected, &expected}),
      LiteralUtil::MakeTuple({&actual, &expected}), ErrorSpec(0.1f),
      /*detailed_message=*/true,
      [&](const LiteralSlice&, const LiteralSlice&,
          const LiteralSlice& mismatches, const ShapeIndex& index) {
        ++calls;
        EXPECT_EQ(index, ShapeIndex({0}));
        EXPECT_EQ(mismatches, LiteralUtil::CreateR1<bool>({true, false, true}));
      });
  EXPECT_EQ(calls, 1);
  const size_t worst = status.message().find("at {2}");
  EXPECT_NE(worst, std::string::npos);
  EXPECT_LT(worst, status.message().find("at {0}"));
}

TEST(LiteralComparisonTest, DynamicSizesMatterInvalidElementsDoNot) {
  const Shape shape = ShapeUtil::MakeShape(F32, {3}, std::vector<bool>{true});
  Literal a(shape);
  Literal b(shape);
  a.SetDynamicSize(0, 2);
  EXPECT_FALSE(literal_comparison::Equal(a, b).ok());
  b.SetDynamicSize(0, 2);
  b.Set<float>({2}, 1);
  EXPECT_TRUE(literal_comparison::Equal(a, b).ok());
}

TEST(LiteralComparisonTest, StepsOfASmallerTypeCount) {
  ErrorSpec spec(0);
  spec.low_precision_fp_error_spec = {F8E5M2, 1};
  const Literal a = LiteralUtil::CreateR0<float>(1.0f);
  EXPECT_TRUE(
      literal_comparison::Near(a, LiteralUtil::CreateR0<float>(1.25f), spec)
          .ok());
  EXPECT_FALSE(
      literal_comparison::Near(a, LiteralUtil::CreateR0<float>(1.5f), spec)
          .ok());
  // Steps of one type count between values of another, over zero as well.
  spec.low_precision_fp_error_spec = {F8E4M3FN, 2};
  const float least = std::ldexp(1.0f, -9);
  const auto near = [&](float e, float a) {
    return literal_comparison::Near(LiteralUtil::CreateR0<float>(e),
                                    LiteralUtil::CreateR0<float>(a), spec)
        .ok();
  };
  EXPECT_TRUE(near(-least, least));
  EXPECT_FALSE(near(-least, 2 * least));
  EXPECT_TRUE(near(448, 384));
  EXPECT_FALSE(near(448, 320));
  EXPECT_FALSE(near(1, std::numeric_limits<float>::infinity()));
  // Without a type, or with a negative number, the bounds are all there is.
  spec.low_precision_fp_error_spec = {F8E4M3FN, -1};
  EXPECT_FALSE(near(448, 447));
}

TEST(LiteralComparisonTest, ElidedIsAnError) {
  Literal elided = LiteralBase::CreateElided(ShapeUtil::MakeShape(F32, {3}));
  EXPECT_FALSE(literal_comparison::Equal(elided, elided).ok());
}

}  // namespace
}  // namespace xla
