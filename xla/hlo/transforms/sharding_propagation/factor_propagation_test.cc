// What modules that no verifier has seen are told.
#include "xla/hlo/transforms/sharding_propagation/factor_propagation.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

absl::Status StatusOf(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  if (!module.ok()) return module.status();
  return FactorPropagation().Run(module->get()).status();
}

// A token has no dimensions that its group could share.
TEST(FactorPropagationTest, GroupsHaveArraysAsMembers) {
  const absl::Status status = StatusOf(R"(
HloModule m, num_partitions=2
ENTRY e {
  x = f32[9,2] parameter(0), sharding={devices=[2,1]<=[2]}
  t = token[] after-all(), sharding={replicated}
  o = token[] outfeed(x, t), outfeed_shape=f32[9,2]{1,0}, sharding={unknown shard_as 3}
  ROOT n = f32[9,2] negate(x)
}
)");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("instruction o of sharding group 3 is not an array"));
}

TEST(FactorPropagationTest, ShardingsFitShapes) {
  EXPECT_THAT(std::string(StatusOf(R"(
HloModule m, num_partitions=2
ENTRY e {
  x = f32[9,2] parameter(0), sharding={devices=[2]<=[2]}
  ROOT n = f32[9,2] negate(x)
}
)")
                              .message()),
              HasSubstr("instruction x: sharding {devices=[2]<=[2]} of shape "
                        "f32[9,2]"));
}

// Borders of manual regions leave dimensions open as Sharding calls do.
TEST(FactorPropagationTest, BordersOpenDimensionsThatExist) {
  for (absl::string_view dims : {"[0,2]", "[a]", "[", "[1]"}) {
    const absl::Status status = StatusOf(absl::StrCat(
        "HloModule m, num_partitions=2\nENTRY e {\n"
        "  x = f32[8,2] parameter(0), sharding={devices=[2,1]<=[2]}\n"
        "  a = f32[4,2] custom-call(x), sharding={manual}, "
        "custom_call_target=\"SPMDFullToShardShape\"\n"
        "  ROOT r = f32[8,2] custom-call(a), "
        "custom_call_target=\"SPMDShardToFullShape\", "
        "sharding={devices=[2,1]<=[2]}, backend_config=\"unspecified_dims=",
        dims, "\"\n}\n"));
    if (dims == "[1]") {
      EXPECT_TRUE(status.ok()) << status;
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("bad unspecified_dims=", dims)));
  }
}

}  // namespace
}  // namespace xla
