#include "xla/literal_util.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/array2d.h"
#include "xla/array3d.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

TEST(LiteralUtilTest, ScalarsWithAType) {
  EXPECT_EQ(LiteralUtil::CreateR0<float>(S8, 3.7f),
            LiteralUtil::CreateR0<int8_t>(3));
  EXPECT_EQ(LiteralUtil::CreateR0(BF16, 2), LiteralUtil::CreateR0(bfloat16(2)));
  EXPECT_EQ(LiteralUtil::CreateR0(U64, ~uint64_t{0}),
            LiteralUtil::CreateR0(~uint64_t{0}));
  EXPECT_EQ(LiteralUtil::CreateR0(F32, bfloat16(1.5f)),
            LiteralUtil::CreateR0(1.5f));
  EXPECT_EQ(LiteralUtil::CreateR0(C128, complex64(1, 2)),
            LiteralUtil::CreateR0(complex128(1, 2)));
}

TEST(LiteralUtilTest, NestedListsAndArraysAgree) {
  Array2D<int32_t> array2d({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(LiteralUtil::CreateR2FromArray2D(array2d),
            LiteralUtil::CreateR2<int32_t>({{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(LiteralUtil::CreateR2FromArray2DWithLayout(
                array2d, LayoutUtil::MakeLayout({0, 1}))
                .data<int32_t>(),
            absl::MakeConstSpan({1, 4, 2, 5, 3, 6}));
  Array3D<float> array3d({{{1, 2}, {3, 4}}});
  EXPECT_EQ(LiteralUtil::CreateR3FromArray3D(array3d),
            LiteralUtil::CreateR3<float>({{{1, 2}, {3, 4}}}));
  EXPECT_EQ(
      LiteralUtil::CreateR3<float>({{{1, 2}, {3, 4}}}).Get<float>({0, 1, 0}),
      3);
  EXPECT_EQ(LiteralUtil::CreateR4<float>({{{{1, 2}}}, {{{3, 4}}}})
                .Get<float>({1, 0, 0, 1}),
            4);
  EXPECT_EQ(LiteralUtil::CreateR3WithLayout<int32_t>(
                {{{1, 2}, {3, 4}}}, LayoutUtil::MakeLayout({0, 1, 2}))
                .data<int32_t>(),
            absl::MakeConstSpan({1, 3, 2, 4}));
}

TEST(LiteralUtilTest, LimitsOfTypes) {
  EXPECT_EQ(LiteralUtil::MinValue(S4), LiteralUtil::CreateR0(s4(-8)));
  EXPECT_EQ(LiteralUtil::MaxValue(U8), LiteralUtil::CreateR0<uint8_t>(255));
  EXPECT_EQ(LiteralUtil::MinValue(F32),
            LiteralUtil::CreateR0(-std::numeric_limits<float>::infinity()));
  EXPECT_EQ(LiteralUtil::MaxFiniteValue(F32),
            LiteralUtil::CreateR0(std::numeric_limits<float>::max()));
  EXPECT_EQ(LiteralUtil::MaxValue(F8E4M3FN).GetAsDouble({}), 448);
  EXPECT_EQ(LiteralUtil::MinValue(PRED), LiteralUtil::CreateR0(false));
  EXPECT_TRUE(std::isnan(*LiteralUtil::NanValue(F64)->GetAsDouble({})));
  EXPECT_EQ(LiteralUtil::NanValue(S32).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(LiteralUtil::NanValue(F4E2M1FN).ok());
}

TEST(LiteralUtilTest, ZeroAndOneOfEveryType) {
  primitive_util::IntegralTypeForEach([](auto type) {
    EXPECT_TRUE(LiteralUtil::Zero(type).IsZero({}));
    EXPECT_EQ(LiteralUtil::One(type).GetIntegralAsS64({}), type == S1 ? -1 : 1);
  });
  primitive_util::FloatingPointTypeForEach(
      [](auto type) { EXPECT_EQ(LiteralUtil::One(type).GetAsDouble({}), 1); });
}

TEST(LiteralUtilTest, FullLinspaceIdentityFingerprint) {
  EXPECT_TRUE(LiteralUtil::CreateFull<float>({2, 3}, 4).IsAll(4));
  EXPECT_EQ(LiteralUtil::CreateR2F32Linspace(1, 4, 2, 2),
            LiteralUtil::CreateR2<float>({{1, 2}, {3, 4}}));
  EXPECT_EQ(LiteralUtil::MakeIdentityR2<int32_t>(2),
            LiteralUtil::CreateR2<int32_t>({{1, 0}, {0, 1}}));
  EXPECT_EQ(LiteralUtil::CreateFingerprintMatixR2<double>(2, 2),
            LiteralUtil::CreateR2<double>({{0, 0.1}, {1, 1.1}}));
  EXPECT_EQ(LiteralUtil::CreateR4Projected<int32_t>({{1, 2}}, 3, 4).shape(),
            ShapeUtil::MakeShape(S32, {3, 4, 1, 2}));
  EXPECT_EQ(LiteralUtil::CreateFromDimensions(PRED, {2}),
            LiteralUtil::CreateR1<bool>({false, false}));
}

TEST(LiteralUtilTest, OneElementInAndOut) {
  Literal literal = LiteralUtil::CreateR2<int32_t>({{1, 2}, {3, 4}});
  EXPECT_EQ(LiteralUtil::GetFirstScalarLiteral(literal),
            LiteralUtil::CreateR0(1));
  EXPECT_EQ(LiteralUtil::GetScalarLiteral(literal, {1, 0}),
            LiteralUtil::CreateR0(3));
  LiteralUtil::SetScalarLiteral(literal, {1, 0}, LiteralUtil::CreateR0(9));
  EXPECT_EQ(literal.Get<int32_t>({1, 0}), 9);
  EXPECT_EQ(LiteralUtil::MaxElement(literal), LiteralUtil::CreateR0(9));
}

TEST(LiteralUtilTest, ReshapeSliceWithLayout) {
  Literal literal = LiteralUtil::CreateR1<int32_t>({1, 2, 3, 4, 5, 6});
  Literal reshaped = LiteralUtil::ReshapeSlice({2, 3}, {0, 1}, literal);
  EXPECT_EQ(reshaped, LiteralUtil::CreateR2<int32_t>({{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(reshaped.data<int32_t>()[1], 4);
}

TEST(LiteralUtilTest, ConversionsLeaveOtherTypesAlone) {
  Literal tuple = LiteralUtil::MakeTupleOwned(
      LiteralUtil::CreateR0(bfloat16(1.5f)), LiteralUtil::CreateR0(7));
  Literal converted = LiteralUtil::ConvertBF16ToF32(tuple);
  EXPECT_EQ(converted.Get<float>({}, {0}), 1.5f);
  EXPECT_EQ(converted.Get<int32_t>({}, {1}), 7);
  EXPECT_EQ(LiteralUtil::ConvertF32ToBF16(converted), tuple);
}

TEST(LiteralUtilTest, ScalarInt64) {
  EXPECT_EQ(LiteralUtil::LiteralAsScalarInt64(LiteralUtil::CreateR0(5)), 5);
  EXPECT_EQ(
      LiteralUtil::LiteralAsScalarInt64(LiteralUtil::CreateR1<int8_t>({-1})),
      -1);
  EXPECT_EQ(LiteralUtil::LiteralAsScalarInt64(LiteralUtil::CreateR0(1.0f)),
            std::nullopt);
  EXPECT_EQ(
      LiteralUtil::LiteralAsScalarInt64(LiteralUtil::CreateR0(~uint64_t{0})),
      std::nullopt);
  EXPECT_EQ(LiteralUtil::MultiIndexAsString({1, 2}), "{1,2}");
}

TEST(LiteralUtilTest, TuplesFromPointersAndSlices) {
  Literal a = LiteralUtil::CreateR0(1);
  Literal b = LiteralUtil::CreateR0(2.0f);
  Literal tuple = LiteralUtil::MakeTuple({&a, &b});
  EXPECT_EQ(tuple, LiteralUtil::MakeTupleFromSlices({a, b}));
  EXPECT_EQ(a, LiteralUtil::CreateR0(1));
  EXPECT_EQ(LiteralUtil::MakePointers({&a, 1})[0], &a);
}

TEST(LiteralUtilTest, FillDeterministicIsStableAndFillsElided) {
  Literal a = LiteralBase::CreateElided(ShapeUtil::MakeShape(F32, {100}));
  Literal b(a.shape());
  ASSERT_TRUE(LiteralUtil::FillDeterministic(&a, 1).ok());
  ASSERT_TRUE(LiteralUtil::FillDeterministic(&b, 1).ok());
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a.IsAllFirst());
  a.EachCell<float>([](absl::Span<const int64_t>, float value) {
    EXPECT_GE(value, -1);
    EXPECT_LE(value, 1);
  });
  // The first elements of a seed are part of the contract.
  EXPECT_EQ(a.Get<float>({0}), 0.133123145f);
  ASSERT_TRUE(LiteralUtil::FillDeterministic(&b, 2).ok());
  EXPECT_NE(a, b);
  Literal huge =
      LiteralBase::CreateElided(ShapeUtil::MakeShape(F32, {int64_t{1} << 55}));
  EXPECT_FALSE(LiteralUtil::FillDeterministic(&huge, 1).ok());
}

TEST(LiteralUtilTest, RandomLiteralsComeFromTheirEngine) {
  const Shape shape = ShapeUtil::MakeShape(F32, {100});
  Literal a = LiteralUtil::CreateRandomLiteral<F32>(shape, 0.0f, 1.0f).value();
  Literal b = LiteralUtil::CreateRandomLiteral<F32>(shape, 0.0f, 1.0f).value();
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a.IsAllFirst());
  std::minstd_rand0 engine;
  EXPECT_EQ(LiteralUtil::CreateRandomLiteral(shape, &engine, 0.0, 1.0).value(),
            a);
  EXPECT_FALSE(LiteralUtil::CreateRandomLiteral<F64>(shape, 0.0, 1.0).ok());
  EXPECT_FALSE(LiteralUtil::CreateRandomLiteral(ShapeUtil::MakeShape(S32, {1}),
                                                &engine, 0.0, 1.0)
                   .ok());
}

SparsityConfig::TensorSparsityConfig Sparsity(int64_t stored, int64_t block,
                                              int64_t dimension) {
  SparsityConfig::TensorSparsityConfig config;
  config.set_num_non_zero(stored);
  config.set_block_size(block);
  config.set_dimension(dimension);
  config.set_stride(1);
  return config;
}

TEST(MaterializeSparseOperandTest, PutsValuesWhereTheirIndicesSay) {
  // Zeros are no values: they may share an index with one.
  const auto dense = MaterializeSparseOperand(
      LiteralUtil::CreateR1<bfloat16>(
          {bfloat16(5), bfloat16(6), bfloat16(7), bfloat16(0)}),
      LiteralUtil::CreateR1<s4>({s4(0), s4(3), s4(1), s4(1)}),
      Sparsity(2, 4, 0));
  ASSERT_TRUE(dense.ok()) << dense.status();
  EXPECT_EQ(dense->ToString(), "bf16[8] {5, 0, 0, 6, 0, 7, 0, 0}");

  const auto columns = MaterializeSparseOperand(
      LiteralUtil::CreateR2WithLayout<int32_t>({{1, 2}, {3, 4}},
                                               LayoutUtil::MakeLayout({0, 1})),
      LiteralUtil::CreateR2<uint8_t>({{1, 0}, {0, 1}}), Sparsity(1, 2, 0));
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ(*columns,
            LiteralUtil::CreateR2<int32_t>({{0, 2}, {1, 0}, {3, 0}, {0, 4}}));
  EXPECT_EQ(columns->shape().layout(), LayoutUtil::MakeLayout({0, 1}));

  const auto empty = MaterializeSparseOperand(LiteralUtil::CreateR1<float>({}),
                                              LiteralUtil::CreateR1<int>({}),
                                              Sparsity(2, 4, 0));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->element_count(), 0);
}

TEST(MaterializeSparseOperandTest, RefusesWhatDoesNotFit) {
  const Literal values = LiteralUtil::CreateR1<float>({5, 6});
  const auto code = [&](const Literal& indices,
                        const SparsityConfig::TensorSparsityConfig& config) {
    return MaterializeSparseOperand(values, indices, config).status().code();
  };
  const Literal indices = LiteralUtil::CreateR1<int32_t>({0, 1});
  EXPECT_EQ(code(indices, Sparsity(2, 4, 0)), absl::StatusCode::kOk);
  EXPECT_EQ(code(indices, Sparsity(2, 4, 1)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(indices, Sparsity(3, 4, 0)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(indices, Sparsity(2, 1, 0)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(indices, Sparsity(0, 4, 0)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(indices, Sparsity(1, int64_t{1} << 62, 0)),
            absl::StatusCode::kInvalidArgument);
  for (const Literal& bad : {
           LiteralUtil::CreateR1<int32_t>({0, 4}),     // outside of the block
           LiteralUtil::CreateR1<int32_t>({-1, 1}),    // outside of the block
           LiteralUtil::CreateR1<int32_t>({2, 2}),     // two in one place
           LiteralUtil::CreateR1<int32_t>({0, 1, 2}),  // too many
           LiteralUtil::CreateR1<float>({0, 1}),       // no integers
       }) {
    EXPECT_EQ(code(bad, Sparsity(2, 4, 0)), absl::StatusCode::kInvalidArgument)
        << bad;
  }
  SparsityConfig::TensorSparsityConfig strided = Sparsity(2, 4, 0);
  strided.set_stride(2);
  EXPECT_EQ(code(indices, strided), absl::StatusCode::kUnimplemented);
}

TEST(MakeFakeLiteralTest, RespectsItsConstraints) {
  std::minstd_rand0 engine;
  Literal literal = MakeFakeLiteral(ShapeUtil::MakeShape(S32, {50}), &engine,
                                    std::make_pair(int64_t{-30}, int64_t{30}),
                                    /*is_sorted=*/true, /*no_duplicates=*/true,
                                    /*use_large_range=*/false, std::nullopt)
                        .value();
  std::set<int32_t> seen;
  int32_t previous = -31;
  for (int32_t value : literal.data<int32_t>()) {
    EXPECT_GT(value, previous);
    EXPECT_LE(value, 30);
    previous = value;
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 50);
  // Far fewer than the range holds.
  literal = MakeFakeLiteral(ShapeUtil::MakeShape(S64, {5000}), &engine,
                            std::make_pair(int64_t{0}, int64_t{20000}), false,
                            /*no_duplicates=*/true, false, std::nullopt)
                .value();
  const std::set<int64_t> distinct(literal.data<int64_t>().begin(),
                                   literal.data<int64_t>().end());
  EXPECT_EQ(distinct.size(), 5000);
  EXPECT_GE(*distinct.begin(), 0);
  EXPECT_LE(*distinct.rbegin(), 20000);
}

TEST(MakeFakeLiteralTest, MakesEveryTypeAndTuples) {
  primitive_util::FloatingPointTypeForEach([](PrimitiveType type) {
    for (bool large : {false, true}) {
      Literal literal =
          MakeFakeLiteral(ShapeUtil::MakeShape(type, {64}), true, large)
              .value();
      for (int64_t i = 0; i < 64; ++i) {
        EXPECT_TRUE(std::isfinite(*literal.GetAsDouble({i})))
            << PrimitiveType_Name(type);
      }
      EXPECT_FALSE(literal.IsAllFirst()) << PrimitiveType_Name(type);
    }
  });
  const Shape tuple = ShapeUtil::MakeTupleShape(
      {ShapeUtil::MakeShape(PRED, {3}), ShapeUtil::MakeTokenShape()});
  EXPECT_EQ(MakeFakeLiteral(tuple)->shape(), tuple);
  EXPECT_TRUE(
      MakeFakeLiteral(ShapeUtil::MakeShape(F32, {3}), false)->IsAllFirst());
}

}  // namespace
}  // namespace xla
