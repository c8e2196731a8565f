// What the stages of rows compute, and what they keep from one to the next.

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

class ReductionStagesTest : public FusionLoweringTestBase {
 protected:
  ReductionStagesTest() { min_vector_columns_ = 32; }  // the default
};

// A row's number is that of another row where dimensions change places, and it
// stays where they are split, joined or added.
TEST_F(ReductionStagesTest, RowsAreReadThroughTransposesOfTheirResults) {
  for (const absl::string_view body : {R"(
  p = f32[5,3,70] parameter(0)
  h = f32[5,3] reduce(p, z), dimensions={2}, to_apply=add
  t = f32[3,5] transpose(h), dimensions={1,0}
  b = f32[3,5,70] broadcast(t), dimensions={0,1}
  o = f32[5,3,70] transpose(b), dimensions={1,0,2}
  ROOT d = f32[5,3,70] divide(p, o))",
                                       R"(
  p = f32[4,4,70] parameter(0)
  h = f32[4,4] reduce(p, z), dimensions={2}, to_apply=add
  t = f32[4,4] transpose(h), dimensions={1,0}
  b = f32[4,4,70] broadcast(t), dimensions={0,1}
  o = f32[4,4,70] transpose(b), dimensions={1,0,2}
  ROOT d = f32[4,4,70] divide(p, o))"}) {
    EXPECT_EQ(Compare(absl::StrCat(kReducers, "ENTRY e { z = f32[] constant(0)",
                                   body, "\n}")),
              absl::OkStatus());
    EXPECT_THAT(kinds_, ElementsAre("row-reduction")) << body << why_;
  }
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[5,3,70] parameter(0)
  z = f32[] constant(0)
  h = f32[5,3] reduce(p, z), dimensions={2}, to_apply=add
  j = f32[15] reshape(h)
  m = f32[15,1] broadcast(j), dimensions={0}
  r = f32[15,1] exponential(m)
  s = f32[5,3] reshape(r)
  b = f32[5,3,70] broadcast(s), dimensions={0,1}
  ROOT d = f32[5,3,70] divide(p, b)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(ReductionStagesTest, StagesComputeWhatTheyReadOfRows) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[5,70] parameter(0)
  z = f32[] constant(0)
  h = f32[5] reduce(p, z), dimensions={1}, to_apply=add
  e = f32[5] exponential(h)
  eb = f32[5,70] broadcast(e), dimensions={0}
  d = f32[5,70] subtract(p, eb)
  m = f32[5] reduce(d, z), dimensions={1}, to_apply=add
  t = f32[5] tanh(m)
  tb = f32[5,70] broadcast(t), dimensions={0}
  ROOT o = f32[5,70] multiply(p, tb)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
  EXPECT_EQ(ops_["exp"], 1);
  EXPECT_EQ(ops_["tanh"], 1);
}

// However many stages there are, what is kept from one to the next takes the
// registers of two values.
TEST_F(ReductionStagesTest, StagesKeepWhatTheNextOneReads) {
  std::string body = R"(
ENTRY e {
  low = f32[] constant(-inf)
  x0 = f32[4,1024] parameter(0))";
  for (int k = 0; k < 12; ++k) {
    absl::StrAppend(&body, absl::Substitute(R"(
  h$0 = f32[4] reduce(x$0, low), dimensions={1}, to_apply=max
  b$0 = f32[4,1024] broadcast(h$0), dimensions={0}
  x$1 = f32[4,1024] subtract(x$0, b$0))",
                                            k, k + 1));
  }
  EXPECT_EQ(Compare(absl::StrCat(kReducers, body,
                                 "\n  ROOT o = f32[4,1024] negate(x12)\n}")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
  EXPECT_EQ(ops_["sub"], 12);
}

}  // namespace
}  // namespace xla::gpu
