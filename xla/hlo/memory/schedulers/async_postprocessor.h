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
  kAsScheduled,  // where memory wants them
  kOverlap,      // see OverlapAsync()
};

// as-scheduled, overlap.
bool AbslParseFlag(absl::string_view text, AsyncPlacement* placement,
                   std::string* error);
std::string AbslUnparseFlag(AsyncPlacement placement);

// Null for kAsScheduled.
SchedulerPostprocessor MakeAsyncPostprocessor(AsyncPlacement placement);

// Moves starts and dones so that transfers overlap with computation, as GPU
// schedules want it; all else keeps its order.
//
//   a                          a
//   b                          start(a)   as soon as what it waits for has run
//   start(a)             ==>   b
//   done                       c
//   c                          done       right before what waits for it
//   use(done)                  use(done)
//
// A pair that is marked as synchronous (IsSynchronous) overlaps with nothing:
// its start moves down to its done. What moves are starts and dones of
// all-gather, all-reduce, collective-permute, copies and async operations, and
// custom calls whose schedule attribute asks for it; send and recv stay, since
// their order may matter to the other side. Operands and control dependencies
// are heeded. A start or done moves across others as far as it can, so that
// what is in flight holds more memory than the order had. O(instructions +
// edges).
HloInstructionSequence OverlapAsync(const HloInstructionSequence& sequence);

// Whether the backend config of the start says that nothing may run between it
// and its done: {"is_sync": true}, itself or in "collective_backend_config".
// The operation that an async-start wraps may say so too.
bool IsSynchronous(const HloInstruction& start);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_ASYNC_POSTPROCESSOR_H_
