#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KIR_VERIFIER_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KIR_VERIFIER_H_

#include "absl/status/status.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Checks what every kernel must satisfy before it is planned, run or emitted:
//
//   K1  a buffer is allocated once, before its uses and in a block around them
//   K2  an operand has one index per dimension; names in expressions are known
//   K3  extents mention symbols only and are positive where they are numbers
//   K4  promote, swizzle and circ ask for shared memory
//   K5  alignments are powers of two; swizzles 0, 32, 64 or 128; vectors at
//       most 16 bytes; 0 <= prefetch < stages; one axis per dimension, or none
//   K6  an alias is to an earlier buffer of the same memory, itself no alias
//   K7  loops step by a positive constant; no two nested loops run over the
//       same thread or block dimension
//   K8  a barrier is met by every thread it waits for: none of the block in a
//       divergent or per-warp branch, in a loop whose trip count depends on the
//       thread, or in a thread loop that does not cover the block; of a warp
//       likewise, but for thread loops and branches that take no warp apart
//   K9  memory of the kernel's own is written before it is read
//   K10 mbarrier operations name shared u64 buffers and are known
//   K11 a block has 1 to 1,024 threads
//   K12 atomics are on global or shared memory
//   K13 whole warps multiply fragments, which are as in warp_mma.h
//   K14 `option own` names global arrays
//
// Errors are InvalidArgument, with the number of the rule and the place. O(size
// of the kernel).

namespace xla::gpu::kir {

struct KirVerifierOptions {
  // Skips K8, to show that a planner does not rely on divergent barriers.
  bool allow_divergent_barriers = false;
};

absl::Status VerifyKernel(const Kernel& kernel,
                          const KirVerifierOptions& options = {});

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KIR_VERIFIER_H_
