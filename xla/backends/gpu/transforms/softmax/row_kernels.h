#ifndef XLA_BACKENDS_GPU_TRANSFORMS_SOFTMAX_ROW_KERNELS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_SOFTMAX_ROW_KERNELS_H_

#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Instructions that might become one kernel: all but the last one are read by
// others of them only. Operands come first.
using RowKernel = std::vector<HloInstruction*>;

// Instructions computed from scalar constants alone: each kernel gets its own
// copy.
bool IsUniformConstant(const HloInstruction& instruction);

// The largest such sets of a computation in which a reduction's result goes
// back to what is reduced, in the order of their results. None has an
// instruction in common with another one. O(instructions).
std::vector<RowKernel> FindRowKernels(const HloComputation& computation);

// Without what comes before the first reductions, but for what only these read.
RowKernel WithoutProducers(const RowKernel& kernel);

// Without what comes after the last use of a reduction's broadcast result.
RowKernel WithoutReaders(const RowKernel& kernel);

// How many reductions are the longest chain of them.
int ReductionsInARow(const RowKernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_SOFTMAX_ROW_KERNELS_H_
