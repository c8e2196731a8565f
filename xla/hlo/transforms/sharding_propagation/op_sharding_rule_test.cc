#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

// The rule of the last of `lines`.
std::string RuleOf(absl::string_view lines) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m\nadd { x = f32[] parameter(0) y = f32[] parameter(1)\n"
      "ROOT s = f32[] add(x, y) }\nENTRY e {\n",
      lines, "}\n"));
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return "";
  const HloInstruction* root =
      (*module)->entry_computation()->root_instruction();
  const auto rule = GetOpShardingRule(*root);
  return rule ? rule->ToString() : "none";
}

TEST(OpShardingRuleTest, Dot) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[2,8,4] parameter(0)
    q = f32[2,4,16] parameter(1)
    ROOT d = f32[2,8,16] dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={0},
      lhs_contracting_dims={2}, rhs_contracting_dims={1})"),
            "([i,j,l],[i,l,k])->([i,j,k]) {i=2,j=8,k=16,l=4} reduction={l}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[2,8,4] parameter(0)
    q = f32[2,4,16] parameter(1)
    s = f32[2,8,2] parameter(2)
    t = f32[] parameter(3)
    ROOT d = f32[2,8,16] scaled-dot(p, q, s, t), lhs_batch_dims={0},
      rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1})"),
            "([i,j,l],[i,l,k],[-,-,-],[])->([i,j,k]) {i=2,j=8,k=16,l=4} "
            "reduction={l}");
}

TEST(OpShardingRuleTest, Reshape) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    ROOT r = f32[2,16] reshape(p))"),
            "([ij,k])->([i,jk]) {i=2,j=4,k=4}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[6,4] parameter(0)
    ROOT r = f32[4,6] reshape(p))"),
            "([i,-])->([i,-]) {i=2}");
}

TEST(OpShardingRuleTest, DataMovement) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    ROOT t = f32[4,8] transpose(p), dimensions={1,0})"),
            "([j,i])->([i,j]) {i=4,j=8}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[4] parameter(0)
    ROOT b = f32[8,4] broadcast(p), dimensions={1})"),
            "([j])->([i,j]) {i=8,j=4}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    ROOT s = f32[4,4] slice(p), slice={[2:6], [0:4]})"),
            "([i,j])->([i,j]) {i=4,j=4} permutation={i}");
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    q = f32[8,2] parameter(1)
    ROOT c = f32[8,6] concatenate(p, q), dimensions={1})"),
            "([i,-],[i,-])->([i,-]) {i=8}");
}

TEST(OpShardingRuleTest, Reductions) {
  EXPECT_EQ(RuleOf(R"(
    p = f32[8,4] parameter(0)
    z = f32[] constant(0)
    ROOT r = f32[8] reduce(p, z), dimensions={1}, to_apply=add)"),
            "([i,j],[])->([i]) {i=8,j=4} reduction={j}");
}

TEST(OpShardingRuleTest, WhatHasNone) {
  EXPECT_EQ(RuleOf("ROOT p = f32[8] parameter(0)"), "none");
  EXPECT_EQ(RuleOf("ROOT i = u32[] partition-id()"), "none");
}

}  // namespace
}  // namespace xla
