#include "xla/literal.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/array.h"
#include "xla/layout_util.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/types.h"

namespace xla {
namespace {

Shape DynamicR1(int64_t bound) {
  return ShapeUtil::MakeShape(F32, {bound}, std::vector<bool>{true});
}

// ---- Spare bits ------------------------------------------------------------

// A literal whose bytes are exactly these.
Literal OfBytes(PrimitiveType type, std::vector<uint8_t> bytes) {
  Literal literal(Shape(type, {static_cast<int64_t>(bytes.size())}));
  std::memcpy(literal.untyped_data(), bytes.data(), bytes.size());
  return literal;
}

TEST(LiteralTest, SpareBitsOfNarrowElementsAreNoPartOfTheValue) {
  for (PrimitiveType type : {S4, U4, S2, U2, F4E2M1FN, F6E2M3FN}) {
    const Literal clean = OfBytes(type, {0x00, 0x01});
    const Literal dirty = OfBytes(type, {0xC0, 0x41});
    const Literal other = OfBytes(type, {0xC1, 0x41});
    EXPECT_EQ(clean, dirty) << clean.shape().ToString();
    EXPECT_EQ(clean.ToString(), dirty.ToString());
    EXPECT_EQ(absl::HashOf(clean), absl::HashOf(dirty));
    EXPECT_NE(clean, other) << clean.shape().ToString();
    EXPECT_NE(clean.ToString(), other.ToString());
  }
  EXPECT_EQ(OfBytes(S4, {0x7f, 0x8f}).ToStringWithoutShape(), "{-1, -1}");
  EXPECT_EQ(OfBytes(U4, {0x7f, 0xf1}).ToStringWithoutShape(), "{15, 1}");
}

// ---- Construction ----------------------------------------------------------

TEST(LiteralTest, StartsZeroedWithDescendingLayout) {
  Literal literal(Shape(F32, {2, 3}));
  EXPECT_EQ(literal.shape().layout(), LayoutUtil::MakeDescendingLayout(2));
  EXPECT_EQ(literal.element_count(), 6);
  EXPECT_EQ(literal.size_bytes(), 24);
  for (float f : literal.data<float>()) EXPECT_EQ(f, 0);
}

TEST(LiteralTest, ElementsOfWholeBytesHaveTheSizeOfTheirType) {
  const auto with_size = [](PrimitiveType type, int64_t bits) {
    Shape shape = ShapeUtil::MakeShape(type, {2});
    shape.mutable_layout()->set_element_size_in_bits(bits);
    return shape;
  };
  const auto size = [](const Shape& shape) {
    return shape.layout().element_size_in_bits();
  };
  EXPECT_EQ(size(Literal(with_size(F32, 64)).shape()), 0);
  EXPECT_EQ(size(Literal(with_size(PRED, 1)).shape()), 0);
  EXPECT_EQ(size(Literal(with_size(S4, 4)).shape()), 4);
  const Literal tuple(ShapeUtil::MakeTupleShape(
      {with_size(S32, 8), ShapeUtil::MakeTupleShape({with_size(U4, 4)})}));
  EXPECT_EQ(size(tuple.shape().tuple_shapes(0)), 0);
  EXPECT_EQ(size(tuple.shape().tuple_shapes(1).tuple_shapes(0)), 4);
}

TEST(LiteralTest, DefaultIsNilAndMovedFromToo) {
  Literal literal = LiteralUtil::CreateR0<float>(1);
  Literal other = std::move(literal);
  EXPECT_EQ(other.Get<float>({}), 1);
  EXPECT_TRUE(ShapeUtil::IsEmptyTuple(literal.shape()));  // NOLINT
  EXPECT_TRUE(ShapeUtil::IsEmptyTuple(Literal().shape()));
  literal = std::move(other);
  EXPECT_EQ(literal.Get<float>({}), 1);
}

TEST(LiteralTest, MakeReportsSizesThatCannotBe) {
  EXPECT_EQ(Literal::Make(ShapeUtil::MakeShape(F32, {int64_t{1} << 50}))
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Literal::Make(Shape(F32, {Shape::kUnboundedSize}, {true}))
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(LiteralTest, LayoutDecidesTheOrderOfElements) {
  Literal literal = LiteralUtil::CreateR2WithLayout<int32_t>(
      {{1, 2, 3}, {4, 5, 6}}, LayoutUtil::MakeLayout({0, 1}));
  EXPECT_EQ(literal.data<int32_t>(), absl::MakeConstSpan({1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(literal.Get<int32_t>({1, 2}), 6);
  literal.Set<int32_t>({0, 1}, 9);
  EXPECT_EQ(literal.GetLinear<int32_t>(2), 9);
}

TEST(LiteralTest, ScalarsKeepAnUncommonLayout) {
  Shape shape = ShapeUtil::MakeShape(F32, {});
  shape.mutable_layout()->set_memory_space(5);
  EXPECT_EQ(Literal(shape).shape().layout().memory_space(), 5);
  Literal plain(ShapeUtil::MakeShape(F32, {}));
  plain.mutable_shape_do_not_use()->mutable_layout()->set_memory_space(1);
  EXPECT_EQ(plain.shape().layout().memory_space(), 1);
  EXPECT_EQ(Literal(Shape(F32)).shape().layout().memory_space(), 0);
}

TEST(LiteralDeathTest, AccessWithTheWrongTypeDies) {
  Literal literal = LiteralUtil::CreateR0<float>(1);
  EXPECT_DEATH(literal.data<int32_t>(), "S32");
}

// ---- States ----------------------------------------------------------------

TEST(LiteralTest, ElidedHasShapeButNoElements) {
  const Shape shape = ShapeUtil::MakeShape(F32, {1 << 20, 1 << 20});
  Literal elided = LiteralBase::CreateElided(shape);
  EXPECT_TRUE(elided.is_elided());
  EXPECT_FALSE(elided.IsKnown());
  EXPECT_TRUE(elided.IsDetermined());
  EXPECT_EQ(elided.shape(), shape);
  EXPECT_FALSE(elided.IsAll(0));
  EXPECT_FALSE(elided.IsAllFirst());
  EXPECT_FALSE(elided.IsZero({0, 0}));
  EXPECT_EQ(elided.GetAsDouble({0, 0}), std::nullopt);
  EXPECT_DEATH(elided.data<float>(), "elided");
}

TEST(LiteralTest, ElidedEqualsOnlyItsCopies) {
  const Shape shape = ShapeUtil::MakeShape(F32, {100});
  Literal a = LiteralBase::CreateElided(shape);
  Literal b = LiteralBase::CreateElided(shape);
  EXPECT_EQ(a, a);
  EXPECT_EQ(a, a.Clone());
  EXPECT_NE(a, b);
  EXPECT_NE(a, Literal(shape));
  EXPECT_EQ(absl::HashOf(a), absl::HashOf(a.Clone()));
  Literal reshaped = a.Reshape({10, 10}).value();
  EXPECT_TRUE(reshaped.is_elided());
  EXPECT_TRUE(a.Convert(S32)->is_elided());
}

TEST(LiteralTest, ElidedTupleAndEmptyArray) {
  const Shape shape = ShapeUtil::MakeTupleShape(
      {ShapeUtil::MakeShape(F32, {2}), ShapeUtil::MakeShape(S32, {0})});
  Literal tuple = LiteralBase::CreateElided(shape);
  EXPECT_TRUE(tuple.is_elided());
  EXPECT_TRUE(tuple.is_elided({0}));
  EXPECT_FALSE(tuple.is_elided({1}));
  EXPECT_TRUE(tuple.data<int32_t>({1}).empty());
}

TEST(LiteralTest, UnknownAndUndetermined) {
  const Shape shape = ShapeUtil::MakeShape(F32, {2});
  Literal unknown = LiteralBase::CreateFromShapeWithUnknownLeafArrays(shape);
  EXPECT_FALSE(unknown.IsKnown());
  EXPECT_TRUE(unknown.IsDetermined());
  Literal undetermined =
      LiteralBase::CreateFromShapeWithUndeterminedLeafArrays(shape);
  EXPECT_FALSE(undetermined.IsDetermined());
  EXPECT_NE(unknown, undetermined);
  // Copying a value over it makes it known.
  ASSERT_TRUE(unknown.CopyFrom(LiteralUtil::CreateR1<float>({1, 2})).ok());
  EXPECT_EQ(unknown, LiteralUtil::CreateR1<float>({1, 2}));
}

// ---- Equality and hashing --------------------------------------------------

TEST(LiteralTest, EqualityIsByBitsAndIgnoresLayout) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(LiteralUtil::CreateR0(nan), LiteralUtil::CreateR0(nan));
  EXPECT_NE(LiteralUtil::CreateR0(0.0f), LiteralUtil::CreateR0(-0.0f));
  EXPECT_NE(LiteralUtil::CreateR0(0.0f), LiteralUtil::CreateR0(0));
  Literal a = LiteralUtil::CreateR2<float>({{1, 2, 3}, {4, 5, 6}});
  Literal b = a.Relayout(LayoutUtil::MakeLayout({0, 1}));
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a.Equal(b, /*layout_sensitive=*/true));
  EXPECT_EQ(absl::HashOf(a), absl::HashOf(b));
  EXPECT_NE(absl::HashOf(LiteralBase::AbslHashable<true>(a)),
            absl::HashOf(LiteralBase::AbslHashable<true>(b)));
  b.Set<float>({1, 2}, 7);
  EXPECT_NE(a, b);
  EXPECT_NE(absl::HashOf(a), absl::HashOf(b));
}

TEST(LiteralTest, DynamicArraysCompareTheirValidPart) {
  Literal a(DynamicR1(4));
  Literal b(DynamicR1(4));
  a.SetDynamicSize(0, 2);
  EXPECT_NE(a, b);
  b.SetDynamicSize(0, 2);
  EXPECT_EQ(a, b);
  b.Set<float>({3}, 5);
  EXPECT_EQ(a, b);
  EXPECT_EQ(absl::HashOf(a), absl::HashOf(b));
  b.Set<float>({1}, 5);
  EXPECT_NE(a, b);
}

TEST(LiteralTest, BoundsOfDynamicDimensionsDoNotMatter) {
  const Literal whole = LiteralUtil::CreateR2<uint32_t>({{1, 2}, {4, 5}});
  Literal part = LiteralUtil::CreateR2<uint32_t>({{1, 2, 3}, {4, 5, 6}});
  EXPECT_NE(part, whole);
  part.SetDynamicSize(1, 2);
  EXPECT_EQ(part, whole);
  EXPECT_TRUE(whole.Equal(part, /*layout_sensitive=*/true));
  EXPECT_EQ(absl::HashOf(part), absl::HashOf(whole));
  EXPECT_NE(part, LiteralUtil::CreateR2<int32_t>({{1, 2}, {4, 5}}));
  EXPECT_NE(part, LiteralUtil::CreateR1<uint32_t>({1, 2, 4, 5}));
  // As elements of tuples.
  EXPECT_EQ(LiteralUtil::MakeTuple({&whole, &part}),
            LiteralUtil::MakeTuple({&part, &whole}));
  // With nothing in it, even without a buffer, and in the order of a layout.
  const Literal none(ShapeUtil::MakeShape(U32, {2, 0}), false);
  EXPECT_EQ(part.Slice({0, 2}, {2, 3}), none);
  EXPECT_EQ(absl::HashOf(part.Slice({0, 2}, {2, 3})), absl::HashOf(none));
  using Hashable = LiteralBase::AbslHashable<true>;
  EXPECT_EQ(absl::HashOf(Hashable(part.Relayout(Layout({0, 1})))),
            absl::HashOf(Hashable(whole.Relayout(Layout({0, 1})))));
}

TEST(LiteralTest, FingerprintDependsOnlyOnElements) {
  Literal a = LiteralUtil::CreateR1<int32_t>({1, 2, 3, 4});
  EXPECT_EQ(a.DataFingerprint(false), a.Clone().DataFingerprint(false));
  EXPECT_EQ(
      a.DataFingerprint(false, 8),
      LiteralUtil::CreateR1<int32_t>({1, 2, 5, 6}).DataFingerprint(false, 8));
}

// ---- Queries ---------------------------------------------------------------

TEST(LiteralTest, IsAllOfEveryKind) {
  EXPECT_TRUE(LiteralUtil::CreateR1<float>({0.0f, -0.0f}).IsAll(0));
  EXPECT_FALSE(LiteralUtil::CreateR1<float>({0.0f, -0.0f}).IsAllFirst());
  EXPECT_FALSE(LiteralUtil::CreateR1<bool>({true, true}).IsAll(2));
  EXPECT_TRUE(LiteralUtil::CreateR1<bool>({true, true}).IsAll(1));
  EXPECT_FALSE(LiteralUtil::CreateR1<uint8_t>({255}).IsAll(-1));
  EXPECT_TRUE(LiteralUtil::CreateR1<s4>({s4(-8), s4(-8)}).IsAll(-8));
  EXPECT_FALSE(LiteralUtil::CreateR1<s4>({s4(-8)}).IsAll(8));
  EXPECT_TRUE(LiteralUtil::CreateR1<complex64>({{3, 0}}).IsAll(3));
  EXPECT_TRUE(LiteralUtil::CreateR1<complex64>({{3, 1}}).IsAllComplex({3, 1}));
  EXPECT_TRUE(LiteralUtil::CreateR0(bfloat16(0.1f)).IsAllFloat(0.1f));
  EXPECT_FALSE(LiteralUtil::CreateR0(1).IsAllFloat(1));
  EXPECT_FALSE(LiteralUtil::Zero(F8E8M0FNU).IsZero({}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(LiteralUtil::CreateR1<float>({nan, nan}).IsAllFirst());
  EXPECT_TRUE(LiteralUtil::CreateR1<float>({nan, nan})
                  .IsAll(LiteralUtil::CreateR0(nan)));
  EXPECT_FALSE(LiteralUtil::CreateR1<float>({}).IsAllFirst());
}

TEST(LiteralTest, IsEqualAtNeverConfusesValues) {
  EXPECT_TRUE(LiteralUtil::CreateR0<uint64_t>(~uint64_t{0})
                  .IsEqualAt({}, ~uint64_t{0}));
  EXPECT_FALSE(LiteralUtil::CreateR0<uint64_t>(~uint64_t{0}).IsEqualAt({}, -1));
  EXPECT_FALSE(LiteralUtil::CreateR0<int64_t>(-1).IsEqualAt({}, ~uint64_t{0}));
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_FALSE(LiteralUtil::CreateR0<double>(static_cast<double>(big))
                   .IsEqualAt({}, big));
  EXPECT_TRUE(
      LiteralUtil::CreateR0<int64_t>(std::numeric_limits<int64_t>::min())
          .IsEqualAt({}, std::numeric_limits<int64_t>::min()));
  EXPECT_FALSE(LiteralUtil::CreateR0<int8_t>(0).IsEqualAt({}, 256));
  EXPECT_TRUE(LiteralUtil::CreateR0<int8_t>(3).IsEqualAt({}, 3.0));
  EXPECT_FALSE(LiteralUtil::CreateR0<int8_t>(3).IsEqualAt({}, 3.5));
  EXPECT_TRUE(LiteralUtil::CreateR0<complex128>({1, 2}).IsEqualAt(
      {}, complex128(1, 2)));
  EXPECT_FALSE(
      LiteralUtil::CreateR0<bool>(true).IsEqualAt({}, complex128(2, 0)));
}

TEST(LiteralTest, CountEqual) {
  Literal literal = LiteralUtil::CreateR1<int32_t>({1, 2, 1, 3});
  EXPECT_EQ(literal.CountEqual(1), 2);
  EXPECT_EQ(literal.CountEqual(1.5), 0);
  EXPECT_EQ(literal.CountEqual(complex64(1, 0)), 0);
}

TEST(LiteralTest, Iotas) {
  EXPECT_TRUE(LiteralUtil::CreateR1<int8_t>({0, 1, 2}).IsR1Iota());
  EXPECT_TRUE(LiteralUtil::CreateR1<float>({0, 1, 2}).IsR1Iota());
  EXPECT_FALSE(LiteralUtil::CreateR1<float>({0, 2}).IsR1Iota());
  EXPECT_FALSE(LiteralUtil::CreateR0(0).IsR1Iota());
  EXPECT_EQ(LiteralUtil::CreateR1<int32_t>({0, 3, 6}).IsR1StridedIota(), 3);
  EXPECT_EQ(LiteralUtil::CreateR1<int32_t>({1, 3}).IsR1StridedIota(),
            std::nullopt);
  EXPECT_EQ(LiteralUtil::CreateR1<int32_t>({0}).IsR1StridedIota(),
            std::nullopt);
}

TEST(LiteralTest, ElementsAsWiderTypes) {
  EXPECT_EQ(LiteralUtil::CreateR0<int8_t>(-3).GetIntegralAsS64({}), -3);
  EXPECT_EQ(LiteralUtil::CreateR0<float>(3).GetIntegralAsS64({}), std::nullopt);
  EXPECT_EQ(LiteralUtil::CreateR0(half(0.5f)).GetAsDouble({}), 0.5);
  EXPECT_EQ(LiteralUtil::CreateR0<complex64>({1, 2}).GetAsDouble({}),
            std::nullopt);
  EXPECT_EQ(LiteralUtil::CreateR0<complex64>({1, 2}).GetAsComplex128({}),
            complex128(1, 2));
  EXPECT_EQ(LiteralUtil::CreateR1<float>({1, 2, 4}).GetSumAsDouble({0, 2}), 5);
  EXPECT_EQ(LiteralUtil::CreateR1<uint16_t>({7, 8}).GetFirstInteger(), 7);
  EXPECT_EQ(
      LiteralUtil::CreateR0<uint64_t>(uint64_t{1} << 63).GetFirstInteger(),
      std::nullopt);
  EXPECT_EQ(LiteralUtil::CreateR1<uint16_t>({}).GetFirstInteger(),
            std::nullopt);
}

TEST(LiteralTest, SettersConvert) {
  Literal s4s(ShapeUtil::MakeShape(S4, {2}));
  static_cast<int8_t*>(s4s.untyped_data())[0] = 0x1f;
  EXPECT_EQ(s4s.Get<s4>({0}), s4(-1));
  ASSERT_TRUE(s4s.SetIntegralAsS64({1}, -5).ok());
  EXPECT_EQ(s4s.Get<s4>({1}), s4(-5));
  EXPECT_FALSE(s4s.SetFromDouble({0}, 1).ok());
  Literal bf16s(ShapeUtil::MakeShape(BF16, {}));
  ASSERT_TRUE(bf16s.SetFromDouble({}, 1.5).ok());
  EXPECT_EQ(bf16s.GetAsDouble({}), 1.5);
  EXPECT_FALSE(bf16s.SetIntegralAsS64({}, 1).ok());
}

TEST(LiteralTest, SetDynamicSizeMakesAStaticDimensionDynamic) {
  Literal literal =
      LiteralUtil::CreateR2<int32_t>({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  literal.SetDynamicSize(1, 2);
  EXPECT_EQ(literal.shape().ToString(), "s32[3,<=3]");
  EXPECT_EQ(literal.GetDynamicSize(1), 2);
  EXPECT_EQ(literal.Get<int32_t>({2, 1}), 8);
  literal.SetDynamicSize(0, 1);
  EXPECT_EQ(literal.GetDynamicSize(1), 2);
  EXPECT_TRUE(literal.ToStatic() == LiteralUtil::CreateR2<int32_t>({{1, 2}}));

  Literal tuple = LiteralUtil::MakeTupleOwned(
      LiteralUtil::CreateR0<float>(1), LiteralUtil::CreateR1<bool>({true}));
  tuple.SetDynamicSize(0, {1}, 0);
  EXPECT_EQ(tuple.shape().ToString(), "(f32[], pred[<=1])");
  EXPECT_EQ(tuple.Get<float>({}, {0}), 1);
}

TEST(LiteralTest, NanIsAllNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Literal nans = LiteralUtil::CreateR1<float>({nan, nan});
  EXPECT_TRUE(nans.IsAll(LiteralUtil::CreateR0<float>(nan)));
  EXPECT_TRUE(nans.IsAllFloat(nan));
  EXPECT_EQ(nans.CountEqual(nan), 2);
  EXPECT_FALSE(nans.IsAll(LiteralUtil::CreateR0<float>(0)));
  const bfloat16 narrow = std::numeric_limits<bfloat16>::quiet_NaN();
  EXPECT_EQ(
      LiteralUtil::CreateR1<bfloat16>({narrow, bfloat16(1)}).CountEqual(narrow),
      1);
  const complex64 mixed(1, nan);
  EXPECT_TRUE(LiteralUtil::CreateR1<complex64>({mixed, mixed}).IsAllFirst());
  EXPECT_EQ(LiteralUtil::CreateR1<complex64>({mixed, {1, 1}}).CountEqual(mixed),
            1);
}

TEST(LiteralTest, AnElementIsCopiedBetweenScalarAndArray) {
  Literal array = LiteralUtil::CreateR1<float>({1, 2});
  const Literal scalar = LiteralUtil::CreateR0<float>(7);
  ASSERT_TRUE(array.CopySliceFrom(scalar, {}, {1}, {}).ok());
  EXPECT_EQ(array.Get<float>({1}), 7);
  ASSERT_TRUE(array.CopySliceFrom(scalar, {}, {}, {}).ok());
  EXPECT_EQ(array.Get<float>({0}), 7);
  EXPECT_FALSE(array.CopySliceFrom(scalar, {}, {2}, {}).ok());
  EXPECT_FALSE(
      LiteralUtil::CreateR0<int32_t>(1).GetAsComplex128({}).has_value());
}

TEST(LiteralTest, EachCellGoesInLogicalOrderOverTheValidPart) {
  Literal literal(ShapeUtil::MakeShape(S32, {2, 3}, {false, true}));
  literal.SetDynamicSize(1, 2);
  std::vector<int64_t> order;
  literal.MutableEachCell<int32_t>([&](absl::Span<const int64_t> i, int32_t) {
    order.push_back(i[0] * 10 + i[1]);
    return static_cast<int32_t>(order.size());
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 10, 11}));
  int64_t sum = 0;
  literal.EachCell<int32_t>(
      [&](absl::Span<const int64_t>, int32_t value) { sum += value; });
  EXPECT_EQ(sum, 10);
  EXPECT_FALSE(literal.EachCellUntilFailure<int32_t>(
      [](absl::Span<const int64_t>, int32_t value) { return value < 3; }));
}

// ---- Populate --------------------------------------------------------------

TEST(LiteralTest, PopulateGivesLogicalIndices) {
  Literal literal(ShapeUtil::MakeShapeWithDenseLayout(S32, {2, 3}, {0, 1}));
  ASSERT_TRUE(literal
                  .Populate<int32_t>([](absl::Span<const int64_t> i) {
                    return static_cast<int32_t>(i[0] * 10 + i[1]);
                  })
                  .ok());
  EXPECT_EQ(literal, LiteralUtil::CreateR2<int32_t>({{0, 1, 2}, {10, 11, 12}}));
  ASSERT_TRUE(literal
                  .PopulateInplace([](void* dest, absl::Span<const int64_t> i) {
                    *static_cast<int32_t*>(dest) = i[1];
                  })
                  .ok());
  EXPECT_EQ(literal, LiteralUtil::CreateR2<int32_t>({{0, 1, 2}, {0, 1, 2}}));
  ASSERT_TRUE(literal
                  .PopulateLinearParallel<int32_t>(
                      [](int64_t i, int) { return static_cast<int32_t>(i); })
                  .ok());
  EXPECT_EQ(literal.GetLinear<int32_t>(5), 5);
  EXPECT_EQ(
      literal.Populate<float>([](absl::Span<const int64_t>) { return 0.0f; })
          .code(),
      absl::StatusCode::kFailedPrecondition);
}

TEST(LiteralTest, PopulateFillsTheValidPart) {
  Literal list(ShapeUtil::MakeShape(S32, {6}));
  list.SetDynamicSize(0, 2);
  list.PopulateR1<int32_t>({7, 8});
  EXPECT_EQ(list, LiteralUtil::CreateR1<int32_t>({7, 8}));
  EXPECT_DEATH(list.PopulateR1<int32_t>({1, 2, 3, 4, 5, 6}), "");

  Literal rows(ShapeUtil::MakeShapeWithDenseLayout(S32, {4, 3}, {0, 1}));
  rows.SetDynamicSize(1, 1);
  rows.SetDynamicSize(0, 2);
  rows.PopulateR2<int32_t>({{7}, {8}});
  EXPECT_EQ(rows, LiteralUtil::CreateR2<int32_t>({{7}, {8}}));
  Array<int32_t> column({2, 1});
  column.FillIota(1);
  rows.PopulateFromArray(column);
  EXPECT_EQ(rows, LiteralUtil::CreateR2<int32_t>({{1}, {2}}));
}

// ---- Moving elements -------------------------------------------------------

TEST(LiteralTest, CopyFromSubtreesAndLayouts) {
  Literal source = LiteralUtil::MakeTupleOwned(
      LiteralUtil::CreateR2<float>({{1, 2}, {3, 4}}),
      LiteralUtil::CreateR0<int32_t>(5));
  Literal dest(ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 2}, {0, 1}));
  ASSERT_TRUE(dest.CopyFrom(source, {}, {0}).ok());
  EXPECT_EQ(dest, LiteralUtil::CreateR2<float>({{1, 2}, {3, 4}}));
  EXPECT_EQ(dest.data<float>()[1], 3);
  EXPECT_FALSE(dest.CopyFrom(source, {}, {1}).ok());
  EXPECT_FALSE(dest.CopyFrom(source, {}, {7}).ok());
}

TEST(LiteralTest, CopySliceFrom) {
  Literal source = LiteralUtil::CreateR2<int32_t>({{1, 2, 3}, {4, 5, 6}});
  Literal dest(ShapeUtil::MakeShapeWithDenseLayout(S32, {3, 3}, {0, 1}));
  ASSERT_TRUE(dest.CopySliceFrom(source, {0, 1}, {1, 0}, {2, 2}).ok());
  EXPECT_EQ(dest,
            LiteralUtil::CreateR2<int32_t>({{0, 0, 0}, {2, 3, 0}, {5, 6, 0}}));
  EXPECT_FALSE(dest.CopySliceFrom(source, {0, 2}, {0, 0}, {1, 2}).ok());
  dest.CopyElementFrom(source, {1, 2}, {0, 0});
  EXPECT_EQ(dest.Get<int32_t>({0, 0}), 6);
}

TEST(LiteralTest, ReshapeTakesLogicalOrder) {
  Literal literal = LiteralUtil::CreateR2WithLayout<int32_t>(
      {{1, 2, 3}, {4, 5, 6}}, LayoutUtil::MakeLayout({0, 1}));
  EXPECT_EQ(literal.Reshape({3, 2}).value(),
            LiteralUtil::CreateR2<int32_t>({{1, 2}, {3, 4}, {5, 6}}));
  EXPECT_EQ(literal.Reshape({4}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LiteralUtil::CreateR1<float>({7}).Reshape({}).value(),
            LiteralUtil::CreateR0<float>(7));
}

TEST(LiteralTest, TransposeKeepsTheBuffer) {
  Literal literal = LiteralUtil::CreateR2<int32_t>({{1, 2, 3}, {4, 5, 6}});
  Literal transposed = literal.Transpose({1, 0});
  EXPECT_EQ(transposed,
            LiteralUtil::CreateR2<int32_t>({{1, 4}, {2, 5}, {3, 6}}));
  EXPECT_EQ(transposed.data<int32_t>(), literal.data<int32_t>());
  EXPECT_EQ(transposed.Transpose({1, 0}), literal);
}

TEST(LiteralTest, SliceOfStaticAndDynamic) {
  Literal literal = LiteralUtil::CreateR2<int32_t>({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(literal.Slice({0, 1}, {2, 3}),
            LiteralUtil::CreateR2<int32_t>({{2, 3}, {5, 6}}));
  Literal dynamic(DynamicR1(5));
  dynamic.SetDynamicSize(0, 3);
  EXPECT_EQ(dynamic.Slice({1}, {5}).GetDynamicSize(0), 2);
  // A broadcast makes its dimension dynamic, too.
  const Literal spread =
      dynamic.Broadcast(ShapeUtil::MakeShape(F32, {2, 5}), {1}).value();
  EXPECT_EQ(spread.GetDynamicSize(1), 3);
  EXPECT_EQ(spread.shape().ToString(), "f32[2,<=5]");
  EXPECT_EQ(dynamic.Slice({4}, {5}).GetDynamicSize(0), 0);
}

TEST(LiteralTest, Broadcast) {
  Literal row = LiteralUtil::CreateR1<int32_t>({1, 2, 3});
  EXPECT_EQ(row.Broadcast(ShapeUtil::MakeShape(S32, {2, 3}), {1}).value(),
            LiteralUtil::CreateR2<int32_t>({{1, 2, 3}, {1, 2, 3}}));
  Literal column = LiteralUtil::CreateR1<int32_t>({1, 2});
  EXPECT_EQ(
      column
          .Broadcast(ShapeUtil::MakeShapeWithDenseLayout(S32, {2, 3}, {0, 1}),
                     {0})
          .value(),
      LiteralUtil::CreateR2<int32_t>({{1, 1, 1}, {2, 2, 2}}));
  EXPECT_TRUE(LiteralUtil::CreateR0<int32_t>(7)
                  .Broadcast(ShapeUtil::MakeShape(S32, {3, 4}), {})
                  ->IsAll(7));
  EXPECT_FALSE(row.Broadcast(ShapeUtil::MakeShape(S32, {2, 3}), {0}).ok());
}

TEST(LiteralTest, Replicate) {
  EXPECT_EQ(LiteralUtil::CreateR1<int32_t>({1, 2}).Replicate<int32_t>(2),
            LiteralUtil::CreateR2<int32_t>({{1, 2}, {1, 2}}));
}

TEST(LiteralTest, ToStaticAndBack) {
  Literal dynamic(ShapeUtil::MakeShape(S32, {2, 3}, {false, true}));
  for (int i = 0; i < 6; ++i) dynamic.data<int32_t>()[i] = i;
  dynamic.SetDynamicSize(1, 2);
  Literal fixed = dynamic.ToStatic();
  EXPECT_EQ(fixed, LiteralUtil::CreateR2<int32_t>({{0, 1}, {3, 4}}));
  Literal back = fixed.ToBoundedDynamic(dynamic.shape());
  EXPECT_EQ(back.GetDynamicSize(1), 2);
  EXPECT_EQ(back, dynamic);
}

// ---- Tuples ----------------------------------------------------------------

TEST(LiteralTest, TuplesMoveWithoutCopies) {
  std::vector<Literal> elements;
  elements.push_back(LiteralUtil::CreateR1<float>({1, 2, 3, 4, 5, 6}));
  elements.push_back(LiteralUtil::CreateToken());
  const void* buffer = elements[0].untyped_data();
  Literal tuple = Literal::MoveIntoTuple(absl::MakeSpan(elements));
  EXPECT_EQ(tuple.untyped_data({0}), buffer);
  EXPECT_TRUE(ShapeUtil::IsEmptyTuple(elements[0].shape()));
  std::vector<Literal> parts = tuple.DecomposeTuple();
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(parts[0].untyped_data(), buffer);
  EXPECT_TRUE(parts[1].shape().IsToken());
  EXPECT_TRUE(ShapeUtil::IsEmptyTuple(tuple.shape()));
}

TEST(LiteralTest, SubLiteralAndMoveFrom) {
  Literal tuple = LiteralUtil::MakeTupleOwned(
      LiteralUtil::CreateR0<float>(1),
      LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR0<int32_t>(2)));
  Literal inner = tuple.SubLiteral({1});
  EXPECT_EQ(inner.Get<int32_t>({}, {0}), 2);
  inner.Set<int32_t>({}, {0}, 3);
  ASSERT_TRUE(tuple.MoveFrom(std::move(inner), {1}).ok());
  EXPECT_EQ(tuple.Get<int32_t>({}, {1, 0}), 3);
  EXPECT_FALSE(tuple.MoveFrom(LiteralUtil::CreateR0<int32_t>(2), {0}).ok());
}

// ---- Views -----------------------------------------------------------------

TEST(LiteralTest, SlicesViewSubtrees) {
  Literal tuple = LiteralUtil::MakeTupleOwned(
      LiteralUtil::CreateR0<float>(1),
      LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR0<int32_t>(2)));
  LiteralSlice slice(tuple, {1, 0});
  EXPECT_EQ(slice.Get<int32_t>({}), 2);
  EXPECT_EQ(slice.untyped_data(), tuple.untyped_data({1, 0}));
  EXPECT_EQ(LiteralSlice(tuple), tuple);
}

TEST(LiteralTest, BorrowingLiteralsUseTheirOwnersMemory) {
  const float values[] = {1, 2, 3};
  BorrowingLiteral borrowed(reinterpret_cast<const char*>(values),
                            ShapeUtil::MakeShape(F32, {3}));
  EXPECT_EQ(borrowed, LiteralUtil::CreateR1<float>({1, 2, 3}));

  Literal owner = LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR0<float>(1),
                                              LiteralUtil::CreateR0<float>(2));
  MutableBorrowingLiteral view(MutableBorrowingLiteral(&owner), {1});
  view.Set<float>({}, 9);
  EXPECT_EQ(owner.Get<float>({}, {1}), 9);
  MutableBorrowingLiteral copy = view;
  copy.Set<float>({}, 8);
  EXPECT_EQ(owner.Get<float>({}, {1}), 8);

  float a = 0;
  float b = 0;
  char* buffers[] = {reinterpret_cast<char*>(&a), reinterpret_cast<char*>(&b)};
  MutableBorrowingLiteral tuple(absl::MakeSpan(buffers), owner.shape());
  ASSERT_TRUE(tuple.CopyFrom(owner).ok());
  EXPECT_EQ(b, 8);
}

}  // namespace
}  // namespace xla
