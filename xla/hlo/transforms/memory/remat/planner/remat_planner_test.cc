#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner_test_util.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(const std::string& text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return std::move(*module);
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
  // The rewrite of the loops is recomputation itself.
  EXPECT_FALSE(result.fused_seconds.has_value());
  EXPECT_GT(result.work_after.seconds, 0);
}

// A mask that a loop only passes through is computed in its body.
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
  RematPlanOptions options;
  options.limit_bytes = peak * 96 / 100;
  options.fuse = false;
  auto planned = PlanRematerialization(module.get(), options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const RematPlanResult& result = *planned;
  EXPECT_NE(result.method.find("invariants"), std::string::npos)
      << result.method;
  EXPECT_FALSE(result.fused_seconds.has_value());
}

TEST(RematPlannerTest, LeavesAModuleAloneThatFits) {
  auto module = Parse(kResiduals);
  const std::string before = module->ToString();
  const RematPlanResult result = Plan(Peak(*module), module.get());
  EXPECT_TRUE(result.met);
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(module->ToString(), before);
}

// What is no limit, or no schedule, is refused; what nothing can meet is not.
TEST(RematPlannerTest, BadInput) {
  auto module = Parse(kResiduals);
  const std::string before = module->ToString();
  RematPlanOptions options;
  options.limit_bytes = -1;
  EXPECT_EQ(PlanRematerialization(module.get(), options).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(module->ToString(), before);
  options.limit_bytes = 1;
  HloSchedule schedule = module->schedule();
  module->clear_schedule();
  const std::string unscheduled = module->ToString();
  EXPECT_EQ(PlanRematerialization(module.get(), options).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(module->ToString(), unscheduled);
  ASSERT_TRUE(module->set_schedule(std::move(schedule)).ok());
  for (int64_t limit : {int64_t{0}, int64_t{255}}) {  // outputs have 256 bytes
    const RematPlanResult result = Plan(limit, module.get());
    ExpectValid(module.get(), result, limit);
    EXPECT_FALSE(result.met);
    EXPECT_GT(result.lower_bound_bytes, 256);
    EXPECT_LE(result.lower_bound_bytes, result.peak_after_bytes);
  }
}

// Bytes are counted as the caller says.
TEST(RematPlannerTest, OtherSizes) {
  auto module = Parse(kResiduals);
  const int64_t peak = Peak(*module);
  RematPlanOptions options;
  options.sizes.shape_size = [](const Shape& shape) {
    return 10 * ShapeUtil::ByteSizeOf(shape, 8);
  };
  options.limit_bytes = 10 * peak * 3 / 4;
  auto result = PlanRematerialization(module.get(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->peak_before_bytes, 10 * peak);
  EXPECT_TRUE(result->met);
  EXPECT_EQ(result->peak_after_bytes, 10 * Peak(*module));
  EXPECT_EQ(result->lower_bound_bytes % 10, 0);
}

// Where buffers take more than the peak, that is what counts: of the module as
// it is, which meets the limit by its peak, and of what reaches lowest.
TEST(RematPlannerTest, BuffersHaveToFindPlaces) {
  auto module = Parse(kResiduals);
  const int64_t peak = Peak(*module);
  constexpr int64_t kLost = 100;
  RematPlanOptions options;
  options.placed = [](const HloModule& placed) { return Peak(placed) + kLost; };
  const auto plan = [&](int64_t limit) {
    std::unique_ptr<HloModule> copy = module->Clone("");
    options.limit_bytes = limit;
    auto result = PlanRematerialization(copy.get(), options);
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->peak_before_bytes, peak);
    EXPECT_EQ(result->met, Peak(*copy) + kLost <= limit);
    EXPECT_EQ(result->peak_after_bytes,
              Peak(*copy) + (result->met ? 0 : kLost));
    return *result;
  };
  const RematPlanResult changed = plan(peak);
  EXPECT_TRUE(changed.met);
  EXPECT_TRUE(changed.changed);
  EXPECT_FALSE(plan(peak + kLost).changed);
  const RematPlanResult missed = plan(300);
  EXPECT_FALSE(missed.met);
  EXPECT_TRUE(plan(missed.peak_after_bytes).met);
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

// Neither the mask nor what it is made of takes memory: both are computed in
// their reader. Without that, broadcast, iota and mask alone need 36 KiB.
TEST(RematPlannerTest, ComputesAMaskInItsReader) {
  auto module = Parse(R"(
HloModule one_hot, is_scheduled=true
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  labels = s32[64]{0} parameter(0)
  logits = f32[64,64]{1,0} parameter(1)
  b = s32[64,64]{1,0} broadcast(labels), dimensions={0}
  i = s32[64,64]{1,0} iota(), iota_dimension=1
  m = pred[64,64]{1,0} compare(b, i), direction=EQ
  e = f32[64,64]{1,0} exponential(logits)
  zero = f32[] constant(0)
  zeros = f32[64,64]{1,0} broadcast(zero), dimensions={}
  s = f32[64,64]{1,0} select(m, e, zeros)
  ROOT r = f32[64]{0} reduce(s, zero), dimensions={1}, to_apply=add
}
)");
  const int64_t limit = 33 * 1024;
  EXPECT_GT(Peak(*module), limit);
  std::unique_ptr<HloModule> copy = module->Clone("");
  const RematPlanResult result = Plan(limit, copy.get());
  EXPECT_TRUE(result.met);
  EXPECT_NE(result.method.find("fuse"), std::string::npos) << result.method;
  // Fusing alone is all that was done.
  ASSERT_TRUE(result.fused_seconds.has_value());
  EXPECT_LT(*result.fused_seconds, result.work_before.seconds);
  EXPECT_DOUBLE_EQ(*result.fused_seconds, result.work_after.seconds);
  RematPlanOptions options;
  options.limit_bytes = limit;
  options.fuse = false;
  auto without = PlanRematerialization(module->Clone("").get(), options);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_FALSE(without->met);
  EXPECT_GT(without->lower_bound_bytes, limit);
  PlanForLimits(*module, {95, 75, 50}, true);
}

// The loops of kResiduals with their accesses of the stacks in fusions.
TEST(RematPlannerTest, ComputesAResidualAgainThatFusionsHandle) {
  std::string text = kResiduals;
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("fcond {", R"(write {
  st = f32[8,64]{1,0} parameter(0)
  v = f32[64]{0} parameter(1)
  k = s32[] parameter(2)
  z = s32[] constant(0)
  r = f32[1,64]{1,0} reshape(v)
  ROOT d = f32[8,64]{1,0} dynamic-update-slice(st, r, k, z)
}
read {
  sh = f32[8,64]{1,0} parameter(0)
  sx = f32[8,64]{1,0} parameter(1)
  k = s32[] parameter(2)
  z = s32[] constant(0)
  n = s32[] constant(7)
  d = s32[] subtract(n, k)
  rh = f32[1,64]{1,0} dynamic-slice(sh, d, z), dynamic_slice_sizes={1,64}
  rx = f32[1,64]{1,0} dynamic-slice(sx, d, z), dynamic_slice_sizes={1,64}
  ROOT m = f32[1,64]{1,0} multiply(rh, rx)
}
fcond {)");
  replace("  yr = f32[1,64]{1,0} reshape(y)\n", "");
  replace("dynamic-update-slice(xs, yr, i, zero)",
          "fusion(xs, y, i), kind=kLoop, calls=write");
  replace("  k = s32[] subtract(seven, i)\n", "");
  replace("  seven = s32[] constant(7)\n", "");
  for (const char* name : {"hi", "xi"}) {
    const size_t at = text.find(std::string("  ") + name + " = ");
    ASSERT_NE(at, std::string::npos);
    text.erase(at, text.find('\n', at) + 1 - at);
  }
  replace("multiply(hi, xi)", "fusion(hs, xs, i), kind=kLoop, calls=read");
  auto module = Parse(text);
  EXPECT_EQ(PlanForLimits(*module, {75}, true), 1);
  const RematPlanResult result = Plan(Peak(*module) * 3 / 4, module.get());
  EXPECT_NE(result.method.find("residuals"), std::string::npos)
      << result.method;
}

// Wherever the caller's accounting fails, the module stays as it was.
TEST(RematPlannerTest, LeavesTheModuleAloneOnErrors) {
  auto original = Parse(kResiduals);
  const int64_t peak = Peak(*original);
  int failures = 0;
  for (int effort : {0, 1}) {
    for (int calls = 0;; calls += 1 + calls / 2) {
      std::unique_ptr<HloModule> module = original->Clone("");
      const std::string before = module->ToString();
      RematPlanOptions options;
      options.limit_bytes = peak * 3 / 4;
      options.effort = effort;
      int left = calls;
      options.peak = [&](const HloModule& of) -> absl::StatusOr<int64_t> {
        if (left-- == 0) return absl::UnavailableError("no more");
        return Peak(of);
      };
      auto result = PlanRematerialization(module.get(), options);
      if (result.ok() && left >= 0) break;  // it has never failed
      if (result.ok()) continue;            // another variant was good enough
      ++failures;
      EXPECT_EQ(result.status().code(), absl::StatusCode::kUnavailable);
      ASSERT_EQ(module->ToString(), before) << "after " << calls << " calls";
    }
  }
  EXPECT_GT(failures, 2);
}

// Another way that fails is no candidate, and leaves nothing behind.
TEST(RematPlannerTest, TakesNothingFromAWayThatFails) {
  auto module = Parse(kResiduals);
  RematPlanOptions options;
  options.limit_bytes = 1;
  options.others.emplace_back("broken", [](int64_t, HloModule* copy) {
    copy->clear_schedule();
    return absl::InternalError("broken");
  });
  auto result = PlanRematerialization(module.get(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NE(result->method, "broken");
  EXPECT_FALSE(result->met);
  EXPECT_TRUE(module->schedule().Verify().ok());
}

// A loop's body runs on another thread than the caller wants changed.
TEST(RematPlannerTest, OtherThreadsStayAsTheyAre) {
  const std::unique_ptr<HloModule> module = Parse(R"(
HloModule threads, is_scheduled=true
work {
  p = f32[1024]{0} parameter(0)
  first = f32[1024]{0} exponential(p)
  second = f32[1024]{0} reverse(first), dimensions={0}
  third = f32[1024]{0} reverse(second), dimensions={0}
  last = f32[1024]{0} tanh(third)
  ROOT r = f32[1024]{0} multiply(first, last)
}, execution_thread="worker"
ENTRY main {
  q = f32[1024]{0} parameter(0)
  start = ((f32[1024]{0}), f32[1024]{0}, u32[]) call-start(q), async_execution_thread="worker", to_apply=work
  ROOT done = f32[1024]{0} call-done(start)
})");
  RematPlanOptions options;
  options.limit_bytes = Peak(*module) - 4096;
  std::unique_ptr<HloModule> copy = module->Clone("");
  auto everywhere = PlanRematerialization(copy.get(), options);
  ASSERT_TRUE(everywhere.ok()) << everywhere.status();
  EXPECT_TRUE(everywhere->met);
  EXPECT_TRUE(everywhere->changed);
  options.execution_threads = {"main"};
  options.across_loops = options.fuse = options.reschedule = false;
  copy = module->Clone("");
  auto here = PlanRematerialization(copy.get(), options);
  ASSERT_TRUE(here.ok()) << here.status();
  EXPECT_FALSE(here->met);
  EXPECT_FALSE(here->changed);
}

}  // namespace
}  // namespace xla
