#ifndef XLA_BACKENDS_GPU_SMEM_CHECK_SMEM_PLAN_CHECKER_H_
#define XLA_BACKENDS_GPU_SMEM_CHECK_SMEM_PLAN_CHECKER_H_

#include "absl/status/status.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// Checks a plan without running it, from the planned kernel alone: the
// planner's live ranges, arcs and reasons are not consulted.
//
//   P1  an address is a multiple of the alignment asked for, and every buffer
//       ends below the total
//   P2  for two buffers whose bytes overlap, and each access a of one and b of
//       the other, one of them a write: on every path from a to b (in one
//       iteration of the loops around both, or around the back edge of one of
//       them) all threads synchronize, after the wait for a if it is a transfer
//       and after a fence if b uses another proxy; or no two threads touch a
//       common byte; or only threads of one warp do, and the warp synchronizes
//   P3  each read finds its own buffer: every path from a write of the other
//       buffer to the read has a write of its own buffer to all that it reads
//
// Paths are statements in program order. A barrier counts if the whole block
// reaches it: outside of branches that split a block, in loops that surely run
// because their bounds are numbers. Bytes are enumerated over threads and
// iterations under the kernel's bindings; what cannot be enumerated counts as
// all bytes, touched by all threads.
//
// FailedPrecondition names the condition, both statements and the file's line.
// Sound but not complete: it may refuse a plan that is correct for reasons
// beyond these rules. Races inside one buffer, and whether a reduction finds
// the value that it adds to, are checked elsewhere (race_checker.h).
// O(accesses^2 * loops * statements + points of their footprints); pairs with a
// barrier of the block between them take constant time, but around loops.

namespace xla::gpu {

absl::Status CheckSmemPlan(const SmemPlan& plan);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_CHECK_SMEM_PLAN_CHECKER_H_
