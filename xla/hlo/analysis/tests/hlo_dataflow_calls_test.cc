// Values that pass between computations: calls, loops, conditionals.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/tests/hlo_dataflow_test_base.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// --- Calls

constexpr absl::string_view kOneCall = R"(HloModule m
    f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      ROOT y = f32[] call(c, d), to_apply=f
    })";

TEST_F(DataflowTest, OneCall) {
  Load(kOneCall);
  EXPECT_THAT(At("a"), ElementsAre("c{}"));
  EXPECT_THAT(At("y"), ElementsAre("s{}"));
  EXPECT_EQ(ssa_->value_count(), 3);
  EXPECT_THAT(Uses("c"), UnorderedElementsAre("y 0{}", "s 0{}"));
  EXPECT_TRUE(sets_->GetValueDefinedAt(Inst("s")).live_out_of_module());
}

TEST_F(DataflowTest, CallsAsBarriers) {
  DataflowOptions options;
  options.propagate_through_calls = false;
  Load(kOneCall, options);
  EXPECT_THAT(At("a"), ElementsAre("a{}"));
  EXPECT_THAT(At("y"), ElementsAre("y{}"));
}

TEST_F(DataflowTest, NestedCalls) {
  Load(R"(HloModule m
    in { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    out {
      g = f32[] parameter(0)
      h = f32[] parameter(1)
      ROOT y = f32[] call(h, g), to_apply=in
    }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      ROOT z = f32[] call(c, d), to_apply=out
    })");
  EXPECT_THAT(At("a"), ElementsAre("d{}"));
  EXPECT_THAT(At("z"), ElementsAre("s{}"));
  EXPECT_THAT(Uses("c"), UnorderedElementsAre("z 0{}", "y 1{}", "s 1{}"));
}

TEST_F(DataflowTest, TwoCallsOfOneComputation) {
  Load(R"(HloModule m
    f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      x = f32[] call(c, d), to_apply=f
      y = f32[] call(x, d), to_apply=f
      ROOT z = subtract(x, y)
    })");
  EXPECT_THAT(At("a"), UnorderedElementsAre("c{}", "s{}"));
  EXPECT_THAT(At("b"), ElementsAre("d{}"));
  EXPECT_THAT(At("x"), ElementsAre("s{}"));
  EXPECT_THAT(At("y"), ElementsAre("s{}"));
}

// --- Loops

// A loop over (s32[], f32[]) whose body returns tuple(`r`).
std::string Loop(absl::string_view body, absl::string_view init = "tuple(c, d)",
                 absl::string_view after = "") {
  return absl::StrCat(R"(HloModule m
    body {
      b = (f32[], f32[]) parameter(0)
      b0 = get-tuple-element(b), index=0
      b1 = get-tuple-element(b), index=1
      )",
                      body, R"(
    }
    cond {
      q = (f32[], f32[]) parameter(0)
      ROOT f = pred[] constant(false)
    }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      t = )",
                      absl::StrCat(init, R"(
      ROOT w = while(t), condition=cond, body=body
      )",
                                   after, "}"));
}

TEST_F(DataflowTest, Loop) {
  Load(Loop("n = add(b0, b1)\n ROOT r = tuple(b0, n)"));
  // {0} goes through.
  EXPECT_THAT(At("b", {0}), ElementsAre("c{}"));
  EXPECT_THAT(At("w", {0}), ElementsAre("c{}"));
  EXPECT_THAT(At("q", {0}), ElementsAre("c{}"));
  EXPECT_THAT(Ssa("b", {1}), ElementsAre("phi b{1}"));
  EXPECT_THAT(Ssa("q", {1}), ElementsAre("phi q{1}"));
  EXPECT_THAT(Ssa("w", {1}), ElementsAre("phi w{1}"));
  EXPECT_THAT(Ssa("r", {1}), ElementsAre("n{}"));
  EXPECT_THAT(Sets("b", {1}), UnorderedElementsAre("d{}", "n{}"));
  EXPECT_THAT(Sets("w", {1}), UnorderedElementsAre("d{}", "n{}"));
  EXPECT_TRUE(ssa_->GetValueDefinedAt(Inst("w"), {1}).live_out_of_module());
  EXPECT_FALSE(ssa_->GetValueDefinedAt(Inst("n")).live_out_of_module());
  EXPECT_TRUE(sets_->GetValueDefinedAt(Inst("n")).live_out_of_module());
  // One operand, two values.
  EXPECT_THAT(Uses("c"), UnorderedElementsAre("w 0{0}", "n 0{}", "r 0{}"));
}

TEST_F(DataflowTest, LoopsOneAfterTheOther) {
  Load(R"(HloModule m
    body1 { a = (f32[], f32[]) parameter(0)
      a0 = get-tuple-element(a), index=0
      a1 = get-tuple-element(a), index=1
      n = add(a0, a1)
      ROOT r = tuple(a0, n) }
    body2 { b = (f32[], f32[]) parameter(0)
      b0 = get-tuple-element(b), index=0
      b1 = get-tuple-element(b), index=1
      o = multiply(b0, b1)
      ROOT r2 = tuple(b0, o) }
    cond1 { p = (f32[], f32[]) parameter(0) ROOT f = pred[] constant(false) }
    cond2 { q = (f32[], f32[]) parameter(0) ROOT g = pred[] constant(false) }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      t = tuple(c, d)
      v = while(t), condition=cond1, body=body1
      ROOT w = while(v), condition=cond2, body=body2
    })");
  EXPECT_THAT(At("w", {0}), ElementsAre("c{}"));
  EXPECT_THAT(Ssa("v", {1}), ElementsAre("phi v{1}"));
  EXPECT_THAT(Ssa("w", {1}), ElementsAre("phi w{1}"));
  EXPECT_THAT(Sets("w", {1}), UnorderedElementsAre("d{}", "n{}", "o{}"));
  EXPECT_FALSE(ssa_->GetValueDefinedAt(Inst("v"), {1}).live_out_of_module());
}

TEST_F(DataflowTest, LoopInALoop) {
  Load(R"(HloModule m
    inner { a = (f32[], f32[]) parameter(0)
      a0 = get-tuple-element(a), index=0
      a1 = get-tuple-element(a), index=1
      n = add(a0, a1)
      ROOT r = tuple(a0, n) }
    cond1 { p = (f32[], f32[]) parameter(0) ROOT f = pred[] constant(false) }
    outer { b = (f32[], f32[]) parameter(0)
      b0 = get-tuple-element(b), index=0
      b1 = get-tuple-element(b), index=1
      m = negate(b1)
      t2 = tuple(b0, m)
      ROOT v = while(t2), condition=cond1, body=inner }
    cond2 { q = (f32[], f32[]) parameter(0) ROOT g = pred[] constant(false) }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      t = tuple(c, d)
      ROOT w = while(t), condition=cond2, body=outer
    })");
  EXPECT_THAT(At("a", {0}), ElementsAre("c{}"));
  EXPECT_THAT(At("w", {0}), ElementsAre("c{}"));
  EXPECT_THAT(Ssa("b", {1}), ElementsAre("phi b{1}"));
  EXPECT_THAT(Ssa("a", {1}), ElementsAre("phi a{1}"));
  EXPECT_THAT(Sets("a", {1}), UnorderedElementsAre("m{}", "n{}"));
  EXPECT_THAT(Sets("b", {1}), UnorderedElementsAre("d{}", "m{}", "n{}"));
}

TEST_F(DataflowTest, OuterValueThroughAnInnerLoopIsNoPhiThere) {
  // The outer phi goes through the inner loop, which swaps it with itself.
  Load(R"(HloModule m
    inner { a = (f32[], f32[]) parameter(0)
      a0 = get-tuple-element(a), index=0
      a1 = get-tuple-element(a), index=1
      ROOT r = tuple(a1, a0) }
    cond1 { p = (f32[], f32[]) parameter(0) ROOT f = pred[] constant(false) }
    outer { b = (f32[], f32[]) parameter(0)
      b0 = get-tuple-element(b), index=0
      b1 = get-tuple-element(b), index=1
      t2 = tuple(b0, b0)
      v = while(t2), condition=cond1, body=inner
      v1 = get-tuple-element(v), index=1
      m = negate(v1)
      ROOT r2 = tuple(m, b1) }
    cond2 { q = (f32[], f32[]) parameter(0) ROOT g = pred[] constant(false) }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      t = tuple(c, d)
      ROOT w = while(t), condition=cond2, body=outer
    })");
  EXPECT_THAT(Ssa("b", {0}), ElementsAre("phi b{0}"));
  EXPECT_THAT(Ssa("a", {0}), ElementsAre("phi b{0}"));
  EXPECT_THAT(Ssa("a", {1}), ElementsAre("phi b{0}"));
  EXPECT_THAT(Ssa("v", {1}), ElementsAre("phi b{0}"));
  EXPECT_THAT(Sets("a", {1}), UnorderedElementsAre("c{}", "m{}"));
}

TEST_F(DataflowTest, SwizzlingLoops) {
  Load(Loop("ROOT r = tuple(b1, b0)"));
  EXPECT_THAT(Ssa("b", {0}), ElementsAre("phi b{0}"));
  EXPECT_THAT(Ssa("b", {1}), ElementsAre("phi b{1}"));
  EXPECT_THAT(Ssa("w", {0}), ElementsAre("phi w{0}"));
  EXPECT_THAT(Sets("b", {0}), UnorderedElementsAre("c{}", "d{}"));
  EXPECT_THAT(Sets("w", {1}), UnorderedElementsAre("c{}", "d{}"));
  // Both are one value.
  Load(Loop("ROOT r = tuple(b1, b0)", "tuple(c, c)"));
  EXPECT_THAT(At("b", {0}), ElementsAre("c{}"));
  EXPECT_THAT(At("w", {1}), ElementsAre("c{}"));
}

// --- Conditionals

TEST_F(DataflowTest, Conditional) {
  Load(R"(HloModule m
    yes { a = f32[] parameter(0) ROOT ra = tuple(a) }
    no { b = f32[] parameter(0) n = negate(b) ROOT rb = tuple(n) }
    ENTRY e {
      p = pred[] parameter(0)
      x = f32[] parameter(1)
      y = f32[] parameter(2)
      ROOT w = (f32[]) conditional(p, x, y), true_computation=yes, false_computation=no
    })");
  EXPECT_THAT(At("a"), ElementsAre("x{}"));
  EXPECT_THAT(At("b"), ElementsAre("y{}"));
  EXPECT_THAT(Ssa("w", {0}), ElementsAre("phi w{0}"));
  EXPECT_THAT(Sets("w", {0}), UnorderedElementsAre("x{}", "n{}"));
  EXPECT_THAT(Sets("w"), UnorderedElementsAre("ra{}", "rb{}"));
  EXPECT_THAT(Uses("y"), UnorderedElementsAre("w 2{}", "n 0{}"));
}

TEST_F(DataflowTest, BranchesThatReturnTheSame) {
  Load(R"(HloModule m
    zero { a = f32[] parameter(0) ROOT ra = f32[] copy(a) }
    one { b = f32[] parameter(0) ROOT rb = tuple(b) }
    two { c = f32[] parameter(0) ROOT rc = tuple(c) }
    ENTRY e {
      i = s32[] parameter(0)
      x = f32[] parameter(1)
      ROOT w = (f32[]) conditional(i, x, x), branch_computations={one, two}
    })");
  EXPECT_THAT(At("w", {0}), ElementsAre("x{}"));
  EXPECT_THAT(Ssa("w"), ElementsAre("phi w{}"));
  // Nobody calls it.
  EXPECT_THAT(At("a"), ElementsAre("a{}"));
}

TEST_F(DataflowTest, ConditionalInConditional) {
  Load(R"(HloModule m
    yes1 { a = f32[] parameter(0) ROOT na = negate(a) }
    no1 { b = f32[] parameter(0) ROOT nb = sine(b) }
    yes { t = (pred[], f32[]) parameter(0)
      t0 = get-tuple-element(t), index=0
      t1 = get-tuple-element(t), index=1
      ROOT v = f32[] conditional(t0, t1, t1), true_computation=yes1, false_computation=no1 }
    no { u = f32[] parameter(0) ROOT nu = cosine(u) }
    ENTRY e {
      p = pred[] parameter(0)
      x = f32[] parameter(1)
      s = tuple(p, x)
      ROOT w = f32[] conditional(p, s, x), true_computation=yes, false_computation=no
    })");
  EXPECT_THAT(Sets("w"), UnorderedElementsAre("na{}", "nb{}", "nu{}"));
  EXPECT_THAT(Ssa("v"), ElementsAre("phi v{}"));
  EXPECT_THAT(Ssa("w"), ElementsAre("phi w{}"));
  EXPECT_THAT(At("a"), ElementsAre("x{}"));
}

// --- Bad input

TEST_F(DataflowTest, CalledAndApplied) {
  const absl::Status status = ErrorOf(R"(HloModule m
    f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    ENTRY e {
      x = f32[8] parameter(0)
      z = f32[] constant(0)
      r = f32[] reduce(x, z), dimensions={0}, to_apply=f
      ROOT y = f32[] call(r, z), to_apply=f
    })");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("computation f"));
}

TEST_F(DataflowTest, LoopWhoseShapesDiffer) {
  const absl::Status status = ErrorOf(R"(HloModule m
    body { b = (f32[], f32[]) parameter(0) ROOT g = f32[] get-tuple-element(b), index=0 }
    cond { q = (f32[], f32[]) parameter(0) ROOT f = pred[] constant(false) }
    ENTRY e {
      c = f32[] constant(1)
      t = tuple(c, c)
      ROOT w = (f32[], f32[]) while(t), condition=cond, body=body
    })");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(DataflowTest, Prints) {
  Load(Loop("n = add(b0, b1)\n ROOT r = tuple(b0, n)"));
  EXPECT_THAT(ssa_->ToString(), HasSubstr("w{1} (phi) (live out)"));
  EXPECT_EQ(ssa_->NewValueId(), ssa_->value_count());
}

}  // namespace
}  // namespace xla
