// Values within a computation, of steps of collectives and of asynchronous
// calls.

#include "xla/hlo/analysis/hlo_dataflow_analysis.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/tests/hlo_dataflow_test_base.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

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

TEST_F(DataflowTest, RootsUseWhatTheyHandOn) {
  auto module = ParseForTest(R"(HloModule m
    body {
      p = (s32[]) parameter(0)
      i = s32[] get-tuple-element(p), index=0
      one = s32[] constant(1)
      next = s32[] add(i, one)
      ROOT state = (s32[]) tuple(one)
    }
    cond { q = (s32[]) parameter(0) ROOT c = pred[] constant(false) }
    ENTRY e {
      x = s32[] parameter(0)
      init = (s32[]) tuple(x)
      w = (s32[]) while(init), condition=cond, body=body
      outer = ((s32[])) tuple(w)
      ROOT r = (s32[]) get-tuple-element(outer), index=0
    })");
  for (bool ssa_form : {true, false}) {
    auto analysis = HloDataflowAnalysis::Run(*module, ssa_form);
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    const HloInstruction* one = FindForTest(*module, "one");
    const auto& uses = (*analysis)->GetValueDefinedAt(one).GetUses();
    EXPECT_THAT(uses, ::testing::IsSupersetOf(
                          {HloUse{FindForTest(*module, "next"), 1, {}},
                           HloUse{FindForTest(*module, "state"), 0, {}}}));
    if (!ssa_form) continue;
    EXPECT_THAT(
        (*analysis)->GetUniqueValueAt(FindForTest(*module, "w"), {0}).GetUses(),
        ::testing::ElementsAre(HloUse{FindForTest(*module, "r"), 0, {0, 0}}));
  }
}

// The uses of elements of wide tuples are found together.
TEST_F(DataflowTest, ElementsOfAWideTuple) {
  constexpr int kElements = 100;
  std::string shape, elements, sums;
  for (int i = 0; i < kElements; ++i) {
    const char* comma = i == 0 ? "" : ", ";
    absl::StrAppend(&shape, comma, "f32[]");
    absl::StrAppend(&elements, "g", i,
                    " = f32[] get-tuple-element(p), index=", i, "\n");
    absl::StrAppend(&sums, comma, i == 7 ? "g8" : absl::StrCat("g", i));
  }
  Load(absl::StrCat("HloModule m\n b { p = (", shape, ") parameter(0)\n",
                    elements, "ROOT r = (", shape, ") tuple(", sums,
                    ")\n}\n c { q = (", shape,
                    ") parameter(0)\n ROOT t = pred[] constant(false)\n}\n",
                    "ENTRY e { x = (", shape, ") parameter(0)\n w = (", shape,
                    ") while(x), condition=c, body=b\n",
                    "ROOT y = f32[] get-tuple-element(w), index=7\n}"));
  EXPECT_THAT(Uses("x", {6}), UnorderedElementsAre("w 0{6}", "r 6{}"));
  EXPECT_THAT(Uses("x", {7}), UnorderedElementsAre("w 0{7}", "y 0{7}"));
  EXPECT_THAT(Uses("x", {8}), UnorderedElementsAre("w 0{8}", "r 7{}", "r 8{}",
                                                   "y 0{7}", "y 0{8}"));
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
  EXPECT_THAT(Uses("p"), ElementsAre("x 0{}", "r 0{0}"));
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
  DataflowOptions options;
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
  EXPECT_THAT(Uses("r", {0}), ElementsAre("rd 0{0}", "t 1{0}"));
  EXPECT_TRUE(sets_->GetValueDefinedAt(Inst("r"), {0}).live_out_of_module());
}

TEST_F(DataflowTest, TheTupleOfADoneIsItsOwn) {
  Load(R"(HloModule m, replica_count=2
    ENTRY e {
      a = f32[4] parameter(0)
      b = f32[4] parameter(1)
      p = ((f32[4], f32[4]), (f32[4], f32[4])) collective-permute-start(a, b), source_target_pairs={{0,1}}
      q = (f32[4], f32[4]) collective-permute-done(p)
      g = ((f32[4], f32[4]), (f32[8], f32[8])) all-gather-start(a, b), dimensions={0}, replica_groups={{0,1}}
      h = (f32[8], f32[8]) all-gather-done(g)
      ROOT t = (f32[4], f32[4]) tuple(a, a)
    })");
  for (const char* done : {"q", "h"}) {
    EXPECT_TRUE(sets_->ValueIsDefinedAt(Inst(done), {})) << done;
    EXPECT_FALSE(sets_->ValueIsDefinedAt(Inst(done), {0})) << done;
    EXPECT_FALSE(sets_->ValueIsDefinedAt(Inst(done), {1})) << done;
  }
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
  EXPECT_THAT(At("hd"), ElementsAre("hd{}"));
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
  EXPECT_THAT(At("u", {2}), ElementsAre("u{2}"));
  EXPECT_THAT(At("y"), ElementsAre(result));
  EXPECT_EQ(&ssa_->GetUniqueValueAt(wrapped->operand(0)),
            &ssa_->GetUniqueValueAt(Inst("p")));
}

TEST_F(DataflowTest, OtherThreadsAreLeftOut) {
  DataflowOptions options;
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
  EXPECT_THAT(At("u", {2}), ElementsAre("u{2}"));
  EXPECT_THAT(At("u", {3}), ElementsAre("u{3}"));
}

}  // namespace
}  // namespace xla
