#include "xla/hlo/analysis/hlo_ordering.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using Constraint = HloOrdering::ExecutionConstraint;

class HloOrderingTest : public ::testing::Test {
 protected:
  void Parse(absl::string_view text) {
    auto module = ParseAndReturnUnverifiedModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    auto dataflow = HloDataflowAnalysis::Run(*module_, /*ssa_form=*/true);
    ASSERT_TRUE(dataflow.ok()) << dataflow.status();
    dataflow_ = *std::move(dataflow);
    if (module_->has_schedule()) {
      ordering_ = std::make_unique<SequentialHloOrdering>(module_->schedule());
    } else {
      ordering_ = std::make_unique<DependencyHloOrdering>(module_.get());
    }
  }

  HloInstruction* Inst(absl::string_view name) {
    for (HloComputation* computation : module_->computations()) {
      if (auto* inst = computation->GetInstructionWithName(name)) return inst;
    }
    ADD_FAILURE() << "no instruction " << name;
    return nullptr;
  }
  const HloValue& Value(absl::string_view name, const ShapeIndex& index = {}) {
    return dataflow_->GetUniqueValueAt(Inst(name), index);
  }

  bool Before(absl::string_view a, absl::string_view b) {
    return ordering_->ExecutesBefore(Inst(a), Inst(b));
  }
  bool Unordered(absl::string_view a, absl::string_view b) {
    return !Before(a, b) && !Before(b, a);
  }
  bool DefinedBefore(absl::string_view a, absl::string_view b) {
    return ordering_->IsDefinedBefore(Value(a), Value(b));
  }
  bool StrictlyBefore(const HloValue& a, const HloValue& b) {
    return ordering_->LiveRangeStrictlyBefore(a, b, *dataflow_, &alias_info_);
  }
  bool StrictlyBefore(absl::string_view a, absl::string_view b) {
    return StrictlyBefore(Value(a), Value(b));
  }
  bool Interfere(const HloValue& a, const HloValue& b) {
    return ordering_->MayInterfere(a, b, *dataflow_, &alias_info_);
  }
  bool Interfere(absl::string_view a, absl::string_view b) {
    return Interfere(Value(a), Value(b));
  }
  bool UsesBefore(const HloValue& a, const HloValue& b) {
    std::vector<const HloUse*> uses;
    for (const HloUse& use : a.GetUses()) uses.push_back(&use);
    return ordering_->UsesBeforeValueDefinition(uses, b, *dataflow_,
                                                &alias_info_);
  }

  AliasInfo alias_info_;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloDataflowAnalysis> dataflow_;
  std::unique_ptr<HloOrdering> ordering_;
};

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

constexpr char kAsync[] = R"(
HloModule m, is_scheduled=true
callee {
  a = f32[1024] parameter(0)
  b = f32[1024] parameter(1)
  c = f32[1024] custom-call(a, b), custom_call_target="foo"
  ROOT d = f32[1024] add(c, c)
}
ENTRY e {
  x = f32[1024] parameter(0)
  y = f32[1024] negate(x)
  z = f32[1024] exponential(x)
  start = ((f32[1024], f32[1024]), f32[1024], s32[]) call-start(y, z), to_apply=callee
  between = f32[1024] sine(x)
  done = f32[1024] call-done(start)
  after = f32[1024] cosine(x)
  ROOT t = (f32[1024], f32[1024], f32[1024]) tuple(between, done, after)
})";

TEST_F(HloOrderingTest, OperandsOfAnAsyncCallLiveUntilItIsDone) {
  Parse(kAsync);
  EXPECT_FALSE(UsesBefore(Value("y"), Value("between")));
  EXPECT_TRUE(Interfere("y", "between"));
  EXPECT_TRUE(UsesBefore(Value("y"), Value("after")));
  EXPECT_FALSE(Interfere("y", "after"));
}

TEST_F(HloOrderingTest, UsesInTheCalleeOfAnAsyncCall) {
  Parse(kAsync);
  // Read by c, which writes something else meanwhile.
  EXPECT_FALSE(UsesBefore(Value("y"), Value("c")));
  EXPECT_FALSE(UsesBefore(Value("z"), Value("c")));
  // d only runs when c is done with its operands, but the chain is not.
  EXPECT_FALSE(UsesBefore(Value("y"), Value("d")));
  EXPECT_TRUE(StrictlyBefore("c", "d"));
}

TEST_F(HloOrderingTest, WrappedCallThatUpdatesItsOperand) {
  Parse(R"(
HloModule m, is_scheduled=true
wrapped {
  a = f32[1024] parameter(0)
  ROOT c = f32[1024] custom-call(a), custom_call_target="foo", output_to_operand_aliasing={{}: (0, {})}
}
ENTRY e {
  x = f32[1024] parameter(0)
  y = f32[1024] negate(x)
  start = ((f32[1024]), f32[1024], s32[]) async-start(y), calls=wrapped
  between = f32[1024] sine(x)
  done = f32[1024] async-done(start)
  ROOT t = (f32[1024], f32[1024]) tuple(between, done)
})");
  EXPECT_TRUE(UsesBefore(Value("a"), Value("c")));
  EXPECT_FALSE(UsesBefore(Value("y"), Value("between")));
}

TEST_F(HloOrderingTest, AsyncUseThroughATuple) {
  Parse(R"(
HloModule m, is_scheduled=true
callee {
  a = (f32[1024], f32[1024]) parameter(0)
  a0 = f32[1024] get-tuple-element(a), index=0
  a1 = f32[1024] get-tuple-element(a), index=1
  ROOT d = f32[1024] add(a0, a1)
}
ENTRY e {
  x = f32[1024] parameter(0)
  y = f32[1024] negate(x)
  z = f32[1024] exponential(x)
  pair = (f32[1024], f32[1024]) tuple(y, z)
  start = (((f32[1024], f32[1024])), f32[1024], s32[]) call-start(pair), to_apply=callee
  between = f32[1024] sine(x)
  done = f32[1024] call-done(start)
  after = f32[1024] cosine(x)
  ROOT t = (f32[1024], f32[1024], f32[1024]) tuple(between, done, after)
})");
  EXPECT_FALSE(UsesBefore(Value("z"), Value("between")));
  EXPECT_TRUE(Interfere("z", "between"));
  EXPECT_FALSE(Interfere("z", "after"));
}

TEST_F(HloOrderingTest, AsyncLinkAndWhatItWrapsAreTheSame) {
  Parse(R"(
HloModule m, is_scheduled=true
wrapped {
  a = f32[1024] parameter(0)
  ROOT c = f32[1024] custom-call(a), custom_call_target="foo"
}
ENTRY e {
  x = f32[1024] parameter(0)
  start = ((f32[1024]), f32[1024], s32[]) async-start(x), calls=wrapped
  ROOT done = f32[1024] async-done(start)
})");
  EXPECT_EQ(ordering_->GetExecutionConstraint(Inst("start"), Inst("c")),
            Constraint::kIsSame);
  EXPECT_EQ(ordering_->GetExecutionConstraint(Inst("c"), Inst("done")),
            Constraint::kIsSame);
  EXPECT_FALSE(Before("c", "start"));
  EXPECT_TRUE(Before("start", "done"));
}

// A loop that finishes what runs when it begins, and starts the next.
constexpr char kPipelined[] = R"(
HloModule m, is_scheduled=true
first { a = f32[4] parameter(0)
  ROOT n1 = f32[4] negate(a) }
second { a = f32[4] parameter(0)
  ROOT n2 = f32[4] negate(a) }
body {
  s = (f32[4], ((f32[4]), f32[4], u32[])) parameter(0)
  v = f32[4] get-tuple-element(s), index=0
  run = ((f32[4]), f32[4], u32[]) get-tuple-element(s), index=1
  early = f32[4] sine(v)
  d = f32[4] async-done(run), calls=first
  late = f32[4] add(d, early)
  q = ((f32[4]), f32[4], u32[]) async-start(late), calls=second
  last = f32[4] cosine(late)
  ROOT t = (f32[4], ((f32[4]), f32[4], u32[])) tuple(last, q)
}
condition {
  s = (f32[4], ((f32[4]), f32[4], u32[])) parameter(0)
  ROOT c = pred[] custom-call(s), custom_call_target="foo"
}
ENTRY e {
  p = f32[4] parameter(0)
  x = f32[4] exponential(p)
  y = f32[4] tanh(p)
  start = ((f32[4]), f32[4], u32[]) async-start(x), calls=first
  tuple = (f32[4], ((f32[4]), f32[4], u32[])) tuple(y, start)
  w = (f32[4], ((f32[4]), f32[4], u32[])) while(tuple), condition=condition, body=body
  g = ((f32[4]), f32[4], u32[]) get-tuple-element(w), index=1
  ROOT done = f32[4] async-done(g), calls=first
})";

TEST_F(HloOrderingTest, StateThatALoopTakes) {
  Parse(kPipelined);
  const HloValue& taken = Value("s", {1, 0, 0});
  // The loop has an operand of its own for what x was the operand of.
  EXPECT_TRUE(StrictlyBefore("x", "early"));
  EXPECT_TRUE(Interfere(taken, Value("early")));
  EXPECT_FALSE(Interfere(taken, Value("late")));
  // What is started there reads its operand until the loop takes it again.
  EXPECT_TRUE(Interfere("late", "last"));
  EXPECT_FALSE(Interfere("late", "done"));
  // So does the result, which is written from the start on.
  EXPECT_TRUE(Interfere("n1", "y"));
  EXPECT_TRUE(Interfere("n2", "last"));
  EXPECT_FALSE(Interfere("n2", "early"));
  EXPECT_TRUE(DefinedBefore("n1", "early"));
}

// Nobody else reads the context that an update replaces.
TEST_F(HloOrderingTest, ContextsOfAnUpdate) {
  Parse(R"(
HloModule m, is_scheduled=true
wrapped { a = f32[4] parameter(0)
  ROOT n = f32[4] negate(a) }
ENTRY e {
  x = f32[4] parameter(0)
  start = ((f32[4]), f32[4], u32[]) async-start(x), calls=wrapped
  update = ((f32[4]), f32[4], u32[]) async-update(start)
  between = f32[4] sine(x)
  done = f32[4] async-done(update)
  ROOT t = (f32[4], f32[4]) tuple(between, done)
})");
  EXPECT_TRUE(StrictlyBefore(Value("start", {2}), Value("update", {2})));
  EXPECT_TRUE(StrictlyBefore(Value("start", {2}), Value("between")));
  EXPECT_FALSE(StrictlyBefore(Value("update", {2}), Value("between")));
  EXPECT_FALSE(StrictlyBefore("n", "between"));
}

// What a state does not show yet is there until the end as well.
TEST_F(HloOrderingTest, ResultsThatAStateDoesNotShow) {
  Parse(R"(
HloModule m, is_scheduled=true
wrapped { a = f32[4] parameter(0)
  v = f32[4] negate(a)
  n = f32[4] sine(v)
  ROOT both = (f32[4], f32[4]) tuple(v, n)
}, execution_thread="other"
ENTRY e {
  x = f32[4] parameter(0)
  start = ((f32[4]), (), u32[]) async-start(x), async_execution_thread="other",
    calls=wrapped
  between = f32[4] sine(x)
  done = (f32[4], f32[4]) async-done(start)
  d = f32[4] get-tuple-element(done), index=1
  ROOT t = (f32[4], f32[4]) tuple(between, d)
})");
  EXPECT_TRUE(Interfere("v", "between"));
}

// The operand that is updated in place ends where its state has the result.
TEST_F(HloOrderingTest, OperandsInPlaceOfResults) {
  Parse(R"(
HloModule m, is_scheduled=true
first { a = f32[4] parameter(0)
  b = f32[2] parameter(1)
  i = s32[] parameter(2)
  ROOT n1 = f32[4] dynamic-update-slice(a, b, i) }
second { a = f32[4] parameter(0)
  b = f32[2] parameter(1)
  i = s32[] parameter(2)
  ROOT n2 = f32[4] dynamic-update-slice(a, b, i) }
body {
  s = (f32[2], s32[], ((f32[4], f32[2], s32[]), f32[4], u32[])) parameter(0)
  b = f32[2] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  run = ((f32[4], f32[2], s32[]), f32[4], u32[]) get-tuple-element(s), index=2
  d = f32[4] async-done(run), calls=first
  late = f32[4] negate(d)
  q = ((f32[4], f32[2], s32[]), f32[4], u32[]) async-start(late, b, i), calls=second
  ROOT t = (f32[2], s32[], ((f32[4], f32[2], s32[]), f32[4], u32[])) tuple(b, i, q)
}
condition {
  s = (f32[2], s32[], ((f32[4], f32[2], s32[]), f32[4], u32[])) parameter(0)
  ROOT c = pred[] custom-call(s), custom_call_target="foo"
}
ENTRY e {
  p = f32[4] parameter(0)
  b = f32[2] parameter(1)
  i = s32[] parameter(2)
  x = f32[4] exponential(p)
  start = ((f32[4], f32[2], s32[]), f32[4], u32[]) async-start(x, b, i), calls=first
  tuple = (f32[2], s32[], ((f32[4], f32[2], s32[]), f32[4], u32[])) tuple(b, i, start)
  w = (f32[2], s32[], ((f32[4], f32[2], s32[]), f32[4], u32[])) while(tuple), condition=condition, body=body
  g = ((f32[4], f32[2], s32[]), f32[4], u32[]) get-tuple-element(w), index=2
  ROOT done = f32[4] async-done(g), calls=first
})");
  for (const char* loop : {"s", "w"}) {
    EXPECT_FALSE(Interfere(Value(loop, {2, 0, 0}), Value(loop, {2, 1})));
    // Others are read until the operation is done.
    EXPECT_TRUE(Interfere(Value("b"), Value(loop, {2, 1})));
  }
  EXPECT_FALSE(Interfere("x", "n1"));
  EXPECT_FALSE(Interfere("late", "n2"));
}

// Whichever operation it is has to update the operand in place.
TEST_F(HloOrderingTest, OperandsInPlaceOfSomeOperationsOnly) {
  Parse(R"(
HloModule m, is_scheduled=true
first { a = f32[4] parameter(0)
  ROOT n1 = f32[4] fusion(a), kind=kLoop, calls=update }
update { p.1 = f32[4] parameter(0)
  v = f32[2] constant({1, 2})
  z = s32[] constant(1)
  ROOT u = f32[4] dynamic-update-slice(p.1, v, z) }
second { a = f32[4] parameter(0)
  ROOT n2 = f32[4] reverse(a), dimensions={0} }
then { x.1 = f32[4] parameter(0)
  ROOT q = ((f32[4]), f32[4], u32[]) async-start(x.1), calls=first }
else { x.2 = f32[4] parameter(0)
  ROOT q = ((f32[4]), f32[4], u32[]) async-start(x.2), calls=second }
ENTRY e {
  p = f32[4] parameter(0)
  c = pred[] parameter(1)
  x = f32[4] exponential(p)
  y = f32[4] sine(p)
  k = ((f32[4]), f32[4], u32[]) conditional(c, x, y), true_computation=then, false_computation=else
  ROOT done = f32[4] async-done(k), calls=first
})");
  EXPECT_TRUE(Interfere(Value("k", {0, 0}), Value("k", {1})));
}

// What an operation of the module's does with an operand is told by the uses in
// there.
TEST_F(HloOrderingTest, AsyncLoopThatTakesAnOperand) {
  Parse(R"(
HloModule m, is_scheduled=true
turn {
  s = (f32[4]) parameter(0)
  x = f32[4] get-tuple-element(s), index=0
  y = f32[4] sine(x)
  ROOT t = (f32[4]) tuple(y)
}
again {
  s.1 = (f32[4]) parameter(0)
  ROOT c = pred[] custom-call(s.1), custom_call_target="foo"
}
wrapped {
  a = (f32[4]) parameter(0)
  ROOT w = (f32[4]) while(a), condition=again, body=turn
}
ENTRY e {
  p = f32[4] parameter(0)
  x.1 = f32[4] exponential(p)
  in = (f32[4]) tuple(x.1)
  start = (((f32[4])), (f32[4]), u32[]) async-start(in), calls=wrapped
  between = f32[4] sine(p)
  done = (f32[4]) async-done(start), calls=wrapped
  g = f32[4] get-tuple-element(done), index=0
  ROOT r = (f32[4], f32[4]) tuple(g, between)
})");
  EXPECT_FALSE(Interfere(Value("x.1"), Value("s", {0})));
  EXPECT_FALSE(Interfere(Value("x.1"), Value("w", {0})));
  EXPECT_TRUE(Interfere("x.1", "between"));
}

}  // namespace
}  // namespace xla
