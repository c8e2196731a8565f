// Which products are computed by matrix units, and how exactly.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/backends/gpu/lowering/lowering_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {
namespace {

// Products by units in a kernel, and those that are never of TF32.
struct Units {
  int products = 0, exact = 0;
};

Units Compare(int64_t multiprocessors, absl::string_view text) {
  Units units;
  EXPECT_EQ(CompareWithEvaluator(
                text,
                [&](const HloInstruction& hlo) {
                  FusionLoweringOptions options;
                  options.threads_of_tiles = 128;
                  options.min_reduced = 2;
                  options.device_threads = 2048 * multiprocessors;
                  absl::StatusOr<LoweredKernel> lowered =
                      LowerFusion(hlo, options);
                  if (!lowered.ok()) return lowered;
                  EXPECT_EQ(lowered->parts[0].kind, "dot") << text;
                  kir::ForEachStatement(
                      lowered->kernel.body, [&](const kir::Statement& s) {
                        const auto* expr = s.As<kir::Expr>();
                        if (expr == nullptr || expr->op != "warp_mma") return;
                        ++units.products;
                        units.exact += expr->arguments.size() == 3;
                      });
                  return lowered;
                }),
            absl::OkStatus())
      << text;
  return units;
}

// Units would multiply mostly zeros where a sum has less than a step, however
// long the one beside it is.
TEST(MatrixLoweringTest, ShortSumsBesideLongOnes) {
  for (int depth : {5, 16}) {
    const Units units = Compare(1, absl::Substitute(R"(
HloModule m
ENTRY e {
  x = f32[33,$0] parameter(0)
  y = f32[$0,18] parameter(1)
  z = f32[33,65] parameter(2)
  w = f32[65,18] parameter(3)
  d = f32[33,18] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[33,18] dot(z, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT a = f32[33,18] add(d, e)
})",
                                                    depth));
    EXPECT_EQ(units.products > 0, depth == 16) << depth;
  }
}

// One block is enough for numbers of 16 bits; for f32 only where it keeps half
// of the multiprocessors busy.
TEST(MatrixLoweringTest, FewBlocks) {
  for (int64_t multiprocessors : {2, 4}) {
    for (absl::string_view type : {"f32", "bf16", "f16"}) {
      const Units units = Compare(multiprocessors, absl::Substitute(R"(
HloModule m
ENTRY e {
  x = $0[32,32] parameter(0)
  y = $0[32,16] parameter(1)
  ROOT d = f32[32,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
                                                                    type));
      EXPECT_EQ(units.products > 0, multiprocessors == 2 || type != "f32")
          << type << " " << multiprocessors;
    }
  }
}

TEST(MatrixLoweringTest, PrecisionOfF32) {
  struct Case {
    absl::string_view precision;
    bool exact;
  };
  for (const Case& c : {Case{"", false},
                        {", operand_precision={default,default}", false},
                        {", operand_precision={highest,highest}", true},
                        {", operand_precision={default,high}", true},
                        {", algorithm=dot_tf32_tf32_f32", false},
                        {", algorithm=dot_tf32_tf32_f32_x3", true},
                        {", algorithm=dot_bf16_bf16_f32_x3", true},
                        {", algorithm=dot_bf16_bf16_f32_x6", true},
                        {", algorithm=dot_bf16_bf16_f32_x9", true},
                        {", algorithm=dot_f32_f32_f32", true}}) {
    const Units units = Compare(1, absl::StrCat(R"(
HloModule m
ENTRY e {
  x = f32[16,20] parameter(0)
  y = f32[20,18] parameter(1)
  ROOT d = f32[16,18] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0})",
                                                c.precision, "\n}"));
    EXPECT_GT(units.products, 0) << c.precision;
    EXPECT_EQ(units.exact, c.exact ? units.products : 0) << c.precision;
  }
}

}  // namespace
}  // namespace xla::gpu
