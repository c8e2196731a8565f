#include "xla/hlo/transforms/memory/remat/planner/remat_limits.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/loops/remat_device.h"
#include "xla/hlo/transforms/memory/remat/planner/nested_plan.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_trials.h"

namespace xla {
namespace {

// A loop keeps what another one reads, which can be computed there instead.
constexpr absl::string_view kLoops = R"(
fcond {
  s = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT lt = pred[] compare(i, n), direction=LT
}
fbody {
  s = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[8]{0} get-tuple-element(s), index=1
  hs = f32[4,8]{1,0} get-tuple-element(s), index=2
  xs = f32[4,8]{1,0} get-tuple-element(s), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[8]{0} tanh(h)
  hr = f32[1,8]{1,0} reshape(h)
  hs2 = f32[4,8]{1,0} dynamic-update-slice(hs, hr, i, zero)
  yr = f32[1,8]{1,0} reshape(y)
  xs2 = f32[4,8]{1,0} dynamic-update-slice(xs, yr, i, zero)
  ROOT t = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) tuple(j, y, hs2, xs2)
}
bbody {
  s = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  g = f32[8]{0} get-tuple-element(s), index=1
  hs = f32[4,8]{1,0} get-tuple-element(s), index=2
  xs = f32[4,8]{1,0} get-tuple-element(s), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  three = s32[] constant(3)
  j = s32[] add(i, one)
  k = s32[] subtract(three, i)
  hi = f32[1,8]{1,0} dynamic-slice(hs, k, zero), dynamic_slice_sizes={1,8}
  xi = f32[1,8]{1,0} dynamic-slice(xs, k, zero), dynamic_slice_sizes={1,8}
  m = f32[1,8]{1,0} multiply(hi, xi)
  mr = f32[8]{0} reshape(m)
  g2 = f32[8]{0} add(g, mr)
  ROOT t = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) tuple(j, g2, hs, xs)
}
bcond {
  s = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT lt = pred[] compare(i, n), direction=LT
}
)";
constexpr absl::string_view kRunLoops = R"(
  izero = s32[] constant(0)
  fzero = f32[] constant(0)
  stack = f32[4,8]{1,0} broadcast(fzero), dimensions={}
  stack2 = f32[4,8]{1,0} broadcast(fzero), dimensions={}
  p = f32[8]{0} broadcast(p0), dimensions={}
  init = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) tuple(izero, p, stack, stack2)
  fw = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) while(init), condition=fcond, body=fbody
  y = f32[8]{0} get-tuple-element(fw), index=1
  hs = f32[4,8]{1,0} get-tuple-element(fw), index=2
  xs = f32[4,8]{1,0} get-tuple-element(fw), index=3
  init2 = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) tuple(izero, y, hs, xs)
  bw = (s32[], f32[8]{0}, f32[4,8]{1,0}, f32[4,8]{1,0}) while(init2), condition=bcond, body=bbody
  z = f32[8]{0} get-tuple-element(bw), index=1
  t0 = f32[] reduce(z, fzero), dimensions={0}, to_apply=add
)";

// A training step of layers of different widths: what waits for the backward
// pass is all there is. Then scalars, to have more than 500 instructions.
std::unique_ptr<HloModule> MakeLayers(bool with_loops = false) {
  constexpr int kLayers = 12;
  constexpr int kScalars = 450;
  uint32_t random = 1;
  std::string text = R"(HloModule layers
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
)";
  absl::StrAppend(&text, with_loops ? kLoops : "", "ENTRY main {\n",
                  with_loops ? "  p0" : "  t0", " = f32[] parameter(0)\n",
                  with_loops ? kRunLoops : "");
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

// The best known for each tenth of the peak, after a search for one limit.
std::vector<std::pair<int64_t, double>> BestForTenths(const HloModule& module,
                                                      int64_t limit_bytes) {
  RematPlanOptions options;
  options.limit_bytes = limit_bytes;
  options.fuse = options.reschedule = false;
  remat_plan::RematTrials trials(module, options);
  EXPECT_TRUE(trials.Start().ok());
  EXPECT_TRUE(remat_plan::LimitSearch(options, &trials).Run(limit_bytes).ok());
  // Otherwise the search ends before it has come by all tenths.
  EXPECT_TRUE(!trials.Met() || trials.best().work.seconds >
                                   1.001 * trials.base().outcome.work.seconds);
  std::vector<std::pair<int64_t, double>> best;
  for (int tenths = 9; tenths > 0; --tenths) {
    trials.SetTarget(trials.peak_before_bytes() / 10 * tenths);
    best.emplace_back(trials.best().peak_bytes, trials.best().work.seconds);
  }
  return best;
}

// Limits that are tenths of the peak, and are missed or cost time, end with the
// same plans for all limits, so that a higher one costs no more than a lower
// one, and a lower one needs no more than a higher one.
TEST(RematLimitsTest, TenthsOfThePeakShareTheirPlans) {
  const std::unique_ptr<HloModule> module = MakeLayers();
  ASSERT_GT(module->instruction_count(), 500);
  auto peak = ComputeRematPeak(*module, module->schedule());
  ASSERT_TRUE(peak.ok()) << peak.status();
  const auto tenths = [&](int n) {
    return static_cast<int64_t>(10.0 * n / 100 *
                                static_cast<double>(peak->bytes));
  };
  const auto low = BestForTenths(*module, tenths(1));
  EXPECT_EQ(BestForTenths(*module, tenths(3)), low);
  // Plans for high limits were found on the way, and cost less.
  EXPECT_LT(low.front().second, low.back().second);
}

// A compiler that finds room for plans of about 65 % of the peak, and needs
// half of the peak more for all others.
class MeasuredSearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto peak = ComputeRematPeak(*module_, module_->schedule());
    ASSERT_TRUE(peak.ok()) << peak.status();
    as_is_ = peak->bytes;
    options_.reschedule = options_.fuse = false;
    options_.fused.emplace();
    options_.max_measured = 24;
    options_.peak =
        [this](const HloModule& planned) -> absl::StatusOr<int64_t> {
      ++measured_;
      auto now = ComputeRematPeak(planned, planned.schedule());
      if (!now.ok()) return now.status();
      const int64_t bytes = now->bytes;
      const bool likes_it = bytes >= Share(63) && bytes <= Share(68);
      return likes_it || bytes >= as_is_ ? bytes : bytes + Share(50);
    };
  }

  int64_t Share(int percent) const { return as_is_ * percent / 100; }

  // Expects the plan that the compiler likes.
  void PlanFor(int percent, bool met) {
    SCOPED_TRACE(percent);
    options_.limit_bytes = Share(percent);
    measured_ = 0;
    auto result = PlanRematerialization(module_->Clone("").get(), options_);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->met, met);
    EXPECT_GE(result->peak_after_bytes, Share(63));
    EXPECT_LE(result->peak_after_bytes, Share(68));
    // And the module as it is.
    EXPECT_LE(measured_, options_.max_measured + 1);
  }

 private:
  const std::unique_ptr<HloModule> module_ = MakeLayers();
  int64_t as_is_ = 0;
  int measured_ = 0;
  RematPlanOptions options_;
};

// Plans for tenths of the peak, and for what these exceed the limit by, pass
// that by.
TEST_F(MeasuredSearchTest, FindsTheAimThatACompilerLikes) {
  for (const int percent : {90, 80, 70}) PlanFor(percent, /*met=*/true);
}

// Where nothing fits, plans for higher limits may need least.
TEST_F(MeasuredSearchTest, LooksAboveALimitThatIsTooLow) {
  PlanFor(40, /*met=*/false);
}

// Few measurements find the variant that the compiler likes better, and all
// others go to its plans.
TEST(MeasuredLoopsTest, SpendsMeasurementsOnTheBestVariant) {
  const std::unique_ptr<HloModule> module = MakeLayers(/*with_loops=*/true);
  auto peak = ComputeRematPeak(*module, module->schedule());
  ASSERT_TRUE(peak.ok()) << peak.status();
  const int64_t as_is = peak->bytes;
  int64_t of_variant = 0, measured = 0;
  RematPlanOptions options;
  options.reschedule = options.fuse = false;
  options.fused.emplace();
  options.max_measured = 24;
  options.limit_bytes = as_is / 4;
  options.peak = [&](const HloModule& planned) -> absl::StatusOr<int64_t> {
    auto now = ComputeRematPeak(planned, planned.schedule());
    if (!now.ok()) return now.status();
    ++measured;
    // The second loop computes what it read.
    const auto has = [](const HloComputation* computation, HloOpcode opcode) {
      return absl::c_any_of(
          computation->instructions(),
          [=](const HloInstruction* inst) { return inst->opcode() == opcode; });
    };
    const bool is_variant = absl::c_any_of(
        planned.computations(), [&](const HloComputation* computation) {
          return has(computation, HloOpcode::kDynamicSlice) &&
                 has(computation, HloOpcode::kTanh);
        });
    of_variant += is_variant;
    if (now->bytes >= as_is) return now->bytes;
    return now->bytes + as_is * (is_variant ? 2 : 6) / 10;
  };
  auto result = PlanRematerialization(module->Clone("").get(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(of_variant, measured / 2);
}

// A planner for a small random module.
class NestedPlannerTest : public ::testing::Test {
 protected:
  void Start(uint64_t seed) {
    RandomModuleOptions random;
    random.steps = 60;
    planner_ = nullptr;
    module_ = RandomModule(seed, random);
    HloSchedule schedule(module_.get());
    for (HloComputation* computation : module_->MakeNonfusionComputations()) {
      schedule.set_sequence(computation,
                            computation->MakeInstructionPostOrder());
    }
    ASSERT_TRUE(module_->set_schedule(std::move(schedule)).ok());
    auto cost = remat_plan::CostOfModule(*module_, DefaultRematDevice());
    ASSERT_TRUE(cost.ok()) << cost.status();
    cost_ = *std::move(cost);
    planner_ = std::make_unique<remat_plan::NestedPlanner>(
        *module_, *cost_, sizes_, /*effort=*/1, /*reorder=*/true,
        /*in_place=*/nullptr, &work_);
    auto as_is = planner_->PlanEntry(std::numeric_limits<int64_t>::max());
    ASSERT_TRUE(as_is.ok()) << as_is.status();
    peak_bytes_ = as_is->peak_bytes;
  }

  int64_t Share(int percent) const { return peak_bytes_ * percent / 100; }

  remat_plan::NestedPlanner::Plan PlanFor(int percent) {
    work_ = 20'000;
    auto plan = planner_->PlanEntry(Share(percent));
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }

  remat_plan::NestedPlanner& planner() { return *planner_; }

 private:
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloCostAnalysis> cost_;
  const RematSizeOptions sizes_;
  int64_t work_ = 0;
  std::unique_ptr<remat_plan::NestedPlanner> planner_;
  int64_t peak_bytes_ = 0;
};

// A plan for a lower limit serves a higher one that it costs less for: asked
// again, limits that have been planned for before get what has come up since.
TEST_F(NestedPlannerTest, PlansServeOtherLimits) {
  int planned = 0, better = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(Start(seed));
    std::vector<double> first;
    for (int percent = 95; percent >= 35; percent -= 5) {
      first.push_back(PlanFor(percent).added_seconds);
    }
    // From the lowest limit up.
    double most = std::numeric_limits<double>::infinity();
    for (int percent = 35; percent <= 95; percent += 5) {
      const auto plan = PlanFor(percent);
      if (plan.peak_bytes <= Share(percent)) {
        EXPECT_LE(plan.added_seconds, most);
        most = plan.added_seconds;
        ++planned;
      }
      better += plan.added_seconds < first.back() ? 1 : 0;
      first.pop_back();
    }
  }
  EXPECT_GT(planned, 40);
  EXPECT_GT(better, 0);
}

// A plan that was refused does not come back because it is the cheapest that is
// known.
TEST_F(NestedPlannerTest, ForgottenPlansServeNoOtherLimits) {
  int served = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(Start(seed));
    std::vector<double> first;
    for (int percent = 95; percent >= 35; percent -= 5) {
      first.push_back(PlanFor(percent).added_seconds);
    }
    for (int percent = 35; percent <= 95; percent += 5) {
      const auto plan = PlanFor(percent);
      if (plan.added_seconds < first.back()) {
        ++served;
        planner().Forget(plan);
        EXPECT_GT(PlanFor(percent).added_seconds, plan.added_seconds);
      }
      first.pop_back();
    }
  }
  EXPECT_GT(served, 0);
}

}  // namespace
}  // namespace xla
