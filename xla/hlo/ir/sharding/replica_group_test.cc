#include "xla/hlo/ir/replica_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Groups = std::vector<std::vector<int64_t>>;

AxisRef Axis(int64_t index) { return AxisRef(index); }
AxisRef Part(int64_t index, int64_t pre, int64_t size) {
  return AxisRef(index, AxisRef::SubAxis{pre, size});
}
CollectiveDeviceList V1(const Groups& groups) {
  return CollectiveDeviceList(absl::MakeConstSpan(groups));
}

TEST(ReplicaGroupTest, ListOfLists) {
  const CollectiveDeviceList list = V1({{0, 1}, {2, 3}});
  EXPECT_EQ(list.ToString(), "{{0,1},{2,3}}");
  EXPECT_EQ(list.version(), CollectiveDeviceListVersion::kListOfLists);
  EXPECT_EQ(list.num_replica_groups(), 2);
  EXPECT_EQ(list.num_devices_per_group(), 2);
  EXPECT_EQ(list.num_total_devices(), 4);
  EXPECT_EQ(list.flattened_replica_groups(), Groups({{0, 1}, {2, 3}}));
  EXPECT_EQ(CollectiveDeviceList().ToString(), "{}");
  EXPECT_EQ(CollectiveDeviceList({}).ToString(), "{}");
  EXPECT_EQ(CollectiveDeviceList({{0, 2}, {1}}).ToString(), "{{0,2},{1}}");
  EXPECT_EQ(CollectiveDeviceList().num_devices_per_group(), 0);
  EXPECT_EQ(V1({{0}, {1, 2}}).num_devices_per_group(), -1);
  EXPECT_EQ(V1({{0}, {1, 2}}).num_total_devices(), 3);
  EXPECT_TRUE(V1({{0, 1}}) < V1({{0, 2}}));
  EXPECT_EQ(ReplicaGroupsToString(list.replica_groups()), "{{0,1},{2,3}}");
}

TEST(ReplicaGroupTest, Iota) {
  EXPECT_EQ(IotaReplicaGroupList(2, 4).ToString(), "[2,4]<=[8]");
  EXPECT_EQ(IotaReplicaGroupList(0, 0).ToString(), "[0,0]<=[0]");
  EXPECT_TRUE(IotaReplicaGroupList(0, 0).flattened_replica_groups().empty());
  const IotaReplicaGroupList list(4, 2, {2, 4}, {1, 0});
  EXPECT_EQ(list.ToString(), "[4,2]<=[2,4]T(1,0)");
  EXPECT_EQ(list.flattened_replica_groups(),
            Groups({{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(list.num_total_devices(), 8);
  EXPECT_THAT(list.reshape_dims(), ElementsAre(2, 4));
  EXPECT_EQ(IotaReplicaGroupList(2, 4, {2, 2, 2}, {0, 1, 2}),
            IotaReplicaGroupList(2, 4));
}

TEST(ReplicaGroupTest, MeshAxes) {
  const Mesh mesh({2, 4}, {"data", "seq"});
  const MeshAxesReplicaGroupList seq(mesh, {Axis(1)});
  EXPECT_EQ(seq.ToString(), "mesh['data'=2,'seq'=4] {'seq'}");
  EXPECT_EQ(seq.num_replica_groups(), 2);
  EXPECT_EQ(seq.num_devices_per_group(), 4);
  EXPECT_EQ(seq.flattened_replica_groups(),
            Groups({{0, 1, 2, 3}, {4, 5, 6, 7}}));
  const MeshAxesReplicaGroupList data(mesh, {Axis(0)});
  EXPECT_EQ(data.flattened_replica_groups(),
            Groups({{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  // The order of axes is the order within the group.
  EXPECT_EQ(MeshAxesReplicaGroupList(mesh, {Axis(1), Axis(0)})
                .flattened_replica_groups(),
            Groups({{0, 4, 1, 5, 2, 6, 3, 7}}));
  EXPECT_EQ(data.ToIotaReplicaGroupList(),
            IotaReplicaGroupList(4, 2, {2, 4}, {1, 0}));
  EXPECT_EQ(data.ToCollectiveDeviceList()->ToString(),
            "{{0,4},{1,5},{2,6},{3,7}}");
}

TEST(ReplicaGroupTest, MeshSubAxes) {
  const Mesh mesh({2, 4}, {"a", "b"});
  const MeshAxesReplicaGroupList list(mesh, {Part(1, 1, 2)});
  EXPECT_EQ(list.ToString(), "mesh['a'=2,'b'=4] {'b':(1)2}");
  EXPECT_EQ(list.flattened_replica_groups(),
            Groups({{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  const MeshAxesReplicaGroupList whole = list.CanonicalizeWithoutSubaxes();
  EXPECT_EQ(whole.ToString(), "mesh['a'=2,'b_0'=1,'b_1'=2,'b_2'=2] {'b_1'}");
  EXPECT_EQ(
      MeshAxesReplicaGroupList(Mesh({2, 8}, {"b_1", "b"}), {Part(1, 2, 2)})
          .CanonicalizeWithoutSubaxes()
          .ToString(),
      "mesh['b_1'=2,'b_0'=2,'b_1a'=2,'b_2'=2] {'b_1a'}");
  EXPECT_EQ(whole.flattened_replica_groups(), list.flattened_replica_groups());
  HloPrintOptions options;
  options.set_print_replica_groups_without_subaxes(true);
  EXPECT_EQ(list.ToString(options), whole.ToString());
}

TEST(ReplicaGroupTest, MeshDeviceIds) {
  const MeshAxesReplicaGroupList rule(
      Mesh(TileAssignment({4, 2}, {2, 4}, {1, 0}), {"a", "b"}), {Axis(1)});
  EXPECT_EQ(rule.ToString(),
            "mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}");
  EXPECT_EQ(rule.flattened_replica_groups(),
            Groups({{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  const MeshAxesReplicaGroupList listed(Mesh({3, 1, 2, 0}, {2, 2}, {"a", "b"}),
                                        {Axis(0)});
  EXPECT_EQ(listed.ToString(), "mesh['a'=2,'b'=2], device_ids=(3,1,2,0) {'a'}");
  EXPECT_EQ(listed.flattened_replica_groups(), Groups({{3, 2}, {1, 0}}));
  EXPECT_FALSE(listed.MaybeConvertToIotaReplicaGroupList().has_value());
}

TEST(ReplicaGroupTest, FullListOption) {
  HloPrintOptions options;
  options.set_print_full_replica_group_list(true);
  EXPECT_EQ(IotaReplicaGroupList(2, 2).ToString(options), "{{0,1},{2,3}}");
  EXPECT_EQ(MeshAxesReplicaGroupList(Mesh({2, 2}, {"a", "b"}), {Axis(0)})
                .ToString(options),
            "{{0,2},{1,3}}");
}

TEST(ReplicaGroupTest, SameGroupsAreEqualAcrossVersions) {
  const CollectiveDeviceList v1 = V1({{0, 2}, {1, 3}});
  const IotaReplicaGroupList v2(2, 2, {2, 2}, {1, 0});
  const MeshAxesReplicaGroupList v3(Mesh({2, 2}, {"a", "b"}), {Axis(0)});
  const MeshAxesReplicaGroupList other(Mesh({2, 2}, {"a", "b"}), {Axis(1)});
  const CollectiveDeviceListBase* const same[] = {&v1, &v2, &v3};
  for (const CollectiveDeviceListBase* a : same) {
    for (const CollectiveDeviceListBase* b : same) {
      EXPECT_TRUE(*a == *b);
      EXPECT_EQ(absl::HashOf(*a), absl::HashOf(*b));
    }
    const CollectiveDeviceListBase& base = other;
    EXPECT_FALSE(*a == base);
    EXPECT_EQ(a->MaybeConvertToIotaReplicaGroupList(), v2);
    EXPECT_EQ(ConvertToV1CollectiveDeviceList(*a), v1);
  }
  EXPECT_NE(v3, MeshAxesReplicaGroupList(Mesh({2, 2}, {"x", "b"}), {Axis(0)}));
}

TEST(ReplicaGroupTest, GroupsAreComputedOnceAndSharedByCopies) {
  const IotaReplicaGroupList list(2, 2);
  const std::vector<ReplicaGroup>* groups = &list.replica_groups();
  EXPECT_EQ(groups, &list.replica_groups());
  EXPECT_EQ(groups, &list.Clone()->replica_groups());
}

TEST(ReplicaGroupTest, InstructionProtoRoundTrip) {
  const CollectiveDeviceList v1 = V1({{0, 2}, {1, 3}});
  const IotaReplicaGroupList v2(2, 2, {2, 2}, {1, 0});
  const MeshAxesReplicaGroupList v3(Mesh({3, 1, 2, 0}, {2, 2}, {"a", "b"}),
                                    {Axis(0)});
  const CollectiveDeviceListBase* const lists[] = {&v1, &v2, &v3};
  for (const CollectiveDeviceListBase* list : lists) {
    HloInstructionProto proto;
    list->ToInstructionProto(&proto);
    const auto copy = CollectiveDeviceListBase::DeviceListFromProto(proto);
    EXPECT_EQ(copy->version(), list->version());
    EXPECT_EQ(copy->ToString(), list->ToString());
    EXPECT_TRUE(*copy == *list);
  }
  const auto none =
      CollectiveDeviceListBase::DeviceListFromProto(HloInstructionProto());
  EXPECT_EQ(none->ToString(), "{}");
}

TEST(ReplicaGroupTest, BadProtosAreErrors) {
  HloInstructionProto proto;
  IotaReplicaGroupListProto* iota = proto.mutable_iota_collective_device_list();
  iota->set_num_replica_groups(2);
  iota->set_num_devices_per_group(2);
  iota->add_iota_reshape_dims(5);
  iota->add_iota_transpose_perm(0);
  EXPECT_FALSE(CollectiveDeviceListBase::CreateFromProto(proto).ok());
  iota->set_num_replica_groups(-1);
  EXPECT_FALSE(CollectiveDeviceListBase::CreateFromProto(proto).ok());
  MeshAxesReplicaGroupListProto* mesh =
      proto.mutable_mesh_axes_replica_group_list();
  mesh->add_axes()->set_mesh_axis_index(0);
  EXPECT_THAT(
      std::string(
          CollectiveDeviceListBase::CreateFromProto(proto).status().message()),
      HasSubstr("no axis 0"));
  mesh->mutable_axes(0)->mutable_sub_axis_info()->set_size(0);
  EXPECT_THAT(
      std::string(
          CollectiveDeviceListBase::CreateFromProto(proto).status().message()),
      HasSubstr("part (0)0 of axis 0"));
  EXPECT_FALSE(MeshAxesReplicaGroupList::Create(Mesh({2, 2}, {"a", "b"}),
                                                {Axis(0), Axis(0)})
                   .ok());
}

TEST(ReplicaGroupTest, MaximalMeshIsOneGroupOfOneDevice) {
  const MeshAxesReplicaGroupList list(Mesh(5), {});
  EXPECT_EQ(list.ToString(), "maximal_mesh[device_id=5] {}");
  EXPECT_EQ(list.flattened_replica_groups(), Groups({{5}}));
}

}  // namespace
}  // namespace xla
