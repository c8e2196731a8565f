// What text tests cannot say: kinds of kernels, devices that there are not, and
// modules that are too long.

#include "xla/backends/gpu/transforms/priority_fusion/priority_fusion.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;
using EmitterKind = HloFusionAnalysis::EmitterFusionKind;

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  return *std::move(module);
}

DeviceDescription Device(absl::string_view name) {
  auto device = LoadGpuDevice(name);
  CHECK_OK(device.status());
  return *std::move(device);
}

// Fuses with the constructor that other compilers' tests use.
void Fuse(const DeviceDescription& device, HloModule* module) {
  PriorityFusion fusion(/*thread_pool=*/nullptr, device, /*alias_info=*/nullptr,
                        GpuHloCostAnalysis::Options(),
                        /*mlir_context=*/nullptr);
  auto changed = fusion.Run(module);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
}

int64_t CountKind(const HloModule& module, const DeviceDescription& device,
                  EmitterKind kind) {
  int64_t count = 0;
  for (const HloInstruction* inst :
       module.entry_computation()->instructions()) {
    const bool is_kernel = inst->opcode() == HloOpcode::kFusion ||
                           inst->opcode() == HloOpcode::kReduce ||
                           inst->opcode() == HloOpcode::kTranspose;
    count +=
        is_kernel &&
        HloFusionAnalysis::Create(*inst, device).emitter_fusion_kind() == kind;
  }
  return count;
}

// The constructor that other compilers call leaves dots and convolutions to
// libraries.
TEST(PriorityFusionTest, ConstructorOfOthersKeepsDotsAndConvolutions) {
  constexpr absl::string_view kText = R"(
HloModule m
ENTRY e {
  x = f32[64,1]{1,0} parameter(0)
  y = f32[1,32]{1,0} parameter(1)
  v = f32[8,64,56,56]{3,2,1,0} parameter(2)
  w = f32[64,1,3,3]{3,2,1,0} parameter(3)
  d = f32[64,32]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[64,32]{1,0} abs(d)
  b = f32[64,32]{1,0} negate(a)
  m = f32[8,64,56,56]{3,2,1,0} negate(v)
  c = f32[8,64,56,56]{3,2,1,0} convolution(m, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=64
  ROOT t = (f32[64,32]{1,0}, f32[8,64,56,56]{3,2,1,0}) tuple(b, c)
})";
  const auto has = [](const HloModule& module, absl::string_view name) {
    return module.entry_computation()->GetInstructionWithName(name)->opcode() !=
           HloOpcode::kFusion;
  };
  std::unique_ptr<HloModule> module = Parse(kText);
  Fuse(Device("h200"), module.get());
  EXPECT_TRUE(has(*module, "d"));
  EXPECT_TRUE(has(*module, "c"));
}

// A dot alone becomes a loop; a kernel alone stays what it is.
TEST(PriorityFusionTest, SaysWhetherItChangedTheModule) {
  const auto changed = [](absl::string_view lines) {
    std::unique_ptr<HloModule> module =
        Parse(absl::StrCat("HloModule m\nENTRY e {\n", lines, "\n}"));
    auto result = PriorityFusion(Device("h200")).Run(module.get());
    CHECK_OK(result.status());
    EXPECT_EQ(*result,
              module->entry_computation()->root_instruction()->opcode() ==
                  HloOpcode::kFusion);
    return *result;
  };
  EXPECT_TRUE(changed(R"(
  x = f32[64,1]{1,0} parameter(0)
  y = f32[1,32]{1,0} parameter(1)
  ROOT d = f32[64,32]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0})"));
  EXPECT_FALSE(changed(R"(
  x = f32[64,32]{1,0} parameter(0)
  ROOT n = f32[64,32]{1,0} negate(x))"));
}

// Attention: the scores come transposed, for the softmax and to be kept, and
// the weights leave transposed, kept, rounded and thinned out. Each transpose
// keeps its tiles, in each of the kernels that compute it, and each reduction
// its threads; the weights are computed where they are read.
TEST(PriorityFusionTest, KindsOfAttention) {
  std::unique_ptr<HloModule> module = Parse(R"(
HloModule attention
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  q = f32[1,12,2048,2048]{3,2,1,0} parameter(0)
  mask = f32[1,12,2048,2048]{3,2,1,0} parameter(1)
  keep = pred[1,12,2048,2048]{3,2,1,0} parameter(2)
  i = f32[] constant(-inf)
  z = f32[] constant(0)
  t = f32[1,12,2048,2048]{3,2,1,0} transpose(q), dimensions={0,1,3,2}
  k = bf16[1,12,2048,2048]{3,2,1,0} convert(t)
  a = f32[1,12,2048,2048]{3,2,1,0} add(t, mask)
  m = f32[1,12,2048]{2,1,0} reduce(a, i), dimensions={3}, to_apply=max
  mb = f32[1,12,2048,2048]{3,2,1,0} broadcast(m), dimensions={0,1,2}
  s = f32[1,12,2048,2048]{3,2,1,0} subtract(a, mb)
  x = f32[1,12,2048,2048]{3,2,1,0} exponential(s)
  r = f32[1,12,2048]{2,1,0} reduce(x, z), dimensions={3}, to_apply=add
  rb = f32[1,12,2048,2048]{3,2,1,0} broadcast(r), dimensions={0,1,2}
  w = f32[1,12,2048,2048]{3,2,1,0} divide(x, rb)
  u = f32[1,12,2048,2048]{3,2,1,0} transpose(w), dimensions={0,1,3,2}
  h = bf16[1,12,2048,2048]{3,2,1,0} convert(w)
  zb = f32[1,12,2048,2048]{3,2,1,0} broadcast(z), dimensions={}
  d = f32[1,12,2048,2048]{3,2,1,0} select(keep, w, zb)
  l = f32[1,12,2048,2048]{3,2,1,0} log(w)
  ROOT o = (bf16[1,12,2048,2048]{3,2,1,0}, f32[1,12,2048,2048]{3,2,1,0},
            bf16[1,12,2048,2048]{3,2,1,0}, f32[1,12,2048,2048]{3,2,1,0},
            f32[1,12,2048,2048]{3,2,1,0}) tuple(k, u, h, d, l)
})");
  const DeviceDescription device = Device("a6000");
  Fuse(device, module.get());
  const std::string text = module->ToString();
  EXPECT_EQ(CountKind(*module, device, EmitterKind::kReduction), 2) << text;
  EXPECT_EQ(CountKind(*module, device, EmitterKind::kTranspose), 3) << text;
  EXPECT_EQ(CountKind(*module, device, EmitterKind::kLoop), 3) << text;
}

// A reduction is repeated for two readers where memory is fast enough that
// reading its operand again takes less time than a launch.
TEST(PriorityFusionTest, BandwidthDecidesWhatIsRepeated) {
  for (const auto& [bandwidth, fusions] :
       std::vector<std::pair<int64_t, int64_t>>{{3'890'000'000'000, 1},
                                                {38'900'000'000'000, 2}}) {
    std::unique_ptr<HloModule> module = Parse(R"(
HloModule repeated
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  p = bf16[4096,2048]{1,0} parameter(0)
  z = f32[] constant(0)
  c = f32[4096,2048]{1,0} convert(p)
  r = f32[4096]{0} reduce(c, z), dimensions={1}, to_apply=add
  x = f32[4096]{0} exponential(r)
  n = f32[4096]{0} negate(r)
  ROOT t = (f32[4096]{0}, f32[4096]{0}) tuple(x, n)
})");
    DeviceDescription device = Device("h100");
    device.set_memory_bandwidth(bandwidth);
    Fuse(device, module.get());
    int64_t count = 0;
    for (const HloInstruction* inst :
         module->entry_computation()->instructions()) {
      count += inst->opcode() == HloOpcode::kFusion;
    }
    EXPECT_EQ(count, fusions) << bandwidth << module->ToString();
  }
}

// A sum of 97 scalars: no kernel has more than 96 arguments.
TEST(PriorityFusionTest, ArgumentsAreLimited) {
  constexpr int kParameters = 97;
  std::string text = "HloModule sum\nENTRY e {\n";
  for (int i = 0; i < kParameters; ++i) {
    absl::StrAppend(&text, "p", i, " = f32[] parameter(", i, ")\n");
  }
  for (int i = 1; i < kParameters; ++i) {
    absl::StrAppend(&text, i + 1 == kParameters ? "ROOT " : "", "a", i,
                    " = f32[] add(", i == 1 ? "p0" : absl::StrCat("a", i - 1),
                    ", p", i, ")\n");
  }
  for (bool heroless : {false, true}) {
    std::unique_ptr<HloModule> module = Parse(absl::StrCat(text, "}"));
    PriorityFusionOptions options;
    options.device = "a6000";
    options.triton_heroless = heroless;
    auto changed = PriorityFusion(options).Run(module.get());
    ASSERT_TRUE(changed.ok()) << changed.status();
    const HloInstruction* root =
        module->entry_computation()->root_instruction();
    EXPECT_EQ(root->opcode(), HloOpcode::kFusion);
    EXPECT_EQ(root->IsCustomFusion(), heroless);
    EXPECT_LE(root->operand_count(), 96);
    EXPECT_GT(root->operand_count(), 48);
  }
}

}  // namespace
}  // namespace xla::gpu
