#ifndef XLA_HLO_UTILS_HLO_OPCODE_NAMES_H_
#define XLA_HLO_UTILS_HLO_OPCODE_NAMES_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_opcode.h"

// The enumerators of HloOpcode without their `k`, in their order, for tables
// that declare one function per opcode (the preprocessor cannot cut a letter
// off a name).
//
//   #define DECLARE(NAME) void Visit##NAME();
//   XLA_HLO_OPCODE_NAMES(DECLARE)
//
// Opcodes whose function has arguments of its own are in a list apart.
#define XLA_HLO_OPCODE_NAMES_SPECIAL(V) \
  V(Constant) V(CustomCall) V(Dot) V(GetTupleElement) V(Parameter)

// clang-format off
#define XLA_HLO_OPCODE_NAMES(V) \
  V(Abs) V(Acos) V(Acosh) V(Add) V(AddDependency) V(AfterAll) V(AllGather) \
  V(AllGatherDone) V(AllGatherStart) V(AllReduce) V(AllReduceDone) \
  V(AllReduceStart) V(AllToAll) V(And) V(Asin) V(Asinh) V(AsyncDone) \
  V(AsyncStart) V(AsyncUpdate) V(Atan2) V(Atanh) V(BatchNormGrad) \
  V(BatchNormInference) V(BatchNormTraining) V(Bitcast) V(BitcastConvert) \
  V(Broadcast) V(Call) V(Cbrt) V(Ceil) V(Cholesky) V(Clamp) V(Clz) \
  V(CollectiveBroadcast) V(CollectivePermute) V(CollectivePermuteDone) \
  V(CollectivePermuteStart) V(Compare) V(Complex) V(Concatenate) \
  V(Conditional) V(Convert) V(Convolution) V(Copy) V(CopyDone) V(CopyStart) \
  V(Cos) V(Cosh) V(Divide) V(Domain) V(DynamicReshape) V(DynamicSlice) \
  V(DynamicUpdateSlice) V(Erf) V(Exp) V(Expm1) V(Fft) V(Floor) V(Fusion) \
  V(Gather) V(GetDimensionSize) V(Imag) V(Infeed) V(Iota) V(IsFinite) V(Log) \
  V(Log1p) V(Logistic) V(Map) V(Maximum) V(Minimum) V(Mulhi) V(Multiply) \
  V(Negate) V(Not) V(OptimizationBarrier) V(Or) V(Outfeed) V(Pad) \
  V(PartitionId) V(PopulationCount) V(Power) V(RaggedAllToAll) V(RaggedDot) \
  V(Real) V(Recv) V(RecvDone) V(Reduce) V(ReducePrecision) V(ReduceScatter) \
  V(ReduceWindow) V(Remainder) V(ReplicaId) V(Reshape) V(Reverse) V(Rng) \
  V(RngBitGenerator) V(RngGetAndUpdateState) V(RoundNearestAfz) \
  V(RoundNearestEven) V(Rsqrt) V(ScaledDot) V(Scan) V(Scatter) V(Select) \
  V(SelectAndScatter) V(Send) V(SendDone) V(SetDimensionSize) V(ShiftLeft) \
  V(ShiftRightArithmetic) V(ShiftRightLogical) V(Sign) V(Sin) V(Sinh) \
  V(Slice) V(Sort) V(Sqrt) V(StochasticConvert) V(Subtract) V(Tan) V(Tanh) \
  V(TopK) V(Transpose) V(TriangularSolve) V(Tuple) V(While) V(Xor)
// clang-format on

namespace xla {
namespace hlo_opcode_internal {

// Operands that each opcode takes, or kHloOpcodeIsVariadic.
inline constexpr int8_t kArity[] = {
#define XLA_ARITY_ROW(enumerator, text, arity, ...) arity,
    HLO_OPCODE_LIST(XLA_ARITY_ROW)
#undef XLA_ARITY_ROW
};
constexpr int Arity(HloOpcode opcode) {
  return kArity[static_cast<int>(opcode)];
}

// Each opcode is in exactly one of the lists above.
constexpr bool NamesAreComplete() {
  int seen[HloOpcodeCount()] = {};
#define XLA_MARK_SEEN(NAME) ++seen[static_cast<int>(HloOpcode::k##NAME)];
  XLA_HLO_OPCODE_NAMES(XLA_MARK_SEEN)
  XLA_HLO_OPCODE_NAMES_SPECIAL(XLA_MARK_SEEN)
#undef XLA_MARK_SEEN
  for (int count : seen) {
    if (count != 1) return false;
  }
  return true;
}
static_assert(NamesAreComplete(), "a list of opcode names misses one");

}  // namespace hlo_opcode_internal
}  // namespace xla

#endif  // XLA_HLO_UTILS_HLO_OPCODE_NAMES_H_
