#include "xla/backends/gpu/model/cost/gpu_hlo_cost_analysis.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::gpu {
namespace {

class GpuHloCostAnalysisTest : public ::testing::Test {
 protected:
  // Visits the entry of a module with the computation `add`.
  void Visit(absl::string_view text, bool each_read = true) {
    auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
        "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1) "
        "ROOT s = f32[] add(a, b) }\n",
        text));
    CHECK_OK(module.status());
    module_ = *std::move(module);
    HloCostAnalysis::Options options;
    options.count_multiple_input_accesses = each_read;
    analysis_ = std::make_unique<GpuHloCostAnalysis>(options);
    CHECK_OK(module_->entry_computation()->Accept(analysis_.get()));
  }

  // The same of a fusion `r` with the parameters x and y.
  void VisitFusion(absl::string_view body, absl::string_view x,
                   absl::string_view y, absl::string_view result,
                   bool each_read = true) {
    Visit(absl::StrCat("f {\n p0 = ", x, " parameter(0)\n p1 = ", y,
                       " parameter(1)\n", body, "\n}\nENTRY e {\n x = ", x,
                       " parameter(0)\n y = ", y, " parameter(1)\n ROOT r = ",
                       result, " fusion(x, y), kind=kLoop, calls=f }"),
          each_read);
  }

  const HloInstruction& Find(absl::string_view name) {
    for (HloComputation* computation : module_->computations()) {
      for (HloInstruction* hlo : computation->instructions()) {
        if (hlo->name() == name) return *hlo;
      }
    }
    LOG(FATAL) << name;
  }

  std::unique_ptr<HloModule> module_;
  std::unique_ptr<GpuHloCostAnalysis> analysis_;
};

TEST_F(GpuHloCostAnalysisTest, ThreeOperationsPerElement) {
  Visit(R"(ENTRY e {
  x = f32[10] parameter(0)
  y = f32[10] add(x, x)
  ROOT r = f32[10] exponential(y) })");
  EXPECT_EQ(analysis_->flop_count(Find("y")), 30);
  EXPECT_EQ(analysis_->transcendental_count(Find("r")), 10);
  EXPECT_EQ(analysis_->flop_count(Find("r")), 30);
}

TEST_F(GpuHloCostAnalysisTest, WhatIsBroadcastIsComputedForEachElement) {
  VisitFusion(
      "a = add(p0, p1) b = add(a, a) c = multiply(b, p1)\n"
      "ROOT w = f32[1000] broadcast(c), dimensions={}",
      "f32[]", "f32[]", "f32[1000]");
  EXPECT_EQ(analysis_->flop_count(Find("r")), 9 * 1000);
  EXPECT_EQ(analysis_->operand_utilization(Find("r"), 0), 1000);
  EXPECT_EQ(analysis_->operand_bytes_accessed(Find("r"), 0), 4000);
}

TEST_F(GpuHloCostAnalysisTest, RepeatedReadsCountOnceIfAskedFor) {
  VisitFusion("ROOT w = f32[1000] broadcast(p0), dimensions={}", "f32[]",
              "f32[]", "f32[1000]", /*each_read=*/false);
  EXPECT_EQ(analysis_->operand_bytes_accessed(Find("r"), 0), 4);
  EXPECT_EQ(analysis_->operand_bytes_accessed(Find("r"), 1), 0);
  EXPECT_EQ(analysis_->bytes_accessed(Find("r")), 4004);
}

TEST_F(GpuHloCostAnalysisTest, ConcatenationsChooseTheirOperands) {
  Visit(R"(ENTRY e {
  x = f32[8,32] parameter(0)
  y = f32[8,5] parameter(1)
  u = f32[16,5] concatenate(y, y), dimensions={0}
  v = f32[8,37] concatenate(x, y), dimensions={1}
  w = f32[8,37] concatenate(y, x), dimensions={1}
  ROOT t = (f32[16,5], f32[8,37], f32[8,37]) tuple(u, v, w) })");
  EXPECT_EQ(analysis_->flop_count(Find("u")), 6 * 80);
  EXPECT_EQ(analysis_->flop_count(Find("v")), 6 * 8 * 37);
  EXPECT_EQ(analysis_->flop_count(Find("w")), 400 * 8 * 37);
  EXPECT_EQ(analysis_->bytes_accessed(Find("u")), 4 * (40 + 40 + 80));
}

TEST_F(GpuHloCostAnalysisTest, Windows) {
  Visit(R"(ENTRY e {
  x = f32[8,8] parameter(0)
  z = f32[] parameter(1)
  ROOT r = f32[6,6] reduce-window(x, z), window={size=3x3}, to_apply=add })");
  EXPECT_EQ(analysis_->flop_count(Find("r")), 3 * 36 * (9 - 1));
}

TEST_F(GpuHloCostAnalysisTest, InitialValuesAreReadForEachResult) {
  Visit(R"(ENTRY e {
  x = f32[32,40] parameter(0)
  z = f32[] parameter(1)
  ROOT r = f32[32] reduce(x, z), dimensions={1}, to_apply=add })");
  const HloInstruction& reduce = Find("r");
  EXPECT_EQ(analysis_->operand_bytes_accessed(reduce, 0), 32 * 40 * 4);
  EXPECT_EQ(analysis_->operand_bytes_accessed(reduce, 1), 32 * 4);
  EXPECT_EQ(analysis_->bytes_accessed(reduce), (32 * 40 + 32 + 32) * 4);
  EXPECT_EQ(analysis_->flop_count(reduce), 32 * 39 * 3);
}

TEST_F(GpuHloCostAnalysisTest, LargeConstantsAreRead) {
  for (int size : {8, 9}) {
    const std::string shape = absl::StrCat("f32[", size, "]");
    const std::string values =
        size == 8 ? "{1,2,3,4,5,6,7,8}" : "{1,2,3,4,5,6,7,8,9}";
    VisitFusion(absl::StrCat("c = ", shape, " constant(", values,
                             ")\nROOT a = ", shape, " add(p0, c)"),
                shape, "f32[]", shape);
    EXPECT_EQ(analysis_->bytes_accessed(Find("r")),
              4 * size * (size == 8 ? 2 : 3));
  }
}

TEST_F(GpuHloCostAnalysisTest, UpdatesInPlaceTouchWhatTheyWrite) {
  VisitFusion(
      "i = s32[] constant(0) ROOT d = f32[100] dynamic-update-slice(p0, p1, "
      "i)",
      "f32[100]", "f32[5]", "f32[100]");
  EXPECT_EQ(analysis_->operand_bytes_accessed(Find("r"), 0), 0);
  EXPECT_EQ(analysis_->operand_bytes_accessed(Find("r"), 1), 20);
  EXPECT_EQ(analysis_->output_bytes_accessed(Find("r")), 20);
  // What is computed before is not in place.
  VisitFusion(
      "i = s32[] constant(0) l = f32[100] log(p0)\n"
      "ROOT d = f32[100] dynamic-update-slice(l, p1, i)",
      "f32[100]", "f32[5]", "f32[100]");
  EXPECT_EQ(analysis_->operand_bytes_accessed(Find("r"), 0), 95 * 4);
}

TEST_F(GpuHloCostAnalysisTest, WorkspacesOfLibrariesCostNothing) {
  Visit(R"(ENTRY e {
  x = f32[16,8] parameter(0)
  y = f32[8,4] parameter(1)
  r = (f32[16,4], s8[1000]) custom-call(x, y), custom_call_target="__cublas$gemm"
  ROOT o = (f32[16,4], s8[1000]) custom-call(x, y), custom_call_target="other" })");
  EXPECT_EQ(analysis_->output_bytes_accessed(Find("r")), 16 * 4 * 4);
  EXPECT_EQ(analysis_->output_bytes_accessed(Find("r"), {0}), 16 * 4 * 4);
  EXPECT_EQ(analysis_->output_bytes_accessed(Find("r"), {1}), 0);
  EXPECT_EQ(analysis_->bytes_accessed(Find("r")),
            4 * (16 * 8 + 8 * 4 + 16 * 4));
  EXPECT_GE(analysis_->output_bytes_accessed(Find("o")), 16 * 4 * 4 + 1000);
}

TEST_F(GpuHloCostAnalysisTest, ConvolutionsOfLibraries) {
  // A window that is not as large as the kernel is not counted one by one.
  for (absl::string_view size : {"2x2", "4x4"}) {
    Visit(absl::StrCat(
        R"(ENTRY e {
  x = f32[2,4,4,3] parameter(0)
  k = f32[2,2,3,5] parameter(1)
  ROOT r = (f32[2,3,3,5], u8[0]) custom-call(x, k), window={size=)",
        size,
        R"(}, dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$convForward" })"));
    EXPECT_EQ(analysis_->flop_count(Find("r")),
              2 * (2 * 3 * 3 * 5) * (2 * 2 * 3))
        << size;
  }
  // Padding is not multiplied; a dimension without a role does not count.
  Visit(R"(ENTRY e {
  x = s8[2,3,4,4,4] parameter(0)
  k = s8[20,3,3,3,4] parameter(1)
  ROOT r = (s8[2,5,4,4,4], u8[0]) custom-call(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, custom_call_target="__cudnn$convForward" })");
  EXPECT_EQ(analysis_->flop_count(Find("r")), 2 * (2 * 5) * 3 * (10 * 10));
  // Gradients.
  Visit(R"(ENTRY e {
  y = f32[2,3,3,5] parameter(0)
  k = f32[2,2,3,5] parameter(1)
  x = f32[2,4,4,3] parameter(2)
  dx = (f32[2,4,4,3], u8[0]) custom-call(y, k), window={size=2x2}, dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$convBackwardInput"
  ROOT dk = (f32[2,2,3,5], u8[0]) custom-call(x, y), window={size=2x2}, dim_labels=b01f_01io->b01f, custom_call_target="__cudnn$convBackwardFilter" })");
  for (const char* gradient : {"dx", "dk"}) {
    EXPECT_EQ(analysis_->flop_count(Find(gradient)),
              2 * (2 * 3 * 3 * 5) * (2 * 2 * 3));
  }
}

TEST_F(GpuHloCostAnalysisTest, EstimatesInConfigs) {
  Visit(R"(ENTRY e {
  x = f32[16] parameter(0)
  ROOT r = f32[16] custom-call(x), custom_call_target="__gpu$xla.gpu.triton", backend_config="{name = \"k\", cost_estimate_json = \"{\\\"flops\\\": 40, \\\"transcendentals\\\": 7, \\\"bytes_accessed\\\": 1.5e3}\"}" })");
  EXPECT_EQ(analysis_->flop_count(Find("r")), 40);
  EXPECT_EQ(analysis_->transcendental_count(Find("r")), 7);
  EXPECT_EQ(analysis_->bytes_accessed(Find("r")), 1500);
}

TEST_F(GpuHloCostAnalysisTest, CodeGrowsWithTheNumberOfPlaces) {
  VisitFusion(
      "e = f32[64,128] exponential(p0)\n"
      "s = f32[64,128] sine(e)\n"
      "v = f32[64,128] reverse(s), dimensions={0}\n"
      "w = f32[64,128] reverse(s), dimensions={1}\n"
      "ROOT d = f32[64,128] divide(v, w)",
      "f32[64,128]", "f32[]", "f32[64,128]");
  const HloInstruction& fusion = Find("r");
  // p0, e and s twice; p1 is not read.
  EXPECT_EQ(analysis_->IrSize(fusion), 2 * 3 + 3);
  EXPECT_EQ(analysis_->IrSize(Find("x")), 1);
  EXPECT_EQ(analysis_->OperandUtilization(fusion, 0), 2);
  EXPECT_EQ(analysis_->flop_count(fusion), 64 * 128 * 3 * (2 * 2 + 1));
  EXPECT_FALSE(analysis_->ProducerConsumerMergedTooLarge(Find("x"), fusion));
}

TEST_F(GpuHloCostAnalysisTest, CodeOfASliceOfASum) {
  Visit(R"(f {
  p = s32[10] parameter(0)
  i = s32[10] iota(), iota_dimension=0
  a = s32[10] add(p, i)
  ROOT s = s32[5] slice(a), slice={[0:5]} }
ENTRY e {
  x = s32[10] parameter(0)
  ROOT r = s32[5] fusion(x), kind=kLoop, calls=f })");
  EXPECT_EQ(analysis_->IrSize(Find("r")), 4);
  EXPECT_EQ(analysis_->flop_count(Find("r")), 3 * 5);
}

// n readers, each at elements of its own, double the code below at each step.
TEST_F(GpuHloCostAnalysisTest, CodeThatDoublesIsBounded) {
  std::string body = "a0 = f32[8,8] add(p0, p0)\n";
  for (int i = 1; i <= 200; ++i) {
    absl::StrAppend(&body, "t", i, " = f32[8,8] transpose(a", i - 1,
                    "), dimensions={1,0}\na", i, " = f32[8,8] add(a", i - 1,
                    ", t", i, ")\n");
  }
  absl::StrAppend(&body, "ROOT n = f32[8,8] negate(a200)");
  VisitFusion(body, "f32[8,8]", "f32[]", "f32[8,8]");
  EXPECT_GT(analysis_->IrSize(Find("r")), 1'000'000'000);
  EXPECT_TRUE(analysis_->ProducerConsumerMergedTooLarge(Find("x"), Find("r")));
}

TEST_F(GpuHloCostAnalysisTest, CommonUses) {
  VisitFusion(
      "a = f32[10] add(p0, p1)\n"
      "n = f32[10] negate(p0)\n"
      "v = f32[10] reverse(n), dimensions={0}\n"
      "ROOT t = (f32[10], f32[10]) tuple(a, v)",
      "f32[10]", "f32[10]", "(f32[10], f32[10])");
  EXPECT_EQ(analysis_->CommonElementwiseUtilization(&Find("p0"), &Find("p1")),
            1);
  EXPECT_EQ(analysis_->CommonElementwiseUtilization(&Find("p0"), &Find("n")),
            1);
  EXPECT_EQ(analysis_->CommonElementwiseUtilization(&Find("p1"), &Find("n")),
            0);
}

TEST_F(GpuHloCostAnalysisTest, BytesOverTheNetwork) {
  Visit(R"(ENTRY e {
    p = f32[1024] parameter(0)
    q = f32[512] parameter(1)
    gather = f32[4096] all-gather(p), dimensions={0}, replica_groups={{0,1,2,3}}
    scatter = f32[256] reduce-scatter(p), dimensions={0}, to_apply=add,
      replica_groups={{0,1,2,3}}
    exchange = f32[1024] all-to-all(p), dimensions={0}, replica_groups={{0,1}}
    start = ((f32[1024], f32[512]), (f32[4096], f32[2048])) all-gather-start(
      p, q), dimensions={0}, replica_groups={{0,1,2,3}}
    done = (f32[4096], f32[2048]) all-gather-done(start)
    wrapped = ((f32[1024]), f32[256]) reduce-scatter-start(p), dimensions={0},
      to_apply=add, replica_groups={{0,1,2,3}}
    unwrapped = f32[256] reduce-scatter-done(wrapped)
    sum = f32[1024] all-reduce(p), to_apply=add, replica_groups={{0,1,2,3}}
    permute = f32[512] collective-permute(q), source_target_pairs={{0,1}}
    ROOT n = f32[512] negate(q)
  })");
  const auto transferred = [&](absl::string_view name) {
    return analysis_->BytesTransferred(Find(name));
  };
  EXPECT_EQ(transferred("gather"), 3 * 4096);
  EXPECT_EQ(transferred("scatter"), 4096 - 1024);
  EXPECT_EQ(transferred("exchange"), 2048);
  EXPECT_EQ(transferred("start"), 3 * (4096 + 2048));
  EXPECT_EQ(transferred("done"), 0);
  EXPECT_EQ(transferred("wrapped"), 4096 - 1024);
  EXPECT_EQ(transferred("unwrapped"), 0);
  EXPECT_EQ(transferred("sum"), 4096);
  EXPECT_EQ(transferred("permute"), 2048);
  EXPECT_EQ(transferred("n"), 0);
}

}  // namespace
}  // namespace xla::gpu
