#include "xla/backends/gpu/transforms/softmax/row_kernels.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::gpu {
namespace {

// The names of what the only kernel has of its last reduction.
std::string OfLast(absl::string_view lines) {
  const std::unique_ptr<HloModule> module =
      ParseAndReturnUnverifiedModule(absl::StrCat(R"(HloModule m
add { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] add(p, q) }
ENTRY main {
  x = f32[64,128]{1,0} parameter(0)
  y = f32[64,128]{1,0} parameter(1)
  zero = f32[] constant(0))",
                                                  lines, "\n}"))
          .value();
  const std::vector<RowKernel> kernels =
      FindRowKernels(*module->entry_computation());
  EXPECT_EQ(kernels.size(), 1);
  std::string names;
  for (const HloInstruction* instruction : OfLastReduction(kernels.at(0))) {
    absl::StrAppend(&names, names.empty() ? "" : " ", instruction->name());
  }
  return names;
}

// Two reductions, of which the second reads what the first goes back to.
constexpr absl::string_view kFirst = R"(
  m = f32[64]{0} reduce(x, zero), dimensions={1}, to_apply=add
  mb = f32[64,128]{1,0} broadcast(m), dimensions={0})";
constexpr absl::string_view kSecond = R"(
  u = f32[64,128]{1,0} add(y, mb)
  t = f32[64]{0} reduce(u, zero), dimensions={1}, to_apply=add
  tb = f32[64,128]{1,0} broadcast(t), dimensions={0})";

TEST(RowKernelsTest, TakesWhatLeadsToTheLastReductionAlone) {
  EXPECT_EQ(OfLast(absl::StrCat(kFirst, kSecond, R"(
  ROOT d = f32[64,128]{1,0} multiply(x, tb))")),
            "mb u t tb d");
}

TEST(RowKernelsTest, LeavesOutsideWhatIsReadAgain) {
  EXPECT_EQ(OfLast(absl::StrCat(kFirst, kSecond, R"(
  ROOT d = f32[64,128]{1,0} multiply(u, tb))")),
            "t tb d");
}

TEST(RowKernelsTest, NeedsAReductionThatGoesBackAfterAnother) {
  EXPECT_EQ(OfLast(absl::StrCat(kFirst, R"(
  ROOT u = f32[64,128]{1,0} add(y, mb))")),
            "");
  EXPECT_EQ(OfLast(absl::StrCat(kFirst, R"(
  u = f32[64,128]{1,0} add(y, mb)
  ROOT t = f32[64]{0} reduce(u, zero), dimensions={1}, to_apply=add)")),
            "");
}

}  // namespace
}  // namespace xla::gpu
