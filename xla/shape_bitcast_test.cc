#include "xla/shape_bitcast.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Shape Make(std::vector<int64_t> dims, std::vector<int64_t> order) {
  return ShapeUtil::MakeShapeWithDenseLayout(F32, dims, order);
}

Shape Make(std::vector<int64_t> dims) {
  return ShapeUtil::MakeShape(F32, dims);
}

// Positions in memory of all elements, in row-major order of their indices.
std::vector<int64_t> Positions(const Shape& shape) {
  std::vector<int64_t> positions;
  ShapeUtil::ForEachIndexNoStatus(
      LayoutUtil::GetWithDefaultLayout(shape),
      [&](absl::Span<const int64_t> index) {
        positions.push_back(LayoutUtil::LinearIndex(shape, index));
        return true;
      });
  return positions;
}

TEST(ShapeBitcastTest, ReshapesAgreeWithTheirDefinition) {
  const std::vector<std::vector<int64_t>> sizes = {
      {24},      {4, 6},     {6, 4},    {2, 12},    {1, 24},      {2, 3, 4},
      {4, 3, 2}, {2, 1, 12}, {2, 2, 6}, {24, 1, 1}, {2, 2, 2, 3}, {1, 4, 1, 6}};
  std::vector<Shape> shapes;
  for (const std::vector<int64_t>& dims : sizes) {
    std::vector<int64_t> order(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) order[i] = i;
    do {
      shapes.push_back(Make(dims, order));
    } while (std::next_permutation(order.begin(), order.end()));
  }
  int bitcasts = 0;
  for (const Shape& a : shapes) {
    const std::vector<int64_t> positions = Positions(a);
    for (const Shape& b : shapes) {
      const bool expected = positions == Positions(b);
      EXPECT_EQ(ShapeUtil::ReshapeIsBitcast(a, b), expected) << a << " " << b;
      bitcasts += expected;
      std::optional<Shape> aligned = ShapeUtil::AlignLayouts(a, b);
      if (aligned.has_value()) {
        EXPECT_EQ(Positions(*aligned), positions) << a << " " << *aligned;
      } else {
        EXPECT_FALSE(expected) << a << " " << b;
      }
    }
  }
  EXPECT_GT(bitcasts, shapes.size());
}

TEST(ShapeBitcastTest, TypesAndDeviceLayoutsMatter) {
  Shape f32 = Make({4, 6});
  Shape s32 = ShapeUtil::MakeShape(S32, {24});
  EXPECT_FALSE(ShapeUtil::ReshapeIsBitcast(f32, s32));
  EXPECT_TRUE(
      ShapeUtil::ReshapeIsBitcast(f32, s32, /*ignore_element_type=*/true));
  Shape packed = Make({24});
  packed.mutable_layout()->set_element_size_in_bits(4);
  EXPECT_FALSE(ShapeUtil::ReshapeIsBitcast(f32, packed));
  EXPECT_TRUE(ShapeUtil::ReshapeIsBitcast(Make({0, 3}), Make({5, 0})));
}

TEST(ShapeBitcastTest, TiledReshapesKeepTheirTiles) {
  std::vector<Tile> tiles = {Tile({8, 128})};
  auto tiled = [&](std::vector<int64_t> dims) {
    return ShapeUtil::MakeShapeWithDenseLayout(
        F32, dims,
        LayoutUtil::MakeDescendingLayout(dims.size()).minor_to_major(), tiles);
  };
  EXPECT_TRUE(
      ShapeUtil::ReshapeIsBitcast(tiled({16, 256}), tiled({1, 16, 256})));
  EXPECT_FALSE(
      ShapeUtil::ReshapeIsBitcast(tiled({16, 256}), tiled({16, 1, 256})));
  EXPECT_FALSE(ShapeUtil::ReshapeIsBitcast(tiled({16, 256}), tiled({4096})));
  EXPECT_FALSE(ShapeUtil::ReshapeIsBitcast(tiled({16, 256}), Make({16, 256})));
}

TEST(ShapeBitcastTest, TransposesThatFollowTheLayout) {
  Shape a = Make({10, 20, 30}, {0, 1, 2});
  Shape b = Make({30, 10, 20}, {1, 2, 0});
  EXPECT_TRUE(ShapeUtil::TransposeIsBitcast(a, b, {2, 0, 1}));
  EXPECT_FALSE(ShapeUtil::TransposeIsBitcast(a, Make({30, 10, 20}), {2, 0, 1}));
  EXPECT_THAT(*ShapeUtil::DeduceTransposeDimensionsForBitcast(a, b),
              ElementsAre(2, 0, 1));
  EXPECT_FALSE(ShapeUtil::DeduceTransposeDimensionsForBitcast(
                   a, Make({20, 10, 30}, {0, 1, 2}))
                   .has_value());
  EXPECT_TRUE(ShapeUtil::IsReshapeOrTransposeBitcast(a, b));
  EXPECT_FALSE(ShapeUtil::IsReshapeOrTransposeBitcast(a, Make({6000})));
}

TEST(ShapeBitcastTest, BitcastsDecompose) {
  EXPECT_TRUE(std::holds_alternative<ShapeUtil::BitcastDecompositionReshape>(
      *ShapeUtil::DecomposeBitcast(Make({4, 6}), Make({24}))));
  auto transpose =
      *ShapeUtil::DecomposeBitcast(Make({4, 6}), Make({6, 4}, {0, 1}));
  EXPECT_THAT(std::get<ShapeUtil::BitcastDecompositionTranspose>(transpose)
                  .transpose_dims,
              ElementsAre(1, 0));
  Shape input = Make({4, 6}, {0, 1});
  Shape output = Make({2, 12}, {0, 1});
  auto trt = std::get<ShapeUtil::BitcastDecompositionTrt>(
      *ShapeUtil::DecomposeBitcast(input, output));
  EXPECT_THAT(trt.transpose1_dims, ElementsAre(1, 0));
  EXPECT_EQ(trt.transpose1_shape, Make({6, 4}));
  EXPECT_EQ(trt.reshape_shape, Make({12, 2}));
  EXPECT_THAT(trt.transpose2_dims, ElementsAre(1, 0));
  EXPECT_FALSE(trt.IsTranspose1Identity() || trt.IsTranspose2Identity());
  EXPECT_TRUE(ShapeUtil::TransposeIsBitcast(input, trt.transpose1_shape,
                                            trt.transpose1_dims));
  EXPECT_TRUE(
      ShapeUtil::ReshapeIsBitcast(trt.transpose1_shape, trt.reshape_shape));
  EXPECT_TRUE(ShapeUtil::TransposeIsBitcast(trt.reshape_shape, output,
                                            trt.transpose2_dims));
  EXPECT_FALSE(
      ShapeUtil::DecomposeBitcastToTrt(Make({4}), Make({5})).has_value());
  EXPECT_FALSE(ShapeUtil::DecomposeBitcast(Make({4}), Make({5})).has_value());
}

TEST(ShapeBitcastTest, DimensionsOfSizeOneComeAndGo) {
  auto change = ShapeUtil::InsertedOrDeleted1SizedDimensions(Make({1, 9, 1}),
                                                             Make({9, 1, 1}));
  ASSERT_TRUE(change.has_value());
  EXPECT_THAT(change->deleted_dimensions, ElementsAre(0));
  EXPECT_THAT(change->inserted_dimensions, ElementsAre(2));
  EXPECT_FALSE(
      ShapeUtil::InsertedOrDeleted1SizedDimensions(Make({2, 4}), Make({8}))
          .has_value());
}

TEST(ShapeBitcastTest, ReshapesKeepSomeDimensions) {
  Shape from = Make({4, 6, 5, 7});
  Shape to = Make({2, 2, 6, 35});
  EXPECT_THAT(ShapeUtil::DimensionsUnmodifiedByReshape(from, to),
              ElementsAre(Pair(1, 2)));
  EXPECT_THAT(*ShapeUtil::ReshapeLeavesDimensionsUnmodified(from, to, {1}),
              ElementsAre(2));
  EXPECT_THAT(*ShapeUtil::ReshapeLeavesDimensionsUnmodified(from, to, {}),
              IsEmpty());
  EXPECT_FALSE(ShapeUtil::ReshapeLeavesDimensionsUnmodified(from, to, {1, 2})
                   .has_value());
}

TEST(ShapeBitcastTest, TransposesAreNormalized) {
  absl::InlinedVector<int64_t, 3> permutation;
  EXPECT_THAT(
      *ShapeUtil::GetNormalizedLogicalTransposeShape(
          Make({2, 3, 4, 5}), Make({4, 5, 2, 3}), {2, 3, 0, 1}, permutation),
      ElementsAre(20, 6));
  EXPECT_THAT(permutation, ElementsAre(1, 0));
  EXPECT_THAT(
      *ShapeUtil::GetNormalizedLogicalTransposeShape(
          Make({2, 1, 4, 5}), Make({5, 1, 2, 4}), {3, 1, 0, 2}, permutation),
      ElementsAre(5, 8));
  EXPECT_THAT(permutation, ElementsAre(1, 0));
  EXPECT_FALSE(ShapeUtil::GetNormalizedLogicalTransposeShape(
                   Make({2, 3}, {0, 1}), Make({3, 2}), {1, 0}, permutation)
                   .ok());
  EXPECT_FALSE(ShapeUtil::GetNormalizedLogicalTransposeShape(
                   Make({2, 3}), Make({3, 2}), {1, 7}, permutation)
                   .ok());
}

TEST(ShapeBitcastTest, ByteStrides) {
  EXPECT_THAT(*ShapeUtil::ByteStrides(Make({2, 3, 4}, {1, 2, 0})),
              ElementsAre(48, 4, 12));
  EXPECT_FALSE(ShapeUtil::ByteStrides(ShapeUtil::MakeTokenShape()).has_value());
  Shape packed = ShapeUtil::MakeShape(S4, {2, 3});
  EXPECT_THAT(*ShapeUtil::UnpackedByteStrides(packed), ElementsAre(3, 1));
  packed.mutable_layout()->set_element_size_in_bits(4);
  EXPECT_FALSE(ShapeUtil::ByteStrides(packed).has_value());
}

}  // namespace
}  // namespace xla
