// What limits fusions: shared memory, reductions, parameters, and how far loops
// are unrolled.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/model/fusion_test_util.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {
namespace gpu {
namespace {

TEST(GpuFusibleLimitsTest, Budgets) {
  // Row and column reductions of one value, and a transpose.
  std::unique_ptr<HloModule> module = Parse(R"(
f1 { p = f32[64,64] parameter(0) z = f32[] parameter(1)
  a = f32[64] reduce(p, z), dimensions={0}, to_apply=sum
  b = f32[64] reduce(p, z), dimensions={0}, to_apply=sum
  ROOT u = (f32[64], f32[64]) tuple(a, b) }
ENTRY e { p = f32[64,64] parameter(0) z = f32[] parameter(1)
  row = f32[64] reduce(p, z), dimensions={1}, to_apply=sum
  column = f32[64] reduce(p, z), dimensions={0}, to_apply=sum
  loop = f32[64,24] broadcast(row), dimensions={0}
  nested = f32[64] reduce(loop, z), dimensions={1}, to_apply=sum
  t = f32[64,64] transpose(p), dimensions={1,0}
  f = (f32[64], f32[64]) fusion(p, z), kind=kInput, calls=f1
  ROOT r = (f32[64], f32[64]) tuple(row, column) })");
  FusionInfoCache cache(Device());
  const int64_t column_bytes = 32 * (4 * 32 + 1) * 4;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cache.GetSharedMemoryUsage(Find(*module, "row")), 32 * 4);
    EXPECT_EQ(cache.GetSharedMemoryUsage(Find(*module, "column")),
              column_bytes);
    EXPECT_EQ(cache.GetSharedMemoryUsage(Find(*module, "nested")), 0);
    EXPECT_EQ(cache.GetSharedMemoryUsage(Find(*module, "t")), 32 * 33 * 4);
    EXPECT_EQ(cache.GetSharedMemoryUsage(Find(*module, "f")), 2 * column_bytes);
    EXPECT_EQ(cache.GetNumUnnestedReductions(Find(*module, "f")), 2);
    EXPECT_EQ(cache.GetNumUnnestedReductions(Find(*module, "nested")), 0);
    cache.Invalidate(&Find(*module, "f"));
  }
  EXPECT_TRUE(FusionFitsInBudget(Find(*module, "row"), Find(*module, "f"),
                                 Device(), false, &cache));
  EXPECT_EQ(FusionFitsInBudget(Find(*module, "column"), Find(*module, "f"),
                               Device(), false, &cache)
                .Explain(),
            "shared memory 49,536 > 49,152 B");
}

// `count` reductions, each in an output of a fusion, or additions of as many
// parameters.
std::unique_ptr<HloModule> Reductions(int64_t count) {
  std::string body, outputs, shape;
  for (int64_t i = 0; i < count; ++i) {
    absl::StrAppend(&body, "r", i,
                    " = f32[64] reduce(p, z), dimensions={1}, to_apply=sum ");
    absl::StrAppend(&outputs, i > 0 ? ", " : "", "r", i);
    absl::StrAppend(&shape, i > 0 ? ", " : "", "f32[64]");
  }
  return Parse(absl::StrCat(
      "f1 { p = f32[64,64] parameter(0) z = f32[] parameter(1) ", body,
      "ROOT t = (", shape, ") tuple(", outputs,
      ") }\nENTRY e { p = f32[64,64] parameter(0) z = f32[] parameter(1)",
      "  o = f32[64] reduce(p, z), dimensions={1}, to_apply=sum",
      "  ROOT f = (", shape, ") fusion(p, z), kind=kInput, calls=f1 }"));
}

TEST(GpuFusibleLimitsTest, ReductionBudget) {
  std::unique_ptr<HloModule> seven = Reductions(7);
  EXPECT_TRUE(
      FusionFitsInBudget(Root(*seven), Find(*seven, "o"), Device(), false));
  std::unique_ptr<HloModule> eight = Reductions(8);
  EXPECT_EQ(FusionFitsInBudget(Root(*eight), Find(*eight, "o"), Device(), false)
                .Explain(),
            "9 unnested reductions > 8");
}

TEST(GpuFusibleLimitsTest, ParameterBudget) {
  // A concatenate of `count` parameters into another one of as many.
  auto module = [](int64_t count) {
    std::string text = "ENTRY e { q = f32[1] parameter(0) ", operands;
    for (int64_t i = 1; i <= count; ++i) {
      absl::StrAppend(&text, "p", i, " = f32[1] parameter(", i, ") ");
      absl::StrAppend(&operands, ", p", i);
    }
    return Parse(absl::StrCat(text, "a = f32[", count + 1, "] concatenate(q",
                              operands, "), dimensions={0} ROOT b = f32[",
                              2 * count + 1, "] concatenate(a", operands,
                              "), dimensions={0} }"));
  };
  // 94 operands and 2 outputs.
  std::unique_ptr<HloModule> fits = module(93);
  EXPECT_TRUE(FusionFitsInParameterLimit(Root(*fits), Find(*fits, "a")));
  std::unique_ptr<HloModule> large = module(94);
  EXPECT_EQ(
      FusionFitsInParameterLimit(Root(*large), Find(*large, "a")).Explain(),
      "operands and outputs 97 > 96");
  // The consumer has no more operands than before.
  EXPECT_TRUE(FusionFitsInParameterLimit(Root(*large), Find(*large, "a"),
                                         /*is_consumer_producer_fusion=*/true));
}

TEST(GpuFusibleLimitsTest, UnrollConfigs) {
  struct UnrollCase {
    const char* parameters;
    const char* body;
    int expected;
    // On a device of compute capability 10.
    int on_blackwell;
  };
  const UnrollCase cases[] = {
      {"p = f32[1024,1024]", "ROOT r = f32[1024,1024] abs(p)", 4, 4},
      {"p = s4[2048,2048]", "ROOT r = s4[2048,2048] negate(p)", 4, 16},
      // Read in another order.
      {"p = f16[1024,1024]",
       "t = f16[1024,1024] transpose(p), dimensions={1,0} ROOT r = "
       "f16[1024,1024] reverse(t), dimensions={0}",
       4, 8},
      // Less than the device runs threads.
      {"p = f32[1024]", "ROOT r = f32[1024] abs(p)", 1, 1},
      {"p = f32[2000003]", "ROOT r = f32[2000003] abs(p)", 1, 1},
      {"p = f32[2000002]", "ROOT r = f32[2000002] abs(p)", 2, 2},
      {"p = bf16[1024,1024]", "ROOT r = bf16[1024,1024] abs(p)", 4, 8},
      {"p = s8[1024,1024]", "ROOT r = s8[1024,1024] abs(p)", 4, 16},
      {"p = s8[1024,1024]", "ROOT r = f32[1024,1024] convert(p)", 4, 4},
      {"p = s8[1024,1024]; z = s8[]",
       "ROOT r = s8[1024,1032] pad(p, z), padding=0_0x0_8", 4, 8},
      // Short rows after a transpose.
      {"p = s8[4,1024,512]",
       "ROOT r = s8[1024,512,4] transpose(p), dimensions={1,2,0}", 4, 4},
      // Two outputs, a reduction.
      {"p = bf16[1024,1024]",
       "a = bf16[1024,1024] abs(p) ROOT t = (bf16[1024,1024], "
       "bf16[1024,1024]) tuple(a, p)",
       4, 4},
      {"p = f32[1024,1024,24]; z = f32[]",
       "ROOT r = f32[1024,1024] reduce(p, z), dimensions={2}, to_apply=sum", 4,
       4},
      // Long in itself.
      {"p = f32[1024,1032]; z = f32[]",
       "ROOT r = f32[1024,1024] reduce-window(p, z), window={size=1x9},"
       " to_apply=sum",
       1, 1},
      {"p = f32[1024,1031]; z = f32[]",
       "ROOT r = f32[1024,1024] reduce-window(p, z), window={size=1x8},"
       " to_apply=sum",
       4, 4},
      {"p = f32[1024,1024]",
       "ROOT r = f32[1024,11264] concatenate(p, p, p, p, p, p, p, p, p, p, p),"
       " dimensions={1}",
       1, 1},
      {"p = f32[1024,1024]",
       "ROOT r = f32[1024,10240] concatenate(p, p, p, p, p, p, p, p, p, p),"
       " dimensions={1}",
       4, 4},
      {"p = f32[2048,2048]",
       "ROOT r = f32[2048,2048] dot(p, p), lhs_contracting_dims={1},"
       " rhs_contracting_dims={0}",
       1, 1},
      // A thread writes at least a byte.
      {"p = s8[1024]", "ROOT r = s4[1024] convert(p)", 2, 2},
  };
  se::DeviceDescription blackwell = Device();
  blackwell.set_cuda_compute_capability({10, 0});
  for (const UnrollCase& c : cases) {
    std::unique_ptr<HloModule> module = Parse(Fusion(c.parameters, c.body));
    EXPECT_EQ(ComputeLoopFusionConfig(
                  HloFusionAnalysis::Create(Root(*module), Device())),
              c.expected)
        << c.body;
    EXPECT_EQ(ComputeLoopFusionConfig(
                  HloFusionAnalysis::Create(Root(*module), blackwell)),
              c.on_blackwell)
        << c.body;
  }
  EXPECT_EQ(MaxUnrollFactor(), 4);
  blackwell.set_compile_time_toolkit_version(se::SemanticVersion(12, 9, 0));
  std::unique_ptr<HloModule> module =
      Parse(Fusion("p = s8[1024,1024]", "ROOT r = s8[1024,1024] abs(p)"));
  EXPECT_EQ(ComputeLoopFusionConfig(
                HloFusionAnalysis::Create(Root(*module), blackwell)),
            32);
  module->mutable_config()
      .mutable_debug_options()
      .set_xla_gpu_experimental_max_unroll_factor(2);
  EXPECT_EQ(ComputeLoopFusionConfig(
                HloFusionAnalysis::Create(Root(*module), blackwell)),
            2);
}

}  // namespace
}  // namespace gpu
}  // namespace xla
