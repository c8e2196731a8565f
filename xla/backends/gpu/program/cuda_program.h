#ifndef XLA_BACKENDS_GPU_PROGRAM_CUDA_PROGRAM_H_
#define XLA_BACKENDS_GPU_PROGRAM_CUDA_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/hlo/ir/hlo_module.h"

// A scheduled module as a CUDA program that needs no framework: readable
// source, compiled ahead of time.
//
//   before: f = f32[8] fusion(p), …
//           ROOT w = (s32[], f32[8]) while(…), condition=c, body=b
//   after:  __global__ void f_kernel(const float* p_p0, float* p_out0) {…}
//           static void Run_b() {…}
//           static void Run_main() {
//             RUN("f", launch_f(At(0), At(64), stream));
//             for (;;) { Run_c(); if (!Read<bool>(128)) break; Run_b(); }
//           }
//
//   ./program INPUTS.npz RESULTS.npz [--timings=FILE.json] [--repeat=TIMES]
//             [--graphs=0] [--tf32] [--products=own] [--workspace=BYTES]
//
// --timings has the median microseconds of a whole step and of each kernel,
// less what measuring adds. Launches between which the host waits for nothing
// are one CUDA graph, from the second time on (program_steps.h). Dots of 2^20
// multiplications and more are cuBLASLt's, in f32 unless --tf32 allows less,
// without memory of its own unless --workspace gives it some (library_dot.h).
//
// All values are in one allocation on the device, those of other memory spaces
// as well, where the plan of assign-offsets has them (program_memory.h);
// tuples, get-tuple-elements and bitcasts are addresses, copies that move
// nothing about are memcpys, loops and conditionals are on the host, which
// reads the predicate back where it does not know the trip count. Inputs are
// named as hlo-run names them (arg0, arg1.2, or by the parameter), results out,
// out.0, …

namespace xla::gpu {

struct CudaProgramOptions {
  std::string device = "sm_90";  // whose shared memory kernels may use
  // What is known of the device itself, instead of its name.
  std::optional<GpuDevice> described;
  FusionLoweringOptions lowering;
  // Constants go into the source, as text.
  int64_t max_constant_bytes = int64_t{16} << 20;
};

struct CudaProgram {
  // By name: program.cu, Makefile, CMakeLists.txt, and host_shim.h, behind
  // which a C++ compiler makes a program that needs no GPU.
  std::vector<std::pair<std::string, std::string>> files;
  int64_t kernels = 0;
  int64_t memory_bytes = 0;
};

// FailedPrecondition for a module that has no schedule, is for several devices,
// or has no plan of its memory; Unimplemented, with opcode, reason and
// instruction, for what has no kernel.
absl::StatusOr<CudaProgram> EmitCudaProgram(
    const HloModule& module, const CudaProgramOptions& options = {});

// Writes the files into a folder, which is made if it is not there.
absl::Status WriteCudaProgram(const CudaProgram& program,
                              const std::string& folder);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_PROGRAM_CUDA_PROGRAM_H_
