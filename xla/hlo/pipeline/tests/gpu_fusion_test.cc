// The fusion part of the pipeline `gpu` on random modules: each pass leaves a
// valid module that computes the same, and under a memory limit the peak of the
// schedule does not rise. HLO_RANDOM_MODULES=2000 … -c opt for the long run.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/instrumentation/changed_check.h"
#include "xla/hlo/pass/instrumentation/check_equivalent.h"
#include "xla/hlo/pass/instrumentation/verify_each.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/testlib/synthetic_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

constexpr char kInline[] =
    "call-inliner,flatten-call-graph,tuple-simplifier,hlo-dce";
constexpr char kPrepare[] =
    "call-inliner,flatten-call-graph,tuple-simplifier,hlo-dce,"
    "priority-fusion,hlo-cse,hlo-dce";

int RandomModules() {
  const char* wanted = std::getenv("HLO_RANDOM_MODULES");
  return wanted == nullptr ? 30 : std::atoi(wanted);
}

RandomModuleOptions ModuleOptions(int seed) {
  RandomModuleOptions options;
  options.steps = 10 + seed % 40;
  // Some with shapes that are large enough for tiles.
  if (seed % 3 == 0) {
    options.max_dimension = 40;
    options.max_elements = 4096;
  }
  return options;
}

absl::Status RunPasses(HloModule* module, absl::string_view passes,
                       bool compare) {
  auto pipeline = AllPasses().ParsePipeline("test", passes);
  if (!pipeline.ok()) return pipeline.status();
  HloVerifierOpts verify;
  verify.allow_mixed_precision = true;
  MeaningOptions meaning;
  meaning.max_work = 200'000;
  (*pipeline)->AddInstrumentation(std::make_shared<VerifyEach>(verify));
  (*pipeline)->AddInstrumentation(
      std::make_shared<ChangedCheck>(ChangedCheck::Options{}));
  if (compare) {
    (*pipeline)->AddInstrumentation(
        std::make_shared<CheckEquivalent>(meaning, [](absl::string_view) {}));
  }
  return (*pipeline)->Run(module).status();
}

void ExpectSameMeaning(int seed, absl::string_view order) {
  std::unique_ptr<HloModule> module = RandomModule(seed, ModuleOptions(seed));
  const absl::Status status =
      RunPasses(module.get(),
                absl::StrCat(kPrepare, ",multi-output-fusion{order=", order,
                             ",device=a6000},hlo-cse,hlo-dce"),
                /*compare=*/true);
  ASSERT_TRUE(status.ok()) << "seed " << seed << ", " << order << ": "
                           << status;
}

TEST(GpuFusionTest, RandomModulesComputeTheSame) {
  const int modules = RandomModules();
  for (int seed = 0; seed < modules; ++seed) {
    ExpectSameMeaning(seed, seed % 2 == 0 ? "savings" : "first-come");
  }
}

// Kernels that read an element of a tuple among the results of another one,
// and a plain result of it, too.
TEST(GpuFusionTest, ResultsWithinResults) {
  for (int seed : {185, 188, 419, 449}) ExpectSameMeaning(seed, "savings");
}

int64_t Peak(HloModule* module) {
  ScheduleOptions options;
  options.algorithm = ScheduleAlgorithm::kBest;
  options.effort = 0;  // as the passes measure
  absl::StatusOr<ScheduleResult> result = ComputeSchedule(module, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->peak_bytes : -1;
}

// Tests one pass on the output of `prepare`.
void ExpectPeakHolds(const HloModule& original, absl::string_view prepare,
                     absl::string_view pass) {
  std::unique_ptr<HloModule> unfused = original.Clone("");
  EXPECT_TRUE(RunPasses(unfused.get(), prepare, /*compare=*/false).ok());
  std::unique_ptr<HloModule> limited = unfused->Clone("");
  const int64_t before = Peak(unfused.get());
  absl::Status status = RunPasses(limited.get(), pass, /*compare=*/false);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_LE(Peak(limited.get()), before) << original.name() << ": " << pass;
}

void ExpectPeakHolds(const HloModule& original) {
  ExpectPeakHolds(original, kInline, "priority-fusion{memory-limit=100%}");
  ExpectPeakHolds(original, kPrepare,
                  "multi-output-fusion{order=best,memory-limit=100%}");
}

TEST(GpuFusionTest, PeakStaysUnderTheLimit) {
  const int modules = RandomModules() / 3;
  for (int seed = 0; seed < modules; ++seed) {
    SCOPED_TRACE(seed);
    ExpectPeakHolds(*RandomModule(seed, ModuleOptions(seed)));
  }
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(SyntheticTrainingModule(3));
  ASSERT_TRUE(module.ok()) << module.status();
  ExpectPeakHolds(**module);
}

}  // namespace
}  // namespace xla
