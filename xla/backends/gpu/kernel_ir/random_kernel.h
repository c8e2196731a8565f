#ifndef XLA_BACKENDS_GPU_KERNEL_IR_RANDOM_KERNEL_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_RANDOM_KERNEL_H_

#include <cstdint>

#include "xla/backends/gpu/kernel_ir/kernel.h"

// Random kernels for tests of planners: shared buffers of several element types
// that are filled, read by other threads and filled again, in loops up to three
// deep, with barriers at random places (missing ones are for the planner to
// find), loops that never run, and branches that are taken by some threads, or
// by all or none.
//
// Kernels read only what they have written; each statement writes a byte once,
// or the same value in all threads. The same seed gives the same kernel.

namespace xla::gpu {

struct RandomKernelOptions {
  int max_buffers = 10;
  int max_depth = 3;
  int max_threads = 64;
  // A chain of stages, each with its own buffer, for kernels with many buffers.
  bool chain = false;
};

kir::Kernel MakeRandomKernel(uint64_t seed,
                             const RandomKernelOptions& options = {});

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_RANDOM_KERNEL_H_
