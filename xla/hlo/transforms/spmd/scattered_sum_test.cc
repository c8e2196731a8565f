#include "xla/hlo/transforms/spmd/scattered_sum.h"

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/spmd/device_groups.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"

namespace xla::spmd {
namespace {

using ::testing::ElementsAre;

HloSharding Sharding(const char* text) { return *ParseSharding(text); }

FactorTensor Result(const char* shape, const char* sharding) {
  FactorTensor result{*ParseShape(shape), Sharding(sharding), {0, 1}};
  result.is_result = true;
  return result;
}

TEST(BytesOfResultTest, OneReduceScatterAlongTwoDimensions) {
  const FactorTensor result = Result("f32[4,4]", "{devices=[2,2]<=[4]}");
  EXPECT_DOUBLE_EQ(
      BytesOfResult(Sharding("{devices=[1,1,4]<=[4]}"), result, {2}), 3 * 16);
  // Also of addends along two factors.
  EXPECT_DOUBLE_EQ(
      BytesOfResult(Sharding("{devices=[1,1,2,2]<=[4]}"), result, {2, 3}),
      3 * 16);
}

TEST(BytesOfResultTest, TilesOfOtherDevicesArePermuted) {
  const FactorTensor result = Result("f32[4,4]", "{devices=[4,1]0,2,1,3}");
  EXPECT_DOUBLE_EQ(
      BytesOfResult(Sharding("{devices=[2,1,2]<=[4]}"), result, {2}), 16 + 16);
}

TEST(BytesOfResultTest, ReadersGetTheirs) {
  FactorTensor result = Result("f32[4,4]", "{devices=[4,1]<=[4]}");
  const HloSharding addends = Sharding("{devices=[1,1,4]<=[4]}");
  result.readers = {Sharding("{devices=[1,4]<=[4]}")};
  EXPECT_DOUBLE_EQ(BytesOfResult(addends, result, {2}), 3 * 16 + 3 * 4);
  // The whole, and what is cut out of it.
  result.readers.push_back(HloSharding::Replicate());
  EXPECT_DOUBLE_EQ(BytesOfResult(addends, result, {2}), 3 * 16 + 3 * 16);
  // Whole where it is made.
  EXPECT_DOUBLE_EQ(
      BytesOfResult(Sharding("{devices=[1,4,1]<=[4]}"), result, {2}), 3 * 16);
}

TEST(ScatterSumTest, DevicesInTheOrderOfTheirTiles) {
  const FactorTensor result = Result("f32[4,4]", "{devices=[4,1]3,0,2,1}");
  const std::optional<ScatteredSum> sum =
      ScatterSum(Sharding("{devices=[1,1,4]<=[4]}"), result, {2});
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->scattered_to, result.sharding);
  EXPECT_THAT(GetPartitionGroupsForReplication(sum->split, sum->scattered)
                  ->flattened_replica_groups(),
              ElementsAre(ElementsAre(3, 0, 2, 1)));
}

TEST(ScatterSumTest, CopiesOfTilesAmongAddends) {
  // Tiles among devices that differ by two, then sums of neighbors.
  const FactorTensor result =
      Result("f32[4,4]", "{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}");
  const std::optional<ScatteredSum> sum =
      ScatterSum(Sharding("{devices=[1,1,4]0,1,3,2}"), result, {2});
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->scattered_to, result.sharding);
  EXPECT_EQ(sum->split.dimension(sum->rest), 2);
}

TEST(ScatterSumTest, NotWhereAnAllReduceTakesNoMore) {
  // Half of it would be padding, and tiles would have to change devices.
  EXPECT_FALSE(
      ScatterSum(Sharding("{devices=[2,1,8]<=[16]}"),
                 Result("f32[2,4]",
                        "{devices=[2,8]0,1,2,3,4,5,6,8,7,9,10,11,12,13,14,15}"),
                 {2})
          .has_value());
  // More than half of it would be.
  EXPECT_FALSE(ScatterSum(Sharding("{devices=[1,1,4]<=[4]}"),
                          Result("f32[1,4]", "{devices=[4,1]<=[4]}"), {2})
                   .has_value());
  FactorTensor padded = Result("f32[3,4]", "{devices=[4,1]<=[4]}");
  const HloSharding addends = Sharding("{devices=[1,1,4]<=[4]}");
  EXPECT_TRUE(ScatterSum(addends, padded, {2}).has_value());
  padded.readers = {HloSharding::Replicate()};
  EXPECT_FALSE(ScatterSum(addends, padded, {2}).has_value());
}

TEST(ScatterSumTest, FewerAddendsThanTiles) {
  const HloSharding addends =
      Sharding("{devices=[1,1,2,2]<=[4] last_tile_dim_replicate}");
  FactorTensor result = Result("f32[4,4]", "{devices=[4,1]<=[4]}");
  const std::optional<ScatteredSum> sum = ScatterSum(addends, result, {2});
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->scattered_to,
            Sharding("{devices=[2,1,2]<=[4] last_tile_dim_replicate}"));
  // Others are not cut out of what is scattered.
  EXPECT_FALSE(
      ScatterSum(addends, Result("f32[4,4]", "{devices=[4,1]0,2,1,3}"), {2})
          .has_value());
  // Addends that are wanted belong to the tiles that are.
  result.addends = Sharding("{devices=[4,1]<=[4]}");
  EXPECT_FALSE(ScatterSum(addends, result, {2}).has_value());
}

TEST(ScatterSumTest, AddendsThatAreWantedDoNotMove) {
  FactorTensor result = Result("f32[4,4]", "{devices=[4,1]0,2,1,3}");
  const HloSharding addends = Sharding("{devices=[2,1,2]<=[4]}");
  EXPECT_TRUE(ScatterSum(addends, result, {2}).has_value());
  result.addends = result.sharding;
  EXPECT_FALSE(ScatterSum(addends, result, {2}).has_value());
}

}  // namespace
}  // namespace xla::spmd
