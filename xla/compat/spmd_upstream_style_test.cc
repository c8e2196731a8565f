// Tests of the partitioner as they are written against OpenXLA: its include
// paths, its fixtures, each case under all three ways to write a sharding, and
// results matched as trees of instructions. They compile against the headers
// here, and what they expect of shapes and collectives holds.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/log/log.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/testlib/hlo_hardware_independent_test_base.h"
#include "xla/hlo/utils/hlo_matchers.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/literal_util.h"
#include "xla/service/custom_call_sharding_helper.h"
#include "xla/service/hlo_module_config.h"
#include "xla/service/hlo_verifier.h"
#include "xla/service/spmd/custom_call_handler.h"
#include "xla/service/spmd/sharding_format_picker.h"
#include "xla/service/spmd/spmd_partitioner.h"
#include "xla/service/spmd/spmd_partitioner_util.h"
#include "xla/service/spmd/spmd_prepare.h"
#include "xla/service/spmd/stateful_rng_spmd_partitioner.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/tests/hlo_test_base.h"
#include "xla/tsl/lib/core/status_test_util.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace spmd {
namespace {

namespace op = xla::testing::opcode_matchers;
using test_only::ShardingFormatPicker;
using ::testing::_;
using ::testing::AllOf;

struct PartitionParams {
  ShardingFormatPicker::ShardingType format;
  bool resolve_conflicts;
};

class SpmdPartitioningTest
    : public HloHardwareIndependentTestBase,
      public ::testing::WithParamInterface<PartitionParams> {
 public:
  absl::StatusOr<std::unique_ptr<HloModule>> PartitionComputation(
      absl::string_view hlo_module, int64_t num_devices,
      bool conv_halo_exchange_always_on_lhs = true,
      bool choose_faster_windowed_einsum = false,
      bool unroll_windowed_einsum = false,
      bool bidirectional_windowed_einsum = false,
      int64_t threshold_for_windowed_einsum_mib = -1) {
    SpmdPartitionerOptions options;
    options.conv_halo_exchange_always_on_lhs = conv_halo_exchange_always_on_lhs;
    options.allow_module_signature_change = true;
    options.choose_faster_windowed_einsum_over_mem =
        choose_faster_windowed_einsum;
    options.unroll_windowed_einsum = unroll_windowed_einsum;
    options.bidirectional_windowed_einsum = bidirectional_windowed_einsum;
    if (threshold_for_windowed_einsum_mib >= 0) {
      options.threshold_for_windowed_einsum_mib =
          threshold_for_windowed_einsum_mib;
    }
    SPMDCollectiveOpsCreator collective_ops_creator =
        GetDefaultCollectiveOpsCreator(num_devices, /*num_replicas=*/1);
    // Shards are put together by all-reduces where this is null.
    collective_ops_creator.create_all_gather =
        GetParam().resolve_conflicts ? collective_ops_creator.create_all_gather
                                     : nullptr;

    HloModuleConfig config = GetModuleConfigForTest();
    config.set_use_spmd_partitioning(true);
    config.set_num_partitions(num_devices);
    TF_ASSIGN_OR_RETURN(auto module,
                        ParseAndReturnVerifiedModule(hlo_module, config));
    ShardingFormatPicker format_picker(GetParam().format);
    TF_RETURN_IF_ERROR(format_picker.Run(module.get()).status());

    HloPassPipeline pass("spmd-partitioning");
    pass.AddPass<HloVerifier>(/*layout_sensitive=*/false,
                              /*allow_mixed_precision=*/false);
    pass.AddPass<SpmdPrepare>();
    pass.AddPass<SpmdPartitioner>(num_devices, /*num_replicas=*/1, options,
                                  collective_ops_creator);
    pass.AddPass<HloVerifier>(/*layout_sensitive=*/false,
                              /*allow_mixed_precision=*/false);
    TF_RETURN_IF_ERROR(pass.Run(module.get()).status());
    return absl::StatusOr<std::unique_ptr<HloModule>>(std::move(module));
  }

  static int64_t NumOfInstructions(HloComputation* computation,
                                   HloOpcode opcode) {
    int64_t count = 0;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() == opcode) ++count;
    }
    return count;
  }
};

std::string TestParamToString(
    const ::testing::TestParamInfo<PartitionParams>& data) {
  std::string name;
  switch (data.param.format) {
    case ShardingFormatPicker::ShardingType::kV1:
      name = "V1";
      break;
    case ShardingFormatPicker::ShardingType::kBestEffortV2:
      name = "V2";
      break;
    case ShardingFormatPicker::ShardingType::kNamed:
      name = "Named";
      break;
  }
  return name + (data.param.resolve_conflicts ? "_AllGather" : "_AllReduce");
}

INSTANTIATE_TEST_SUITE_P(
    All, SpmdPartitioningTest,
    ::testing::Values(
        PartitionParams{ShardingFormatPicker::ShardingType::kV1, true},
        PartitionParams{ShardingFormatPicker::ShardingType::kV1, false},
        PartitionParams{ShardingFormatPicker::ShardingType::kBestEffortV2,
                        true},
        PartitionParams{ShardingFormatPicker::ShardingType::kBestEffortV2,
                        false},
        PartitionParams{ShardingFormatPicker::ShardingType::kNamed, true},
        PartitionParams{ShardingFormatPicker::ShardingType::kNamed, false}),
    TestParamToString);

TEST_P(SpmdPartitioningTest, OneDeviceToAll) {
  absl::string_view hlo_string = R"(
HloModule module
ENTRY entry {
  %only = s32[4,6] parameter(0), sharding={maximal device=1}
  ROOT %all = s32[4,6] copy(%only), sharding={replicated}
})";
  TF_ASSERT_OK_AND_ASSIGN(auto module,
                          PartitionComputation(hlo_string, /*num_devices=*/2));
  VLOG(1) << module->ToString();
  EXPECT_EQ(
      NumOfInstructions(module->entry_computation(), HloOpcode::kAllReduce), 1);
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              op::Shape("s32[4,6]"));
}

TEST_P(SpmdPartitioningTest, RowsToColumns) {
  absl::string_view hlo_string = R"(
HloModule module
ENTRY entry {
  %rows = f32[12,4] parameter(0), sharding={devices=[4,1]<=[4]}
  ROOT %columns = f32[12,4] copy(%rows), sharding={devices=[1,4]<=[4]}
})";
  TF_ASSERT_OK_AND_ASSIGN(auto module,
                          PartitionComputation(hlo_string, /*num_devices=*/4));
  const auto rows = AllOf(op::Parameter(0), op::Shape("f32[3,4]"));
  EXPECT_THAT(
      module->entry_computation()->root_instruction(),
      AllOf(
          op::Copy(op::Reshape(op::Transpose(op::AllToAll(op::Reshape(rows))))),
          op::Shape("f32[12,1]")));
}

TEST_P(SpmdPartitioningTest, WholeOperandIsCut) {
  absl::string_view hlo_string = R"(
HloModule module
ENTRY entry {
  %shard = f32[8,3] parameter(0), sharding={devices=[2,1]<=[2]}
  %whole = f32[8,3] parameter(1), sharding={replicated}
  ROOT %sum = f32[8,3] add(%shard, %whole), sharding={devices=[2,1]<=[2]}
})";
  TF_ASSERT_OK_AND_ASSIGN(auto module,
                          PartitionComputation(hlo_string, /*num_devices=*/2));
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              AllOf(op::Shape("f32[4,3]"),
                    op::Add(op::Parameter(0),
                            op::DynamicSlice(op::Parameter(1), _, _))));
}

TEST_P(SpmdPartitioningTest, ProductIsSummedUp) {
  absl::string_view hlo_string = R"(
HloModule module
ENTRY entry {
  %lhs = f32[16,512] parameter(0), sharding={devices=[1,2]<=[2]}
  %rhs = f32[512,8] parameter(1), sharding={devices=[2,1]<=[2]}
  ROOT %dot = f32[16,8] dot(%lhs, %rhs),
    lhs_contracting_dims={1}, rhs_contracting_dims={0},
    sharding={replicated}
})";
  TF_ASSERT_OK_AND_ASSIGN(auto module,
                          PartitionComputation(hlo_string, /*num_devices=*/2));
  const auto lhs = AllOf(op::Parameter(0), op::Shape("f32[16,256]"));
  const auto rhs = AllOf(op::Parameter(1), op::Shape("f32[256,8]"));
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              AllOf(op::AllReduce(op::Dot(lhs, rhs)), op::Shape("f32[16,8]")));
}

TEST_P(SpmdPartitioningTest, WindowedProductIsALoop) {
  absl::string_view hlo_string = R"(
HloModule module
ENTRY entry {
  %lhs = f32[32,24] parameter(0), sharding={devices=[4,1]<=[4]}
  %rhs = f32[64,24] parameter(1), sharding={devices=[4,1]<=[4]}
  ROOT %dot = f32[32,64] dot(%lhs, %rhs),
    lhs_contracting_dims={1}, rhs_contracting_dims={1},
    sharding={devices=[4,1]<=[4]}
})";
  TF_ASSERT_OK_AND_ASSIGN(
      auto module,
      PartitionComputation(hlo_string, /*num_devices=*/4,
                           /*conv_halo_exchange_always_on_lhs=*/true,
                           /*choose_faster_windowed_einsum=*/false,
                           /*unroll_windowed_einsum=*/false,
                           /*bidirectional_windowed_einsum=*/false,
                           /*threshold_for_windowed_einsum_mib=*/0));
  // The last step, after which nothing is sent, stands behind the loop.
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              AllOf(op::DynamicUpdateSlice(op::GetTupleElement(op::While(_)),
                                           op::Dot(_, _), _, _),
                    op::Shape("f32[8,64]")));
}

TEST_P(SpmdPartitioningTest, ManualPartition) {
  absl::string_view hlo_string = R"(
HloModule module
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY entry {
  %p = f32[8,2] parameter(0), sharding={devices=[4,1]<=[4]}
  %enter = f32[2,2] custom-call(%p), custom_call_target="SPMDFullToShardShape", sharding={manual}
  %sum = f32[2,2] all-reduce(%enter), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add, sharding={manual}
  ROOT %leave = f32[8,2] custom-call(%sum), custom_call_target="SPMDShardToFullShape", sharding={devices=[4,1]<=[4]}
})";
  TF_ASSERT_OK_AND_ASSIGN(auto module,
                          PartitionComputation(hlo_string, /*num_devices=*/4));
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              op::Copy(op::AllReduce(op::Copy(op::Parameter(0)))));
}

// Visits a registered custom call by itself.
class HalvesPartitioner : public CustomCallPartitioner {
 public:
  bool IsCustomCallShardable(const HloInstruction* instruction) const override {
    return true;
  }
  std::optional<HloSharding> InferShardingFromOperands(
      const HloInstruction* instruction) const override {
    return instruction->operand(0)->sharding();
  }
  absl::Status Partition(spmd::SpmdPartitioningVisitor* partitioner,
                         HloInstruction* hlo) const override {
    PartitionedHlo operand = partitioner->GetPartitionedHlo(hlo->operand(0))
                                 .Reshard(hlo->sharding());
    partitioner->SetPartitionedHlo(hlo, [&] {
      return partitioner->builder()->AddInstruction(
          hlo->CloneWithNewOperands(operand.hlo()->shape(), {operand.hlo()}));
    });
    return absl::OkStatus();
  }
};

TEST_P(SpmdPartitioningTest, RegisteredCustomCall) {
  RegisterCustomCallPartitioner("upstream_style_halves",
                                std::make_unique<HalvesPartitioner>());
  absl::string_view hlo_string = R"(
HloModule module
ENTRY entry {
  %p = f32[8,2] parameter(0), sharding={devices=[2,1]<=[2]}
  ROOT %c = f32[8,2] custom-call(%p), custom_call_target="upstream_style_halves", sharding={devices=[2,1]<=[2]}
})";
  TF_ASSERT_OK_AND_ASSIGN(auto module,
                          PartitionComputation(hlo_string, /*num_devices=*/2));
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              AllOf(op::CustomCall(op::Parameter(0)), op::Shape("f32[4,2]")));
}

// A subclass that replaces the visitor and one handler.
class CountingVisitor : public StatefulRngSpmdPartitioningVisitor {
 public:
  using StatefulRngSpmdPartitioningVisitor::StatefulRngSpmdPartitioningVisitor;
  absl::Status HandleTranspose(HloInstruction* hlo) override {
    ++transposes;
    return StatefulRngSpmdPartitioningVisitor::HandleTranspose(hlo);
  }
  static inline int transposes = 0;
};

class CountingPartitioner : public StatefulRngSpmdPartitioner {
 public:
  using StatefulRngSpmdPartitioner::StatefulRngSpmdPartitioner;
  std::unique_ptr<spmd::SpmdPartitioningVisitor> CreateVisitor(
      HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
      const spmd::SPMDCollectiveOpsCreator& collective_ops_creator,
      int64_t* next_channel_id, spmd::SpmdLogger* logger,
      spmd::SpmdPartitionerOptions options,
      const CallGraph& call_graph) override {
    return std::make_unique<CountingVisitor>(
        computation, num_partitions, num_replicas, collective_ops_creator,
        next_channel_id, logger, std::move(options), this, call_graph);
  }
};

TEST_F(HloHardwareIndependentTestBase, SubclassesOfThePartitioner) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(R"(
HloModule module
ENTRY entry {
  %p = f32[8,2] parameter(0), sharding={devices=[2,1]<=[2]}
  ROOT %t = f32[2,8] transpose(%p), dimensions={1,0}, sharding={devices=[1,2]<=[2]}
})",
                                                                    1, 2));
  CountingPartitioner partitioner(
      /*num_partitions=*/2, /*num_replicas=*/1,
      StatefulRngSpmdPartitioner::GetDefaultOptions());
  EXPECT_FALSE(partitioner.enable_rgv3());
  TF_ASSERT_OK_AND_ASSIGN(bool changed, partitioner.Run(module.get()));
  EXPECT_TRUE(changed);
  EXPECT_EQ(CountingVisitor::transposes, 1);
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              AllOf(op::Transpose(op::Parameter(0)), op::Shape("f32[2,4]")));
}

// The functions that handlers are made of.
TEST(SpmdPartitionerUtilTest, ShapesAndGroups) {
  const Shape shape = ShapeUtil::MakeShape(F32, {7, 4});
  const HloSharding sharding = HloSharding::IotaTile({2, 2});
  EXPECT_TRUE(ShapeUtil::Equal(MakePartitionedShape(shape, sharding),
                               ShapeUtil::MakeShape(F32, {4, 2})));
  EXPECT_FALSE(EvenlyPartitions(shape, sharding));
  EXPECT_TRUE(
      ShapeUtil::Equal(MakeNonPaddedShapeForGivenPartition(shape, sharding, 3),
                       ShapeUtil::MakeShape(F32, {3, 2})));
  EXPECT_EQ(UniqueTiledDim(HloSharding::IotaTile({1, 4})), 1);
  EXPECT_EQ(GetReshardAllToAllSourceTargetDims(HloSharding::IotaTile({4, 1}),
                                               HloSharding::IotaTile({1, 4}))
                ->size(),
            1);
  EXPECT_EQ(GetPartitionGroupsForReplication(sharding, {1})
                ->flattened_replica_groups(),
            (std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}}));
}

}  // namespace
}  // namespace spmd
}  // namespace xla
