#ifndef XLA_BACKENDS_GPU_PROGRAM_PROGRAM_ARRAYS_H_
#define XLA_BACKENDS_GPU_PROGRAM_PROGRAM_ARRAYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/program/program_memory.h"
#include "xla/hlo/ir/hlo_module.h"

// What a program reads from and writes to .npz files, as initializers of the
// `Array`s of its runtime, a line for each leaf:
//
//   p = (f32[], f32[3,5]) parameter(0)
//   -> {{"arg0.0", "arr_0.0", "p.0"}, "<f4", 4, 0, false, {}, {}, 64},
//      {{"arg0.1", "arr_0.1", "p.1"}, "<f4", 4, 0, false, {3, 5}, {1, 0}, 0},

namespace xla::gpu {

// Names are those of hlo-run, of numpy.savez, and the parameter's own.
absl::StatusOr<std::string> InputArrays(const HloModule& module,
                                        const ProgramMemory& memory);

// out, or out.0, out.1.2, …
absl::StatusOr<std::string> ResultArrays(const HloModule& module,
                                         const ProgramMemory& memory);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_PROGRAM_PROGRAM_ARRAYS_H_
