#include "double_negation.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/testlib/hlo_hardware_independent_test_base.h"
#include "xla/hlo/testlib/pattern_matcher_gmock.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/utils/hlo_matchers.h"
#include "xla/service/pattern_matcher.h"
#include "xla/tsl/platform/statusor.h"

namespace {

namespace m = xla::match;
namespace op = xla::testing::opcode_matchers;

class DoubleNegationTest : public xla::HloHardwareIndependentTestBase {};

TEST_F(DoubleNegationTest, AlonePass) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(R"(
HloModule m
ENTRY main {
  p = f32[8]{0} parameter(0)
  a = f32[8]{0} negate(p)
  b = f32[8]{0} negate(a)
  ROOT r = f32[8]{0} add(b, p)
})"));
  TF_ASSERT_OK_AND_ASSIGN(bool changed,
                          RunHloPass(DoubleNegation(), module.get()));
  EXPECT_TRUE(changed);
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              GmockMatch(m::Add(m::Parameter(0), m::Parameter(0))));
  EXPECT_THAT(module->entry_computation()->root_instruction(),
              op::Add(op::Parameter(0), op::Parameter(0)));
}

TEST_F(DoubleNegationTest, BetweenOtherPasses) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(R"(
HloModule m
ENTRY main {
  p = f32[8]{0} parameter(0)
  t = (f32[8]{0}) tuple(p)
  e = f32[8]{0} get-tuple-element(t), index=0
  a = f32[8]{0} negate(e)
  ROOT b = f32[8]{0} negate(a)
})"));
  xla::HloPassPipeline pipeline("mine");
  pipeline.AddPass<xla::TupleSimplifier>();
  pipeline.AddPass<DoubleNegation>();
  pipeline.AddPass<xla::HloDCE>();
  TF_ASSERT_OK_AND_ASSIGN(bool changed, pipeline.Run(module.get()));
  EXPECT_TRUE(changed);
  EXPECT_EQ(module->instruction_count(), 1);
}

}  // namespace
