// What passes built on these classes ask for.
#include "xla/hlo/transforms/fusion/instruction_fusion.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/hlo/utils/in_place_fusion.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  return *std::move(module);
}

constexpr absl::string_view kChain = R"(
HloModule chain
ENTRY main {
  p = f32[4] parameter(0)
  e = f32[4] exponential(p)
  c = f32[4] custom-call(e), custom_call_target="x"
  n = f32[4] negate(c)
  ROOT r = f32[4] add(n, e)
})";

TEST(FusionDecisionTest, CombinesReasons) {
  const FusionDecision allowed = FusionDecision::Allow();
  const FusionDecision small = FusionDecision::Forbid("too small");
  const FusionDecision large = FusionDecision::Forbid("too large");
  EXPECT_TRUE(allowed.CanFuse());
  EXPECT_EQ(allowed.Explain(), "");
  EXPECT_FALSE(small);
  EXPECT_TRUE(small.IsForbidden());
  EXPECT_FALSE(allowed.IsForbidden());
  EXPECT_EQ(small.Or(large).Explain(), "too small; too large");
  EXPECT_TRUE(small.Or(allowed));
  EXPECT_EQ(allowed.And(large).Explain(), "too large");
  EXPECT_EQ(small.And([&] { return large; }).Explain(), "too small");
  EXPECT_EQ((small << " by 3").Explain(), "too small by 3");
  EXPECT_TRUE(allowed << " by 3");
  auto first = [&](const FusionDecision& decision) -> FusionDecision {
    RETURN_IF_NOT_FUSIBLE(decision);
    return large;
  };
  EXPECT_EQ(first(small).Explain(), "too small");
  EXPECT_EQ(first(allowed).Explain(), "too large");
}

// Instructions that move elements of something else do not matter if asked so.
TEST(InPlaceFusionTest, RelaxedRule) {
  std::unique_ptr<HloModule> module = Parse(R"(
HloModule m
fused { p = f32[8] parameter(0) q = s32[] parameter(1) t = f32[2] parameter(2)
  s = f32[2] dynamic-slice(p, q), dynamic_slice_sizes={2}
  r = f32[2] reverse(t), dimensions={0} ROOT a = f32[2] add(s, r) }
ENTRY main {
  b = f32[8] parameter(0)
  i = s32[] parameter(1)
  c = f32[2] parameter(2)
  f = f32[2] fusion(b, i, c), kind=kLoop, calls=fused
  ROOT u = f32[8] dynamic-update-slice(b, f, i)
})");
  const HloInstruction* update =
      module->entry_computation()->root_instruction();
  const AliasInfo alias_info;
  EXPECT_EQ(InstructionFusion::ShouldFuseInPlaceOp(update->operand(1), update,
                                                   &alias_info)
                .Explain(),
            "f reads b, which u updates in place, and has 2 instructions that "
            "move elements");
  InPlaceFusionOptions options;
  options.relax_multiple_non_elementwise_ops = true;
  EXPECT_TRUE(InstructionFusion::ShouldFuseInPlaceOp(update->operand(1), update,
                                                     &alias_info, options));
}

// A reduction or the like in the consumer moves what the producer reads.
TEST(InPlaceFusionTest, ConsumerMovesElements) {
  std::unique_ptr<HloModule> module = Parse(R"(
HloModule m
fused { p = f32[8] parameter(0) q = s32[] parameter(1) t = f32[8] parameter(2)
  s = f32[2] slice(t), slice={[4:6]}
  ROOT u = f32[8] dynamic-update-slice(p, s, q) }
ENTRY main {
  b = f32[8] parameter(0)
  i = s32[] parameter(1)
  n = f32[8] negate(b)
  ROOT f = f32[8] fusion(b, i, n), kind=kLoop, calls=fused
})");
  const HloInstruction* fusion =
      module->entry_computation()->root_instruction();
  const AliasInfo alias_info;
  EXPECT_EQ(
      ShouldFuseInPlaceOp(fusion->operand(2), fusion, &alias_info).Explain(),
      "f moves elements of n, which reads what is updated in place, b");
}

TEST(InstructionFusionTest, RecordsDecisions) {
  std::unique_ptr<HloModule> module = Parse(kChain);
  const AliasInfo alias_info;
  InstructionFusion fusion(InstructionFusion::IsExpensive, &alias_info,
                           /*may_duplicate=*/true,
                           FusionConfigCollection::kPerEdge);
  auto changed = fusion.Run(module.get());
  ASSERT_TRUE(changed.ok() && *changed);
  // n into r; e has another user; c and p cannot be fused, c into itself n.
  ASSERT_EQ(module->config().fusion_config().size(), 1);
  const std::vector<bool>& config = module->config().fusion_config()[0];
  ASSERT_FALSE(config.empty());
  EXPECT_TRUE(config[0]);
  EXPECT_FALSE(config[1]);
}

TEST(InstructionFusionTest, RecordsInstructions) {
  // In post order p, e, c, n, r: only n is a kernel no longer.
  std::unique_ptr<HloModule> module = Parse(kChain);
  const AliasInfo alias_info;
  InstructionFusion fusion(InstructionFusion::IsExpensive, &alias_info,
                           /*may_duplicate=*/true,
                           FusionConfigCollection::kPerNode);
  auto changed = fusion.Run(module.get());
  ASSERT_TRUE(changed.ok() && *changed) << changed.status();
  ASSERT_EQ(module->config().fusion_config().size(), 1);
  EXPECT_EQ(module->config().fusion_config()[0],
            std::vector<bool>({false, false, false, true, false}));
}

// A pass that keeps what others read as a second output.
class KeepingFusion : public InstructionFusion {
 public:
  KeepingFusion() : InstructionFusion(InstructionFusionOptions{false}) {}

 protected:
  FusionDecision ShouldFuseIntoMultiOutput(HloInstruction* consumer,
                                           int64_t index) override {
    return consumer->operand(index)->opcode() == HloOpcode::kExp
               ? FusionDecision::Allow()
               : FusionDecision::Forbid("not that");
  }
  HloInstruction::FusionKind ChooseKind(const HloInstruction*,
                                        const HloInstruction*) override {
    return HloInstruction::FusionKind::kOutput;
  }
};

TEST(InstructionFusionTest, SubclassMakesMultiOutputFusions) {
  // e reaches r through c too: no fusion of both.
  std::unique_ptr<HloModule> module = Parse(kChain);
  auto changed = KeepingFusion().Run(module.get());
  ASSERT_TRUE(changed.ok() && *changed);
  const HloInstruction* root = module->entry_computation()->root_instruction();
  EXPECT_TRUE(root->IsOutputFusion());
  EXPECT_FALSE(root->IsMultiOutputFusion());

  module = Parse(R"(
HloModule m
ENTRY main {
  p = f32[4] parameter(0)
  e = f32[4] exponential(p)
  n = f32[4] negate(e)
  ROOT t = (f32[4], f32[4]) tuple(n, e)
})");
  changed = KeepingFusion().Run(module.get());
  ASSERT_TRUE(changed.ok() && *changed);
  root = module->entry_computation()->root_instruction();
  ASSERT_EQ(root->operand(0)->opcode(), HloOpcode::kGetTupleElement);
  EXPECT_EQ(root->operand(0)->operand(0), root->operand(1)->operand(0));
  EXPECT_TRUE(root->operand(0)->operand(0)->IsMultiOutputFusion());
}

}  // namespace
}  // namespace xla
