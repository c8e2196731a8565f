#include "xla/backends/gpu/fusion/adopt_computations.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/log/check.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::gpu {
namespace {

constexpr char kModule[] = R"(
HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }, is_scheduled=true
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[8] parameter(0)
  zero = f32[] constant(0)
  n = f32[8] negate(x)
  r = f32[] reduce(n, zero), dimensions={0}, to_apply=add
  ROOT t = (f32[8], f32[]) tuple(n, r)
})";

TEST(AdoptComputationsTest, ModuleBecomesTheCopy) {
  auto parsed = ParseAndReturnUnverifiedModule(kModule);
  CHECK_OK(parsed.status());
  HloModule* module = parsed->get();
  std::unique_ptr<HloModule> copy = module->Clone("");
  copy->clear_schedule();
  HloInstruction* negate = copy->entry_computation()->root_instruction();
  negate = negate->mutable_operand(0);
  HloInstruction* fusion =
      copy->entry_computation()->AddInstruction(HloInstruction::CreateFusion(
          negate->shape(), HloInstruction::FusionKind::kLoop, negate));
  CHECK_OK(negate->ReplaceAllUsesWith(fusion));
  CHECK_OK(copy->entry_computation()->RemoveInstruction(negate));
  const std::string wanted = copy->ToString();

  CHECK_OK(AdoptComputations(copy.get(), module));

  EXPECT_EQ(module->ToString(), wanted);
  EXPECT_EQ(module->entry_computation()->root_instruction()->operand(0),
            fusion);
  EXPECT_EQ(fusion->GetModule(), module);
  EXPECT_EQ(module->computation_count(), 3);
  EXPECT_EQ(copy->computation_count(), 0);
  EXPECT_FALSE(module->has_schedule());
  EXPECT_TRUE(
      module->input_output_alias_config().ParameterHasAlias(0, ShapeIndex({})));
  EXPECT_TRUE(
      module->CheckUniqueNamesAndIdsForComputationsAndInstructions().ok());
  // Later names stay clear of what came along.
  HloInstruction* added = module->entry_computation()->AddInstruction(
      HloInstruction::CreateUnary(fusion->shape(), HloOpcode::kNegate, fusion));
  EXPECT_NE(added->name(), "n");
}

}  // namespace
}  // namespace xla::gpu
