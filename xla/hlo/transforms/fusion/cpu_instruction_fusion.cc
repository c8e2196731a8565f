#include "xla/hlo/transforms/fusion/cpu_instruction_fusion.h"

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace cpu {
namespace {

// Whether elements can be computed one by one, each once.
bool IsLoop(const HloInstruction& instruction) {
  return HloPredicateIsOp<HloOpcode::kBitcast, HloOpcode::kBroadcast,
                          HloOpcode::kConcatenate, HloOpcode::kConstant,
                          HloOpcode::kDynamicSlice,
                          HloOpcode::kDynamicUpdateSlice, HloOpcode::kFusion,
                          HloOpcode::kGather, HloOpcode::kIota, HloOpcode::kPad,
                          HloOpcode::kReshape, HloOpcode::kReverse,
                          HloOpcode::kSlice, HloOpcode::kTranspose>(
             &instruction) ||
         (instruction.IsElementwise() && instruction.operand_count() > 0);
}

}  // namespace

FusionDecision CpuInstructionFusion::ShouldFuse(HloInstruction* consumer,
                                                int64_t operand_index) {
  const HloInstruction* producer = consumer->operand(operand_index);
  if (!IsLoop(*producer)) {
    return FusionDecision::Forbid("the producer has a loop of its own");
  }
  if (!IsLoop(*consumer)) {
    return FusionDecision::Forbid("the consumer has a loop of its own");
  }
  return InstructionFusion::ShouldFuse(consumer, operand_index);
}

}  // namespace cpu
}  // namespace xla
