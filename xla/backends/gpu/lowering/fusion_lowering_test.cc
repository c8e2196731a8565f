#include "xla/backends/gpu/lowering/fusion_lowering.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/lowering_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/random_module.h"

namespace xla::gpu {
namespace {

using ::testing::ElementsAre;

// Kinds of the parts of the last kernel that was lowered.
class FusionLoweringTest : public ::testing::Test {
 protected:
  absl::StatusOr<LoweredKernel> Lower(const HloInstruction& hlo) {
    FusionLoweringOptions options;
    options.threads_per_block = 32;
    options.threads_of_tiles = threads_;
    options.min_reduced = 2;
    options.min_transposed = min_transposed_;
    options.device_threads = device_threads_;
    options.min_vector_columns = min_vector_columns_;
    absl::StatusOr<LoweredKernel> lowered = LowerFusion(hlo, options);
    kinds_.clear();
    vectors_ = products_ = 0;
    if (!lowered.ok()) return lowered;
    updates_ = lowered->in_place.size();
    kir::ForEachStatement(
        lowered->kernel.body, [this](const kir::Statement& statement) {
          const auto* loop = statement.As<kir::Loop>();
          vectors_ +=
              loop != nullptr && loop->kind == kir::LoopKind::kVectorize;
          const auto* expr = statement.As<kir::Expr>();
          products_ += expr != nullptr && expr->op == "warp_mma";
        });
    for (const KernelPart& part : lowered->parts) {
      kinds_.push_back(std::string(part.kind));
      why_ = part.why;
    }
    return lowered;
  }
  absl::Status Compare(absl::string_view text) {
    return CompareWithEvaluator(
        text, [this](const HloInstruction& hlo) { return Lower(hlo); });
  }

  int64_t threads_ = 128;
  int64_t min_transposed_ = 16;
  int64_t device_threads_ = 1 << 18;
  int64_t min_vector_columns_ = 1024;
  int64_t vectors_ = 0;   // accesses of vectors
  int64_t products_ = 0;  // by matrix units
  size_t updates_ = 0;    // in place
  std::vector<std::string> kinds_;
  std::string why_;
};

constexpr int64_t kThreadsOfMultiprocessor = 2048;

constexpr absl::string_view kReducers = R"(
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
largest {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  same = pred[] compare(a, b), direction=EQ
  less = pred[] compare(i, j), direction=LT
  first = pred[] and(same, less)
  g = pred[] or(more, first)
  x = f32[] select(g, a, b)
  k = s32[] select(g, i, j)
  ROOT t = (f32[], s32[]) tuple(x, k)
}
)";

TEST_F(FusionLoweringTest, RowsAreReadByLanesNextToEachOther) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[5,3,70] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[5,3] reduce(p, z), dimensions={2}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(FusionLoweringTest, ColumnsAreReadByThreadsNextToEachOther) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[3,41,70] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[3,70] reduce(p, z), dimensions={1}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("column-reduction"));
}

TEST_F(FusionLoweringTest, InitialValuesAreTakenOnce) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[4,33] parameter(0)
  z = f32[] constant(5)
  ROOT s = f32[4] reduce(p, z), dimensions={1}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(FusionLoweringTest, SoftmaxIsOneKernelWithItsRowsResults) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[2,3,90] parameter(0)
  low = f32[] constant(-inf)
  m = f32[2,3] reduce(p, low), dimensions={2}, to_apply=max
  mb = f32[2,3,90] broadcast(m), dimensions={0,1}
  d = f32[2,3,90] subtract(p, mb)
  x = f32[2,3,90] exponential(d)
  z = f32[] constant(0)
  s = f32[2,3] reduce(x, z), dimensions={2}, to_apply=add
  sb = f32[2,3,90] broadcast(s), dimensions={0,1}
  q = f32[2,3,90] divide(x, sb)
  r = f32[6,90] reshape(q)
  ROOT t = (f32[6,90], f32[2,3], f32[2,3,90]) tuple(r, s, d)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

// As a normalization is left by what splits its rows into heads.
TEST_F(FusionLoweringTest, RowsAreReadThroughBitcastsOfTheirNumbers) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = bf16[8,60] parameter(0)
  b = bf16[1,8,5,12] bitcast(p)
  f = f32[1,8,5,12] convert(b)
  q = f32[1,8,5,12] multiply(f, f)
  c = f32[40,12] bitcast(q)
  z = f32[] constant(0)
  s = f32[40] reduce(c, z), dimensions={1}, to_apply=add
  d = f32[1,8,5] bitcast(s)
  r = f32[1,8,5] rsqrt(d)
  m = f32[1,8,5,12] broadcast(r), dimensions={0,1,2}
  n = f32[1,8,5,12] multiply(f, m)
  ROOT o = bf16[1,8,5,12] convert(n)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(FusionLoweringTest, SeveralReductionsShareOneSetOfBarriers) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[4,9] parameter(0)
  z = f32[] constant(0)
  s = f32[4] reduce(p, z), dimensions={1}, to_apply=add
  n = s32[4,9] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  none = s32[] constant(0)
  l = (f32[4], s32[4]) reduce(p, n, low, none), dimensions={1}, to_apply=largest
  m = f32[4] get-tuple-element(l), index=0
  k = s32[4] get-tuple-element(l), index=1
  g = f32[4,9] negate(p)
  ROOT t = (f32[4], f32[4], s32[4], f32[4,9]) tuple(s, m, k, g)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(FusionLoweringTest, ReductionsReadOutOfTheirRowsAreLoops) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[8,8] parameter(0)
  z = f32[] constant(0)
  s = f32[8] reduce(p, z), dimensions={1}, to_apply=add
  b = f32[8,8] broadcast(s), dimensions={1}
  ROOT a = f32[8,8] add(p, b)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("loop"));
  EXPECT_THAT(why_, ::testing::HasSubstr("in another order"));
}

TEST_F(FusionLoweringTest, DotsAreTilesWithWhatFollowsThem) {
  device_threads_ = kThreadsOfMultiprocessor;
  EXPECT_EQ(Compare(R"(
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
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("dot"));
  EXPECT_GT(products_, 0);
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
  EXPECT_EQ(Compare(R"(
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
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("dot"));
  EXPECT_GT(products_, 0);
}

TEST_F(FusionLoweringTest, DotsReadOutOfTheirPlacesAreLoops) {
  EXPECT_EQ(Compare(R"(
HloModule m
ENTRY e {
  x = f32[16,20] parameter(0)
  y = f32[20,16] parameter(1)
  d = f32[16,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[16,16] reverse(d), dimensions={0}
  ROOT a = f32[16,16] add(d, r)
})"),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("loop"));
  EXPECT_THAT(why_, ::testing::HasSubstr("in another order"));
}

TEST_F(FusionLoweringTest, TransposesAreTilesWithWhatFollowsThem) {
  EXPECT_EQ(Compare(R"(
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
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("transpose"));
}

TEST_F(FusionLoweringTest, CopiesIntoOtherLayoutsAreTransposes) {
  EXPECT_EQ(Compare(R"(
HloModule m
ENTRY e {
  p = s8[33,65]{1,0} parameter(0)
  ROOT c = s8[33,65]{0,1} copy(p)
})"),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("transpose"));
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
  EXPECT_EQ(Compare(R"(
HloModule m
ENTRY e {
  p = f32[32,32] parameter(0)
  t = f32[32,32] transpose(p), dimensions={1,0}
  v = f32[32,32] reverse(t), dimensions={0}
  ROOT a = f32[32,32] add(t, v)
})"),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("loop"));
}

TEST_F(FusionLoweringTest, RowsAreSortedWithWhatGoesAlong) {
  // Many equals, which keep their order; rows of one element, of powers of two
  // and of other sizes, by one warp and by several.
  for (int64_t elements : {1, 2, 3, 17, 64, 100}) {
    for (absl::string_view dims : {"0", "1"}) {
      const std::string shape = dims == "0"
                                    ? absl::StrCat("[", elements, ",5]{1,0}")
                                    : absl::StrCat("[5,", elements, "]{0,1}");
      EXPECT_EQ(
          Compare(absl::StrCat(
              "HloModule m\nless { a = s32[] parameter(0) b = s32[] "
              "parameter(1) i = bf16[] parameter(2) j = bf16[] parameter(3) "
              "ROOT c = pred[] compare(a, b), direction=GT }\n"
              "ENTRY e {\n p = s32",
              shape, " parameter(0)\n q = bf16", shape,
              " parameter(1)\n n = s32[] constant(3)\n nb = s32", shape,
              " broadcast(n), dimensions={}\n r = s32", shape,
              " remainder(p, nb)\n s = (s32", shape, ", bf16", shape,
              ") sort(r, q), dimensions={", dims, "}, to_apply=less\n k = s32",
              shape, " get-tuple-element(s), index=0\n v = bf16", shape,
              " get-tuple-element(s), index=1\n f = f32", shape,
              " convert(k)\n ROOT t = (f32", shape, ", bf16", shape,
              ") tuple(f, v)\n}")),
          absl::OkStatus())
          << elements << " along " << dims;
      EXPECT_THAT(kinds_, ElementsAre("sort"));
    }
  }
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

TEST_F(FusionLoweringTest, RowsAreTakenInVectors) {
  min_vector_columns_ = 8;
  // 15 rows are not all rows of the last block.
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = bf16[5,3,136] parameter(0)
  f = f32[5,3,136] convert(p)
  low = f32[] constant(-inf)
  m = f32[5,3] reduce(f, low), dimensions={2}, to_apply=max
  mb = f32[5,3,136] broadcast(m), dimensions={0,1}
  d = f32[5,3,136] subtract(f, mb)
  x = f32[5,3,136] exponential(d)
  z = f32[] constant(0)
  s = f32[5,3] reduce(x, z), dimensions={2}, to_apply=add
  sb = f32[5,3,136] broadcast(s), dimensions={0,1}
  ROOT v = f32[5,3,136] divide(x, sb)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
  // The input and the result: a step of all lanes, and one of some.
  EXPECT_EQ(vectors_, 4);
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[5,6,10] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[5] reduce(p, z), dimensions={1,2}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_EQ(vectors_, 2);
  // An initial value that counts is taken with the first column.
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[4,32] parameter(0)
  z = f32[] constant(5)
  ROOT s = f32[4] reduce(p, z), dimensions={1}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_EQ(vectors_, 0);
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

// A comparator that looks at remainders of i and j, one after the other.
std::string OneAfterTheOther(int keys) {
  std::string text = "z = pred[] constant(false)\n";
  std::string rest = "z";
  for (int k = keys; k-- > 0;) {
    absl::StrAppend(
        &text, absl::Substitute("c$0 = s32[] constant($1)\n"
                                "i$0 = s32[] remainder(i, c$0)\n"
                                "j$0 = s32[] remainder(j, c$0)\n"
                                "e$0 = pred[] compare(i$0, j$0), direction=EQ\n"
                                "l$0 = pred[] compare(i$0, j$0), direction=LT\n"
                                "$3r$0 = pred[] select(e$0, $2, l$0)\n",
                                k, k + 2, rest, k == 0 ? "ROOT " : ""));
    rest = absl::StrCat("r", k);
  }
  return text;
}

// What sorts take for an order, and what is none, however it is written.
TEST_F(FusionLoweringTest, ComparatorsMustBeOrders) {
  struct Case {
    std::string root;
    absl::string_view error;  // empty: sorted
  };
  constexpr absl::string_view kBoth = "can hold for two elements both ways";
  for (const Case& c : {
           Case{"ROOT r = pred[] compare(b, a), direction=GT", ""},
           {"ROOT r = pred[] compare(a, b), direction=LE", kBoth},
           {"ROOT r = pred[] compare(a, b), direction=NE", kBoth},
           {"x = pred[] compare(a, b), direction=GE\nROOT r = pred[] not(x)",
            ""},
           {"x = pred[] compare(a, b), direction=LT\n"
            "y = pred[] compare(i, j), direction=GT\n"
            "e = pred[] compare(b, a), direction=EQ\n"
            "ROOT r = pred[] select(e, y, x)",
            ""},
           {"x = pred[] compare(a, b), direction=LT\n"
            "y = pred[] compare(i, j), direction=LT\n"
            "ROOT r = pred[] or(x, y)",
            kBoth},
           {"x = pred[] compare(a, b), direction=LT\n"
            "y = pred[] compare(i, j), direction=LT\n"
            "ROOT r = pred[] and(x, y)",
            "is not transitive"},
           {"n = f32[] negate(a)\nm = f32[] negate(b)\n"
            "ROOT r = pred[] compare(n, m), direction=LT, type=TOTALORDER",
            ""},
           {"n = f32[] abs(a)\nROOT r = pred[] compare(n, b), direction=LT",
            "compares no expression of both elements"},
           // One truth of each element, and the other way around.
           {"z = f32[] constant(0)\n"
            "n = pred[] compare(a, z), direction=LT\n"
            "m = pred[] compare(b, z), direction=LT\n"
            "k = pred[] not(n)\nROOT r = pred[] and(k, m)",
            ""},
           {"z = f32[] constant(0)\n"
            "n = pred[] compare(a, z), direction=LT\n"
            "m = pred[] compare(b, z), direction=LT\n"
            "x = pred[] compare(i, j), direction=LT\n"
            "y = pred[] compare(i, j), direction=GT\n"
            "l = pred[] compare(n, m), direction=GT\n"
            "d = pred[] xor(n, m)\nw = pred[] select(n, x, y)\n"
            "ROOT r = pred[] select(d, l, w)",
            ""},
           {"z = f32[] constant(0)\n"
            "n = pred[] compare(a, z), direction=LT\nROOT r = pred[] not(n)",
            kBoth},
           {"z = f32[] constant(0)\n"
            "n = pred[] compare(a, z), direction=LT\n"
            "m = pred[] compare(b, z), direction=LT\n"
            "x = pred[] compare(i, j), direction=LT\n"
            "k = pred[] not(n)\nl = pred[] and(k, m)\n"
            "ROOT r = pred[] or(l, x)",
            kBoth},
           {OneAfterTheOther(6), ""},
           {OneAfterTheOther(11), "is one of too many comparisons"},
       }) {
    const absl::Status status =
        Compare(absl::StrCat("HloModule m\nless {\na = f32[] parameter(0)\n"
                             "b = f32[] parameter(1)\ni = s32[] parameter(2)\n"
                             "j = s32[] parameter(3)\n",
                             c.root,
                             "\n}\nENTRY e {\np = f32[3,9] parameter(0)\n"
                             "q = s32[3,9] parameter(1)\n"
                             "ROOT s = (f32[3,9], s32[3,9]) sort(p, q), "
                             "dimensions={1}, to_apply=less\n}"));
    if (c.error.empty()) {
      EXPECT_EQ(status, absl::OkStatus()) << c.root;
      continue;
    }
    EXPECT_TRUE(absl::IsUnimplemented(status)) << c.root << status;
    EXPECT_THAT(std::string(status.message()),
                ::testing::AllOf(::testing::HasSubstr("sort: its comparator"),
                                 ::testing::HasSubstr(c.error)));
  }
}

// Formulas of parts, moves of both, and what becomes real.
TEST_F(FusionLoweringTest, ComplexNumbersArePairs) {
  for (absl::string_view type : {"c64", "c128"}) {
    const absl::string_view part = type == "c64" ? "f32" : "f64";
    for (absl::string_view body : {
             "a = $0[3,5] add(p, q)\ns = $0[3,5] subtract(a, p)\n"
             "m = $0[3,5] multiply(s, q)\nROOT d = $0[3,5] divide(m, p)",
             "e = $0[3,5] exponential(p)\nl = $0[3,5] log(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] sqrt(p)\nl = $0[3,5] rsqrt(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] sine(p)\nl = $0[3,5] cosine(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] tan(p)\nl = $0[3,5] tanh(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] exponential-minus-one(p)\n"
             "l = $0[3,5] log-plus-one(q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $0[3,5] logistic(p)\nl = $0[3,5] sign(q)\n"
             "c = $0[3,5] cbrt(q)\n"
             "ROOT t = ($0[3,5], $0[3,5], $0[3,5]) tuple(e, l, c)",
             "e = $0[3,5] power(p, q)\nl = $0[3,5] atan2(p, q)\n"
             "ROOT t = ($0[3,5], $0[3,5]) tuple(e, l)",
             "e = $1[3,5] abs(p)\nl = $1[3,5] real(q)\ni = $1[3,5] imag(q)\n"
             "n = $0[3,5] negate(p)\nu = pred[3,5] compare(p, n), "
             "direction=NE\nv = pred[3,5] compare(p, p), direction=EQ\n"
             "ROOT t = ($1[3,5], $1[3,5], $1[3,5], pred[3,5], pred[3,5]) "
             "tuple(e, l, i, u, v)",
             "e = $1[3,5] abs(p)\nl = $1[3,5] real(q)\n"
             "c = $0[3,5] complex(e, l)\nk = pred[3,5] compare(e, l), "
             "direction=LT\nROOT s = $0[3,5] select(k, c, p)",
             "e = $1[3,5] real(p)\nh = bf16[3,5] convert(e)\n"
             "l = $0[3,5] convert(h)\nw = c128[3,5] convert(q)\n"
             "ROOT t = ($0[3,5], c128[3,5]) tuple(l, w)",
             "t = $0[5,3] transpose(p), dimensions={1,0}\n"
             "r = $0[3,5] reshape(t)\nc = $0[6,5] concatenate(r, q), "
             "dimensions={0}\nv = $0[6,5] reverse(c), dimensions={1}\n"
             "ROOT l = $0[3,2] slice(v), slice={[0:6:2], [1:3]}",
             "z = $0[] constant((1, -2))\nb = $0[2] constant({(1, 2), "
             "(3, -4)})\nw = $0[3,2] broadcast(b), dimensions={1}\n"
             "d = $0[6,7] pad(p, z), padding=2_1x1_1\n"
             "i = s32[] constant(1)\n"
             "u = $0[6,7] dynamic-update-slice(d, w, i, i)\n"
             "ROOT s = $0[3,2] dynamic-slice(u, i, i), "
             "dynamic_slice_sizes={3,2}",
             "z = $0[] constant((0, 0))\nr = $0[3] reduce(p, z), "
             "dimensions={1}, to_apply=sum\n"
             "o = $0[] constant((1, 0))\nm = $0[5] reduce(q, o), "
             "dimensions={0}, to_apply=product\n"
             "ROOT t = ($0[3], $0[5]) tuple(r, m)",
             "t = $0[5,3] transpose(q), dimensions={1,0}\n"
             "ROOT d = $0[3,3] dot(p, t), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}",
             "z = $0[] constant((0, 1))\nr = $0[] reduce(p, z), "
             "dimensions={0,1}, to_apply=sum\nROOT n = $0[] negate(r)",
             "m = $0[3,5] multiply(p, q)\nROOT b = $0[15] bitcast(m)",
             "r = $1[3,5] real(p)\nROOT b = $1[15] bitcast(r)",
             "i = $0[3,5] iota(), iota_dimension=1\n"
             "ROOT a = $0[3,5] add(i, p)",
             // Powers that are infinite, or their squares are.
             "n = $0[3,5] negate(p)\nc = $0[7] constant({(-100, 0), (100, 0), "
             "(-1000, 0), (1000, 0), (-100, -1), (1, 89), (-2, 0.5)})\n"
             "l = $0[7] logistic(c)\ne = $0[7] exponential(c)\n"
             "s = $0[7] sine(c)\n"
             "ROOT t = ($0[3,5], $0[7], $0[7], $0[7]) tuple(n, l, e, s)",
         }) {
      const absl::Status status = Compare(absl::Substitute(
          absl::StrCat(
              "HloModule m\nsum {\na = $0[] parameter(0)\nb = $0[] "
              "parameter(1)\nROOT c = $0[] add(a, b)\n}\nproduct {\na = $0[] "
              "parameter(0)\nb = $0[] parameter(1)\nROOT c = $0[] "
              "multiply(a, b)\n}\nENTRY e {\np = $0[3,5]{0,1} parameter(0)\n"
              "q = $0[3,5] parameter(1)\n",
              body, "\n}"),
          type, part));
      EXPECT_EQ(status, absl::OkStatus()) << type << "\n" << body;
    }
  }
}

// Rows of both parts are reduced by one kernel, side by side.
TEST_F(FusionLoweringTest, ComplexRows) {
  EXPECT_EQ(Compare(R"(
HloModule m
sum { a = c64[] parameter(0) b = c64[] parameter(1) ROOT c = c64[] add(a, b) }
ENTRY e {
  p = c64[7,70] parameter(0)
  z = c64[] constant((0, 0))
  n = c64[7,70] negate(p)
  ROOT r = c64[7] reduce(n, z), dimensions={1}, to_apply=sum
})"),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

// What has no formula on parts is named, as are pairs that are made of the bits
// of one number.
TEST_F(FusionLoweringTest, NoFormulaOfComplexNumbers) {
  for (absl::string_view body : {
           "p = c64[4] parameter(0)\nROOT a = c64[4] asin(p)",
           "p = f64[4]{0} parameter(0)\nROOT a = c64[4]{0} bitcast(p)",
           "p = c64[4]{0} parameter(0)\nROOT a = f64[4]{0} bitcast(p)",
       }) {
    const absl::Status status =
        Compare(absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}"));
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                ::testing::HasSubstr(
                    ": no formula on the parts of complex numbers, in a"));
  }
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

TEST_F(FusionLoweringTest, TheFirstOfSortedRows) {
  for (absl::string_view type : {"f32", "bf16", "s32", "u8"}) {
    for (absl::string_view largest : {"true", "false"}) {
      EXPECT_EQ(
          Compare(absl::StrCat(
              "HloModule m\nENTRY e {\n  p = ", type,
              "[3,70] parameter(0)\n  n = ", type, "[3,70] add(p, p)\n  t = (",
              type, "[3,5], s32[3,5]) topk(n), k=5, largest=", largest,
              "\n  v = ", type,
              "[3,5] get-tuple-element(t), index=0\n"
              "  i = s32[3,5] get-tuple-element(t), index=1\n  m = ",
              type, "[3,5] negate(v)\n  ROOT r = (", type,
              "[3,5], s32[3,5]) tuple(m, i)\n}")),
          absl::OkStatus())
          << type << " " << largest;
      EXPECT_THAT(kinds_, ElementsAre("sort"));
    }
  }
}

TEST_F(FusionLoweringTest, LongRowsAreNotSorted) {
  const absl::Status status = Compare(R"(
HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
ENTRY e {
  p = f32[14000] parameter(0)
  ROOT s = f32[14000] sort(p), dimensions={0}, to_apply=less
})");
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("sort: rows of 14000 elements take 56000 "
                                   "bytes of shared memory, in s"));
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

TEST_P(FusionLoweringPartTest, RandomReductions) {
  const char* text = std::getenv("HLO_RANDOM_MODULES");
  const int64_t cases = text == nullptr ? 400 : std::atoll(text);
  std::map<std::string, int64_t> kinds;
  int64_t failed = 0;
  for (int64_t i = GetParam() * cases / kParts;
       i < (GetParam() + 1) * cases / kParts && failed < 3; ++i) {
    RandomModuleOptions options;
    options.steps = 2 + i % 9;
    options.max_dimension = i % 3 == 0 ? 40 : 7;
    options.max_elements = 400;
    options.types = {F32, S32, PRED, BF16, U8};
    options.opcodes = {
        HloOpcode::kAdd,     HloOpcode::kBroadcast, HloOpcode::kConvert,
        HloOpcode::kMaximum, HloOpcode::kMultiply,  HloOpcode::kNegate,
        HloOpcode::kReduce,  HloOpcode::kReduce,    HloOpcode::kReshape,
        HloOpcode::kSelect,  HloOpcode::kSubtract,  HloOpcode::kTranspose};
    options.tuples = false;
    options.exact = true;
    threads_ = i % 2 == 0 ? 32 : 128;
    device_threads_ = i % 4 < 2 ? 1 : 1 << 18;
    min_vector_columns_ = i % 4 < 2 ? 2 : 1024;
    // Tiles are larger than all arrays, and machines run each place of them.
    min_transposed_ = i % 8 == 0 ? 2 : 16;
    std::unique_ptr<HloModule> module = RandomModule(i, options);
    const std::string before = module->ToString();
    const absl::Status status = CompareWithEvaluator(
        module.get(), i,
        [this](const HloInstruction& hlo) { return Lower(hlo); });
    if (absl::IsUnimplemented(status)) continue;
    for (const std::string& kind : kinds_) ++kinds[kind];
    kinds["vector"] += vectors_;
    if (status.ok()) continue;
    ++failed;
    ADD_FAILURE() << "seed " << i << ": " << status.message() << "\n" << before;
  }
  EXPECT_GT(kinds["row-reduction"], failed > 0 ? 0 : cases / kParts / 50);
  EXPECT_GT(kinds["column-reduction"], failed > 0 ? 0 : cases / kParts / 50);
  EXPECT_GT(kinds["vector"], failed > 0 ? 0 : cases / kParts / 50);
}

}  // namespace
}  // namespace xla::gpu
