#include "xla/backends/gpu/lowering/fusion_lowering.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/lowering/fusion_lowering_test_base.h"

namespace xla::gpu {
namespace {

using ::testing::ElementsAre;

class FusionLoweringTest : public FusionLoweringTestBase {
 protected:
  // The negations in a kernel that computes what the evaluator does.
  int Negations(absl::string_view text) {
    EXPECT_EQ(Compare(text), absl::OkStatus());
    return ops_["neg"];
  }
};

constexpr int64_t kThreadsOfMultiprocessor = 2048;

// What lies in one order in memory, or in rows of one order, is computed in one
// loop, which reads its operands once.
TEST_F(FusionLoweringTest, ResultsThatBitcastsOrRowsRelateShareALoop) {
  EXPECT_EQ(Negations(R"(
ENTRY e {
  p = f32[3,4,40] parameter(0)
  w = f32[40] parameter(1)
  n = f32[3,4,40] negate(p)
  b = f32[40,3,4]{0,2,1} bitcast(n)
  wb = f32[40,3,4]{0,2,1} broadcast(w), dimensions={0}
  m = f32[40,3,4]{0,2,1} multiply(b, wb)
  ROOT t = (f32[3,4,40], f32[40,3,4]{0,2,1}) tuple(n, m)
})"),
            1);
  for (int64_t device_threads : {1, 1 << 18}) {
    device_threads_ = device_threads;
    EXPECT_EQ(Negations(R"(
ENTRY e {
  p = f32[3,4,40] parameter(0)
  n = f32[3,4,40] negate(p)
  c = f32[3,4,40]{2,0,1} copy(n)
  ROOT t = (f32[3,4,40], f32[3,4,40]{2,0,1}) tuple(n, c)
})"),
              1);
  }
  // Columns, arrays of another size and short rows stay apart.
  EXPECT_EQ(Negations(R"(
ENTRY e {
  p = f32[40,3] parameter(0)
  n = f32[40,3] negate(p)
  c = f32[40,3]{0,1} copy(n)
  ROOT t = (f32[40,3], f32[40,3]{0,1}) tuple(n, c)
})"),
            2);
  EXPECT_EQ(Negations(R"(
ENTRY e {
  p = f32[3,40] parameter(0)
  n = f32[3,40] negate(p)
  b = f32[2,3,40] broadcast(n), dimensions={1,2}
  ROOT t = (f32[3,40], f32[2,3,40]) tuple(n, b)
})"),
            2);
  EXPECT_EQ(Negations(R"(
ENTRY e {
  p = f32[3,40,4] parameter(0)
  n = f32[3,40,4] negate(p)
  c = f32[3,40,4]{2,0,1} copy(n)
  ROOT t = (f32[3,40,4], f32[3,40,4]{2,0,1}) tuple(n, c)
})"),
            2);
}

TEST_F(FusionLoweringTest, DotsAreTilesWithWhatFollowsThem) {
  device_threads_ = kThreadsOfMultiprocessor;
  EXPECT_THAT(KindsOf(R"(
HloModule m
ENTRY e {
  x = f32[70,45] parameter(0)
  y = f32[51,45] parameter(1)
  b = f32[51] parameter(2)
  d = f32[70,51] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  bb = f32[70,51] broadcast(b), dimensions={1}
  a = f32[70,51] add(d, bb)
  r = f32[51,70] transpose(a), dimensions={1,0}
  c = bf16[70,51] convert(d)
  ROOT t = (f32[51,70], bf16[70,51]) tuple(r, c)
})"),
              ElementsAre("dot"));
  EXPECT_GT(ops_["warp_mma"], 0);
}

TEST_F(FusionLoweringTest, BatchesOfDotsWhateverTheirLayouts) {
  for (absl::string_view type :
       {"f32", "f64", "bf16", "f16", "s32", "u8", "f8e4m3fn", "f8e5m2"}) {
    EXPECT_EQ(Compare(absl::StrCat(R"(
HloModule m
ENTRY e {
  x = )",
                                   type, R"([3,9,2,40]{1,3,2,0} parameter(0)
  y = )",
                                   type, R"([2,40,17,3]{0,1,3,2} parameter(1)
  n = )",
                                   type, R"([2,40,17,3] add(y, y)
  ROOT d = )",
                                   type, R"([3,2,9,17]{2,3,1,0} dot(x, n),
    lhs_batch_dims={0,2}, rhs_batch_dims={3,0},
    lhs_contracting_dims={3}, rhs_contracting_dims={1}
})")),
              absl::OkStatus())
        << type;
    EXPECT_THAT(kinds_, ElementsAre("dot")) << type;
  }
}

TEST_F(FusionLoweringTest, SumsOfDotsShareTheirTiles) {
  device_threads_ = kThreadsOfMultiprocessor;
  EXPECT_THAT(KindsOf(R"(
HloModule m
ENTRY e {
  x = f32[33,20] parameter(0)
  y = f32[20,18] parameter(1)
  z = f32[33,65] parameter(2)
  w = f32[65,18] parameter(3)
  d = f32[33,18] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[33,18] dot(z, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT a = f32[33,18] add(d, e)
})"),
              ElementsAre("dot"));
  EXPECT_GT(ops_["warp_mma"], 0);
}

TEST_F(FusionLoweringTest, DotsReadOutOfTheirPlacesAreLoops) {
  EXPECT_THAT(KindsOf(R"(
HloModule m
ENTRY e {
  x = f32[16,20] parameter(0)
  y = f32[20,16] parameter(1)
  d = f32[16,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[16,16] reverse(d), dimensions={0}
  ROOT a = f32[16,16] add(d, r)
})"),
              ElementsAre("loop"));
  EXPECT_THAT(why_, ::testing::HasSubstr("another thread computes"));
}

TEST_F(FusionLoweringTest, TransposesAreTilesWithWhatFollowsThem) {
  EXPECT_THAT(KindsOf(R"(
HloModule m
ENTRY e {
  p = f32[3,40,2,70] parameter(0)
  q = f32[70,2,3,40] parameter(1)
  n = f32[3,40,2,70] negate(p)
  t = f32[70,2,3,40] transpose(n), dimensions={3,2,0,1}
  a = f32[70,2,3,40] add(t, q)
  b = f32[140,120] reshape(a)
  c = bf16[70,2,3,40] convert(t)
  ROOT r = (f32[140,120], bf16[70,2,3,40]) tuple(b, c)
})"),
              ElementsAre("transpose"));
}

TEST_F(FusionLoweringTest, CopiesIntoOtherLayoutsAreTransposes) {
  EXPECT_THAT(KindsOf(R"(
HloModule m
ENTRY e {
  p = s8[33,65]{1,0} parameter(0)
  ROOT c = s8[33,65]{0,1} copy(p)
})"),
              ElementsAre("transpose"));
}

TEST_F(FusionLoweringTest, TransposesAndRowsShareOneKernel) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[40,70] parameter(0)
  q = f32[64,32] parameter(1)
  z = f32[] constant(0)
  t = f32[70,40] transpose(p), dimensions={1,0}
  u = f32[32,64] transpose(q), dimensions={1,0}
  s = f32[40] reduce(p, z), dimensions={1}, to_apply=add
  ROOT r = (f32[70,40], f32[32,64], f32[40]) tuple(t, u, s)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("transpose", "transpose", "row-reduction"));
}

TEST_F(FusionLoweringTest, TransposesReadOutOfTheirPlacesAreLoops) {
  EXPECT_THAT(KindsOf(R"(
HloModule m
ENTRY e {
  p = f32[32,32] parameter(0)
  t = f32[32,32] transpose(p), dimensions={1,0}
  v = f32[32,32] reverse(t), dimensions={0}
  ROOT a = f32[32,32] add(t, v)
})"),
              ElementsAre("loop"));
}

TEST_F(FusionLoweringTest, NeighborsAreReadAndWrittenAtOnce) {
  device_threads_ = 1;
  struct Case {
    absl::string_view body;
    int64_t vectors;
  };
  for (const Case& c : {
           Case{"p = f32[6,12] parameter(0)\nq = bf16[12] parameter(1)\n"
                "s = f32[] parameter(2)\nc = f32[12] convert(q)\n"
                "b = f32[6,12] broadcast(c), dimensions={1}\n"
                "t = f32[6,12] broadcast(s), dimensions={}\n"
                "a = f32[6,12] add(p, b)\nROOT r = f32[6,12] multiply(a, t)",
                3},
           // Results of two widths, one of them in another order: what it is
           // made of is read one by one.
           {"p = f64[4,10]{0,1} parameter(0)\n"
            "n = f64[4,10]{0,1} negate(p)\nc = s8[4,10] convert(p)\n"
            "ROOT t = (f64[4,10]{0,1}, s8[4,10]) tuple(n, c)",
            2},
           // What is under a condition, or begins anywhere, is read one by one;
           // then the threads of a block take neighbors instead.
           {"p = f32[3,6] parameter(0)\nz = f32[] constant(7)\n"
            "x = f32[5,10] pad(p, z), padding=1_1x1_3\n"
            "ROOT n = f32[5,10] negate(x)",
            0},
           {"p = f32[5,7] parameter(0)\nROOT n = f32[5,7] negate(p)", 0},
           {"p = f32[8,9] parameter(0)\n"
            "ROOT s = f32[8,4] slice(p), slice={[0:8], [1:5]}",
            0},
           {"p = f32[6,8] parameter(0)\n"
            "ROOT s = f32[3,8] slice(p), slice={[1:6:2], [0:8]}",
            2},
           {"p = f32[6,8] parameter(0)\n"
            "ROOT s = f32[6,8] reverse(p), dimensions={1}",
            0},
           // Eight of two bytes.
           {"p = bf16[6,8] parameter(0)\nROOT n = bf16[6,8] negate(p)", 2},
           // Results of the same elements are computed together, from what is
           // read once.
           {"p = f32[6,8] parameter(0)\nq = f32[6,8] parameter(1)\n"
            "s = f32[6,8] add(p, q)\nt = f32[6,8] multiply(s, q)\n"
            "u = pred[6,8] compare(p, q), direction=LT\n"
            "ROOT r = (f32[6,8], f32[6,8], pred[6,8]) tuple(s, t, u)",
            5},
           // The same one by one, in several rounds, the last not full.
           {"p = f32[33,5] parameter(0)\nq = f32[5] parameter(1)\n"
            "b = f32[33,5] broadcast(q), dimensions={1}\n"
            "s = f32[33,5] add(p, b)\nt = bf16[33,5] convert(s)\n"
            "ROOT r = (f32[33,5], bf16[33,5]) tuple(s, t)",
            0},
           // More results than are computed together.
           {"p = f32[16] parameter(0)\na = f32[16] negate(p)\n"
            "b = f32[16] add(p, a)\nc = f32[16] add(p, b)\n"
            "d = f32[16] add(p, c)\ne = f32[16] add(p, d)\n"
            "ROOT r = (f32[16], f32[16], f32[16], f32[16], f32[16]) "
            "tuple(a, b, c, d, e)",
            7},
       }) {
    EXPECT_EQ(Compare(absl::StrCat("HloModule m\nENTRY e {\n", c.body, "\n}")),
              absl::OkStatus());
    EXPECT_EQ(vectors_, c.vectors) << c.body;
  }
}

TEST_F(FusionLoweringTest, UpdatesOfOperandsAreMadeInPlace) {
  EXPECT_EQ(Compare(R"(
HloModule m
ENTRY e {
  p = f32[6,5] parameter(0)
  u = f32[2,3] parameter(1)
  i = s32[] parameter(2)
  j = s32[] constant(1)
  n = f32[2,3] negate(u)
  ROOT d = f32[6,5] dynamic-update-slice(p, n, i, j)
})"),
            absl::OkStatus());
  EXPECT_EQ(updates_, 1);
  // What is written over is read before, by the thread that does it.
  constexpr absl::string_view kReads = R"(
HloModule m
ENTRY e {
  p = f32[6,5] parameter(0)
  u = f32[2,3] parameter(1)
  i = s32[] parameter(2)
  j = s32[] constant(1)
  k = s32[] add(i, j)
  s = f32[2,3] dynamic-slice(p, $0, j), dynamic_slice_sizes={2,3}
  a = f32[2,3] add(s, u)
  ROOT d = f32[6,5] dynamic-update-slice(p, a, k, j)
})";
  EXPECT_EQ(Compare(absl::Substitute(kReads, "k")), absl::OkStatus());
  EXPECT_EQ(updates_, 1);
  // Another thread does it.
  EXPECT_EQ(Compare(absl::Substitute(kReads, "i")), absl::OkStatus());
  EXPECT_EQ(updates_, 0);
  // The second result reads what the first one is written over.
  EXPECT_EQ(Compare(R"(
HloModule m
ENTRY e {
  p = f32[6,5] parameter(0)
  u = f32[2,3] parameter(1)
  i = s32[] constant(1)
  d = f32[6,5] dynamic-update-slice(p, u, i, i)
  n = f32[6,5] negate(p)
  ROOT t = (f32[6,5], f32[6,5]) tuple(d, n)
})"),
            absl::OkStatus());
  EXPECT_EQ(updates_, 0);
}

// Updates go where they belong, as far as their order does not matter or one
// thread keeps it; the rest of the operand stays.
TEST_F(FusionLoweringTest, ScattersWriteTheirUpdates) {
  constexpr absl::string_view kModule = R"(
HloModule m
add { a = $0[] parameter(0) b = $0[] parameter(1) ROOT c = $0[] add(a, b) }
most { a = $0[] parameter(0) b = $0[] parameter(1)
       ROOT c = $0[] maximum(a, b) }
last { a = $0[] parameter(0) ROOT b = $0[] parameter(1) }
ENTRY e {
$1
})";
  struct Case {
    absl::string_view type;
    std::string body;
    size_t updates;
  };
  const std::string rows =
      "u = $0[6,3] parameter(1)\nn = $0[6,3] negate(u)\n"
      "ROOT s = $0[$1,3] scatter(p, i, n), update_window_dims={1}, "
      "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, to_apply=$2";
  const std::string differ =
      "p = $0[9,3] parameter(0)\n"
      "i = s32[6,1] constant({{1}, {4}, {8}, {-1}, {9}, {0}})\n";
  const std::string meet =
      "p = $0[$1,3] parameter(0)\n"
      "i = s32[6,1] constant({{1}, {4}, {1}, {-1}, {$1}, {4}})\n";
  const auto body = [](absl::string_view text, absl::string_view type,
                       int64_t size, absl::string_view apply) {
    return absl::Substitute(text, type, size, apply);
  };
  for (const Case& c : {
           // No two indices are equal.
           Case{"bf16",
                body(differ + rows, "bf16", 9, "add, unique_indices=true"), 1},
           {"f32", body(differ + rows, "f32", 9, "last, unique_indices=true"),
            1},
           // By atomics.
           {"s32", body(meet + rows, "s32", 9, "add"), 1},
           {"s64", body(meet + rows, "s64", 9, "most"), 1},
           // In order, of results with more than 2^20 elements.
           {"f32", body(meet + rows, "f32", 400000, "add"), 1},
           {"f32", body(meet + rows, "f32", 400000, "last"), 1},
           {"f32",
            "p = f32[3,400000] parameter(0)\n"
            "i = s32[3,2,1] constant({{{1}, {1}}, {{3}, {400000}}, {{0}, "
            "{2}}})\nu = f32[3,2] parameter(1)\n"
            "ROOT s = f32[3,400000] scatter(p, i, u), update_window_dims={}, "
            "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
            "input_batching_dims={0}, scatter_indices_batching_dims={0}, "
            "index_vector_dim=2, to_apply=add",
            1},
           // What the simplifier of scatters makes of rows.
           {"f32",
            "p = f32[400000,3] parameter(0)\n"
            "i = s32[4,1] constant({{1}, {3}, {1}, {400000}})\n"
            "u = f32[4,1,3] parameter(1)\n"
            "ROOT s = f32[400000,3] scatter(p, i, u), "
            "update_window_dims={1,2}, inserted_window_dims={}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
            "to_apply=add",
            1},
           // Windows that overlap are as good as indices that meet.
           {"s32",
            "p = s32[6,7] parameter(0)\n"
            "i = s32[2,3] constant({{1, 2, 3}, {2, 3, 6}})\n"
            "u = s32[2,3,3] parameter(1)\n"
            "ROOT s = s32[6,7] scatter(p, i, u), update_window_dims={0,1}, "
            "inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, "
            "index_vector_dim=0, unique_indices=true, to_apply=add",
            1},
           {"f32",
            "p = f32[6,7] parameter(0)\n"
            "i = s32[2,3] constant({{1, 2, 3}, {2, 3, 6}})\n"
            "u = f32[2,3,3] parameter(1)\n"
            "ROOT s = f32[6,7] scatter(p, i, u), update_window_dims={0,1}, "
            "inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, "
            "index_vector_dim=0, unique_indices=true, to_apply=add",
            0},
           // A small result is searched; so is one that has no atomics.
           {"f32", body(meet + rows, "f32", 9, "add"), 0},
           {"s16", body(meet + rows, "s16", 9, "add"), 0},
       }) {
    EXPECT_EQ(Compare(absl::Substitute(kModule, c.type, c.body)),
              absl::OkStatus())
        << c.body;
    EXPECT_EQ(updates_, c.updates) << c.body;
  }
  // Somebody else reads the operand.
  EXPECT_EQ(Compare(absl::Substitute(kModule, "s32", R"(
p = s32[9] parameter(0)
i = s32[2,1] constant({{1}, {1}})
u = s32[2] parameter(1)
s = s32[9] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
n = s32[9] negate(p)
ROOT t = (s32[9], s32[9]) tuple(s, n))")),
            absl::OkStatus());
  EXPECT_EQ(updates_, 0);
}

// Several elements share a byte of memory, which one thread writes; each has
// one of its own in registers.
TEST_F(FusionLoweringTest, PackedIntegers) {
  for (absl::string_view type : {"s4", "u4", "s2", "u2"}) {
    const absl::string_view bits = type.substr(1);
    for (absl::string_view body : {
             // Memory of both kinds; a last byte that is not full.
             "a = $0[3,5] add(p, q)\nm = $0[3,5] multiply(a, q)\n"
             "ROOT s = $0[3,5]{1,0:E($1)} subtract(m, p)",
             "d = $0[3,5] divide(p, q)\nr = $0[3,5] remainder(p, q)\n"
             "ROOT t = ($0[3,5]{0,1:E($1)}, $0[3,5]) tuple(d, r)",
             "n = $0[3,5]{1,0:E($1)} negate(p)\nx = $0[3,5] not(q)\n"
             "ROOT t = ($0[3,5]{1,0:E($1)}, $0[3,5]) tuple(n, x)",
             "l = $0[3,5] shift-left(p, q)\n"
             "a = $0[3,5] shift-right-arithmetic(p, q)\n"
             "r = $0[3,5] shift-right-logical(p, q)\n"
             "ROOT t = ($0[3,5], $0[3,5]{1,0:E($1)}, $0[3,5]) tuple(l, a, r)",
             "f = f32[3,5] convert(p)\nh = f32[] constant(9.7)\n"
             "b = f32[3,5] broadcast(h), dimensions={}\n"
             "m = f32[3,5] multiply(f, b)\n"
             "ROOT s = $0[3,5]{1,0:E($1)} convert(m)",
             "w = s32[3,5] convert(p)\nv = s32[3,5] multiply(w, w)\n"
             "n = $0[3,5] convert(v)\nl = pred[3,5] compare(n, q), "
             "direction=LT\nROOT s = $0[3,5]{1,0:E($1)} select(l, p, q)",
             "t = $0[5,3] transpose(p), dimensions={1,0}\n"
             "c = $0[5,6] concatenate(t, t), dimensions={1}\n"
             "ROOT s = $0[5,4]{0,1:E($1)} slice(c), slice={[0:5], [1:5]}",
             "ROOT s = $0[2,3]{1,0:E($1)} dynamic-slice(p, i, j), "
             "dynamic_slice_sizes={2,3}",
             "u = $0[2,3] slice(q), slice={[0:2], [0:3]}\n"
             "ROOT s = $0[3,5]{1,0:E($1)} dynamic-update-slice(p, u, i, j)",
             "w = f32[3,5] convert(p)\nz = f32[] constant(0)\n"
             "ROOT r = f32[3] reduce(w, z), dimensions={1}, to_apply=sum",
             "w = bf16[3,5] convert(p)\nv = bf16[3,5] convert(q)\n"
             "ROOT d = bf16[3,3] dot(w, v), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={1}",
         }) {
      const absl::Status status = Compare(absl::Substitute(
          absl::StrCat("HloModule m\nsum {\na = f32[] parameter(0)\nb = f32[] "
                       "parameter(1)\nROOT c = f32[] add(a, b)\n}\nENTRY e {\n"
                       "p = $0[3,5]{0,1:E($1)} parameter(0)\nq = $0[3,5] "
                       "parameter(1)\ni = s32[] parameter(2)\nj = s32[] "
                       "parameter(3)\n",
                       body, "\n}"),
          type, bits));
      EXPECT_EQ(status, absl::OkStatus()) << type << "\n" << body;
    }
  }
}

// In parts, which shards of the test share.
class FusionLoweringPartTest : public FusionLoweringTest,
                               public ::testing::WithParamInterface<int64_t> {};
constexpr int64_t kParts = 4;

INSTANTIATE_TEST_SUITE_P(Parts, FusionLoweringPartTest,
                         ::testing::Range(int64_t{0}, kParts));

TEST_P(FusionLoweringPartTest, DotsOfAllSizes) {
  threads_ = GetParam() % 2 == 0 ? 32 : 256;
  for (int64_t rows : {1, 7, 65}) {
    for (int64_t columns : {1, 30, 64}) {
      for (int64_t depth : {2, 31, 64}) {
        if ((depth == 64) != (GetParam() < 2)) continue;
        device_threads_ = columns == 30 ? 1 << 18 : kThreadsOfMultiprocessor;
        const std::string x = absl::StrCat("f32[", rows, ",", depth, "]");
        const std::string y = absl::StrCat("f32[", depth, ",", columns, "]");
        const std::string d = absl::StrCat("f32[", rows, ",", columns, "]");
        EXPECT_EQ(Compare(absl::StrCat("HloModule m\nENTRY e {\n  x = ", x,
                                       " parameter(0)\n  y = ", y,
                                       " parameter(1)\n  ROOT d = ", d,
                                       " dot(x, y), lhs_contracting_dims={1}, "
                                       "rhs_contracting_dims={0}\n}")),
                  absl::OkStatus())
            << d << " " << depth << " " << threads_;
        EXPECT_THAT(kinds_, ElementsAre(rows * columns < 16 ? "loop" : "dot"));
      }
    }
  }
}

}  // namespace
}  // namespace xla::gpu
