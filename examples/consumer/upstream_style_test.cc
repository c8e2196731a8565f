#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tsl/platform/statusor.h"
#include "xla/debug_options_flags.h"
#include "xla/error_spec.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_fix.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/testlib/hlo_hardware_independent_test_base.h"
#include "xla/hlo/testlib/pattern_matcher_gmock.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/utils/hlo_matchers.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/service/call_inliner.h"
#include "xla/service/hlo_cse.h"
#include "xla/service/hlo_dataflow_analysis.h"
#include "xla/service/hlo_module_config.h"
#include "xla/service/pattern_matcher.h"
#include "xla/service/value_range.h"
#include "xla/shape_util.h"
#include "xla/tests/literal_test_util.h"
#include "xla/tsl/lib/core/status_test_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/test_benchmark.h"
#include "xla/tsl/util/proto/parse_text_proto.h"
#include "xla/tsl/util/proto/proto_matchers.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

namespace m = match;
namespace op = testing::opcode_matchers;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tsl::proto_testing::EqualsProto;
using ::tsl::proto_testing::ParseTextProtoOrDie;

class SimplificationTest : public HloHardwareIndependentTestBase {
 public:
  DebugOptions GetDebugOptionsForTest() const override {
    DebugOptions debug_options = GetDebugOptionsFromFlags();
    debug_options.add_xla_disable_hlo_passes("call-inliner");
    return debug_options;
  }
};

constexpr absl::string_view kCalls = R"(
HloModule calls

square {
  x = f32[4] parameter(0)
  ROOT y = f32[4] multiply(x, x)
}

ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] call(p), to_apply=square
  b = f32[4] call(p), to_apply=square
  ROOT sum = f32[4] add(a, b)
})";

TEST_F(SimplificationTest, InlinesCalls) {
  TF_ASSERT_OK_AND_ASSIGN(std::unique_ptr<VerifiedHloModule> module,
                          ParseAndReturnVerifiedModule(kCalls));
  EXPECT_THAT(CallInliner().Run(module.get()),
              tsl::testing::IsOkAndHolds(true));
  EXPECT_THAT(HloCSE(/*is_layout_sensitive=*/false).Run(module.get()),
              tsl::testing::IsOkAndHolds(true));
  const HloInstruction* square = nullptr;
  EXPECT_THAT(
      module->entry_computation()->root_instruction(),
      GmockMatch(m::Add(m::Multiply(&square, m::Parameter(0), m::Parameter(0)),
                        m::Multiply())));
  EXPECT_EQ(square->user_count(), 1);
  EXPECT_THAT(square, op::Multiply(op::Parameter(0), op::Parameter(0)));
}

TEST_F(SimplificationTest, RewritesMatchFileCheckPatterns) {
  RunAndFilecheckHloRewrite(kCalls, CallInliner(), R"(
// CHECK: ENTRY
// CHECK: [[P:%[^ ]+]] = f32[4]{0} parameter(0)
// CHECK-COUNT-2: multiply([[P]], [[P]])
// CHECK-NOT: call(
)");
  RunAndFilecheckHloRewrite(kCalls, HloDCE(), std::nullopt);
}

TEST_F(SimplificationTest, PipelinesHeedDebugOptions) {
  HloModuleConfig config = GetModuleConfigForTest(/*replica_count=*/2);
  TF_ASSERT_OK_AND_ASSIGN(auto module,
                          ParseAndReturnVerifiedModule(kCalls, config));
  EXPECT_EQ(module->config().replica_count(), 2);
  HloPassPipeline pipeline(TestName());
  pipeline.AddPass<CallInliner>();
  pipeline.AddPass<HloPassFix<HloDCE>>();
  TF_ASSERT_OK_AND_ASSIGN(bool changed, pipeline.Run(module.get()));
  EXPECT_FALSE(changed);
  EXPECT_NE(FindInstruction(module.get(), HloOpcode::kCall), nullptr);
  EXPECT_EQ(FindComputation(module.get(), "square")->instruction_count(), 2);
}

TEST_F(SimplificationTest, Evaluates) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(kCalls));
  HloEvaluator evaluator;
  const Literal argument = LiteralUtil::CreateR1<float>({1, 2, 3, -4});
  TF_ASSERT_OK_AND_ASSIGN(Literal result,
                          evaluator.Evaluate(*module, {&argument}));
  EXPECT_TRUE(LiteralTestUtil::Near(
      LiteralUtil::CreateR1<float>({2, 8, 18, 32}), result, ErrorSpec(1e-6)));
}

TEST_F(SimplificationTest, BadModulesAreRefused) {
  EXPECT_THAT(
      ParseAndReturnUnverifiedModule("HloModule m ENTRY e { ROOT r = f32[] }"),
      tsl::testing::StatusIs(absl::StatusCode::kInvalidArgument));
  absl::Status status = tsl::errors::InvalidArgument("axis ", 3);
  EXPECT_THAT(status.message(), HasSubstr("axis 3"));
}

TEST_F(SimplificationTest, RangesOfValues) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnUnverifiedModule(R"(
HloModule m
ENTRY main {
  c = s32[] constant(124)
  p = s32[] parameter(0)
  ROOT sum = s32[] add(p, c)
})"));
  TF_ASSERT_OK_AND_ASSIGN(auto dataflow, HloDataflowAnalysis::Run(*module));
  absl::flat_hash_map<const HloInstruction*, Range> known;
  known.insert({module->entry_computation()->parameter_instruction(0),
                Range{ConstantValue::GetSigned(0, 32),
                      ConstantValue::GetSigned(5, 32), /*is_linear=*/true}});
  Range range = RecursivelyIdentifyRange(
      module->entry_computation()->root_instruction(), known, dataflow.get());
  EXPECT_EQ(range.min().GetSignedValue(), 124);
  EXPECT_EQ(range.max()->GetSignedValue(), 129);
  EXPECT_TRUE(range.IsLinear());
}

TEST(NamedShardingTest, AxesCutDimensions) {
  Mesh mesh({2, 4}, {"a", "b"});
  NamedSharding sharding = test_utils::FromAxisNames(mesh, {{"b"}, {}});
  EXPECT_THAT(sharding.dimensions(), ElementsAre(4, 1));
  EXPECT_TRUE(sharding.HasPartialReplication());
}

TEST(ProtoTest, TextIsRead) {
  const OpMetadata metadata =
      ParseTextProtoOrDie<OpMetadata>(R"pb(op_name: "x" source_line: 3)pb");
  EXPECT_THAT(metadata, EqualsProto(R"pb(source_line: 3 op_name: "x")pb"));
}

absl::StatusOr<int64_t> Half(int64_t n) {
  if (n % 2 != 0) return absl::InvalidArgumentError("odd");
  return n / 2;
}
absl::StatusOr<int64_t> Quarter(int64_t n) {
  ASSIGN_OR_RETURN(int64_t half, Half(n));
  RETURN_IF_ERROR(Half(half).status());
  return half / 2;
}

TEST(StatusTest, MacrosReturn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_THAT(
      Quarter(6).status(),
      tsl::testing::StatusIs(absl::StatusCode::kInvalidArgument, "odd"));
  TF_EXPECT_OK(Quarter(4).status());
}

void BM_Parse(::testing::benchmark::State& state) {
  for (auto s : state) {
    auto module = ParseAndReturnUnverifiedModule(kCalls);
    CHECK_OK(module.status());
  }
}
BENCHMARK(BM_Parse);

}  // namespace
}  // namespace xla
