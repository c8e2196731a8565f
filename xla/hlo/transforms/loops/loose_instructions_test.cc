#include "xla/hlo/transforms/loops/loose_instructions.h"

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::remat_plan {
namespace {

// Opcodes of what a fusion contains, without parameters, sorted as computed.
std::string Inside(const HloInstruction& fusion) {
  std::string opcodes;
  for (const HloInstruction* inst :
       fusion.fused_instructions_computation()->MakeInstructionPostOrder()) {
    if (inst->opcode() == HloOpcode::kParameter) continue;
    opcodes += std::string(HloOpcodeString(inst->opcode())) + " ";
  }
  return opcodes;
}

const HloInstruction* Operand(const HloModule& module, int64_t i) {
  return module.entry_computation()->root_instruction()->operand(i);
}

TEST(LooseInstructionsTest, UpdatesTakeInWhatIsTheirs) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
ENTRY e {
  stack = f32[8,64] parameter(0)
  more = f32[8,64] parameter(1)
  h = f32[64] parameter(2)
  n = s32[] parameter(3)
  zero = s32[] constant(0)
  eight = s32[] constant(8)
  low = pred[] compare(n, zero), direction=LT
  up = s32[] add(n, eight)
  i = s32[] select(low, up, n)
  a = f32[64] sine(h)
  row = f32[1,64] bitcast(a)
  read = f32[1,64] dynamic-slice(more, i, zero), dynamic_slice_sizes={1,64}
  u = f32[8,64] dynamic-update-slice(stack, row, i, zero)
  v = f32[8,64] dynamic-update-slice(more, read, i, zero)
  kept = f32[64] copy(h)
  ROOT t = (f32[8,64], f32[8,64], f32[64]) tuple(u, v, kept)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto changed = FuseLooseInstructions(module->get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
  EXPECT_TRUE((*module)->schedule().Verify().ok());
  const HloInstruction* u = Operand(**module, 0);
  const HloInstruction* v = Operand(**module, 1);
  ASSERT_EQ(u->opcode(), HloOpcode::kFusion);
  ASSERT_EQ(v->opcode(), HloOpcode::kFusion);
  const std::string of_u = Inside(*u), of_v = Inside(*v);
  for (absl::string_view opcode : {"sine", "bitcast", "select", "compare"}) {
    EXPECT_NE(of_u.find(std::string(opcode)), std::string::npos) << of_u;
  }
  // A read of a slice is a kernel of its own, and each has its index.
  EXPECT_EQ(of_v.find("dynamic-slice "), std::string::npos) << of_v;
  EXPECT_NE(of_v.find("select"), std::string::npos) << of_v;
  EXPECT_EQ(Operand(**module, 2)->opcode(), HloOpcode::kCopy);
  for (const HloInstruction* inst :
       (*module)->entry_computation()->instructions()) {
    EXPECT_FALSE(inst->opcode() == HloOpcode::kSelect ||
                 inst->opcode() == HloOpcode::kDynamicSlice ||
                 inst->opcode() == HloOpcode::kDynamicUpdateSlice)
        << inst->name();
  }
  const auto again = FuseLooseInstructions(module->get());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(*again);
}

TEST(LooseInstructionsTest, KernelsThatMoveSlicesCopyThem) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
ENTRY e {
  stack = f32[8,64] parameter(0)
  more = f32[8,64] parameter(1)
  h = f32[64] parameter(2)
  i = s32[] parameter(3)
  zero = s32[] constant(0)
  row = f32[1,64] bitcast(h)
  a = f32[64] sine(h)
  u = f32[8,64] dynamic-update-slice(stack, row, i, zero)
  read = f32[1,64] dynamic-slice(more, i, zero), dynamic_slice_sizes={1,64}
  sum = f32[1,64] add(read, read)
  row2 = f32[1,64] bitcast(a)
  v = f32[8,64] dynamic-update-slice(more, row2, i, zero)
  ROOT t = (f32[8,64], f32[8,64], f32[1,64]) tuple(u, v, sum)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto changed = FuseLooseInstructions(module->get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE((*module)->schedule().Verify().ok());
  EXPECT_EQ(Inside(*Operand(**module, 0)),
            "bitcast copy constant dynamic-update-slice ");
  EXPECT_EQ(Inside(*Operand(**module, 1)),
            "sine bitcast constant dynamic-update-slice ");
  const HloInstruction* sum = Operand(**module, 2);
  EXPECT_EQ(Inside(*sum), "add ");
  EXPECT_EQ(Inside(*sum->operand(0)), "constant dynamic-slice copy ");
}

TEST(LooseInstructionsTest, AsynchronousTransfersStay) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
read {
  from = f32[8,64] parameter(0)
  at = s32[] parameter(1)
  other = s32[] parameter(2)
  ROOT slice = f32[1,64] dynamic-slice(from, at, other), dynamic_slice_sizes={1,64}
}
ENTRY e {
  stack = f32[8,64] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  start = ((f32[8,64], s32[], s32[]), f32[1,64], u32[]) async-start(stack, i, zero), calls=read
  done = f32[1,64] async-done(start)
  ROOT t = (f32[1,64]) tuple(done)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto changed = FuseLooseInstructions(module->get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(*changed);
}

}  // namespace
}  // namespace xla::remat_plan
