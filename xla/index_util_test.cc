#include "xla/index_util.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/layout.h"
#include "xla/shape.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

Shape MakeShape(absl::Span<const int64_t> sizes,
                absl::Span<const int64_t> minor_to_major) {
  Shape shape(F32, sizes);
  *shape.mutable_layout() = Layout(minor_to_major);
  return shape;
}

TEST(IndexUtilTest, PositionsFollowTheLayout) {
  const Shape row_major = MakeShape({2, 3}, {1, 0});
  EXPECT_EQ(IndexUtil::MultidimensionalIndexToLinearIndex(row_major, {1, 2}),
            5);
  EXPECT_EQ(IndexUtil::GetDimensionStride(row_major, 0), 3);
  const Shape column_major = MakeShape({2, 3}, {0, 1});
  EXPECT_EQ(IndexUtil::MultidimensionalIndexToLinearIndex(column_major, {1, 1}),
            3);
  EXPECT_EQ(IndexUtil::GetDimensionStride(column_major, 1), 2);
  EXPECT_EQ(IndexUtil::MultidimensionalIndexToLinearIndex(column_major, {1, 0},
                                                          {1, 1}),
            4);
}

TEST(IndexUtilTest, EveryPositionLeadsBack) {
  const Shape shape = MakeShape({2, 3, 4}, {1, 2, 0});
  for (int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ(
        IndexUtil::MultidimensionalIndexToLinearIndex(
            shape, IndexUtil::LinearIndexToMultidimensionalIndex(shape, i)),
        i);
  }
}

TEST(IndexUtilTest, BumpCountsTheLastDimensionFastest) {
  const Shape shape = MakeShape({2, 2}, {0, 1});
  std::vector<int64_t> index = {0, 0};
  EXPECT_TRUE(IndexUtil::BumpIndices(shape, absl::MakeSpan(index)));
  EXPECT_THAT(index, ElementsAre(0, 1));
  EXPECT_TRUE(IndexUtil::BumpIndices(shape, absl::MakeSpan(index)));
  EXPECT_TRUE(IndexUtil::BumpIndices(shape, absl::MakeSpan(index)));
  EXPECT_FALSE(IndexUtil::BumpIndices(shape, absl::MakeSpan(index)));
  EXPECT_THAT(index, ElementsAre(0, 0));
}

TEST(IndexUtilTest, BoundsAndOrder) {
  const Shape shape = MakeShape({2, 3}, {1, 0});
  EXPECT_TRUE(IndexUtil::IndexInBounds(shape, {1, 2}));
  EXPECT_FALSE(IndexUtil::IndexInBounds(shape, {2, 0}));
  EXPECT_FALSE(IndexUtil::IndexInBounds(shape, {0, -1}));
  EXPECT_FALSE(IndexUtil::IndexInBounds(shape, {0}));
  EXPECT_EQ(IndexUtil::CompareIndices({1, 2}, {1, 3}), -1);
  EXPECT_EQ(IndexUtil::CompareIndices({1, 2}, {1, 2}), 0);
  EXPECT_EQ(IndexUtil::CompareIndices({2, 0}, {1, 9}), 1);
}

}  // namespace
}  // namespace xla
