#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"

namespace xla {
namespace evaluator {

Kernel KernelFor(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAddDependency:
    case HloOpcode::kAllReduceDone:
    case HloOpcode::kCopy:
    case HloOpcode::kDomain:
    case HloOpcode::kOptimizationBarrier:
      return EvaluatePassThrough;
    case HloOpcode::kAfterAll:
      return EvaluateAfterAll;
    case HloOpcode::kAllGatherDone:
    case HloOpcode::kCollectivePermuteDone:
      return EvaluateElementOne;
    case HloOpcode::kCopyDone:
      return EvaluateElementZero;
    case HloOpcode::kCopyStart:
      return EvaluateCopyStart;
    case HloOpcode::kGetTupleElement:
      return EvaluateGetTupleElement;
    case HloOpcode::kTuple:
      return EvaluateTuple;
    case HloOpcode::kBitcast:
      return EvaluateBitcast;
    case HloOpcode::kBitcastConvert:
      return EvaluateBitcastConvert;
    case HloOpcode::kBroadcast:
      return EvaluateBroadcast;
    case HloOpcode::kConcatenate:
      return EvaluateConcatenate;
    case HloOpcode::kDynamicReshape:
      return EvaluateDynamicReshape;
    case HloOpcode::kDynamicSlice:
      return EvaluateDynamicSlice;
    case HloOpcode::kDynamicUpdateSlice:
      return EvaluateDynamicUpdateSlice;
    case HloOpcode::kGather:
      return EvaluateGather;
    case HloOpcode::kGetDimensionSize:
      return EvaluateGetDimensionSize;
    case HloOpcode::kIota:
      return EvaluateIota;
    case HloOpcode::kPad:
      return EvaluatePad;
    case HloOpcode::kReshape:
      return EvaluateReshape;
    case HloOpcode::kReverse:
      return EvaluateReverse;
    case HloOpcode::kScatter:
      return EvaluateScatter;
    case HloOpcode::kSetDimensionSize:
      return EvaluateSetDimensionSize;
    case HloOpcode::kSlice:
      return EvaluateSlice;
    case HloOpcode::kTranspose:
      return EvaluateTranspose;
    case HloOpcode::kMap:
      return EvaluateMap;
    case HloOpcode::kReduce:
      return EvaluateReduce;
    case HloOpcode::kReduceWindow:
      return EvaluateReduceWindow;
    case HloOpcode::kScan:
      return EvaluateScan;
    case HloOpcode::kSelectAndScatter:
      return EvaluateSelectAndScatter;
    case HloOpcode::kSort:
      return EvaluateSort;
    case HloOpcode::kTopK:
      return EvaluateTopK;
    case HloOpcode::kBatchNormGrad:
      return EvaluateBatchNormGrad;
    case HloOpcode::kBatchNormInference:
      return EvaluateBatchNormInference;
    case HloOpcode::kBatchNormTraining:
      return EvaluateBatchNormTraining;
    case HloOpcode::kCholesky:
      return EvaluateCholesky;
    case HloOpcode::kConvolution:
      return EvaluateConvolution;
    case HloOpcode::kDot:
      return EvaluateDot;
    case HloOpcode::kFft:
      return EvaluateFft;
    case HloOpcode::kRaggedDot:
      return EvaluateRaggedDot;
    case HloOpcode::kRng:
      return EvaluateRng;
    case HloOpcode::kRngBitGenerator:
      return EvaluateRngBitGenerator;
    case HloOpcode::kRngGetAndUpdateState:
      return EvaluateRngGetAndUpdateState;
    case HloOpcode::kScaledDot:
      return EvaluateScaledDot;
    case HloOpcode::kTriangularSolve:
      return EvaluateTriangularSolve;
    case HloOpcode::kSelect:
      return EvaluateSelect;
    case HloOpcode::kClamp:
    case HloOpcode::kCompare:
    case HloOpcode::kConstant:
    case HloOpcode::kConvert:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kParameter:
    case HloOpcode::kReducePrecision:
    case HloOpcode::kStochasticConvert:
    case XLA_ANY_UNARY_FUNCTION:
    case XLA_ANY_BINARY_FUNCTION:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_ASYNC:
    case XLA_ANY_TRANSFER:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return HloOpcodeIsElementwise(opcode) ? EvaluateElementwise : nullptr;
}

}  // namespace evaluator
}  // namespace xla
