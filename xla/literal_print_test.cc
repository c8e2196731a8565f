#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/printer.h"
#include "xla/shape_util.h"
#include "xla/types.h"
#include "xla/util.h"

namespace xla {
namespace {

template <typename T>
std::string Text(T value) {
  return LiteralUtil::CreateR0(value).ToStringWithoutShapeOneline();
}

TEST(LiteralPrintTest, Scalars) {
  EXPECT_EQ(Text(true), "true");
  EXPECT_EQ(Text(false), "false");
  EXPECT_EQ(Text<int8_t>(-5), "-5");
  EXPECT_EQ(Text(s4(-8)), "-8");
  EXPECT_EQ(Text(~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(Text(complex64(0, 1)), "(0, 1)");
  EXPECT_EQ(Text(complex128(-0.5, 1e-5)), "(-0.5, 1e-05)");
  EXPECT_EQ(LiteralUtil::CreateR0(42u).ToString(), "u32[] 42");
  EXPECT_EQ(LiteralUtil::CreateToken().ToString(), "token");
}

TEST(LiteralPrintTest, FloatsAsDumpsHaveThem) {
  EXPECT_EQ(Text(0.0f), "0");
  EXPECT_EQ(Text(-0.0f), "-0");
  EXPECT_EQ(Text(1e-5f), "1e-05");
  EXPECT_EQ(Text(0.0001f), "0.0001");
  EXPECT_EQ(Text(0.797884583f), "0.797884583");
  EXPECT_EQ(Text(3.14159274f), "3.14159274");
  EXPECT_EQ(Text(-3.40282347e+38f), "-3.40282347e+38");
  EXPECT_EQ(Text(999999.0f), "999999");
  EXPECT_EQ(Text(1000000.0f), "1e+06");
  EXPECT_EQ(Text(1234567.0f), "1234567");
  EXPECT_EQ(Text(123456.5f), "123456.5");
  EXPECT_EQ(Text(0.1), "0.1");
  EXPECT_EQ(Text(1.0 / 3), "0.33333333333333331");
  EXPECT_EQ(Text(bfloat16(1e-5f)), "1.001e-05");
  EXPECT_EQ(Text(bfloat16(1e9f)), "9.982e+08");
  EXPECT_EQ(Text(half(0.1f)), "0.099976");
  EXPECT_EQ(Text(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(Text(std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(Text(NanWithSignAndPayload<float>(false, 0x123)), "nan(0x123)");
}

// The fast paths print what RoundTripFpToString does.
TEST(LiteralPrintTest, FloatsAgreeWithRoundTripText) {
  std::mt19937_64 bits(7);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t random = bits();
    const auto f = absl::bit_cast<float>(static_cast<uint32_t>(random));
    ASSERT_EQ(Text(f), RoundTripFpToString(f));
    const auto d = absl::bit_cast<double>(random);
    ASSERT_EQ(Text(d), RoundTripFpToString(d));
    // Numbers of few digits.
    const float g = static_cast<float>(static_cast<int64_t>(random % 2000000) *
                                       std::pow(10.0, i % 30 - 20));
    ASSERT_EQ(Text(g), RoundTripFpToString(g));
    const double e =
        static_cast<double>(random % 2000000) * std::pow(10.0, i % 60 - 40);
    ASSERT_EQ(Text(e), RoundTripFpToString(e));
  }
  for (uint32_t rep = 0; rep < (1 << 16); ++rep) {
    ASSERT_EQ(Text(bfloat16::FromRep(rep)),
              RoundTripFpToString(bfloat16::FromRep(rep)));
    ASSERT_EQ(Text(half::FromRep(rep)),
              RoundTripFpToString(half::FromRep(rep)));
  }
  for (uint32_t rep = 0; rep < 256; ++rep) {
    ASSERT_EQ(Text(float8_e5m2::FromRep(rep)),
              RoundTripFpToString(float8_e5m2::FromRep(rep)));
    ASSERT_EQ(Text(float8_e8m0fnu::FromRep(rep)),
              RoundTripFpToString(float8_e8m0fnu::FromRep(rep)));
  }
}

TEST(LiteralPrintTest, Rank1) {
  EXPECT_EQ(LiteralUtil::CreateR1<int32_t>({1, 2, 3}).ToString(),
            "s32[3] {1, 2, 3}");
  EXPECT_EQ(LiteralUtil::CreateR1<bool>({true, false}).ToString(),
            "pred[2] {1, 0}");
  EXPECT_EQ(LiteralUtil::CreateR1<float>({}).ToString(), "f32[0] {}");
  EXPECT_EQ(LiteralUtil::CreateR1<float>({1}).ToStringWithLayout(),
            "f32[1]{0} {1}");
}

TEST(LiteralPrintTest, Rank2) {
  Literal literal = LiteralUtil::CreateR2<int32_t>({{1, 2}, {3, 4}, {5, 6}});
  EXPECT_EQ(literal.ToString(),
            "s32[3,2] {\n  { 1, 2 },\n  { 3, 4 },\n  { 5, 6 }\n}");
  EXPECT_EQ(literal.ToStringOneline(),
            "s32[3,2] { { 1, 2 }, { 3, 4 }, { 5, 6 } }");
  EXPECT_EQ(literal.Relayout(LayoutUtil::MakeLayout({0, 1}))
                .ToStringWithoutShapeOneline(),
            "{ { 1, 2 }, { 3, 4 }, { 5, 6 } }");
  EXPECT_EQ(LiteralUtil::CreateR2<int32_t>({{0}}).ToStringWithoutShapeOneline(),
            "{ {0} }");
}

TEST(LiteralPrintTest, Rank3HasNoCommentsRank4Has) {
  EXPECT_EQ(LiteralUtil::CreateR3<int32_t>({{{1, 2}}, {{3, 4}}})
                .ToStringWithoutShape(),
            "{\n{\n  { 1, 2 }\n},\n{\n  { 3, 4 }\n}\n}");
  Literal literal =
      LiteralUtil::CreateR4<int32_t>({{{{1, 2}, {3, 4}}}, {{{5, 6}, {7, 8}}}});
  EXPECT_EQ(literal.ToStringWithoutShape(),
            "{\n"
            "{ /*i0=0*/\n"
            "{ /*i1=0*/\n"
            "  { 1, 2 },\n"
            "  { 3, 4 }\n"
            "}\n"
            "},\n"
            "{ /*i0=1*/\n"
            "{ /*i1=0*/\n"
            "  { 5, 6 },\n"
            "  { 7, 8 }\n"
            "}\n"
            "}\n"
            "}");
  EXPECT_EQ(literal.ToStringWithoutShapeOneline(),
            "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 }, { 3, 4 } } }, "
            "{ /*i0=1*/ { /*i1=0*/ { 5, 6 }, { 7, 8 } } } }");
}

TEST(LiteralPrintTest, Tuples) {
  Literal tuple = LiteralUtil::MakeTupleOwned(
      LiteralUtil::CreateR0(1.0f),
      LiteralUtil::CreateR2<float>({{1, 2}, {3, 4}}));
  EXPECT_EQ(tuple.ToString(),
            "(\nf32[] 1,\nf32[2,2] {\n  { 1, 2 },\n  { 3, 4 }\n}\n)");
  EXPECT_EQ(tuple.ToStringWithoutShapeOneline(),
            "( 1, { { 1, 2 }, { 3, 4 } } )");
  EXPECT_EQ(Literal().ToString(), "()");
}

TEST(LiteralPrintTest, DynamicSizesAreShownAndObeyed) {
  Literal literal(ShapeUtil::MakeShape(S32, {4}, std::vector<bool>{true}));
  literal.SetDynamicSize(0, 2);
  EXPECT_EQ(literal.ToString(), "s32[<=4](2) {0, 0}");
}

TEST(LiteralPrintTest, WithoutElements) {
  const Shape shape = ShapeUtil::MakeShape(F32, {4});
  EXPECT_EQ(LiteralBase::CreateElided(shape).ToString(), "f32[4] {...}");
  EXPECT_EQ(LiteralBase::CreateFromShapeWithUnknownLeafArrays(shape)
                .ToStringWithoutShape(),
            "unknown");
  EXPECT_EQ(Literal(ShapeUtil::MakeShape(S32, {2, 0})).ToString(),
            "s32[2,0] {\n  {},\n  {}\n}");
  // No text of a gigabyte for an array without elements.
  EXPECT_EQ(Literal(ShapeUtil::MakeShape(S32, {int64_t{1} << 40, 0}))
                .ToStringWithoutShape(),
            "{...}");
}

TEST(LiteralPrintTest, LongRowsAreWhole) {
  std::vector<int32_t> values(5000);
  std::string expected = "{";
  for (int i = 0; i < 5000; ++i) {
    values[i] = i * 12345;
    absl::StrAppend(&expected, i == 0 ? "" : ", ", values[i]);
  }
  expected += "}";
  EXPECT_EQ(LiteralUtil::CreateR1<int32_t>(values).ToStringWithoutShape(),
            expected);
}

TEST(LiteralPrintTest, HashersTellLargeLiteralsApart) {
  Literal a(ShapeUtil::MakeShape(F32, {1000}));
  Literal b = a.Clone();
  b.Set<float>({999}, 1);
  const auto fingerprint = [](const Literal& literal) {
    HighwayHashPrinter printer;
    literal.PrintWithoutShapeOneline(&printer);
    return std::move(printer).ToFingerprint();
  };
  EXPECT_EQ(fingerprint(a), fingerprint(a.Clone()));
  EXPECT_NE(fingerprint(a), fingerprint(b));
}

TEST(LiteralPrintTest, SingleCells) {
  Literal literal = LiteralUtil::CreateR2<bool>({{true, false}});
  EXPECT_EQ(literal.GetAsString({0, 1}), "false");
  std::string cells;
  literal.EachCellAsString(
      [&](absl::Span<const int64_t> index, const std::string& value) {
        absl::StrAppend(&cells, index[1], value, ";");
      });
  EXPECT_EQ(cells, "0true;1false;");
}

}  // namespace
}  // namespace xla
