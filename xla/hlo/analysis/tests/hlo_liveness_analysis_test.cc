#include "xla/hlo/analysis/hlo_liveness_analysis.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

class HloLivenessAnalysisTest : public ::testing::Test {
 protected:
  void Analyze(absl::string_view text) {
    auto module = ParseAndReturnUnverifiedModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    module_->mutable_config().set_debug_options(options_);
    auto analysis = HloLivenessAnalysis::Run(*module_);
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    analysis_ = *std::move(analysis);
  }

  bool Live(absl::string_view name, const ShapeIndex& index = {}) {
    for (HloComputation* computation : module_->computations()) {
      if (HloInstruction* inst = computation->GetInstructionWithName(name)) {
        return analysis_->IsLive(inst, index);
      }
    }
    ADD_FAILURE() << name;
    return false;
  }

  DebugOptions options_;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloLivenessAnalysis> analysis_;
};

TEST_F(HloLivenessAnalysisTest, OperandsOfTheRoot) {
  Analyze(R"(
HloModule m
ENTRY e {
  c1 = s32[] constant(1)
  c2 = s32[] constant(2)
  dead = s32[] add(c2, c2)
  ROOT sum = s32[] add(c1, c1)
})");
  EXPECT_TRUE(Live("sum"));
  EXPECT_TRUE(Live("c1"));
  EXPECT_FALSE(Live("c2"));
  EXPECT_FALSE(Live("dead"));
}

TEST_F(HloLivenessAnalysisTest, StateOfLoopsIsKeptOnRequest) {
  constexpr absl::string_view kLoop = R"(
HloModule m
body {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  ROOT next = (s32[], f32[4]) tuple(i, x)
}
cond {
  p = (s32[], f32[4]) parameter(0)
  ROOT stop = pred[] constant(false)
}
ENTRY e {
  i0 = s32[] parameter(0)
  x0 = f32[4] parameter(1)
  init = (s32[], f32[4]) tuple(i0, x0)
  loop = (s32[], f32[4]) while(init), condition=cond, body=body
  ROOT count = s32[] get-tuple-element(loop), index=0
})";
  Analyze(kLoop);
  EXPECT_FALSE(Live("loop", {1}));
  options_.set_xla_disable_while_loop_dce(true);
  Analyze(kLoop);
  EXPECT_TRUE(Live("loop", {1}));
  EXPECT_TRUE(Live("x"));
}

TEST_F(HloLivenessAnalysisTest, ElementsOfTuples) {
  Analyze(R"(
HloModule m
ENTRY e {
  c1 = s32[] constant(1)
  c2 = s32[] constant(2)
  c3 = s32[] constant(3)
  inner = (s32[], s32[]) tuple(c1, c2)
  outer = ((s32[], s32[]), s32[]) tuple(inner, c3)
  g0 = (s32[], s32[]) get-tuple-element(outer), index=0
  ROOT g1 = s32[] get-tuple-element(g0), index=1
})");
  EXPECT_TRUE(Live("outer", {}));
  EXPECT_TRUE(Live("outer", {0}));
  EXPECT_FALSE(Live("outer", {0, 0}));
  EXPECT_TRUE(Live("outer", {0, 1}));
  EXPECT_FALSE(Live("outer", {1}));
  EXPECT_TRUE(Live("inner", {1}));
  EXPECT_FALSE(Live("c1"));
  EXPECT_TRUE(Live("c2"));
  EXPECT_FALSE(Live("c3"));
}

TEST_F(HloLivenessAnalysisTest, RootTupleIsLiveAllOver) {
  Analyze(R"(
HloModule m
ENTRY e {
  c1 = s32[] constant(1)
  inner = (s32[]) tuple(c1)
  ROOT outer = ((s32[]), s32[]) tuple(inner, c1)
})");
  EXPECT_TRUE(Live("outer", {0, 0}));
  EXPECT_TRUE(Live("inner", {0}));
  EXPECT_TRUE(Live("c1"));
}

// {0} counts, {1} is read outside, {2} feeds {1}, {3} only itself.
constexpr char kLoop[] = R"(
HloModule m
body {
  p = (s32[], f32[8], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = f32[8] get-tuple-element(p), index=1
  b = f32[8] get-tuple-element(p), index=2
  sum = f32[8] add(a, b)
  d = f32[8] get-tuple-element(p), index=3
  e = f32[8] exponential(d)
  ROOT t = (s32[], f32[8], f32[8], f32[8]) tuple(next, sum, b, e)
}
cond {
  q = (s32[], f32[8], f32[8], f32[8]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  ten = s32[] constant(10)
  ROOT lt = pred[] compare(j, ten), direction=LT
}
ENTRY entry {
  zero = s32[] constant(0)
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  z = f32[8] parameter(2)
  init = (s32[], f32[8], f32[8], f32[8]) tuple(zero, x, y, z)
  w = (s32[], f32[8], f32[8], f32[8]) while(init), condition=cond, body=body
  ROOT r = f32[8] get-tuple-element(w), index=1
})";

TEST_F(HloLivenessAnalysisTest, DeadElementOfALoop) {
  Analyze(kLoop);
  EXPECT_TRUE(Live("w", {0}));
  EXPECT_TRUE(Live("w", {1}));
  EXPECT_TRUE(Live("w", {2}));
  EXPECT_FALSE(Live("w", {3}));
  EXPECT_TRUE(Live("p", {2}));
  EXPECT_FALSE(Live("p", {3}));
  EXPECT_TRUE(Live("q", {0}));
  EXPECT_FALSE(Live("q", {1}));
  EXPECT_TRUE(Live("t", {2}));
  EXPECT_FALSE(Live("e"));
  EXPECT_FALSE(Live("d"));
  EXPECT_FALSE(Live("z"));
  EXPECT_TRUE(Live("y"));
  EXPECT_TRUE(Live("lt"));
  EXPECT_TRUE(Live("zero"));
}

TEST_F(HloLivenessAnalysisTest, SideEffectKeepsTheLoopThatRunsIt) {
  Analyze(R"(
HloModule m
body {
  p = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = f32[8] get-tuple-element(p), index=1
  b = f32[8] get-tuple-element(p), index=2
  tok = token[] after-all()
  out = token[] outfeed(a, tok), outfeed_shape=f32[8]{0}
  ROOT t = (s32[], f32[8], f32[8]) tuple(next, a, b)
}
cond {
  q = (s32[], f32[8], f32[8]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  ten = s32[] constant(10)
  ROOT lt = pred[] compare(j, ten), direction=LT
}
ENTRY entry {
  zero = s32[] constant(0)
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  init = (s32[], f32[8], f32[8]) tuple(zero, x, y)
  w = (s32[], f32[8], f32[8]) while(init), condition=cond, body=body
  ROOT r = f32[] constant(0)
})");
  EXPECT_TRUE(Live("out"));
  EXPECT_TRUE(Live("w", {0}));
  EXPECT_TRUE(Live("x"));
  EXPECT_TRUE(Live("next"));
  EXPECT_FALSE(Live("w", {2}));
  EXPECT_FALSE(Live("y"));
}

TEST_F(HloLivenessAnalysisTest, CallsAndConditionals) {
  Analyze(R"(
HloModule m
callee {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  na = f32[] negate(a)
  nb = f32[] negate(b)
  ROOT t = (f32[], f32[]) tuple(na, nb)
}
then {
  x = f32[] parameter(0)
  ROOT tx = (f32[]) tuple(x)
}
else {
  y = f32[] parameter(0)
  c = f32[] constant(1)
  ROOT ty = (f32[]) tuple(c)
}
ENTRY entry {
  p0 = f32[] parameter(0)
  p1 = f32[] parameter(1)
  p2 = f32[] parameter(2)
  pr = pred[] parameter(3)
  call = (f32[], f32[]) call(p0, p1), to_apply=callee
  g = f32[] get-tuple-element(call), index=1
  cond = (f32[]) conditional(pr, g, p2), true_computation=then, false_computation=else
  ROOT r = f32[] get-tuple-element(cond), index=0
})");
  EXPECT_TRUE(Live("nb"));
  EXPECT_FALSE(Live("na"));
  EXPECT_FALSE(Live("p0"));
  EXPECT_TRUE(Live("p1"));
  EXPECT_FALSE(Live("p2"));
  EXPECT_TRUE(Live("pr"));
  EXPECT_TRUE(Live("c"));
}

TEST_F(HloLivenessAnalysisTest, AsyncChainsNeedTheirOperands) {
  Analyze(R"(
HloModule m
callee {
  a = f32[4] parameter(0)
  ROOT na = f32[4] negate(a)
}
ENTRY entry {
  p0 = f32[4] parameter(0)
  s = ((f32[4]), f32[4]) call-start(p0), to_apply=callee
  ROOT d = f32[4] call-done(s)
})");
  EXPECT_TRUE(Live("s", {0, 0}));
  EXPECT_TRUE(Live("p0"));
  EXPECT_TRUE(Live("na"));
}

}  // namespace
}  // namespace xla
