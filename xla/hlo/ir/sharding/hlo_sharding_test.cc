// Kinds, canonical forms, text, proto and comparison of HloSharding.
#include "xla/hlo/ir/hlo_sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OpMetadata Metadata(const std::string& name) {
  OpMetadata metadata;
  metadata.set_op_name(name);
  return metadata;
}

std::vector<HloSharding> OneOfEachKind() {
  return {HloSharding::Replicate(),
          HloSharding::SingleDevice(0),
          HloSharding::SingleDevice(3),
          HloSharding::Manual(),
          HloSharding::Unknown(),
          HloSharding::Unreduced(),
          HloSharding::Tile(Array<int64_t>({{2, 3}, {5, 7}})),
          HloSharding::IotaTile({2, 2}),
          HloSharding::IotaTile({4, 4, 1}, {4, 2, 2}, {1, 0, 2}),
          HloSharding::PartialTile(TileAssignment({2, 1, 2})),
          HloSharding::PartialTile(Array<int64_t>({{0, 3}, {1, 2}})),
          HloSharding::Subgroup(TileAssignment({2, 2, 2, 2}),
                                {OpSharding::MANUAL, OpSharding::REPLICATED,
                                 OpSharding::UNREDUCED}),
          HloSharding::FlatTuple(
              {HloSharding::Replicate(), HloSharding::IotaTile({2})})};
}

TEST(HloShardingTest, TextOfEachKind) {
  std::vector<std::string> text;
  for (const HloSharding& sharding : OneOfEachKind()) {
    text.push_back(sharding.ToString());
  }
  EXPECT_THAT(
      text,
      ElementsAre("{replicated}", "{maximal device=0}", "{maximal device=3}",
                  "{manual}", "{unknown}", "{unreduced}",
                  "{devices=[2,2]2,3,5,7}", "{devices=[2,2]<=[4]}",
                  "{devices=[4,4,1]<=[4,2,2]T(1,0,2)}",
                  "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
                  "{devices=[2,2]0,3,1,2 last_tile_dim_replicate}",
                  "{devices=[2,2,2,2]<=[4,2,2]T(0,2,1) last_tile_dims={manual, "
                  "unreduced, replicated}}",
                  "{{replicated}, {devices=[2]<=[2]}}"));
}

TEST(HloShardingTest, LongTuplesCountTheirElementsInComments) {
  EXPECT_EQ(
      HloSharding::FlatTuple(std::vector<HloSharding>(7, HloSharding::Manual()))
          .ToString(),
      "{{manual}, {manual}, {manual}, {manual}, {manual}, "
      "/*index=5*/{manual}, {manual}}");
}

TEST(HloShardingTest, MetadataAndShardGroupsInText) {
  EXPECT_EQ(HloSharding::Replicate({Metadata("a")}).ToString(), "{replicated}");
  EXPECT_EQ(HloSharding::Replicate({Metadata("a")}).ToString(true),
            "{replicated metadata={op_name=\"a\"}}");
  EXPECT_EQ(
      HloSharding::IotaTile({2}, {Metadata("a"), Metadata("b")}).ToString(true),
      "{devices=[2]<=[2] metadata={{op_name=\"a\"}, {op_name=\"b\"}}}");
  HloSharding sharding = HloSharding::Unknown();
  sharding.SetShardGroup(HloSharding::ShardAs(5));
  EXPECT_TRUE(sharding.IsShardAs());
  EXPECT_EQ(sharding.ToString(), "{unknown shard_as 5}");
  sharding.SetShardGroup(HloSharding::ShardLike(6));
  EXPECT_TRUE(sharding.IsShardLike());
  EXPECT_EQ(sharding.ToString(), "{unknown shard_like 6}");
  EXPECT_FALSE(sharding.ClearShardGroup().IsShardGroup());
  EXPECT_EQ(sharding, HloSharding::Unknown());
}

TEST(HloShardingTest, ReductionOperatorTravelsWithUnreduced) {
  HloSharding sharding = HloSharding::Unreduced();
  sharding.set_reduction_op(ReductionOp::kMax);
  EXPECT_NE(sharding, HloSharding::Unreduced());
  EXPECT_EQ(sharding.ToString(),
            "{unreduced metadata={op_type=\"reduction_op\" op_name=\"max\"}}");
  const HloSharding copy = *HloSharding::FromProto(sharding.ToProto());
  EXPECT_EQ(copy.reduction_op(), ReductionOp::kMax);
  EXPECT_TRUE(copy.metadata().empty());
  EXPECT_EQ(copy, sharding);
}

TEST(HloShardingTest, RoundTripsThroughProto) {
  for (const HloSharding& sharding : OneOfEachKind()) {
    const auto copy = HloSharding::FromProto(sharding.ToProto());
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ(*copy, sharding) << sharding;
    EXPECT_EQ(copy->ToString(), sharding.ToString());
    EXPECT_EQ(absl::HashOf(*copy), absl::HashOf(sharding));
  }
  HloSharding grouped = HloSharding::IotaTile({2}, {Metadata("a")});
  grouped.SetShardGroup(HloSharding::ShardLike(1));
  EXPECT_EQ(HloSharding::FromProto(grouped.ToProto())->ToString(true),
            grouped.ToString(true));
}

TEST(HloShardingTest, AllKindsAreDifferent) {
  const std::vector<HloSharding> kinds = OneOfEachKind();
  for (size_t i = 0; i < kinds.size(); ++i) {
    for (size_t j = 0; j < kinds.size(); ++j) {
      EXPECT_EQ(kinds[i] == kinds[j], i == j) << kinds[i] << kinds[j];
    }
  }
}

TEST(HloShardingTest, MetadataIsNotCompared) {
  EXPECT_EQ(HloSharding::Replicate({Metadata("a")}), HloSharding::Replicate());
  EXPECT_EQ(absl::HashOf(HloSharding::Replicate({Metadata("a")})),
            absl::HashOf(HloSharding::Replicate()));
}

TEST(HloShardingTest, ListedIotaEqualsRule) {
  const HloSharding listed =
      HloSharding::Tile(Array<int64_t>({{0, 2}, {1, 3}}));
  const HloSharding rule = HloSharding::IotaTile({2, 2}, {2, 2}, {1, 0});
  EXPECT_EQ(listed, rule);
  EXPECT_EQ(absl::HashOf(listed), absl::HashOf(rule));
  EXPECT_EQ(listed.ToString(), "{devices=[2,2]0,2,1,3}");
}

TEST(HloShardingTest, PartialTileCanonicalForms) {
  EXPECT_EQ(HloSharding::PartialTile(TileAssignment({2, 2, 1})),
            HloSharding::IotaTile({2, 2}));
  EXPECT_EQ(HloSharding::PartialTile(TileAssignment({1, 1, 4})),
            HloSharding::Replicate());
  // Members of a group are sorted, listed or not.
  EXPECT_EQ(HloSharding::PartialTile(Array<int64_t>({{3, 0}, {2, 1}})),
            HloSharding::PartialTile(Array<int64_t>({{0, 3}, {1, 2}})));
  const HloSharding sorted =
      HloSharding::PartialTile(TileAssignment({2, 4}, {2, 2, 2}, {0, 2, 1}));
  EXPECT_EQ(sorted.ToString(), "{devices=[2,4]<=[8] last_tile_dim_replicate}");
  // The group takes half of a dimension of the rule.
  EXPECT_EQ(HloSharding::PartialTile(TileAssignment({2, 4}, {2, 4}, {1, 0}))
                .ToString(),
            "{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}");
}

TEST(HloShardingTest, SubgroupCanonicalForms) {
  EXPECT_EQ(
      HloSharding::Subgroup(TileAssignment({2, 2, 2}),
                            {OpSharding::REPLICATED, OpSharding::REPLICATED}),
      HloSharding::PartialTile(TileAssignment({2, 4})));
  EXPECT_EQ(HloSharding::Subgroup(TileAssignment({2, 2}), {}),
            HloSharding::IotaTile({2, 2}));
  EXPECT_EQ(HloSharding::Subgroup(TileAssignment({1, 1, 4, 1}),
                                  {OpSharding::MANUAL, OpSharding::REPLICATED}),
            HloSharding::Manual());
  const HloSharding merged = HloSharding::Subgroup(
      TileAssignment({2, 2, 2, 2}),
      {OpSharding::REPLICATED, OpSharding::MANUAL, OpSharding::REPLICATED});
  EXPECT_EQ(merged.ToString(),
            "{devices=[2,2,4]<=[2,2,2,2]T(0,2,1,3) "
            "last_tile_dims={manual, replicated}}");
  EXPECT_EQ(merged.SubgroupManualDim(), 1);
  EXPECT_EQ(merged.SubgroupReplicationDim(), 2);
  EXPECT_EQ(merged.SubgroupUnreducedDim(), -1);
  EXPECT_EQ(merged.TiledDataRank(), 1);
  EXPECT_TRUE(merged.IsManualSubgroup());
  EXPECT_TRUE(merged.HasNonReplicatedSubgroup());
  EXPECT_TRUE(merged.HasPartialReplication());
}

TEST(HloShardingTest, SubgroupsOfOneDeviceAreNone) {
  const auto text = [](absl::Span<const int64_t> dims,
                       const std::vector<OpSharding::Type>& types) {
    return HloSharding::Subgroup(TileAssignment(dims), types).ToString();
  };
  EXPECT_EQ(text({2, 1}, {OpSharding::MANUAL}), "{devices=[2]<=[2]}");
  EXPECT_EQ(text({2, 1, 3}, {OpSharding::REPLICATED, OpSharding::UNREDUCED}),
            "{devices=[2,3]<=[6] last_tile_dims={unreduced}}");
  EXPECT_EQ(text({2, 1, 4}, {OpSharding::REPLICATED, OpSharding::MANUAL}),
            "{devices=[2,4]<=[8] last_tile_dims={manual}}");
  EXPECT_EQ(text({2, 1, 2}, {OpSharding::MANUAL, OpSharding::REPLICATED}),
            "{devices=[2,2]<=[4] last_tile_dim_replicate}");
  EXPECT_EQ(text({1, 6, 1}, {OpSharding::REPLICATED, OpSharding::MANUAL}),
            "{replicated}");
  EXPECT_EQ(text({1, 1, 6}, {OpSharding::UNREDUCED, OpSharding::MANUAL}),
            "{manual}");
}

TEST(HloShardingTest, ReplicatedSubgroupIsTheLast) {
  EXPECT_EQ(HloSharding::Subgroup(TileAssignment({1, 2, 3, 5}),
                                  {OpSharding::REPLICATED,
                                   OpSharding::UNREDUCED, OpSharding::MANUAL})
                .ToString(),
            "{devices=[1,5,3,2]<=[2,3,5]T(2,1,0) "
            "last_tile_dims={manual, unreduced, replicated}}");
}

TEST(HloShardingTest, ReplicatedSubgroupBeforeUnreducedIsSorted) {
  const std::vector<OpSharding::Type> types = {OpSharding::REPLICATED,
                                               OpSharding::UNREDUCED};
  // Group members (dim 1) come as {2,0} and {3,1}.
  Array<int64_t> array({{{2, 3}, {0, 1}}, {{4, 5}, {6, 7}}});
  const HloSharding sharding = HloSharding::Subgroup(array, types);
  EXPECT_EQ(sharding.tile_assignment(),
            TileAssignment({2, 2, 2}, {2, 2, 2}, {0, 2, 1}));
  EXPECT_TRUE(sharding.IsUnreducedSubgroup());
}

TEST(HloShardingTest, FromProtoReportsBadInput) {
  const auto error = [](const OpSharding& proto) {
    const auto sharding = HloSharding::FromProto(proto);
    EXPECT_EQ(sharding.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(sharding.status().message());
  };
  OpSharding tile;
  tile.set_type(OpSharding::OTHER);
  EXPECT_THAT(error(tile), HasSubstr("number of devices"));
  tile.add_tile_assignment_dimensions(2);
  EXPECT_THAT(error(tile), HasSubstr("number of devices"));
  tile.add_tile_assignment_devices(1);
  tile.add_tile_assignment_devices(1);
  EXPECT_THAT(error(tile), HasSubstr("appears twice"));
  tile.set_tile_assignment_devices(0, -1);
  EXPECT_THAT(error(tile), HasSubstr("negative"));
  tile.set_tile_assignment_devices(0, 0);
  EXPECT_TRUE(HloSharding::FromProto(tile).ok());
  tile.set_is_shard_group(true);
  tile.set_shard_group_id(-1);
  EXPECT_THAT(error(tile), HasSubstr("a negative shard group"));
  tile.clear_is_shard_group();
  tile.add_last_tile_dims(OpSharding::MAXIMAL);
  EXPECT_THAT(error(tile), HasSubstr("manual, replicated or unreduced"));
  tile.add_last_tile_dims(OpSharding::MANUAL);
  EXPECT_THAT(error(tile), HasSubstr("fewer dimensions"));
  tile.clear_last_tile_dims();
  tile.add_iota_reshape_dims(2);
  EXPECT_THAT(error(tile), HasSubstr("given twice"));

  OpSharding iota;
  iota.set_type(OpSharding::OTHER);
  iota.add_tile_assignment_dimensions(int64_t{1} << 33);
  iota.add_tile_assignment_dimensions(int64_t{1} << 33);
  iota.add_iota_reshape_dims(4);
  iota.add_iota_transpose_perm(0);
  EXPECT_THAT(error(iota), HasSubstr("at most"));

  OpSharding maximal;
  maximal.set_type(OpSharding::MAXIMAL);
  EXPECT_THAT(error(maximal), HasSubstr("one device"));
  OpSharding tuple;
  tuple.set_type(OpSharding::TUPLE);
  EXPECT_THAT(error(tuple), HasSubstr("without elements"));
  OpSharding nested = tuple;
  *tuple.add_tuple_shardings() = nested;
  EXPECT_THAT(error(tuple), HasSubstr("within a tuple"));
  OpSharding unknown;
  unknown.set_type(static_cast<OpSharding::Type>(99));
  EXPECT_THAT(error(unknown), HasSubstr("unknown type"));
}

TEST(HloShardingTest, OneDeviceTilingIsReplicated) {
  OpSharding proto;
  proto.set_type(OpSharding::OTHER);
  proto.add_tile_assignment_dimensions(1);
  proto.add_tile_assignment_dimensions(1);
  proto.add_tile_assignment_devices(0);
  EXPECT_EQ(*HloSharding::FromProto(proto), HloSharding::Replicate());
}

TEST(HloShardingTest, WithAndWithoutMetadata) {
  const HloSharding tuple = HloSharding::FlatTuple(
      {HloSharding::Replicate({Metadata("a")}), HloSharding::Manual()});
  EXPECT_EQ(
      tuple.WithMetadata({Metadata("b")}, /*overwrite=*/false).ToString(true),
      "{{replicated metadata={op_name=\"a\"}}, "
      "{manual metadata={op_name=\"b\"}}}");
  EXPECT_EQ(
      tuple.WithMetadata({Metadata("b")}, /*overwrite=*/true).ToString(true),
      "{{replicated metadata={op_name=\"b\"}}, "
      "{manual metadata={op_name=\"b\"}}}");
  EXPECT_EQ(tuple.WithoutMetadata().ToString(true), "{{replicated}, {manual}}");
}

}  // namespace
}  // namespace xla
