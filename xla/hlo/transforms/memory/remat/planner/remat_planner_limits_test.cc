// Plans of examples and random modules for several limits: what they cost, what
// they need, and that they compute the same.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner_test_util.h"
#include "xla/hlo/transforms/simplifiers/call_inliner.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/utils/module_io.h"

namespace xla {
namespace {

// How many random modules: HLO_RANDOM_MODULES in the environment.
uint64_t RandomModules() {
  const char* wanted = std::getenv("HLO_RANDOM_MODULES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 4;
}

// Whether to look at more limits and larger modules, too.
bool Wide() { return std::getenv("HLO_RANDOM_MODULES") != nullptr; }

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

// What no plan can do without.
int64_t LowerBound(const HloModule& module) {
  RematPlanOptions options;
  options.limit_bytes = std::numeric_limits<int64_t>::max();
  auto result = PlanRematerialization(module.Clone("").get(), options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result->lower_bound_bytes;
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

TEST(RematPlannerLimitsTest, CostsMoreAndNeedsLessAsTheLimitFalls) {
  ExpectMonotone(*Example("mlp_train"), {90, 70, 50});
  if (Wide()) ExpectMonotone(*Example("conv_train"), {90, 80, 70, 60, 50, 40});
}

// Falling limits of small modules choose among the same plans. The seeds are of
// modules with several of them, found soon.
TEST(RematPlannerLimitsTest, PlansOfSmallModulesAreMonotone) {
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

TEST(RematPlannerLimitsTest, KeepsTheMeaningOfExamples) {
  PlanForLimits(*Example("mlp_train"), {60}, true);
  if (!Wide()) return;
  PlanForLimits(*Example("mlp_train"), {85, 40}, true);
  PlanForLimits(*Example("conv_train"), {85, 60, 40}, true);
}

TEST(RematPlannerLimitsTest, RandomModules) {
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
TEST(RematPlannerLimitsTest, TiedClonesStay) {
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
      clones +=
          HloPredicateIsNotOp<HloOpcode::kBroadcast, HloOpcode::kConstant>(
              inst) &&
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

}  // namespace
}  // namespace xla
