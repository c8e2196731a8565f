#include "xla/hlo/transforms/spmd/scattered_sum.h"

#include <cstdint>
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
using ::testing::UnorderedElementsAre;

HloSharding Sharding(const char* text) { return *ParseSharding(text); }

FactorTensor Result(const char* shape, const char* sharding) {
  FactorTensor result{*ParseShape(shape), Sharding(sharding)};
  for (int64_t d = 0; d < result.shape.dimensions().size(); ++d) {
    result.factors.push_back(d);
  }
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

TEST(BytesOfResultTest, OneReduceScatterAlongThreeDimensionsAtMost) {
  EXPECT_DOUBLE_EQ(
      BytesOfResult(Sharding("{devices=[1,1,1,8]<=[8]}"),
                    Result("f32[4,4,4]", "{devices=[2,2,2]<=[8]}"), {3}),
      7 * 32);
  EXPECT_DOUBLE_EQ(
      BytesOfResult(Sharding("{devices=[1,1,1,1,16]<=[16]}"),
                    Result("f32[2,2,2,2]", "{devices=[2,2,2,2]<=[16]}"), {4}),
      2 * 15 * 4);
}

TEST(BytesOfResultTest, TilesOfOtherDevicesArePermuted) {
  const HloSharding addends = Sharding("{devices=[2,1,2]<=[4]}");
  EXPECT_DOUBLE_EQ(
      BytesOfResult(addends, Result("f32[4,4]", "{devices=[4,1]0,2,1,3}"), {2}),
      16 + 16);
  // Also where devices that sum have tiles of one another's rows.
  EXPECT_DOUBLE_EQ(
      BytesOfResult(addends, Result("f32[4,4]", "{devices=[4,1]2,3,0,1}"), {2}),
      16 + 16);
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

TEST(ScatterSumTest, CopiesOfAddends) {
  // Devices that have the first or the last of four addends get one tile. In
  // their order copies of addends are major, or minor.
  const FactorTensor major = Result(
      "f32[4,4]", "{devices=[2,1,4]0,3,4,7,1,2,5,6 last_tile_dim_replicate}");
  const std::optional<ScatteredSum> major_sum = ScatterSum(
      Sharding("{devices=[1,1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
      major, {2});
  ASSERT_TRUE(major_sum.has_value());
  EXPECT_EQ(major_sum->scattered_to, major.sharding);
  EXPECT_THAT(
      GetPartitionGroupsForReplication(major_sum->split, major_sum->scattered)
          ->flattened_replica_groups(),
      UnorderedElementsAre(ElementsAre(0, 1), ElementsAre(3, 2),
                           ElementsAre(4, 5), ElementsAre(7, 6)));
  const FactorTensor minor = Result(
      "f32[4,4]", "{devices=[2,1,4]0,1,6,7,2,3,4,5 last_tile_dim_replicate}");
  const std::optional<ScatteredSum> minor_sum = ScatterSum(
      Sharding("{devices=[1,1,4,2]<=[8] last_tile_dim_replicate}"), minor, {2});
  ASSERT_TRUE(minor_sum.has_value());
  EXPECT_EQ(minor_sum->scattered_to, minor.sharding);
  EXPECT_THAT(
      GetPartitionGroupsForReplication(minor_sum->split, minor_sum->scattered)
          ->flattened_replica_groups(),
      UnorderedElementsAre(ElementsAre(0, 2), ElementsAre(6, 4),
                           ElementsAre(1, 3), ElementsAre(7, 5)));
}

TEST(ScatterSumTest, TilesOfSubgroups) {
  // Tiles of every other device, then sums of those between them.
  const HloSharding addends =
      Sharding("{devices=[1,1,4,2]<=[8] last_tile_dims={manual}}");
  EXPECT_TRUE(ScatterSum(addends,
                         Result("f32[4,4]",
                                "{devices=[2,1,2,2]<=[2,2,2]T(1,0,2) "
                                "last_tile_dims={replicated, manual}}"),
                         {2})
                  .has_value());
  // Tiles of both dimensions, the second one's major.
  const FactorTensor result = Result(
      "f32[4,4]", "{devices=[2,2,2]<=[2,2,2]T(1,0,2) last_tile_dims={manual}}");
  const std::optional<ScatteredSum> sum = ScatterSum(addends, result, {2});
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->scattered_to, result.sharding);
  // Other orders are not looked for.
  EXPECT_FALSE(
      ScatterSum(Sharding("{devices=[1,1,2,2]<=[4] last_tile_dims={manual}}"),
                 Result("f32[4,4]",
                        "{devices=[2,1,2]2,3,0,1 last_tile_dims={manual}}"),
                 {2})
          .has_value());
}

TEST(ScatterSumTest, NotAmongDevicesOfOtherAddends) {
  // Each device has a tile of the sum that the two devices with its own addend
  // would make.
  const FactorTensor result =
      Result("f32[4,4]", "{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}");
  EXPECT_FALSE(
      ScatterSum(Sharding("{devices=[1,1,2,2]<=[4] last_tile_dim_replicate}"),
                 result, {2})
          .has_value());
  // Nor where another factor is cut that the result does not have.
  EXPECT_FALSE(ScatterSum(Sharding("{devices=[1,1,2,2]<=[4]}"), result, {2})
                   .has_value());
}

TEST(ScatterSumTest, NotOfUnevenTiles) {
  // Halves of three rows are not quarters of six.
  EXPECT_FALSE(ScatterSum(Sharding("{devices=[2,1,2]<=[4]}"),
                          Result("f32[6,4]", "{devices=[4,1]<=[4]}"), {2})
                   .has_value());
}

TEST(ScatterSumTest, NotWhereAnAllReduceTakesNoMore) {
  // 48 bytes of padded rows and their sum, and tiles would have to change
  // devices.
  const HloSharding addends = Sharding("{devices=[1,2,4]<=[8]}");
  const char* const elsewhere =
      "{devices=[2,2,2]4,5,0,1,6,7,2,3 last_tile_dim_replicate}";
  EXPECT_TRUE(
      ScatterSum(addends, Result("f32[4,4]", elsewhere), {2}).has_value());
  EXPECT_FALSE(
      ScatterSum(addends, Result("f32[3,4]", elsewhere), {2}).has_value());
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
  const HloSharding quarters = Sharding("{devices=[1,1,4]<=[4]}");
  EXPECT_TRUE(ScatterSum(quarters, padded, {2}).has_value());
  padded.readers = {HloSharding::Replicate()};
  EXPECT_FALSE(ScatterSum(quarters, padded, {2}).has_value());
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
