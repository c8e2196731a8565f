#include "xla/hlo/verifier/visitors/layout_change.h"

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"

namespace xla {

bool InstructionCanChangeLayout(const HloInstruction* instruction) {
  switch (instruction->opcode()) {
    case HloOpcode::kAddDependency:
    case HloOpcode::kConcatenate:
    case HloOpcode::kConditional:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kFft:
    case HloOpcode::kMap:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kPad:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kReverse:
    case HloOpcode::kScan:
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kSetDimensionSize:
    case HloOpcode::kSlice:
    case HloOpcode::kSort:
    case HloOpcode::kTuple:
    case HloOpcode::kWhile:
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_ELEMENTWISE:
      return false;
    case HloOpcode::kAfterAll:
    case HloOpcode::kBitcast:
    case HloOpcode::kBroadcast:
    case HloOpcode::kCall:
    case HloOpcode::kCholesky:
    case HloOpcode::kCopy:
    case HloOpcode::kCustomCall:
    case HloOpcode::kDomain:
    case HloOpcode::kDynamicReshape:
    case HloOpcode::kFusion:
    case HloOpcode::kGather:
    case HloOpcode::kGetDimensionSize:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kReduce:
    case HloOpcode::kReshape:
    case HloOpcode::kScatter:
    case HloOpcode::kTopK:
    case HloOpcode::kTranspose:
    case HloOpcode::kTriangularSolve:
    case XLA_ANY_ASYNC:
    case XLA_ANY_BATCH_NORM:
    case XLA_ANY_CONTRACTION:
    case XLA_ANY_COPY_PAIR:
    case XLA_ANY_DEVICE_ID:
    case XLA_ANY_FEED:
    case XLA_ANY_RANDOM:
    case XLA_ANY_SOURCE:
    case XLA_ANY_TRANSFER:
      return true;
  }
  return true;
}

}  // namespace xla
