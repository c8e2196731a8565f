#ifndef XLA_HLO_EVALUATOR_KERNELS_H_
#define XLA_HLO_EVALUATOR_KERNELS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/device.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

// The opcodes that compute a value from operands alone, one function each, by
// topic; a topic is a file.

namespace xla {
namespace evaluator {

// Context of a kernel besides the operands: limits, seeds, and the device for
// computations to apply that are no lane programs.
struct KernelContext {
  Device& device;
  MemoryBudget* budget;
};

// Operands are handles of the kernel: it may take over the buffer of one that
// is unique(). Errors need not name the instruction; the caller does that.
using Kernel = absl::StatusOr<Value> (*)(const HloInstruction* instruction,
                                         absl::Span<Value> operands,
                                         KernelContext& context);

// Null for opcodes without a kernel: control flow, which the device does, and
// those that it stops at.
Kernel KernelFor(HloOpcode opcode);

#define XLA_EVALUATOR_KERNEL(Name)                              \
  absl::StatusOr<Value> Name(const HloInstruction* instruction, \
                             absl::Span<Value> operands,        \
                             KernelContext& context);

// elementwise.cc
XLA_EVALUATOR_KERNEL(EvaluateElementwise)
XLA_EVALUATOR_KERNEL(EvaluateSelect)
XLA_EVALUATOR_KERNEL(EvaluateMap)
// fusion_loop.cc: a fusion whose computation is `loop`, no value of which but
// the results is in memory.
absl::StatusOr<Value> EvaluateFusionLoop(const LaneProgram& loop,
                                         const HloInstruction* fusion,
                                         absl::Span<Value> operands,
                                         MemoryBudget* budget);
// Where mixed precision lets floating-point types differ: an array of another
// one becomes one of `type`; all else stays.
absl::Status ConvertInPlace(Value& value, PrimitiveType type,
                            MemoryBudget* budget);
// reduce.cc: the same for what a function reduces, arrays and initial values:
// they become of the types of its parameters.
absl::Status ConvertToParameters(const HloComputation& function,
                                 absl::Span<Value> operands,
                                 MemoryBudget* budget);
// layout_ops.cc: sizes of the dynamic dimensions of what is reshaped, where
// bounds of operand and result have common factors that leave one of them to
// each:
//
//   f32[<=4,<=6] of 3 x 5 → f32[<=4,1,<=6]: 3 x 1 x 5
//
// Leaves bounds where they do not.
void FillDynamicSizes(const Shape& from, absl::Span<const int64_t> sizes,
                      const Shape& to, DimensionVector* dims);
// bitcast.cc
XLA_EVALUATOR_KERNEL(EvaluateBitcast)
XLA_EVALUATOR_KERNEL(EvaluateBitcastConvert)
// layout_ops.cc
XLA_EVALUATOR_KERNEL(EvaluateBroadcast)
XLA_EVALUATOR_KERNEL(EvaluateConcatenate)
XLA_EVALUATOR_KERNEL(EvaluateIota)
XLA_EVALUATOR_KERNEL(EvaluatePad)
XLA_EVALUATOR_KERNEL(EvaluateReshape)
XLA_EVALUATOR_KERNEL(EvaluateReverse)
XLA_EVALUATOR_KERNEL(EvaluateSlice)
XLA_EVALUATOR_KERNEL(EvaluateTranspose)
// dynamic_ops.cc
XLA_EVALUATOR_KERNEL(EvaluateDynamicReshape)
XLA_EVALUATOR_KERNEL(EvaluateDynamicSlice)
XLA_EVALUATOR_KERNEL(EvaluateDynamicUpdateSlice)
XLA_EVALUATOR_KERNEL(EvaluateGetDimensionSize)
XLA_EVALUATOR_KERNEL(EvaluateSetDimensionSize)
// structural_ops.cc
XLA_EVALUATOR_KERNEL(EvaluateAfterAll)
XLA_EVALUATOR_KERNEL(EvaluateCopyStart)
XLA_EVALUATOR_KERNEL(EvaluateElementZero)
XLA_EVALUATOR_KERNEL(EvaluateElementOne)
XLA_EVALUATOR_KERNEL(EvaluateGetTupleElement)
XLA_EVALUATOR_KERNEL(EvaluatePassThrough)
XLA_EVALUATOR_KERNEL(EvaluateTuple)
// reduce.cc, reduce_window.cc, select_and_scatter.cc, scan.cc
XLA_EVALUATOR_KERNEL(EvaluateReduce)
XLA_EVALUATOR_KERNEL(EvaluateReduceWindow)
XLA_EVALUATOR_KERNEL(EvaluateSelectAndScatter)
XLA_EVALUATOR_KERNEL(EvaluateScan)
// dot.cc, ragged_dot.cc, convolution.cc
XLA_EVALUATOR_KERNEL(EvaluateDot)
XLA_EVALUATOR_KERNEL(EvaluateScaledDot)
XLA_EVALUATOR_KERNEL(EvaluateRaggedDot)
XLA_EVALUATOR_KERNEL(EvaluateConvolution)
// gather_scatter.cc
XLA_EVALUATOR_KERNEL(EvaluateGather)
XLA_EVALUATOR_KERNEL(EvaluateScatter)
// sort.cc
XLA_EVALUATOR_KERNEL(EvaluateSort)
XLA_EVALUATOR_KERNEL(EvaluateTopK)
// rng.cc
XLA_EVALUATOR_KERNEL(EvaluateRng)
XLA_EVALUATOR_KERNEL(EvaluateRngBitGenerator)
XLA_EVALUATOR_KERNEL(EvaluateRngGetAndUpdateState)
// linalg.cc, fft.cc, batch_norm.cc
XLA_EVALUATOR_KERNEL(EvaluateCholesky)
XLA_EVALUATOR_KERNEL(EvaluateTriangularSolve)
XLA_EVALUATOR_KERNEL(EvaluateFft)
XLA_EVALUATOR_KERNEL(EvaluateBatchNormTraining)
XLA_EVALUATOR_KERNEL(EvaluateBatchNormInference)
XLA_EVALUATOR_KERNEL(EvaluateBatchNormGrad)

#undef XLA_EVALUATOR_KERNEL

// Elements of one type as those of another, as by the convert instruction.
void ConvertElements(PrimitiveType from, const void* elements, int64_t n,
                     PrimitiveType to, void* out);
// The array converted likewise.
absl::StatusOr<Value> ConvertValue(Value value, PrimitiveType type,
                                   MemoryBudget* budget);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_KERNELS_H_
