// Each forwarding header gives the names that code written against its path
// uses.
#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tsl/lib/gtl/map_util.h"
#include "tsl/platform/env.h"
#include "tsl/platform/errors.h"
#include "tsl/platform/logging.h"
#include "tsl/platform/status.h"
#include "tsl/platform/statusor.h"
#include "tsl/platform/test.h"
#include "tsl/platform/test_benchmark.h"
#include "tsl/util/proto/parse_text_proto.h"
#include "tsl/util/proto/proto_matchers.h"
#include "tsl/util/safe_reinterpret_cast.h"
#include "xla/backends/gpu/transforms/multi_output_fusion.h"
#include "xla/backends/gpu/transforms/priority_fusion.h"
#include "xla/client/padding.h"
#include "xla/client/xla_builder.h"
#include "xla/client/xla_computation.h"
#include "xla/debug_options_flags.h"
#include "xla/hlo/builder/padding.h"
#include "xla/hlo/ir/hlo_dfs_reachability.h"
#include "xla/hlo/ir/hlo_module_metadata.h"
#include "xla/hlo/ir/hlo_original_value_util.h"
#include "xla/hlo/ir/hlo_reachability.h"
#include "xla/hlo/transforms/collectives/all_gather_combiner.h"
#include "xla/hlo/transforms/collectives/all_reduce_combiner.h"
#include "xla/hlo/transforms/collectives/reduce_scatter_combiner.h"
#include "xla/hlo/transforms/expanders/stochastic_convert_decomposer.h"
#include "xla/hlo/transforms/simplifiers/dot_merger.h"
#include "xla/hlo/transforms/simplifiers/gather_simplifier.h"
#include "xla/hlo/transforms/simplifiers/hlo_element_type_converter.h"
#include "xla/hlo/transforms/simplifiers/hlo_memory_scheduler.h"
#include "xla/hlo/transforms/simplifiers/hlo_rematerialization.h"
#include "xla/hlo/transforms/simplifiers/sort_simplifier.h"
#include "xla/hlo/utils/hlo_live_range.h"
#include "xla/hlo/utils/hlo_matchers.h"
#include "xla/protobuf_util.h"
#include "xla/service/all_gather_combiner.h"
#include "xla/service/all_reduce_combiner.h"
#include "xla/service/batchnorm_expander.h"
#include "xla/service/buffer_value.h"
#include "xla/service/call_graph.h"
#include "xla/service/call_inliner.h"
#include "xla/service/compilation_environments.h"
#include "xla/service/compilation_stats.h"
#include "xla/service/computation_layout.h"
#include "xla/service/computation_placer.h"
#include "xla/service/conditional_simplifier.h"
#include "xla/service/custom_call_sharding_helper.h"
#include "xla/service/dot_as_convolution_util.h"
#include "xla/service/flatten_call_graph.h"
#include "xla/service/fusion_queue.h"
#include "xla/service/gpu/alias_info.h"
#include "xla/service/gpu/backend_configs.pb.h"
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
#include "xla/service/layout_assignment.h"
#include "xla/service/logical_buffer.h"
#include "xla/service/logical_buffer_analysis.h"
#include "xla/service/multi_output_fusion.h"
#include "xla/service/name_uniquer.h"
#include "xla/service/pattern_matcher.h"
#include "xla/service/reduce_scatter_combiner.h"
#include "xla/service/scatter_expander.h"
#include "xla/service/scatter_simplifier.h"
#include "xla/service/select_and_scatter_expander.h"
#include "xla/service/shape_inference.h"
#include "xla/service/sharding_propagation.h"
#include "xla/service/sharding_remover.h"
#include "xla/service/spmd/canonicalize_all_gather_for_cse.h"
#include "xla/service/spmd/collective_permute_motion.h"
#include "xla/service/spmd/convolution_handler.h"
#include "xla/service/spmd/custom_call_handler.h"
#include "xla/service/spmd/dot_handler.h"
#include "xla/service/spmd/schedule_aware_collective_ops_cse.h"
#include "xla/service/spmd/shard_barrier_partitioner.h"
#include "xla/service/spmd/sharding_format_picker.h"
#include "xla/service/spmd/shardy/constants.h"
#include "xla/service/spmd/spmd_partitioner.h"
#include "xla/service/spmd/spmd_partitioner_util.h"
#include "xla/service/spmd/spmd_partitioner_util_internal.h"
#include "xla/service/spmd/spmd_prepare.h"
#include "xla/service/spmd/stateful_rng_spmd_partitioner.h"
#include "xla/service/spmd/whole_graph_manual_pass.h"
#include "xla/service/tuple_points_to_analysis.h"
#include "xla/service/value_range.h"
#include "xla/service/while_loop_all_reduce_code_motion.h"
#include "xla/service/while_loop_analysis.h"
#include "xla/service/while_loop_constant_sinking.h"
#include "xla/service/while_loop_invariant_code_motion.h"
#include "xla/service/while_loop_simplifier.h"
#include "xla/stream_executor/device_description.h"
#include "xla/test.h"
#include "xla/test_helpers.h"
#include "xla/tests/filecheck.h"
#include "xla/tests/hlo_test_base.h"
#include "xla/tests/literal_test_util.h"
#include "xla/tests/test_utils.h"
#include "xla/tsl/lib/core/status_test_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/logging.h"
#include "xla/tsl/platform/macros.h"
#include "xla/tsl/platform/ml_dtypes.h"
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
  EXPECT_EQ(xla::HloElementTypeConverter(xla::BF16, xla::F32).name(),
            "element-type-converter");
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
  EXPECT_EQ(xla::DotMerger(/*max_size_to_merge=*/1024).name(), "dot-merger");
  EXPECT_EQ(xla::GatherSimplifier().name(), "gather-simplifier");
  EXPECT_EQ(xla::ScatterSimplifier().name(), "scatter-simplifier");
  EXPECT_EQ(xla::SelectAndScatterExpander().name(),
            "select-and-scatter-expander");
  EXPECT_EQ(xla::SortSimplifier().name(), "simplify-sorts");
  EXPECT_EQ(xla::ConditionalSimplifier().name(), "simplify-conditional");
  EXPECT_EQ(xla::WhileLoopSimplifier().name(), "simplify-while-loops");
  EXPECT_EQ(xla::WhileLoopConstantSinking(true, true).name(),
            "while-loop-constant-sinking");
  EXPECT_EQ(xla::WhileLoopInvariantCodeMotion().name(),
            "while-loop-invariant-code-motion");
  EXPECT_EQ(xla::WhileLoopAllReduceCodeMotion().name(),
            "while-loop-all-reduce-code-motion");
  EXPECT_EQ(xla::ScatterExpander().name(), "scatter-expander");
  EXPECT_EQ(xla::StochasticConvertDecomposer().name(),
            "stochastic-convert-decomposer");
  TF_EXPECT_OK(absl::OkStatus());
}

absl::StatusOr<int> Half(int n) {
  if (n % 2 != 0) return tsl::errors::InvalidArgument(n, " is odd");
  return n / 2;
}

absl::StatusOr<int> Quarter(int n) {
  ABSL_ASSIGN_OR_RETURN(const int half, Half(n));
  return Half(half);
}

TEST(CompatTest, StatusesHaveOpenXlasHelpers) {
  ASSERT_IS_OK(Quarter(8));
  ASSERT_IS_NOT_OK(Quarter(6));
  EXPECT_IS_OK(absl::OkStatus());
  absl::Status status = Quarter(6).status();
  EXPECT_TRUE(tsl::errors::IsInvalidArgument(status));
  tsl::errors::AppendToMessage(&status, "of ", 6);
  EXPECT_EQ(status.message(), "3 is odd\n\tof 6");
  const absl::Status unreachable = XLA_RET_CHECK_FAIL() << "here";
  EXPECT_THAT(unreachable, tsl::testing::StatusIs(absl::StatusCode::kInternal,
                                                  testing::HasSubstr("here")));
  int n = 1;
  EXPECT_EQ(CHECK_NOTNULL(&n), &n);
}

TEST(CompatTest, StatusesCarryPayloads) {
  absl::Status status =
      tsl::errors::NotFoundWithPayloads("no file", {{"a", "1"}, {"b", "2"}});
  EXPECT_TRUE(tsl::errors::IsNotFound(status));
  tsl::errors::InsertPayloads(status, {{"b", "3"}});
  absl::Status copy = tsl::errors::Internal("broken");
  tsl::errors::CopyPayloads(status, copy);
  tsl::errors::AppendToMessage(&copy, "here");
  EXPECT_THAT(tsl::errors::GetPayloads(copy),
              testing::UnorderedElementsAre(testing::Pair("a", "1"),
                                            testing::Pair("b", "3")));
  EXPECT_TRUE(absl::IsNotFound(tsl::errors::IOError("x.txt", ENOENT)));
  const tsl::StatusOr<int> error = copy;
  EXPECT_EQ(error.status(), copy);
}

// A clock that tests wind.
class WoundEnv : public tsl::EnvWrapper {
 public:
  WoundEnv() : tsl::EnvWrapper(tsl::Env::Default()) {}
  uint64_t NowMicros() const override { return micros; }
  uint64_t micros = 1;
};

TEST(CompatTest, EnvironmentsTellTheTime) {
  WoundEnv env;
  xla::HloModuleMetadata metadata(&env);
  metadata.RecordPassStart();
  EXPECT_EQ(metadata.proto().pass_metadata(0).start_timestamp_usec(), 1);
  EXPECT_GT(env.NowSeconds(), 1'000'000'000);
}

TEST(CompatTest, BackendConfigsAreMessages) {
  xla::gpu::GpuBackendConfig config;
  config.mutable_fusion_backend_config()->set_kind("__triton");
  config.mutable_gemm_backend_config()->set_epilogue(
      xla::gpu::GemmBackendConfig::BIAS);
  xla::BackendConfigWrapper wrapper(config);
  EXPECT_THAT(wrapper.GetRawString(),
              testing::HasSubstr("\"epilogue\":\"BIAS\""));
}

TEST(CompatTest, MapsAreLookedUpInAsInOpenXla) {
  std::map<std::string, int> map = {{"a", 1}};
  EXPECT_EQ(tsl::gtl::FindWithDefault(map, "b", 2), 2);
  EXPECT_EQ(tsl::gtl::LookupOrInsert(&map, "b", 3), 3);
  EXPECT_EQ(*tsl::gtl::FindOrNull(map, "b"), 3);
  EXPECT_FALSE(tsl::gtl::InsertOrUpdate(&map, "a", 4));
  EXPECT_EQ(map["a"], 4);
}

TEST(CompatTest, PaddingIsThatOfWindows) {
  EXPECT_THAT(xla::MakePadding({10, 5}, {3, 2}, {1, 2}, xla::Padding::kSame),
              testing::ElementsAre(testing::Pair(1, 1), testing::Pair(0, 1)));
  EXPECT_THAT(xla::MakePadding({10}, {3}, {1}, xla::Padding::kValid),
              testing::ElementsAre(testing::Pair(0, 0)));
  EXPECT_FALSE(xla::ValidatePaddingValues({10}, {0}, {1}).ok());
}

TEST(CompatTest, ProtosAreReadAndCompared) {
  using tsl::proto_testing::EqualsProto;
  using tsl::proto_testing::IgnoringRepeatedFieldOrdering;
  using tsl::proto_testing::ParseTextProtoOrDie;
  using tsl::proto_testing::Partially;
  const auto group =
      ParseTextProtoOrDie<xla::ReplicaGroup>("replica_ids: [ 2, 1 ]");
  const xla::ReplicaGroup same = ParseTextProtoOrDie("replica_ids: [ 2, 1 ]");
  EXPECT_THAT(group, EqualsProto(same));
  EXPECT_THAT(group, testing::Not(EqualsProto("replica_ids: [ 1, 2 ]")));
  EXPECT_THAT(group, IgnoringRepeatedFieldOrdering(
                         EqualsProto("replica_ids: [ 1, 2 ]")));
  const auto metadata =
      ParseTextProtoOrDie<xla::OpMetadata>("op_name: 'a' op_type: 'b'");
  EXPECT_THAT(metadata, Partially(EqualsProto("op_name: 'a'")));
  EXPECT_THAT(metadata, testing::Not(EqualsProto("op_name: 'a'")));
}

TEST(CompatTest, MessagesAreEqualByTheirBytes) {
  using xla::protobuf_util::HaveSameSerialization;
  using xla::protobuf_util::ProtobufHashBySerialization;
  // Maps have no order of their own.
  xla::FrontendAttributes a, b;
  for (int i = 0; i < 100; ++i) {
    (*a.mutable_map())[std::to_string(i)] = "x";
    (*b.mutable_map())[std::to_string(99 - i)] = "x";
  }
  EXPECT_TRUE(HaveSameSerialization(a, b));
  EXPECT_EQ(ProtobufHashBySerialization(a), ProtobufHashBySerialization(b));
  (*b.mutable_map())["7"] = "y";
  EXPECT_FALSE(HaveSameSerialization(a, b));
  EXPECT_NE(ProtobufHashBySerialization(a), ProtobufHashBySerialization(b));
}

TEST(CompatTest, LiteralsAreExpected) {
  using xla::LiteralTestUtil;
  const xla::Literal literal = xla::LiteralUtil::CreateR1<float>({1, 2});
  LiteralTestUtil::ExpectR1Equal<float>({1, 2}, literal);
  LiteralTestUtil::ExpectR1Near<float>({1, 2.5}, literal, xla::ErrorSpec(0.5));
  LiteralTestUtil::ExpectR3Near<float>(
      {{{1, 2.5}}}, xla::LiteralUtil::CreateR3<float>({{{1, 2}}}),
      xla::ErrorSpec(0.5));
  LiteralTestUtil::ExpectR4Near<float>(
      {{{{1, 2.5}}}}, xla::LiteralUtil::CreateR4<float>({{{{1, 2}}}}),
      xla::ErrorSpec(0.5));
  EXPECT_TRUE(LiteralTestUtil::Equal(literal, literal));
  EXPECT_FALSE(LiteralTestUtil::Near(xla::LiteralUtil::CreateR1<float>({1, 3}),
                                     literal, xla::ErrorSpec(0.5)));
  EXPECT_FALSE(LiteralTestUtil::EqualShapesAndLayouts(
      xla::ShapeUtil::MakeShape(xla::F32, {2}),
      xla::ShapeUtil::MakeShape(xla::F32, {3})));
}

TEST(CompatTest, BytesMayBeReadAsWhatTheyAre) {
  const float f = 1;
  EXPECT_EQ(tsl::safe_reinterpret_cast<const char*>(&f)[3], 0x3f);
}

void BM_Nothing(::testing::benchmark::State& state) {
  for (auto s : state) tsl::testing::DoNotOptimize(s);
}
BENCHMARK(BM_Nothing);

class BaseTest : public xla::HloHardwareIndependentTestBase {
 public:
  xla::DebugOptions GetDebugOptionsForTest() const override {
    xla::DebugOptions options =
        HloHardwareIndependentTestBase::GetDebugOptionsForTest();
    options.set_xla_dump_to(TestName());
    return options;
  }
};

constexpr char kTwice[] = R"(
  HloModule m
  ENTRY e {
    p = f32[$size] parameter(0)
    a = f32[$size] negate(p)
    b = f32[$size] negate(p)
    ROOT t = f32[$size] add(a, b)
  })";

class LayoutTest : public xla::HloHardwareIndependentTestBase {
 protected:
  LayoutTest()
      : HloHardwareIndependentTestBase(
            /*verifier_layout_sensitive=*/true,
            /*allow_mixed_precision_in_hlo_verifier=*/false,
            xla::LayoutAssignment::InstructionCanChangeLayout) {}
};

TEST_F(LayoutTest, VerifiersAskWhatMayChangeLayouts) {
  for (const auto& [operation, is_good] :
       {std::pair("copy", true), std::pair("negate", false)}) {
    TF_ASSERT_OK_AND_ASSIGN(
        auto module, xla::ParseAndReturnUnverifiedModule(absl::StrCat(
                         "ENTRY e { p = f32[4,8]{0,1} parameter(0) ",
                         "ROOT r = f32[4,8]{1,0} ", operation, "(p) }")));
    EXPECT_EQ(verifier().Run(module.get()).ok(), is_good) << operation;
  }
}

TEST_F(BaseTest, OptionsReachModules) {
  const xla::HloModuleConfig config = GetModuleConfigForTest(2, 3);
  EXPECT_EQ(config.debug_options().xla_dump_to(), "OptionsReachModules");
  EXPECT_EQ(config.replica_count(), 2);
  EXPECT_EQ(config.num_partitions(), 3);
}

TEST_F(BaseTest, CombinersTakeLimitsAsInOpenXla) {
  constexpr absl::string_view kText = R"(
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

ENTRY e {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  r = f32[8] all-reduce(a), replica_groups={}, to_apply=add
  q = f32[8] all-reduce(b), replica_groups={}, to_apply=add
  ROOT t = (f32[8], f32[8]) tuple(r, q)
})";
  const auto combines = [&](int64_t bytes, int64_t count) {
    auto module = ParseAndReturnVerifiedModule(kText).value();
    return RunHloPass(xla::AllReduceCombiner(bytes, count), module.get())
        .value();
  };
  EXPECT_TRUE(combines(/*bytes=*/64, /*count=*/2));
  EXPECT_FALSE(combines(/*bytes=*/63, /*count=*/2));
  EXPECT_FALSE(combines(/*bytes=*/64, /*count=*/1));
  EXPECT_EQ(xla::AllGatherCombiner(64, 2, /*combine_by_dim=*/true).name(),
            "all-gather-combiner");
  EXPECT_EQ(xla::ReduceScatterCombiner(64, 2, /*combine_by_dim=*/true).name(),
            "reduce-scatter-combiner");
}

TEST_F(BaseTest, RewritesAreChecked) {
  TF_ASSERT_OK_AND_ASSIGN(
      auto module,
      RunAndCheckHloRewrite(kTwice, xla::HloCSE(true),
                            /*expect_change=*/true, {{"$size", "4"}}));
  EXPECT_EQ(module->entry_computation()->instruction_count(), 3);
  EXPECT_IS_OK(verifier().Run(module.get()));
  EXPECT_FALSE(RunAndCheckHloRewrite(kTwice, xla::HloCSE(true),
                                     /*expect_change=*/false, {{"$size", "4"}})
                   .ok());
  TF_ASSERT_OK_AND_ASSIGN(std::vector<xla::Literal> arguments,
                          xla::MakeFakeArguments(module.get()));
  EXPECT_EQ(arguments.size(), 1);
}

}  // namespace
