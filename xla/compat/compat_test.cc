// Each forwarding header gives the names that code written against its path
// uses.
#include "tsl/platform/errors.h"
#include "tsl/platform/logging.h"
#include "tsl/platform/status.h"
#include "tsl/platform/statusor.h"
#include "tsl/platform/test.h"
#include "xla/backends/gpu/transforms/multi_output_fusion.h"
#include "xla/backends/gpu/transforms/priority_fusion.h"
#include "xla/hlo/ir/hlo_dfs_reachability.h"
#include "xla/hlo/ir/hlo_reachability.h"
#include "xla/hlo/transforms/simplifiers/hlo_rematerialization.h"
#include "xla/hlo/utils/hlo_live_range.h"
#include "xla/hlo/utils/hlo_matchers.h"
#include "xla/service/batchnorm_expander.h"
#include "xla/service/buffer_value.h"
#include "xla/service/call_graph.h"
#include "xla/service/call_inliner.h"
#include "xla/service/compilation_stats.h"
#include "xla/service/computation_layout.h"
#include "xla/service/computation_placer.h"
#include "xla/service/custom_call_sharding_helper.h"
#include "xla/service/dot_as_convolution_util.h"
#include "xla/service/flatten_call_graph.h"
#include "xla/service/fusion_queue.h"
#include "xla/service/gpu/alias_info.h"
#include "xla/service/gpu/gpu_device_info_for_tests.h"
#include "xla/service/gpu/gpu_fusible.h"
#include "xla/service/gpu/hlo_fusion_analysis.h"
#include "xla/service/gpu/reduction_utils.h"
#include "xla/service/hlo_alias_analysis.h"
#include "xla/service/hlo_buffer.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla/service/hlo_cse.h"
#include "xla/service/hlo_dataflow_analysis.h"
#include "xla/service/hlo_liveness_analysis.h"
#include "xla/service/hlo_module_config.h"
#include "xla/service/hlo_module_dce.h"
#include "xla/service/hlo_module_util.h"
#include "xla/service/hlo_ordering.h"
#include "xla/service/hlo_proto_util.h"
#include "xla/service/hlo_value.h"
#include "xla/service/hlo_verifier.h"
#include "xla/service/instruction_fusion.h"
#include "xla/service/logical_buffer.h"
#include "xla/service/multi_output_fusion.h"
#include "xla/service/name_uniquer.h"
#include "xla/service/pattern_matcher.h"
#include "xla/service/shape_inference.h"
#include "xla/service/sharding_propagation.h"
#include "xla/service/sharding_remover.h"
#include "xla/service/spmd/canonicalize_all_gather_for_cse.h"
#include "xla/service/spmd/collective_permute_motion.h"
#include "xla/service/spmd/custom_call_handler.h"
#include "xla/service/spmd/schedule_aware_collective_ops_cse.h"
#include "xla/service/spmd/shard_barrier_partitioner.h"
#include "xla/service/spmd/sharding_format_picker.h"
#include "xla/service/spmd/shardy/constants.h"
#include "xla/service/spmd/spmd_partitioner.h"
#include "xla/service/spmd/spmd_partitioner_util.h"
#include "xla/service/spmd/spmd_prepare.h"
#include "xla/service/spmd/stateful_rng_spmd_partitioner.h"
#include "xla/service/spmd/whole_graph_manual_pass.h"
#include "xla/service/tuple_points_to_analysis.h"
#include "xla/service/value_range.h"
#include "xla/service/while_loop_analysis.h"
#include "xla/stream_executor/device_description.h"
#include "xla/test.h"
#include "xla/test_helpers.h"
#include "xla/tests/filecheck.h"
#include "xla/tests/hlo_test_base.h"
#include "xla/tsl/lib/core/status_test_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/logging.h"
#include "xla/tsl/platform/macros.h"
#include "xla/tsl/platform/status.h"
#include "xla/tsl/platform/status_matchers.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/tsl/platform/test.h"
#include "xla/tsl/platform/types.h"
#include "xla/tsl/util/proto/proto_matchers.h"

namespace {

TEST(CompatTest, NamesAreWhereOpenXlaHasThem) {
  xla::HloModuleConfig config;
  EXPECT_EQ(config.num_partitions(), 1);
  EXPECT_EQ(xla::HloVerifier(false, true).name(), "hlo-verifier");
  EXPECT_EQ(xla::HloCSE(/*is_layout_sensitive=*/false).name(), "hlo-cse");
  EXPECT_EQ(xla::spmd::SpmdPartitioner(2, 1, {}).name(), "spmd-partitioning");
  EXPECT_EQ(xla::spmd::StatefulRngSpmdPartitioner(2, 1).name(),
            "spmd-partitioning");
  EXPECT_EQ(xla::spmd::SpmdPrepare().name(), "spmd-prepare");
  using xla::test_only::ShardingFormatPicker;
  EXPECT_EQ(
      ShardingFormatPicker(ShardingFormatPicker::ShardingType::kV1).name(),
      "test-only-sharding-format-picker");
  EXPECT_EQ(xla::CollectivePermuteMotion().name(), "collective-permute-motion");
  EXPECT_EQ(xla::sdy::kMeshesRoundTripAttr, "xla.sdy.meshes");
  EXPECT_TRUE(xla::spmd::ShardBarrierToPartitioner()
                  .CanSideEffectingHaveReplicatedSharding());
  TF_EXPECT_OK(absl::OkStatus());
}

}  // namespace
