#ifndef XLA_BACKENDS_GPU_LOWERING_KERNEL_SKELETON_H_
#define XLA_BACKENDS_GPU_LOWERING_KERNEL_SKELETON_H_

#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {

// What a planner of shared memory sees of a kernel: shared buffers, accesses to
// them, barriers, and the loops and branches around those.
//
//   before: kernel @softmax_7 { param %p0 … alloc %v0 … alloc %s0 : shared …
//             %v0[0] = copy(%p0[b0, t1])      %v1[0] = exp(%v0[0])
//             %s0[t1] = copy(%v1[0])          sync block
//             %v2[0] = copy(%s0[t1 + 32]) }
//   after:  kernel @k { alloc %s0 : shared …  alloc %v : local f32[1]
//             %s0[t1] = full(1.0)             sync block
//             %v[0] = copy(%s0[t1 + 32]) }
//
// The plan of one is the plan of the other. Kernels that compute different
// things in the same way have one skeleton: reductions of as many threads.
// Loops are named in order, and where blocks do the same, or skip the same
// parts, there is one of each. Loops whose iterations all do the same, such as
// that over the steps of a tiled product, have at most 16. Only kernels of
// copies from and to shared memory and barriers of a block, a warp or a grid:
// those that are lowered here.
kir::Kernel KernelSkeleton(const kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_KERNEL_SKELETON_H_
