#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/rules.h"

// Which rule is for which opcode.

namespace xla::verifier {
namespace {

absl::Status CheckCollective(const Context& context, const HloInstruction& inst,
                             Rule* shape_rule) {
  absl::Status status = CheckReplicaGroups(context, inst);
  return status.ok() ? shape_rule(context, inst) : status;
}

// Opcodes that move data between devices, the host or threads; the last of the
// rules.
absl::Status CheckCommunication(const Context& context,
                                const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart:
      return CheckCollective(context, inst, &CheckAllGather);
    case HloOpcode::kAllGatherDone:
      return CheckAllGatherDone(context, inst);
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
      return CheckCollective(context, inst, &CheckAllReduce);
    case HloOpcode::kAllReduceDone:
      return CheckAllReduceDone(context, inst);
    case HloOpcode::kReduceScatter:
      return CheckCollective(context, inst, &CheckReduceScatter);
    case HloOpcode::kAllToAll:
      return CheckCollective(context, inst, &CheckAllToAll);
    case HloOpcode::kRaggedAllToAll:
      return CheckCollective(context, inst, &CheckRaggedAllToAll);
    case HloOpcode::kCollectiveBroadcast:
      return CheckCollective(context, inst, &CheckCollectiveBroadcast);
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart: {
      absl::Status status = CheckSourceTargetPairs(context, inst);
      return status.ok() ? CheckCollectivePermute(context, inst) : status;
    }
    case HloOpcode::kCollectivePermuteDone:
      return CheckCollectivePermuteDone(context, inst);
    case HloOpcode::kPartitionId:
    case HloOpcode::kReplicaId:
      return CheckDeviceNumber(context, inst);
    case HloOpcode::kInfeed:
      return CheckInfeed(context, inst);
    case HloOpcode::kOutfeed:
      return CheckOutfeed(context, inst);
    case HloOpcode::kSend:
      return CheckSend(context, inst);
    case HloOpcode::kSendDone:
      return CheckSendDone(context, inst);
    case HloOpcode::kRecv:
      return CheckRecv(context, inst);
    case HloOpcode::kRecvDone:
      return CheckRecvDone(context, inst);
    case HloOpcode::kCopyStart:
      return CheckCopyStart(context, inst);
    case HloOpcode::kCopyDone:
      return CheckCopyDone(context, inst);
    case HloOpcode::kAsyncStart:
      return CheckAsyncStart(context, inst);
    case HloOpcode::kAsyncUpdate:
      return CheckAsyncUpdate(context, inst);
    case HloOpcode::kAsyncDone:
      return CheckAsyncDone(context, inst);
    default:  // An error.
      return absl::InternalError(
          absl::StrCat("the verifier has no rule for ", inst.opcode()));
  }
}

// Opcodes that are seldom.
absl::Status CheckRare(const Context& context, const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kBatchNormGrad:
    case HloOpcode::kBatchNormInference:
    case HloOpcode::kBatchNormTraining:
      return CheckBatchNorm(context, inst);
    case HloOpcode::kCholesky:
      return CheckCholesky(context, inst);
    case HloOpcode::kDynamicReshape:
      return CheckDynamicReshape(context, inst);
    case HloOpcode::kFft:
      return CheckFft(context, inst);
    case HloOpcode::kGetDimensionSize:
    case HloOpcode::kSetDimensionSize:
      return CheckDimensionSize(context, inst);
    case HloOpcode::kMap:
      return CheckMap(context, inst);
    case HloOpcode::kRaggedDot:
      return CheckRaggedDot(context, inst);
    case HloOpcode::kReduceWindow:
      return CheckReduceWindow(context, inst);
    case HloOpcode::kReverse:
      return CheckReverse(context, inst);
    case HloOpcode::kRng:
      return CheckRng(context, inst);
    case HloOpcode::kRngBitGenerator:
      return CheckRngBitGenerator(context, inst);
    case HloOpcode::kRngGetAndUpdateState:
      return CheckRngGetAndUpdateState(context, inst);
    case HloOpcode::kScaledDot:
      return CheckScaledDot(context, inst);
    case HloOpcode::kScan:
      return CheckScan(context, inst);
    case HloOpcode::kSelectAndScatter:
      return CheckSelectAndScatter(context, inst);
    case HloOpcode::kSort:
      return CheckSort(context, inst);
    case HloOpcode::kStochasticConvert:
      return CheckStochasticConvert(context, inst);
    case HloOpcode::kTopK:
      return CheckTopK(context, inst);
    case HloOpcode::kTriangularSolve:
      return CheckTriangularSolve(context, inst);
    default:  // Below.
      return CheckCommunication(context, inst);
  }
}

}  // namespace

absl::Status CheckOpcodeRule(const Context& context,
                             const HloInstruction& inst) {
  const HloOpcode opcode = inst.opcode();
  switch (opcode) {
#define RULE(opcode, rule) \
  case HloOpcode::opcode:  \
    return rule(context, inst);
    RULE(kAddDependency, CheckAddDependency)
    RULE(kAfterAll, CheckAfterAll)
    RULE(kBitcast, CheckBitcast)
    RULE(kBitcastConvert, CheckBitcastConvert)
    RULE(kBroadcast, CheckBroadcast)
    RULE(kCall, CheckCall)
    RULE(kClamp, CheckClamp)
    RULE(kCompare, CheckCompare)
    RULE(kConcatenate, CheckConcatenate)
    RULE(kConditional, CheckConditional)
    RULE(kConstant, CheckConstant)
    RULE(kConvert, CheckConvert)
    RULE(kConvolution, CheckConvolution)
    RULE(kCopy, CheckCopy)
    RULE(kCustomCall, CheckCustomCall)
    RULE(kDomain, CheckPassThrough)
    RULE(kDot, CheckDot)
    RULE(kDynamicSlice, CheckDynamicSlice)
    RULE(kDynamicUpdateSlice, CheckDynamicUpdateSlice)
    RULE(kFusion, CheckFusion)
    RULE(kGather, CheckGather)
    RULE(kGetTupleElement, CheckGetTupleElement)
    RULE(kIota, CheckIota)
    RULE(kOptimizationBarrier, CheckPassThrough)
    RULE(kPad, CheckPad)
    RULE(kParameter, CheckParameter)
    RULE(kReduce, CheckReduce)
    RULE(kReducePrecision, CheckReducePrecision)
    RULE(kReshape, CheckReshape)
    RULE(kScatter, CheckScatter)
    RULE(kSelect, CheckSelect)
    RULE(kSlice, CheckSlice)
    RULE(kTranspose, CheckTranspose)
    RULE(kTuple, CheckTuple)
    RULE(kWhile, CheckWhile)
#undef RULE
    default:  // By trait, or above.
      if (HloOpcodeIsElementwiseBinary(opcode)) {
        return CheckBinary(context, inst);
      }
      if (HloOpcodeIsElementwiseUnary(opcode)) return CheckUnary(context, inst);
      return CheckRare(context, inst);
  }
}

}  // namespace xla::verifier
