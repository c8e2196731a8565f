#include "xla/hlo/transforms/fusion/fusible_opcodes.h"

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fused_instructions.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

bool IsOpcodeForFusions(HloOpcode opcode) {
  switch (opcode) {
    // No computation on arrays.
    case HloOpcode::kAddDependency:
    case HloOpcode::kAfterAll:
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kDomain:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kParameter:
    case HloOpcode::kRngGetAndUpdateState:
    case HloOpcode::kTuple:
    case HloOpcode::kWhile:
    // Unknown, or known to a library only.
    case HloOpcode::kCustomCall:
    // Communication, with the outside, the host or other devices.
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherDone:
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceDone:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kAllToAll:
    case HloOpcode::kAsyncDone:
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kCollectiveBroadcast:
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteDone:
    case HloOpcode::kCollectivePermuteStart:
    case HloOpcode::kCopyDone:
    case HloOpcode::kCopyStart:
    case HloOpcode::kInfeed:
    case HloOpcode::kOutfeed:
    case HloOpcode::kRaggedAllToAll:
    case HloOpcode::kRecv:
    case HloOpcode::kRecvDone:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kSend:
    case HloOpcode::kSendDone:
      return false;
    default:
      return true;
  }
}

bool IsHeavyItself(const HloInstruction& hlo) {
  switch (hlo.opcode()) {
    case HloOpcode::kBatchNormGrad:
    case HloOpcode::kBatchNormInference:
    case HloOpcode::kBatchNormTraining:
    case HloOpcode::kCholesky:
    case HloOpcode::kConvolution:
    case HloOpcode::kDot:
    case HloOpcode::kFft:
    case HloOpcode::kMap:
    case HloOpcode::kRaggedDot:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kRng:
    case HloOpcode::kRngBitGenerator:
    case HloOpcode::kScaledDot:
    case HloOpcode::kScan:
    case HloOpcode::kScatter:
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kSort:
    case HloOpcode::kTopK:
    case HloOpcode::kTriangularSolve:
      return true;
    default:
      return false;
  }
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
    default:
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
