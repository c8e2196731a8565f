#include "xla/hlo/analysis/tuple_points_to_analysis.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/logical_buffer.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A module with its analysis; places are written `name{0,1}`.
class TuplePointsToTest : public ::testing::Test {
 protected:
  void Load(absl::string_view text) {
    module_ = ParseForTest(text);
    ASSERT_NE(module_, nullptr);
    auto analysis = TuplePointsToAnalysis::Run(module_.get());
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    analysis_ = *std::move(analysis);
    for (LogicalBuffer::Id i = 0; i < analysis_->num_logical_buffers(); ++i) {
      EXPECT_TRUE(analysis_->VerifyBuffer(analysis_->GetBuffer(i)).ok());
    }
  }
  // Instructions of an entry computation with constants c, d: f32[] and
  // tuple t = (c, d).
  void LoadEntry(absl::string_view lines) {
    Load(
        absl::StrCat("HloModule m\nENTRY e {\n c = f32[] constant(1)\n"
                     " d = f32[] constant(2)\n",
                     lines, "\n}\n"));
  }

  HloInstruction* Inst(absl::string_view name) {
    return FindForTest(*module_, name);
  }
  const PointsToSet& Set(absl::string_view name) {
    return analysis_->GetPointsToSet(Inst(name));
  }
  static std::string Place(const HloInstruction* inst,
                           const ShapeIndex& index) {
    return absl::StrCat(inst->name(), index.ToString());
  }
  // Where the buffers that stand here are defined.
  std::vector<std::string> At(absl::string_view name, const ShapeIndex& index) {
    std::vector<std::string> places;
    for (const LogicalBuffer* buffer : Set(name).element(index)) {
      places.push_back(Place(buffer->instruction(), buffer->index()));
    }
    return places;
  }
  std::vector<std::string> Sources(absl::string_view name,
                                   const ShapeIndex& index) {
    std::vector<std::string> names;
    for (const HloInstruction* tuple : Set(name).tuple_sources(index)) {
      names.emplace_back(tuple->name());
    }
    return names;
  }
  std::vector<std::string> Aliases(absl::string_view name,
                                   const ShapeIndex& index) {
    auto buffer = analysis_->GetBufferDefinedAt(Inst(name), index);
    if (!buffer.ok()) return {"not defined here"};
    std::vector<std::string> places;
    for (const BufferAlias& alias : analysis_->GetBufferAliases(**buffer)) {
      places.push_back(Place(alias.instruction(), alias.index()));
    }
    return places;
  }
  bool DoesNotUse(absl::string_view operand, const ShapeIndex& index,
                  absl::string_view user) {
    return analysis_->DoesNotUseOperandBuffer(Inst(operand), index, Inst(user));
  }

  std::unique_ptr<HloModule> module_;
  std::unique_ptr<TuplePointsToAnalysis> analysis_;
};

// --- Tuples

TEST_F(TuplePointsToTest, SimpleTuple) {
  LoadEntry("ROOT t = tuple(c, d)");
  EXPECT_EQ(Set("t").size(), 3);
  EXPECT_FALSE(Set("t").IsAmbiguous());
  EXPECT_TRUE(Set("t").IsDistinct());
  EXPECT_THAT(At("t", {}), ElementsAre("t{}"));
  EXPECT_THAT(At("t", {0}), ElementsAre("c{}"));
  EXPECT_THAT(At("t", {1}), ElementsAre("d{}"));
  EXPECT_THAT(Sources("t", {}), ElementsAre("t"));
  EXPECT_THAT(Sources("t", {0}), IsEmpty());
  EXPECT_EQ(Set("c").size(), 1);
  EXPECT_EQ(analysis_->GetBuffersDefinedByInstruction(Inst("t")).size(), 1);
}

TEST_F(TuplePointsToTest, NestedTuple) {
  LoadEntry("t = tuple(c, d)\n z = f32[] constant(3)\n ROOT o = tuple(t, z)");
  EXPECT_EQ(Set("o").size(), 5);
  EXPECT_TRUE(Set("o").IsDistinct());
  EXPECT_THAT(At("o", {0, 1}), ElementsAre("d{}"));
  EXPECT_THAT(At("o", {0}), ElementsAre("t{}"));
  EXPECT_THAT(Sources("o", {}), ElementsAre("o"));
  EXPECT_THAT(Sources("o", {0}), ElementsAre("t"));
  EXPECT_THAT(Sources("o", {1}), IsEmpty());
  EXPECT_FALSE(analysis_->InstructionDefinesBufferAtIndex(Inst("o"), {0}));
  EXPECT_TRUE(analysis_->InstructionDefinesBufferAtIndex(Inst("o"), {}));
}

TEST_F(TuplePointsToTest, GetTupleElement) {
  LoadEntry(
      "t = tuple(c, d)\n z = f32[] constant(3)\n o = tuple(t, z)\n"
      "ROOT g = get-tuple-element(o), index=0");
  EXPECT_EQ(Set("g").size(), 3);
  EXPECT_THAT(At("g", {}), ElementsAre("t{}"));
  EXPECT_THAT(At("g", {0}), ElementsAre("c{}"));
  EXPECT_THAT(Sources("g", {}), ElementsAre("t"));
  EXPECT_TRUE(analysis_->GetBuffersDefinedByInstruction(Inst("g")).empty());
}

TEST_F(TuplePointsToTest, AddDependency) {
  LoadEntry("k = token[] after-all()\n ROOT a = f32[] add-dependency(c, k)");
  EXPECT_EQ(Set("a").size(), 1);
  EXPECT_THAT(At("a", {}), ElementsAre("c{}"));
}

TEST_F(TuplePointsToTest, TupleOfOneValue) {
  LoadEntry("ROOT t = tuple(c, c, c)");
  EXPECT_EQ(Set("t").size(), 2);
  EXPECT_FALSE(Set("t").IsAmbiguous());
  EXPECT_FALSE(Set("t").IsDistinct());
}

TEST_F(TuplePointsToTest, CopyOfATupleIsShallow) {
  LoadEntry("t = tuple(c, d)\n ROOT y = (f32[], f32[]) copy(t)");
  EXPECT_THAT(At("y", {}), ElementsAre("y{}"));
  EXPECT_THAT(At("y", {0}), ElementsAre("c{}"));
  EXPECT_THAT(At("y", {1}), ElementsAre("d{}"));
  EXPECT_THAT(Sources("y", {}), ElementsAre("t"));
}

TEST_F(TuplePointsToTest, CopyOfNestedConstants) {
  LoadEntry(
      "k = (f32[], (f32[], f32[])) constant((1, (2, 3)))\n"
      "ROOT y = (f32[], (f32[], f32[])) copy(k)");
  EXPECT_THAT(At("y", {}), ElementsAre("y{}"));
  EXPECT_THAT(At("y", {1}), ElementsAre("k{1}"));
  EXPECT_THAT(At("y", {1, 0}), ElementsAre("k{1,0}"));
  EXPECT_EQ(Set("k").size(), 5);
}

TEST_F(TuplePointsToTest, BitcastInTuple) {
  LoadEntry("b = f32[1] bitcast(d)\n ROOT t = tuple(c, b)");
  EXPECT_THAT(At("b", {}), ElementsAre("d{}"));
  EXPECT_THAT(Sources("b", {}), IsEmpty());
  EXPECT_THAT(At("t", {0}), ElementsAre("c{}"));
  EXPECT_THAT(At("t", {1}), ElementsAre("d{}"));
}

TEST_F(TuplePointsToTest, AliasesThroughNestedTuplesWithRepeats) {
  LoadEntry("t = tuple(c, c)\n ROOT o = tuple(t, t)");
  EXPECT_THAT(Aliases("c", {}),
              UnorderedElementsAre("c{}", "t{0}", "t{1}", "o{0,0}", "o{0,1}",
                                   "o{1,0}", "o{1,1}"));
  EXPECT_THAT(Aliases("t", {}), UnorderedElementsAre("t{}", "o{0}", "o{1}"));
}

TEST_F(TuplePointsToTest, DomainAndBarrier) {
  LoadEntry("t = tuple(c, d)\n ROOT o = (f32[], f32[]) opt-barrier(t)");
  EXPECT_THAT(At("o", {}), ElementsAre("t{}"));
  EXPECT_THAT(At("o", {1}), ElementsAre("d{}"));
  EXPECT_THAT(Sources("o", {}), ElementsAre("t"));
}

// --- Copies and transfers in two steps

TEST_F(TuplePointsToTest, CopyStartAndDone) {
  LoadEntry(
      "s = (f32[], f32[], u32[]) copy-start(c)\n ROOT y = f32[] copy-done(s)");
  EXPECT_THAT(Aliases("s", {0}), UnorderedElementsAre("s{0}", "y{}"));
  EXPECT_THAT(Aliases("c", {}), UnorderedElementsAre("c{}", "s{1}"));
  EXPECT_THAT(At("s", {2}), ElementsAre("s{2}"));
}

TEST_F(TuplePointsToTest, SendAndDone) {
  LoadEntry(
      "k = token[] after-all()\n"
      "s = (f32[], u32[], token[]) send(c, k), channel_id=0\n"
      "ROOT y = token[] send-done(s), channel_id=0");
  EXPECT_THAT(At("s", {}), ElementsAre("s{}"));
  EXPECT_THAT(At("s", {0}), ElementsAre("c{}"));
  EXPECT_THAT(At("s", {1}), ElementsAre("s{1}"));
  EXPECT_THAT(At("y", {}), ElementsAre("y{}"));
  EXPECT_THAT(Aliases("c", {}), UnorderedElementsAre("c{}", "s{0}"));
}

TEST_F(TuplePointsToTest, RecvAndDone) {
  LoadEntry(
      "k = token[] after-all()\n"
      "r = (f32[1,2], u32[], token[]) recv(k), channel_id=0\n"
      "ROOT y = (f32[1,2], token[]) recv-done(r), channel_id=0");
  EXPECT_THAT(Aliases("r", {0}), UnorderedElementsAre("r{0}", "y{0}"));
  EXPECT_THAT(At("y", {}), ElementsAre("y{}"));
  EXPECT_THAT(At("y", {1}), ElementsAre("y{1}"));
}

// --- Asynchronous chains

TEST_F(TuplePointsToTest, AsyncChain) {
  LoadEntry(R"(
    p = f32[2] parameter(0)
    s = ((f32[2]), f32[3], u32[]) custom-call-start(p), custom_call_target="f"
    u = ((f32[2]), f32[3], u32[]) custom-call-update(s),
      output_to_operand_aliasing={{2}: (0, {2})}
    ROOT y = f32[3] custom-call-done(u))");
  for (absl::string_view name : {"s", "u", "y"}) {
    EXPECT_FALSE(Set(name).IsAmbiguous());
    EXPECT_TRUE(Set(name).IsDistinct());
  }
  EXPECT_THAT(Aliases("p", {}),
              UnorderedElementsAre("p{}", "s{0,0}", "u{0,0}"));
  EXPECT_THAT(Aliases("s", {1}), UnorderedElementsAre("s{1}", "u{1}", "y{}"));
  EXPECT_THAT(Aliases("s", {2}), UnorderedElementsAre("s{2}", "u{2}"));
}

TEST_F(TuplePointsToTest, AsyncUpdateInALoop) {
  Load(R"(HloModule m
    w { x = f32[2] parameter(0)  ROOT n = negate(x) }
    body {
      t = (((f32[2]), f32[2], u32[]), s32[]) parameter(0)
      s0 = ((f32[2]), f32[2], u32[]) get-tuple-element(t), index=0
      i = s32[] get-tuple-element(t), index=1
      u = ((f32[2]), f32[2], u32[]) async-update(s0), calls=w
      ROOT r = tuple(u, i)
    }
    cond {
      t = (((f32[2]), f32[2], u32[]), s32[]) parameter(0)
      ROOT f = pred[] constant(false)
    }
    ENTRY e {
      p = f32[2] parameter(0)
      s = ((f32[2]), f32[2], u32[]) async-start(p), calls=w
      i = s32[] constant(0)
      t = tuple(s, i)
      l = while(t), condition=cond, body=body
      g = ((f32[2]), f32[2], u32[]) get-tuple-element(l), index=0
      ROOT y = f32[2] async-done(g), calls=w
    })");
  EXPECT_FALSE(Set("u").IsAmbiguous());
  EXPECT_THAT(At("u", {1}), ElementsAre("t{0,1}"));
  EXPECT_THAT(At("y", {}), ElementsAre("l{0,1}"));
}

TEST_F(TuplePointsToTest, AsyncUpdateThatChangesItsContext) {
  LoadEntry(R"(
    p = f32[2] parameter(0)
    s = ((f32[2]), f32[3], u32[], s32[4]) custom-call-start(p), custom_call_target="f"
    u = ((f32[2]), f32[3], u32[], s32[8]) custom-call-update(s)
    ROOT y = f32[3] custom-call-done(u))");
  EXPECT_THAT(At("u", {2}), ElementsAre("u{2}"));
  EXPECT_THAT(At("u", {3}), ElementsAre("u{3}"));
  EXPECT_THAT(At("u", {}), ElementsAre("u{}"));
}

TEST_F(TuplePointsToTest, AsyncUpdateThatPassesOnOneContext) {
  LoadEntry(R"(
    p = f32[2] parameter(0)
    s = ((f32[2]), f32[3], (u32[], s32[4])) custom-call-start(p), custom_call_target="f"
    u = ((f32[2]), f32[3], (u32[], u32[])) custom-call-update(s),
      output_to_operand_aliasing={{2,1}: (0, {2,0})}
    ROOT y = f32[3] custom-call-done(u))");
  EXPECT_THAT(At("u", {2}), ElementsAre("u{2}"));
  EXPECT_THAT(At("u", {2, 0}), ElementsAre("u{2,0}"));
  EXPECT_THAT(At("u", {2, 1}), ElementsAre("s{2,0}"));
  EXPECT_THAT(At("u", {1}), ElementsAre("s{1}"));
}

TEST_F(TuplePointsToTest, OutputThatIsAnOperandShownLate) {
  for (absl::string_view update :
       {"((f32[2]), (f32[2], f32[3]), u32[]) async-update(s)",
        "((f32[2]), (), u32[]) async-update(s)"}) {
    Load(absl::StrCat(R"(HloModule m
    w {
      a = f32[2] parameter(0)
      ROOT n = (f32[2], f32[3]) custom-call(a), custom_call_target="f"
    }
    ENTRY e {
      p = f32[2] parameter(0)
      s = ((f32[2]), (), u32[]) async-start(p), calls=w,
        output_to_operand_aliasing={{1,0}: (0, {})}
      u = )",
                      update, R"(
      ROOT y = (f32[2], f32[3]) async-done(u)
    })"));
    EXPECT_THAT(At("y", {0}), ElementsAre("p{}"));
    EXPECT_THAT(Aliases("p", {}), testing::Contains("y{0}"));
    EXPECT_THAT(Aliases("p", {}), testing::Not(testing::Contains("y{1}")));
  }
}

// The operand by an update, the output with the done.
TEST_F(TuplePointsToTest, OutputThatIsALateOperandShownAtTheEnd) {
  Load(R"(HloModule m
    w {
      a = f32[2] parameter(0)
      b = f32[2] parameter(1)
      ROOT n = f32[2] add(a, b)
    }
    ENTRY e {
      p = f32[2] parameter(0)
      q = f32[2] parameter(1)
      s = ((f32[2]), (), u32[]) async-start(p), calls=w,
        output_to_operand_aliasing={{1}: (1, {})}
      u = ((f32[2], f32[2]), (), u32[]) async-update(s, q)
      ROOT y = f32[2] async-done(u)
    })");
  EXPECT_THAT(At("y", {}), ElementsAre("q{}"));
  EXPECT_THAT(At("u", {0, 1}), ElementsAre("q{}"));
}

TEST_F(TuplePointsToTest, AsyncDoneMakesWhatTheStartHasNot) {
  LoadEntry(R"(
    p = f32[2] parameter(0)
    s = ((f32[2]), (), u32[]) custom-call-start(p), custom_call_target="f"
    ROOT y = f32[3] custom-call-done(s))");
  EXPECT_THAT(At("y", {}), ElementsAre("y{}"));
  LoadEntry(R"(
    p = f32[2] parameter(0)
    s = ((f32[2]), (), u32[]) custom-call-start(p), custom_call_target="f"
    ROOT y = (f32[3], f32[4]) custom-call-done(s))");
  EXPECT_THAT(At("y", {}), ElementsAre("y{}"));
  EXPECT_THAT(At("y", {0}), ElementsAre("y{0}"));
  EXPECT_THAT(At("y", {1}), ElementsAre("y{1}"));
}

// Two operands, the second of which an update binds; `start` and `update` are
// their shapes and attributes.
std::string LateBinding(absl::string_view start, absl::string_view update,
                        absl::string_view after = "u") {
  return absl::StrCat(
      R"(HloModule m
    w {
      a = f32[2] parameter(0)
      b = f32[2] parameter(1)
      ROOT n = f32[2] add(a, b)
    }
    ENTRY e {
      p = f32[2] parameter(0)
      q = f32[2] parameter(1)
      s = )",
      absl::StrCat(start, "\n u = ", update, "\n ROOT y = f32[2] async-done(",
                   after, ")\n}"));
}

TEST_F(TuplePointsToTest, OperandBoundByAnUpdate) {
  Load(LateBinding(
      "((f32[2]), f32[2], u32[]) async-start(p), calls=w",
      "((f32[2], f32[2]), f32[2], u32[]) async-update(s, q), calls=w"));
  EXPECT_THAT(At("s", {0, 0}), ElementsAre("p{}"));
  EXPECT_THAT(At("u", {0, 0}), ElementsAre("p{}"));
  EXPECT_THAT(At("u", {0, 1}), ElementsAre("q{}"));
  EXPECT_THAT(Aliases("q", {}), UnorderedElementsAre("q{}", "u{0,1}"));
  EXPECT_THAT(At("y", {}), ElementsAre("s{1}"));
}

TEST_F(TuplePointsToTest, LateOperandIsTheOutputBoundEarly) {
  Load(LateBinding("((f32[2]), f32[2], u32[]) async-start(p), calls=w",
                   "((f32[2], f32[2]), f32[2], u32[]) async-update(s, q), "
                   "calls=w, output_to_operand_aliasing={{1}: (1, {})}"));
  // The output's memory is q's from the start on.
  EXPECT_THAT(Aliases("q", {}),
              UnorderedElementsAre("q{}", "s{1}", "u{0,1}", "u{1}", "y{}"));
}

TEST_F(TuplePointsToTest, LateOperandIsTheOutputBoundLate) {
  Load(LateBinding("((f32[2]), (), u32[]) async-start(p), calls=w",
                   "((f32[2], f32[2]), f32[2], u32[]) async-update(s, q), "
                   "calls=w, output_to_operand_aliasing={{1}: (1, {})}"));
  EXPECT_THAT(At("s", {1}), ElementsAre("s{1}"));
  EXPECT_THAT(Aliases("q", {}),
              UnorderedElementsAre("q{}", "u{0,1}", "u{1}", "y{}"));
}

TEST_F(TuplePointsToTest, OutputPostponedToTheDone) {
  Load(
      LateBinding("((f32[2]), (), u32[]) async-start(p), calls=w",
                  "((f32[2], f32[2]), (), u32[]) async-update(s, q), calls=w"));
  EXPECT_THAT(At("y", {}), ElementsAre("y{}"));
  EXPECT_THAT(At("u", {0, 1}), ElementsAre("q{}"));
}

TEST_F(TuplePointsToTest, TwoUpdatesBindAnOperandEach) {
  Load(LateBinding("((), f32[2], u32[]) async-start(), calls=w",
                   R"(((f32[2]), f32[2], u32[]) async-update(s, p), calls=w
      v = ((f32[2], f32[2]), f32[2], u32[]) async-update(u, q),
        calls=w, output_to_operand_aliasing={{1}: (1, {})})",
                   "v"));
  EXPECT_THAT(Aliases("p", {}),
              UnorderedElementsAre("p{}", "u{0,0}", "v{0,0}"));
  EXPECT_THAT(Aliases("q", {}), UnorderedElementsAre("q{}", "s{1}", "u{1}",
                                                     "v{0,1}", "v{1}", "y{}"));
}

// --- Custom calls

TEST_F(TuplePointsToTest, CustomCallDefinesWhatItAliases) {
  LoadEntry(R"(
    t = tuple(c, d)
    ROOT y = (f32[], f32[]) custom-call(t), custom_call_target="f",
      output_to_operand_aliasing={{0}: (0, {0})})");
  EXPECT_THAT(At("y", {0}), ElementsAre("y{0}"));
}

TEST_F(TuplePointsToTest, CallMarkers) {
  LoadEntry(absl::StrCat(
      "y = (f32[], f32[]) custom-call(c, d), custom_call_target=\"",
      kCallMarkerBeforeTarget,
      "\"\n ROOT z = (f32[], f32[]) custom-call(y), custom_call_target=\"",
      kCallMarkerAfterTarget, "\""));
  EXPECT_THAT(At("y", {}), ElementsAre("y{}"));
  EXPECT_THAT(At("y", {0}), ElementsAre("c{}"));
  EXPECT_THAT(Sources("y", {}), ElementsAre("y"));
  EXPECT_THAT(At("z", {}), ElementsAre("y{}"));
  EXPECT_THAT(At("z", {1}), ElementsAre("d{}"));
}

// --- Fusions

// A loop fusion of tuple t = (f32[8], f32[3]); `lines` use t0, t1, i.
std::string WithFusion(absl::string_view lines) {
  return absl::StrCat(R"(HloModule m
    f {
      t = (f32[8], f32[3]) parameter(0)
      i = s32[] parameter(1)
      )",
                      lines, R"(
    }
    ENTRY e {
      p = (f32[8], f32[3]) parameter(0)
      j = s32[] parameter(1)
      ROOT y = f32[8] fusion(p, j), kind=kLoop, calls=f
    })");
}

TEST_F(TuplePointsToTest, FusionParameterWithOneUser) {
  Load(WithFusion(R"(
      t1 = f32[3] get-tuple-element(t), index=1
      t0 = f32[8] get-tuple-element(t), index=0
      ROOT u = f32[8] dynamic-update-slice(t0, t1, i))"));
  EXPECT_THAT(Aliases("t", {0}), UnorderedElementsAre("t{0}", "t0{}"));
  EXPECT_THAT(Aliases("t", {1}), UnorderedElementsAre("t{1}", "t1{}"));
  EXPECT_THAT(At("y", {}), ElementsAre("y{}"));
}

TEST_F(TuplePointsToTest, FusionParameterReadByWhatNobodyNeeds) {
  Load(WithFusion(R"(
      t1 = f32[3] get-tuple-element(t), index=1
      dead = f32[3] negate(t1)
      t0 = f32[8] get-tuple-element(t), index=0
      ROOT u = f32[8] dynamic-update-slice(t0, t1, i))"));
  EXPECT_THAT(Aliases("t", {1}), UnorderedElementsAre("t{1}", "t1{}"));
  EXPECT_FALSE(DoesNotUse("p", {1}, "y"));
}

TEST_F(TuplePointsToTest, FusionParameterWithTwoUsers) {
  Load(WithFusion(R"(
      t1 = f32[3] get-tuple-element(t), index=1
      t0 = f32[8] get-tuple-element(t), index=0
      v = f32[8] dynamic-update-slice(t0, t1, i)
      ROOT u = f32[8] add(v, t0))"));
  EXPECT_THAT(Aliases("t", {0}), UnorderedElementsAre("t{0}", "t0{}"));
  EXPECT_FALSE(DoesNotUse("p", {0}, "y"));
}

TEST_F(TuplePointsToTest, FusionAliasing) {
  LoadEntry("ROOT t = tuple(c, d)");
  Load(R"(HloModule m
    f { x = f32[8] parameter(0)  n = negate(x)  ROOT r = tuple(n, n) }
    ENTRY e {
      p = f32[8] parameter(0)
      ROOT y = (f32[8], f32[8]) fusion(p), kind=kLoop, calls=f,
        output_to_operand_aliasing={{1}: (0, {})}
    })");
  EXPECT_THAT(At("y", {0}), ElementsAre("y{0}"));
  EXPECT_THAT(At("y", {1}), ElementsAre("p{}"));
}

TEST_F(TuplePointsToTest, GetTupleElementReadsOnlyTheTable) {
  LoadEntry("t = tuple(c, d)\n ROOT g = get-tuple-element(t), index=0");
  EXPECT_TRUE(DoesNotUse("t", {0}, "g"));
  EXPECT_TRUE(DoesNotUse("t", {1}, "g"));
  EXPECT_FALSE(DoesNotUse("t", {}, "g"));
}

TEST_F(TuplePointsToTest, FusedUpdateReadsItsTarget) {
  Load(R"(HloModule m
    f {
      t = (f32[8], f32[3], f32[5]) parameter(0)
      i = s32[] parameter(1)
      t0 = f32[8] get-tuple-element(t), index=0
      t1 = f32[3] get-tuple-element(t), index=1
      t2 = f32[5] get-tuple-element(t), index=2
      ROOT u = f32[8] dynamic-update-slice(t0, t1, i)
    }
    ENTRY e {
      p = (f32[8], f32[3], f32[5]) parameter(0)
      j = s32[] parameter(1)
      ROOT y = f32[8] fusion(p, j), kind=kLoop, calls=f
    })");
  EXPECT_TRUE(DoesNotUse("p", {2}, "y"));
  EXPECT_FALSE(DoesNotUse("p", {0}, "y"));
  EXPECT_FALSE(DoesNotUse("p", {1}, "y"));
}

// --- Control flow and bad input

TEST_F(TuplePointsToTest, NothingFlowsBetweenComputations) {
  Load(R"(HloModule m
    f { x = f32[8] parameter(0)  ROOT r = tuple(x) }
    ENTRY e {
      p = f32[8] parameter(0)
      ROOT y = (f32[8]) call(p), to_apply=f
    })");
  EXPECT_THAT(At("y", {0}), ElementsAre("y{0}"));
  EXPECT_THAT(At("x", {}), ElementsAre("x{}"));
}

TEST_F(TuplePointsToTest, ShapesThatContradictAreAnError) {
  auto module = ParseForTest(R"(HloModule m
    f { x = f32[8] parameter(0)  ROOT n = negate(x) }
    ENTRY e {
      p = f32[8] parameter(0)
      ROOT y = f32[8] fusion(p), kind=kLoop, calls=f,
        output_to_operand_aliasing={{3}: (0, {})}
    })");
  auto analysis = TuplePointsToAnalysis::Run(module.get());
  ASSERT_EQ(analysis.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(analysis.status().message()), HasSubstr("y"));
}

TEST_F(TuplePointsToTest, PrintsPlaces) {
  LoadEntry("ROOT t = tuple(c, d)");
  EXPECT_THAT(analysis_->ToString(), HasSubstr("seen at c{}, t{0}"));
}

}  // namespace
}  // namespace xla
