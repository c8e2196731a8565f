#include "xla/hlo/memory/timeline/memory_timeline.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/packing/offset_planner.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

struct Scheduled {
  std::unique_ptr<HloModule> module;
  std::unique_ptr<HloAliasAnalysis> alias_analysis;
  std::optional<ScheduleResult> schedule;
  MemoryTimeline timeline;
};

Scheduled Build(absl::string_view text) {
  Scheduled result;
  AliasInfo alias_info;
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  result.module = std::move(*module);
  auto alias = HloAliasAnalysis::Run(result.module.get(), &alias_info);
  EXPECT_TRUE(alias.ok()) << alias.status();
  result.alias_analysis = std::move(*alias);
  ScheduleOptions options;
  options.algorithm = ScheduleAlgorithm::kAsIs;
  auto schedule =
      ComputeSchedule(result.module.get(), *result.alias_analysis, options);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  result.schedule = *std::move(schedule);
  auto timeline =
      BuildMemoryTimeline(result.schedule->schedule, *result.alias_analysis,
                          &alias_info, DefaultSizeFunction());
  EXPECT_TRUE(timeline.ok()) << timeline.status();
  result.timeline = *std::move(timeline);
  return result;
}

TEST(MemoryTimelineTest, ResultsTakeTheirOperandsPlace) {
  Scheduled s = Build(R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[256] parameter(0)
  a = f32[256] exponential(p)
  b = f32[256] negate(a)
  ROOT c = f32[512] concatenate(b, b), dimensions={0}
})");
  // p; a beside it; b in the place of a; c beside p and b.
  EXPECT_THAT(s.timeline.live_bytes, ElementsAre(1024, 1024, 2048, 2048, 4096));
  EXPECT_EQ(s.timeline.peak_bytes, s.schedule->peak_bytes);
  EXPECT_EQ(s.timeline.ticks[s.timeline.peak_tick]->name(), "c");
}

TEST(MemoryTimelineTest, TheBodyOfALoopRunsWhereTheLoopIs) {
  Scheduled s = Build(R"(
HloModule m, is_scheduled=true
body {
  q = (s32[], f32[256]) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  v = f32[256] get-tuple-element(q), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  wide = f32[4,256] broadcast(v), dimensions={1}
  w0 = f32[1,256] slice(wide), slice={[0:1], [0:256]}
  w = f32[256] reshape(w0)
  ROOT t = (s32[], f32[256]) tuple(j, w)
}
condition {
  q = (s32[], f32[256]) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT
}
ENTRY main {
  z = s32[] parameter(0)
  v0 = f32[256] parameter(1)
  x = f32[256] exponential(v0)
  t0 = (s32[], f32[256]) tuple(z, x)
  l = (s32[], f32[256]) while(t0), condition=condition, body=body
  ROOT v1 = f32[256] get-tuple-element(l), index=1
})");
  EXPECT_EQ(s.timeline.peak_bytes, s.schedule->peak_bytes);
  // The peak is where the body's wide value is beside the loop's state.
  const HloInstruction* at = s.timeline.ticks[s.timeline.peak_tick];
  EXPECT_TRUE(at->name() == "wide" || at->name() == "w0") << at->ToString();
  // The state of the loop is one interval from its definition on.
  int state = 0;
  for (const MemoryTimeline::Interval& interval : s.timeline.intervals) {
    if (interval.at->name() == "x") ++state;
    EXPECT_LT(interval.begin, interval.end);
  }
  EXPECT_EQ(state, 1);
  auto plan = packing::PlanOffsets(s.timeline.ToPackingProblem());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(plan->solution.height, s.timeline.peak_bytes);
}

}  // namespace
}  // namespace xla
