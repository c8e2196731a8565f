#include "xla/hlo/transforms/fusion/fusible_opcodes.h"

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/utils/fused_instructions.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

bool IsOpcodeForFusions(HloOpcode opcode) {
  switch (opcode) {
    // No computation on arrays.
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kParameter:
    case HloOpcode::kRngGetAndUpdateState:
    case HloOpcode::kTuple:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    // Unknown, or known to a library only.
    case HloOpcode::kCustomCall:
    // Communication, with the outside, the host or other devices.
    case XLA_ANY_COMMUNICATION:
      return false;
    case HloOpcode::kBitcast:
    case HloOpcode::kConstant:
    case HloOpcode::kCopy:
    case HloOpcode::kFusion:
    case HloOpcode::kIota:
    case HloOpcode::kRng:
    case HloOpcode::kRngBitGenerator:
    case XLA_ANY_MOVEMENT:
    case XLA_ANY_ELEMENTWISE:
    case XLA_ANY_REDUCTION:
    case XLA_ANY_CONTRACTION:
    case XLA_ANY_BATCH_NORM:
    case XLA_ANY_LIBRARY_CALL:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return true;
}

bool IsHeavyItself(const HloInstruction& hlo) {
  switch (hlo.opcode()) {
    case HloOpcode::kRng:
    case HloOpcode::kRngBitGenerator:
    case HloOpcode::kScatter:
    case XLA_ANY_REDUCTION:
    case XLA_ANY_CONTRACTION:
    case XLA_ANY_BATCH_NORM:
    case XLA_ANY_LIBRARY_CALL:
      return true;
    case HloOpcode::kBitcast:
    case HloOpcode::kCopy:
    case HloOpcode::kCustomCall:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kFusion:
    case HloOpcode::kGather:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kRngGetAndUpdateState:
    case HloOpcode::kTuple:
    case XLA_ANY_COMMUNICATION:
    case XLA_ANY_ELEMENTWISE:
    case XLA_ANY_REARRANGEMENT:
    case XLA_ANY_DYNAMIC_SIZE:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return false;
}

bool IsExpensiveItself(const HloInstruction& hlo) {
  if (HloOpcodeIsTranscendental(hlo.opcode()) || IsHeavyItself(hlo)) {
    return true;
  }
  switch (hlo.opcode()) {
    case HloOpcode::kDivide:
    case HloOpcode::kGather:
    case HloOpcode::kRemainder:
      return true;
    case HloOpcode::kMultiply:
      return ShapeUtil::ElementIsComplex(hlo.shape());
    default:  // Cheap enough to be computed twice, or heavy.
      return false;
  }
}

}  // namespace

bool MayBeFusionRoot(const HloInstruction& instruction) {
  if (!IsOpcodeForFusions(instruction.opcode()) || !instruction.IsFusible() ||
      instruction.IsCustomFusion()) {
    return false;
  }
  return instruction.shape().IsArray() ||
         (instruction.shape().IsTuple() &&
          absl::c_all_of(instruction.shape().tuple_shapes(),
                         [](const Shape& shape) { return shape.IsArray(); }));
}

bool MayBeFused(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kConstant) {
    return ShapeUtil::IsEffectiveScalar(instruction.shape());
  }
  return instruction.shape().IsArray() && MayBeFusionRoot(instruction);
}

bool IsExpensiveToRepeat(const HloInstruction& instruction) {
  return AnyInside(instruction, IsExpensiveItself);
}

bool IsHeavy(const HloInstruction& instruction) {
  return AnyInside(instruction, IsHeavyItself);
}

}  // namespace xla
