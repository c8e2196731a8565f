#include <ctime>
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
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/instrumentation/changed_check.h"
#include "xla/hlo/pass/instrumentation/pass_fuel.h"
#include "xla/hlo/pass/instrumentation/pass_recorder.h"
#include "xla/hlo/pass/instrumentation/print_ir.h"
#include "xla/hlo/pass/instrumentation/stop_before_pass.h"
#include "xla/hlo/pass/instrumentation/verify_each.h"

namespace xla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<HloModule> Module() {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m
ENTRY main {
  p = f32[4]{0} parameter(0)
  n = f32[4]{0} negate(p)
  ROOT r = f32[4]{0} add(n, p)
})");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

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

absl::StatusOr<bool> DropNegate(HloModule* module) {
  HloComputation* entry = module->entry_computation();
  HloInstruction* root = entry->root_instruction();
  if (root->operand(0)->opcode() != HloOpcode::kNegate) return false;
  HloInstruction* negate = root->mutable_operand(0);
  if (auto status = root->ReplaceOperandWith(0, negate->mutable_operand(0));
      !status.ok()) {
    return status;
  }
  if (auto status = entry->RemoveInstruction(negate); !status.ok()) {
    return status;
  }
  return true;
}

TEST(PassRecorderTest, CountsWhatEachPassDid) {
  HloPassPipeline pipeline("p");
  auto recorder = std::make_shared<PassRecorder>(PassRecorder::Options{});
  pipeline.AddInstrumentation(recorder);
  pipeline.AddPass<LambdaPass>("drop-negate", DropNegate);
  pipeline.AddPass<LambdaPass>("drop-negate", DropNegate);
  auto module = Module();
  recorder->Start(*module, pipeline.name());
  ASSERT_TRUE(pipeline.Run(module.get()).ok());
  recorder->Finish(*module);

  const PipelineReport& report = recorder->report();
  EXPECT_TRUE(report.changed());
  EXPECT_EQ(report.before().instructions(), 3);
  EXPECT_EQ(report.after().instructions(), 2);
  ASSERT_EQ(report.passes_size(), 2);
  EXPECT_TRUE(report.passes(0).changed());
  EXPECT_FALSE(report.passes(1).changed());
  EXPECT_FALSE(report.has_seconds());

  std::string text = PipelineReportToText(report);
  EXPECT_THAT(text, HasSubstr("m: p, 3 -> 2 instructions"));
  EXPECT_THAT(text, HasSubstr("drop-negate  changed              -1"));
  EXPECT_THAT(text, HasSubstr("negate                          1 -> 0"));
  EXPECT_THAT(text, Not(HasSubstr("ms")));
  auto json = PipelineReportToJson(report);
  ASSERT_TRUE(json.ok());
  EXPECT_THAT(*json, HasSubstr("\"pipeline\": \"p\""));
}

TEST(PassRecorderTest, ProcessorTimeStandsBesideWallTime) {
  HloPassPipeline pipeline("p");
  PassRecorder::Options options;
  options.seconds = true;
  auto recorder = std::make_shared<PassRecorder>(options);
  pipeline.AddInstrumentation(recorder);
  pipeline.AddPass<LambdaPass>("spin", [](HloModule*) {
    const std::clock_t start = std::clock();
    while (std::clock() == start) {
    }
    return absl::StatusOr<bool>(false);
  });
  auto module = Module();
  recorder->Start(*module, pipeline.name());
  ASSERT_TRUE(pipeline.Run(module.get()).ok());
  recorder->Finish(*module);

  const PipelineReport& report = recorder->report();
  ASSERT_EQ(report.passes_size(), 1);
  EXPECT_TRUE(report.passes(0).has_cpu_seconds());
  EXPECT_GT(report.passes(0).cpu_seconds(), 0);
  EXPECT_LE(report.passes(0).cpu_seconds(), report.cpu_seconds());
  std::string text = PipelineReportToText(report);
  EXPECT_THAT(text, HasSubstr("ms  cpu ms\n"));
  EXPECT_THAT(text, HasSubstr(" ms of processor time\n"));
}

TEST(PrintIrTest, PrintsAroundMatchingPasses) {
  std::string out;
  PrintIr::Options options;
  options.before = "drop-.*";
  options.after = ".*";
  options.only_changed = true;
  auto print = PrintIr::Create(
      options, [&](absl::string_view s) { out.append(s.data(), s.size()); });
  ASSERT_TRUE(print.ok());
  HloPassPipeline pipeline("p");
  pipeline.AddInstrumentation(*std::move(print));
  pipeline.AddPass<LambdaPass>(
      "idle", [](HloModule*) { return absl::StatusOr<bool>(false); });
  pipeline.AddPass<LambdaPass>("drop-negate", DropNegate);
  auto module = Module();
  ASSERT_TRUE(pipeline.Run(module.get()).ok());
  EXPECT_THAT(out, Not(HasSubstr("idle")));
  EXPECT_THAT(out,
              HasSubstr("// ===== before drop-negate (pass 1 of p) ====="));
  EXPECT_THAT(out, HasSubstr("// ===== after drop-negate (pass 1 of p) ====="));
}

TEST(PrintIrTest, BadExpressionIsAnError) {
  PrintIr::Options options;
  options.after = "(";
  EXPECT_EQ(PrintIr::Create(options, [](absl::string_view) {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PassFuelTest, SkipsRunsBeyondTheFuel) {
  auto fuel = PassFuel::Create("the_count=2");
  ASSERT_TRUE(fuel.ok());
  HloPassPipeline pipeline("p");
  pipeline.AddInstrumentation(*std::move(fuel));
  int runs = 0;
  for (int i = 0; i < 4; ++i) {
    pipeline.AddPass<LambdaPass>("the-count", [&](HloModule*) {
      ++runs;
      return absl::StatusOr<bool>(false);
    });
  }
  auto module = Module();
  ASSERT_TRUE(pipeline.Run(module.get()).ok());
  EXPECT_EQ(runs, 2);
  for (const char* bad : {"count", "count=x", "=1", "count=-1"}) {
    EXPECT_FALSE(PassFuel::Create(bad).ok()) << bad;
  }
}

TEST(ChangedCheckTest, FindsSilentAndIdleChanges) {
  HloPassPipeline silent("p");
  silent.AddInstrumentation(
      std::make_shared<ChangedCheck>(ChangedCheck::Options{}));
  silent.AddPass<LambdaPass>("liar", [](HloModule* module) {
    return DropNegate(module).ok() ? absl::StatusOr<bool>(false)
                                   : absl::StatusOr<bool>(true);
  });
  auto module = Module();
  EXPECT_THAT(
      std::string(silent.Run(module.get()).status().message()),
      HasSubstr("pass liar changed the module but reported that it did not"));

  ChangedCheck::Options options;
  options.fail_on_idle_change = true;
  HloPassPipeline idle("p");
  idle.AddInstrumentation(std::make_shared<ChangedCheck>(options));
  idle.AddPass<LambdaPass>("drop-negate", DropNegate);
  idle.AddPass<LambdaPass>(
      "boaster", [](HloModule*) { return absl::StatusOr<bool>(true); });
  module = Module();
  EXPECT_THAT(std::string(idle.Run(module.get()).status().message()),
              HasSubstr("pass boaster reported"));
}

TEST(VerifyEachTest, FindsTheBreakingPass) {
  HloPassPipeline pipeline("p");
  pipeline.AddInstrumentation(std::make_shared<VerifyEach>(HloVerifierOpts()));
  pipeline.AddPass<LambdaPass>("break", [](HloModule* module) {
    *module->entry_computation()
         ->root_instruction()
         ->mutable_operand(0)
         ->mutable_shape() = ShapeUtil::MakeShape(F32, {5});
    return absl::StatusOr<bool>(true);
  });
  auto module = Module();
  const absl::Status status = pipeline.Run(module.get()).status();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("after pass break of p"));
}

TEST(StopBeforePassTest, RepeatsARunUpToTheFailure) {
  HloPassPipeline pipeline("p");
  auto recorder = std::make_shared<FailureRecorder>();
  pipeline.AddInstrumentation(recorder);
  pipeline.AddPass<LambdaPass>("drop-negate", DropNegate);
  pipeline.AddPass<LambdaPass>("fail", [](HloModule*) {
    return absl::StatusOr<bool>(absl::InternalError("oops"));
  });
  auto module = Module();
  absl::Status error = pipeline.Run(module.get()).status();
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(recorder->index(), 1);

  auto stop = std::make_shared<StopBeforePass>(recorder->index());
  pipeline.AddInstrumentation(stop);
  module = Module();
  EXPECT_FALSE(pipeline.Run(module.get()).ok());
  std::string reproducer = MakeReproducer("fail", error, stop->module_text());
  EXPECT_THAT(reproducer, HasSubstr("// RUN: hlo-opt %s --passes='fail'\n"));
  EXPECT_THAT(reproducer, HasSubstr("//   oops\n"));
  EXPECT_THAT(reproducer, HasSubstr("HloModule m"));
  EXPECT_THAT(reproducer, Not(HasSubstr("negate")));
}

}  // namespace
}  // namespace xla
