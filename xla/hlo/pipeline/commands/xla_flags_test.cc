#include "xla/hlo/pipeline/commands/xla_flags.h"

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::StrEq;

TEST(TakeXlaFlagsTest, LeavesTheOtherArguments) {
  std::vector<std::string> texts = {"--xla_tool", "--xla_dump_to=x", "in.hlo",
                                    "-xla-ab",    "--emit=hlo",      "--",
                                    "--xla_file", "--passes=--xla_x"};
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  EXPECT_THAT(TakeXlaFlags(&argc, argv.data()),
              ElementsAre("--xla_dump_to=x", "-xla-ab"));
  ASSERT_EQ(argc, 6);
  EXPECT_THAT(std::vector<std::string>(argv.begin(), argv.begin() + argc),
              ElementsAre("--xla_tool", "in.hlo", "--emit=hlo", "--",
                          "--xla_file", "--passes=--xla_x"));
  EXPECT_EQ(argv[argc], nullptr);
}

class ReadXlaFlagsTest : public ::testing::Test {
 protected:
  ReadXlaFlagsTest() { registry_.Register<HloDCE>("hlo-dce", "removes"); }

  absl::StatusOr<std::optional<DebugOptions>> Read(
      const char* environment, const std::vector<std::string>& flags = {}) {
    err_.str("");
    return ReadXlaFlags(environment, flags, registry_, err_);
  }
  std::string ErrorOf(const char* environment,
                      const std::vector<std::string>& flags = {}) {
    return std::string(Read(environment, flags).status().message());
  }

  PassRegistry registry_;
  std::ostringstream err_;
};

TEST_F(ReadXlaFlagsTest, NothingIsNoOptions) {
  EXPECT_EQ(Read(nullptr)->has_value(), false);
  EXPECT_EQ(Read("  ")->has_value(), false);
}

TEST_F(ReadXlaFlagsTest, ArgumentsGoBeforeTheEnvironment) {
  auto options =
      Read("--xla_dump_to='a b' --xla_disable_hlo_passes=other",
           {"--xla-dump-hlo-as-text", "-xla_disable_hlo_passes=hlo-dce"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ((*options)->xla_dump_to(), "a b");
  EXPECT_TRUE((*options)->xla_dump_hlo_as_text());
  EXPECT_THAT((*options)->xla_disable_hlo_passes(), ElementsAre("hlo-dce"));
  EXPECT_THAT(err_.str(), StrEq(""));
}

TEST_F(ReadXlaFlagsTest, SaysWhatNoPassReads) {
  ASSERT_TRUE(Read(nullptr, {"--xla_dump_hlo_as_url"}).ok());
  EXPECT_THAT(err_.str(),
              StrEq("--xla_dump_hlo_as_url: no pass reads this option; it has "
                    "no effect\n"));
}

TEST_F(ReadXlaFlagsTest, FlagsOfOtherProgramsAreIgnoredInTheEnvironment) {
  auto options = Read("--xla_gpu_autotune_level=0 --xla_dump_ot=x --other");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_FALSE(options->has_value());
  EXPECT_THAT(err_.str(),
              StartsWith("XLA_FLAGS: --xla_gpu_autotune_level is unknown"));
  EXPECT_THAT(err_.str(),
              HasSubstr("--xla_dump_ot is unknown and ignored; did you mean "
                        "--xla_dump_to?"));
}

TEST_F(ReadXlaFlagsTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf("xla_dump_to=x"),
              StrEq("XLA_FLAGS: 'xla_dump_to=x' is not a flag; expected "
                    "--xla_name=value"));
  EXPECT_THAT(ErrorOf("--xla_dump_to=\"x"),
              StrEq("XLA_FLAGS: a \" is not closed"));
  EXPECT_THAT(ErrorOf("--xla_backend_optimization_level=x"),
              HasSubstr("XLA_FLAGS: --xla_backend_optimization_level: 'x' is"));
  EXPECT_THAT(ErrorOf(nullptr, {"--xla_dump_ot=x"}),
              StrEq("unknown flag --xla_dump_ot; did you mean --xla_dump_to?"));
  EXPECT_THAT(
      ErrorOf(nullptr, {"--xla_qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"}),
      testing::EndsWith("qqqq"));
  EXPECT_THAT(ErrorOf(nullptr, {"--xla_dump_to"}), HasSubstr("a value is"));
  EXPECT_THAT(ErrorOf(nullptr, {"--xla_backend_optimization_level=1e99"}),
              HasSubstr("'1e99' is not an int32"));
  EXPECT_THAT(ErrorOf(nullptr, {"--xla_enable_hlo_passes_only=hlo-dce,dce"}),
              HasSubstr("unknown pass 'dce'"));
}

}  // namespace
}  // namespace xla
