#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_PLANNER_TEST_UTIL_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_PLANNER_TEST_UTIL_H_

#include <cstdint>
#include <initializer_list>
#include <memory>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/schedulers/remat_checker.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/verifier/hlo_verifier.h"

// Plans of modules, whose claims are checked, for tests of
// PlanRematerialization.

namespace xla {

inline int64_t Peak(const HloModule& module) {
  auto peak = ComputeRematPeak(module, module.schedule());
  EXPECT_TRUE(peak.ok()) << peak.status();
  return peak->bytes;
}

inline RematPlanResult Plan(int64_t limit, HloModule* module) {
  RematPlanOptions options;
  options.limit_bytes = limit;
  auto result = PlanRematerialization(module, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

inline void ExpectValid(HloModule* module, const RematPlanResult& result,
                        int64_t limit) {
  HloVerifierOpts opts;
  opts.allow_mixed_precision = true;
  EXPECT_TRUE(VerifyHloModule(module, opts).ok())
      << VerifyHloModule(module, opts);
  absl::Status replayed = CheckRematPeak(*module, result.peak_after_bytes);
  EXPECT_TRUE(replayed.ok()) << replayed;
  EXPECT_LE(result.peak_after_bytes, result.peak_before_bytes);
  EXPECT_EQ(result.met, result.peak_after_bytes <= limit);
  EXPECT_EQ(result.binding.empty(), result.met);
}

// Plans copies of a module for several limits, percents of what lies between
// `floor` and the peak: results stay the same, claims hold, a second run finds
// nothing to do. Returns how many limits are met.
inline int PlanForLimits(const HloModule& module,
                         std::initializer_list<int> percents, bool evaluate,
                         int64_t floor = 0) {
  const int64_t peak = Peak(module);
  MeaningOptions meaning_options;
  meaning_options.max_work = 50'000'000;
  auto meaning = ModuleMeaning::Make(module, meaning_options);
  int met = 0;
  for (int percent : percents) {
    const int64_t limit = floor + (peak - floor) * percent / 100;
    std::unique_ptr<HloModule> copy = module.Clone("");
    const RematPlanResult result = Plan(limit, copy.get());
    ExpectValid(copy.get(), result, limit);
    EXPECT_EQ(result.peak_before_bytes, peak);
    if (result.met) {
      ++met;
      EXPECT_FALSE(Plan(limit, copy.get()).changed);
    }
    if (!evaluate || !meaning.ok() || !result.changed) continue;
    auto difference = (*meaning)->DifferenceFrom(*copy);
    EXPECT_TRUE(difference.ok()) << difference.status();
    if (difference.ok()) {
      EXPECT_FALSE(difference->has_value()) << **difference << copy->ToString();
    }
  }
  return met;
}

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_PLANNER_TEST_UTIL_H_
