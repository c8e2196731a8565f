// Rewritten modules are valid, need what the pass says and compute what they
// did, whatever the module, the limit and the way.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/schedulers/remat_checker.h"
#include "xla/hlo/pass/verifier_pass.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"

namespace xla {
namespace {

struct Way {
  const char* name;
  HloRematerialization::RematAlgorithm algorithm;
  int block_size;
  bool direct_uses_only;
};

constexpr Way kWays[] = {
    {"always", HloRematerialization::kAlwaysRemat, 1, false},
    {"always, blocks", HloRematerialization::kAlwaysRemat, 8, false},
    {"peak", HloRematerialization::kPeakPriority, 4, false},
    {"2018", HloRematerialization::kAlwaysRemat, 1, true},
};

std::unique_ptr<HloModule> MakeModule(uint64_t seed) {
  RandomModuleOptions options;
  options.steps = 20;
  std::unique_ptr<HloModule> module = RandomModule(seed, options);
  HloSchedule schedule(module.get());
  // Those of other threads too.
  for (HloComputation* computation : module->MakeNonfusionComputations()) {
    schedule.set_sequence(computation, computation->MakeInstructionPostOrder());
  }
  EXPECT_TRUE(module->set_schedule(std::move(schedule)).ok());
  return module;
}

class RematRandomTest : public ::testing::TestWithParam<int> {};

TEST_P(RematRandomTest, ValidAndEqual) {
  const Way& way = kWays[GetParam()];
  int64_t changes = 0, peaks_lower = 0;
  for (uint64_t seed = 0; seed < 9; ++seed) {
    const std::unique_ptr<HloModule> original = MakeModule(seed);
    MeaningOptions meaning_options;
    meaning_options.max_work = 20000;
    auto meaning = ModuleMeaning::Make(*original, meaning_options);
    for (const int percent : {75, 30}) {
      std::unique_ptr<HloModule> module = MakeModule(seed);
      ASSERT_TRUE(module->has_schedule());
      HloCostAnalysis cost;
      HloRematerialization::RematerializationSizes sizes;
      auto peak = ComputeRematPeak(*module, module->schedule());
      ASSERT_TRUE(peak.ok()) << seed << peak.status();
      HloRematerialization::Options options(
          cost,
          HloRematerialization::RematerializationModeConfig(true, false, false),
          peak->bytes * percent / 100, way.block_size, 1, 0, nullptr,
          std::nullopt, {}, way.algorithm);
      options.direct_uses_only = way.direct_uses_only;
      HloRematerialization pass(std::move(options), sizes);
      auto changed = pass.Run(module.get());
      const std::string where = way.name + std::string(" seed ") +
                                std::to_string(seed) + " at " +
                                std::to_string(percent) + " %\n";
      ASSERT_TRUE(changed.ok()) << where << changed.status();
      if (!*changed) continue;
      ++changes;
      peaks_lower += sizes.after_bytes < sizes.before_bytes;
      HloVerifier verifier(/*layout_sensitive=*/false,
                           /*allow_mixed_precision=*/true);
      auto valid = verifier.Run(module.get());
      ASSERT_TRUE(valid.ok()) << where << valid.status();
      const absl::Status agrees = CheckRematPeak(*module, sizes.after_bytes);
      ASSERT_TRUE(agrees.ok()) << where << agrees;
      if (!meaning.ok()) continue;
      auto difference = (*meaning)->DifferenceFrom(*module);
      ASSERT_TRUE(difference.ok()) << where << difference.status();
      ASSERT_FALSE(difference->has_value())
          << where << **difference << original->ToString()
          << module->ToString();
    }
  }
  EXPECT_GT(changes, 3);
  EXPECT_GT(peaks_lower, 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, RematRandomTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace xla
