#include "xla/debug_options_flags.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StrEq;

std::string ErrorOf(const std::string& flag) {
  DebugOptions options;
  return std::string(SetDebugOption(flag, &options).message());
}

TEST(DebugOptionsFlagsTest, SetsFieldsOfEachType) {
  DebugOptions options;
  for (const char* flag : {"--xla_dump_to=dir=1", "--xla_dump_hlo_as_text",
                           "--xla_allow_excess_precision=false",
                           "--xla_backend_optimization_level=2",
                           "--xla_force_host_platform_device_count=8",
                           "--xla_disable_hlo_passes=a,b", "--xla_fuel=p=3"}) {
    EXPECT_TRUE(SetDebugOption(flag, &options).ok()) << flag;
  }
  EXPECT_EQ(options.xla_dump_to(), "dir=1");
  EXPECT_TRUE(options.xla_dump_hlo_as_text());
  EXPECT_FALSE(options.xla_allow_excess_precision());
  EXPECT_EQ(options.xla_backend_optimization_level(), 2);
  EXPECT_EQ(options.xla_force_host_platform_device_count(), 8);
  EXPECT_THAT(options.xla_disable_hlo_passes(), ElementsAre("a", "b"));
  EXPECT_THAT(options.xla_fuel(), ElementsAre(Pair("p", 3)));
}

TEST(DebugOptionsFlagsTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf("--xla_dumb_to=dir"),
              StrEq("--xla_dumb_to: there is no such flag"));
  EXPECT_THAT(ErrorOf("--xla_dump_to"), HasSubstr("a value is needed"));
  EXPECT_THAT(ErrorOf("--xla_dump_hlo_as_text=maybe"),
              HasSubstr("'maybe' is not a bool"));
  EXPECT_THAT(ErrorOf("--xla_backend_optimization_level=9999999999"),
              HasSubstr("is not an int32"));
  EXPECT_THAT(ErrorOf("--xla_fuel=p"),
              HasSubstr("'p' is not a key=value pair"));
  EXPECT_THAT(ErrorOf("--xla_fuel=p=q"), HasSubstr("key=value"));
}

TEST(DebugOptionsFlagsTest, ReadsTheEnvironment) {
  ASSERT_EQ(setenv("XLA_FLAGS",
                   "--xla_dump_to=a  --xla_dump_hlo_pass_re=.* --xla_other=1",
                   /*overwrite=*/1),
            0);
  EXPECT_EQ(GetDebugOptionsFromFlags().xla_dump_to(), "a");
  EXPECT_EQ(GetDebugOptionsFromFlags().xla_dump_hlo_pass_re(), ".*");
  EXPECT_TRUE(DefaultDebugOptionsIgnoringFlags().xla_dump_to().empty());
}

}  // namespace
}  // namespace xla
