#include "xla/backends/gpu/smem/plan/loop_values.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"

namespace xla::gpu {
namespace {

// How many values of a loop over %k tell apart where an array of rows is
// written, in the row, inside of another statement.
size_t Values(int64_t trips, absl::string_view row, absl::string_view around) {
  const absl::StatusOr<kir::Kernel> kernel = kir::ParseKernel(absl::StrCat(
      "kernel @k {\n  launch grid(1,1,1) block(64,1,1)\n"
      "  param %in : global f32[64]\n  alloc %A : shared f32[64, 64]\n"
      "  for %k : serial [0, ",
      trips, ") {\n    ", around, " {\n      %A[", row,
      ", tid.x] = copy(%in[tid.x])\n    }\n  }\n}\n"));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  const absl::StatusOr<SmemFlow> flow = SmemFlow::Create(*kernel);
  EXPECT_TRUE(flow.ok()) << flow.status();
  for (size_t i = 0; i < flow->accesses().size(); ++i) {
    const FlowAccess& access = flow->accesses()[i];
    if (access.buffer != *kernel->FindBuffer("A")) continue;
    const int loop = flow->Parent(flow->Parent(access.node));
    return LoopValuesOf(*flow, loop, {static_cast<int>(i)}).size();
  }
  ADD_FAILURE() << "no access";
  return 0;
}

// Of what repeats, whether the loop is short or long, a few iterations tell
// all; of the rest all of them, where they are few.
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

}  // namespace
}  // namespace xla::gpu
