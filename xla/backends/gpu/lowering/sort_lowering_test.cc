// Sorts and the first of sorted rows.

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

using SortLoweringTest = FusionLoweringTestBase;

TEST_F(SortLoweringTest, RowsAreSortedWithWhatGoesAlong) {
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
TEST_F(SortLoweringTest, ComparatorsMustBeOrders) {
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

TEST_F(SortLoweringTest, TheFirstOfSortedRows) {
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

// 1 and -1 are equal, but not the same: they keep their order.
TEST_F(SortLoweringTest, EqualsByAnExpressionKeepTheirOrder) {
  EXPECT_EQ(Compare(R"(
HloModule m
less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  x = s32[] abs(a)
  y = s32[] abs(b)
  ROOT c = pred[] compare(x, y), direction=LT
}
ENTRY e {
  p = s32[3,64] parameter(0)
  n = s32[] constant(3)
  nb = s32[3,64] broadcast(n), dimensions={}
  r = s32[3,64] remainder(p, nb)
  ROOT s = s32[3,64] sort(r), dimensions={1}, to_apply=less
})"),
            absl::OkStatus());
}

// Rows of keys of that type and what goes along.
std::string SortOfPairs(absl::string_view type, absl::string_view shape) {
  return absl::Substitute(
      "HloModule m\nless { a = $0[] parameter(0) b = $0[] parameter(1) "
      "i = s32[] parameter(2) j = s32[] parameter(3) "
      "ROOT c = pred[] compare(a, b), direction=LT }\n"
      "ENTRY e {\np = $0$1 parameter(0)\nq = s32$1 parameter(1)\n"
      "ROOT s = ($0$1, s32$1) sort(p, q), dimensions={1}, to_apply=less\n}",
      type, shape);
}

// A visit of shared memory for two steps has twice the rows, and gaps.
TEST_F(SortLoweringTest, RowsThatFitWithoutGaps) {
  shared_bytes_ = 4 * 64 * 12 + 128;
  EXPECT_EQ(Compare(SortOfPairs("s32", "[5,64]")), absl::OkStatus());
  EXPECT_THAT(why_, ::testing::HasSubstr("exchange pairs in shared memory"));
}

// Plans set 128 bytes aside, and align buffers: a byte less is too little.
TEST_F(SortLoweringTest, RowsThatPlansHaveRoomFor) {
  // Room for 4 rows at a time: keys of one byte, values and places of four.
  constexpr int64_t kNeeded = 160 + 2 * 4 * 37 * 4 + 128;
  for (int64_t missing : {0, 1}) {
    shared_bytes_ = kNeeded - missing;
    EXPECT_EQ(Compare(SortOfPairs("u8", "[5,37]")), absl::OkStatus());
    EXPECT_THAT(why_, ::testing::HasSubstr(
                          missing == 0 ? "exchange pairs in shared memory"
                                       : "each counts those before it"));
  }
}

// Rows along each dimension, of keys that have equals, with what goes along,
// with results that are computed from it, and of more threads than blocks have.
TEST_F(SortLoweringTest, RowsTooLongForSharedMemoryAreSortedByRanks) {
  shared_bytes_ = 16;
  for (absl::string_view dims : {"0", "1"}) {
    // Rows that lie side by side, and one after the other.
    const std::string shape = dims == "0" ? "[37,5]{1,0}" : "[5,37]{1,0}";
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
            " convert(k)\n y = f32", shape, " parameter(2)\n g = f32", shape,
            " add(f, y)\n ROOT t = (f32", shape, ", bf16", shape,
            ") tuple(g, v)\n}")),
        absl::OkStatus())
        << dims;
    EXPECT_THAT(kinds_, ElementsAre("sort"));
    EXPECT_THAT(why_, ::testing::HasSubstr("each counts those before it"));
  }
  for (absl::string_view largest : {"true", "false"}) {
    EXPECT_EQ(Compare(absl::StrCat(
                  "HloModule m\nENTRY e {\n  p = f32[3,70] parameter(0)\n"
                  "  t = (f32[3,5], s32[3,5]) topk(p), k=5, largest=",
                  largest,
                  "\n  v = f32[3,5] get-tuple-element(t), index=0\n"
                  "  i = s32[3,5] get-tuple-element(t), index=1\n"
                  "  ROOT r = (f32[3,5], s32[3,5]) tuple(v, i)\n}")),
              absl::OkStatus());
    EXPECT_THAT(why_, ::testing::HasSubstr("each counts those before it"));
  }
}

// What would be computed for each pair, and results that threads share.
TEST_F(SortLoweringTest, RowsThatRanksAreNotFor) {
  shared_bytes_ = 16;
  struct {
    absl::string_view type, body, error;
  } cases[] = {
      {"s32",
       "w = s32[40,9] parameter(0)\nz = s32[] constant(0)\n"
       "p = s32[40] reduce(w, z), dimensions={1}, to_apply=plus\n"
       "ROOT s = s32[40] sort(p), dimensions={0}, to_apply=less",
       "are computed by reduce"},
      {"s4",
       "p = s4[40] parameter(0)\n"
       "ROOT s = s4[40]{0:E(4)} sort(p), dimensions={0}, to_apply=less",
       "threads would share bytes of the result"},
      {"f32",
       "p = f32[40] parameter(0)\n"
       "ROOT s = f32[40] sort(p), dimensions={0}, to_apply=less",
       "sort: rows of 40 elements do not fit into shared memory, and NaNs have "
       "no place in their order, in s"},
      {"s32",
       "p = s32[2000000] parameter(0)\n"
       "ROOT s = s32[2000000] sort(p), dimensions={0}, to_apply=less",
       "have too many pairs to compare"},
  };
  for (const auto& c : cases) {
    const absl::Status status = Compare(absl::Substitute(
        "HloModule m\nless { a = $0[] parameter(0) b = $0[] parameter(1) "
        "ROOT c = pred[] compare(a, b), direction=LT }\n"
        "plus { a = s32[] parameter(0) b = s32[] parameter(1) "
        "ROOT c = s32[] add(a, b) }\nENTRY e {\n$1\n}",
        c.type, c.body));
    EXPECT_TRUE(absl::IsUnimplemented(status)) << c.error << status;
    EXPECT_THAT(
        std::string(status.message()),
        ::testing::AllOf(::testing::HasSubstr("do not fit into shared memory"),
                         ::testing::HasSubstr(c.error)));
  }
}

}  // namespace
}  // namespace xla::gpu
