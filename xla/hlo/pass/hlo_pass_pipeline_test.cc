#include "xla/hlo/pass/hlo_pass_pipeline.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_fix.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<HloModule> Module(absl::string_view root) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m\nENTRY main {\n  foo = f32[] parameter(0)\n  ROOT ", root,
      " = f32[] negate(foo)\n}\n"));
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

absl::string_view RootName(const HloModule& module) {
  return module.entry_computation()->root_instruction()->name();
}

// A pass made of a name and a function.
class LambdaPass : public HloModulePass {
 public:
  using Function = std::function<absl::StatusOr<bool>(HloModule*)>;
  LambdaPass(std::string name, Function function)
      : name_(std::move(name)), function_(std::move(function)) {}
  absl::string_view name() const override { return name_; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>&) override {
    return function_(module);
  }

 private:
  std::string name_;
  Function function_;
};

// Renames a root of one name.
LambdaPass::Function Rename(std::string from, std::string to) {
  return [from, to](HloModule* module) -> absl::StatusOr<bool> {
    HloInstruction* root = module->entry_computation()->root_instruction();
    if (root->name() != from) return false;
    root->SetAndSanitizeName(to);
    return true;
  };
}

// Follows a pipeline by writing its events down.
class EventLog : public PassInstrumentation {
 public:
  absl::Status BeforePass(const PassEvent& event, const HloModule&) override {
    events.push_back(absl::StrCat("+", event.depth, event.pipeline, "/",
                                  event.pass_name(), event.index));
    return absl::OkStatus();
  }
  absl::Status AfterPass(const PassEvent& event, const HloModule&,
                         const absl::StatusOr<bool>& result) override {
    events.push_back(
        absl::StrCat("-", event.pass_name(), result.ok() && *result));
    return absl::OkStatus();
  }
  std::vector<std::string> events;
};

TEST(HloPassPipelineTest, ReportsChange) {
  HloPassPipeline pipeline("p");
  pipeline.AddPass<LambdaPass>("a", Rename("x", "y"));
  pipeline.AddPass<LambdaPass>("b", Rename("nothing", "z"));
  auto module = Module("x");
  auto changed = pipeline.Run(module.get());
  ASSERT_TRUE(changed.ok());
  EXPECT_TRUE(*changed);
  EXPECT_EQ(RootName(*module), "y");
  changed = pipeline.Run(module.get());
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(*changed);
}

TEST(HloPassPipelineTest, StartsAtTheNamedPass) {
  HloPassPipeline pipeline("p");
  pipeline.AddPass<LambdaPass>("a", Rename("x", "y"));
  pipeline.AddPass<LambdaPass>("b", Rename("x", "z"));
  auto module = Module("x");
  DebugOptions& options = module->mutable_config().mutable_debug_options();
  options.set_xla_run_hlo_passes_starting_from("b");
  ASSERT_TRUE(pipeline.Run(module.get()).ok());
  EXPECT_EQ(RootName(*module), "z");
}

TEST(HloPassPipelineTest, CheckerSeesTheChangeAndNamesThePass) {
  HloPassPipeline pipeline("p");
  pipeline.AddInvariantChecker<LambdaPass>(
      "no-bar", [](HloModule* module) -> absl::StatusOr<bool> {
        if (RootName(*module) == "bar") {
          return absl::InternalError("found bar");
        }
        return false;
      });
  pipeline.AddPass<LambdaPass>("make-bar", Rename("x", "bar"));
  auto module = Module("x");
  absl::Status status = pipeline.Run(module.get()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("found bar"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("after make-bar of p"));
  // And before the first pass, where the input is bad already.
  status = pipeline.Run(module.get()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("after the start"));
}

TEST(HloPassPipelineTest, ErrorNamesThePassAndEndsTheRun) {
  HloPassPipeline pipeline("p");
  pipeline.AddPass<LambdaPass>("fail", [](HloModule*) {
    return absl::StatusOr<bool>(absl::InvalidArgumentError("oops"));
  });
  pipeline.AddPass<LambdaPass>("later", Rename("x", "y"));
  auto module = Module("x");
  absl::Status status = pipeline.Run(module.get()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "oops\n  in pass fail of p");
  EXPECT_EQ(RootName(*module), "x");
}

TEST(HloPassPipelineTest, InstrumentationFollowsNestedPipelines) {
  HloPassPipeline pipeline("outer");
  auto log = std::make_shared<EventLog>();
  pipeline.AddInstrumentation(log);
  pipeline.AddPass<LambdaPass>("a", Rename("x", "y"));
  HloPassPipeline& inner = pipeline.AddPass<HloPassPipeline>("inner");
  inner.AddPass<LambdaPass>("b", Rename("never", "y"));
  auto module = Module("x");
  ASSERT_TRUE(pipeline.Run(module.get()).ok());
  EXPECT_THAT(log->events, ElementsAre("+0outer/a0", "-a1", "+0outer/inner1",
                                       "+1inner/b2", "-b0", "-inner0"));
}

TEST(HloPassPipelineTest, MetadataRecordsEachPass) {
  HloPassPipeline pipeline("p");
  pipeline.AddPass<LambdaPass>("a", Rename("x", "y"));
  pipeline.AddPass<LambdaPass>("b", Rename("x", "y"));
  auto module = Module("x");
  ASSERT_TRUE(pipeline.Run(module.get()).ok());
  const auto& passes = module->metadata()->proto().pass_metadata();
  ASSERT_EQ(passes.size(), 3);
  EXPECT_EQ(passes[0].pass_name(), "pipeline-start");
  EXPECT_FALSE(passes[0].module_changed());
  EXPECT_EQ(passes[1].pass_name(), "a");
  EXPECT_EQ(passes[1].pipeline_name(), "p");
  EXPECT_TRUE(passes[1].module_changed());
  EXPECT_FALSE(passes[2].module_changed());
}

TEST(HloPassPipelineTest, PassWithoutRunIsAnError) {
  class Empty : public HloModulePass {
    absl::string_view name() const override { return "empty"; }
  };
  HloPassPipeline pipeline("p");
  pipeline.AddPass<Empty>();
  auto module = Module("x");
  EXPECT_EQ(pipeline.Run(module.get()).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(HloPassFixTest, RunsUntilNothingChanges) {
  HloPassFix<HloPassPipeline> pipeline("p");
  int runs = 0;
  pipeline.AddPass<LambdaPass>("count", [&](HloModule*) {
    ++runs;
    return absl::StatusOr<bool>(false);
  });
  // Backwards, so that each round does one step.
  pipeline.AddPass<LambdaPass>("c", Rename("c", "d"));
  pipeline.AddPass<LambdaPass>("b", Rename("b", "c"));
  pipeline.AddPass<LambdaPass>("a", Rename("a", "b"));
  auto module = Module("a");
  auto changed = pipeline.Run(module.get());
  ASSERT_TRUE(changed.ok());
  EXPECT_TRUE(*changed);
  EXPECT_EQ(RootName(*module), "d");
  EXPECT_EQ(runs, 4);
  changed = pipeline.Run(module.get());
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(*changed);
}

TEST(HloPassFixTest, TheCapEndsAPassThatNeverSettles) {
  int runs = 0;
  auto fix = HloPassFix<LambdaPass>::Create(5, "restless", [&](HloModule*) {
    ++runs;
    return absl::StatusOr<bool>(true);
  });
  auto module = Module("a");
  EXPECT_FALSE(fix->Run(module.get()).value());
  EXPECT_EQ(runs, 5);
  module->mutable_config()
      .mutable_debug_options()
      .set_xla_unsupported_crash_on_hlo_pass_silent_hlo_change(true);
  EXPECT_TRUE(fix->Run(module.get()).value());
  EXPECT_EQ(runs, 10);
  module = Module("a");
  fix->set_tell_of_change_at_limit(true);
  EXPECT_TRUE(fix->Run(module.get()).value());
  EXPECT_EQ(runs, 15);
}

TEST(HloPassFixTest, APassThatSettlesInTheLastRoundTellsOfItsChange) {
  int runs = 0;
  auto fix = HloPassFix<LambdaPass>::Create(
      5, "slow", [&](HloModule*) { return absl::StatusOr<bool>(++runs < 5); });
  auto module = Module("a");
  EXPECT_TRUE(fix->Run(module.get()).value());
  EXPECT_EQ(runs, 5);
}

TEST(HloPassFixTest, AFixedPointAroundOneThatIsCappedEnds) {
  int runs = 0;
  HloPassFix<HloPassFix<LambdaPass, 3>> fix("restless", [&](HloModule*) {
    ++runs;
    return absl::StatusOr<bool>(true);
  });
  auto module = Module("a");
  EXPECT_FALSE(fix.Run(module.get()).value());
  EXPECT_EQ(runs, 3);
}

TEST(HloPassFixTest, CycleDetectionEndsAPassThatUndoesItself) {
  int runs = 0;
  HloPassFix<LambdaPass> fix("swing", [&](HloModule* module) {
    ++runs;
    HloInstruction* root = module->entry_computation()->root_instruction();
    root->SetAndSanitizeName(root->name() == "a" ? "b" : "a");
    return absl::StatusOr<bool>(true);
  });
  fix.set_detect_cycles(true);
  auto module = Module("a");
  ASSERT_TRUE(fix.Run(module.get()).ok());
  EXPECT_EQ(runs, 2);
}

// Names of the passes of a pipeline, one of them nested, that run.
absl::StatusOr<std::vector<std::string>> WhatRuns(const DebugOptions& options) {
  std::vector<std::string> run;
  const auto log = [&](std::string name) {
    return std::make_unique<LambdaPass>(name, [&run, name](HloModule*) {
      run.push_back(name);
      return false;
    });
  };
  HloPassPipeline pipeline("outer");
  pipeline.AddPass(log("a"));
  pipeline.AddPass<HloPassPipeline>("inner").AddPass(log("b"));
  pipeline.AddPass(log("c"));
  auto module = Module("foo2");
  module->mutable_config().set_debug_options(options);
  absl::Status status = pipeline.Run(module.get()).status();
  if (!status.ok()) return status;
  return run;
}

TEST(HloPassPipelineTest, OptionsOfTheModuleSayWhatRuns) {
  DebugOptions options;
  EXPECT_THAT(*WhatRuns(options), ElementsAre("a", "b", "c"));
  options.add_xla_enable_hlo_passes_only("b");
  EXPECT_THAT(*WhatRuns(options), ElementsAre("b"));
  options.add_xla_disable_hlo_passes("a");
  EXPECT_THAT(std::string(WhatRuns(options).status().message()),
              HasSubstr("exclude each other"));
  options.clear_xla_enable_hlo_passes_only();
  EXPECT_THAT(*WhatRuns(options), ElementsAre("b", "c"));
  options.add_xla_disable_hlo_passes("inner");
  EXPECT_THAT(*WhatRuns(options), ElementsAre("c"));
  options.Clear();
  options.set_xla_disable_all_hlo_passes(true);
  EXPECT_THAT(*WhatRuns(options), ElementsAre());
}

}  // namespace
}  // namespace xla
