#include "xla/hlo/transforms/memory/remat_plan/remat_planner.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/memory/compute_schedule.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_accounting.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_checker.h"
#include "xla/hlo/transforms/simplifiers/call_inliner.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(const std::string& text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return std::move(*module);
}

// As before scheduling, then the default order.
void PrepareAndSchedule(HloModule* module) {
  EXPECT_TRUE(CallInliner().Run(module).ok());
  EXPECT_TRUE(FlattenCallGraph().Run(module).ok());
  EXPECT_TRUE(TupleSimplifier().Run(module).ok());
  EXPECT_TRUE(HloDCE().Run(module).ok());
  ScheduleOptions options;
  options.algorithm = ScheduleAlgorithm::kDefault;
  auto schedule = ComputeSchedule(module, options);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  ASSERT_TRUE(module->set_schedule(std::move(schedule->schedule)).ok());
}

int64_t Peak(const HloModule& module) {
  auto peak = ComputeRematPeak(module, module.schedule());
  EXPECT_TRUE(peak.ok()) << peak.status();
  return peak->bytes;
}

RematPlanResult Plan(int64_t limit, HloModule* module) {
  RematPlanOptions options;
  options.limit_bytes = limit;
  auto result = PlanRematerialization(module, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

void ExpectValid(HloModule* module, const RematPlanResult& result,
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

// Plans copies of a module for several limits: results stay the same, claims
// hold, a second run finds nothing to do. Returns how many limits are met.
int PlanForLimits(const HloModule& module, std::initializer_list<int> percents,
                  bool evaluate) {
  const int64_t peak = Peak(module);
  MeaningOptions meaning_options;
  meaning_options.max_work = 50'000'000;
  auto meaning = ModuleMeaning::Make(module, meaning_options);
  int met = 0;
  for (int percent : percents) {
    const int64_t limit = peak * percent / 100;
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

constexpr char kResiduals[] = R"(
HloModule step, is_scheduled=true
fcond {
  s = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}, f32[64,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT lt = pred[] compare(i, n), direction=LT
}
fbody {
  s = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}, f32[64,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[64]{0} get-tuple-element(s), index=1
  hs = f32[8,64]{1,0} get-tuple-element(s), index=2
  xs = f32[8,64]{1,0} get-tuple-element(s), index=3
  w = f32[64,8]{1,0} get-tuple-element(s), index=4
  zero = s32[] constant(0)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  wi = f32[64,1]{1,0} dynamic-slice(w, zero, i), dynamic_slice_sizes={64,1}
  wr = f32[64]{0} reshape(wi)
  x = f32[64]{0} multiply(h, wr)
  y = f32[64]{0} tanh(x)
  hr = f32[1,64]{1,0} reshape(h)
  hs2 = f32[8,64]{1,0} dynamic-update-slice(hs, hr, i, zero)
  yr = f32[1,64]{1,0} reshape(y)
  xs2 = f32[8,64]{1,0} dynamic-update-slice(xs, yr, i, zero)
  ROOT t = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}, f32[64,8]{1,0}) tuple(j, y, hs2, xs2, w)
}
bcond {
  s = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT lt = pred[] compare(i, n), direction=LT
}
bbody {
  s = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  g = f32[64]{0} get-tuple-element(s), index=1
  hs = f32[8,64]{1,0} get-tuple-element(s), index=2
  xs = f32[8,64]{1,0} get-tuple-element(s), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  seven = s32[] constant(7)
  j = s32[] add(i, one)
  k = s32[] subtract(seven, i)
  hi = f32[1,64]{1,0} dynamic-slice(hs, k, zero), dynamic_slice_sizes={1,64}
  xi = f32[1,64]{1,0} dynamic-slice(xs, k, zero), dynamic_slice_sizes={1,64}
  m = f32[1,64]{1,0} multiply(hi, xi)
  mr = f32[64]{0} reshape(m)
  g2 = f32[64]{0} add(g, mr)
  ROOT t = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}) tuple(j, g2, hs, xs)
}
ENTRY main {
  p = f32[64]{0} parameter(0)
  w = f32[64,8]{1,0} parameter(1)
  zero = s32[] constant(0)
  fzero = f32[] constant(0)
  stack = f32[8,64]{1,0} broadcast(fzero), dimensions={}
  stack2 = f32[8,64]{1,0} broadcast(fzero), dimensions={}
  init = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}, f32[64,8]{1,0}) tuple(zero, p, stack, stack2, w)
  fw = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}, f32[64,8]{1,0}) while(init), condition=fcond, body=fbody
  y = f32[64]{0} get-tuple-element(fw), index=1
  hs = f32[8,64]{1,0} get-tuple-element(fw), index=2
  xs = f32[8,64]{1,0} get-tuple-element(fw), index=3
  init2 = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}) tuple(zero, y, hs, xs)
  bw = (s32[], f32[64]{0}, f32[8,64]{1,0}, f32[8,64]{1,0}) while(init2), condition=bcond, body=bbody
  ROOT r = f32[64]{0} get-tuple-element(bw), index=1
}
)";

// What tanh leaves for the backward loop follows from what went into it.
TEST(RematPlannerTest, ComputesAResidualAgainInTheBackwardLoop) {
  auto module = Parse(kResiduals);
  const int64_t peak = Peak(*module);
  EXPECT_EQ(PlanForLimits(*module, {75}, true), 1);
  const RematPlanResult result = Plan(peak * 3 / 4, module.get());
  EXPECT_NE(result.method.find("residuals"), std::string::npos)
      << result.method;
  EXPECT_GT(result.work_after.seconds, 0);
}

// A mask that a loop only hands through is made in its body.
TEST(RematPlannerTest, SinksAnInvariantIntoALoop) {
  auto module = Parse(R"(
HloModule loop, is_scheduled=true
cond {
  s = (s32[], f32[64,64]{1,0}, pred[64,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[64,64]{1,0}, pred[64,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64,64]{1,0} get-tuple-element(s), index=1
  m = pred[64,64]{1,0} get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  a = f32[64,64]{1,0} negate(x)
  b = f32[64,64]{1,0} cosine(a)
  y = f32[64,64]{1,0} select(m, b, x)
  ROOT t = (s32[], f32[64,64]{1,0}, pred[64,64]{1,0}) tuple(j, y, m)
}
ENTRY main {
  p = f32[64,64]{1,0} parameter(0)
  q = pred[64]{0} parameter(1)
  zero = s32[] constant(0)
  m = pred[64,64]{1,0} broadcast(q), dimensions={1}
  init = (s32[], f32[64,64]{1,0}, pred[64,64]{1,0}) tuple(zero, p, m)
  w = (s32[], f32[64,64]{1,0}, pred[64,64]{1,0}) while(init), condition=cond, body=body
  ROOT r = f32[64,64]{1,0} get-tuple-element(w), index=1
}
)");
  const int64_t peak = Peak(*module);
  EXPECT_EQ(PlanForLimits(*module, {96}, true), 1);
  const RematPlanResult result = Plan(peak * 96 / 100, module.get());
  EXPECT_NE(result.method.find("invariants"), std::string::npos)
      << result.method;
}

TEST(RematPlannerTest, LeavesAModuleAloneThatFits) {
  auto module = Parse(kResiduals);
  const std::string before = module->ToString();
  const RematPlanResult result = Plan(Peak(*module), module.get());
  EXPECT_TRUE(result.met);
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(module->ToString(), before);
  RematPlanOptions options;
  options.limit_bytes = -1;
  EXPECT_FALSE(PlanRematerialization(module.get(), options).ok());
  EXPECT_EQ(module->ToString(), before);
}

TEST(RematPlannerTest, CseDoesNotUndoIt) {
  auto module = Parse(R"(
HloModule waits, is_scheduled=true
ENTRY main {
  p = f32[] parameter(0)
  b = f32[1024]{0} broadcast(p), dimensions={}
  n = f32[1024]{0} negate(b)
  c = f32[2048]{0} concatenate(n, n), dimensions={0}
  d = f32[4096]{0} concatenate(c, c), dimensions={0}
  s = f32[1024]{0} slice(d), slice={[0:1024]}
  a = f32[1024]{0} add(b, s)
  ROOT r = f32[1]{0} slice(a), slice={[0:1]}
}
)");
  const int64_t limit = Peak(*module) - 4000;
  EXPECT_TRUE(Plan(limit, module.get()).met);
  EXPECT_TRUE(HloCSE(/*is_layout_sensitive=*/true).Run(module.get()).ok());
  EXPECT_LE(Peak(*module), limit);
}

TEST(RematPlannerTest, KeepsTheMeaningOfAnExample) {
  auto module = ReadModuleFromFile("examples/mlp_train.hlo");
  ASSERT_TRUE(module.ok()) << module.status();
  PrepareAndSchedule(module->get());
  const RematPlanResult as_is = Plan(int64_t{1} << 60, module->get());
  const int64_t limit = (as_is.peak_before_bytes + as_is.lower_bound_bytes) / 2;
  const int percent = static_cast<int>(100 * limit / as_is.peak_before_bytes);
  PlanForLimits(**module, {percent}, true);
}

TEST(RematPlannerTest, KeepsTheMeaningOfRandomModules) {
  RandomModuleOptions random;
  random.steps = 25;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::unique_ptr<HloModule> module = RandomModule(seed, random);
    PrepareAndSchedule(module.get());
    PlanForLimits(*module, {95, 75}, true);
  }
}

}  // namespace
}  // namespace xla
