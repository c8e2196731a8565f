#ifndef XLA_HLO_IR_HLO_OPCODE_GROUPS_H_
#define XLA_HLO_IR_HLO_OPCODE_GROUPS_H_

#include "xla/hlo/ir/hlo_opcode.h"

// Groups of opcodes as case labels, for exhaustive switches:
//
//   switch (opcode) {
//     case HloOpcode::kCopy:
//     case XLA_ANY_ELEMENTWISE:
//       return true;
//     case XLA_ANY_COMMUNICATION:
//     ...
//       return false;
//   }
//
// Such a switch has no default, so the compiler reports a new opcode that it
// does not handle. An opcode is in exactly one of the small groups, or in none:
// bitcast, copy, custom-call, fusion, get-tuple-element and tuple are listed by
// name. The large groups at the end are unions of small ones.

// clang-format off

// Elementwise functions of one operand; conversions and copies are elsewhere.
#define XLA_ANY_UNARY_FUNCTION                                            \
  HloOpcode::kAbs: case HloOpcode::kAcos: case HloOpcode::kAcosh:         \
  case HloOpcode::kAsin: case HloOpcode::kAsinh: case HloOpcode::kAtanh:  \
  case HloOpcode::kCbrt: case HloOpcode::kCeil: case HloOpcode::kClz:     \
  case HloOpcode::kCos: case HloOpcode::kCosh: case HloOpcode::kErf:      \
  case HloOpcode::kExp: case HloOpcode::kExpm1: case HloOpcode::kFloor:   \
  case HloOpcode::kImag: case HloOpcode::kIsFinite: case HloOpcode::kLog: \
  case HloOpcode::kLog1p: case HloOpcode::kLogistic:                      \
  case HloOpcode::kNegate: case HloOpcode::kNot:                          \
  case HloOpcode::kPopulationCount: case HloOpcode::kReal:                \
  case HloOpcode::kRoundNearestAfz: case HloOpcode::kRoundNearestEven:    \
  case HloOpcode::kRsqrt: case HloOpcode::kSign: case HloOpcode::kSin:    \
  case HloOpcode::kSinh: case HloOpcode::kSqrt: case HloOpcode::kTan:     \
  case HloOpcode::kTanh

// Elementwise changes of type or precision.
#define XLA_ANY_CONVERSION                              \
  HloOpcode::kBitcastConvert: case HloOpcode::kConvert: \
  case HloOpcode::kReducePrecision: case HloOpcode::kStochasticConvert

// Elementwise functions of two operands of one type.
#define XLA_ANY_BINARY_FUNCTION                                           \
  HloOpcode::kAdd: case HloOpcode::kAnd: case HloOpcode::kAtan2:          \
  case HloOpcode::kComplex: case HloOpcode::kDivide:                      \
  case HloOpcode::kMaximum: case HloOpcode::kMinimum:                     \
  case HloOpcode::kMulhi: case HloOpcode::kMultiply: case HloOpcode::kOr: \
  case HloOpcode::kPower: case HloOpcode::kRemainder:                     \
  case HloOpcode::kShiftLeft: case HloOpcode::kShiftRightArithmetic:      \
  case HloOpcode::kShiftRightLogical: case HloOpcode::kSubtract:          \
  case HloOpcode::kXor

// Elementwise, operands of different types or roles.
#define XLA_ANY_CHOICE \
  HloOpcode::kClamp: case HloOpcode::kCompare: case HloOpcode::kSelect

// Moves elements to places determined by attributes and shapes.
#define XLA_ANY_REARRANGEMENT                                                \
  HloOpcode::kBroadcast: case HloOpcode::kConcatenate: case HloOpcode::kPad: \
  case HloOpcode::kReshape: case HloOpcode::kReverse:                        \
  case HloOpcode::kSlice: case HloOpcode::kTranspose

// Sizes of dynamic dimensions.
#define XLA_ANY_DYNAMIC_SIZE                                     \
  HloOpcode::kDynamicReshape: case HloOpcode::kGetDimensionSize: \
  case HloOpcode::kSetDimensionSize

// Moves elements to or from places determined by operands.
#define XLA_ANY_INDEXED                                          \
  HloOpcode::kDynamicSlice: case HloOpcode::kDynamicUpdateSlice: \
  case HloOpcode::kGather: case HloOpcode::kScatter

// Applies a computation to elements of arrays.
#define XLA_ANY_REDUCTION                                                  \
  HloOpcode::kMap: case HloOpcode::kReduce: case HloOpcode::kReduceWindow: \
  case HloOpcode::kScan: case HloOpcode::kSelectAndScatter:                \
  case HloOpcode::kSort

// Sums of products.
#define XLA_ANY_CONTRACTION                                                  \
  HloOpcode::kConvolution: case HloOpcode::kDot: case HloOpcode::kRaggedDot: \
  case HloOpcode::kScaledDot

#define XLA_ANY_BATCH_NORM                                        \
  HloOpcode::kBatchNormGrad: case HloOpcode::kBatchNormInference: \
  case HloOpcode::kBatchNormTraining

// Algorithms that run as one library kernel.
#define XLA_ANY_LIBRARY_CALL                                         \
  HloOpcode::kCholesky: case HloOpcode::kFft: case HloOpcode::kTopK: \
  case HloOpcode::kTriangularSolve

// Random numbers.
#define XLA_ANY_RANDOM                               \
  HloOpcode::kRng: case HloOpcode::kRngBitGenerator: \
  case HloOpcode::kRngGetAndUpdateState

// Values without operands.
#define XLA_ANY_SOURCE \
  HloOpcode::kConstant: case HloOpcode::kIota: case HloOpcode::kParameter

// Runs computations once, several times or not at all.
#define XLA_ANY_CONTROL_FLOW \
  HloOpcode::kCall: case HloOpcode::kConditional: case HloOpcode::kWhile

// Returns operands unchanged, and restricts orders or shardings.
#define XLA_ANY_ORDERING                                \
  HloOpcode::kAddDependency: case HloOpcode::kAfterAll: \
  case HloOpcode::kDomain: case HloOpcode::kOptimizationBarrier

// Synchronous communication between devices.
#define XLA_ANY_COLLECTIVE                                             \
  HloOpcode::kAllGather: case HloOpcode::kAllReduce:                   \
  case HloOpcode::kAllToAll: case HloOpcode::kCollectiveBroadcast:     \
  case HloOpcode::kCollectivePermute: case HloOpcode::kRaggedAllToAll: \
  case HloOpcode::kReduceScatter

#define XLA_ANY_COLLECTIVE_START                               \
  HloOpcode::kAllGatherStart: case HloOpcode::kAllReduceStart: \
  case HloOpcode::kCollectivePermuteStart

// The two halves of asynchronous collectives.
#define XLA_ANY_COLLECTIVE_DONE                              \
  HloOpcode::kAllGatherDone: case HloOpcode::kAllReduceDone: \
  case HloOpcode::kCollectivePermuteDone

// The halves of an asynchronous copy.
#define XLA_ANY_COPY_PAIR \
  HloOpcode::kCopyDone: case HloOpcode::kCopyStart

// Asynchronous computations.
#define XLA_ANY_ASYNC                                 \
  HloOpcode::kAsyncDone: case HloOpcode::kAsyncStart: \
  case HloOpcode::kAsyncUpdate

// Point-to-point communication, with devices or the host.
#define XLA_ANY_TRANSFER                                              \
  HloOpcode::kRecv: case HloOpcode::kRecvDone: case HloOpcode::kSend: \
  case HloOpcode::kSendDone

// Host queues.
#define XLA_ANY_FEED \
  HloOpcode::kInfeed: case HloOpcode::kOutfeed

// Ids of the device that runs the program.
#define XLA_ANY_DEVICE_ID \
  HloOpcode::kPartitionId: case HloOpcode::kReplicaId

// clang-format on

// --- Groups of groups ---

// Elementwise by trait, except copies, which may be of tuples.
#define XLA_ANY_ELEMENTWISE     \
  XLA_ANY_UNARY_FUNCTION:       \
  case XLA_ANY_CONVERSION:      \
  case XLA_ANY_BINARY_FUNCTION: \
  case XLA_ANY_CHOICE

// Only moves elements.
#define XLA_ANY_MOVEMENT     \
  XLA_ANY_REARRANGEMENT:     \
  case XLA_ANY_DYNAMIC_SIZE: \
  case XLA_ANY_INDEXED

// Usually a kernel of its own.
#define XLA_ANY_LARGE_KERNEL \
  XLA_ANY_REDUCTION:         \
  case XLA_ANY_CONTRACTION:  \
  case XLA_ANY_BATCH_NORM:   \
  case XLA_ANY_LIBRARY_CALL: \
  case XLA_ANY_RANDOM

// May wait for something outside the kernels of one device.
#define XLA_ANY_COMMUNICATION    \
  XLA_ANY_COLLECTIVE:            \
  case XLA_ANY_COLLECTIVE_START: \
  case XLA_ANY_COLLECTIVE_DONE:  \
  case XLA_ANY_COPY_PAIR:        \
  case XLA_ANY_ASYNC:            \
  case XLA_ANY_TRANSFER:         \
  case XLA_ANY_FEED

// Array to array, on one device.
#define XLA_ANY_COMPUTATION \
  XLA_ANY_ELEMENTWISE:      \
  case XLA_ANY_MOVEMENT:    \
  case XLA_ANY_LARGE_KERNEL

// Runs no computation with a schedule of its own: all but control flow and
// asynchronous computations.
#define XLA_ANY_WITHOUT_SCHEDULE    \
  XLA_ANY_COMPUTATION:              \
  case XLA_ANY_SOURCE:              \
  case XLA_ANY_ORDERING:            \
  case XLA_ANY_COLLECTIVE:          \
  case XLA_ANY_COLLECTIVE_START:    \
  case XLA_ANY_COLLECTIVE_DONE:     \
  case XLA_ANY_COPY_PAIR:           \
  case XLA_ANY_TRANSFER:            \
  case XLA_ANY_FEED:                \
  case XLA_ANY_DEVICE_ID:           \
  case HloOpcode::kBitcast:         \
  case HloOpcode::kCopy:            \
  case HloOpcode::kCustomCall:      \
  case HloOpcode::kFusion:          \
  case HloOpcode::kGetTupleElement: \
  case HloOpcode::kTuple

namespace xla {

namespace hlo_opcode_internal {

// Compiles only if every opcode is in exactly one group or listed by name here.
constexpr bool IsInOneGroup(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kBitcast:
    case HloOpcode::kCopy:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kTuple:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_COMMUNICATION:
    case XLA_ANY_DEVICE_ID:
      return true;
  }
  return false;
}
static_assert(IsInOneGroup(HloOpcode::kTuple));

}  // namespace hlo_opcode_internal
}  // namespace xla

#endif  // XLA_HLO_IR_HLO_OPCODE_GROUPS_H_
