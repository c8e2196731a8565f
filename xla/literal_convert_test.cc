#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/types.h"

namespace xla {
namespace {

template <typename To, typename From>
To ConvertOne(From value) {
  Literal converted = LiteralUtil::CreateR0(value)
                          .Convert(primitive_util::NativeToPrimitiveType<To>())
                          .value();
  return converted.Get<To>({});
}

TEST(LiteralConvertTest, FloatToIntegerTruncatesAndSaturates) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(ConvertOne<int32_t>(-1.9f), -1);
  EXPECT_EQ(ConvertOne<int8_t>(300.0f), 127);
  EXPECT_EQ(ConvertOne<int8_t>(-300.0), -128);
  EXPECT_EQ(ConvertOne<uint8_t>(-0.5f), 0);
  EXPECT_EQ(ConvertOne<uint32_t>(-5.0f), 0u);
  EXPECT_EQ(ConvertOne<int64_t>(inf), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ConvertOne<int64_t>(-inf), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ConvertOne<uint64_t>(1e30), ~uint64_t{0});
  EXPECT_EQ(ConvertOne<int32_t>(std::nan("")), 0);
  EXPECT_EQ(ConvertOne<s4>(100.0f), s4(7));
  EXPECT_EQ(ConvertOne<s4>(bfloat16(-100.0f)), s4(-8));
  EXPECT_EQ(ConvertOne<u2>(2.9f), u2(2));
  EXPECT_EQ(ConvertOne<int32_t>(2147483520.0f), 2147483520);
  EXPECT_EQ(ConvertOne<int32_t>(2147483648.0f), 2147483647);
}

TEST(LiteralConvertTest, IntegersWrap) {
  EXPECT_EQ(ConvertOne<int8_t>(int32_t{300}), 44);
  EXPECT_EQ(ConvertOne<uint8_t>(int32_t{-1}), 255);
  EXPECT_EQ(ConvertOne<s4>(int32_t{8}), s4(-8));
  EXPECT_EQ(ConvertOne<uint64_t>(int8_t{-1}), ~uint64_t{0});
  EXPECT_EQ(ConvertOne<int64_t>(~uint64_t{0}), -1);
  EXPECT_EQ(ConvertOne<int32_t>(s4(-3)), -3);
}

TEST(LiteralConvertTest, PredIsNonZero) {
  EXPECT_TRUE(ConvertOne<bool>(0.5f));
  EXPECT_TRUE(ConvertOne<bool>(std::nanf("")));
  EXPECT_FALSE(ConvertOne<bool>(-0.0f));
  EXPECT_TRUE(ConvertOne<bool>(int32_t{256}));
  EXPECT_EQ(ConvertOne<float>(true), 1.0f);
}

TEST(LiteralConvertTest, FloatsRoundOnce) {
  // Just above a tie between two bf16 values, by less than a float can show.
  EXPECT_EQ(ConvertOne<bfloat16>(1.0 + std::ldexp(1, -8) + std::ldexp(1, -40)),
            bfloat16(1.0f + std::ldexp(1, -7)));
  EXPECT_EQ(ConvertOne<bfloat16>((int64_t{1} << 60) + (int64_t{1} << 52) + 1),
            bfloat16(std::ldexp(1.0f + std::ldexp(1, -7), 60)));
  EXPECT_EQ(ConvertOne<float>((int64_t{1} << 54) + (int64_t{1} << 30) + 1),
            std::ldexp(1.0f + std::ldexp(1.0f, -23), 54));
  EXPECT_EQ(ConvertOne<float>(~uint64_t{0}), std::ldexp(1.0f, 64));
  EXPECT_TRUE(isinf(ConvertOne<half>(1e6)));
}

TEST(LiteralConvertTest, ComplexOnlyToComplex) {
  EXPECT_EQ(ConvertOne<complex64>(2.5), complex64(2.5f, 0));
  EXPECT_EQ(ConvertOne<complex128>(complex64(1, -2)), complex128(1, -2));
  EXPECT_EQ(LiteralUtil::CreateR0(complex64(1, 2)).Convert(F32).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(LiteralUtil::CreateR0(1.0f).Convert(TUPLE).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(
      LiteralUtil::CreateR0(complex128(1, 2)).Convert(PRED).status().code(),
      absl::StatusCode::kUnimplemented);
  EXPECT_EQ(LiteralUtil::CreateR0(1.0f).Convert(TOKEN).status().code(),
            absl::StatusCode::kUnimplemented);
}

// Every pair of types has an entry, and agrees with the element's meaning.
TEST(LiteralConvertTest, OneConvertsBetweenAllTypes) {
  std::vector<PrimitiveType> types = {PRED, C64, C128};
  primitive_util::IntegralTypeForEach(
      [&](auto type) { types.push_back(type); });
  primitive_util::FloatingPointTypeForEach(
      [&](auto type) { types.push_back(type); });
  for (PrimitiveType from : types) {
    for (PrimitiveType to : types) {
      if (primitive_util::IsComplexType(from) &&
          !primitive_util::IsComplexType(to)) {
        continue;
      }
      // S1 holds -1 and 0, so 1 is not among its values.
      if (from == S1 || to == S1) continue;
      EXPECT_EQ(LiteralUtil::One(from).Convert(to).value(),
                LiteralUtil::One(to))
          << PrimitiveType_Name(from) << " to " << PrimitiveType_Name(to);
    }
  }
}

TEST(LiteralConvertTest, KeepsLayoutAndDynamicSizesOverManyBlocks) {
  Literal literal(ShapeUtil::MakeShape(S32, {3000}, std::vector<bool>{true}));
  for (int i = 0; i < 3000; ++i) literal.data<int32_t>()[i] = i;
  literal.SetDynamicSize(0, 2999);
  Literal converted = literal.Convert(F32).value();
  EXPECT_EQ(converted.GetDynamicSize(0), 2999);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(converted.data<float>()[i], static_cast<float>(i));
  }
  Literal column_major = LiteralUtil::CreateR2WithLayout<int32_t>(
      {{1, 2}, {3, 4}}, LayoutUtil::MakeLayout({0, 1}));
  EXPECT_EQ(column_major.Convert(S8)->shape().layout(),
            column_major.shape().layout());
}

TEST(LiteralConvertTest, ConvertToShapeGoesThroughTuples) {
  Literal tuple = LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR0<float>(1.5),
                                              LiteralUtil::CreateToken());
  const Shape shape = ShapeUtil::MakeTupleShape(
      {ShapeUtil::MakeShape(S32, {}), ShapeUtil::MakeTokenShape()});
  Literal converted = tuple.ConvertToShape(shape).value();
  EXPECT_EQ(converted.Get<int32_t>({}, {0}), 1);
  EXPECT_FALSE(tuple.ConvertToShape(ShapeUtil::MakeNil()).ok());
}

TEST(LiteralBitcastTest, SameWidth) {
  EXPECT_EQ(LiteralUtil::CreateR1<float>({1.0f, -2.0f})
                .BitcastConvert(ShapeUtil::MakeShape(U32, {2}))
                .value(),
            LiteralUtil::CreateR1<uint32_t>({0x3f800000u, 0xc0000000u}));
  EXPECT_EQ(LiteralUtil::CreateR1<u4>({u4(15), u4(7)})
                .BitcastConvert(ShapeUtil::MakeShape(S4, {2}))
                .value(),
            LiteralUtil::CreateR1<s4>({s4(-1), s4(7)}));
}

TEST(LiteralBitcastTest, NarrowerAddsALittleEndianMinorDimension) {
  Literal bytes = LiteralUtil::CreateR1<uint32_t>({0x04030201u, 0x08070605u})
                      .BitcastConvert(ShapeUtil::MakeShape(U8, {2, 4}))
                      .value();
  EXPECT_EQ(bytes,
            LiteralUtil::CreateR2<uint8_t>({{1, 2, 3, 4}, {5, 6, 7, 8}}));
  EXPECT_EQ(LiteralUtil::CreateR1<uint8_t>({0xf1})
                .BitcastConvert(ShapeUtil::MakeShape(S4, {1, 2}))
                .value(),
            LiteralUtil::CreateR2<s4>({{s4(1), s4(-1)}}));
}

TEST(LiteralBitcastTest, WiderRemovesTheMinorDimensionInAnyLayout) {
  Literal bytes = LiteralUtil::CreateR2WithLayout<uint8_t>(
      {{1, 2, 3, 4}, {5, 6, 7, 8}}, LayoutUtil::MakeLayout({0, 1}));
  EXPECT_EQ(bytes.BitcastConvert(ShapeUtil::MakeShape(U32, {2})).value(),
            LiteralUtil::CreateR1<uint32_t>({0x04030201u, 0x08070605u}));
  EXPECT_FALSE(bytes.BitcastConvert(ShapeUtil::MakeShape(U16, {2})).ok());
  EXPECT_FALSE(bytes.BitcastConvert(ShapeUtil::MakeShape(U64, {1})).ok());
}

}  // namespace
}  // namespace xla
