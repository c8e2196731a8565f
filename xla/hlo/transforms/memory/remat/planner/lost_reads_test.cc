#include "xla/hlo/transforms/memory/remat/planner/lost_reads.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::remat_plan {
namespace {

int64_t LostReadsOf(absl::string_view order) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(R"(
HloModule m, is_scheduled=true
ENTRY e {
  x = f32[8]{0} parameter(0)
  v = f32[2]{0} parameter(1)
  i = s32[] parameter(2)
  y = f32[8]{0} exponential(x)
)",
                                                            order, "\n}"));
  EXPECT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<int64_t> count = CountLostReads(**module);
  EXPECT_TRUE(count.ok()) << count.status();
  return count.value_or(-1);
}

TEST(LostReadsTest, ReadsAfterUpdatesInPlace) {
  EXPECT_EQ(LostReadsOf(R"(
  n = f32[8]{0} negate(y)
  u = f32[8]{0} dynamic-update-slice(y, v, i)
  ROOT r = f32[8]{0} add(n, u))"),
            0);
  EXPECT_EQ(LostReadsOf(R"(
  u = f32[8]{0} dynamic-update-slice(y, v, i)
  n = f32[8]{0} negate(y)
  ROOT r = f32[8]{0} add(n, u))"),
            1);
}

// A fusion whose result takes the memory of x.
int64_t LostReadsOfFusion(absl::string_view body) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      R"(
HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }
body {
  p = f32[8]{0} parameter(0)
)",
      body, R"(
}
ENTRY e {
  x = f32[8]{0} parameter(0)
  ROOT f = f32[8]{0} fusion(x), kind=kLoop, calls=body
})"));
  EXPECT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<int64_t> count = CountLostReads(**module);
  EXPECT_TRUE(count.ok()) << count.status();
  return count.value_or(-1);
}

TEST(LostReadsTest, OperandsOverwrittenByFusions) {
  EXPECT_EQ(LostReadsOfFusion("  ROOT n = f32[8]{0} negate(p)"), 0);
  EXPECT_EQ(LostReadsOfFusion(R"(
  b = f32[8]{0} reverse(p), dimensions={0}
  ROOT n = f32[8]{0} add(p, b))"),
            1);
}

}  // namespace
}  // namespace xla::remat_plan
