#ifndef XLA_HLO_MEMORY_SCHEDULERS_ASYNC_POSTPROCESSOR_H_
#define XLA_HLO_MEMORY_SCHEDULERS_ASYNC_POSTPROCESSOR_H_

#include <string>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// Where a scheduler puts starts and dones of asynchronous operations.
enum class AsyncPlacement {
  kAsScheduled,  // where memory is lowest
  kOverlap,      // see OverlapAsync()
};

// as-scheduled, overlap.
bool AbslParseFlag(absl::string_view text, AsyncPlacement* placement,
                   std::string* error);
std::string AbslUnparseFlag(AsyncPlacement placement);

// Null for kAsScheduled.
SchedulerPostprocessor MakeAsyncPostprocessor(AsyncPlacement placement);

// Moves starts and dones so that transfers overlap with computation, as suits
// GPUs; all other instructions keep their order.
//
//   a                          a
//   b                          start(a)   as soon as what it waits for has run
//   start(a)             ==>   b
//   done                       c
//   c                          done       right before what waits for it
//   use(done)                  use(done)
//
// A pair that is marked as synchronous (IsSynchronous) overlaps with nothing:
// its start moves down to its done. Starts and dones of all-gather, all-reduce,
// collective-permute, copies and async operations move, and custom calls whose
// schedule attribute requests it; send and recv stay, since their order may
// matter to the other side. Operands and control dependencies are respected. A
// start or done moves as far as it can, so transfers in flight hold more memory
// than in the given order. O(instructions + edges).
HloInstructionSequence OverlapAsync(const HloInstructionSequence& sequence);

// Whether the backend config of the start says that nothing may run between it
// and its done: {"is_sync": true}, itself or in "collective_backend_config".
// The operation that an async-start wraps may say so too.
bool IsSynchronous(const HloInstruction& start);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_ASYNC_POSTPROCESSOR_H_
