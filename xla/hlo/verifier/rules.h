#ifndef XLA_HLO_VERIFIER_RULES_H_
#define XLA_HLO_VERIFIER_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

// The rules for single instructions. Internal to this folder.
//
// A rule first tries to see at a glance that the instruction is good: static
// arrays of equal types whose sizes it compares itself. What it cannot tell, it
// leaves to ShapeInference, which knows all cases and has the messages.
//
// Rules rely on V4, V9, V10, V11 and V19: operands and callees are there, as
// many as the opcode has, and callees have a root and parameters.

namespace xla::verifier {

// How equal two shapes must be. Dynamic flags count in kSame alone, and only
// while layouts count.
enum class Match {
  // One value under two names: layouts as well, while they count.
  kSame,
  // The same, of layouts the order of dimensions alone.
  kSameOrder,
  // Any layout, and while mixed precision is allowed any float precision.
  kLoose,
};

class Context {
 public:
  // Keeps a reference to `opts`.
  explicit Context(const HloVerifierOpts& opts) : opts_(opts) {}

  const HloVerifierOpts& opts() const { return opts_; }

  bool Matches(const Shape& found, const Shape& expected, Match match) const {
    if (!opts_.layout_sensitive && found.IsArrayExcludingBuffer() &&
        expected.IsArrayExcludingBuffer() &&
        found.element_type() == expected.element_type()) {
      return found.dimensions() == expected.dimensions();
    }
    return MatchesSlow(found, expected, match);
  }
  // Violation unless the instruction has this shape.
  absl::Status Expect(Invariant invariant, const HloInstruction& inst,
                      const Shape& expected, Match match) const {
    if (Matches(inst.shape(), expected, match)) return absl::OkStatus();
    return Mismatch(invariant, inst, "", inst.shape(), expected, match);
  }
  // The same for what inference says, which may be an error.
  absl::Status Expect(Invariant invariant, const HloInstruction& inst,
                      const absl::StatusOr<Shape>& inferred,
                      Match match = Match::kLoose) const;
  // Violation unless `found`, which is `what`, matches `expected`.
  absl::Status Expect(Invariant invariant, const HloInstruction& inst,
                      absl::string_view what, const Shape& found,
                      const Shape& expected, Match match) const {
    if (Matches(found, expected, match)) return absl::OkStatus();
    return Mismatch(invariant, inst, what, found, expected, match);
  }
  // "expected f32[4], found f32[5] at {1}": where two shapes that do not match
  // differ first.
  std::string Difference(const Shape& found, const Shape& expected,
                         Match match) const;
  // As in error messages: with layouts, while they count.
  std::string Str(const Shape& shape) const;

 private:
  bool MatchesSlow(const Shape& found, const Shape& expected,
                   Match match) const;
  absl::Status Mismatch(Invariant invariant, const HloInstruction& inst,
                        absl::string_view what, const Shape& found,
                        const Shape& expected, Match match) const;

  const HloVerifierOpts& opts_;
};

using Rule = absl::Status(const Context& context, const HloInstruction& inst);

// V10 and V19.
absl::Status CheckCounts(const HloInstruction& inst);
// The rule of the instruction's opcode (verify_opcode.cc); needs CheckCounts.
Rule CheckOpcodeRule;
// Rules for instructions of all opcodes: V23, V40 to V46, V60, V119, V170.
Rule CheckCommonRules;

// --- Rules of opcodes, by file.

// verify_shapes_elementwise.cc
Rule CheckUnary, CheckBinary, CheckCompare, CheckSelect, CheckClamp,
    CheckConvert, CheckBitcastConvert, CheckStochasticConvert,
    CheckReducePrecision, CheckCopy, CheckMap;
// verify_shapes_sources.cc
Rule CheckConstant, CheckIota, CheckRng, CheckRngBitGenerator,
    CheckRngGetAndUpdateState, CheckDeviceNumber, CheckParameter;
// verify_shapes_slice.cc
Rule CheckBroadcast, CheckReshape, CheckDynamicReshape, CheckTranspose,
    CheckBitcast, CheckConcatenate, CheckSlice, CheckDynamicSlice,
    CheckDynamicUpdateSlice, CheckPad, CheckReverse, CheckDimensionSize;
// verify_shapes_gather_scatter.cc
Rule CheckGather, CheckScatter, CheckTopK;
// verify_shapes_dot_conv.cc
Rule CheckDot, CheckRaggedDot, CheckScaledDot, CheckConvolution, CheckFft,
    CheckCholesky, CheckTriangularSolve, CheckBatchNorm;
// verify_shapes_reduce_window.cc
Rule CheckReduce, CheckReduceWindow, CheckSelectAndScatter, CheckSort,
    CheckScan;
// verify_shapes_control.cc
Rule CheckTuple, CheckGetTupleElement, CheckWhile, CheckConditional, CheckCall,
    CheckCustomCall, CheckAfterAll, CheckAddDependency, CheckPassThrough;
// verify_fusion.cc
Rule CheckFusion;
// verify_shapes_async.cc
Rule CheckInfeed, CheckOutfeed, CheckSend, CheckRecv, CheckSendDone,
    CheckRecvDone, CheckCopyStart, CheckCopyDone, CheckAsyncStart,
    CheckAsyncUpdate, CheckAsyncDone;
// verify_shapes_collective.cc
Rule CheckAllGather, CheckAllGatherDone, CheckAllReduce, CheckAllReduceDone,
    CheckReduceScatter, CheckAllToAll, CheckRaggedAllToAll,
    CheckCollectivePermute, CheckCollectivePermuteDone,
    CheckCollectiveBroadcast;
// verify_replica_groups.cc: V156 to V161, of any collective.
Rule CheckReplicaGroups, CheckSourceTargetPairs;

// verify_sharding.cc; of instructions that have one.
Rule CheckSharding;
// V175: a loop, the parameters of its condition and its body, and the body's
// root have one sharding, as far as they have any; so do a conditional and the
// roots of its branches.
absl::Status CheckCalleeShardings(const HloInstruction& inst);

// --- Common parts of rules.

// output_to_operand_aliasing of fusions, custom-calls and async-starts: V121.
Rule CheckOutputAliasing;

// The computation takes the operands from `first` on, each as it is.
absl::Status CheckCallOperands(const Context& context, Invariant invariant,
                               const HloInstruction& inst,
                               const HloComputation& callee, Match match);

// Two scalar parameters of one type, and a root of that type: V105.
absl::Status CheckReducer(const Context& context, const HloInstruction& inst,
                          const HloComputation& reducer);

// Devices that a collective exchanges parts between; 0 if that is not known
// here: no groups are given and the module counts one device.
int64_t GroupSize(const HloInstruction& inst);

// The violation with the status code that callers match on, where it is not
// that of the invariant.
inline absl::Status WithCode(absl::StatusCode code,
                             const absl::Status& violation) {
  return absl::Status(code, violation.message());
}

ProgramShape SignatureOf(const HloComputation& computation);

// Inference does not mind the precision of floats: unless it may be mixed, the
// first `count` operands have the types of the parameters they are handed to.
absl::Status CheckAppliedTypes(const Context& context, Invariant invariant,
                               const HloInstruction& inst, int64_t count);

using ShapePtrs = absl::InlinedVector<const Shape*, 4>;
ShapePtrs OperandShapes(const HloInstruction& inst, int64_t first = 0);

inline bool IsPlainArray(const Shape& shape) {
  return shape.IsArrayExcludingBuffer();
}
// Arrays of the same sizes and type.
inline bool SameArrays(const Shape& a, const Shape& b) {
  return IsPlainArray(a) && a.element_type() == b.element_type() &&
         a.dimensions() == b.dimensions();
}
// Arrays of the same sizes.
inline bool SameSizes(const Shape& a, const Shape& b) {
  return IsPlainArray(a) && IsPlainArray(b) && a.dimensions() == b.dimensions();
}
inline int64_t RankOf(const Shape& shape) {
  return static_cast<int64_t>(shape.dimensions().size());
}
inline bool IsScalarOf(const Shape& shape, PrimitiveType type) {
  return IsPlainArray(shape) && shape.dimensions().empty() &&
         shape.element_type() == type;
}
inline bool IsIntegralScalar(const Shape& shape) {
  return IsPlainArray(shape) && shape.dimensions().empty() &&
         primitive_util::IsIntegralType(shape.element_type());
}
inline bool IsUnbounded(int64_t size) { return size == Shape::kUnboundedSize; }

// Sets of dimensions of arrays whose rank is at most kMaxRank.
class DimSet {
 public:
  static constexpr int64_t kMaxRank = 64;

  // False if the dimension is out of range or there already.
  bool Add(int64_t dim, int64_t rank) {
    if (dim < 0 || dim >= rank || rank > kMaxRank) return false;
    const uint64_t bit = uint64_t{1} << dim;
    if ((bits_ & bit) != 0) return false;
    bits_ |= bit;
    return true;
  }
  bool Has(int64_t dim) const { return (bits_ >> dim & 1) != 0; }

 private:
  uint64_t bits_ = 0;
};

}  // namespace xla::verifier

#endif  // XLA_HLO_VERIFIER_RULES_H_
