#include "xla/backends/gpu/model/gpu_fusible.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/fusion_hero.h"
#include "xla/backends/gpu/model/fusion_test_util.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/utils/hlo_traversal.h"

namespace xla {
namespace gpu {
namespace {

struct Case {
  const char* hlo;
  bool expected;
};

TEST(GpuFusibleTest, PhysicalTransposes) {
  const Case cases[] = {
      {"ENTRY e { p = f32[32,16]{1,0} parameter(0)"
       "  ROOT r = f32[16,32]{1,0} transpose(p), dimensions={1,0} }",
       true},
      // A bitcast: the layout has been permuted with the dimensions.
      {"ENTRY e { p = f32[32,16]{1,0} parameter(0)"
       "  ROOT r = f32[16,32]{0,1} transpose(p), dimensions={1,0} }",
       false},
      {"ENTRY e { p = f32[32,1,16]{2,1,0} parameter(0)"
       "  ROOT r = f32[1,32,16]{2,1,0} transpose(p), dimensions={1,0,2} }",
       false},
      {"ENTRY e { p = f32[32,16]{1,0} parameter(0)"
       "  ROOT r = f32[32,16]{0,1} copy(p) }",
       true},
      {"ENTRY e { p = f32[32,16] parameter(0) ROOT r = f32[32,16] abs(p) }",
       false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(IsPhysicallyTransposing(Root(*Parse(c.hlo))), c.expected)
        << c.hlo;
  }
  EXPECT_TRUE(IsPhysicallyTransposing(
      Root(*Parse(Fusion("p = f32[32,16]",
                         "t = f32[16,32] transpose(p), dimensions={1,0}"
                         "  ROOT r = f32[16,32] abs(t)")))));
  EXPECT_FALSE(IsPhysicallyTransposing(
      Root(*Parse(Fusion("p = f32[32,16]", "ROOT r = f32[32,16] abs(p)")))));
}

TEST(GpuFusibleTest, MinorDimension) {
  const Case cases[] = {
      {"ENTRY e { p = f32[10,20,30,40]{3,2,1,0} parameter(0)"
       "  ROOT r = f32[10,20,30,40]{3,0,1,2} copy(p) }",
       false},
      {"ENTRY e { p = f32[10,20,30,40]{3,2,1,0} parameter(0)"
       "  ROOT r = f32[10,20,30,40]{2,3,1,0} copy(p) }",
       true},
      // Dimensions of size 1 do not count.
      {"ENTRY e { p = f32[10,20,30,1]{3,2,1,0} parameter(0)"
       "  ROOT r = f32[10,20,30,1]{2,3,1,0} copy(p) }",
       false},
      {"ENTRY e { p = f32[10,20,1,1]{3,2,1,0} parameter(0)"
       "  ROOT r = f32[10,20,1,1]{1,0,3,2} copy(p) }",
       false},
      {"ENTRY e { p = f32[10,20,1,1]{3,2,1,0} parameter(0)"
       "  ROOT r = f32[10,20,1,1]{0,1,2,3} copy(p) }",
       true},
      {"ENTRY e { p = f32[10,20,30]{2,1,0} parameter(0)"
       "  ROOT r = f32[20,10,30]{2,1,0} transpose(p), dimensions={1,0,2} }",
       false},
      {"ENTRY e { p = f32[10,20,30]{2,1,0} parameter(0)"
       "  ROOT r = f32[10,30,20]{2,1,0} transpose(p), dimensions={0,2,1} }",
       true},
      {"ENTRY e { p = f32[10,20,1]{2,1,0} parameter(0)"
       "  ROOT r = f32[10,1,20]{2,1,0} transpose(p), dimensions={0,2,1} }",
       false},
      {"ENTRY e { p = f32[] parameter(0) ROOT r = f32[] copy(p) }", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(TransposesMinorDimension(&Root(*Parse(c.hlo))), c.expected)
        << c.hlo;
  }
  EXPECT_TRUE(TransposesMinorDimension(
      &Root(*Parse(Fusion("p = f32[32,16]",
                          "c = f32[32,16]{0,1} copy(p)"
                          "  ROOT r = f32[32,16]{0,1} abs(c)")))));
}

TEST(GpuFusibleTest, ReduceInputFusion) {
  struct FusionCase {
    const char* parameters;
    const char* body;
    const char* kind;
    bool expected;
  };
  const FusionCase cases[] = {
      {"p = f32[128,512,28,28]; z = f32[]",
       "ROOT r = f32[128,512] reduce(p, z), dimensions={2,3}, to_apply=sum",
       "kInput", true},
      // Elementwise above and below.
      {"p = f32[128,64]; z = f32[]",
       "a = f32[128,64] abs(p)"
       "  d = f32[128] reduce(a, z), dimensions={1}, to_apply=sum"
       "  ROOT r = f16[128] convert(d)",
       "kInput", true},
      // Too long a row for another instruction after it.
      {"p = f32[2,20000]; z = f32[]",
       "d = f32[2] reduce(p, z), dimensions={1}, to_apply=sum"
       "  ROOT r = f32[2] negate(d)",
       "kInput", false},
      {"p = f32[2,20000]; z = f32[]",
       "ROOT d = f32[2] reduce(p, z), dimensions={1}, to_apply=sum", "kInput",
       true},
      // One of several outputs.
      {"p = f32[128,64]; z = f32[]",
       "a = f32[128,64] abs(p)"
       "  d = f32[128] reduce(a, z), dimensions={1}, to_apply=sum"
       "  ROOT r = (f32[128,64], f32[128]) tuple(a, d)",
       "kInput", true},
      {"p = f32[128,64]; z = f32[]",
       "d = f32[128] reduce(p, z), dimensions={1}, to_apply=sum"
       "  ROOT r = f32[128,7] broadcast(d), dimensions={0}",
       "kInput", false},
      {"p = f32[128,64]", "ROOT r = f32[128,64] abs(p)", "kLoop", false},
      {"p = f32[2,3,4,5]; z = f32[]",
       "ROOT r = f32[2,4] reduce(p, z), dimensions={1,3}, to_apply=sum",
       "kLoop", false},
  };
  for (const FusionCase& c : cases) {
    std::unique_ptr<HloModule> module =
        Parse(Fusion(c.parameters, c.body, c.kind));
    EXPECT_EQ(IsReduceInputFusion(Root(*module), Device()), c.expected)
        << c.body;
    EXPECT_EQ(IsInputFusibleReduction(Root(*module), Device()), c.expected)
        << c.body;
  }
}

TEST(GpuFusibleTest, ReductionsOfDimensionsApart) {
  auto module = Parse(
      "ENTRY e { p = f32[8,512,5,16,1,1] parameter(0) z = f32[] parameter(1)"
      "  ROOT r = f32[512,5,1,1] reduce(p, z), dimensions={3,0}, to_apply=sum "
      "}");
  EXPECT_FALSE(IsInputFusibleReduction(Root(*module), Device()));
  EXPECT_FALSE(IsReduceInputFusion(Root(*module), Device()));
}

TEST(GpuFusibleTest, VariadicReductions) {
  constexpr absl::string_view kMax =
      "two { a = f32[] parameter(0) b = s32[] parameter(1)"
      "  c = f32[] parameter(2) d = s32[] parameter(3) m = f32[] maximum(a, c)"
      "  n = s32[] maximum(b, d) ROOT t = (f32[], s32[]) tuple(m, n) }\n";
  auto plain = [&](absl::string_view size) {
    return Parse(absl::StrCat(
        kMax, "ENTRY e { p = f32[", size, "] parameter(0) q = s32[", size,
        "] parameter(1) z = f32[] parameter(2) y = s32[] parameter(3)"
        "  ROOT r = (f32[8], s32[8]) reduce(p, q, z, y), dimensions={1},"
        "  to_apply=two }"));
  };
  EXPECT_FALSE(IsNestableVariadicReduction(Root(*plain("8,64")), Device()));
  EXPECT_TRUE(IsNestableVariadicReduction(Root(*plain("8,24")), Device()));
  auto fused =
      Parse(Fusion("p = f32[8,64]; q = s32[8,64]; z = f32[]; y = s32[]",
                   "ROOT r = (f32[8], s32[8]) reduce(p, q, z, y),"
                   " dimensions={1}, to_apply=two",
                   "kLoop", kMax));
  EXPECT_TRUE(IsNestableVariadicReduction(Root(*fused), Device()));
}

// Two fusions, "one" and "two", of a common f32[64,64] parameter.
std::unique_ptr<HloModule> Siblings(absl::string_view body1,
                                    absl::string_view shape1,
                                    absl::string_view body2,
                                    absl::string_view shape2) {
  return Parse(absl::StrCat(
      "f1 { p = f32[64,64] parameter(0) z = f32[] parameter(1) ", body1,
      " }\nf2 { q = f32[64,64] parameter(0) y = f32[] parameter(1) ", body2,
      " }\nENTRY e { a = f32[64,64] parameter(0) b = f32[] parameter(1)",
      "  one = ", shape1, " fusion(a, b), kind=kInput, calls=f1",
      "  two = ", shape2, " fusion(a, b), kind=kInput, calls=f2",
      "  ROOT t = (", shape1, ", ", shape2, ") tuple(one, two) }"));
}

TEST(GpuFusibleTest, ShapesCompatible) {
  struct Side {
    const char* body;
    const char* shape;
  };
  const Side row = {
      "ROOT r = f32[64] reduce(p, z), dimensions={1}, to_apply=sum", "f32[64]"};
  const Side half_row = {
      "h = f16[64,64] convert(p) g = f16[] convert(z)"
      "  ROOT r = f16[64] reduce(h, g), dimensions={1}, to_apply=half",
      "f16[64]"};
  const Side column = {
      "ROOT c = f32[64] reduce(q, y), dimensions={0}, to_apply=sum", "f32[64]"};
  const Side row2 = {
      "n = f32[64,64] negate(q)"
      "  ROOT c = f32[64] reduce(n, y), dimensions={1}, to_apply=sum",
      "f32[64]"};
  const Side loop = {"ROOT l = f32[64,64] abs(q)", "f32[64,64]"};
  const Side flat_loop = {"b = f32[4096] bitcast(q) ROOT l = f32[4096] abs(b)",
                          "f32[4096]"};
  const Side small_loop = {
      "s = f32[64,32] slice(q), slice={[0:64],[0:32]} ROOT l = f32[64,32] "
      "abs(s)",
      "f32[64,32]"};
  const Side transpose = {"ROOT t1 = f32[64,64] transpose(p), dimensions={1,0}",
                          "f32[64,64]"};
  const Side transpose2 = {
      "n = f32[64,64] negate(q)"
      "  ROOT t2 = f32[64,64] transpose(n), dimensions={1,0}",
      "f32[64,64]"};
  const Side other_transpose = {
      "n = f32[16,4,64] bitcast(q)"
      "  ROOT t2 = f32[64,4,16] transpose(n), dimensions={2,1,0}",
      "f32[64,4,16]"};
  const Side untiled = {
      "n = f32[16,16,16] bitcast(q)"
      "  ROOT t2 = f32[16,16,16] transpose(n), dimensions={1,0,2}",
      "f32[16,16,16]"};
  struct PairCase {
    Side one, two;
    const char* reason;
  };
  const PairCase cases[] = {
      {row, row2, ""},
      {half_row, row2, ""},
      {row, column,
       "reductions run differently: row [1,64,64] and column [1,64,64]"},
      {row, loop, ""},
      {row, flat_loop, ""},
      {row, small_loop, "different shapes: f32[64,64] and f32[64,32]"},
      {transpose, transpose2, ""},
      {transpose, loop, ""},
      {transpose, other_transpose,
       "transposes run differently: dimensions [64,64] permutation [1,0] and "
       "dimensions [64,4,16] permutation [2,1,0]"},
      {row, transpose2, "a tiled transpose and a reduction"},
      {transpose, column, "a tiled transpose and a reduction"},
      {transpose, untiled,
       "a transpose that is not tiled, and a tiled transpose or a reduction"},
      {row, untiled,
       "a transpose that is not tiled, and a tiled transpose or a reduction"},
  };
  for (const PairCase& c : cases) {
    constexpr absl::string_view kHalf =
        "half { hx = f16[] parameter(0) hy = f16[] parameter(1)"
        "  ROOT hs = f16[] add(hx, hy) }\n";
    std::unique_ptr<HloModule> module = Parse(absl::StrCat(
        kHalf, "f1 { p = f32[64,64] parameter(0) z = f32[] parameter(1) ",
        c.one.body,
        " }\nf2 { q = f32[64,64] parameter(0) y = f32[] parameter(1) ",
        c.two.body, " }\nENTRY e { a = f32[64,64] parameter(0)",
        "  b = f32[] parameter(1)  one = ", c.one.shape,
        " fusion(a, b), kind=kInput, calls=f1  two = ", c.two.shape,
        " fusion(a, b), kind=kInput, calls=f2  ROOT t = (", c.one.shape, ", ",
        c.two.shape, ") tuple(one, two) }"));
    const FusionDecision decision = ShapesCompatibleForMultiOutputFusion(
        Find(*module, "one"), Find(*module, "two"), Device());
    EXPECT_EQ(decision.Explain(), c.reason);
    EXPECT_EQ(ShapesCompatibleForMultiOutputFusion(
                  Find(*module, "two"), Find(*module, "one"), Device())
                  .CanFuse(),
              decision.CanFuse());
  }
}

// A multi-output fusion is compared by its reduction, wherever it stands.
TEST(GpuFusibleTest, HeroOfMultiOutputFusion) {
  std::unique_ptr<HloModule> module = Siblings(
      "n = f32[64] reduce(p, z), dimensions={1}, to_apply=sum"
      "  a1 = f32[64,64] abs(p) ROOT t1 = (f32[64,64], f32[64]) tuple(a1, n)",
      "(f32[64,64], f32[64])", "ROOT l = f32[64,64] abs(q)", "f32[64,64]");
  EXPECT_EQ(
      GetRealHeroForMultiOutputFusion(Find(*module, "one"), Device())->name(),
      "n");
  EXPECT_TRUE(ShapesCompatibleForMultiOutputFusion(
      Find(*module, "one"), Find(*module, "two"), Device()));
  EXPECT_EQ(GetOutputSizeOfFusible(Find(*module, "one")), 2);
  EXPECT_EQ(GetOutputSizeOfFusible(Find(*module, "two")), 1);
  EXPECT_EQ(GetOutputsOfFusible(Find(*module, "one"))[1]->name(), "n");
  EXPECT_EQ(GetInstrCountOfFusible(Find(*module, "one")), 5);
}

// A transpose that feeds a fusion stays tiled if it is read once, through
// intermediates.
TEST(GpuFusibleTest, TransposeStaysTiled) {
  auto decide = [](absl::string_view consumer) {
    std::unique_ptr<HloModule> module = Parse(absl::StrCat(
        "f1 { p = f32[64,64] parameter(0)"
        "  ROOT t = f32[64,64] transpose(p), dimensions={1,0} }\n"
        "f2 { q = f32[64,64] parameter(0) ",
        consumer,
        " }\nENTRY e { a = f32[64,64] parameter(0)"
        "  one = f32[64,64] fusion(a), kind=kInput, calls=f1"
        "  ROOT two = f32[64,64] fusion(one), kind=kLoop, calls=f2 }"));
    return FusionHeroesAreCompatible(
               GetRealHeroForMultiOutputFusion(Find(*module, "one"), Device()),
               GetRealHeroForMultiOutputFusion(Find(*module, "two"), Device()),
               Device())
        .Explain();
  };
  EXPECT_EQ(decide("ROOT n = f32[64,64] negate(q)"), "");
  EXPECT_EQ(decide("n = f32[64,64] negate(q) x = f32[64,64] exponential(q)"
                   "  ROOT r = f32[64,64] add(n, x)"),
            "a transpose would not stay tiled");
  EXPECT_EQ(decide("ROOT n = f32[64,64] reverse(q), dimensions={0}"),
            "a transpose would not stay tiled");
}

TEST(GpuFusibleTest, MultiOutputRootsAndProducers) {
  struct RootCase {
    std::string hlo;
    bool root;
    // Why it cannot be a producer; empty if it can.
    const char* producer;
  };
  const RootCase cases[] = {
      {"ENTRY e { p = f32[64] parameter(0) ROOT r = f32[64] abs(p) }", true,
       ""},
      {"ENTRY e { p = f32[64] parameter(0)"
       "  ROOT r = f32[8] slice(p), slice={[0:8]} }",
       false, ""},
      {"ENTRY e { ROOT r = f32[64] iota(), iota_dimension=0 }", false, ""},
      {"ENTRY e { p = f32[64,64] parameter(0) z = f32[] parameter(1)"
       "  ROOT r = f32[64] reduce(p, z), dimensions={1}, to_apply=sum }",
       true, ""},
      {"ENTRY e { p = f32[64,24] parameter(0) z = f32[] parameter(1)"
       "  ROOT r = f32[64] reduce(p, z), dimensions={1}, to_apply=sum }",
       false, ""},
      {"ENTRY e { p = f32[64,64] parameter(0)"
       "  ROOT r = f32[64,64] transpose(p), dimensions={1,0} }",
       true, "the producer transposes in memory"},
      {"ENTRY e { p = f32[64] parameter(0) i = s32[2,1] parameter(1)"
       "  u = f32[2] parameter(2) ROOT r = f32[64] scatter(p, i, u),"
       "  to_apply=sum, update_window_dims={}, inserted_window_dims={0},"
       "  scatter_dims_to_operand_dims={0}, index_vector_dim=1 }",
       false, "the producer works in place"},
      {"ENTRY e { p = f32[64] parameter(0) u = f32[2] parameter(1)"
       "  i = s32[] parameter(2)"
       "  ROOT r = f32[64] dynamic-update-slice(p, u, i) }",
       false, "the producer works in place"},
      {"ENTRY e { p = f32[64] parameter(0)"
       "  ROOT r = f32[64] custom-call(p), custom_call_target=\"x\" }",
       false, "the producer is not a loop"},
      {"ENTRY e { p = f32[8,8] parameter(0) ROOT r = f32[8,8] dot(p, p),"
       "  lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
       false, "the producer is not a loop"},
      {"ENTRY e { p = s8[64] parameter(0) ROOT r = s32[16] bitcast(p) }", false,
       "the producer is not a loop"},
      {"ENTRY e { p = f32[64] parameter(0) ROOT r = s32[64] bitcast(p) }",
       false, ""},
      {Fusion("p = f32[64]", "ROOT r = f32[64] abs(p)"), true, ""},
      {Fusion("p = f32[64]", "ROOT r = f32[64] abs(p)", "kCustom"), false,
       "the producer is a custom fusion"},
      {Fusion("p = f32[64]",
              "a = f32[64] abs(p) ROOT r = (f32[64], f32[64]) tuple(a, p)"),
       true, "the producer has several outputs"},
      {Fusion("p = f32[64]; i = s32[2,1]; u = f32[2]",
              "ROOT r = f32[64] scatter(p, i, u), to_apply=sum,"
              "  update_window_dims={}, inserted_window_dims={0},"
              "  scatter_dims_to_operand_dims={0}, index_vector_dim=1",
              "kInput"),
       false, "the producer works in place"},
  };
  GpuAliasInfo alias_info;
  for (const RootCase& c : cases) {
    std::unique_ptr<HloModule> module = Parse(c.hlo);
    EXPECT_EQ(IsFusibleAsMultiOutputFusionRoot(Root(*module), Device()), c.root)
        << c.hlo;
    EXPECT_EQ(IsProducerMultiOutputFusible(Root(*module), &alias_info, Device())
                  .Explain(),
              c.producer)
        << c.hlo;
  }
}

TEST(GpuFusibleTest, FusionKinds) {
  using Kind = HloInstruction::FusionKind;
  struct KindCase {
    const char* entry;
    Kind expected;
  };
  const KindCase cases[] = {
      {"p = f32[64,64] parameter(0) z = f32[] parameter(1)"
       "  a = f32[64,64] abs(p)"
       "  ROOT r = f32[64] reduce(a, z), dimensions={1}, to_apply=sum",
       Kind::kInput},
      {"p = f32[64,24] parameter(0) z = f32[] parameter(1)"
       "  a = f32[64,24] abs(p)"
       "  ROOT r = f32[64] reduce(a, z), dimensions={1}, to_apply=sum",
       Kind::kLoop},
      {"p = f32[64,64] parameter(0) z = f32[] parameter(1)"
       "  a = f32[64] reduce(p, z), dimensions={1}, to_apply=sum"
       "  ROOT r = f32[64] abs(a)",
       Kind::kInput},
      {"p = f32[64,64] parameter(0) a = f32[64,64] abs(p)"
       "  ROOT r = f32[64,64] transpose(a), dimensions={1,0}",
       Kind::kInput},
      {"p = f32[64,8] parameter(0) a = f32[64,8] abs(p)"
       "  ROOT r = f32[8,64] transpose(a), dimensions={1,0}",
       Kind::kLoop},
      {"p = f32[64] parameter(0) i = s32[2,1] parameter(1)"
       "  u = f32[2] parameter(2) a = f32[2] abs(u)"
       "  ROOT r = f32[64] scatter(p, i, a), to_apply=sum,"
       "  update_window_dims={}, inserted_window_dims={0},"
       "  scatter_dims_to_operand_dims={0}, index_vector_dim=1",
       Kind::kInput},
      {"p = f32[64] parameter(0) i = s32[] parameter(1)"
       "  u = f32[2] parameter(2) a = f32[2] abs(u)"
       "  ROOT r = f32[64] dynamic-update-slice(p, a, i)",
       Kind::kLoop},
      {"p = f32[64] parameter(0) a = f32[64] abs(p)"
       "  ROOT r = f32[64] negate(a)",
       Kind::kLoop},
  };
  for (const KindCase& c : cases) {
    std::unique_ptr<HloModule> module =
        Parse(absl::StrCat("ENTRY e { ", c.entry, " }"));
    EXPECT_EQ(ChooseFusionKind(Find(*module, "a"), Root(*module), Device()),
              c.expected)
        << c.entry;
  }
}

TEST(GpuFusibleTest, FusionRoots) {
  auto roots = [](absl::string_view body) {
    std::unique_ptr<HloModule> module =
        Parse(absl::StrCat("ENTRY e { ", body, " }"));
    std::string names;
    for (const HloInstruction* root :
         GetFusionRoots(*module->entry_computation())) {
      absl::StrAppend(&names, root->name(), " ");
    }
    return names;
  };
  EXPECT_EQ(roots("p = f32[8] parameter(0) ROOT a = f32[8] abs(p)"), "a ");
  EXPECT_EQ(roots("p = f32[8] parameter(0) a = f32[8] abs(p)"
                  "  b = f32[8] negate(p)"
                  "  ROOT t = (f32[8], f32[8], f32[8]) tuple(a, b, a)"),
            "a b a ");
  EXPECT_EQ(roots("p = f32[8] parameter(0) a = f32[8] abs(p)"
                  "  t = (f32[8]) tuple(a) g = f32[8] get-tuple-element(t),"
                  "  index=0 ROOT u = (f32[8]) tuple(g)"),
            "a ");
  EXPECT_EQ(roots("p = f32[8] parameter(0) a = f32[8] abs(p)"
                  "  b = f32[8] negate(p) t = (f32[8], f32[8]) tuple(a, b)"
                  "  ROOT u = ((f32[8], f32[8]), f32[8]) tuple(t, b)"),
            "a b b ");
  // Several results of one instruction.
  EXPECT_EQ(roots("p = (f32[8], f32[8]) parameter(0)"
                  "  g = f32[8] get-tuple-element(p), index=1"
                  "  h = f32[8] get-tuple-element(p), index=0"
                  "  a = f32[8] abs(g)"
                  "  ROOT t = (f32[8], f32[8], f32[8]) tuple(h, a, g)"),
            "p a p ");
}

TEST(GpuFusibleTest, FusibleComputations) {
  std::unique_ptr<HloModule> module = Parse(R"(
cond { c = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(c), index=0
  k = s32[] constant(3) ROOT l = pred[] compare(i, k), direction=LT }
fused { x = f32[8] parameter(0) ROOT n = f32[8] negate(x) }
body { b = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(b), index=0
  x = f32[8] get-tuple-element(b), index=1
  f = f32[8] fusion(x), kind=kLoop, calls=fused
  ROOT t = (s32[], f32[8]) tuple(i, f) }
callee { x = f32[8] parameter(0) ROOT n = f32[8] negate(x) }
streamed { x = f32[8] parameter(0) ROOT n = f32[8] negate(x) }
branch { x = f32[8] parameter(0) ROOT n = f32[8] negate(x) }
wrapped { x = f32[8] parameter(0) ROOT n = f32[8] negate(x) }
ENTRY e {
  p = (s32[], f32[8]) parameter(0)
  w = (s32[], f32[8]) while(p), condition=cond, body=body
  g = f32[8] get-tuple-element(w), index=1
  c = f32[8] call(g), to_apply=callee
  s = f32[8] call(c), to_apply=streamed,
    frontend_attributes={_xla_stream_annotation="1"}
  q = pred[] constant(true)
  d = f32[8] conditional(q, s, s), true_computation=branch,
    false_computation=branch
  a = ((f32[8]), f32[8], u32[]) async-start(d), calls=wrapped
  z = f32[] constant(0)
  ad = f32[8] async-done(a), calls=wrapped
  ROOT r = f32[] reduce(ad, z), dimensions={0}, to_apply=sum
})");
  absl::flat_hash_set<std::string> names;
  for (const HloComputation* computation :
       GetFusibleComputations(*module, /*execution_threads=*/{})) {
    names.insert(std::string(computation->name()));
  }
  EXPECT_EQ(names, absl::flat_hash_set<std::string>(
                       {"cond", "body", "streamed", "branch", "e"}));
}

TEST(GpuFusibleTest, Scatters) {
  std::unique_ptr<HloModule> module = Parse(R"(
f1 { x = f32[64] parameter(0) i = s32[2,1] parameter(1) u = f32[2] parameter(2)
  ROOT s = f32[64] scatter(x, i, u), to_apply=sum, update_window_dims={},
    inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1 }
ENTRY e { p = f32[64] parameter(0) i = s32[2,1] parameter(1)
  u = f32[2] parameter(2)
  target = f32[64] abs(p) update = f32[2] abs(u)
  reader = f32[2] slice(target), slice={[0:2]}
  both = f32[2] add(update, reader)
  f = f32[64] fusion(target, i, both), kind=kInput, calls=f1
  ROOT after = f32[64] negate(f) })");
  const HloInstruction& f = Find(*module, "f");
  EXPECT_TRUE(IsInputFusibleScatter(f));
  EXPECT_TRUE(CanEmitInputFusedScatter(Find(*module, "both"), f));
  EXPECT_FALSE(CanEmitInputFusedScatter(Find(*module, "target"), f));
  EXPECT_FALSE(CanEmitInputFusedScatter(Find(*module, "reader"), f));
  EXPECT_FALSE(CanEmitInputFusedScatter(f, Find(*module, "after")));
  EXPECT_TRUE(IsConsumerTheOnlyNonRootUser(Find(*module, "both"), f));
  EXPECT_FALSE(IsConsumerTheOnlyNonRootUser(Find(*module, "target"), f));
}

TEST(GpuFusibleTest, BitcastsOfResultsAreNoOtherUsers) {
  auto module = Parse(R"(ENTRY e {
    x = f32[8] parameter(0)
    n = f32[8] negate(x)
    c = f32[8] abs(n)
    b = f32[2,4] bitcast(n)
    m = f32[2,4] negate(b)
    k = f32[8] bitcast(c)
    d = f32[8] negate(c)
    ROOT t = (f32[8], f32[2,4], f32[8]) tuple(k, m, d) })");
  // The bitcast of n has another reader.
  EXPECT_FALSE(
      IsConsumerTheOnlyNonRootUser(Find(*module, "n"), Find(*module, "c")));
  EXPECT_TRUE(
      IsConsumerTheOnlyNonRootUser(Find(*module, "c"), Find(*module, "d")));
}

}  // namespace
}  // namespace gpu
}  // namespace xla
