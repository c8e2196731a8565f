#include "xla/hlo/utils/collectives/collective_ops_utils.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/computation_placer.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/collectives/device_id.h"
#include "xla/literal_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

using Lists = std::vector<std::vector<int64_t>>;

std::vector<ReplicaGroup> Groups(const Lists& lists) {
  return CollectiveDeviceList(lists).replica_groups();
}

// Three replicas of two partitions.
DeviceAssignment ThreeByTwo() {
  return DeviceAssignment(3, 2, {33, 34, 44, 45, 55, 56});
}

Lists Devices(const Lists& groups, CollectiveOpGroupMode mode) {
  auto devices =
      GetParticipatingDevicesGroups(ThreeByTwo(), Groups(groups), mode);
  EXPECT_TRUE(devices.ok()) << devices.status();
  Lists lists;
  for (const std::vector<GlobalDeviceId>& group : *devices) {
    lists.emplace_back();
    for (GlobalDeviceId id : group) lists.back().push_back(id.value());
  }
  return lists;
}

TEST(CollectiveOpsUtilsTest, DevicesOfEachGroupMode) {
  EXPECT_EQ(Devices({{0}, {1, 2}}, COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA),
            (Lists{{33}, {34}, {44, 55}, {45, 56}}));
  EXPECT_EQ(Devices({{0, 1}}, COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION),
            (Lists{{33, 34}, {44, 45}, {55, 56}}));
  EXPECT_EQ(Devices({{0}, {1, 2}},
                    COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA_AND_PARTITION),
            (Lists{{33, 34}, {44, 45, 55, 56}}));
  EXPECT_EQ(
      Devices({{0, 5}, {1, 2, 3, 4}}, COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID),
      (Lists{{33, 56}, {34, 44, 45, 55}}));
  EXPECT_EQ(Devices({}, COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA),
            (Lists{{33, 44, 55}, {34, 45, 56}}));
}

TEST(CollectiveOpsUtilsTest, DevicesOfOneDevice) {
  auto devices = GetParticipatingDevices(
      GlobalDeviceId(45), ThreeByTwo(), Groups({{0}, {1, 2}}),
      COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA);
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_THAT(*devices, ElementsAre(GlobalDeviceId(45), GlobalDeviceId(56)));
  EXPECT_EQ(GetParticipatingDevices(GlobalDeviceId(7), ThreeByTwo(), {},
                                    COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CollectiveOpsUtilsTest, GroupsThatAreWrongAreNamed) {
  auto unlisted = GetParticipantCountsForReplicaGroups(
                      2, 2, {}, COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID)
                      .status();
  EXPECT_EQ(unlisted.code(), absl::StatusCode::kInvalidArgument);
  auto far = GetParticipantCountsForReplicaGroups(
                 2, 2, Groups({{0, 2}}), COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA)
                 .status();
  EXPECT_EQ(far.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(far.message(), testing::HasSubstr("id 2"));
}

TEST(CollectiveOpsUtilsTest, ParticipatingIds) {
  const auto groups = Groups({{0, 4}, {3, 5}});
  EXPECT_THAT(*GetParticipatingIDs(COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA, 5,
                                   std::nullopt, groups),
              ElementsAre(3, 5));
  EXPECT_THAT(
      *GetParticipatingIDs(COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA, 1, 3, {}),
      ElementsAre(0, 1, 2));
  EXPECT_FALSE(GetParticipatingIDs(COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA, 1,
                                   std::nullopt, groups)
                   .ok());
  EXPECT_FALSE(GetParticipatingIDs(COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA, 0,
                                   std::nullopt, Groups({{0}, {0, 1}}))
                   .ok());
}

TEST(CollectiveOpsUtilsTest, CountsOfGroups) {
  auto counts = [](const Lists& groups, CollectiveOpGroupMode mode) {
    return *GetParticipantCountsForReplicaGroups(4, 2, Groups(groups), mode);
  };
  EXPECT_THAT(counts({}, COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA),
              ElementsAre(4, 4));
  EXPECT_THAT(counts({{0, 1}, {2, 3}}, COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA),
              ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(counts({{0, 1}, {2, 3}},
                     COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA_AND_PARTITION),
              ElementsAre(4, 4));
  EXPECT_THAT(counts({{0}, {1}}, COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
}

TEST(CollectiveOpsUtilsTest, RelationsOfGroups) {
  EXPECT_TRUE(ReplicaGroupsOrthogonal(Groups({{0, 1}, {2, 3}}),
                                      Groups({{0, 2}, {1, 3}})));
  EXPECT_FALSE(ReplicaGroupsOrthogonal(Groups({{0, 1}, {2, 3}}),
                                       Groups({{0, 3}, {1, 2}})));
  EXPECT_FALSE(
      ReplicaGroupsOrthogonal(Groups({{0, 1}, {2, 3}}), Groups({{0, 2}})));
  EXPECT_TRUE(ReplicaGroupsEqual(Groups({{0, 1}}), Groups({{0, 1}})));
  EXPECT_FALSE(ReplicaGroupsEqual(Groups({{0, 1}}), Groups({{1, 0}})));
  EXPECT_TRUE(HasDuplicateSourcesOrTargets({{0, 1}, {0, 2}}));
  EXPECT_TRUE(HasDuplicateSourcesOrTargets({{0, 1}, {2, 1}}));
  EXPECT_FALSE(HasDuplicateSourcesOrTargets({{0, 1}, {1, 0}}));
}

TEST(CollectiveOpsUtilsTest, WhetherReplicasOrPartitionsTalk) {
  const DeviceAssignment assignment = ThreeByTwo();
  // Flattened ids 0, 1 are replica 0.
  const auto partitions = Groups({{0, 1}, {2, 3}, {4, 5}});
  const auto replicas = Groups({{0, 2, 4}, {1, 3, 5}});
  EXPECT_TRUE(IsExclusivelyCrossModule(partitions, true, true, assignment));
  EXPECT_FALSE(IsExclusivelyCrossModule(replicas, true, true, assignment));
  EXPECT_FALSE(IsExclusivelyCrossModule({}, true, true, assignment));
  EXPECT_FALSE(IsExclusivelyCrossModule(partitions, true, false, assignment));
  EXPECT_TRUE(IsExclusivelyCrossModule(Groups({{0}, {1}, {2}}), false, true,
                                       assignment));
  EXPECT_TRUE(IsExclusivelyCrossReplica(replicas, true, true, assignment));
  EXPECT_FALSE(IsExclusivelyCrossReplica(partitions, true, true, assignment));
  EXPECT_TRUE(IsExclusivelyCrossReplica({}, false, false, assignment));
  EXPECT_FALSE(IsExclusivelyCrossReplica({}, false, true, assignment));
}

TEST(CollectiveOpsUtilsTest, ReductionKinds) {
  for (ReductionKind kind : {ReductionKind::SUM, ReductionKind::PRODUCT,
                             ReductionKind::MIN, ReductionKind::MAX}) {
    EXPECT_EQ(*StringToReductionKind(ReductionKindToString(kind)), kind);
    EXPECT_EQ(
        MatchReductionComputation(MakeReductionComputation(kind, BF16).get()),
        kind);
  }
  EXPECT_FALSE(StringToReductionKind("average").ok());
  EXPECT_EQ(OpcodeToReductionKind(HloOpcode::kAnd, PRED), ReductionKind::MIN);
  EXPECT_EQ(OpcodeToReductionKind(HloOpcode::kAnd, S32), std::nullopt);
  EXPECT_EQ(ReductionKindToOpcode(ReductionKind::MAX, PRED), HloOpcode::kOr);
  EXPECT_EQ(*GetReductionIdentity(ReductionKind::MAX, S8),
            LiteralUtil::CreateR0<int8_t>(-128));
  EXPECT_EQ(GetReductionIdentity(ReductionKind::MIN, C64), std::nullopt);
}

TEST(CollectiveOpsUtilsTest, ComputationsThatAreNoReductionOfTwoScalars) {
  auto module = ParseAndReturnUnverifiedModule(R"(HloModule m
square { x = f32[] parameter(0) y = f32[] parameter(1)
  ROOT r = f32[] add(x, x) }
swapped { x = f32[] parameter(0) y = f32[] parameter(1)
  ROOT r = f32[] maximum(y, x) }
ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p, p), to_apply=square })");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(
      MatchReductionComputation((*module)->GetComputationWithName("square")),
      std::nullopt);
  EXPECT_EQ(
      MatchReductionComputation((*module)->GetComputationWithName("swapped")),
      ReductionKind::MAX);
}

constexpr char kCollectives[] =
    R"(HloModule m, replica_count=2, num_partitions=2
add { x = f32[] parameter(0) y = f32[] parameter(1)
  ROOT r = f32[] add(x, y) }
fused { p = f32[4] parameter(0)
  ROOT in = f32[4] all-reduce(p), channel_id=3, replica_groups={{0,1}},
    use_global_device_ids=false, to_apply=add }
wrapped { p = f32[4] parameter(0)
  ROOT inside = f32[4] reduce-scatter(p), replica_groups={}, dimensions={0},
    to_apply=add }
ENTRY e {
  p = f32[4] parameter(0)
  fusion = f32[4] fusion(p), kind=kLoop, calls=fused
  gather = f32[8] all-gather(p), replica_groups={{0,3},{1,2}}, channel_id=1,
    use_global_device_ids=true, dimensions={0}
  start = ((f32[4]), f32[4]) async-start(p), calls=wrapped
  done = f32[4] async-done(start)
  permute = f32[4] collective-permute(p), source_target_pairs={{0,1}}
  tok = token[] after-all()
  send = (f32[4], u32[], token[]) send(p, tok), channel_id=5
  host = (f32[4], u32[], token[]) send(p, tok), channel_id=6,
    is_host_transfer=true
  sent = token[] send-done(send), channel_id=5
  hosted = token[] send-done(host), channel_id=6, is_host_transfer=true
  ROOT t = (f32[4], f32[8], f32[4], f32[4])
    tuple(fusion, gather, done, permute)
})";

TEST(CollectiveOpsUtilsTest, CollectivesOfAModule) {
  auto parsed = ParseAndReturnUnverifiedModule(kCollectives);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const HloModule& module = **parsed;
  auto at = [&](absl::string_view name) {
    for (HloComputation* computation : module.computations()) {
      if (auto* hlo = computation->GetInstructionWithName(name)) return hlo;
    }
    return static_cast<HloInstruction*>(nullptr);
  };
  for (const char* name :
       {"gather", "start", "done", "permute", "send", "in", "inside"}) {
    EXPECT_TRUE(IsNonFusionCollective(at(name))) << name;
  }
  for (const char* name : {"p", "fusion", "host", "hosted", "tok"}) {
    EXPECT_FALSE(IsNonFusionCollective(at(name))) << name;
  }
  EXPECT_TRUE(IsCollective(at("fusion")));
  EXPECT_EQ(IsOrHasCollectiveWithChannelId(at("fusion")), at("in"));
  EXPECT_EQ(IsOrHasCollectiveWithChannelId(at("permute")), nullptr);
  EXPECT_TRUE(*IsAsyncCollective(at("start")));
  EXPECT_FALSE(*IsAsyncCollective(at("gather")));
  EXPECT_FALSE(IsAsyncCollective(at("p")).ok());
  EXPECT_EQ(*GetCollectiveOpGroupMode(at("gather")),
            COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID);
  EXPECT_EQ(*GetCollectiveOpGroupMode(at("done")),
            COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA);
  EXPECT_EQ((*GetAsyncReplicaGroups(at("done")))->num_replica_groups(), 0);
  EXPECT_EQ(*GetReplicaGroupCountAndSize(at("gather")), std::make_pair(2L, 2L));
  EXPECT_EQ(*GetReplicaGroupCountAndSize(at("in")), std::make_pair(1L, 4L));
  EXPECT_EQ(*GetReplicaGroupCountAndSize(at("start")), std::make_pair(2L, 2L));
  EXPECT_EQ(GetSubgroupSize(Cast<HloCollectiveInstruction>(at("in")),
                            *GetCollectiveOpGroupMode(at("in"))),
            4);

  DeviceAssignment assignment(2, 2, {10, 11, 12, 13});
  EXPECT_EQ((*GetParticipatingFlattenedIdGroups(at("in"), assignment))
                ->flattened_replica_groups(),
            (Lists{{0, 1, 2, 3}}));
  auto devices = GetParticipatingDevicesGroups(*at("permute"), assignment);
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_THAT((*devices)[0],
              ElementsAre(GlobalDeviceId(10), GlobalDeviceId(12)));
  EXPECT_FALSE(GetParticipatingDevicesGroups(at("gather")).ok());
}

TEST(CollectiveKeysTest, GroupKeysOfInstructions) {
  auto parsed = ParseAndReturnUnverifiedModule(R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  a = f32[4] collective-permute(p), source_target_pairs={{0,1}},
    frontend_attributes={_xla_collective_group_key="k",other="o"}
  ROOT b = f32[4] collective-permute(a), source_target_pairs={{0,1}},
    frontend_attributes={other="o"}
})");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  HloInstruction* b = (*parsed)->entry_computation()->root_instruction();
  HloInstruction* a = b->mutable_operand(0);
  EXPECT_EQ(GetCollectiveGroupKey(*a), "k");
  EXPECT_FALSE(HasCollectiveGroupKey(*b));
  EXPECT_FALSE(HaveCompatibleCollectiveGroupKeys(*a, *b));
  CopyCollectiveGroupKey(*a, *b);
  EXPECT_TRUE(HaveCompatibleCollectiveGroupKeys(*a, *b));
  EXPECT_EQ(b->frontend_attributes().map_size(), 2);
  ClearCollectiveGroupKey(*a);
  EXPECT_EQ(a->frontend_attributes().map_size(), 1);
  CopyCollectiveGroupKey(*a, *b);
  EXPECT_FALSE(HasCollectiveGroupKey(*b));
}

TEST(CollectiveKeysTest, Rendezvous) {
  const RendezvousKey key(RunId(3), {GlobalDeviceId(1), GlobalDeviceId(5)}, 2,
                          RendezvousKey::kCrossReplica, 7);
  EXPECT_EQ(key.CollectiveOpKindString(), "cross_replica");
  EXPECT_EQ(key.ToString(),
            "RendezvousKey{run_id=RunId: 3, global_devices=[1, 5], "
            "num_local_participants=2, collective_op_kind=cross_replica, "
            "op_id=7}");
  RendezvousKey other = key;
  EXPECT_EQ(other, key);
  EXPECT_EQ(absl::HashOf(other), absl::HashOf(key));
  other.op_id = 8;
  EXPECT_NE(other, key);
  EXPECT_NE(RunId(), RunId());
}

TEST(CollectiveKeysTest, DescriptionsOfAsyncCollectives) {
  constexpr absl::string_view kText =
      R"({"replica_groups":[[0,1],[2,3]],"channel_id":7,)"
      R"("use_global_device_ids":true,"permutation":[[0,1]],)"
      R"("all_gather_dimension":1,"tiled":false,"split_count":4})";
  const auto config = ParseAsyncCollectiveConfig(kText);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica_groups[1].replica_ids(0), 2);
  EXPECT_EQ(config->permutation[0], std::make_pair(0L, 1L));
  EXPECT_EQ(config->tiled, false);
  EXPECT_EQ(config->scatter_dimension, std::nullopt);
  EXPECT_EQ(SerializeAsyncCollectiveConfig(*config), kText);
  EXPECT_EQ(SerializeAsyncCollectiveConfig({}), "{}");
  for (absl::string_view bad :
       {"", "[]", "{\"channel_id\":1.5}", "{\"permutation\":[[1]]}",
        "{\"replica_groups\":[[\"a\"]]}"}) {
    EXPECT_FALSE(ParseAsyncCollectiveConfig(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace xla
