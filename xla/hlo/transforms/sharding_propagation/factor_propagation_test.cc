// What modules that no verifier has seen are told.
#include "xla/hlo/transforms/sharding_propagation/factor_propagation.h"

#include <string>

#include "absl/status/status.h"
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

}  // namespace
}  // namespace xla
