#ifndef XLA_BACKENDS_GPU_CODEGEN_CUDA_EMITTER_H_
#define XLA_BACKENDS_GPU_CODEGEN_CUDA_EMITTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// A planned kernel as CUDA C++: one translation unit with the kernel, a
// function that launches it, and on request a main() that compares its results
// with what the interpreter of race_checker.h computed.
//
//   %A[x] = copy(%in[x])  ->  s_A[i_x] = kir_to<float>(p_in[i_x]);
//   alloc %A addr(128)    ->  float* const s_A =
//                                 reinterpret_cast<float*>(kir_smem + 128);
//   for %x : tidx [0, 64) ->  { const Index i_x = threadIdx.x; if (i_x < 64) …
//
// Addresses are the plan's expressions over the launch symbols, so one kernel
// serves all of them. No pointer is __restrict__: buffers share bytes. Barriers
// inside expressions are met by all threads, also those beyond a thread loop's
// extent. Bulk transfers are copies by one thread, and their waits barriers of
// the block. A vectorized loop that copies aligned neighbors, from or to a
// parameter or an array with that vector width, is one access; others are
// unrolled. Parameters that are read or written so must be aligned to the bytes
// of the vectors, at most 16, as memory from cudaMalloc is: the launch checks
// it and returns cudaErrorMisalignedAddress.
//
// Compiles with nvcc -std=c++17, and as C++ behind a header that declares the
// CUDA names (cuda_shim.h).

namespace xla::gpu {

struct CudaEmitOptions {
  bool with_main = false;
  // One of several kernels in a file: emits int check_NAME() instead of main(),
  // to be called by a main() that the caller writes.
  bool is_part = false;
  // What every file begins with; not for the second of several kernels.
  bool with_prelude = true;
  // Results with more elements are not compared.
  int max_compared = 4096;
  // Steps of the interpreter that finds what results to expect; -1: no limit.
  int64_t max_steps = int64_t{1} << 25;
};

// What the functions of the kernel @NAME are called after: NAME_kernel,
// launch_NAME, check_NAME. NAME itself, unless it has dots.
std::string CudaKernelName(absl::string_view name);

// Unimplemented, with its place, for sort, topk and scan, complex numbers,
// barriers of a group, and register buffers whose size is no number.
absl::StatusOr<std::string> EmitCuda(const SmemPlan& plan,
                                     const CudaEmitOptions& options = {});

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_CODEGEN_CUDA_EMITTER_H_
