#include "xla/hlo/transforms/simplifiers/hlo_cse.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"

namespace xla {
namespace {

// Text has no dynamic constants.
TEST(HloCseTest, DynamicConstantsAreNotStaticOnes) {
  for (const bool is_layout_sensitive : {false, true}) {
    std::unique_ptr<HloModule> module = ParseAndReturnUnverifiedModule(R"(
HloModule m
ENTRY e {
  a = f32[2] constant({1, 2})
  b = f32[2] constant({1, 2})
  ROOT t = (f32[2], f32[2]) tuple(a, b)
})")
                                            .value();
    HloComputation* entry = module->entry_computation();
    HloInstruction* root = entry->root_instruction();
    HloInstruction* replaced = root->mutable_operand(1);
    Literal dynamic = replaced->literal().Clone();
    dynamic.SetDynamicSize(0, 2);
    ASSERT_EQ(dynamic, replaced->literal());
    ASSERT_TRUE(entry
                    ->ReplaceInstructionWithDifferentShape(
                        replaced,
                        entry->AddInstruction(
                            HloInstruction::CreateConstant(std::move(dynamic))))
                    .ok());
    HloCSE cse(is_layout_sensitive);
    EXPECT_FALSE(cse.Run(module.get()).value());
    EXPECT_NE(root->operand(0), root->operand(1));
  }
}

}  // namespace
}  // namespace xla
