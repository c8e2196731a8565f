#include "xla/hlo/transforms/simplifiers/call_inliner.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

// A call named `outer` of a negation named `inner`.
std::unique_ptr<HloModule> Calls(absl::string_view outer,
                                 absl::string_view inner) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      R"(HloModule m
f {
  p = f32[4] parameter(0)
  ROOT n = f32[4] negate(p), metadata={op_name=")",
      inner, R"("}
}
ENTRY e {
  x = f32[4] parameter(0)
  ROOT c = f32[4] call(x), to_apply=f, metadata={op_name=")",
      outer, R"("}
})"));
  CHECK_OK(module.status());
  return *std::move(module);
}

std::string NameOfRoot(const HloModule& module) {
  return module.entry_computation()->root_instruction()->metadata().op_name();
}

TEST(CallInlinerTest, NamesHaveABound) {
  const std::string longest(CallInliner::kMaxOpNameSize - 2, 'a');
  auto module = Calls(longest, "b");
  ASSERT_TRUE(CallInliner().Run(module.get()).value());
  EXPECT_EQ(NameOfRoot(*module), absl::StrCat(longest, "/b"));
  module = Calls(absl::StrCat(longest, "a"), "b");
  ASSERT_TRUE(CallInliner().Run(module.get()).value());
  EXPECT_EQ(NameOfRoot(*module), "b");
}

TEST(CallInlinerTest, SaysWhatWasInlinedWhere) {
  auto module = Calls("outer", "inner");
  HloInstruction* call = module->entry_computation()->root_instruction();
  HloInstruction* negate = call->to_apply()->root_instruction();
  HloInstruction* x = module->entry_computation()->parameter_instruction(0);
  auto map = CallInliner::Inline(call, /*propagate_metadata=*/false);
  ASSERT_TRUE(map.ok()) << map.status();
  HloInstruction* root = module->entry_computation()->root_instruction();
  EXPECT_EQ(root->opcode(), HloOpcode::kNegate);
  EXPECT_EQ(map->at(negate), root);
  EXPECT_EQ(map->at(negate->mutable_operand(0)), x);
  EXPECT_EQ(NameOfRoot(*module), "inner");
}

TEST(CallInlinerTest, AModuleBesideTheOriginal) {
  auto module = Calls("outer", "inner");
  auto inlined = GetInlinedModule(module.get());
  ASSERT_TRUE(inlined.ok()) << inlined.status();
  const HloInstruction* call = module->entry_computation()->root_instruction();
  EXPECT_EQ(call->opcode(), HloOpcode::kCall);
  const HloInstruction* root =
      inlined->module->entry_computation()->root_instruction();
  EXPECT_EQ(root->opcode(), HloOpcode::kNegate);
  EXPECT_EQ(inlined->get_inlined_inst(call->to_apply()->root_instruction()),
            root);
}

TEST(CallInlinerTest, PoliciesOverrideWhatCallsSay) {
  for (const auto policy :
       {CallInliner::InlineOverridePolicy::kAllowInline,
        CallInliner::InlineOverridePolicy::kProhibitInline,
        CallInliner::InlineOverridePolicy::kAllowIgnoreFrontendAttributes}) {
    for (const bool says_no : {false, true}) {
      auto module = Calls("outer", "inner");
      if (says_no) {
        module->entry_computation()->root_instruction()->set_frontend_attribute(
            "inlineable", "false");
      }
      CallInliner inliner(
          /*single_call_site=*/false, /*update_domain=*/false,
          /*composites_to_preserve=*/{},
          [=](const CallGraph&, const HloInstruction*) { return policy; });
      const bool expected =
          policy != CallInliner::InlineOverridePolicy::kProhibitInline &&
          (!says_no ||
           policy != CallInliner::InlineOverridePolicy::kAllowInline);
      EXPECT_EQ(inliner.Run(module.get()).value(), expected) << says_no;
    }
  }
}

}  // namespace
}  // namespace xla
