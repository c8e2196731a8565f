#include "xla/hlo/analysis/hlo_live_range.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using ::testing::Pair;

class HloLiveRangeTest : public ::testing::Test {
 protected:
  void Analyze(absl::string_view text, bool module_scoped = true) {
    auto module = ParseAndReturnUnverifiedModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    auto alias = HloAliasAnalysis::Run(module_.get(), &alias_info_);
    ASSERT_TRUE(alias.ok()) << alias.status();
    alias_ = *std::move(alias);
    Run(module_->entry_computation(), module_scoped);
  }
  void Run(const HloComputation* computation, bool module_scoped) {
    auto result = HloLiveRange::Run(module_->schedule(), *alias_, computation,
                                    module_scoped);
    ASSERT_TRUE(result.ok()) << result.status();
    live_range_ = *std::move(result);
  }

  HloInstruction* Inst(absl::string_view name) {
    for (HloComputation* computation : module_->computations()) {
      if (auto* inst = computation->GetInstructionWithName(name)) return inst;
    }
    ADD_FAILURE() << "no instruction " << name;
    return nullptr;
  }
  std::pair<int64_t, int64_t> Range(absl::string_view name,
                                    const ShapeIndex& index = {}) {
    const HloValue* value =
        &alias_->dataflow_analysis().GetValueDefinedAt(Inst(name), index);
    auto it = live_range_->buffer_live_ranges().find(value);
    if (it == live_range_->buffer_live_ranges().end()) return {-1, -1};
    return {it->second.start, it->second.end};
  }
  int64_t Time(absl::string_view name) {
    return live_range_->instruction_schedule().at(Inst(name));
  }
  std::pair<int64_t, int64_t> Span(absl::string_view computation) {
    const auto& span = live_range_->computation_span_times().at(
        module_->GetComputationWithName(computation));
    return {span.start, span.end};
  }

  AliasInfo alias_info_;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloAliasAnalysis> alias_;
  std::unique_ptr<HloLiveRange> live_range_;
};

constexpr char kSimple[] = R"(
HloModule m, is_scheduled=true
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  mul = f32[4] multiply(x, x)
  dead = f32[4] negate(x)
  ROOT add = f32[4] add(mul, y)
})";

TEST_F(HloLiveRangeTest, FromDefinitionToLastUse) {
  Analyze(kSimple);
  EXPECT_THAT(Range("mul"), Pair(2, 4));
  EXPECT_THAT(Range("dead"), Pair(3, 3));
  EXPECT_EQ(live_range_->schedule_end_time(), 5);
  EXPECT_TRUE(live_range_->total_order_scheduled());
}

TEST_F(HloLiveRangeTest, BoundsCompareByTime) {
  HloLiveRange::LiveRangeBounds a{1, 2, {}}, b{1, 2, {}}, c{1, 3, {}};
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST_F(HloLiveRangeTest, EntryParametersLiveToTheEnd) {
  Analyze(kSimple);
  EXPECT_THAT(Range("x"), Pair(0, 5));
  EXPECT_THAT(Range("y"), Pair(0, 5));
}

TEST_F(HloLiveRangeTest, ResultLivesToTheEnd) {
  Analyze(R"(
HloModule m, is_scheduled=true
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] multiply(x, x)
  b = f32[4] negate(a)
  c = f32[4] negate(b)
  ROOT t = (f32[4], f32[4]) tuple(a, c)
})");
  EXPECT_THAT(Range("a"), Pair(1, 5));
  EXPECT_THAT(Range("b"), Pair(2, 3));
  EXPECT_THAT(Range("c"), Pair(3, 5));
  EXPECT_THAT(Range("t"), Pair(4, 5));
}

TEST_F(HloLiveRangeTest, RootNeedNotBeLast) {
  Analyze(R"(
HloModule m, is_scheduled=true
ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[4] multiply(x, x)
  late = f32[4] negate(x)
})");
  EXPECT_THAT(Range("r"), Pair(1, 3));
  EXPECT_THAT(Range("late"), Pair(2, 2));
}

TEST_F(HloLiveRangeTest, AliasedParameterEndsWhereTheOutputBegins) {
  Analyze(R"(
HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  n = f32[4] negate(x)
  ROOT add = f32[4] add(n, y)
})");
  EXPECT_THAT(Range("x"), Pair(0, 2));
  EXPECT_THAT(Range("add"), Pair(3, 4));
  EXPECT_THAT(Range("y"), Pair(0, 4));
}

TEST_F(HloLiveRangeTest, ParametersStartWithTheirComputation) {
  Analyze(R"(
HloModule m, is_scheduled=true
ENTRY e {
  c = f32[4] constant({1, 2, 3, 4})
  x = f32[4] parameter(0)
  ROOT add = f32[4] add(c, x)
})");
  EXPECT_THAT(Range("x"), Pair(0, 3));
  EXPECT_THAT(Range("c"), Pair(0, 2));
}

constexpr char kWhile[] = R"(
HloModule m, is_scheduled=true
cond {
  q = (s32[], f32[4]) parameter(0)
  qi = s32[] get-tuple-element(q), index=0
  ten = s32[] constant(10)
  ROOT lt = pred[] compare(qi, ten), direction=LT
}
body {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = f32[4] get-tuple-element(p), index=1
  b = f32[4] exponential(a)
  c = f32[4] add(a, b)
  ROOT t = (s32[], f32[4]) tuple(next, c)
}
ENTRY e {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  f = f32[4] negate(x)
  init = (s32[], f32[4]) tuple(zero, f)
  w = (s32[], f32[4]) while(init), condition=cond, body=body
  g = f32[4] get-tuple-element(w), index=1
  ROOT r = f32[4] negate(g)
})";

TEST_F(HloLiveRangeTest, ConditionAndBodyStandBeforeTheWhile) {
  Analyze(kWhile);
  EXPECT_THAT(Span("cond"), Pair(4, 8));
  EXPECT_THAT(Span("body"), Pair(8, 16));
  EXPECT_EQ(Time("w"), 16);
  EXPECT_EQ(live_range_->schedule_end_time(), 19);
  EXPECT_EQ(live_range_->flattened_instruction_sequence().size(), 19);
}

TEST_F(HloLiveRangeTest, ValuesOfAWhileFollowOneAnother) {
  Analyze(kWhile);
  // One buffer: initial value, parameters, result of the body, of the while.
  // Each ends where the next one begins.
  EXPECT_THAT(Range("f"), Pair(2, 4));
  EXPECT_THAT(Range("q", {1}), Pair(4, 8));
  EXPECT_THAT(Range("p", {1}), Pair(8, 14));
  EXPECT_THAT(Range("c"), Pair(14, 16));
  EXPECT_THAT(Range("w", {1}), Pair(16, 18));
  EXPECT_THAT(Range("b"), Pair(13, 14));
}

TEST_F(HloLiveRangeTest, WithoutTheModuleCalleesTakeNoTime) {
  Analyze(kWhile, /*module_scoped=*/false);
  EXPECT_EQ(Time("w"), 4);
  EXPECT_EQ(live_range_->schedule_end_time(), 7);
  EXPECT_THAT(Range("f"), Pair(2, 4));
  EXPECT_THAT(Range("w", {1}), Pair(4, 6));
  EXPECT_THAT(Range("c"), Pair(-1, -1));
}

TEST_F(HloLiveRangeTest, OfAnEmbeddedComputation) {
  Analyze(kWhile);
  Run(module_->GetComputationWithName("body"), /*module_scoped=*/true);
  EXPECT_EQ(live_range_->schedule_end_time(), 8);
  EXPECT_THAT(Range("b"), Pair(5, 6));
  EXPECT_THAT(Range("next"), Pair(3, 8));
}

TEST_F(HloLiveRangeTest, LoopInvariantLivesThroughTheLoop) {
  Analyze(R"(
HloModule m, is_scheduled=true
cond {
  q = (s32[], f32[4]) parameter(0)
  qi = s32[] get-tuple-element(q), index=0
  ten = s32[] constant(10)
  ROOT lt = pred[] compare(qi, ten), direction=LT
}
body {
  p = (s32[], f32[4]) parameter(0)
  a = f32[4] get-tuple-element(p), index=1
  b = f32[4] exponential(a)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[4]) tuple(next, a)
}
ENTRY e {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  f = f32[4] negate(x)
  init = (s32[], f32[4]) tuple(zero, f)
  w = (s32[], f32[4]) while(init), condition=cond, body=body
  ROOT r = s32[] get-tuple-element(w), index=0
})");
  // To the end of the body.
  EXPECT_THAT(Range("f"), Pair(2, 15));
}

TEST_F(HloLiveRangeTest, CallOperandsLiveUntilTheCalleeHasReadThem) {
  Analyze(R"(
HloModule m, is_scheduled=true
callee {
  a = f32[4] parameter(0)
  b = f32[4] negate(a)
  c = f32[4] exponential(b)
  ROOT d = f32[4] add(c, b)
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] negate(x)
  call = f32[4] call(y), to_apply=callee
  ROOT r = f32[4] negate(call)
})");
  EXPECT_THAT(Span("callee"), Pair(2, 6));
  EXPECT_THAT(Range("y"), Pair(1, 3));
  EXPECT_THAT(Range("d"), Pair(5, 7));
}

TEST_F(HloLiveRangeTest, ConditionalOperandsLiveUntilItIsDone) {
  Analyze(R"(
HloModule m, is_scheduled=true
then {
  tx = f32[4] parameter(0)
  ROOT tn = f32[4] negate(tx)
}
else {
  ex = f32[4] parameter(0)
  ROOT en = f32[4] exponential(ex)
}
ENTRY e {
  p = pred[] parameter(0)
  x = f32[4] parameter(1)
  y = f32[4] negate(x)
  c = f32[4] conditional(p, y, y), true_computation=then, false_computation=else
  ROOT r = f32[4] negate(c)
})");
  EXPECT_THAT(Span("then"), Pair(3, 5));
  EXPECT_THAT(Span("else"), Pair(5, 7));
  EXPECT_THAT(Range("y"), Pair(2, 7));
  EXPECT_THAT(Range("tn"), Pair(4, 5));
  EXPECT_THAT(Range("en"), Pair(6, 7));
  EXPECT_THAT(Range("c"), Pair(7, 8));
}

TEST_F(HloLiveRangeTest, AsyncOperandsLiveUntilDone) {
  Analyze(R"(
HloModule m, is_scheduled=true
callee {
  a = f32[4] parameter(0)
  ROOT n = f32[4] negate(a)
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] negate(x)
  start = ((f32[4]), f32[4], u32[]) call-start(y), to_apply=callee
  between = f32[4] sine(x)
  done = f32[4] call-done(start)
  ROOT r = f32[4] add(done, between)
})");
  EXPECT_GE(Range("y").second, Time("done"));
  EXPECT_EQ(Range("start", {2}).second, Time("done"));
  EXPECT_EQ(Range("between"), std::make_pair(Time("between"), Time("r")));
}

TEST_F(HloLiveRangeTest, UpdateInPlaceTakesTheBufferOver) {
  Analyze(R"(
HloModule m, is_scheduled=true
ENTRY e {
  x = f32[4] parameter(0)
  u = f32[1] parameter(1)
  i = s32[] parameter(2)
  y = f32[4] negate(x)
  d = f32[4] dynamic-update-slice(y, u, i)
  ROOT r = f32[4] negate(d)
})");
  EXPECT_THAT(Range("y"), Pair(3, 4));
  EXPECT_THAT(Range("d"), Pair(4, 5));
}

TEST_F(HloLiveRangeTest, TextNamesTheLineAndTheRanges) {
  Analyze(kSimple);
  const std::string text = live_range_->ToString();
  EXPECT_NE(text.find("2 mul"), std::string::npos) << text;
  EXPECT_NE(text.find(": 2-4"), std::string::npos) << text;
  const HloValue* mul =
      &alias_->dataflow_analysis().GetValueDefinedAt(Inst("mul"));
  EXPECT_EQ(live_range_->buffer_live_ranges()
                .at(mul)
                .end_position.instruction->name(),
            "mul");
}

TEST_F(HloLiveRangeTest, SchedulesThatMissOrRepeatAnInstruction) {
  Analyze(kSimple);
  const HloComputation* entry = module_->entry_computation();
  auto message = [&](std::vector<HloInstruction*> sequence) {
    HloSchedule schedule(module_.get());
    schedule.set_sequence(entry, sequence);
    const absl::Status status =
        HloLiveRange::Run(schedule, *alias_, entry).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  std::vector<HloInstruction*> sequence =
      module_->schedule().sequence(entry).instructions();
  sequence.push_back(Inst("mul"));
  EXPECT_EQ(message(sequence), "live ranges: the schedule of e repeats mul");
  sequence.pop_back();
  sequence.erase(sequence.begin() + 1);
  EXPECT_EQ(message(sequence), "live ranges: the schedule of e misses y");
}

TEST_F(HloLiveRangeTest, SchedulesMayMissDeadCode) {
  Analyze(R"(
HloModule m, is_scheduled=true
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] negate(x)
  dead = f32[4] exponential(a)
  too = f32[4] negate(dead)
  most = f32[4] add(dead, too)
  ROOT b = f32[4] abs(x)
})");
  const HloComputation* entry = module_->entry_computation();
  HloSchedule schedule(module_.get());
  schedule.set_sequence(
      entry, std::vector<HloInstruction*>{Inst("x"), Inst("a"), Inst("b")});
  auto ranges = HloLiveRange::Run(schedule, *alias_, entry);
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  const HloDataflowAnalysis& values = alias_->dataflow_analysis();
  const auto& found = (*ranges)->buffer_live_ranges();
  for (const char* name : {"dead", "too", "most"}) {
    EXPECT_FALSE(found.contains(&values.GetValueDefinedAt(Inst(name)))) << name;
  }
  EXPECT_EQ(found.at(&values.GetValueDefinedAt(Inst("a"))).end, 1);
  // What the code that is there needs must be there, too.
  schedule.set_sequence(
      entry, std::vector<HloInstruction*>{Inst("x"), Inst("a"), Inst("most"),
                                          Inst("b")});
  EXPECT_EQ(HloLiveRange::Run(schedule, *alias_, entry).status().message(),
            "live ranges: the schedule of e misses too");
  // So must the root.
  schedule.set_sequence(entry,
                        std::vector<HloInstruction*>{Inst("x"), Inst("a")});
  EXPECT_EQ(HloLiveRange::Run(schedule, *alias_, entry).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(HloLiveRangeTest, AsynchronousCodeRunsBesideItsCaller) {
  Analyze(R"(
HloModule m, is_scheduled=true
g {
  gp = f32[4] parameter(0)
  inner = f32[4] negate(gp)
  ROOT outer = f32[4] abs(inner)
}
f {
  p = f32[4] parameter(0)
  a1 = f32[4] negate(p)
  a2 = f32[4] call(a1), to_apply=g
  ROOT a = f32[4] add(a1, a2)
}
wrapped {
  wp = f32[4] parameter(0)
  ROOT c = f32[4] call(wp), to_apply=f
}
ENTRY e {
  x = f32[4] parameter(0)
  s = ((f32[4]), f32[4], u32[]) async-start(x), calls=wrapped
  k = f32[4] exponential(x)
  l = f32[4] log(k)
  d = f32[4] async-done(s)
  after = f32[4] negate(d)
  ROOT r = f32[4] add(l, after)
})");
  const int64_t done = Time("d");
  EXPECT_EQ(Range("a1").second, done);
  EXPECT_EQ(Range("inner").second, done);
  EXPECT_EQ(Range("outer").second, done);
  // The caller's own values end as ever.
  EXPECT_EQ(Range("k").second, Time("l"));
  EXPECT_EQ(Range("a").second, Time("after"));
}

// What an asynchronous chain calls is laid out before the link that binds the
// last of its operands.
TEST_F(HloLiveRangeTest, LateBindingRunsWhereAllIsBound) {
  Analyze(R"(
HloModule m, is_scheduled=true
f {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  inner = f32[4] abs(p)
  ROOT out = f32[4] add(inner, q)
}
ENTRY e {
  a = f32[4] parameter(0)
  negate_0 = f32[4] negate(a)
  start = ((f32[4]), f32[4], u32[]) async-start(negate_0), calls=f, frontend_attributes={_collectives_group=""}
  negate_1 = f32[4] negate(a)
  update = ((f32[4], f32[4]), f32[4], u32[]) async-update(start, negate_1)
  done = f32[4] async-done(update)
  ROOT sum = f32[4] add(done, a)
})");
  std::vector<std::string> line;
  for (const HloInstruction* inst :
       live_range_->flattened_instruction_sequence().instructions()) {
    line.emplace_back(inst->name());
  }
  EXPECT_THAT(
      line, testing::ElementsAre("a", "negate_0", "start", "negate_1", "p", "q",
                                 "inner", "out", "update", "done", "sum"));
  EXPECT_EQ(Range("inner").second, Time("done"));
}

TEST_F(HloLiveRangeTest, LateOutputRunsWhereItIsBound) {
  const auto before = [&](absl::string_view start, absl::string_view update) {
    Analyze(absl::StrCat(R"(
HloModule m, is_scheduled=true
f {
  p = f32[4] parameter(0)
  ROOT out = f32[4] negate(p)
}
ENTRY e {
  a = f32[4] parameter(0)
  start = )",
                         start, " async-start(a), calls=f\n update = ", update,
                         R"( async-update(start)
  ROOT done = f32[4] async-done(update)
})"));
    return std::string(live_range_->flattened_instruction_sequence()
                           .instructions()[Time("out") + 1]
                           ->name());
  };
  EXPECT_EQ(before("((f32[4]), f32[4])", "((f32[4]), f32[4])"), "start");
  EXPECT_EQ(before("((f32[4]), ())", "((f32[4]), f32[4])"), "update");
  EXPECT_EQ(before("((f32[4]), ())", "((f32[4]), ())"), "done");
}

}  // namespace
}  // namespace xla
