#include "xla/hlo/ir/hlo_module_config.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/computation_placer.h"
#include "xla/shape.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

ProgramShape TwoMatrices() {
  ProgramShape shape;
  shape.AddParameter(ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1}),
                     "a");
  shape.AddParameter(ShapeUtil::MakeShape(S32, {}), "b");
  *shape.mutable_result() = ShapeUtil::MakeTupleShape(
      {ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1}),
       ShapeUtil::MakeShape(S32, {})});
  return shape;
}

TEST(ComputationLayoutTest, KeepsOrIgnoresLayouts) {
  ComputationLayout kept(TwoMatrices(), /*ignore_layouts=*/false);
  EXPECT_EQ(kept.ToString(), "(f32[2,3]{0,1}, s32[])->(f32[2,3]{0,1}, s32[])");
  ComputationLayout ignored(TwoMatrices());
  EXPECT_EQ(ignored.ToString(),
            "(f32[2,3]{1,0}, s32[])->(f32[2,3]{1,0}, s32[])");
  EXPECT_NE(kept, ignored);
  kept.SetToDefaultLayout();
  EXPECT_EQ(kept, ignored);
}

TEST(ComputationLayoutTest, FlattensLeaves) {
  ComputationLayout layout(TwoMatrices(), /*ignore_layouts=*/false);
  auto result = layout.FlattenedResultLayouts();
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->size(), 2);
  EXPECT_EQ((*result)[0].minor_to_major(0), 0);
  EXPECT_EQ(layout.FlattenedParameterLayouts()->size(), 2);
  layout.mutable_parameter_layout(0)->Clear();
  EXPECT_FALSE(layout.FlattenedParameterLayouts().ok());
  EXPECT_FALSE(layout.LayoutIsSet());
  EXPECT_TRUE(layout.AnyLayoutSet());
}

TEST(ComputationLayoutTest, ProgramShapeRoundTrip) {
  ComputationLayout layout(TwoMatrices(), /*ignore_layouts=*/false);
  const ProgramShape shape = layout.ComputeProgramShape();
  EXPECT_EQ(shape.parameter_names(1), "p1");
  EXPECT_EQ(ComputationLayout(shape, /*ignore_layouts=*/false), layout);
}

TEST(ComputationPlacerTest, NumbersDevicesComputationMajor) {
  auto assignment = ComputationPlacer().AssignDevices(4, 2);
  ASSERT_TRUE(assignment.ok());
  EXPECT_EQ((*assignment)(0, 0), 0);
  EXPECT_EQ((*assignment)(3, 0), 3);
  EXPECT_EQ((*assignment)(0, 1), 4);
  EXPECT_EQ((*assignment)(3, 1), 7);
  EXPECT_FALSE(ComputationPlacer().AssignDevices(0, 2).ok());
}

TEST(DeviceAssignmentTest, LogicalIds) {
  DeviceAssignment assignment(2, 2, {5, 6, 7, 8});
  EXPECT_EQ(assignment.LogicalIdForDevice(7)->replica_id, 1);
  EXPECT_EQ(assignment.LogicalIdForDevice(7)->computation_id, 0);
  EXPECT_EQ(*assignment.ReplicaIdForDevice(6), 0);
  EXPECT_FALSE(assignment.LogicalIdForDevice(1).ok());
  EXPECT_EQ(assignment.GetDeviceToLogicalIdMap().size(), 4);
  assignment(0, 0) = 8;
  EXPECT_FALSE(assignment.LogicalIdForDevice(8).ok());
}

TEST(DeviceAssignmentTest, ProtoRoundTrip) {
  DeviceAssignment assignment(2, 3, {0, 1, 2, 3, 4, 5});
  DeviceAssignmentProto proto;
  assignment.Serialize(&proto);
  auto copy = DeviceAssignment::Deserialize(proto);
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ((*copy)->ToString(), assignment.ToString());
  proto.set_computation_count(2000000000);
  EXPECT_FALSE(DeviceAssignment::Deserialize(proto).ok());
  proto.set_computation_count(0);
  EXPECT_FALSE(DeviceAssignment::Deserialize(proto).ok());
}

TEST(HloModuleConfigTest, Defaults) {
  HloModuleConfig config;
  EXPECT_FALSE(config.has_entry_computation_layout());
  EXPECT_EQ(config.replica_count(), 1);
  EXPECT_EQ(config.num_partitions(), 1);
  EXPECT_TRUE(config.ChannelIdSensitive());
  ASSERT_EQ(config.allow_spmd_sharding_propagation_to_output().size(), 1);
  EXPECT_FALSE(config.allow_spmd_sharding_propagation_to_output()[0]);
  EXPECT_EQ(config.GetAnalysisAllowance("x"), -1);
  config.SetAnalysisAllowance("x", 3);
  EXPECT_EQ(config.GetAnalysisAllowance("x"), 3);
  config.set_use_auto_spmd_partitioning(true);
  EXPECT_TRUE(config.use_spmd_partitioning());
  EXPECT_FALSE(config.ChannelIdSensitive());
}

TEST(HloModuleConfigTest, CacheKeyTellsConfigsApart) {
  HloModuleConfig a(TwoMatrices());
  HloModuleConfig b = a;
  EXPECT_EQ(a.compilation_cache_key(), b.compilation_cache_key());
  b.set_num_partitions(4);
  EXPECT_NE(a.compilation_cache_key(), b.compilation_cache_key());
  HloModuleConfig c = a;
  c.mutable_debug_options().set_xla_dump_to("somewhere");
  EXPECT_NE(a.compilation_cache_key(), c.compilation_cache_key());
}

TEST(HloModuleConfigTest, ProtoRoundTrip) {
  HloModuleConfig config(TwoMatrices(), /*ignore_layouts=*/false);
  config.set_seed(17);
  config.set_replica_count(2);
  config.set_num_partitions(4);
  config.set_use_spmd_partitioning(true);
  config.set_device_memory_size(int64_t{80} << 30);
  config.set_memory_fitting_level(ExecutionOptions::EFFORT_O2);
  config.set_static_device_assignment(DeviceAssignment(1, 2, {3, 4}));
  config.set_fusion_config({{true, false}, {}});
  (*config.mutable_dot_config())["d"] = {1, 2};
  config.set_shardable_value_update_pairs({{1, {0}, {1, 2}}});
  config.set_allow_spmd_sharding_propagation_to_output({true, false});
  auto copy = HloModuleConfig::CreateFromProto(config.ToProto());
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ((*copy)->entry_computation_layout(),
            config.entry_computation_layout());
  EXPECT_EQ((*copy)->compilation_cache_key(), config.compilation_cache_key());
  EXPECT_EQ((*copy)->fusion_config(), config.fusion_config());
  EXPECT_EQ((*copy)->dot_config(), config.dot_config());
  ASSERT_EQ((*copy)->shardable_value_update_pairs().size(), 1);
  EXPECT_EQ((*copy)->shardable_value_update_pairs()[0].output_shape_index,
            ShapeIndex({1, 2}));
  EXPECT_EQ((*copy)->static_device_assignment().ToString(),
            config.static_device_assignment().ToString());
}

}  // namespace
}  // namespace xla
