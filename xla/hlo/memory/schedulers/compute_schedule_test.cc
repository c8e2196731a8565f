#include "xla/hlo/memory/schedulers/compute_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/hlo/memory/schedulers/best_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/default_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/schedule_checker.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/service/memory_scheduler_metrics.pb.h"

namespace xla {
namespace {

constexpr char kTwoChains[] = R"(
HloModule two_chains
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  p = f32[] parameter(0)
  zero = f32[] constant(0)
  a1 = f32[1000]{0} broadcast(p), dimensions={}
  c1 = f32[1000]{0} broadcast(p), dimensions={}
  a2 = f32[10,100]{1,0} reshape(a1)
  c2 = f32[10,100]{1,0} reshape(c1)
  a3 = f32[10]{0} reduce(a2, zero), dimensions={1}, to_apply=sum
  c3 = f32[10]{0} reduce(c2, zero), dimensions={1}, to_apply=sum
  ROOT r = f32[10]{0} add(a3, c3)
}
)";

constexpr char kLoop[] = R"(
HloModule loop
cond {
  s = (s32[], f32[100]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[100]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[100]{0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  a = f32[100]{0} negate(x)
  b = f32[100]{0} exponential(x)
  y = f32[100]{0} add(a, b)
  ROOT t = (s32[], f32[100]{0}) tuple(j, y)
}
ENTRY main {
  x = f32[100]{0} parameter(0)
  m = f32[100]{0} negate(x)
  zero = s32[] constant(0)
  t = (s32[], f32[100]{0}) tuple(zero, m)
  w = (s32[], f32[100]{0}) while(t), condition=cond, body=body
  ROOT r = f32[100]{0} get-tuple-element(w), index=1
}
)";

std::unique_ptr<HloModule> Parse(const std::string& text) {
  return ParseAndReturnUnverifiedModule(text).value();
}

ScheduleResult Compute(HloModule* module, ScheduleAlgorithm algorithm) {
  ScheduleOptions options;
  options.algorithm = algorithm;
  absl::StatusOr<ScheduleResult> result = ComputeSchedule(module, options);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(CheckSchedule(*module, result->schedule).ok());
  return *std::move(result);
}

TEST(ComputeScheduleTest, EveryAlgorithmGivesALegalSchedule) {
  for (const char* text : {kTwoChains, kLoop}) {
    std::unique_ptr<HloModule> module = Parse(text);
    ScheduleResult best = Compute(module.get(), ScheduleAlgorithm::kBest);
    for (ScheduleAlgorithm algorithm :
         {ScheduleAlgorithm::kList, ScheduleAlgorithm::kDfs,
          ScheduleAlgorithm::kPostOrder, ScheduleAlgorithm::kBfs,
          ScheduleAlgorithm::kDefault}) {
      ScheduleResult other = Compute(module.get(), algorithm);
      EXPECT_LE(best.peak_bytes, other.peak_bytes);
      EXPECT_LE(other.any_order_lower_bound_bytes, best.peak_bytes);
    }
    EXPECT_LE(best.any_order_lower_bound_bytes, best.peak_bytes);
  }
}

TEST(ComputeScheduleTest, CountsChainsOneAfterTheOther) {
  std::unique_ptr<HloModule> module = Parse(kTwoChains);
  ScheduleResult best = Compute(module.get(), ScheduleAlgorithm::kBest);
  EXPECT_EQ(best.algorithm, ScheduleAlgorithm::kBest);
  EXPECT_EQ(best.any_order_lower_bound_bytes, best.peak_bytes);
  // p, what one chain left, the two arrays of the other.
  EXPECT_EQ(best.peak_bytes, 4 + 40 + 8000);
  ScheduleResult bfs = Compute(module.get(), ScheduleAlgorithm::kBfs);
  EXPECT_EQ(bfs.peak_bytes, 4 + 12000);
}

TEST(ComputeScheduleTest, CountsBodiesWhereTheyRun) {
  std::unique_ptr<HloModule> module = Parse(kLoop);
  ScheduleResult best = Compute(module.get(), ScheduleAlgorithm::kBest);
  // The entry's x stays; in the body x, a and b are live at once, and y takes
  // the place of one of them. The rest are counters and tables of tuples.
  EXPECT_GE(best.peak_bytes, 1600);
  EXPECT_LT(best.peak_bytes, 1700);
}

TEST(ComputeScheduleTest, AsIsNeedsASchedule) {
  std::unique_ptr<HloModule> module = Parse(kTwoChains);
  ScheduleOptions options;
  options.algorithm = ScheduleAlgorithm::kAsIs;
  EXPECT_EQ(ComputeSchedule(module.get(), options).status().code(),
            absl::StatusCode::kFailedPrecondition);
  ScheduleResult bfs = Compute(module.get(), ScheduleAlgorithm::kBfs);
  ASSERT_TRUE(module->set_schedule(bfs.schedule).ok());
  EXPECT_EQ(Compute(module.get(), ScheduleAlgorithm::kAsIs).peak_bytes,
            bfs.peak_bytes);
}

TEST(DefaultMemorySchedulerTest, SaysWhatEachSchedulerReached) {
  std::unique_ptr<HloModule> module = Parse(kTwoChains);
  auto alias_analysis = HloAliasAnalysis::Run(module.get(), nullptr).value();
  MemorySchedulerMetrics metrics;
  int64_t peak = 0;
  DefaultMemoryScheduler scheduler(nullptr, DefaultSizeFunction());
  ASSERT_TRUE(
      scheduler
          .RunWithMetrics(module.get(), *alias_analysis, {}, &peak, &metrics)
          .ok());
  ASSERT_EQ(metrics.schedulers_size(), 3);
  EXPECT_EQ(metrics.schedulers(0).name(), "list");
  EXPECT_EQ(metrics.schedulers(1).name(), "dfs");
  EXPECT_EQ(metrics.schedulers(2).name(), "postorder");
  for (const MemorySchedulerMetrics::Scheduler& one : metrics.schedulers()) {
    EXPECT_TRUE(one.valid());
    EXPECT_GT(one.peak_memory(), 0);
    EXPECT_GE(one.peak_memory(), peak);
  }
  EXPECT_EQ(metrics.schedulers(metrics.selected_index()).peak_memory(), peak);
}

TEST(DefaultMemorySchedulerTest, RecordsItForThePassThatRuns) {
  std::unique_ptr<HloModule> module = Parse(kTwoChains);
  auto alias_analysis = HloAliasAnalysis::Run(module.get(), nullptr).value();
  DefaultMemoryScheduler scheduler(nullptr, DefaultSizeFunction());
  ASSERT_TRUE(scheduler.Run(module.get(), *alias_analysis, {}, nullptr).ok())
      << "without a pass";
  module->metadata()->RecordPassStart();
  int64_t peak = 0;
  ASSERT_TRUE(scheduler.Run(module.get(), *alias_analysis, {}, &peak).ok());
  MemorySchedulerMetrics metrics;
  ASSERT_TRUE(
      module->metadata()->proto().pass_metadata(0).custom_metadata().UnpackTo(
          &metrics));
  ASSERT_EQ(metrics.schedulers_size(), 3);
  EXPECT_EQ(metrics.schedulers(metrics.selected_index()).peak_memory(), peak);
}

TEST(ScheduleModuleTest, RunsThePostprocessor) {
  std::unique_ptr<HloModule> module = Parse(kTwoChains);
  int runs = 0;
  ListMemoryScheduler scheduler(
      nullptr, DefaultSizeFunction(),
      [&runs](const HloInstructionSequence& sequence) {
        ++runs;
        return sequence;
      });
  int64_t peak = 0;
  absl::StatusOr<HloSchedule> schedule =
      ScheduleModule(module.get(), scheduler, {}, &peak);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(runs, 2);
  EXPECT_GT(peak, 0);
}

// A bound holds for every order, so it does not rise where a postprocessor
// spoils the order of a callee.
TEST(BestMemorySchedulerTest, BoundsCallersByTheBoundsOfCallees) {
  std::unique_ptr<HloModule> module = Parse(R"(
HloModule calls
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
callee {
  p = f32[] parameter(0)
  zero = f32[] constant(0)
  a1 = f32[10,100]{1,0} broadcast(p), dimensions={}
  c1 = f32[10,100]{1,0} broadcast(p), dimensions={}
  a2 = f32[10]{0} reduce(a1, zero), dimensions={1}, to_apply=sum
  c2 = f32[10]{0} reduce(c1, zero), dimensions={1}, to_apply=sum
  ROOT r = f32[10]{0} add(a2, c2)
}
ENTRY main {
  p = f32[] parameter(0)
  ROOT r = f32[10]{0} call(p), to_apply=callee
}
)");
  const auto broadcasts_first = [](const HloInstructionSequence& sequence) {
    std::vector<HloInstruction*> order = sequence.instructions();
    std::stable_partition(order.begin(), order.end(),
                          [](const HloInstruction* inst) {
                            return inst->opcode() == HloOpcode::kParameter ||
                                   inst->opcode() == HloOpcode::kBroadcast;
                          });
    return HloInstructionSequence(order);
  };
  auto alias_analysis = HloAliasAnalysis::Run(module.get(), nullptr).value();
  BestMemoryScheduler::Report plain, spoiled;
  ASSERT_TRUE(BestMemoryScheduler(nullptr, DefaultSizeFunction(), /*effort=*/1)
                  .RunWithReport(module.get(), *alias_analysis, {}, &plain)
                  .ok());
  ASSERT_TRUE(BestMemoryScheduler(nullptr, DefaultSizeFunction(), /*effort=*/1,
                                  broadcasts_first)
                  .RunWithReport(module.get(), *alias_analysis, {}, &spoiled)
                  .ok());
  EXPECT_GE(spoiled.peak_bytes, plain.peak_bytes + 3000);
  EXPECT_LE(plain.lower_bound_bytes, plain.peak_bytes);
  EXPECT_GE(plain.lower_bound_bytes, 4000) << "one broadcast in the callee";
  EXPECT_EQ(spoiled.lower_bound_bytes, plain.lower_bound_bytes);
}

TEST(ScheduleModuleTest, LeavesOtherThreadsAlone) {
  auto module = ParseAndReturnUnverifiedModule(R"(HloModule m
    side { a = f32[8] parameter(0) ROOT n = negate(a) }, execution_thread="s"
    ENTRY e {
      x = f32[8] parameter(0)
      s = ((f32[8]), f32[8], u32[]) async-start(x), calls=side,
        async_execution_thread="s"
      ROOT d = f32[8] async-done(s)
    })");
  ASSERT_TRUE(module.ok()) << module.status();
  AliasInfo alias_info;
  auto schedule =
      ScheduleModule(module->get(), &alias_info, DefaultSizeFunction(),
                     {HloInstruction::kMainExecutionThread});
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->sequences().size(), 1);
  EXPECT_TRUE((*module)->set_schedule(*std::move(schedule)).ok());
}

TEST(ScheduleModuleTest, RefusesCyclesOfControlDependencies) {
  std::unique_ptr<HloModule> module = Parse(kTwoChains);
  HloComputation* entry = module->entry_computation();
  HloInstruction* a = entry->GetInstructionWithName("a3");
  HloInstruction* c = entry->GetInstructionWithName("c1");
  ASSERT_TRUE(a->AddControlDependencyTo(c).ok());
  HloInstruction* c3 = entry->GetInstructionWithName("c3");
  ASSERT_TRUE(
      c3->AddControlDependencyTo(entry->GetInstructionWithName("a1")).ok());
  for (ScheduleAlgorithm algorithm :
       {ScheduleAlgorithm::kList, ScheduleAlgorithm::kDfs,
        ScheduleAlgorithm::kPostOrder, ScheduleAlgorithm::kBfs,
        ScheduleAlgorithm::kBest}) {
    ScheduleOptions options;
    options.algorithm = algorithm;
    absl::Status status = ComputeSchedule(module.get(), options).status();
    EXPECT_FALSE(status.ok()) << AbslUnparseFlag(algorithm);
    bool names_one = false;
    for (const char* name : {"a1", "a2", "a3", "c1", "c2", "c3"}) {
      names_one |= status.message().find(name) != std::string::npos;
    }
    EXPECT_TRUE(names_one) << status;
  }
}

TEST(CheckScheduleTest, NamesTheOffender) {
  std::unique_ptr<HloModule> module = Parse(kTwoChains);
  ScheduleResult result = Compute(module.get(), ScheduleAlgorithm::kBfs);
  HloComputation* entry = module->entry_computation();
  std::vector<HloInstruction*> order =
      result.schedule.sequence(entry).instructions();

  std::vector<HloInstruction*> wrong = order;
  std::swap(wrong.front(), wrong.back());
  result.schedule.set_sequence(entry, wrong);
  absl::Status status = CheckSchedule(*module, result.schedule);
  EXPECT_NE(status.message().find("r runs before its operand"),
            std::string::npos)
      << status;

  wrong = order;
  wrong.push_back(wrong.front());
  result.schedule.set_sequence(entry, wrong);
  EXPECT_NE(CheckSchedule(*module, result.schedule).message().find("twice"),
            std::string::npos);

  wrong = order;
  wrong.pop_back();
  result.schedule.set_sequence(entry, wrong);
  EXPECT_NE(
      CheckSchedule(*module, result.schedule).message().find("r never runs"),
      std::string::npos);
  auto alias_analysis = HloAliasAnalysis::Run(module.get(), nullptr).value();
  EXPECT_NE(PeakOfSchedule(result.schedule, *alias_analysis, nullptr,
                           DefaultSizeFunction())
                .status()
                .message()
                .find("misses r"),
            std::string::npos);
}

// The checker finds an operand, and a control predecessor, that comes too late.
TEST(ScheduleCheckerTest, FindsWhatRunsTooEarly) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  a = f32[4] negate(p)
  b = f32[4] exponential(p), control-predecessors={a}
  ROOT r = f32[4] add(a, b)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  HloComputation* entry = (*module)->entry_computation();
  const auto check = [&](std::vector<const char*> names) {
    std::vector<HloInstruction*> sequence;
    for (const char* name : names) {
      sequence.push_back(entry->GetInstructionWithName(name));
    }
    HloSchedule schedule(module->get());
    schedule.set_sequence(entry, sequence);
    return CheckSchedule(**module, schedule).ok();
  };
  EXPECT_TRUE(check({"p", "a", "b", "r"}));
  EXPECT_FALSE(check({"p", "b", "a", "r"}));
  EXPECT_FALSE(check({"a", "p", "b", "r"}));
  EXPECT_FALSE(check({"p", "a", "b"}));
}

}  // namespace
}  // namespace xla
