#include "xla/hlo/transforms/sharding_propagation/sdy_sharding_rule.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

std::string Parsed(absl::string_view text) {
  auto rule = ParseSdyShardingRule(text);
  return rule.ok() ? rule->ToString() : std::string(rule.status().message());
}

TEST(SdyShardingRuleTest, WhatItReads) {
  EXPECT_EQ(Parsed("#sdy.op_sharding_rule<([ij, k])->([i, jk]) "
                   "{i=2, j=4, k=4}>"),
            "([ij,k])->([i,jk]) {i=2,j=4,k=4}");
  EXPECT_EQ(Parsed("#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) "
                   "{i=8, j=16, k=4} reduction={k}, custom>"),
            "([i,j],[j,k])->([i,k]) {i=8,j=4,k=16} reduction={j}");
  EXPECT_EQ(Parsed("#sdy.op_sharding_rule<([z_1, i], [])->([z_1z_2]) "
                   "{i=8, z_1=2, z_2=3} need_replication={i} "
                   "permutation={z_1} blocked_propagation={i, z_2}>"),
            "([i,j],[])->([ik]) {i=2,j=8,k=3} need_replication={j} "
            "permutation={i} blocked_propagation={j,k}");
}

TEST(SdyShardingRuleTest, WhatItRefuses) {
  const auto refuses = [](absl::string_view text, absl::string_view message) {
    const auto rule = ParseSdyShardingRule(text);
    EXPECT_EQ(rule.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(rule.status().message()),
                HasSubstr(std::string(message)));
  };
  refuses("", "expected '#sdy.op_sharding_rule' at character 0");
  refuses("#sdy.op_sharding_rule<([a])->([a]) {a=1}>", "expected a factor");
  refuses("#sdy.op_sharding_rule<([i])->([i]) {}>", "factor i has no size");
  refuses("#sdy.op_sharding_rule<([i])->([i]) {i=0}>", "positive");
  refuses("#sdy.op_sharding_rule<([i])->([i]) {i=2, i=2}>", "two sizes");
  refuses("#sdy.op_sharding_rule<([i])->([i]) {i=2} reduction={j}>",
          "a factor that no tensor has");
  refuses(
      "#sdy.op_sharding_rule<([i])->([i]) {i=2} reduction={i} "
      "permutation={i}>",
      "listed twice");
  refuses("#sdy.op_sharding_rule<([i])->([i]) {i=2}> more", "expected the end");
  refuses("#sdy.op_sharding_rule<([ij])->([]) {i=4294967296, j=4294967296}>",
          "sizes of a dimension are too large");
  refuses("#sdy.op_sharding_rule<([i])->([i]) {i=99999999999999999999}>",
          "expected a number");
}

TEST(SdyShardingRuleTest, WhatFitsAnInstruction) {
  const auto given = [](absl::string_view rule) {
    auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
        "HloModule m\nENTRY e { p = f32[8,4] parameter(0)\n"
        "ROOT c = f32[32] custom-call(p), custom_call_target=\"mine\"",
        rule.empty() ? ""
                     : absl::StrCat(", frontend_attributes={"
                                    "xla.sdy.sharding_rule=\"",
                                    rule, "\"}"),
        " }"));
    if (!module.ok()) return std::string(module.status().message());
    const auto read =
        GivenShardingRule(*(*module)->entry_computation()->root_instruction());
    if (!read.ok()) return std::string(read.status().message());
    return read->has_value() ? (*read)->ToString() : "none";
  };
  EXPECT_EQ(given(""), "none");
  EXPECT_EQ(given("#sdy.op_sharding_rule<([i, j])->([ij]) {i=8, j=4}>"),
            "([i,j])->([ij]) {i=8,j=4}");
  // Sizes need not be those of the dimensions.
  EXPECT_EQ(given("#sdy.op_sharding_rule<([i, j])->([ij]) {i=8, j=5}>"),
            "([i,j])->([ij]) {i=8,j=5}");
  EXPECT_EQ(given("#sdy.op_sharding_rule<([i, j])->([ij]) {i=3, j=2}>"),
            "([i,j])->([ij]) {i=3,j=2}");
  EXPECT_THAT(given("#sdy.op_sharding_rule<([ij])->([ij]) {i=8, j=4}>"),
              HasSubstr("value 0 of its sharding rule is not f32[8,4]"));
  EXPECT_THAT(given("#sdy.op_sharding_rule<([i, j], [])->([ij]) {i=8, j=4}>"),
              HasSubstr("a sharding rule of 2 operands and 1 results for"));
  EXPECT_THAT(given("rule"), HasSubstr("instruction c: expected"));
}

}  // namespace
}  // namespace xla
