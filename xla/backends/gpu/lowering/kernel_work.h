#ifndef XLA_BACKENDS_GPU_LOWERING_KERNEL_WORK_H_
#define XLA_BACKENDS_GPU_LOWERING_KERNEL_WORK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {

// What the warps of a kernel execute, and how long the longest of them takes if
// nothing but its own dependences holds it up: what a price is made of.
//
//   for %k : serial [0, 4) { %v[0] = copy(%p[32*k + t]) … add … }  sync block
//   -> 4 instructions that load, 4 sectors each; one wait for memory, since
//      the loop is unrolled; 4 additions behind one another; a barrier
//
// Found by walking the kernel as a few of its warps would, without data:
// addresses, predicates and bounds are numbers, except where they depend on
// what was read; these are 0, and branches on them are taken. Iterations that
// are alike are walked once.
struct KernelWork {
  int64_t blocks = 0;
  int64_t threads = 0;  // of a block

  // Sums over all warps. Instructions count as often as they take an issue slot
  // of a multiprocessor's quarter.
  double instructions = 0;
  // 32 bytes of global memory that a warp reads or writes at once; those that
  // it has read before; and instructions that do so.
  double sectors_read = 0, sectors_again = 0, sectors_written = 0;
  double loads = 0, stores = 0;
  double atomics = 0;  // sectors of those
  // Accesses to shared memory, as often as banks make a warp repeat them.
  double shared_accesses = 0;
  double products = 0;  // of fragments of matrices
  double copies = 0;    // to shared memory, which nobody waits for at once

  // What the slowest warp waits for, one after the other.
  struct Chain {
    double memory = 0;        // reads of global memory
    double shared = 0;        // accesses to shared memory
    double barriers = 0;      // of a block
    double shuffles = 0;      // exchanges within a warp
    double instructions = 0;  // cycles of those that depend on one another
  };
  Chain chain;
  double chain_instructions = 0;  // all of that warp
};

// Errors: expressions without a value (see CompileKernel). O(statements,
// unrolled, * warps walked), two warps for each part of a kernel.
absl::StatusOr<KernelWork> WorkOfKernel(const kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_KERNEL_WORK_H_
