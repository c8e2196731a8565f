#include "xla/hlo/transforms/memory/remat/planner/remat_limits.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"

namespace xla {
namespace {

// A training step of layers of different widths: what waits for the backward
// pass is all there is. Then scalars, to have more than 500 instructions.
std::unique_ptr<HloModule> MakeLayers() {
  constexpr int kLayers = 12;
  constexpr int kScalars = 450;
  uint32_t random = 1;
  std::string text = R"(HloModule layers
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  t0 = f32[] parameter(0)
)";
  for (int i = 1; i <= kLayers; ++i) {
    random = random * 1664525 + 1013904223;
    const std::string row = absl::StrCat("f32[", 256 << (random >> 30), "]{0}");
    absl::StrAppend(&text, "  b", i, " = ", row, " broadcast(t", i - 1,
                    "), dimensions={}\n  w", i, " = ", row, " sine(b", i,
                    ")\n  t", i, " = f32[] reduce(w", i,
                    ", t0), dimensions={0}, to_apply=add\n");
  }
  absl::StrAppend(&text, "  g0 = f32[] cosine(t", kLayers, ")\n");
  for (int i = 1; i <= kLayers; ++i) {
    absl::StrAppend(&text, "  r", i, " = f32[] reduce(w", kLayers - i + 1,
                    ", g", i - 1, "), dimensions={0}, to_apply=add\n  g", i,
                    " = f32[] multiply(r", i, ", g", i - 1, ")\n");
  }
  absl::StrAppend(&text, "  n0 = f32[] negate(g", kLayers, ")\n");
  for (int i = 1; i <= kScalars; ++i) {
    absl::StrAppend(&text, "  n", i, " = f32[] negate(n", i - 1, ")\n");
  }
  absl::StrAppend(&text, "  ROOT r = f32[] negate(n", kScalars, ")\n}\n");
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  ScheduleOptions options;
  options.algorithm = ScheduleAlgorithm::kDefault;
  auto schedule = ComputeSchedule(module->get(), options);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_TRUE((*module)->set_schedule(std::move(schedule->schedule)).ok());
  return *std::move(module);
}

// Limits that are tenths of the peak choose among the same plans: a higher one
// that costs much costs no more than a lower one, met or not, and a lower one
// that is missed needs no more than a higher one.
TEST(RematLimitsTest, TenthsOfThePeakShareTheirPlans) {
  const std::unique_ptr<HloModule> module = MakeLayers();
  ASSERT_GT(module->instruction_count(), 500);
  auto peak = ComputeRematPeak(*module, module->schedule());
  ASSERT_TRUE(peak.ok()) << peak.status();
  std::vector<RematPlanResult> results;
  std::vector<int64_t> limits;
  for (int percent : {50, 30}) {
    RematPlanOptions options;
    options.limit_bytes = static_cast<int64_t>(
        static_cast<double>(percent) / 100 * static_cast<double>(peak->bytes));
    options.fuse = options.reschedule = false;
    auto result = PlanRematerialization(module->Clone("").get(), options);
    ASSERT_TRUE(result.ok()) << result.status();
    results.push_back(*result);
    limits.push_back(options.limit_bytes);
  }
  for (size_t high = 0; high < results.size(); ++high) {
    for (size_t low = high + 1; low < results.size(); ++low) {
      if (!results[low].met) {
        EXPECT_LE(results[low].peak_after_bytes,
                  results[high].peak_after_bytes);
      }
      if (results[low].peak_after_bytes <= limits[high]) {
        EXPECT_LE(results[high].work_after.seconds,
                  std::max(results[low].work_after.seconds,
                           1.05 * results[high].work_before.seconds));
      }
    }
  }
}

}  // namespace
}  // namespace xla
