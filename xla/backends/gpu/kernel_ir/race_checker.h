#ifndef XLA_BACKENDS_GPU_KERNEL_IR_RACE_CHECKER_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_RACE_CHECKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Runs one block of a kernel on a machine of its own: every thread has its own
// program counter, a random thread advances at each step, transfers complete as
// late as waits allow, and a shadow of shared memory (smem_shadow.h) reports
// each access that nothing orders. It does not know how memory was planned: it
// sees only the addresses and barriers of the kernel. Of global memory it sees
// what `option own` promises: that each element is one thread's of the block.
//
// Races do not depend on the order that the threads happened to run in; values
// do only where there are races. O(steps * threads that read a byte).

namespace xla::gpu {

struct KernelRunOptions {
  uint64_t seed = 0;  // of the order of threads
  // Gives every buffer its own memory, whatever its address.
  bool own_memory = false;
  bool check_races = true;
  // Runs every block of the grid, one after another, on the same parameters;
  // otherwise only the one whose number along x is `block`.
  bool all_blocks = false;
  int64_t block = 0;
  // Limits of the instructions of all threads of all blocks together, and of
  // the bytes of the machine; -1: no limit.
  int64_t max_steps = int64_t{1} << 25;
  int64_t max_bytes = int64_t{1} << 29;
};

struct KernelRun {
  std::vector<std::string> races;  // distinct, sorted
  // The contents of each parameter after the run, in order of declaration.
  std::vector<std::vector<double>> params;
  int64_t steps = 0;
};

// `inputs`: initial values per parameter; missing ones are small numbers that
// depend on position and parameter. Errors: sizes or indices that are not
// numbers, an operation that is not modeled (Unimplemented), barriers that
// some threads never reach (FailedPrecondition), an index out of bounds
// (OutOfRange), more steps or bytes than the options allow (ResourceExhausted).
// Bytes, and the steps of loops with known bounds, are counted before the run.
absl::StatusOr<KernelRun> RunKernel(
    const kir::Kernel& kernel,
    const std::vector<std::vector<double>>& inputs = {},
    const KernelRunOptions& options = {});

// Runs the first block and, if loops over blocks end before the grid does, the
// first block outside of all of them. OK if `seeds` runs find no race and leave
// the same results as a run in which every buffer has its own memory; otherwise
// FailedPrecondition, which says what is wrong.
absl::Status CheckRaces(const kir::Kernel& kernel, int seeds = 2,
                        KernelRunOptions options = {});

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_RACE_CHECKER_H_
