#include "xla/hlo/analysis/while_loop_analysis.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal_util.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

const HloInstruction* Inst(const HloModule& module, absl::string_view name) {
  for (HloComputation* computation : module.computations()) {
    if (auto* inst = computation->GetInstructionWithName(name)) return inst;
  }
  ADD_FAILURE() << name;
  return nullptr;
}

// for (i = init; i direction limit; i = i op step), beside a float; `extra`
// goes into the condition.
std::string Loop(absl::string_view type, int64_t init, absl::string_view op,
                 int64_t step, absl::string_view direction, int64_t limit) {
  return absl::Substitute(R"(
HloModule m
body {
  p = ($0[], f32[4]) parameter(0)
  i = $0[] get-tuple-element(p), index=0
  step = $0[] constant($3)
  next = $0[] $2(i, step)
  x = f32[4] get-tuple-element(p), index=1
  y = f32[4] negate(x)
  ROOT t = ($0[], f32[4]) tuple(next, y)
}
cond {
  q = ($0[], f32[4]) parameter(0)
  j = $0[] get-tuple-element(q), index=0
  limit = $0[] constant($5)
  ROOT c = pred[] compare(j, limit), direction=$4
}
ENTRY e {
  zero = $0[] constant($1)
  x0 = f32[4] parameter(0)
  init = ($0[], f32[4]) tuple(zero, x0)
  ROOT w = ($0[], f32[4]) while(init), condition=cond, body=body
})",
                          type, init, op, step, direction, limit);
}

std::optional<int64_t> TripCount(const std::string& text,
                                 int64_t max_brute_force_iters = 0) {
  auto module = Parse(text);
  return ComputeWhileLoopTripCount(Inst(*module, "w"), max_brute_force_iters);
}

TEST(WhileLoopAnalysisTest, CountsByArithmetic) {
  EXPECT_EQ(TripCount(Loop("s32", 0, "add", 1, "LT", 1000)), 1000);
  EXPECT_EQ(TripCount(Loop("s32", 0, "add", 1, "LE", 1000)), 1001);
  EXPECT_EQ(TripCount(Loop("s32", 3, "add", 4, "LT", 12)), 3);
  EXPECT_EQ(TripCount(Loop("s32", 10, "add", 1, "LT", 10)), 0);
  EXPECT_EQ(TripCount(Loop("s32", 20, "add", 1, "LT", 10)), 0);
  EXPECT_EQ(TripCount(Loop("s64", 1000, "subtract", 1, "GT", 0)), 1000);
  EXPECT_EQ(TripCount(Loop("s32", 1000, "add", -3, "GE", 1)), 334);
  EXPECT_EQ(TripCount(Loop("u32", 0, "add", 2, "NE", 500)), 250);
  EXPECT_EQ(TripCount(Loop("s32", 7, "add", 1, "EQ", 7)), 1);
  EXPECT_EQ(TripCount(Loop("s32", 6, "add", 1, "EQ", 7)), 0);
  EXPECT_EQ(TripCount(Loop("s32", 0, "add", 1, "LT", 2147483647)), 2147483647);
}

TEST(WhileLoopAnalysisTest, EndlessAndOverflowingLoopsHaveNoCount) {
  EXPECT_EQ(TripCount(Loop("s32", 0, "add", 0, "LT", 10)), std::nullopt);
  EXPECT_EQ(TripCount(Loop("s32", 0, "add", -1, "LT", 10)), std::nullopt);
  EXPECT_EQ(TripCount(Loop("s32", 0, "add", 1, "LE", 2147483647)),
            std::nullopt);
  EXPECT_EQ(TripCount(Loop("s32", 0, "add", 2, "NE", 501)), std::nullopt);
  EXPECT_EQ(TripCount(Loop("u8", 0, "add", 100, "LT", 250)), std::nullopt);
}

TEST(WhileLoopAnalysisTest, CountsByRunning) {
  EXPECT_EQ(TripCount(Loop("s32", 1, "multiply", 2, "LT", 1000), 128), 10);
  EXPECT_EQ(TripCount(Loop("s32", 1, "multiply", 2, "LT", 1000), 9),
            std::nullopt);
  // 0, 100, 200, 44, 144, 244, 88, 188, 32, …: wraps around until 250 is hit.
  EXPECT_EQ(TripCount(Loop("u8", 0, "add", 100, "NE", 252), 128), 23);
  EXPECT_EQ(TripCount(Loop("f32", 0, "add", 1, "LT", 10), 128), std::nullopt);
}

// flag = init; while (condition) flag = next;
std::string FlagLoop(absl::string_view init, absl::string_view next,
                     absl::string_view condition) {
  return absl::Substitute(R"(
HloModule m
body {
  p = (pred[], f32[4]) parameter(0)
  next = pred[] constant($1)
  x = f32[4] get-tuple-element(p), index=1
  ROOT t = (pred[], f32[4]) tuple(next, x)
}
cond {
  q = (pred[], f32[4]) parameter(0)
  ROOT c = pred[] $2
}
ENTRY e {
  first = pred[] constant($0)
  x0 = f32[4] parameter(0)
  init = (pred[], f32[4]) tuple(first, x0)
  ROOT w = (pred[], f32[4]) while(init), condition=cond, body=body
})",
                          init, next, condition);
}

TEST(WhileLoopAnalysisTest, CountsOfFlags) {
  constexpr char kFlag[] = "get-tuple-element(q), index=0";
  EXPECT_EQ(TripCount(FlagLoop("true", "false", kFlag), 8), 1);
  EXPECT_EQ(TripCount(FlagLoop("false", "true", kFlag), 8), 0);
  EXPECT_EQ(TripCount(FlagLoop("true", "true", kFlag), 8), std::nullopt);
  EXPECT_EQ(TripCount(FlagLoop("true", "true", "constant(false)"), 8), 0);
  EXPECT_EQ(TripCount(FlagLoop("true", "true", "constant(true)"), 8),
            std::nullopt);
  // A sum of flags is their `or`: none of these counts beyond true.
  EXPECT_EQ(TripCount(Loop("pred", 0, "add", 1, "LT", 1)), 1);
  EXPECT_EQ(TripCount(Loop("pred", 0, "add", 1, "EQ", 0)), 1);
  EXPECT_EQ(TripCount(Loop("pred", 1, "add", 1, "EQ", 1), 8), std::nullopt);
  EXPECT_EQ(TripCount(Loop("pred", 0, "add", 1, "LE", 1), 8), std::nullopt);
}

// As JAX writes a scan: the limit is an element of the state, the step is in a
// function, the loop is in a function, too.
constexpr char kScan[] = R"(
HloModule m
increment {
  a = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT r = s32[] add(one, a)
}
body {
  p = (s32[], s32[], f32[4], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  next = s32[] call(i), to_apply=increment
  n = s32[] get-tuple-element(p), index=1
  x = f32[4] get-tuple-element(p), index=2
  k = s32[] get-tuple-element(p), index=3
  two = s32[] constant(2)
  k2 = s32[] add(k, two)
  ROOT t = (s32[], s32[], f32[4], s32[]) tuple(next, n, x, k2)
}
cond {
  q = (s32[], s32[], f32[4], s32[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  m = s32[] get-tuple-element(q), index=1
  ROOT c = pred[] compare(m, j), direction=GT
}
scan {
  length = s32[] parameter(0)
  xs = f32[4] parameter(1)
  zero = s32[] constant(0)
  copy = s32[] copy(zero)
  init = (s32[], s32[], f32[4], s32[]) tuple(copy, length, xs, zero)
  ROOT w = (s32[], s32[], f32[4], s32[]) while(init), condition=cond, body=body
}
ENTRY e {
  n0 = s32[] constant(96)
  x0 = f32[4] parameter(0)
  ROOT s = (s32[], s32[], f32[4], s32[]) call(n0, x0), to_apply=scan
})";

TEST(WhileLoopAnalysisTest, AuxiliaryVariablesByChainsOfConstants) {
  auto module = Parse(R"(HloModule m
body {
  p = (s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  j = s32[] get-tuple-element(p), index=1
  k = s32[] get-tuple-element(p), index=2
  one = s32[] constant(1)
  two = s32[] constant(2)
  i2 = s32[] add(i, one)
  j2 = s32[] multiply(j, two)
  j3 = s32[] subtract(j2, one)
  ROOT t = (s32[], s32[], s32[]) tuple(i2, j3, k)
}
cond {
  q = (s32[], s32[], s32[]) parameter(0)
  c = s32[] get-tuple-element(q), index=0
  n = s32[] constant(7)
  ROOT r = pred[] compare(c, n), direction=EQ
}
ENTRY e {
  x = s32[] parameter(0)
  init = (s32[], s32[], s32[]) tuple(x, x, x)
  ROOT w = (s32[], s32[], s32[]) while(init), condition=cond, body=body
})");
  EXPECT_EQ(GetAuxiliaryLoopInductionVars(Inst(*module, "w")),
            (std::vector<const HloInstruction*>{Inst(*module, "i"),
                                                Inst(*module, "j")}));
}

TEST(WhileLoopAnalysisTest, ScanWithAllItsWrapping) {
  auto module = Parse(kScan);
  const HloInstruction* loop = Inst(*module, "w");
  EXPECT_EQ(ComputeWhileLoopTripCount(loop, 0), 96);
  EXPECT_EQ(GetLoopInductionVarTupleIdx(loop), 0);
  EXPECT_EQ(GetAuxiliaryLoopInductionVars(loop),
            std::vector<const HloInstruction*>{Inst(*module, "k")});
  std::optional<Range> range = MatchTrivialLoopRange(loop);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->ToString(), "min: 0, max: 95, step: 1, linear");
  EXPECT_EQ(
      MatchTrivialLoopTripCount(loop, 0, LiteralUtil::CreateR0<int32_t>(90)),
      6);
  EXPECT_EQ(
      MatchTrivialLoopTripCount(loop, 3, LiteralUtil::CreateR0<int32_t>(90)),
      std::nullopt);
}

TEST(WhileLoopAnalysisTest, IndexThatIsHandedOnInATuple) {
  const auto index = [](absl::string_view other, absl::string_view around) {
    auto module = Parse(absl::Substitute(R"(HloModule m
body {
  p = (s32[], $0) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = $0 get-tuple-element(p), index=1
  $1
  j = s32[] get-tuple-element(inner), index=0
  one = s32[] constant(1)
  next = s32[] add(j, one)
  ROOT t = (s32[], $0) tuple(next, x)
}
cond {
  q = (s32[], $0) parameter(0)
  c = s32[] get-tuple-element(q), index=0
  n = s32[] constant(7)
  ROOT r = pred[] compare(c, n), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  y = $0 parameter(0)
  init = (s32[], $0) tuple(zero, y)
  ROOT w = (s32[], $0) while(init), condition=cond, body=body
})",
                                         other, around));
    const HloInstruction* loop = Inst(*module, "w");
    EXPECT_EQ(ComputeWhileLoopTripCount(loop, 0), 7);
    return GetLoopInductionVarTupleIdx(loop);
  };
  EXPECT_EQ(index("f32[4]", "inner = (s32[], f32[4]) tuple(i, x)"),
            std::nullopt);
  EXPECT_EQ(index("f32[4]", R"(
    pair = (s32[], f32[4]) tuple(i, x)
    inner = (s32[], f32[4]) copy(pair))"),
            std::nullopt);
  EXPECT_EQ(index("f32[4]", R"(
    pair = (s32[], f32[4]) tuple(i, x)
    again = s32[] get-tuple-element(pair), index=0
    inner = (s32[]) tuple(again))"),
            std::nullopt);
  EXPECT_EQ(index("f32[4]", "inner = (s32[], f32[4]) copy(p)"), 0);
  // What is beside it may come from anywhere.
  EXPECT_EQ(index("f32[4]", R"(
    pair = (s32[], f32[4]) tuple(i, x)
    beside = s32[] get-tuple-element(pair), index=0
    inner = (s32[], s32[]) tuple(i, beside))"),
            0);
  EXPECT_EQ(index("f32[4]", "inner = (s32[]) tuple(i)"), 0);
  EXPECT_EQ(index("f32[]", "inner = (s32[], f32[]) tuple(i, x)"), 0);
}

TEST(WhileLoopAnalysisTest, LimitFromAnOuterLoop) {
  const std::string inner = absl::StrCat(R"(
HloModule m
inner_body {
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  n = s32[] get-tuple-element(p), index=1
  ROOT t = (s32[], s32[]) tuple(next, n)
}
inner_cond {
  q = (s32[], s32[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  m = s32[] get-tuple-element(q), index=1
  ROOT c = pred[] compare(j, m), direction=LT
}
body {
  bp = (s32[], s32[]) parameter(0)
  bi = s32[] get-tuple-element(bp), index=0
  bone = s32[] constant(1)
  bnext = s32[] add(bi, bone)
  bn = s32[] get-tuple-element(bp), index=1
  start = s32[] constant(2)
  binit = (s32[], s32[]) tuple(start, bn)
  w = (s32[], s32[]) while(binit), condition=inner_cond, body=inner_body
  ROOT bt = (s32[], s32[]) tuple(bnext, bn)
}
cond {
  cq = (s32[], s32[]) parameter(0)
  cj = s32[] get-tuple-element(cq), index=0
  cm = s32[] constant(7)
  ROOT cc = pred[] compare(cj, cm), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  n0 = s32[] constant(50)
  init = (s32[], s32[]) tuple(zero, n0)
  ROOT outer = (s32[], s32[]) while(init), condition=cond, body=body
})");
  auto module = Parse(inner);
  EXPECT_EQ(ComputeWhileLoopTripCount(Inst(*module, "w")), 48);
  EXPECT_EQ(ComputeWhileLoopTripCount(Inst(*module, "outer")), 7);
}

TEST(WhileLoopAnalysisTest, UpperBoundOfAConditionWithData) {
  auto module = Parse(R"(
HloModule m
body {
  p = (s32[], pred[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  f = pred[] get-tuple-element(p), index=1
  g = pred[] not(f)
  ROOT t = (s32[], pred[]) tuple(next, g)
}
cond {
  q = (s32[], pred[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  limit = s32[] constant(12)
  lt = pred[] compare(j, limit), direction=LT
  h = pred[] get-tuple-element(q), index=1
  ROOT c = pred[] and(lt, h)
}
ENTRY e {
  zero = s32[] constant(0)
  x = pred[] parameter(0)
  init = (s32[], pred[]) tuple(zero, x)
  ROOT w = (s32[], pred[]) while(init), condition=cond, body=body
})");
  const HloInstruction* loop = Inst(*module, "w");
  EXPECT_EQ(ComputeWhileLoopTripCount(loop), std::nullopt);
  EXPECT_EQ(ComputeWhileLoopTripCountUpperBound(loop), 12);
  EXPECT_EQ(GetLoopInductionVarTupleIdx(loop), std::nullopt);
}

// A loop from an unknown start whose body stores -5 and whose condition is `c`.
std::optional<int64_t> UpperBoundOfStore(absl::string_view c) {
  auto module = Parse(absl::StrCat(R"(
HloModule m
body {
  p = (s32[]) parameter(0)
  five = s32[] constant(-5)
  ROOT t = (s32[]) tuple(five)
}
cond {
  q = (s32[]) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  k = s32[] constant(7)
  ROOT c = pred[] )",
                                   c, R"(
}
ENTRY e {
  x = s32[] parameter(0)
  init = (s32[]) tuple(x)
  ROOT w = (s32[]) while(init), condition=cond, body=body
})"));
  return ComputeWhileLoopTripCountUpperBound(
      module->entry_computation()->root_instruction());
}

TEST(WhileLoopAnalysisTest, UpperBoundWhenTheBodyStoresAConstant) {
  EXPECT_EQ(UpperBoundOfStore("compare(i, k), direction=EQ"), 1);
  EXPECT_EQ(UpperBoundOfStore("compare(k, i), direction=LT"), 1);
  // True of what is stored: for ever, or never.
  EXPECT_EQ(UpperBoundOfStore("compare(i, k), direction=LT"), std::nullopt);
}

TEST(WhileLoopAnalysisTest, BackendConfigAndKnownValues) {
  auto module = Parse(R"(
HloModule m
body {
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  n = s32[] get-tuple-element(p), index=1
  ROOT t = (s32[], s32[]) tuple(next, n)
}
cond {
  q = (s32[], s32[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  m = s32[] get-tuple-element(q), index=1
  ROOT c = pred[] compare(j, m), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  x = s32[] parameter(0)
  init = (s32[], s32[]) tuple(zero, x)
  v = (s32[], s32[]) while(init), condition=cond, body=body
  n1 = (s32[], s32[]) while(init), condition=cond, body=body, backend_config={"known_trip_count":{"n":"-1"}}
  n2 = (s32[], s32[]) while(init), condition=cond, body=body, backend_config={"known_trip_count":{"n":-1e300}}
  n3 = (s32[], s32[]) while(init), condition=cond, body=body, backend_config={"known_trip_count":{"n":1e300}}
  n4 = (s32[], s32[]) while(init), condition=cond, body=body, backend_config={"known_trip_count":{"n":2.5}}
  n5 = (s32[], s32[]) while(init), condition=cond, body=body, backend_config={"known_trip_count":{"n":5}}
  ROOT w = (s32[], s32[]) while(init), condition=cond, body=body, backend_config={"known_trip_count":{"n":"17"}}
})");
  EXPECT_EQ(ComputeWhileLoopTripCount(Inst(*module, "w")), 17);
  EXPECT_EQ(ComputeWhileLoopTripCount(Inst(*module, "n5")), 5);
  // Numbers that count no trips are as good as none.
  for (const char* name : {"n1", "n2", "n3", "n4"}) {
    EXPECT_EQ(ComputeWhileLoopTripCount(Inst(*module, name)), std::nullopt)
        << name;
  }
  const HloInstruction* v = Inst(*module, "v");
  EXPECT_EQ(ComputeWhileLoopTripCount(v), std::nullopt);
  EXPECT_EQ(GetLoopInductionVarTupleIdx(v), 0);
  const Range five(ConstantValue::GetSigned(5, 32),
                   ConstantValue::GetSigned(5, 32), /*is_linear=*/false);
  EXPECT_EQ(GetLoopInductionVarTupleIdxWithKnownValues(
                v, {{Inst(*module, "x"), five}}),
            0);
  std::optional<Range> range =
      MatchLoopRangeWithKnownValues(v, 0, {{Inst(*module, "x"), five}});
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->ToString(), "min: 0, max: 4, step: 1, linear");
}

}  // namespace
}  // namespace xla
