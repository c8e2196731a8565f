#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/lowering/fusion_lowering_test_base.h"

namespace xla::gpu {
namespace {

using ::testing::ElementsAre;

using TransposeLoweringTest = FusionLoweringTestBase;

// They are written on the way to the tile, also beside its last rows; what has
// other operands is not.
TEST_F(TransposeLoweringTest, WhatLiesAsTilesAreReadIsComputedFromTheirValues) {
  EXPECT_THAT(KindsOf(R"(
ENTRY e {
  p = f32[3,35,50] parameter(0)
  q = f32[3,35,50] parameter(1)
  m = f32[3,35,50] multiply(p, q)
  t = f32[3,50,35] transpose(m), dimensions={0,2,1}
  n = f32[3,50,35] negate(t)
  x = f32[3,35,50] exponential(p)
  r = f32[35,3,50] transpose(m), dimensions={1,0,2}
  b = f32[105,50] bitcast(m)
  ROOT o = (f32[3,50,35], f32[3,35,50], f32[35,3,50], f32[105,50])
      tuple(n, x, r, b)
})"),
              ElementsAre("transpose"));
  EXPECT_EQ(ops_["mul"], 1);
  device_threads_ = 1;
  EXPECT_THAT(KindsOf(R"(
ENTRY e {
  p = bf16[70,130] parameter(0)
  t = bf16[130,70] transpose(p), dimensions={1,0}
  n = bf16[70,130] negate(p)
  ROOT o = (bf16[130,70], bf16[70,130]) tuple(t, n)
})"),
              ElementsAre("transpose"));
  EXPECT_THAT(KindsOf(R"(
ENTRY e {
  p = f32[40,50] parameter(0)
  q = f32[40,50] parameter(1)
  t = f32[50,40] transpose(p), dimensions={1,0}
  n = f32[40,50] negate(q)
  ROOT o = (f32[50,40], f32[40,50]) tuple(t, n)
})"),
              ElementsAre("transpose", "loop"));
}

// Neighbors of a tile's row would not lie next to each other there, in all rows
// or in some; or they share bytes, need a transpose or a reduction themselves,
// read no array of the tile, or are written already.
TEST_F(TransposeLoweringTest, WhatLiesOtherwiseIsNotWrittenWithTiles) {
  struct Case {
    const char *body, *type, *kind;
  };
  for (const Case& c : {
           Case{"r = f32[20,18,2] transpose(p), dimensions={2,1,0}\n",
                "f32[20,18,2]", "loop"},
           Case{"b = f32[2,3,5,24] reshape(p)\n"
                "r = f32[2,3,5,24]{3,1,2,0} copy(b)\n",
                "f32[2,3,5,24]{3,1,2,0}", "loop"},
           Case{"r = s4[2,18,20]{2,1,0:E(4)} convert(p)\n",
                "s4[2,18,20]{2,1,0:E(4)}", "loop"},
           Case{"u = f32[18,2,20] transpose(p), dimensions={1,0,2}\n"
                "v = f32[2,20,18] transpose(u), dimensions={1,2,0}\n"
                "w = f32[20,36] transpose(q), dimensions={1,0}\n"
                "x = f32[2,20,18] bitcast(w)\n"
                "r = f32[2,20,18] add(v, x)\n",
                "f32[2,20,18]", "loop"},
           Case{"s = f32[2,18] reduce(p, z), dimensions={2}, to_apply=add\n"
                "b = f32[2,18,20] broadcast(s), dimensions={0,1}\n"
                "r = f32[2,18,20] subtract(p, b)\n",
                "f32[2,18,20]", "row-reduction"},
       }) {
    EXPECT_EQ(Compare(absl::StrCat(kReducers,
                                   "ENTRY e {\np = f32[2,18,20] parameter(0)\n"
                                   "q = f32[36,20] parameter(1)\n"
                                   "z = f32[] constant(0)\n"
                                   "t = f32[2,20,18] transpose(p), "
                                   "dimensions={0,2,1}\n",
                                   c.body, "ROOT o = (f32[2,20,18], ", c.type,
                                   ") tuple(t, r)\n}\n")),
              absl::OkStatus())
        << c.body;
    EXPECT_THAT(kinds_, ElementsAre("transpose", c.kind)) << c.body;
  }
}

TEST_F(TransposeLoweringTest, TilesWriteOnceWhatTheyReadTogether) {
  // Other reads than that of the first tile do not write.
  EXPECT_THAT(KindsOf(R"(
ENTRY e {
  p = f32[18,20] parameter(0)
  q = f32[18,20] parameter(1)
  t = f32[20,18] transpose(p), dimensions={1,0}
  u = f32[20,18] transpose(q), dimensions={1,0}
  a = f32[20,18] add(t, u)
  x = f32[18,20] exponential(p)
  ROOT o = (f32[20,18], f32[18,20]) tuple(a, x)
})"),
              ElementsAre("transpose"));
  EXPECT_EQ(ops_["exp"], 1);
  // A scale of rows is no reason.
  EXPECT_THAT(KindsOf(R"(
ENTRY e {
  p = f32[18,20] parameter(0)
  q = f32[18,20] parameter(1)
  w = f32[20] parameter(2)
  b = f32[18,20] broadcast(w), dimensions={1}
  m = f32[18,20] multiply(p, b)
  t = f32[20,18] transpose(m), dimensions={1,0}
  x = f32[18,20] multiply(q, b)
  ROOT o = (f32[20,18], f32[18,20]) tuple(t, x)
})"),
              ElementsAre("transpose", "loop"));
  // One of two tiles writes it.
  EXPECT_THAT(KindsOf(R"(
ENTRY e {
  p = f32[18,20,22] parameter(0)
  t = f32[18,22,20] transpose(p), dimensions={0,2,1}
  u = f32[22,20,18] transpose(p), dimensions={2,1,0}
  x = f32[18,20,22] exponential(p)
  ROOT o = (f32[18,22,20], f32[22,20,18], f32[18,20,22]) tuple(t, u, x)
})"),
              ElementsAre("transpose", "transpose"));
  EXPECT_EQ(ops_["exp"], 1);
  // What products wrote is not written again.
  EXPECT_THAT(KindsOf(R"(
ENTRY e {
  p = f32[16,16] parameter(0)
  q = f32[16,16] parameter(1)
  d = f32[16,16] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[16,16] transpose(p), dimensions={1,0}
  ROOT o = (f32[16,16], f32[16,16]) tuple(t, d)
})"),
              ElementsAre("dot", "transpose"));
}

}  // namespace
}  // namespace xla::gpu
