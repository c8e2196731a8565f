#include "xla/hlo/analysis/hlo_alias_analysis.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class HloAliasAnalysisTest : public ::testing::Test {
 protected:
  void Load(absl::string_view text) {
    module_ = ParseForTest(text);
    ASSERT_NE(module_, nullptr);
    auto analysis = HloAliasAnalysis::Run(module_.get(), &alias_info_);
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    analysis_ = *std::move(analysis);
    // Buffers part the values.
    int64_t values = 0;
    for (const HloBuffer& buffer : analysis_->buffers()) {
      EXPECT_EQ(&analysis_->GetBuffer(buffer.id()), &buffer);
      values += buffer.values().size();
      for (const HloValue* value : buffer.values()) {
        EXPECT_EQ(analysis_->GetBufferContainingValue(*value), buffer);
      }
    }
    EXPECT_EQ(values, analysis_->dataflow_analysis().value_count());
  }
  absl::Status ErrorOf(absl::string_view text) {
    auto module = ParseForTest(text);
    return HloAliasAnalysis::Run(module.get(), &alias_info_).status();
  }
  HloInstruction* Inst(absl::string_view name) {
    return FindForTest(*module_, name);
  }
  // Ids of the buffers at a place.
  std::vector<HloBuffer::Id> Ids(absl::string_view name,
                                 const ShapeIndex& index = {}) {
    std::vector<HloBuffer::Id> ids;
    for (const HloBuffer* buffer :
         analysis_->ComputeBuffersAt(Inst(name), index)) {
      ids.push_back(buffer->id());
    }
    return ids;
  }
  HloBuffer::Id Id(absl::string_view name, const ShapeIndex& index = {}) {
    return analysis_->GetUniqueBufferAt(Inst(name), index).id();
  }
  // Where the values of the buffer at a place are defined.
  std::vector<std::string> Contents(absl::string_view name,
                                    const ShapeIndex& index = {}) {
    std::vector<std::string> places;
    for (const HloValue* value :
         analysis_->GetUniqueBufferAt(Inst(name), index).values()) {
      places.push_back(absl::StrCat(value->defining_instruction()->name(),
                                    value->defining_index().ToString()));
    }
    return places;
  }

  AliasInfo alias_info_;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloAliasAnalysis> analysis_;
};

TEST_F(HloAliasAnalysisTest, BinaryOperation) {
  Load(R"(HloModule m
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      ROOT a = add(c, d)
    })");
  EXPECT_EQ(analysis_->buffers().size(), 3);
  EXPECT_THAT(Contents("c"), ElementsAre("c{}"));
  EXPECT_THAT(analysis_->LiveOutBuffers(),
              ElementsAre(&analysis_->GetUniqueBufferAt(Inst("a"))));
  EXPECT_FALSE(
      analysis_->BufferLivesOut(analysis_->GetUniqueBufferAt(Inst("c"))));
}

TEST_F(HloAliasAnalysisTest, Tuples) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[] parameter(0)
      q = f32[] parameter(1)
      t = tuple(p, q)
      g = get-tuple-element(t), index=0
      h = get-tuple-element(t), index=1
      ROOT a = add(g, h)
    })");
  EXPECT_EQ(analysis_->buffers().size(), 4);
  EXPECT_EQ(Id("g"), Id("p"));
  EXPECT_EQ(Id("t", {1}), Id("q"));
}

TEST_F(HloAliasAnalysisTest, TupleOfOneValue) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[] parameter(0)
      ROOT t = tuple(p, p)
    })");
  EXPECT_EQ(Id("t", {0}), Id("t", {1}));
  EXPECT_EQ(analysis_->LiveOutBuffers().size(), 2);
}

// A module of a parameter (f32[], f32[]) that returns what `lines` say.
std::string Aliased(absl::string_view alias, absl::string_view lines) {
  return absl::StrCat("HloModule m, input_output_alias={", alias, R"(}
    ENTRY e {
      p = (f32[], f32[]) parameter(0)
      g = get-tuple-element(p), index=0
      h = get-tuple-element(p), index=1
      )",
                      lines, "}");
}

TEST_F(HloAliasAnalysisTest, AliasedParameters) {
  Load(Aliased("{0}: (0, {0}), {1}: (0, {1})", R"(n = negate(g)
      o = add(g, h)
      ROOT t = tuple(n, o))"));
  EXPECT_EQ(Id("n"), Id("g"));
  EXPECT_EQ(Id("o"), Id("h"));
  EXPECT_NE(Id("g"), Id("h"));
  EXPECT_THAT(Contents("g"), ElementsAre("p{0}", "n{}"));
}

TEST_F(HloAliasAnalysisTest, CrosswiseAliasedParameters) {
  // The result's elements swap places with the parameter's: all are one buffer.
  Load(Aliased("{0}: (0, {0}), {1}: (0, {1})", "ROOT t = tuple(h, g)"));
  EXPECT_EQ(Id("g"), Id("h"));
  EXPECT_EQ(Id("t", {0}), Id("t", {1}));
}

TEST_F(HloAliasAnalysisTest, AliasedParameterThroughALoop) {
  Load(R"(HloModule m, input_output_alias={{0}: (0, {0}), {1}: (0, {1})}
    body {
      b = (f32[], f32[]) parameter(0)
      b0 = get-tuple-element(b), index=0
      b1 = get-tuple-element(b), index=1
      n = add(b0, b1)
      ROOT r = tuple(b0, n)
    }
    cond { q = (f32[], f32[]) parameter(0) ROOT f = pred[] constant(false) }
    ENTRY e {
      p = (f32[], f32[]) parameter(0)
      w = while(p), condition=cond, body=body
      w0 = get-tuple-element(w), index=0
      w1 = get-tuple-element(w), index=1
      m = negate(w0)
      ROOT t = tuple(m, w1)
    })");
  EXPECT_EQ(Id("p", {1}), Id("n"));
  EXPECT_EQ(Id("t", {1}), Id("q", {1}));
  EXPECT_EQ(Id("m"), Id("p", {0}));
  EXPECT_THAT(Contents("p", {0}), UnorderedElementsAre("p{0}", "m{}"));
}

TEST_F(HloAliasAnalysisTest, OneCallAndTwo) {
  Load(R"(HloModule m
    f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      ROOT y = f32[] call(c, d), to_apply=f
    })");
  EXPECT_EQ(Id("a"), Id("c"));
  EXPECT_EQ(Id("b"), Id("d"));
  EXPECT_EQ(Id("y"), Id("s"));
  Load(R"(HloModule m
    f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      x = f32[] call(c, d), to_apply=f
      ROOT y = f32[] call(x, d), to_apply=f
    })");
  EXPECT_THAT(Ids("a"), UnorderedElementsAre(Id("c"), Id("s")));
  EXPECT_EQ(Id("b"), Id("d"));
  EXPECT_EQ(Id("x"), Id("s"));
}

// --- Loops

std::string Loops(absl::string_view computations, absl::string_view entry) {
  return absl::StrCat("HloModule m\n", computations, R"(
    cond1 { p = (f32[], f32[]) parameter(0) ROOT f = pred[] constant(false) }
    cond2 { q = (f32[], f32[]) parameter(0) ROOT g = pred[] constant(false) }
    ENTRY e {
      c = f32[] constant(1)
      d = f32[] constant(2)
      )",
                      entry, "\n}");
}

constexpr absl::string_view kAddBody = R"(
    body1 {
      a = (f32[], f32[]) parameter(0)
      a0 = get-tuple-element(a), index=0
      a1 = get-tuple-element(a), index=1
      n = add(a0, a1)
      ROOT r = tuple(a0, n)
    })";

TEST_F(HloAliasAnalysisTest, Loop) {
  Load(Loops(kAddBody, R"(t = tuple(c, d)
      ROOT w = while(t), condition=cond1, body=body1)"));
  EXPECT_THAT(Contents("w", {1}),
              UnorderedElementsAre("d{}", "n{}", "a{1}", "p{1}", "w{1}"));
  EXPECT_THAT(Contents("w", {0}), ElementsAre("c{}"));
  EXPECT_EQ(Id("w"), Id("t"));
  EXPECT_EQ(Id("r"), Id("a"));
  EXPECT_TRUE(
      analysis_->BufferLivesOut(analysis_->GetUniqueBufferAt(Inst("d"))));
}

TEST_F(HloAliasAnalysisTest, LoopsOneAfterTheOther) {
  Load(Loops(absl::StrCat(kAddBody, R"(
    body2 {
      b = (f32[], f32[]) parameter(0)
      b0 = get-tuple-element(b), index=0
      b1 = get-tuple-element(b), index=1
      o = add(b0, b1)
      ROOT r2 = tuple(b0, o)
    })"),
             R"(t = tuple(c, d)
      v = while(t), condition=cond1, body=body1
      ROOT w = while(v), condition=cond2, body=body2)"));
  EXPECT_EQ(Id("w", {1}), Id("d"));
  EXPECT_EQ(Id("n"), Id("o"));
  EXPECT_THAT(Contents("w", {0}), ElementsAre("c{}"));
}

TEST_F(HloAliasAnalysisTest, LoopInALoop) {
  Load(Loops(absl::StrCat(kAddBody, R"(
    outer {
      b = (f32[], f32[]) parameter(0)
      b0 = get-tuple-element(b), index=0
      b1 = get-tuple-element(b), index=1
      m = negate(b1)
      t2 = tuple(b0, m)
      ROOT v = while(t2), condition=cond1, body=body1
    })"),
             R"(t = tuple(c, d)
      ROOT w = while(t), condition=cond2, body=outer)"));
  EXPECT_EQ(Id("n"), Id("w", {1}));
  EXPECT_EQ(Id("m"), Id("d"));
  EXPECT_NE(Id("w", {0}), Id("w", {1}));
}

TEST_F(HloAliasAnalysisTest, SwizzlingLoop) {
  Load(Loops(R"(
    body {
      a = (f32[], f32[]) parameter(0)
      a0 = get-tuple-element(a), index=0
      a1 = get-tuple-element(a), index=1
      ROOT r = tuple(a1, a0)
    })",
             R"(t = tuple(c, d)
      ROOT w = while(t), condition=cond1, body=body)"));
  EXPECT_EQ(Id("w", {0}), Id("w", {1}));
  EXPECT_EQ(Id("c"), Id("d"));
}

TEST_F(HloAliasAnalysisTest, LoopsOverOneOperand) {
  // What two loops start from is one buffer with both.
  Load(Loops(absl::StrCat(kAddBody, R"(
    body2 {
      b = (f32[], f32[]) parameter(0)
      b0 = get-tuple-element(b), index=0
      b1 = get-tuple-element(b), index=1
      o = add(b0, b1)
      ROOT r2 = tuple(b0, o)
    })"),
             R"(t = tuple(c, d)
      v = while(t), condition=cond1, body=body1
      w = while(t), condition=cond2, body=body2
      ROOT u = tuple(v, w))"));
  EXPECT_EQ(Id("v", {1}), Id("w", {1}));
  EXPECT_EQ(Id("n"), Id("o"));
}

// --- Conditionals, bitcasts, updates in place

TEST_F(HloAliasAnalysisTest, Conditional) {
  Load(R"(HloModule m
    yes { a = f32[] parameter(0) ROOT n = negate(a) }
    no { b = f32[] parameter(0) ROOT s = sine(b) }
    ENTRY e {
      p = pred[] parameter(0)
      x = f32[] parameter(1)
      ROOT w = f32[] conditional(p, x, x), true_computation=yes, false_computation=no
    })");
  EXPECT_THAT(Contents("w"), UnorderedElementsAre("n{}", "s{}", "w{}"));
  EXPECT_EQ(Id("a"), Id("x"));
}

TEST_F(HloAliasAnalysisTest, Bitcast) {
  Load(R"(HloModule m
    ENTRY e {
      c = f32[4] parameter(0)
      ROOT b = f32[2,2] bitcast(c)
    })");
  EXPECT_EQ(analysis_->buffers().size(), 1);
  EXPECT_EQ(Id("b"), Id("c"));
}

TEST_F(HloAliasAnalysisTest, DynamicUpdateSlice) {
  Load(R"(HloModule m
    ENTRY e {
      x = f32[8] parameter(0)
      u = f32[2] parameter(1)
      i = s32[] parameter(2)
      y = copy(x)
      n = f32[8] dynamic-update-slice(y, u, i)
      ROOT r = negate(n)
    })");
  EXPECT_EQ(Id("n"), Id("y"));
  EXPECT_NE(Id("y"), Id("x"));
}

TEST_F(HloAliasAnalysisTest, FusedUpdates) {
  Load(R"(HloModule m
    f {
      a = f32[8] parameter(0)
      b = f32[8] parameter(1)
      u = f32[2] parameter(2)
      i = s32[] parameter(3)
      d = f32[8] dynamic-update-slice(a, u, i)
      e = f32[8] dynamic-update-slice(b, u, i)
      ROOT t = tuple(e, d)
    }
    g {
      a2 = f32[8] parameter(0)
      v2 = f32[2] parameter(1)
      i2 = s32[] parameter(2)
      d2 = f32[8] dynamic-update-slice(a2, v2, i2)
      w2 = negate(v2)
      ROOT e2 = f32[8] dynamic-update-slice(d2, w2, i2)
    }
    ENTRY e1 {
      x = f32[8] parameter(0)
      y = f32[8] parameter(1)
      v = f32[2] parameter(2)
      j = s32[] parameter(3)
      n = negate(x)
      m = negate(y)
      h = (f32[8], f32[8]) fusion(n, m, v, j), kind=kLoop, calls=f
      h0 = get-tuple-element(h), index=0
      k = f32[8] fusion(h0, v, j), kind=kLoop, calls=g
      ROOT r = tuple(h, k)
    })");
  EXPECT_EQ(Id("h", {1}), Id("n"));
  EXPECT_EQ(Id("h", {0}), Id("m"));
  // A kernel makes one update in place.
  EXPECT_NE(Id("k"), Id("m"));
}

// --- Asynchronous chains

TEST_F(HloAliasAnalysisTest, AsyncAliases) {
  Load(R"(HloModule m
    ENTRY e {
      p = f32[2] parameter(0)
      q = f32[2] copy(p)
      s = ((f32[2]), f32[2], u32[]) custom-call-start(q), custom_call_target="f",
        output_to_operand_aliasing={{}: (0, {})}
      ROOT y = f32[2] custom-call-done(s)
    })");
  EXPECT_EQ(Id("y"), Id("q"));
  EXPECT_EQ(Id("s", {1}), Id("s", {0, 0}));
}

// An add of two operands, the second of which is bound where `bind` says; the
// start is called s and says that its result is operand 1.
std::string Late(absl::string_view before, absl::string_view entry) {
  return absl::StrCat(R"(HloModule m
    w {
      a = f32[2] parameter(0)
      b = f32[2] parameter(1)
      ROOT r = f32[2] custom-call(a, b), custom_call_target="f"
    })",
                      before, R"(
    ENTRY e {
      p = f32[2] parameter(0)
      x = f32[2] parameter(1)
      q = f32[2] copy(x)
      )",
                      entry, "\n}");
}
constexpr absl::string_view kStart =
    "async-start(p), calls=w, output_to_operand_aliasing={{1}: (1, {})}";

TEST_F(HloAliasAnalysisTest, OperandBoundByAnUpdate) {
  Load(Late("", absl::StrCat("s = ((f32[2]), f32[2], u32[]) ", kStart, R"(
      u = ((f32[2], f32[2]), f32[2], u32[]) async-update(s, q), calls=w
      ROOT y = f32[2] async-done(u), calls=w)")));
  EXPECT_EQ(Id("y"), Id("q"));
  EXPECT_EQ(Id("b"), Id("q"));
  EXPECT_EQ(Id("s", {1}), Id("q"));
}

TEST_F(HloAliasAnalysisTest, UpdateSaysWhatItAliases) {
  Load(Late("", R"(s = ((f32[2]), f32[2], u32[]) async-start(p), calls=w
      u = ((f32[2], f32[2]), f32[2], u32[]) async-update(s, q), calls=w,
        output_to_operand_aliasing={{1}: (1, {})}
      ROOT y = f32[2] async-done(u), calls=w)"));
  EXPECT_EQ(Id("y"), Id("q"));
}

// Operand 0 and its places along the chain are one buffer, operand 1 another.
TEST_F(HloAliasAnalysisTest, OneElementOfTheResultIsAnOperand) {
  Load(R"(HloModule m
    w {
      a = f32[2] parameter(0)
      b = f32[2] parameter(1)
      ROOT r = (f32[2], f32[2]) custom-call(a, b), custom_call_target="f"
    }
    ENTRY e {
      x = f32[2] parameter(0)
      p = f32[2] copy(x)
      q = f32[2] copy(x)
      s = ((f32[2]), (), u32[]) async-start(p), calls=w,
        output_to_operand_aliasing={{1,0}: (0, {})}
      u = ((f32[2], f32[2]), (f32[2], f32[2]), u32[]) async-update(s, q),
        output_to_operand_aliasing={{2}: (0, {2})}
      v = ((f32[2], f32[2]), (f32[2], f32[2]), u32[]) async-update(u)
      ROOT d = (f32[2], f32[2]) async-done(v)
    })");
  EXPECT_EQ(Id("s", {0, 0}), Id("p"));
  EXPECT_EQ(Id("v", {0, 0}), Id("p"));
  EXPECT_EQ(Id("d", {0}), Id("p"));
  EXPECT_EQ(Id("u", {0, 1}), Id("q"));
  EXPECT_NE(Id("d", {1}), Id("p"));
  EXPECT_NE(Id("d", {1}), Id("q"));
  EXPECT_NE(Id("q"), Id("p"));
  // Contexts are the links' own unless they are said to be one.
  EXPECT_EQ(Id("u", {2}), Id("s", {2}));
  EXPECT_NE(Id("v", {2}), Id("u", {2}));
}

TEST_F(HloAliasAnalysisTest, StartInACall) {
  Load(Late(absl::StrCat(R"(
    begin {
      p = f32[2] parameter(0)
      ROOT s = ((f32[2]), f32[2], u32[]) )",
                         kStart, "\n}"),
            R"(k = ((f32[2]), f32[2], u32[]) call(p), to_apply=begin
      u = ((f32[2], f32[2]), f32[2], u32[]) async-update(k, q), calls=w
      ROOT y = f32[2] async-done(u), calls=w)"));
  EXPECT_EQ(Id("y"), Id("q"));
  EXPECT_EQ(Id("b"), Id("q"));
  EXPECT_EQ(Id("k", {1}), Id("q"));
}

TEST_F(HloAliasAnalysisTest, UpdateInACall) {
  Load(Late(R"(
    bind {
      k = ((f32[2]), f32[2], u32[]) parameter(0)
      z = f32[2] parameter(1)
      ROOT u = ((f32[2], f32[2]), f32[2], u32[]) async-update(k, z), calls=w
    })",
            absl::StrCat("s = ((f32[2]), f32[2], u32[]) ", kStart, R"(
      v = ((f32[2], f32[2]), f32[2], u32[]) call(s, q), to_apply=bind
      ROOT y = f32[2] async-done(v), calls=w)")));
  EXPECT_EQ(Id("y"), Id("q"));
  EXPECT_EQ(Id("z"), Id("b"));
}

TEST_F(HloAliasAnalysisTest, EveryLinkInItsOwnCall) {
  Load(Late(absl::StrCat(R"(
    begin {
      p = f32[2] parameter(0)
      ROOT s = ((f32[2]), f32[2], u32[]) )",
                         kStart, R"(
    }
    bind {
      k = ((f32[2]), f32[2], u32[]) parameter(0)
      z = f32[2] parameter(1)
      ROOT u = ((f32[2], f32[2]), f32[2], u32[]) async-update(k, z), calls=w
    }
    end {
      o = ((f32[2], f32[2]), f32[2], u32[]) parameter(0)
      ROOT d = f32[2] async-done(o), calls=w
    })"),
            R"(g = ((f32[2]), f32[2], u32[]) call(p), to_apply=begin
      v = ((f32[2], f32[2]), f32[2], u32[]) call(g, q), to_apply=bind
      ROOT y = f32[2] call(v), to_apply=end)"));
  EXPECT_EQ(Id("y"), Id("q"));
  EXPECT_EQ(Id("b"), Id("q"));
}

// --- Graphs that are not flat

TEST_F(HloAliasAnalysisTest, LoopBodyOfTwoLoops) {
  const absl::Status status = ErrorOf(Loops(kAddBody, R"(t = tuple(c, d)
      v = while(t), condition=cond1, body=body1
      ROOT w = while(v), condition=cond2, body=body1)"));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("flatten-call-graph"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("body1"));
}

TEST_F(HloAliasAnalysisTest, UpdateOfTheParameterOfTwoCalls) {
  const absl::Status status = ErrorOf(R"(HloModule m
    f {
      x = f32[8] parameter(0)
      u = f32[2] parameter(1)
      i = s32[] constant(0)
      ROOT d = f32[8] dynamic-update-slice(x, u, i)
    }
    ENTRY e {
      p = f32[8] parameter(0)
      q = f32[8] parameter(1)
      v = f32[2] parameter(2)
      a = f32[8] call(p, v), to_apply=f
      b = f32[8] call(q, v), to_apply=f
      ROOT t = tuple(a, b)
    })");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("f/d"));
}

TEST_F(HloAliasAnalysisTest, ListsOfWhatDoesNotExist) {
  EXPECT_EQ(ErrorOf(R"(HloModule m
    ENTRY e {
      p = f32[8] parameter(0)
      ROOT c = f32[8] custom-call(p), custom_call_target="f",
        output_to_operand_aliasing={{3}: (0, {})}
    })")
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(HloAliasAnalysisTest, Prints) {
  Load(Aliased("{0}: (0, {0})", "n = negate(g)\n ROOT t = tuple(n, h)"));
  EXPECT_THAT(analysis_->ToString(), HasSubstr("live out buffer"));
  const HloBuffer& buffer = analysis_->GetUniqueBufferAt(Inst("n"));
  EXPECT_THAT(buffer.ToString(), HasSubstr("p{0}"));
  EXPECT_EQ(buffer.ComputePositions().size(), 4);
  EXPECT_EQ(*buffer.color(), 0);
}

}  // namespace
}  // namespace xla
