#ifndef XLA_BACKENDS_GPU_PROGRAM_PROGRAM_RUNTIME_H_
#define XLA_BACKENDS_GPU_PROGRAM_PROGRAM_RUNTIME_H_

namespace xla::gpu {

// What the host side of every program has: arrays in .npz files, the one
// allocation, times of kernels. Goes between the kernels and the tables and
// launches of the module; kProgramMain goes behind those.
extern const char kProgramRuntime[];
extern const char kProgramMain[];
// Behind kProgramRuntime, where there are `Product`s (library_dot.h).
extern const char kProgramProducts[];

// cuda_fibers.h, cuda_shim.h and cublas_shim.h as one file.
extern const char kHostShim[];

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_PROGRAM_PROGRAM_RUNTIME_H_
