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
