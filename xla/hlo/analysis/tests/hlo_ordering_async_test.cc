// What runs asynchronously.

#include "gtest/gtest.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/tests/hlo_ordering_test_base.h"

namespace xla {
namespace {

using Constraint = HloOrdering::ExecutionConstraint;

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
  EXPECT_FALSE(Interfere("x", "n1"));
  EXPECT_TRUE(Interfere("y", "n2"));
}

// The operations that a loop starts have to update theirs in place, too.
TEST_F(HloOrderingTest, OperandsInPlaceBeforeALoopOnly) {
  Parse(R"(
HloModule m, is_scheduled=true
update { p.1 = f32[4] parameter(0)
  v = f32[2] constant({1, 2})
  z = s32[] constant(1)
  ROOT u = f32[4] dynamic-update-slice(p.1, v, z) }
first { a = f32[4] parameter(0)
  ROOT n1 = f32[4] fusion(a), kind=kLoop, calls=update }
second { a = f32[4] parameter(0)
  ROOT n2 = f32[4] reverse(a), dimensions={0} }
body {
  s = (((f32[4]), f32[4], u32[])) parameter(0)
  run = ((f32[4]), f32[4], u32[]) get-tuple-element(s), index=0
  d = f32[4] async-done(run), calls=first
  q = ((f32[4]), f32[4], u32[]) async-start(d), calls=second
  ROOT t = (((f32[4]), f32[4], u32[])) tuple(q)
}
condition {
  s = (((f32[4]), f32[4], u32[])) parameter(0)
  ROOT c = pred[] custom-call(s), custom_call_target="foo"
}
ENTRY e {
  p = f32[4] parameter(0)
  x = f32[4] exponential(p)
  start = ((f32[4]), f32[4], u32[]) async-start(x), calls=first
  tuple = (((f32[4]), f32[4], u32[])) tuple(start)
  w = (((f32[4]), f32[4], u32[])) while(tuple), condition=condition, body=body
  g = ((f32[4]), f32[4], u32[]) get-tuple-element(w), index=0
  ROOT done = f32[4] async-done(g), calls=first
})");
  EXPECT_TRUE(Interfere(Value("w", {0, 0, 0}), Value("w", {0, 1})));
}

// Of several results one is in place of the operand.
TEST_F(HloOrderingTest, OperandInPlaceOfOneResult) {
  Parse(R"(
HloModule m, is_scheduled=true
both { p.1 = f32[4] parameter(0)
  v = f32[2] constant({1, 2})
  z = s32[] constant(1)
  u = f32[4] dynamic-update-slice(p.1, v, z)
  h = f32[] constant(1)
  o = f32[4] broadcast(h), dimensions={}
  ROOT b = (f32[4], f32[4]) tuple(u, o) }
wrapped { a = f32[4] parameter(0)
  ROOT n = (f32[4], f32[4]) fusion(a), kind=kLoop, calls=both }
then { x.1 = f32[4] parameter(0)
  ROOT q.1 = ((f32[4]), (f32[4], f32[4]), u32[]) async-start(x.1), calls=wrapped }
wrapped.2 { a = f32[4] parameter(0)
  ROOT n = (f32[4], f32[4]) fusion(a), kind=kLoop, calls=both.2 }
both.2 { p.1 = f32[4] parameter(0)
  v = f32[2] constant({1, 2})
  z = s32[] constant(1)
  u = f32[4] dynamic-update-slice(p.1, v, z)
  h = f32[] constant(1)
  o = f32[4] broadcast(h), dimensions={}
  ROOT b = (f32[4], f32[4]) tuple(u, o) }
else { x.2 = f32[4] parameter(0)
  ROOT q.2 = ((f32[4]), (f32[4], f32[4]), u32[]) async-start(x.2), calls=wrapped.2 }
ENTRY e {
  p = f32[4] parameter(0)
  c = pred[] parameter(1)
  x = f32[4] exponential(p)
  y = f32[4] sine(p)
  k = ((f32[4]), (f32[4], f32[4]), u32[]) conditional(c, x, y), true_computation=then, false_computation=else
  ROOT done = (f32[4], f32[4]) async-done(k), calls=wrapped
})");
  EXPECT_FALSE(Interfere(Value("k", {0, 0}), Value("k", {1, 0})));
  EXPECT_TRUE(Interfere(Value("k", {0, 0}), Value("k", {1, 1})));
}

// Nothing is in place where it is not known which operation runs.
TEST_F(HloOrderingTest, OperandsInPlaceOfUnknownOperations) {
  Parse(R"(
HloModule m, is_scheduled=true
first { a = f32[4] parameter(0)
  ROOT n1 = f32[4] fusion(a), kind=kLoop, calls=update }
update { p.1 = f32[4] parameter(0)
  v = f32[2] constant({1, 2})
  z = s32[] constant(1)
  ROOT u = f32[4] dynamic-update-slice(p.1, v, z) }
then { x.1 = f32[4] parameter(0)
  ROOT q = ((f32[4]), f32[4], u32[]) async-start(x.1), calls=first }
else { x.2 = f32[4] parameter(0)
  ROOT r = ((f32[4]), f32[4], u32[]) custom-call(x.2), custom_call_target="foo" }
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

// An operand that somebody else reads as well does not end there.
TEST_F(HloOrderingTest, OperandInPlaceThatIsReadBesideTheOperation) {
  Parse(R"(
HloModule m, is_scheduled=true
wrapped { a = f32[4] parameter(0)
  b = f32[2] parameter(1)
  i = s32[] parameter(2)
  ROOT n = f32[4] dynamic-update-slice(a, b, i) }
ENTRY e {
  p = f32[4] parameter(0)
  b = f32[2] parameter(1)
  i = s32[] parameter(2)
  x = f32[4] exponential(p)
  start = ((f32[4], f32[2], s32[]), f32[4], u32[]) async-start(x, b, i), calls=wrapped
  between = f32[4] sine(x)
  done = f32[4] async-done(start)
  ROOT t = (f32[4], f32[4]) tuple(between, done)
})");
  EXPECT_TRUE(Interfere("x", "n"));
}

// A loop starts the next operation before it finishes what runs.
TEST_F(HloOrderingTest, OperandsInPlaceOfTwoOperationsThatRun) {
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
  s = (f32[2], s32[], f32[4], ((f32[4], f32[2], s32[]), f32[4], u32[])) parameter(0)
  b = f32[2] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  y = f32[4] get-tuple-element(s), index=2
  run = ((f32[4], f32[2], s32[]), f32[4], u32[]) get-tuple-element(s), index=3
  q = ((f32[4], f32[2], s32[]), f32[4], u32[]) async-start(y, b, i), calls=second
  d = f32[4] async-done(run), calls=first
  ROOT t = (f32[2], s32[], f32[4], ((f32[4], f32[2], s32[]), f32[4], u32[])) tuple(b, i, d, q)
}
condition {
  s = (f32[2], s32[], f32[4], ((f32[4], f32[2], s32[]), f32[4], u32[])) parameter(0)
  ROOT c = pred[] custom-call(s), custom_call_target="foo"
}
ENTRY e {
  p = f32[4] parameter(0)
  b = f32[2] parameter(1)
  i = s32[] parameter(2)
  x = f32[4] exponential(p)
  z = f32[4] sine(p)
  start = ((f32[4], f32[2], s32[]), f32[4], u32[]) async-start(x, b, i), calls=first
  tuple = (f32[2], s32[], f32[4], ((f32[4], f32[2], s32[]), f32[4], u32[])) tuple(b, i, z, start)
  w = (f32[2], s32[], f32[4], ((f32[4], f32[2], s32[]), f32[4], u32[])) while(tuple), condition=condition, body=body
  g = ((f32[4], f32[2], s32[]), f32[4], u32[]) get-tuple-element(w), index=3
  ROOT done = f32[4] async-done(g), calls=first
})");
  EXPECT_TRUE(Interfere(Value("s", {3, 0, 0}), Value("n2")));
  EXPECT_FALSE(Interfere(Value("s", {3, 0, 0}), Value("s", {3, 1})));
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
