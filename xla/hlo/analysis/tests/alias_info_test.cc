#include "xla/hlo/analysis/alias_info.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Pairs as `0{} = {1}`: operand number and index, output index.
std::vector<std::string> Pairs(const HloInstruction* inst,
                               const AliasInfo& info = AliasInfo()) {
  std::vector<std::string> texts;
  for (const auto& [operand, output] : info.GetInPlaceInputOutputPairs(inst)) {
    texts.push_back(absl::StrCat(operand.operand_number,
                                 operand.operand_index.ToString(), " = ",
                                 output.ToString()));
  }
  return texts;
}

// The pairs of the root of an entry computation with parameters x, y: f32[8],
// u: f32[2], i: s32[].
std::vector<std::string> PairsOfRoot(absl::string_view lines,
                                     absl::string_view computations = "") {
  auto module = ParseForTest(absl::StrCat("HloModule m\n", computations, R"(
    sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }
    sums { a = f32[] parameter(0) b = f32[] parameter(1)
      c = f32[] parameter(2) d = f32[] parameter(3)
      s = add(a, c) t = add(b, d) ROOT r = tuple(s, t) }
    ENTRY e {
      x = f32[8] parameter(0)
      y = f32[8] parameter(1)
      u = f32[2] parameter(2)
      i = s32[] parameter(3)
      )",
                                          lines, "\n}"));
  if (module == nullptr) return {"no module"};
  return Pairs(module->entry_computation()->root_instruction());
}

// The same for a loop fusion of all four, with `lines` inside.
std::vector<std::string> PairsOfFusion(absl::string_view lines,
                                       absl::string_view shape = "f32[8]",
                                       absl::string_view nested = "") {
  return PairsOfRoot(
      absl::StrCat("ROOT f = ", shape, " fusion(x, y, u, i), kind=kLoop, ",
                   "calls=fused"),
      absl::StrCat(nested, R"(
    fused {
      a = f32[8] parameter(0)
      b = f32[8] parameter(1)
      v = f32[2] parameter(2)
      j = s32[] parameter(3)
      )",
                   lines, "\n}"));
}

TEST(AliasInfoTest, DynamicUpdateSlice) {
  EXPECT_THAT(PairsOfRoot("ROOT r = f32[8] dynamic-update-slice(x, u, i)"),
              ElementsAre("0{} = {}"));
  EXPECT_THAT(PairsOfRoot("ROOT r = add(x, y)"), IsEmpty());
  EXPECT_THAT(PairsOfRoot("ROOT r = f32[2] dynamic-slice(x, i), "
                          "dynamic_slice_sizes={2}"),
              IsEmpty());
}

TEST(AliasInfoTest, Scatter) {
  EXPECT_THAT(PairsOfRoot(R"(k = s32[2,1] constant({{0},{1}})
      ROOT r = f32[8] scatter(x, k, u), update_window_dims={},
        inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
        index_vector_dim=1, to_apply=sum)"),
              ElementsAre("0{} = {}"));
  EXPECT_THAT(PairsOfRoot(R"(k = s32[2,1] constant({{0},{1}})
      ROOT r = (f32[8], f32[8]) scatter(x, y, k, u, u), update_window_dims={},
        inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
        index_vector_dim=1, to_apply=sums)"),
              ElementsAre("0{} = {0}", "1{} = {1}"));
}

TEST(AliasInfoTest, AllReduceStart) {
  EXPECT_THAT(PairsOfRoot("ROOT r = f32[8] all-reduce-start(x), to_apply=sum"),
              ElementsAre("0{} = {}"));
  EXPECT_THAT(PairsOfRoot("ROOT r = (f32[8], f32[8]) all-reduce-start(x, y), "
                          "to_apply=sum"),
              ElementsAre("0{} = {0}", "1{} = {1}"));
  EXPECT_THAT(PairsOfRoot("ROOT r = f32[8] all-reduce(x), to_apply=sum"),
              IsEmpty());
}

TEST(AliasInfoTest, CollectivePermuteIntoABuffer) {
  EXPECT_THAT(PairsOfRoot("ROOT r = f32[8] collective-permute(x), "
                          "source_target_pairs={{0,1}}"),
              IsEmpty());
  const std::string indices =
      "z = s32[] constant(0)\n k = tuple(z)\n l = tuple(k)\n";
  EXPECT_THAT(PairsOfRoot(absl::StrCat(
                  indices,
                  "ROOT r = f32[8] collective-permute(x, y, l, l), "
                  "source_target_pairs={{0,1}}, slice_sizes={{4}}")),
              ElementsAre("1{} = {}"));
  EXPECT_THAT(PairsOfRoot(absl::StrCat(
                  indices,
                  "ROOT r = (f32[8], f32[8], u32[], u32[]) "
                  "collective-permute-start(x, y, l, l), "
                  "source_target_pairs={{0,1}}, slice_sizes={{4}}")),
              ElementsAre("1{} = {1}"));
  EXPECT_THAT(PairsOfRoot(absl::StrCat(
                  indices,
                  "d = tuple(x, y)\n e = tuple(y, x)\n"
                  "ROOT r = (f32[8], f32[8]) collective-permute(d, e, l, l), "
                  "source_target_pairs={{0,1}}, slice_sizes={{4}}")),
              ElementsAre("1{} = {}", "1{0} = {0}", "1{1} = {1}"));
  EXPECT_THAT(PairsOfRoot(absl::StrCat(
                  indices, "d = tuple(x, y)\n e = tuple(y, x)\n",
                  "ROOT r = ((f32[8], f32[8]), (f32[8], f32[8])) "
                  "collective-permute-start(d, e, l, l), "
                  "source_target_pairs={{0,1}}, slice_sizes={{4}}")),
              ElementsAre("1{} = {1}", "1{0} = {1,0}", "1{1} = {1,1}"));
  // Four sources.
  EXPECT_THAT(PairsOfRoot("ROOT r = (f32[8], f32[8], f32[8], f32[8]) "
                          "collective-permute(x, y, x, y), "
                          "source_target_pairs={{0,1}}"),
              IsEmpty());
}

TEST(AliasInfoTest, SizesAndRaggedBuffers) {
  EXPECT_THAT(PairsOfRoot("ROOT r = f32[<=8] set-dimension-size(x, i), "
                          "dimensions={0}"),
              ElementsAre("0{} = {}"));
  EXPECT_THAT(PairsOfRoot("k = s32[1] constant({1})\n"
                          "ROOT r = f32[8] ragged-all-to-all(x, y, k, k, k, "
                          "k), replica_groups={{0}}"),
              ElementsAre("1{} = {}"));
}

TEST(AliasInfoTest, CustomCallAndAsyncLists) {
  EXPECT_THAT(PairsOfRoot(R"(ROOT r = (f32[8], f32[8]) custom-call(x, y),
      custom_call_target="f",
      output_to_operand_aliasing={{0}: (1, {}), {1}: (0, {})})"),
              ElementsAre("1{} = {0}", "0{} = {1}"));
  EXPECT_THAT(PairsOfRoot(R"(ROOT r = ((f32[8]), f32[8], u32[])
      async-start(x), calls=w, output_to_operand_aliasing={{1}: (0, {})})",
                          "w { a = f32[8] parameter(0) ROOT n = negate(a) }"),
              ElementsAre("0{} = {1}"));
}

// Pairs of a start are of the whole call: each link has those that it binds and
// shows, the done those of its result.
TEST(AliasInfoTest, AsyncPairsOfWhatIsBoundLate) {
  const auto module = ParseForTest(R"(HloModule m
    w {
      a = f32[8] parameter(0)
      b = f32[8] parameter(1)
      ROOT n = (f32[8], f32[8]) tuple(a, b)
    }
    ENTRY e {
      x = f32[8] parameter(0)
      y = f32[8] parameter(1)
      s = ((f32[8]), (f32[8]), u32[]) async-start(x), calls=w,
        output_to_operand_aliasing={{1,0}: (0, {}), {1,1}: (1, {})}
      u = ((f32[8], f32[8]), (f32[8], f32[8]), u32[]) async-update(s, y),
        output_to_operand_aliasing={{2}: (0, {2})}
      v = ((f32[8], f32[8]), (f32[8], f32[8]), u32[]) async-update(u)
      ROOT d = (f32[8], f32[8]) async-done(v)
    })");
  ASSERT_NE(module, nullptr);
  const auto pairs = [&](absl::string_view name) {
    return Pairs(FindForTest(*module, name));
  };
  EXPECT_THAT(pairs("s"), ElementsAre("0{} = {1,0}"));
  EXPECT_THAT(pairs("u"), ElementsAre("0{2} = {2}", "1{} = {1,1}"));
  EXPECT_THAT(pairs("v"), IsEmpty());
  EXPECT_THAT(pairs("d"), ElementsAre("0{0,0} = {0}", "0{0,1} = {1}"));
}

TEST(AliasInfoTest, AsyncPairsOfWhatIsShownLate) {
  const auto module = ParseForTest(R"(HloModule m
    w {
      a = f32[8] parameter(0)
      ROOT n = f32[8] negate(a)
    }
    ENTRY e {
      x = f32[8] parameter(0)
      s = ((f32[8]), (), u32[]) async-start(x), calls=w,
        output_to_operand_aliasing={{1}: (0, {})}
      u = ((f32[8]), f32[8], u32[]) async-update(s)
      ROOT d = f32[8] async-done(u)
    })");
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(Pairs(FindForTest(*module, "s")), IsEmpty());
  EXPECT_THAT(Pairs(FindForTest(*module, "u")), IsEmpty());
  EXPECT_THAT(Pairs(FindForTest(*module, "d")), ElementsAre("0{0,0} = {}"));
}

// --- Fusions

TEST(AliasInfoTest, FusedUpdate) {
  EXPECT_THAT(PairsOfFusion("ROOT r = f32[8] dynamic-update-slice(a, v, j)"),
              ElementsAre("0{} = {}"));
  EXPECT_THAT(PairsOfFusion("n = negate(a)\n"
                            "ROOT r = f32[8] dynamic-update-slice(n, v, j)"),
              IsEmpty());
  EXPECT_THAT(PairsOfFusion("d = f32[8] dynamic-update-slice(a, v, j)\n"
                            "ROOT r = negate(d)"),
              IsEmpty());
}

TEST(AliasInfoTest, BitcastsAroundAFusedUpdate) {
  EXPECT_THAT(PairsOfFusion(R"(z = s32[] constant(0)
      k = f32[4,2] bitcast(a)
      w = f32[1,2] bitcast(v)
      d = f32[4,2] dynamic-update-slice(k, w, j, z)
      ROOT r = f32[8] bitcast(d))"),
              ElementsAre("0{} = {}"));
}

TEST(AliasInfoTest, MultiOutputFusion) {
  EXPECT_THAT(PairsOfFusion(R"(d = f32[8] dynamic-update-slice(a, v, j)
      n = negate(b)
      e = f32[8] dynamic-update-slice(b, v, j)
      ROOT r = tuple(e, n, d))",
                            "(f32[8], f32[8], f32[8])"),
              UnorderedElementsAre("1{} = {0}", "0{} = {2}"));
}

TEST(AliasInfoTest, TwoUpdatesOfOneParameterCannotBothBeInPlace) {
  EXPECT_THAT(PairsOfFusion(R"(w = negate(v)
      d = f32[8] dynamic-update-slice(a, v, j)
      e = f32[8] dynamic-update-slice(a, w, j)
      ROOT r = tuple(d, e))",
                            "(f32[8], f32[8])"),
              ElementsAre("0{} = {0}"));
  EXPECT_THAT(PairsOfFusion(R"(d = f32[8] dynamic-update-slice(a, v, j)
      ROOT r = tuple(d, d))",
                            "(f32[8], f32[8])"),
              ElementsAre("0{} = {0}", "0{} = {1}"));
}

TEST(AliasInfoTest, ChainOfFusedUpdates) {
  // Nothing orders the threads that make the one and the other.
  EXPECT_THAT(PairsOfFusion(R"(w = negate(v)
      d = f32[8] dynamic-update-slice(a, v, j)
      ROOT e = f32[8] dynamic-update-slice(d, w, j))"),
              IsEmpty());
  // The state in between is a result as well.
  EXPECT_THAT(PairsOfFusion(R"(w = negate(v)
      d = f32[8] dynamic-update-slice(a, v, j)
      e = f32[8] dynamic-update-slice(d, w, j)
      ROOT r = tuple(d, e))",
                            "(f32[8], f32[8])"),
              ElementsAre("0{} = {0}"));
}

TEST(AliasInfoTest, FusedScatterAndTuples) {
  EXPECT_THAT(PairsOfFusion(R"(k = s32[2,1] constant({{0},{1}})
      s = (f32[8], f32[8]) scatter(b, a, k, v, v), update_window_dims={},
        inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
        index_vector_dim=1, to_apply=sums
      r0 = get-tuple-element(s), index=0
      r1 = get-tuple-element(s), index=1
      ROOT r = tuple(r1, r0))",
                            "(f32[8], f32[8])"),
              ElementsAre("0{} = {0}", "1{} = {1}"));
}

TEST(AliasInfoTest, NestedFusions) {
  const absl::string_view inner = R"(
    inner {
      v = f32[2] parameter(0)
      a = f32[8] parameter(1)
      j = s32[] parameter(2)
      ROOT d = f32[8] dynamic-update-slice(a, v, j)
    })";
  EXPECT_THAT(
      PairsOfFusion("ROOT r = f32[8] fusion(v, a, j), kind=kLoop, calls=inner",
                    "f32[8]", inner),
      ElementsAre("0{} = {}"));
  // A target that an inner fusion passes on.
  EXPECT_THAT(PairsOfFusion(R"(
      t = (f32[8], f32[8]) fusion(a, b), kind=kLoop, calls=pass
      t0 = get-tuple-element(t), index=0
      ROOT r = f32[8] dynamic-update-slice(t0, v, j))",
                            "f32[8]", R"(
    pass { a = f32[8] parameter(0) b = f32[8] parameter(1)
      ROOT r = tuple(b, a) })"),
              ElementsAre("1{} = {}"));
}

TEST(AliasInfoTest, AnnotatedFusion) {
  EXPECT_THAT(PairsOfRoot("ROOT f = (f32[8], f32[8]) fusion(x, y), kind=kLoop, "
                          "calls=g, output_to_operand_aliasing={{1}: (1, {})}",
                          R"(g { a = f32[8] parameter(0) b = f32[8] parameter(1)
      n = negate(a) s = add(a, b) ROOT r = tuple(n, s) })"),
              ElementsAre("1{} = {1}"));
  // What is found comes first.
  EXPECT_THAT(PairsOfRoot("ROOT f = (f32[8], f32[8]) fusion(x, y, u, i), "
                          "kind=kLoop, calls=g, "
                          "output_to_operand_aliasing={{0}: (1, {})}",
                          R"(g { a = f32[8] parameter(0) b = f32[8] parameter(1)
      v = f32[2] parameter(2) j = s32[] parameter(3) n = negate(b)
      s = f32[8] dynamic-update-slice(a, v, j) ROOT r = tuple(n, s) })"),
              ElementsAre("0{} = {1}", "1{} = {0}"));
  // That of a fusion inside is about its own shape.
  const absl::string_view inner = R"(
    inner { a = f32[8] parameter(0) ROOT n = negate(a) })";
  const std::string nested =
      "f32[8] fusion(a), kind=kLoop, calls=inner, "
      "output_to_operand_aliasing={{}: (0, {})}\n";
  EXPECT_THAT(PairsOfFusion(absl::StrCat("ROOT r = ", nested), "f32[8]", inner),
              ElementsAre("0{} = {}"));
  EXPECT_THAT(PairsOfFusion(
                  absl::StrCat("n = ", nested, "ROOT r = f32[4,2] bitcast(n)"),
                  "f32[4,2]", inner),
              IsEmpty());
}

TEST(AliasInfoTest, FollowsTuples) {
  auto module = ParseForTest(R"(HloModule m
    ENTRY e {
      p = (f32[8], (f32[2], f32[3])) parameter(0)
      g = get-tuple-element(p), index=1
      t = tuple(g, p)
      u = tuple(t)
      h = get-tuple-element(u), index=0
      ROOT k = get-tuple-element(h), index=0
    })");
  const HloInstruction* p = FindForTest(*module, "p");
  EXPECT_EQ(FollowTuplesToTheEnd(FindForTest(*module, "k"), {1}),
            std::make_pair(p, ShapeIndex{1, 1}));
  EXPECT_EQ(FollowTuplesToTheEnd(FindForTest(*module, "u"), {0, 1, 0}),
            std::make_pair(p, ShapeIndex{0}));
  const HloInstruction* t = FindForTest(*module, "t");
  EXPECT_EQ(FollowTuplesToTheEnd(FindForTest(*module, "h"), {}),
            std::make_pair(t, ShapeIndex{}));
}

TEST(AliasInfoTest, FollowsTuplesThenElements) {
  auto module = ParseForTest(R"(HloModule m
    ENTRY e {
      a = f32[8] parameter(0)
      b = f32[2] parameter(1)
      t = tuple(a, b)
      g = get-tuple-element(t), index=1
      ROOT r = tuple(g, t)
    })");
  const HloInstruction* r = FindForTest(*module, "r");
  const HloInstruction* b = FindForTest(*module, "b");
  const HloInstruction* t = FindForTest(*module, "t");
  EXPECT_EQ(FollowTupleIndirection(r, {0}), std::make_pair(t, ShapeIndex{1}));
  EXPECT_EQ(FollowTupleIndirection(r, {1, 1}), std::make_pair(b, ShapeIndex{}));
  EXPECT_EQ(FollowTuplesToTheEnd(r, {0}), std::make_pair(b, ShapeIndex{}));
}

TEST(AliasInfoTest, MustAlias) {
  auto module = ParseForTest(R"(HloModule m
    ENTRY e {
      x = f32[8] parameter(0)
      u = f32[8] parameter(1)
      i = s32[] parameter(2)
      ROOT r = f32[8] dynamic-update-slice(x, u, i)
    })");
  const HloInstruction* r = FindForTest(*module, "r");
  EXPECT_TRUE(AliasInfo().MustAlias(r->operand(0), {}, r, {}));
  EXPECT_FALSE(AliasInfo().MustAlias(r->operand(1), {}, r, {}));
  EXPECT_FALSE(AliasInfo().MustAlias(r->operand(0), {}, r, {0}));
  EXPECT_TRUE(IsDefaultInPlaceOperation(r));
  EXPECT_FALSE(IsDefaultInPlaceOperation(r->operand(0)));
}

class NegateInPlace : public AliasInfo {
 protected:
  std::optional<std::vector<InPlacePair>> GetNonDefaultInPlaceInputOutputPairs(
      const HloInstruction* user) const override {
    if (user->opcode() != HloOpcode::kNegate) return std::nullopt;
    return std::vector<InPlacePair>{{HloOperandIndex{0, {}}, {}}};
  }
};

TEST(AliasInfoTest, BackendsOwnPairs) {
  auto module = ParseForTest(R"(HloModule m
    f { a = f32[8] parameter(0) ROOT n = negate(a) }
    ENTRY e {
      x = f32[8] parameter(0)
      n = negate(x)
      ROOT y = f32[8] fusion(n), kind=kLoop, calls=f
    })");
  EXPECT_THAT(Pairs(FindForTest(*module, "n"), NegateInPlace()),
              ElementsAre("0{} = {}"));
  // Also of instructions inside of fusions.
  EXPECT_THAT(Pairs(FindForTest(*module, "y"), NegateInPlace()),
              ElementsAre("0{} = {}"));
  EXPECT_THAT(Pairs(FindForTest(*module, "y")), IsEmpty());
}

}  // namespace
}  // namespace xla
