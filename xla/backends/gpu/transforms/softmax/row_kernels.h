#ifndef XLA_BACKENDS_GPU_TRANSFORMS_SOFTMAX_ROW_KERNELS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_SOFTMAX_ROW_KERNELS_H_

#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Instructions that might become one kernel: all except the last one are read
// only by others of them. Operands come first.
using RowKernel = std::vector<HloInstruction*>;

// Instructions computed from scalar constants alone: each kernel gets its own
// copy.
bool IsUniformConstant(const HloInstruction& instruction);

// The largest such sets of a computation in which a reduction's result is
// combined with what is reduced, in the order of their results. They are
// disjoint. O(instructions).
std::vector<RowKernel> FindRowKernels(const HloComputation& computation);

// Without the instructions before the first reductions that have other readers.
RowKernel WithoutProducers(const RowKernel& kernel);

// Without the instructions after the last use of a reduction's broadcast
// result.
RowKernel WithoutReaders(const RowKernel& kernel);

// The last of several reductions, what leads to it alone and what follows from
// it. Empty if there is only one, or if the last one's result does not go back.
RowKernel OfLastReduction(const RowKernel& kernel);

// Whether each result of a reduction is combined with one other value where it
// goes back, and not with two, as in a selection.
bool CombinesPairs(const RowKernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_SOFTMAX_ROW_KERNELS_H_
