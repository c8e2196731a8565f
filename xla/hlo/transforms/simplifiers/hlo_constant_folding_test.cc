#include "xla/hlo/transforms/simplifiers/hlo_constant_folding.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(const char* text) {
  return ParseAndReturnUnverifiedModule(text).value();
}

HloOpcode RootAfter(HloConstantFolding&& pass, const char* text) {
  std::unique_ptr<HloModule> module = Parse(text);
  EXPECT_TRUE(pass.Run(module.get()).ok());
  return module->entry_computation()->root_instruction()->opcode();
}

constexpr char kUniform[] = R"(
HloModule m
ENTRY e {
  two = f32[] constant(2)
  b = f32[9] broadcast(two), dimensions={}
  ROOT n = f32[9] negate(b)
})";

TEST(HloConstantFoldingTest, ConstructorsOfOthersLeaveUniformValues) {
  EXPECT_EQ(RootAfter(HloConstantFolding(), kUniform), HloOpcode::kNegate);
  EXPECT_EQ(
      RootAfter(HloConstantFolding(HloConstantFolding::Options()), kUniform),
      HloOpcode::kNegate);
  EXPECT_EQ(
      RootAfter(HloConstantFolding(HloConstantFoldingOptions()), kUniform),
      HloOpcode::kBroadcast);
}

constexpr char kGrowing[] = R"(
HloModule m
ENTRY e {
  a = f32[2] constant({1, 2})
  zero = f32[] constant(0)
  ROOT p = f32[9] pad(a, zero), padding=3_4
})";

constexpr char kBroadcast[] = R"(
HloModule m
ENTRY e {
  a = f32[2] constant({1, 2})
  ROOT b = f32[2,3] broadcast(a), dimensions={0}
})";

constexpr char kFft[] = R"(
HloModule m
ENTRY e {
  a = c64[2] constant({(1, 0), (2, 0)})
  ROOT f = c64[2] fft(a), fft_type=FFT, fft_length={2}
})";

TEST(HloConstantFoldingTest, ConstructorsOfOthersFoldLargeResults) {
  EXPECT_EQ(RootAfter(HloConstantFolding(), kGrowing), HloOpcode::kConstant);
  EXPECT_EQ(
      RootAfter(HloConstantFolding(HloConstantFoldingOptions()), kGrowing),
      HloOpcode::kPad);
  EXPECT_EQ(RootAfter(HloConstantFolding(), kBroadcast), HloOpcode::kBroadcast);
  EXPECT_EQ(
      RootAfter(HloConstantFolding(HloConstantFolding::Level::kAggressive),
                kBroadcast),
      HloOpcode::kConstant);
  EXPECT_EQ(RootAfter(HloConstantFolding(), kFft), HloOpcode::kFft);
  EXPECT_EQ(RootAfter(HloConstantFolding(HloConstantFoldingOptions()), kFft),
            HloOpcode::kConstant);
}

// Also where the evaluator knows what the only call passes.
TEST(HloConstantFoldingTest, ParametersOfCallsStay) {
  std::unique_ptr<HloModule> module = Parse(R"(
HloModule m
pair {
  x = f32[2] parameter(0)
  ROOT t = (f32[2], f32[2]) tuple(x, x)
}
ENTRY e {
  a = f32[2] constant({1, 2})
  ROOT p = (f32[2], f32[2]) call(a), to_apply=pair
})");
  HloConstantFoldingOptions options;
  options.aggressive = true;
  for (HloConstantFolding pass :
       {HloConstantFolding(), HloConstantFolding(options)}) {
    const auto changed = pass.Run(module.get());
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_FALSE(*changed);
  }
}

TEST(HloConstantFoldingTest, LargeWindows) {
  constexpr char kText[] = R"(
HloModule m
add {
  x = bf16[] parameter(0)
  y = bf16[] parameter(1)
  ROOT s = bf16[] add(x, y)
}
ENTRY e {
  one = bf16[] constant(1)
  zero = bf16[] constant(0)
  ones = bf16[160,10,10,64] broadcast(one), dimensions={}
  ROOT r = bf16[160,2,2,64] reduce-window(ones, zero), window={size=1x9x9x1},
    to_apply=add
})";
  EXPECT_EQ(RootAfter(HloConstantFolding(), kText), HloOpcode::kConstant);
}

TEST(HloConstantFoldingTest, ShapesThatMayNotBeConstants) {
  constexpr char kText[] = R"(
HloModule m
ENTRY e {
  a = f32[2] constant({1, 2})
  ROOT c = s64[2] convert(a)
})";
  HloConstantFolding::Options options;
  EXPECT_EQ(RootAfter(HloConstantFolding(options), kText),
            HloOpcode::kConstant);
  options.can_fold_shape = [](const Shape& shape) {
    return shape.element_type() != S64;
  };
  EXPECT_EQ(RootAfter(HloConstantFolding(options), kText), HloOpcode::kConvert);
}

}  // namespace
}  // namespace xla
