#ifndef XLA_BACKENDS_GPU_PROGRAM_PROGRAM_MEMORY_H_
#define XLA_BACKENDS_GPU_PROGRAM_PROGRAM_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/program/kernel_alias_info.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

// Where a program that runs a module has its values: the plan of the pass
// assign-offsets, its allocations one behind the other in one block of memory,
// and results among the temporaries, whose memory they take when these are
// gone.
//
//   allocation 0: p 24 bytes; 1: temporaries and results, 128 bytes
//   -> p at 0, temporaries and results at 64; 192 bytes
//
// Tuples need no memory: all addresses are known.

namespace xla::gpu {

struct ProgramMemory {
  std::unique_ptr<BufferAssignment> assignment;
  std::vector<int64_t> starts;  // of allocations, bytes; -1: none needed
  int64_t bytes = 0;
  int64_t copies = 0;  // that were added to the module

  // In bytes from the start. FailedPrecondition where it has no single place.
  absl::StatusOr<int64_t> OffsetOf(const HloInstruction* hlo,
                                   const ShapeIndex& index = {}) const;
};

// Plans the memory of a scheduled module, and first adds the copies without
// which no plan is right: of a value that a loop, a branch or a kernel writes
// over while it is still to be read. The first plan and each next one are run
// on labeled memory (memory_replay.h), which finds them.
//
//   before: w = while((c, x)), …; r = add(c, …)   the loop's state is c's
//   memory after:  d = copy(c); w = while((c, x)), …; r = add(d, …)
//
// FailedPrecondition, naming instruction and value, where a copy does not help.
absl::StatusOr<ProgramMemory> PlanProgramMemory(HloModule* module,
                                                const KernelAliasInfo& aliases);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_PROGRAM_PROGRAM_MEMORY_H_
