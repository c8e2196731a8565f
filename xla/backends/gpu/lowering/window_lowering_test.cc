// Convolutions, scatters and select-and-scatters of one thread for an element;
// convolutions as tiles of products.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/backends/gpu/lowering/lowering_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {
namespace {

absl::Status Compare(absl::string_view body) {
  constexpr absl::string_view kCombiners = R"(
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
last { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }
addi { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }
ge { a = f32[] parameter(0) b = f32[] parameter(1)
     ROOT c = pred[] compare(a, b), direction=GE }
both {
  a = f32[] parameter(0)
  x = s32[] parameter(1)
  b = f32[] parameter(2)
  y = s32[] parameter(3)
  c = f32[] subtract(b, a)
  z = s32[] add(x, y)
  ROOT t = (f32[], s32[]) tuple(c, z)
}
)";
  return CompareWithEvaluator(
      absl::StrCat("HloModule m\n", kCombiners, "ENTRY e {\n", body, "\n}"),
      [](const HloInstruction& hlo) {
        LoopLoweringOptions options;
        options.threads_per_block = 32;
        return LowerLoop(hlo, options);
      });
}

TEST(WindowLoweringTest, Convolutions) {
  for (absl::string_view attributes : {
           "x = f32[2,5,6,3] parameter(0)\nk = f32[3,2,3,4] parameter(1)\n"
           "ROOT c = f32[2,3,4,4] convolution(x, k), window={size=3x2 "
           "stride=2x1 pad=1_1x0_0 rhs_dilate=1x2}, "
           "dim_labels=b01f_01io->b01f",
           "x = f32[2,3,5,4] parameter(0)\nk = f32[4,3,3,2] parameter(1)\n"
           "ROOT c = f32[2,4,9,7] convolution(x, k), window={size=3x2 "
           "pad=1_1x0_1 lhs_dilate=2x2 rhs_reversal=1x0}, "
           "dim_labels=bf01_oi01->bf01",
           "x = bf16[2,5,6] parameter(0)\nk = bf16[3,2,9] parameter(1)\n"
           "ROOT c = bf16[2,5,9] convolution(x, k), window={size=3 pad=1_1}, "
           "dim_labels=b0f_0io->b0f, feature_group_count=3",
           "x = f32[4,5,3] parameter(0)\nk = f32[3,3,6] parameter(1)\n"
           "ROOT c = f32[2,3,6] convolution(x, k), window={size=3}, "
           "dim_labels=b0f_0io->b0f, batch_group_count=2",
       }) {
    EXPECT_EQ(Compare(attributes), absl::OkStatus()) << attributes;
  }
}

TEST(WindowLoweringTest, ConvolutionsAreProducts) {
  struct Case {
    absl::string_view body;
    absl::string_view kind = "dot";
  };
  for (const Case& c : {
           // Features are neighbors, with padding and what follows.
           Case{"x = f32[2,5,6,4] parameter(0)\n"
                "k = f32[3,3,4,5] parameter(1)\n"
                "n = f32[2,5,6,4] negate(x)\n"
                "c = f32[2,5,6,5] convolution(n, k), window={size=3x3 "
                "pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
                "ROOT r = f32[2,5,6,5] exponential(c)"},
           // Columns of the image are, with strides and dilated kernels.
           {"x = bf16[2,3,9,8] parameter(0)\nk = bf16[5,3,3,2] parameter(1)\n"
            "ROOT c = bf16[2,5,4,5] convolution(x, k), window={size=3x2 "
            "stride=2x2 pad=0_0x1_2 rhs_dilate=1x2}, "
            "dim_labels=bf01_oi01->bf01"},
           // Gradient of the input: holes in the input, the kernel reversed.
           {"x = f32[2,4,5] parameter(0)\nk = f32[3,6,5] parameter(1)\n"
            "ROOT c = f32[2,7,6] convolution(x, k), window={size=3 pad=1_1 "
            "lhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0oi->b0f"},
           // Gradient of the kernel: batches are contracted.
           {"x = f32[4,9,3] parameter(0)\ny = f32[4,7,5] parameter(1)\n"
            "ROOT c = f32[3,3,5] convolution(x, y), window={size=7}, "
            "dim_labels=f0b_i0o->b0f"},
           {"x = s32[3,4,6] parameter(0)\nk = s32[2,6,7] parameter(1)\n"
            "ROOT c = s32[3,3,7] convolution(x, k), window={size=2}, "
            "dim_labels=b0f_0io->b0f"},
           // Groups of features are no one product.
           {"x = f32[2,6,4] parameter(0)\nk = f32[3,2,4] parameter(1)\n"
            "ROOT c = f32[2,4,4] convolution(x, k), window={size=3}, "
            "dim_labels=b0f_0io->b0f, feature_group_count=2",
            "loop"},
       }) {
    std::string kind;
    EXPECT_EQ(CompareWithEvaluator(
                  absl::StrCat("HloModule m\nENTRY e {\n", c.body, "\n}"),
                  [&](const HloInstruction& hlo) {
                    FusionLoweringOptions options;
                    options.threads_of_tiles = 128;
                    options.min_reduced = 2;
                    absl::StatusOr<LoweredKernel> lowered =
                        LowerFusion(hlo, options);
                    if (lowered.ok())
                      kind = std::string(lowered->parts[0].kind);
                    return lowered;
                  }),
              absl::OkStatus())
        << c.body;
    EXPECT_EQ(kind, c.kind) << c.body;
  }
}

// Forward, and with respect to the input and the filter of one with strides; of
// features in two groups.
TEST(WindowLoweringTest, MatrixUnitsMultiplyConvolutions) {
  for (absl::string_view body : {
           "x = f32[2,5,6,20] parameter(0)\nk = f32[3,3,20,12] parameter(1)\n"
           "ROOT c = f32[2,5,6,12] convolution(x, k), window={size=3x3 "
           "pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
           "x = bf16[2,3,3,12] parameter(0)\nk = bf16[3,3,20,12] parameter(1)\n"
           "ROOT c = bf16[2,5,6,20] convolution(x, k), window={size=3x3 "
           "pad=1_1x1_2 lhs_dilate=2x2 rhs_reversal=1x1}, "
           "dim_labels=b01f_01oi->b01f",
           "x = f32[2,5,6,20] parameter(0)\nk = f32[2,3,3,12] parameter(1)\n"
           "ROOT c = f32[3,3,20,12] convolution(x, k), window={size=3x3 "
           "pad=1_1x1_0 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf",
           "x = f32[4,5,6,12] parameter(0)\nk = f32[2,5,6,16] parameter(1)\n"
           "ROOT c = f32[3,3,12,16] convolution(x, k), window={size=5x6 "
           "pad=1_1x1_1}, dim_labels=f01b_i01o->01bf, feature_group_count=2",
       }) {
    int products = 0;
    EXPECT_EQ(CompareWithEvaluator(
                  absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}"),
                  [&](const HloInstruction& hlo) {
                    FusionLoweringOptions options;
                    options.threads_of_tiles = 128;
                    options.device_threads = 2048;  // one multiprocessor
                    absl::StatusOr<LoweredKernel> lowered =
                        LowerFusion(hlo, options);
                    if (!lowered.ok()) return lowered;
                    kir::ForEachStatement(
                        lowered->kernel.body, [&](const kir::Statement& s) {
                          const auto* expr = s.As<kir::Expr>();
                          products += expr != nullptr && expr->op == "warp_mma";
                        });
                    return lowered;
                  }),
              absl::OkStatus())
        << body;
    EXPECT_GT(products, 0) << body;
  }
}

TEST(WindowLoweringTest, Scatters) {
  for (absl::string_view body : {
           // Indices twice, and out of range.
           "p = f32[5,3] parameter(0)\n"
           "i = s32[6,1] constant({{1}, {4}, {1}, {-1}, {5}, {0}})\n"
           "u = f32[6,3] parameter(1)\n"
           "ROOT s = f32[5,3] scatter(p, i, u), update_window_dims={1}, "
           "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
           "index_vector_dim=1, to_apply=add",
           // The last one wins; windows that stick out are left out.
           "p = f32[6,7] parameter(0)\n"
           "i = s32[2,3] constant({{1, 4, 3}, {2, 3, 6}})\n"
           "u = f32[2,3,3] parameter(1)\n"
           "ROOT s = f32[6,7] scatter(p, i, u), update_window_dims={0,1}, "
           "inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, "
           "index_vector_dim=0, to_apply=last",
           "p = s32[4] parameter(0)\ni = u32[3] constant({2, 4294967295, 2})\n"
           "u = s32[3] parameter(1)\n"
           "ROOT s = s32[4] scatter(p, i, u), update_window_dims={}, "
           "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
           "index_vector_dim=1, to_apply=addi",
           // Batches.
           "p = f32[3,4] parameter(0)\n"
           "i = s32[3,2,1] constant({{{1}, {1}}, {{3}, {4}}, {{0}, {2}}})\n"
           "u = f32[3,2] parameter(1)\n"
           "ROOT s = f32[3,4] scatter(p, i, u), update_window_dims={}, "
           "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
           "input_batching_dims={0}, scatter_indices_batching_dims={0}, "
           "index_vector_dim=2, to_apply=add",
           // Computed updates, several operands.
           "p = f32[4] parameter(0)\nq = s32[4] parameter(1)\n"
           "i = s32[5] constant({3, 1, 3, 7, 1})\n"
           "u = f32[5] parameter(2)\nv = s32[5] parameter(3)\n"
           "n = f32[5] negate(u)\n"
           "ROOT s = (f32[4], s32[4]) scatter(p, q, i, n, v), "
           "update_window_dims={}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
           "to_apply=both",
       }) {
    EXPECT_EQ(Compare(body), absl::OkStatus()) << body;
  }
}

// One update after another: the rows that have a rest by five are a group's,
// since six would be multiples of a row apart.
TEST(WindowLoweringTest, ScattersInGroups) {
  for (absl::string_view apply : {"add", "last"}) {
    for (absl::string_view update : {"copy(u)", "multiply(u, u)"}) {
      bool is_own = false, has_groups = false;
      EXPECT_EQ(
          CompareWithEvaluator(
              absl::StrCat(
                  "HloModule m\nadd { a = f32[] parameter(0) b = f32[] "
                  "parameter(1) ROOT c = f32[] add(a, b) }\nlast { a = f32[] "
                  "parameter(0) ROOT b = f32[] parameter(1) }\nENTRY e {\n"
                  "p = f32[400000,3] parameter(0)\nu = f32[100,3] "
                  "parameter(1)\nj = s32[100,1] iota(), iota_dimension=0\n"
                  "k = s32[100,1] multiply(j, j)\nm = s32[] constant(13)\n"
                  "n = s32[100,1] broadcast(m), dimensions={}\n"
                  "i = s32[100,1] remainder(k, n)\nv = f32[100,3] ",
                  update,
                  "\nROOT s = f32[400000,3] scatter(p, i, v), "
                  "update_window_dims={1}, inserted_window_dims={0}, "
                  "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                  "to_apply=",
                  apply, "\n}"),
              [&](const HloInstruction& hlo) {
                absl::StatusOr<LoweredKernel> lowered = LowerFusion(hlo);
                if (!lowered.ok()) return lowered;
                is_own = lowered->kernel.FindOption("own").has_value();
                kir::ForEachStatement(
                    lowered->kernel.body, [&](const kir::Statement& s) {
                      const auto* expr = s.As<kir::Expr>();
                      has_groups |=
                          expr != nullptr && expr->op == "copy" &&
                          expr->arguments[0] == kir::Argument(AffineExpr(5));
                    });
                return lowered;
              }),
          absl::OkStatus())
          << apply << update;
      EXPECT_TRUE(is_own) << apply << update;
      EXPECT_TRUE(has_groups) << apply << update;
    }
  }
}

// Blocks read the updates together: more than they keep at a time, of windows
// of one element, of several that are no power of two, of more than a block
// has, across rows and along them, and of several dimensions.
TEST(WindowLoweringTest, ScattersByBlocks) {
  struct Case {
    absl::string_view type, array, indices, updates, attributes, apply;
  };
  for (const Case& c : {
           Case{"f32", "[37,5]", "[300,1]", "[300,5]",
                "update_window_dims={1}, inserted_window_dims={0}, "
                "scatter_dims_to_operand_dims={0}, index_vector_dim=1",
                "add"},
           {"f32", "[300]", "[1100,1]", "[1100]",
            "update_window_dims={}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1",
            "last"},
           {"f32", "[45,9]", "[100,1]", "[45,100]",
            "update_window_dims={0}, inserted_window_dims={1}, "
            "scatter_dims_to_operand_dims={1}, index_vector_dim=1",
            "add"},
           {"bf16", "[7,3,4]", "[13,2,5]", "[13,5,1,4]",
            "update_window_dims={2,3}, inserted_window_dims={1}, "
            "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1",
            "add"},
           {"f64", "[3,2]{0,1}", "[64]", "[64,2]",
            "update_window_dims={1}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1",
            "add"},
       }) {
    bool is_shared = false;
    EXPECT_EQ(
        CompareWithEvaluator(
            absl::Substitute(
                R"(HloModule m
add { a = $0[] parameter(0) b = $0[] parameter(1) ROOT c = $0[] add(a, b) }
last { a = $0[] parameter(0) ROOT b = $0[] parameter(1) }
ENTRY e {
  p = $0$1 parameter(0)
  u = $0$3 parameter(1)
  v = $0$3 multiply(u, u)
  j = s32$2 iota(), iota_dimension=0
  k = s32$2 multiply(j, j)
  m = s32[] constant(11)
  n = s32$2 broadcast(m), dimensions={}
  l = s32$2 remainder(k, n)
  o = s32[] constant(1)
  q = s32$2 broadcast(o), dimensions={}
  i = s32$2 subtract(l, q)
  ROOT s = $0$1 scatter(p, i, v), $4, to_apply=$5
})",
                c.type, c.array, c.indices, c.updates, c.attributes, c.apply),
            [&](const HloInstruction& hlo) {
              absl::StatusOr<LoweredKernel> lowered = LowerFusion(hlo);
              if (!lowered.ok()) return lowered;
              for (const kir::Buffer& buffer : lowered->kernel.buffers) {
                is_shared |= buffer.memory == kir::Memory::kShared;
              }
              return lowered;
            }),
        absl::OkStatus())
        << c.updates;
    EXPECT_TRUE(is_shared) << c.updates;
  }
}

TEST(WindowLoweringTest, ScattersOfNothing) {
  EXPECT_EQ(CompareWithEvaluator(
                "HloModule m\nadd { a = f32[] parameter(0) b = f32[] "
                "parameter(1) ROOT c = f32[] add(a, b) }\nENTRY e {\n"
                "p = f32[1048576] parameter(0)\nu = f32[0] parameter(1)\n"
                "i = s32[0,1] parameter(2)\n"
                "ROOT s = f32[1048576] scatter(p, i, u), "
                "update_window_dims={}, inserted_window_dims={0}, "
                "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                "to_apply=add\n}",
                [](const HloInstruction& hlo) { return LowerFusion(hlo); }),
            absl::OkStatus());
}

TEST(WindowLoweringTest, SelectAndScatters) {
  for (absl::string_view body : {
           "p = f32[6,8] parameter(0)\nu = f32[3,4] parameter(1)\n"
           "z = f32[] constant(0)\n"
           "ROOT s = f32[6,8] select-and-scatter(p, u, z), window={size=2x2 "
           "stride=2x2}, select=ge, scatter=add",
           // Windows overlap, and reach into the padding.
           "p = f32[5,6] parameter(0)\nu = f32[3,6] parameter(1)\n"
           "z = f32[] constant(1)\n"
           "ROOT s = f32[5,6] select-and-scatter(p, u, z), window={size=3x3 "
           "stride=2x1 pad=1_1x1_1}, select=ge, scatter=add",
       }) {
    EXPECT_EQ(Compare(body), absl::OkStatus()) << body;
  }
}

}  // namespace
}  // namespace xla::gpu
