#ifndef XLA_BACKENDS_GPU_LOWERING_KERNEL_SKELETON_H_
#define XLA_BACKENDS_GPU_LOWERING_KERNEL_SKELETON_H_

#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {

// What a planner of shared memory sees of a kernel: shared buffers, the
// accesses to them, barriers, and the loops and branches around those.
//
//   before: kernel @softmax_7 { param %p0 … alloc %v0 … alloc %s0 : shared …
//             %v0[0] = copy(%p0[b0, t1])      %v1[0] = exp(%v0[0])
//             %s0[t1] = copy(%v1[0])          sync block
//             %v2[0] = copy(%s0[t1 + 32]) }
//   after:  kernel @k { alloc %s0 : shared …  alloc %v : local f32[1]
//             %s0[t1] = full(1.0)             sync block
//             %v[0] = copy(%s0[t1 + 32]) }
//
// A plan of the skeleton is a plan of the kernel. Kernels that compute
// different things in the same way, such as reductions with equally many
// threads, share one skeleton. Loops are named in order; of blocks that do the
// same, or skip the same parts, one is kept. A loop whose iterations are all
// alike, or take turns (k % 3), such as that over the steps of a tiled product,
// is cut to 16 and what is left of the turns.
// Only for kernels of copies from and to shared memory and barriers of a block,
// a warp or a grid, as they are lowered here.
kir::Kernel KernelSkeleton(const kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_KERNEL_SKELETON_H_
