#include "xla/hlo/analysis/hlo_dataflow_analysis.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Options {
  bool bitcast_defines_value = false;
  absl::flat_hash_set<absl::string_view> threads = {};
  bool propagate_through_calls = true;
};

// A module with both analyses; values are written as where they are defined,
// `name{0}`, phis as `phi name{0}`.
class DataflowTest : public ::testing::Test {
 protected:
  void Load(absl::string_view text, const Options& options = {}) {
    module_ = ParseForTest(text);
    ASSERT_NE(module_, nullptr);
    for (bool ssa : {true, false}) {
      auto analysis = HloDataflowAnalysis::Run(
          *module_, ssa, options.bitcast_defines_value, options.threads,
          options.propagate_through_calls);
      ASSERT_TRUE(analysis.ok()) << analysis.status();
      EXPECT_TRUE((*analysis)->Verify().ok()) << (*analysis)->Verify();
      (ssa ? ssa_ : sets_) = *std::move(analysis);
    }
  }
  absl::Status ErrorOf(absl::string_view text) {
    auto module = ParseForTest(text);
    return HloDataflowAnalysis::Run(*module).status();
  }

  HloInstruction* Inst(absl::string_view name) {
    return FindForTest(*module_, name);
  }
  std::vector<std::string> Values(const HloDataflowAnalysis& analysis,
                                  absl::string_view name,
                                  const ShapeIndex& index) {
    std::vector<std::string> texts;
    for (const HloValue* value :
         analysis.GetValueSet(Inst(name), index).values()) {
      texts.push_back(absl::StrCat(value->is_phi() ? "phi " : "",
                                   value->defining_instruction()->name(),
                                   value->defining_index().ToString()));
    }
    return texts;
  }
  // In SSA form; sets.
  std::vector<std::string> Ssa(absl::string_view name,
                               const ShapeIndex& index = {}) {
    return Values(*ssa_, name, index);
  }
  std::vector<std::string> Sets(absl::string_view name,
                                const ShapeIndex& index = {}) {
    return Values(*sets_, name, index);
  }
  // The same in both.
  std::vector<std::string> At(absl::string_view name,
                              const ShapeIndex& index = {}) {
    EXPECT_EQ(Ssa(name, index), Sets(name, index));
    return Ssa(name, index);
  }
  std::vector<std::string> Uses(absl::string_view name,
                                const ShapeIndex& index = {}) {
    std::vector<std::string> texts;
    for (const HloUse& use :
         sets_->GetValueDefinedAt(Inst(name), index).GetUses()) {
      texts.push_back(absl::StrCat(use.instruction->name(), " ",
                                   use.operand_number,
                                   use.operand_index.ToString()));
    }
    return texts;
  }
  std::vector<std::string> Positions(absl::string_view name,
                                     const ShapeIndex& index = {}) {
    std::vector<std::string> texts;
    for (const HloPosition& position :
         sets_->GetValueDefinedAt(Inst(name), index).positions()) {
      texts.push_back(absl::StrCat(position.instruction->name(),
                                   position.index.ToString()));
    }
    return texts;
  }

  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloDataflowAnalysis> ssa_;
  std::unique_ptr<HloDataflowAnalysis> sets_;
};

// --- Within a computation

TEST_F(DataflowTest, BinaryOperation) {
  Load(R"(HloModule m
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      ROOT a = add(c, d)
    })");
  EXPECT_EQ(ssa_->value_count(), 3);
  EXPECT_TRUE(ssa_->ValueIsDefinedAt(Inst("c")));
  EXPECT_FALSE(sets_->GetValueDefinedAt(Inst("c")).live_out_of_module());
  EXPECT_TRUE(sets_->GetValueDefinedAt(Inst("a")).live_out_of_module());
  EXPECT_THAT(Uses("c"), ElementsAre("a 0{}"));
  EXPECT_THAT(Uses("a"), IsEmpty());
  EXPECT_EQ(ssa_->GetUniqueValueAt(Inst("a")).ToShortString(),
            "<2 a (live out)>");
}

TEST_F(DataflowTest, TuplesAndTheirElements) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[] parameter(0)
      q = f32[] parameter(1)
      t = tuple(p, q)
      g = get-tuple-element(t), index=0
      h = get-tuple-element(t), index=1
      ROOT a = add(g, h)
    })");
  EXPECT_THAT(At("t"), ElementsAre("t{}"));
  EXPECT_THAT(At("t", {1}), ElementsAre("q{}"));
  EXPECT_THAT(At("g"), ElementsAre("p{}"));
  EXPECT_THAT(Positions("p"), ElementsAre("p{}", "t{0}", "g{}"));
  EXPECT_THAT(Uses("p"), ElementsAre("a 0{}"));
  EXPECT_THAT(Uses("t"), ElementsAre("g 0{}", "h 0{}"));
  EXPECT_EQ(sets_->GetFlattenedValueSet(Inst("t")).values().size(), 3);
}

TEST_F(DataflowTest, NestedTuples) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[] parameter(0)
      q = f32[] parameter(1)
      t = tuple(p, q)
      u = tuple(t, t, p)
      g = get-tuple-element(u), index=0
      ROOT h = get-tuple-element(g), index=1
    })");
  EXPECT_THAT(At("g"), ElementsAre("t{}"));
  EXPECT_THAT(At("h"), ElementsAre("q{}"));
  EXPECT_THAT(Positions("p"),
              ElementsAre("p{}", "t{0}", "u{0,0}", "u{1,0}", "u{2}", "g{0}"));
  EXPECT_THAT(Uses("t"), ElementsAre("h 0{}"));
  EXPECT_TRUE(sets_->GetValueDefinedAt(Inst("q")).live_out_of_module());
}

TEST_F(DataflowTest, CopiesAreShallow) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[] parameter(0)
      q = f32[] parameter(1)
      t = tuple(p, q)
      y = (f32[], f32[]) copy(t)
      x = f32[] copy(p)
      ROOT r = tuple(y, x)
    })");
  EXPECT_THAT(At("y"), ElementsAre("y{}"));
  EXPECT_THAT(At("y", {0}), ElementsAre("p{}"));
  EXPECT_THAT(At("x"), ElementsAre("x{}"));
  EXPECT_THAT(Uses("t"), ElementsAre("y 0{}"));
  EXPECT_THAT(Uses("p"), ElementsAre("x 0{}"));
}

TEST_F(DataflowTest, Bitcasts) {
  const absl::string_view text = R"(HloModule m
    ENTRY e {
      c = f32[4] parameter(0)
      b = f32[2,2] bitcast(c)
      ROOT n = negate(b)
    })";
  Load(text);
  EXPECT_THAT(At("b"), ElementsAre("c{}"));
  Options options;
  options.bitcast_defines_value = true;
  Load(text, options);
  EXPECT_THAT(At("b"), ElementsAre("b{}"));
}

TEST_F(DataflowTest, WhatPassesAnOperandOn) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[] parameter(0)
      q = f32[] parameter(1)
      k = token[] after-all()
      a = f32[] add-dependency(p, k)
      t = tuple(a, q)
      o = (f32[], f32[]) opt-barrier(t)
      g = get-tuple-element(o), index=0
      z = s32[] constant(0)
      x = f32[8] parameter(2)
      s = f32[<=8] set-dimension-size(x, z), dimensions={0}
      c = pred[] constant(true)
      w = select(c, p, q)
      ROOT r = tuple(g, s, w)
    })");
  EXPECT_THAT(At("g"), ElementsAre("p{}"));
  EXPECT_THAT(At("o"), ElementsAre("t{}"));
  EXPECT_THAT(At("s"), ElementsAre("s{}"));
  EXPECT_THAT(At("w"), ElementsAre("w{}"));
  EXPECT_THAT(Uses("t"), ElementsAre("o 0{}", "g 0{}"));
}

TEST_F(DataflowTest, EmbeddedComputations) {
  Load(R"(HloModule m
    sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    ENTRY e {
      x = f32[8] parameter(0)
      z = f32[] constant(0)
      r = f32[] reduce(x, z), dimensions={0}, to_apply=sum
      ROOT y = f32[] reduce(x, r), dimensions={0}, to_apply=sum
    })");
  EXPECT_THAT(At("a"), ElementsAre("a{}"));
  EXPECT_THAT(At("r"), ElementsAre("r{}"));
  EXPECT_FALSE(sets_->GetValueDefinedAt(Inst("s")).live_out_of_module());
}

// --- Transfers in two steps

TEST_F(DataflowTest, SendAndRecv) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[] parameter(0)
      k = token[] after-all()
      s = (f32[], u32[], token[]) send(p, k), channel_id=0
      sd = token[] send-done(s), channel_id=0
      r = (f32[], u32[], token[]) recv(k), channel_id=1
      rd = (f32[], token[]) recv-done(r), channel_id=1
      ROOT t = tuple(sd, rd)
    })");
  EXPECT_THAT(At("s"), ElementsAre("s{}"));
  EXPECT_THAT(At("s", {0}), ElementsAre("p{}"));
  EXPECT_THAT(At("s", {1}), ElementsAre("s{1}"));
  EXPECT_THAT(At("sd"), ElementsAre("sd{}"));
  EXPECT_THAT(At("rd"), ElementsAre("rd{}"));
  EXPECT_THAT(At("rd", {0}), ElementsAre("r{0}"));
  EXPECT_THAT(At("rd", {1}), ElementsAre("rd{1}"));
  EXPECT_THAT(Uses("r", {0}), ElementsAre("rd 0{0}"));
  EXPECT_TRUE(sets_->GetValueDefinedAt(Inst("r"), {0}).live_out_of_module());
}

TEST_F(DataflowTest, CopyStartAndDone) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[] parameter(0)
      s = (f32[], f32[], u32[]) copy-start(p)
      ROOT y = f32[] copy-done(s)
    })");
  EXPECT_THAT(At("s", {0}), ElementsAre("s{0}"));
  EXPECT_THAT(At("s", {1}), ElementsAre("p{}"));
  EXPECT_THAT(At("s", {2}), ElementsAre("s{2}"));
  EXPECT_THAT(At("y"), ElementsAre("s{0}"));
}

TEST_F(DataflowTest, CollectivesInTwoSteps) {
  Load(R"(HloModule m
    sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    ENTRY e {
      p = f32[2] parameter(0)
      q = f32[3] parameter(1)
      rs = f32[2] all-reduce-start(p), to_apply=sum
      rd = f32[2] all-reduce-done(rs)
      gs = (f32[2], f32[4]) all-gather-start(p), dimensions={0}
      gd = f32[4] all-gather-done(gs)
      hs = ((f32[2], f32[3]), (f32[4], f32[6])) all-gather-start(p, q), dimensions={0}
      hd = (f32[4], f32[6]) all-gather-done(hs)
      cs = (f32[2], f32[2], u32[], u32[]) collective-permute-start(p), source_target_pairs={{0,1}}
      cd = f32[2] collective-permute-done(cs)
      ROOT t = tuple(rd, gd, hd, cd)
    })");
  EXPECT_THAT(At("rs"), ElementsAre("rs{}"));
  EXPECT_THAT(At("rd"), ElementsAre("rs{}"));
  EXPECT_THAT(At("gs", {0}), ElementsAre("p{}"));
  EXPECT_THAT(At("gd"), ElementsAre("gs{1}"));
  EXPECT_THAT(At("hs", {0}), ElementsAre("hs{0}"));
  EXPECT_THAT(At("hs", {0, 1}), ElementsAre("q{}"));
  EXPECT_THAT(At("hd"), ElementsAre("hs{1}"));
  EXPECT_THAT(At("hd", {1}), ElementsAre("hs{1,1}"));
  EXPECT_THAT(At("cs", {0}), ElementsAre("p{}"));
  EXPECT_THAT(At("cs", {2}), ElementsAre("cs{2}"));
  EXPECT_THAT(At("cd"), ElementsAre("cs{1}"));
  EXPECT_TRUE(HloDataflowAnalysis::IsAsynchronousOperationStart(
      HloOpcode::kAllGatherStart));
  EXPECT_FALSE(
      HloDataflowAnalysis::IsAsynchronousOperationStart(HloOpcode::kAllGather));
  EXPECT_TRUE(
      HloDataflowAnalysis::IsAsynchronousOperationDone(HloOpcode::kSendDone));
}

TEST_F(DataflowTest, CollectivePermuteIntoABuffer) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[8] parameter(0)
      q = f32[8] parameter(1)
      z = s32[] constant(0)
      k = tuple(z)
      l = tuple(k)
      cs = (f32[8], f32[8], u32[], u32[]) collective-permute-start(p, q, l, l),
        source_target_pairs={{0,1}}, slice_sizes={{4}}
      ROOT cd = f32[8] collective-permute-done(cs)
    })");
  EXPECT_THAT(At("cs", {0}), ElementsAre("p{}"));
  EXPECT_THAT(At("cs", {1}), ElementsAre("cs{1}"));
  EXPECT_THAT(At("cd"), ElementsAre("cs{1}"));
}

// --- Asynchronous chains

constexpr absl::string_view kAsync = R"(HloModule m
    ENTRY e {
      p = f32[2] parameter(0)
      s = ((f32[2]), f32[3], s32[]) custom-call-start(p),
        custom_call_target="f", async_execution_thread="side"
      u = ((f32[2]), f32[3], s32[]) custom-call-update(s)
      ROOT y = f32[3] custom-call-done(u)
    })";

TEST_F(DataflowTest, AsyncChain) {
  Load(kAsync);
  const HloInstruction* wrapped = Inst("s")->async_wrapped_instruction();
  const std::string result = absl::StrCat(wrapped->name(), "{}");
  EXPECT_THAT(At("s"), ElementsAre("s{}"));
  EXPECT_THAT(At("s", {0}), ElementsAre("s{0}"));
  EXPECT_THAT(At("s", {0, 0}), ElementsAre("p{}"));
  EXPECT_THAT(At("s", {1}), ElementsAre(result));
  EXPECT_THAT(At("s", {2}), ElementsAre("s{2}"));
  EXPECT_THAT(At("u"), ElementsAre("u{}"));
  EXPECT_THAT(At("u", {0, 0}), ElementsAre("p{}"));
  EXPECT_THAT(At("u", {2}), ElementsAre("s{2}"));
  EXPECT_THAT(At("y"), ElementsAre(result));
  EXPECT_EQ(&ssa_->GetUniqueValueAt(wrapped->operand(0)),
            &ssa_->GetUniqueValueAt(Inst("p")));
}

TEST_F(DataflowTest, OtherThreadsAreLeftOut) {
  Options options;
  options.threads = {HloInstruction::kMainExecutionThread};
  Load(kAsync, options);
  EXPECT_THAT(At("s", {1}), ElementsAre("s{1}"));
  EXPECT_THAT(At("y"), ElementsAre("s{1}"));
  EXPECT_FALSE(ssa_->HasValues(Inst("s")->async_wrapped_instruction()));
  options.threads = {HloInstruction::kMainExecutionThread, "side"};
  Load(kAsync, options);
  EXPECT_TRUE(ssa_->HasValues(Inst("s")->async_wrapped_instruction()));
}

TEST_F(DataflowTest, AsyncWithTuples) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[2] parameter(0)
      t = tuple(p, p)
      s = (((f32[2], f32[2])), (f32[3], f32[4]), u32[]) custom-call-start(t),
        custom_call_target="f"
      u = (((f32[2], f32[2])), (f32[3], f32[4]), u32[]) custom-call-update(s)
      ROOT y = (f32[3], f32[4]) custom-call-done(u)
    })");
  const std::string wrapped(Inst("s")->async_wrapped_instruction()->name());
  EXPECT_THAT(At("s", {0, 0, 1}), ElementsAre("p{}"));
  EXPECT_THAT(At("s", {1}), ElementsAre("s{1}"));
  EXPECT_THAT(At("y"), ElementsAre("y{}"));
  EXPECT_THAT(At("y", {1}), ElementsAre(wrapped + "{1}"));
}

TEST_F(DataflowTest, AsyncCallOfAComputation) {
  Load(R"(HloModule m
    w {
      a = f32[2] parameter(0)
      b = f32[2] parameter(1)
      n = negate(a)
      ROOT r = add(n, b)
    }
    ENTRY e {
      p = f32[2] parameter(0)
      q = f32[2] parameter(1)
      s = ((f32[2], f32[2]), f32[2], u32[]) async-start(p, q), calls=w
      ROOT y = f32[2] async-done(s)
    })");
  EXPECT_THAT(At("b"), ElementsAre("q{}"));
  EXPECT_THAT(At("y"), ElementsAre("r{}"));
  EXPECT_THAT(Uses("p"), UnorderedElementsAre("s 0{}", "n 0{}", "y 0{0,0}"));
  EXPECT_TRUE(sets_->GetValueDefinedAt(Inst("r")).live_out_of_module());
}

TEST_F(DataflowTest, AsyncOperandsBoundLate) {
  Load(R"(HloModule m
    w {
      a = f32[2] parameter(0)
      b = f32[2] parameter(1)
      ROOT r = add(a, b)
    }
    ENTRY e {
      p = f32[2] parameter(0)
      q = f32[2] parameter(1)
      s = ((f32[2]), (), u32[]) async-start(p), calls=w
      u = ((f32[2], f32[2]), (), u32[]) async-update(s, q), calls=w
      ROOT y = f32[2] async-done(u), calls=w
    })");
  EXPECT_THAT(At("b"), ElementsAre("q{}"));
  EXPECT_THAT(At("u", {0, 1}), ElementsAre("q{}"));
  EXPECT_THAT(At("s", {1}), ElementsAre("s{1}"));
  EXPECT_THAT(At("y"), ElementsAre("r{}"));
}

TEST_F(DataflowTest, AsyncThatChangesItsContext) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[2] parameter(0)
      s = ((f32[2]), f32[3], u32[], s32[4]) custom-call-start(p), custom_call_target="f"
      u = ((f32[2]), f32[3], u32[], s32[8]) custom-call-update(s)
      ROOT y = f32[3] custom-call-done(u)
    })");
  EXPECT_THAT(At("u", {2}), ElementsAre("s{2}"));
  EXPECT_THAT(At("u", {3}), ElementsAre("u{3}"));
}

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
  Options options;
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
  EXPECT_THAT(Uses("c"), UnorderedElementsAre("w 0{0}", "n 0{}"));
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
