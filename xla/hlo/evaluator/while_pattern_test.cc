#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

std::optional<ParsedWhileLoop> ParseLoop(const HloModule& module,
                                         absl::string_view name = "w") {
  for (HloComputation* computation : module.computations()) {
    if (auto* loop = computation->GetInstructionWithName(name)) {
      return PatternMatchParseWhileLoop(loop);
    }
  }
  ADD_FAILURE() << name;
  return std::nullopt;
}

// "trips of element from init by step to bound", "dynamic" or "no match".
std::string Text(const std::optional<ParsedWhileLoop>& loop) {
  if (!loop.has_value()) return "no match";
  if (loop->is_dynamic()) return "dynamic";
  const ParsedStaticWhileLoop& known = *loop->static_while_loop;
  return absl::Substitute("$0 of {$1} from $2 by $3 to $4", known.trip_count,
                          known.induction_var_index,
                          known.induction_var_init_value, known.step_size,
                          known.loop_bound);
}

// A loop over {1} = i, beside {0} = n, which it passes on. `next` and
// `condition` may read i and n; `init` and `n` may read the parameter x.
std::string Loop(absl::string_view init, absl::string_view next,
                 absl::string_view condition,
                 absl::string_view n = "constant(9)",
                 absl::string_view type = "s32") {
  auto module = Parse(absl::Substitute(R"(
HloModule m
body {
  p = ($4[], $4[]) parameter(0)
  n = $4[] get-tuple-element(p), index=0
  i = $4[] get-tuple-element(p), index=1
  one = $4[] constant(1)
  two = $4[] constant(2)
  next = $4[] $1
  ROOT t = ($4[], $4[]) tuple(n, next)
}
cond {
  q = ($4[], $4[]) parameter(0)
  n = $4[] get-tuple-element(q), index=0
  i = $4[] get-tuple-element(q), index=1
  seven = $4[] constant(7)
  ROOT c = pred[] $2
}
ENTRY e {
  x = $4[] parameter(0)
  init_n = $4[] $3
  init_i = $4[] $0
  init = ($4[], $4[]) tuple(init_n, init_i)
  ROOT w = ($4[], $4[]) while(init), condition=cond, body=body
})",
                                       init, next, condition, n, type));
  return Text(ParseLoop(*module));
}

TEST(PatternMatchParseWhileLoopTest, CountsTrips) {
  EXPECT_EQ(
      Loop("constant(0)", "add(i, two)", "compare(i, seven), direction=LT"),
      "4 of {1} from 0 by 2 to 7");
  EXPECT_EQ(
      Loop("constant(1)", "add(two, i)", "compare(i, seven), direction=LE"),
      "4 of {1} from 1 by 2 to 7");
  EXPECT_EQ(
      Loop("constant(1)", "add(i, two)", "compare(i, seven), direction=NE"),
      "3 of {1} from 1 by 2 to 7");
  EXPECT_EQ(Loop("constant(20)", "subtract(i, two)",
                 "compare(i, seven), direction=GT"),
            "7 of {1} from 20 by -2 to 7");
  EXPECT_EQ(Loop("constant(7)", "subtract(i, one)",
                 "compare(i, seven), direction=GE"),
            "1 of {1} from 7 by -1 to 7");
  EXPECT_EQ(
      Loop("constant(0)", "add(i, one)", "compare(seven, i), direction=GE"),
      "8 of {1} from 0 by 1 to 7");
  EXPECT_EQ(
      Loop("constant(7)", "add(i, one)", "compare(i, seven), direction=LT"),
      "0 of {1} from 7 by 1 to 7");
  EXPECT_EQ(
      Loop("constant(7)", "add(i, one)", "compare(i, seven), direction=EQ"),
      "1 of {1} from 7 by 1 to 7");
}

TEST(PatternMatchParseWhileLoopTest, FollowsWhatTheLoopPassesOn) {
  EXPECT_EQ(Loop("constant(0)", "add(i, one)", "compare(i, n), direction=LT"),
            "9 of {1} from 0 by 1 to 9");
  EXPECT_EQ(Loop("constant(0)", "add(i, n)", "compare(i, seven), direction=LT",
                 "constant(3)"),
            "3 of {1} from 0 by 3 to 7");
}

TEST(PatternMatchParseWhileLoopTest, WhatDependsOnArgumentsIsDynamic) {
  EXPECT_EQ(Loop("constant(0)", "add(i, one)", "compare(i, n), direction=LT",
                 "negate(x)"),
            "dynamic");
  EXPECT_EQ(Loop("negate(x)", "add(i, one)", "compare(i, seven), direction=LT"),
            "dynamic");
  EXPECT_EQ(Loop("copy(x)", "add(i, one)", "compare(i, seven), direction=LT"),
            "dynamic");
}

TEST(PatternMatchParseWhileLoopTest, LoopsThatDoNotCountDoNotMatch) {
  EXPECT_EQ(Loop("constant(1)", "multiply(i, two)",
                 "compare(i, seven), direction=LT"),
            "no match");
  EXPECT_EQ(Loop("constant(1)", "subtract(two, i)",
                 "compare(i, seven), direction=LT"),
            "no match");
  EXPECT_EQ(Loop("constant(0)", "subtract(i, one)",
                 "compare(i, seven), direction=LT"),
            "no match")
      << "it wraps around first";
  EXPECT_EQ(
      Loop("constant(0)", "add(i, two)", "compare(i, seven), direction=NE"),
      "no match")
      << "it steps over the bound";
  EXPECT_EQ(Loop("constant(0)", "copy(i)", "compare(i, seven), direction=LT"),
            "no match");
  EXPECT_EQ(Loop("constant(0)", "add(i, one)", "constant(true)"), "no match");
  EXPECT_EQ(Loop("constant(0)", "add(i, one)",
                 "compare(i, seven), direction=LT", "constant(9)", "f32"),
            "no match");
}

TEST(PatternMatchParseWhileLoopTest, CountersThatWrapAroundDoNotMatch) {
  EXPECT_EQ(Loop("constant(0)", "add(i, two)", "compare(i, n), direction=LT",
                 "constant(127)", "s8"),
            "no match");
  EXPECT_EQ(Loop("constant(1)", "add(i, two)", "compare(i, n), direction=LT",
                 "constant(127)", "s8"),
            "63 of {1} from 1 by 2 to 127");
  EXPECT_EQ(Loop("constant(0)", "add(i, one)", "compare(i, n), direction=LE",
                 "constant(255)", "u8"),
            "no match");
}

constexpr char kNested[] = R"(
HloModule m
less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
inner_body {
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], s32[]) tuple(next, n)
}
inner_cond {
  q = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  n = s32[] get-tuple-element(q), index=1
  ROOT c = pred[] call(i, n), to_apply=less
}
body {
  p = (s32[], s32[]) parameter(0)
  j = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  zero = s32[] constant(0)
  start = (s32[], s32[]) tuple(zero, n)
  inner = (s32[], s32[]) while(start), condition=inner_cond, body=inner_body
  one = s32[] constant(1)
  next = s32[] add(j, one)
  ROOT t = (s32[], s32[]) tuple(next, n)
}
cond {
  q = (s32[], s32[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(j, three), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  five = s32[] constant(5)
  first = (s32[], s32[]) tuple(zero, five)
  counted = (s32[], s32[]) while(first), condition=inner_cond, body=inner_body
  found = s32[] get-tuple-element(counted), index=0
  twice = s32[] add(found, found)
  init = (s32[], s32[]) tuple(zero, twice)
  ROOT outer = (s32[], s32[]) while(init), condition=cond, body=body
})";

TEST(PatternMatchParseWhileLoopTest, CallsOuterLoopsAndLoopsBefore) {
  auto module = Parse(kNested);
  EXPECT_EQ(Text(ParseLoop(*module, "counted")), "5 of {0} from 0 by 1 to 5");
  EXPECT_EQ(Text(ParseLoop(*module, "outer")), "3 of {0} from 0 by 1 to 3");
  EXPECT_EQ(Text(ParseLoop(*module, "inner")), "10 of {0} from 0 by 1 to 10");
}

}  // namespace
}  // namespace xla
