#include "xla/hlo/analysis/cost/mesh_cost.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

MeshCost Mesh(absl::string_view text) { return *MeshCost::FromText(text); }

TEST(MeshCost, RingBytes) {
  EXPECT_EQ(RingBytes(CollectiveKind::kAllGather, 4, 400), 300);
  EXPECT_EQ(RingBytes(CollectiveKind::kReduceScatter, 4, 400), 300);
  EXPECT_EQ(RingBytes(CollectiveKind::kAllReduce, 4, 400), 600);
  EXPECT_EQ(RingBytes(CollectiveKind::kAllToAll, 8, 400), 350);
  EXPECT_EQ(RingBytes(CollectiveKind::kCollectivePermute, 2, 400), 400);
  EXPECT_EQ(RingBytes(CollectiveKind::kAllReduce, 1, 400), 0);
}

TEST(MeshCost, TextAndPresets) {
  const MeshCost flat = Mesh("8");
  EXPECT_EQ(flat.num_devices(), 8);
  EXPECT_EQ(flat.axes()[0].bytes_per_second, 450e9);
  const MeshCost hosts = Mesh("4x2x4:h100-multihost");
  EXPECT_EQ(hosts.ToString(), "4x2x4");
  EXPECT_EQ(hosts.axes()[0].bytes_per_second, 50e9);
  EXPECT_EQ(hosts.axes()[1].bytes_per_second, 450e9);
  const MeshCost own = Mesh("2x4@10/3,100");
  EXPECT_EQ(own.axes()[0].latency_seconds, 3);
  EXPECT_EQ(own.axes()[1].bytes_per_second, 100);
  EXPECT_EQ(own.axes()[1].latency_seconds, 0);
}

TEST(MeshCost, MalformedText) {
  auto error = [](absl::string_view text) {
    const absl::Status status = MeshCost::FromText(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(error(""), HasSubstr("'' is not an axis size"));
  EXPECT_THAT(error("2x0"), HasSubstr("'0' is not an axis size"));
  EXPECT_THAT(error("2x-4"), HasSubstr("'-4' is not an axis size"));
  EXPECT_THAT(error("2:cray"), HasSubstr("unknown preset 'cray'; known: h100"));
  EXPECT_THAT(error("2x4@10"), HasSubstr("1 links for 2 axes"));
  EXPECT_THAT(error("2@0"), HasSubstr("'0' is not a link"));
  EXPECT_THAT(error("2@nan"), HasSubstr("'nan' is not a link"));
  EXPECT_THAT(error("2@5/-1"), HasSubstr("'5/-1' is not a link"));
  EXPECT_THAT(error("4000000000x4000000000"), HasSubstr("too many devices"));
}

TEST(MeshCost, GroupsRunAtThePaceOfTheirSlowestAxis) {
  const MeshCost mesh = Mesh("2x4@10/1,100/0.5");
  EXPECT_EQ(mesh.AxesOf({0, 1, 2, 3}), 2);
  EXPECT_EQ(mesh.AxesOf({0, 4}), 1);
  EXPECT_EQ(mesh.AxesOf({0, 5}), 3);
  EXPECT_EQ(mesh.AxesOf({3}), 0);
  EXPECT_EQ(mesh.AxesOf({0, 8}), 3);  // another replica
  const CollectiveCost minor =
      mesh.Cost(CollectiveKind::kAllGather, {0, 1, 2, 3}, 400);
  EXPECT_EQ(minor.bytes_per_device, 300);
  EXPECT_DOUBLE_EQ(minor.seconds, 300.0 / 100 + 3 * 0.5);
  const CollectiveCost major = mesh.Cost(CollectiveKind::kAllReduce, {0, 4}, 8);
  EXPECT_DOUBLE_EQ(major.seconds, 8.0 / 10 + 2 * 1);
}

CollectiveCost CostOf(const MeshCost& mesh, absl::string_view params,
                      absl::string_view root) {
  std::unique_ptr<HloModule> module = *ParseAndReturnUnverifiedModule(
      absl::StrCat("HloModule m, num_partitions=8\n",
                   "add { a = f32[] parameter(0) b = f32[] parameter(1) "
                   "ROOT s = f32[] add(a, b) }\nENTRY e {\n",
                   params, "\nROOT r = ", root, "\n}"));
  return *mesh.Cost(*module->entry_computation()->root_instruction());
}

TEST(MeshCost, OfInstructions) {
  const MeshCost mesh = Mesh("2x4@10,100");
  const std::string p = "p = f32[4,8] parameter(0)";  // 128 bytes
  CollectiveCost cost =
      CostOf(mesh, p,
             "f32[16,8] all-gather(p), dimensions={0}, channel_id=1, "
             "use_global_device_ids=true, replica_groups=[2,4]<=[8]");
  EXPECT_EQ(cost.bytes_per_device, 384);
  EXPECT_DOUBLE_EQ(cost.seconds, 3.84);
  cost = CostOf(mesh, p,
                "f32[4,8] all-reduce(p), to_apply=add, channel_id=1, "
                "use_global_device_ids=true, replica_groups={{0,4},{1,5},"
                "{2,6},{3,7}}");
  EXPECT_EQ(cost.bytes_per_device, 128);
  EXPECT_DOUBLE_EQ(cost.seconds, 12.8);
  cost = CostOf(mesh, p,
                "f32[1,8] reduce-scatter(p), to_apply=add, dimensions={0}, "
                "channel_id=1, use_global_device_ids=true, "
                "replica_groups=[2,4]<=[8]");
  EXPECT_EQ(cost.bytes_per_device, 96);
  cost = CostOf(mesh, p,
                "f32[4,8] all-to-all(p), dimensions={0}, channel_id=1, "
                "replica_groups=[2,4]<=[8]");
  EXPECT_EQ(cost.bytes_per_device, 96);
  cost = CostOf(mesh, p,
                "f32[4,8] collective-permute(p), channel_id=1, "
                "source_target_pairs={{0,1},{2,2}}");
  EXPECT_EQ(cost.bytes_per_device, 128);
  EXPECT_DOUBLE_EQ(cost.seconds, 1.28);
  cost = CostOf(mesh, p,
                "f32[4,8] collective-permute(p), channel_id=1, "
                "source_target_pairs={{0,0}}");
  EXPECT_EQ(cost.bytes_per_device, 0);
  EXPECT_EQ(CostOf(mesh, p, "f32[4,8] negate(p)").seconds, 0);
}

TEST(MeshCost, GroupsThatDoNotFitAreErrors) {
  std::unique_ptr<HloModule> module = *ParseAndReturnUnverifiedModule(R"(
HloModule m, num_partitions=2
ENTRY e {
  p = f32[4] parameter(0)
  ROOT r = f32[4] collective-permute(p), channel_id=1, source_target_pairs={{0,5}}
})");
  EXPECT_EQ(Mesh("2")
                .Cost(*module->entry_computation()->root_instruction())
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace xla
