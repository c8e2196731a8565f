#include "xla/backends/gpu/smem/plan/loop_values.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"

namespace xla::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The values of a loop over %k that tell apart where an array is written, in
// these rows, inside of another statement.
std::vector<int64_t> ValuesIn(absl::string_view range,
                              const std::vector<absl::string_view>& rows,
                              absl::string_view around) {
  std::string text = absl::StrCat(
      "kernel @k {\n  launch grid(1,1,1) block(64,1,1)\n"
      "  param %in : global f32[64]\n  alloc %A : shared f32[64, 64]\n"
      "  for %k : serial ",
      range, " {\n    ", around, " {\n");
  for (absl::string_view row : rows) {
    absl::StrAppend(&text, "      %A[", row, ", tid.x] = copy(%in[tid.x])\n");
  }
  absl::StrAppend(&text, "    }\n  }\n}\n");
  const absl::StatusOr<kir::Kernel> kernel = kir::ParseKernel(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  const absl::StatusOr<SmemFlow> flow = SmemFlow::Create(*kernel);
  EXPECT_TRUE(flow.ok()) << flow.status();
  std::vector<int> accesses;
  int loop = -1;
  for (size_t i = 0; i < flow->accesses().size(); ++i) {
    const FlowAccess& access = flow->accesses()[i];
    if (access.buffer != *kernel->FindBuffer("A")) continue;
    accesses.push_back(static_cast<int>(i));
    loop = flow->Parent(flow->Parent(access.node));
  }
  EXPECT_EQ(accesses.size(), rows.size());
  return loop < 0 ? std::vector<int64_t>()
                  : LoopValuesOf(*flow, loop, accesses);
}

size_t Values(int64_t trips, absl::string_view row, absl::string_view around) {
  return ValuesIn(absl::StrCat("[0, ", trips, ")"), {row}, around).size();
}

// Where values repeat, a few iterations tell all, whether the loop is short or
// long; elsewhere all iterations are needed, where they are few.
TEST(LoopValuesTest, IterationsThatRepeat) {
  const char* loop = "for %i : serial [0, 2)";
  EXPECT_EQ(Values(40, "(k+2)%3", loop), 7);
  EXPECT_EQ(Values(32, "(k+2)%3", loop), 7);
  EXPECT_EQ(Values(5, "(k+2)%3", loop), 5);
  EXPECT_EQ(Values(32, "k", loop), 32);
  EXPECT_EQ(Values(40, "k", loop), 0);
  EXPECT_EQ(Values(32, "k%3", "for %i : serial [k, k + 1)"), 32);
  EXPECT_EQ(Values(40, "k%3", "for %i : serial [k, k + 1)"), 0);
  EXPECT_EQ(Values(32, "k%3", "if uniform (k)"), 32);
  EXPECT_EQ(Values(40, "k%3", "if uniform (k)"), 0);
}

// Accesses that repeat together do so after both have; wherever the loop
// begins, but not where it leaves out what they do in between.
TEST(LoopValuesTest, AccessesAndLoopsOfSeveralKinds) {
  const char* loop = "for %i : serial [0, 2)";
  EXPECT_THAT(ValuesIn("[0, 40)", {"k%2", "k%3"}, loop), SizeIs(13));
  EXPECT_THAT(ValuesIn("[0, 40)", {"k%2", "k"}, loop), IsEmpty());
  EXPECT_THAT(ValuesIn("[5, 50)", {"k%2"}, loop), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(ValuesIn("[0, 80) step 2", {"k%3"}, loop), IsEmpty());
  // After 4 iterations k / 2 is 2 more, which 4 does not divide.
  EXPECT_THAT(ValuesIn("[0, 40)", {"k/2%4"}, loop), IsEmpty());
}

}  // namespace
}  // namespace xla::gpu
