#include "xla/hlo/pass/pass_registry.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/nearest_name.h"

namespace xla {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

enum class Color { kRed, kBlue };
bool AbslParseFlag(absl::string_view text, Color* color, std::string* error) {
  if (text == "red" || text == "blue") {
    *color = text == "red" ? Color::kRed : Color::kBlue;
    return true;
  }
  *error = "expected red or blue";
  return false;
}
std::string AbslUnparseFlag(Color color) {
  return color == Color::kRed ? "red" : "blue";
}

struct PaintOptions {
  bool dry = false;
  int64_t coats = 1;
  double share = 0.5;
  std::string where = "all";
  Color color = Color::kRed;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("dry", dry, "paints nothing");
    visit("coats", coats, "how often");
    visit("share", share, "of the wall");
    visit("where", where, "the wall");
    visit("color", color, "of the paint");
  }
};

class Paint : public HloModulePass {
 public:
  explicit Paint(const PaintOptions& options) : options(options) {}
  absl::string_view name() const override { return "paint"; }
  PaintOptions options;
};

class Idle : public HloModulePass {
 public:
  absl::string_view name() const override { return "idle"; }
};

// Renames the root to another name each time.
class Restless : public HloModulePass {
 public:
  absl::string_view name() const override { return "restless"; }
  using HloPassInterface::Run;
  absl::StatusOr<bool> Run(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>&) override {
    HloInstruction* root = module->entry_computation()->root_instruction();
    root->SetAndSanitizeName(std::string(root->name()) + "x");
    return true;
  }
};

PassRegistry Registry() {
  PassRegistry registry;
  registry.Register<Paint, PaintOptions>("paint", "paints");
  registry.Register<Idle>("idle", "does nothing");
  registry.Register<Restless>("restless", "always does something");
  return registry;
}

std::string ErrorOf(absl::string_view text) {
  auto pipeline = Registry().ParsePipeline("p", text);
  return pipeline.ok() ? "ok" : std::string(pipeline.status().message());
}

TEST(PassRegistryTest, NoPasses) {
  auto pipeline = Registry().ParsePipeline("p", "");
  ASSERT_TRUE(pipeline.ok());
  EXPECT_EQ((*pipeline)->PassesSize(), 0);
  EXPECT_EQ((*pipeline)->name(), "p");
}

TEST(PassRegistryTest, OptionsOfEveryType) {
  auto pipeline = Registry().ParsePipeline(
      "p", " idle , paint{dry, coats=3,share=0.25,where={a,b},color=blue}");
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  ASSERT_EQ((*pipeline)->PassesSize(), 2);
  const auto& options = static_cast<Paint&>((*pipeline)->GetPass(1)).options;
  EXPECT_TRUE(options.dry);
  EXPECT_EQ(options.coats, 3);
  EXPECT_EQ(options.share, 0.25);
  EXPECT_EQ(options.where, "{a,b}");
  EXPECT_EQ(options.color, Color::kBlue);
}

TEST(PassRegistryTest, DefaultsAreDescribed) {
  const PassRegistry registry = Registry();
  const auto& options = registry.entries().at("paint").options;
  ASSERT_EQ(options.size(), 5);
  EXPECT_EQ(options[1].name, "coats");
  EXPECT_EQ(options[1].default_value, "1");
  EXPECT_EQ(options[4].default_value, "red");
}

TEST(PassRegistryTest, GroupsNest) {
  auto pipeline = Registry().ParsePipeline(
      "p", "fix{limit=3}(idle,inner(paint,idle)),idle");
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  ASSERT_EQ((*pipeline)->PassesSize(), 2);
  auto& fix = static_cast<HloPassPipeline&>((*pipeline)->GetPass(0));
  ASSERT_TRUE(fix.IsPassPipeline());
  ASSERT_EQ(fix.PassesSize(), 2);
  EXPECT_EQ(fix.GetPass(1).name(), "inner");
}

// A group named on a command line is held to what it answers.
TEST(PassRegistryTest, AFixedPointAtItsLimitTellsOfItsChange) {
  auto pipeline = Registry().ParsePipeline("p", "fix{limit=2}(restless)");
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  auto module = ParseAndReturnUnverifiedModule(
      "HloModule m\nENTRY e { ROOT a = f32[] parameter(0) }\n");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE((*pipeline)->Run(module->get()).value());
  EXPECT_EQ((*module)->entry_computation()->root_instruction()->name(), "axx");
}

TEST(PassRegistryTest, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(ErrorOf("idel"),
              HasSubstr("passes:1: unknown pass idel; did you mean "
                        "idle?"));
  EXPECT_THAT(
      ErrorOf("idle,paint{coat=1}"),
      HasSubstr("passes:6: pass paint: unknown option coat; did you mean "
                "coats?"));
  EXPECT_THAT(ErrorOf("paint{coats=many}"),
              HasSubstr("option coats=many: expected an integer"));
  EXPECT_THAT(ErrorOf("paint{color=green}"), HasSubstr("red or blue"));
  EXPECT_THAT(ErrorOf("idle{x}"), HasSubstr("this pass has no options"));
  EXPECT_THAT(ErrorOf("idle idle"), HasSubstr("passes:6: expected ','"));
  EXPECT_THAT(ErrorOf("fix(idle"), HasSubstr("expected ')'"));
  EXPECT_THAT(ErrorOf("fix{limit=0}(idle)"), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf("paint{dry"), HasSubstr("expected '}'"));
  EXPECT_THAT(ErrorOf("idle,,idle"), HasSubstr("expected a pass name"));
}

TEST(DidYouMeanTest, ListsAHundredNamesAtMost) {
  std::vector<std::string> known;
  for (int i = 0; i < 100; ++i) known.push_back(absl::StrCat("name", i));
  const std::string all = DidYouMean("x", known);
  EXPECT_THAT(all, StartsWith("; known: name0, name1, "));
  EXPECT_THAT(all, EndsWith(", name98, name99"));
  known.push_back("name100");
  known.push_back("name101");
  EXPECT_EQ(DidYouMean("x", known), absl::StrCat(all, " and 2 more"));
  EXPECT_EQ(DidYouMean("nam101", known), "; did you mean name101?");
}

TEST(PassRegistryTest, DeepNestingIsAnError) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "a(";
  EXPECT_THAT(ErrorOf(text).substr(0, 100), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace xla
