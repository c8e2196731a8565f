#include "xla/hlo/analysis/hlo_ordering.h"

#include "gtest/gtest.h"
#include "xla/hlo/analysis/tests/hlo_ordering_test_base.h"

namespace xla {
namespace {

using Constraint = HloOrdering::ExecutionConstraint;

TEST_F(HloOrderingTest, InstructionsOfDifferentComputations) {
  Parse(R"(
HloModule m
A {
  pa = f32[] parameter(0)
  ROOT a = f32[] negate(pa)
}
B {
  pb = f32[] parameter(0)
  ROOT b = f32[] exponential(pb)
}
ENTRY e {
  c = f32[] constant(42)
  x = f32[] call(c), to_apply=A
  ROOT y = f32[] call(x), to_apply=B
})");
  EXPECT_TRUE(Before("c", "x"));
  EXPECT_TRUE(Before("c", "a"));
  EXPECT_TRUE(Before("c", "b"));
  EXPECT_TRUE(Before("x", "y"));
  EXPECT_TRUE(Before("a", "y"));
  EXPECT_TRUE(Before("a", "b"));
  EXPECT_TRUE(Before("x", "b"));
  EXPECT_FALSE(Before("b", "x"));
  EXPECT_FALSE(Before("b", "a"));
  // A call and what it runs have no order.
  EXPECT_TRUE(Unordered("a", "x"));
  EXPECT_TRUE(Unordered("b", "y"));
  EXPECT_EQ(ordering_->GetExecutionConstraint(Inst("y"), Inst("a")),
            Constraint::kRunAfter);
  EXPECT_EQ(ordering_->GetExecutionConstraint(Inst("a"), Inst("a")),
            Constraint::kIsSame);
}

constexpr char kWhile[] = R"(
HloModule m
body {
  body_param = f32[] parameter(0)
  ROOT negate = f32[] negate(body_param)
}
cond {
  cond_param = f32[] parameter(0)
  zero = f32[] constant(0)
  ROOT convert = pred[] compare(cond_param, zero), direction=LT
}
ENTRY e {
  constant = f32[] constant(1)
  while = f32[] while(constant), condition=cond, body=body
  ROOT add = f32[] add(constant, while)
})";

TEST_F(HloOrderingTest, ConditionOfAWhileComesBeforeItsBody) {
  Parse(kWhile);
  for (const char* inside :
       {"while", "cond_param", "convert", "body_param", "negate"}) {
    EXPECT_TRUE(Before("constant", inside)) << inside;
    EXPECT_FALSE(Before(inside, "constant")) << inside;
  }
  for (const char* in_condition : {"cond_param", "convert"}) {
    for (const char* in_body : {"body_param", "negate"}) {
      EXPECT_TRUE(Before(in_condition, in_body));
      EXPECT_FALSE(Before(in_body, in_condition));
    }
    EXPECT_TRUE(Unordered("while", in_condition));
  }
  EXPECT_TRUE(Unordered("while", "body_param"));
  EXPECT_TRUE(Before("negate", "add"));
  EXPECT_EQ(ordering_->GetExecutionConstraint(Inst("convert"), Inst("negate")),
            Constraint::kRunBeforeEnd);
}

TEST_F(HloOrderingTest, ParametersAreThereFirst) {
  Parse(R"(
HloModule m
ENTRY e {
  constant = f32[] constant(0)
  param = f32[] parameter(0)
  ROOT add = f32[] add(constant, param)
})");
  EXPECT_TRUE(DefinedBefore("param", "constant"));
  EXPECT_FALSE(DefinedBefore("constant", "param"));
}

TEST_F(HloOrderingTest, ValuesOfAWhile) {
  Parse(kWhile);
  // The initial value is read after the loop, too.
  EXPECT_TRUE(DefinedBefore("constant", "while"));
  EXPECT_FALSE(StrictlyBefore("constant", "while"));
  EXPECT_TRUE(DefinedBefore("constant", "convert"));
  EXPECT_FALSE(StrictlyBefore("constant", "convert"));
  EXPECT_TRUE(Interfere("constant", "while"));
  EXPECT_TRUE(Interfere("constant", "convert"));
  // The value of the while is there when body and condition have run.
  EXPECT_TRUE(DefinedBefore("negate", "while"));
  EXPECT_FALSE(DefinedBefore("while", "negate"));
  EXPECT_TRUE(StrictlyBefore("negate", "while"));
  EXPECT_FALSE(Interfere("negate", "while"));
  EXPECT_TRUE(StrictlyBefore("convert", "while"));
  EXPECT_FALSE(Interfere("convert", "while"));
  EXPECT_TRUE(StrictlyBefore("while", "add"));
}

TEST_F(HloOrderingTest, ElementwiseChainsDoNotInterfere) {
  Parse(R"(
HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  n = f32[8] negate(p)
  x = f32[8] exponential(n)
  ROOT l = f32[8] log(x)
})");
  for (absl::string_view a : {"p", "n", "x", "l"}) {
    for (absl::string_view b : {"p", "n", "x", "l"}) {
      EXPECT_FALSE(a != b && Interfere(a, b)) << a << " " << b;
    }
  }
}

TEST_F(HloOrderingTest, OperandsThatAreReadInAnotherOrderInterfere) {
  Parse(R"(
HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  n = f32[8] negate(p)
  r = f32[8] reverse(n), dimensions={0}
  x = f32[8] exponential(r)
  ROOT a = f32[8] add(r, x)
})");
  EXPECT_TRUE(Interfere("n", "r"));
  EXPECT_TRUE(Interfere("r", "x"));
  EXPECT_FALSE(Interfere("n", "x"));
  EXPECT_FALSE(Interfere("r", "a"));
  EXPECT_FALSE(Interfere("x", "a"));
}

// Entry parameters are all there from the start, wherever they stand.
TEST_F(HloOrderingTest, EntryParametersStartTogether) {
  Parse(R"(
HloModule m, is_scheduled=true
ENTRY e {
  p = f32[8] parameter(0)
  n = f32[8] negate(p)
  q = f32[8] parameter(1)
  x = f32[8] exponential(q)
  ROOT a = f32[8] add(n, x)
})");
  EXPECT_TRUE(Interfere("p", "q"));
  EXPECT_FALSE(Interfere("p", "n"));
  EXPECT_TRUE(Interfere("n", "q"));
  EXPECT_FALSE(Interfere("q", "x"));
  EXPECT_FALSE(Interfere("p", "x"));
  EXPECT_TRUE(Interfere("n", "x"));
  EXPECT_FALSE(Interfere("x", "a"));
  EXPECT_FALSE(Interfere("n", "a"));
}

TEST_F(HloOrderingTest, ValuesOfAnInnerLoopAndOfWhatRunsBesideIt) {
  Parse(R"(
HloModule m, is_scheduled=true
body {
  bp = (f32[8]) parameter(0)
  bx = f32[8] get-tuple-element(bp), index=0
  bn = f32[8] reverse(bx), dimensions={0}
  ROOT bt = (f32[8]) tuple(bn)
}
cond {
  cp = (f32[8]) parameter(0)
  ROOT cr = pred[] constant(false)
}
ENTRY e {
  p = f32[8] parameter(0)
  before = f32[8] negate(p)
  held = f32[8] exponential(before)
  init = (f32[8]) tuple(p)
  w = (f32[8]) while(init), condition=cond, body=body
  r = f32[8] get-tuple-element(w), index=0
  ROOT a = f32[8] add(r, held)
})");
  EXPECT_FALSE(Interfere("before", "bn"));
  EXPECT_TRUE(Interfere("held", "bn"));
  EXPECT_FALSE(Interfere("bn", "a"));
}

TEST_F(HloOrderingTest, ToStringOfBothKinds) {
  Parse(kWhile);
  EXPECT_NE(ordering_->ToString().find("add after: constant while"),
            std::string::npos)
      << ordering_->ToString();
  Parse(R"(
HloModule m, is_scheduled=true
ENTRY e {
  a = f32[] parameter(0)
  ROOT b = f32[] negate(a)
})");
  EXPECT_NE(ordering_->ToString().find("  a\n  b\n"), std::string::npos)
      << ordering_->ToString();
  EXPECT_EQ(ordering_->SequentialOrder(*module_->entry_computation())->size(),
            2);
}

TEST_F(HloOrderingTest, BranchesOfAConditional) {
  Parse(R"(
HloModule m
true_branch {
  tx = f32[] parameter(0)
  ROOT tr = f32[] negate(tx)
}
false_branch {
  fx = f32[] parameter(0)
  ROOT fr = f32[] exponential(fx)
}
ENTRY e {
  p = pred[] parameter(0)
  x = f32[] parameter(1)
  y = f32[] negate(x)
  ROOT c = f32[] conditional(p, y, y), true_computation=true_branch, false_computation=false_branch
})");
  EXPECT_TRUE(Before("y", "tr"));
  EXPECT_TRUE(Before("y", "fr"));
  EXPECT_TRUE(Before("tr", "fr"));
  EXPECT_FALSE(Before("fr", "tr"));
  EXPECT_EQ(ordering_->GetExecutionConstraint(Inst("tr"), Inst("fr")),
            Constraint::kRunExclusiveBefore);
  EXPECT_EQ(ordering_->GetExecutionConstraint(Inst("fr"), Inst("tx")),
            Constraint::kRunExclusiveAfter);
  // Its use in the other branch does not take place.
  EXPECT_TRUE(StrictlyBefore("y", "tr"));
  EXPECT_TRUE(StrictlyBefore("y", "fr"));
}

TEST_F(HloOrderingTest, ResultInterferesWithWhatRunsAfterTheRoot) {
  Parse(R"(
HloModule m, is_scheduled=true
ENTRY e {
  param = f32[] parameter(0)
  ROOT root = f32[] add(param, param)
  dead = f32[] negate(param)
})");
  EXPECT_TRUE(Interfere("root", "dead"));
}

TEST_F(HloOrderingTest, ResultOfACalleeInterferesWithWhatRunsAfterIt) {
  Parse(R"(
HloModule m, is_scheduled=true
callee {
  param = f32[] parameter(0)
  ROOT root = f32[] add(param, param)
  dead = f32[] negate(param)
}
ENTRY e {
  p = f32[] parameter(0)
  c = f32[] call(p), to_apply=callee
  ROOT r = f32[] negate(c)
})");
  EXPECT_TRUE(Interfere("root", "dead"));
  EXPECT_TRUE(StrictlyBefore("root", "r"));
}

TEST_F(HloOrderingTest, InnerValueAndOuterRoot) {
  Parse(R"(
HloModule m, is_scheduled=true
callee {
  param = f32[] parameter(0)
  inner = f32[] exponential(param)
  ROOT n = f32[] negate(inner)
}
ENTRY e {
  p = f32[] parameter(0)
  ROOT root = f32[] add(p, p)
  c = f32[] call(p), to_apply=callee
})");
  EXPECT_TRUE(Interfere("root", "inner"));
}

TEST_F(HloOrderingTest, RootNeedNotBeLast) {
  Parse(R"(
HloModule m, is_scheduled=true
body {
  param = (f32[], f32[]) parameter(0)
  a = f32[] get-tuple-element(param), index=0
  b = f32[] get-tuple-element(param), index=1
  next = f32[] add(a, b)
  ROOT t = (f32[], f32[]) tuple(next, b)
  late = f32[] exponential(a)
}
cond {
  q = (f32[], f32[]) parameter(0)
  x = f32[] get-tuple-element(q), index=0
  ten = f32[] constant(10)
  ROOT lt = pred[] compare(x, ten), direction=LT
}
ENTRY e {
  p = f32[] parameter(0)
  init = (f32[], f32[]) tuple(p, p)
  w = (f32[], f32[]) while(init), condition=cond, body=body
  ROOT r = f32[] get-tuple-element(w), index=0
})");
  EXPECT_FALSE(Before("t", "late"));
  EXPECT_FALSE(Before("late", "t"));
  EXPECT_TRUE(Before("next", "late"));
  EXPECT_TRUE(Interfere("next", "late"));
}

}  // namespace
}  // namespace xla
