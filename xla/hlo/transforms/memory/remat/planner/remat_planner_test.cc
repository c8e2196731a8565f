#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/memory/schedulers/remat_checker.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"
#include "xla/hlo/transforms/simplifiers/call_inliner.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// How many random modules: HLO_RANDOM_MODULES in the environment.
uint64_t RandomModules() {
  const char* wanted = std::getenv("HLO_RANDOM_MODULES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 4;
}

// Whether to look at more limits and larger modules, too.
bool Wide() { return std::getenv("HLO_RANDOM_MODULES") != nullptr; }

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

// What no plan can do without.
int64_t LowerBound(const HloModule& module) {
  RematPlanOptions options;
  options.limit_bytes = std::numeric_limits<int64_t>::max();
  auto result = PlanRematerialization(module.Clone("").get(), options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result->lower_bound_bytes;
}

// Plans copies of a module for several limits, percents of what lies between
// `floor` and the peak: results stay the same, claims hold, a second run finds
// nothing to do. Returns how many limits are met.
int PlanForLimits(const HloModule& module, std::initializer_list<int> percents,
                  bool evaluate, int64_t floor = 0) {
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

absl::Status AlwaysRemat(int64_t limit, HloModule* module) {
  HloCostAnalysis cost(DefaultRematDevice());
  HloRematerialization::RematerializationSizes sizes;
  HloRematerialization pass(
      HloRematerialization::Options(
          cost,
          HloRematerialization::RematerializationModeConfig(true, false, false),
          limit, 1, 1, 0, nullptr, std::nullopt, {}),
      sizes);
  return pass.Run(module).status();
}

// Plans of falling limits need less and less and cost more and more, and meet
// what OpenXLA's algorithm meets, at no more cost.
void ExpectMonotone(const HloModule& module,
                    std::initializer_list<int> percents) {
  const int64_t peak = Peak(module);
  int64_t least = peak;
  double most = 0;
  for (int percent : percents) {
    SCOPED_TRACE(percent);
    RematPlanOptions options;
    options.limit_bytes = peak * percent / 100;
    options.others.emplace_back("always", AlwaysRemat);
    std::unique_ptr<HloModule> ours = module.Clone("");
    auto result = PlanRematerialization(ours.get(), options);
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectValid(ours.get(), *result, options.limit_bytes);
    EXPECT_LE(result->peak_after_bytes, least);
    least = result->peak_after_bytes;
    if (result->met) {
      EXPECT_GE(result->work_after.seconds, most * (1 - 1e-9));
      most = result->work_after.seconds;
    }
    std::unique_ptr<HloModule> theirs = module.Clone("");
    ASSERT_TRUE(AlwaysRemat(options.limit_bytes, theirs.get()).ok());
    if (Peak(*theirs) > options.limit_bytes) continue;
    EXPECT_TRUE(result->met);
    auto work = ComputeRematWork(*theirs, DefaultRematDevice());
    ASSERT_TRUE(work.ok()) << work.status();
    EXPECT_LE(result->work_after.seconds, work->seconds * (1 + 1e-9));
  }
}

std::unique_ptr<HloModule> Example(const std::string& name) {
  auto module = ReadModuleFromFile(absl::StrCat("examples/", name, ".hlo"));
  EXPECT_TRUE(module.ok()) << module.status();
  PrepareAndSchedule(module->get());
  return *std::move(module);
}

TEST(RematPlannerTest, CostsMoreAndNeedsLessAsTheLimitFalls) {
  ExpectMonotone(*Example("mlp_train"), {90, 70, 50});
  if (Wide()) ExpectMonotone(*Example("conv_train"), {90, 80, 70, 60, 50, 40});
}

// Falling limits of small modules choose among the same plans. The seeds are of
// modules with several of them, found soon.
TEST(RematPlannerTest, PlansOfSmallModulesAreMonotone) {
  RandomModuleOptions random;
  random.steps = 30;
  int met = 0;
  for (uint64_t seed : {122, 293, 331, 429, 619, 910, 954}) {
    SCOPED_TRACE(seed);
    std::unique_ptr<HloModule> module = RandomModule(seed, random);
    PrepareAndSchedule(module.get());
    const int64_t peak = Peak(*module);
    const int64_t floor = LowerBound(*module);
    int64_t least = std::numeric_limits<int64_t>::max();
    double most = 0;
    for (int percent : {85, 60, 35, 10}) {
      SCOPED_TRACE(percent);
      const int64_t limit = floor + (peak - floor) * percent / 100;
      if (limit >= peak) continue;
      const RematPlanResult result = Plan(limit, module->Clone("").get());
      EXPECT_LE(result.peak_after_bytes, least);
      least = std::min(least, result.peak_after_bytes);
      if (!result.met) continue;
      ++met;
      EXPECT_GE(result.work_after.seconds, most * (1 - 1e-9));
      most = std::max(most, result.work_after.seconds);
    }
  }
  EXPECT_GT(met, 15);
}

TEST(RematPlannerTest, KeepsTheMeaningOfExamples) {
  PlanForLimits(*Example("mlp_train"), {60}, true);
  if (!Wide()) return;
  PlanForLimits(*Example("mlp_train"), {85, 40}, true);
  PlanForLimits(*Example("conv_train"), {85, 60, 40}, true);
}

TEST(RematPlannerTest, RandomModules) {
  RandomModuleOptions random;
  random.steps = 25;
  int met = 0;
  uint64_t seed = 0;
  for (uint64_t count = 0; count < RandomModules(); ++seed) {
    SCOPED_TRACE(seed);
    std::unique_ptr<HloModule> module = RandomModule(seed, random);
    PrepareAndSchedule(module.get());
    const int64_t floor = LowerBound(*module);
    if (floor >= Peak(*module)) continue;
    ++count;
    met += PlanForLimits(*module, {75, 25}, true, floor);
    if (!Wide()) continue;
    PlanForLimits(*module, {95, 50, 5, -20}, true, floor);
    ExpectMonotone(*module, {95, 80, 60, 30});
  }
  EXPECT_GT(met, 0);
}

// Clones behind barriers compute the same, and stay where others merge what
// they can merge: all but those that need no arguments.
TEST(RematPlannerTest, TiedClonesStay) {
  const std::unique_ptr<HloModule> module = Example("conv_train");
  auto meaning = ModuleMeaning::Make(*module, MeaningOptions());
  ASSERT_TRUE(meaning.ok()) << meaning.status();
  RematPlanOptions options;
  options.limit_bytes = Peak(*module) * 7 / 10;
  options.tie_clones = true;
  options.fuse = false;
  auto result = PlanRematerialization(module.get(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  ExpectValid(module.get(), *result, options.limit_bytes);
  auto difference = (*meaning)->DifferenceFrom(*module);
  ASSERT_TRUE(difference.ok()) << difference.status();
  EXPECT_FALSE(difference->has_value()) << **difference;
  const auto count_clones = [&module] {
    int64_t clones = 0;
    for (const HloInstruction* inst :
         module->entry_computation()->instructions()) {
      clones += inst->opcode() != HloOpcode::kBroadcast &&
                inst->name().find(".remat") != std::string::npos;
    }
    return clones;
  };
  const int64_t clones = count_clones();
  EXPECT_GT(clones, 0);
  // Others do not know what is marked as computed again.
  for (HloComputation* computation : module->computations()) {
    for (HloInstruction* inst : computation->instructions()) {
      inst->set_frontend_attributes({});
    }
  }
  EXPECT_TRUE(HloCSE(/*is_layout_sensitive=*/true).Run(module.get()).ok());
  EXPECT_TRUE(HloDCE().Run(module.get()).ok());
  EXPECT_EQ(count_clones(), clones);
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
