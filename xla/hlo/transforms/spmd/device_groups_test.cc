#include "xla/hlo/transforms/spmd/device_groups.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::spmd {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Groups = std::vector<std::vector<int64_t>>;

HloSharding Sharding(absl::string_view text) { return *ParseSharding(text); }

TEST(DeviceGroupsTest, DevicesThatDifferAlongDimensions) {
  const HloSharding sharding = Sharding("{devices=[4,2]<=[8]}");
  EXPECT_EQ(GetPartitionGroupsForReplication(sharding, {0})
                ->flattened_replica_groups(),
            (Groups{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(GetPartitionGroupsForReplication(sharding, {1, 0})
                ->flattened_replica_groups(),
            (Groups{{0, 2, 4, 6, 1, 3, 5, 7}}));
}

TEST(DeviceGroupsTest, PartsOfDimensions) {
  const auto groups = GetPartitionGroupsAcrossTargetDims(
      Sharding("{devices=[4,2]<=[8]}"), {0}, {2});
  EXPECT_EQ(groups->flattened_replica_groups(),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groups->version(), CollectiveDeviceListVersion::kIota);
  EXPECT_EQ(GetPartitionGroupsAcrossTargetDims(
                Sharding("{devices=[4,2]3,1,0,2,7,5,6,4}"), {0, 1}, {2, 2})
                ->flattened_replica_groups(),
            (Groups{{3, 1, 0, 2}, {7, 5, 6, 4}}));
}

TEST(DeviceGroupsTest, SameDevicesInAnyOrder) {
  auto groups = [](absl::string_view sharding, int64_t dim) {
    return GetPartitionGroupsForReplication(Sharding(sharding), {dim});
  };
  const auto rows = groups("{devices=[2,2]<=[4]}", 1);
  EXPECT_TRUE(SameGroups(*rows, *groups("{devices=[2,2]0,1,2,3}", 1)));
  EXPECT_TRUE(SameGroups(*rows, *groups("{devices=[2,2]3,2,0,1}", 1)));
  EXPECT_FALSE(SameGroups(*rows, *groups("{devices=[2,2]<=[4]}", 0)));
  EXPECT_FALSE(SameGroups(*rows, *groups("{devices=[1,4]<=[4]}", 1)));
}

TEST(DeviceGroupsTest, OncePerReplica) {
  const IotaReplicaGroupList groups(2, 2, {2, 2}, {1, 0});
  EXPECT_EQ(groups.flattened_replica_groups(), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(ExpandPartitionGroupListAcrossReplicas(groups, 2, 4)
                .flattened_replica_groups(),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(ExpandPartitionGroupListAcrossReplicas(groups, 1, 4), groups);
}

TEST(DeviceGroupsTest, OncePerReplicaOfMeshAxes) {
  const Mesh mesh({2, 2}, {"x", "y"});
  const MeshAxesReplicaGroupList groups(mesh, {AxisRef(0)});
  EXPECT_EQ(ExpandPartitionGroupListAcrossReplicas(groups, 2, 4)
                .flattened_replica_groups(),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
}

TEST(DeviceGroupsTest, OncePerReplicaOfMeshesWithoutOrder) {
  const HloSharding sharding = Sharding("{devices=[2,2]3,1,0,2}");
  const Mesh mesh(sharding.tile_assignment(), {"x", "y"});
  const MeshAxesReplicaGroupList groups(mesh, {AxisRef(0)});
  EXPECT_EQ(ExpandPartitionGroupListAcrossReplicas(groups, 2, 4)
                .flattened_replica_groups(),
            (Groups{{3, 0}, {1, 2}, {7, 4}, {5, 6}}));
}

TEST(DeviceGroupsTest, TilesThatCutThoseOfAPartialTiling) {
  const HloSharding partial =
      Sharding("{devices=[2,1,4]<=[8] last_tile_dim_replicate}");
  EXPECT_EQ(PartialReplicateReshardCompatibleSharding(
                partial, Sharding("{devices=[2,4]<=[4,2]T(1,0)}")),
            Sharding("{devices=[2,4]<=[8]}"));
  EXPECT_EQ(
      PartialReplicateReshardCompatibleSharding(
          partial, Sharding("{devices=[4,1,2]<=[8] last_tile_dim_replicate}")),
      Sharding("{devices=[4,1,2]<=[8] last_tile_dim_replicate}"));
  EXPECT_FALSE(PartialReplicateReshardCompatibleSharding(
                   partial, Sharding("{devices=[1,8]<=[8]}"))
                   .has_value());
}

TEST(DeviceGroupsTest, SameTilesOnOtherDevices) {
  const HloSharding a = Sharding("{devices=[2,2]<=[4]}");
  EXPECT_TRUE(CanReshardWithCollectivePermute(
      a, Sharding("{devices=[2,2]<=[2,2]T(1,0)}")));
  EXPECT_FALSE(CanReshardWithCollectivePermute(a, a));
  EXPECT_FALSE(
      CanReshardWithCollectivePermute(a, Sharding("{devices=[4,1]<=[4]}")));
}

TEST(DeviceGroupsTest, DimensionsThatExchangeTiles) {
  EXPECT_THAT(
      *GetReshardAllToAllSourceTargetDims(Sharding("{devices=[4,1,2]<=[8]}"),
                                          Sharding("{devices=[1,4,2]<=[8]}")),
      ElementsAre(Pair(0, 1)));
  EXPECT_FALSE(
      GetReshardAllToAllSourceTargetDims(Sharding("{devices=[4,2]<=[8]}"),
                                         Sharding("{devices=[8,1]<=[8]}"))
          .has_value());
}

}  // namespace
}  // namespace xla::spmd
