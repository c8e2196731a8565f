#ifndef XLA_BACKENDS_GPU_SMEM_CHECK_SMEM_PLAN_CHECKER_H_
#define XLA_BACKENDS_GPU_SMEM_CHECK_SMEM_PLAN_CHECKER_H_

#include "absl/status/status.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// Checks a plan without running it, from the planned kernel alone: what the
// planner thought, its lives, arcs and reasons, is not looked at.
//
//   P1  an address is a multiple of the alignment asked for, and every buffer
//       ends below the total
//   P2  two buffers whose bytes overlap: for each access a of one and b of the
//       other, a write among them, on every way from a to b (in one iteration
//       of the loops around both, or around the back edge of one of them) all
//       threads meet, behind the wait for a if it is a transfer and behind a
//       fence if b comes by another proxy; or no two threads touch a common
//       byte with them; or only threads of one warp do, and the warp meets
//   P3  and each read finds its own buffer: on every way from a write of the
//       other one to it lies a write of its own to all that it reads
//
// Ways are statements in program order. A barrier counts where the whole block
// comes by: outside of branches that split a block, in loops that surely run by
// bounds that are numbers. Bytes are enumerated over threads and iterations
// under the kernel's bindings; what cannot be enumerated counts as all bytes,
// by all threads.
//
// FailedPrecondition names the condition, both statements and the file's line.
// Sound, not complete: a plan that it refuses may be right for a reason that
// takes more than this. Races inside one buffer, and whether a reduction finds
// what it is to add to, are not its business (race_checker.h). O(accesses^2 *
// loops + points of their footprints).

namespace xla::gpu {

absl::Status CheckSmemPlan(const SmemPlan& plan);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_CHECK_SMEM_PLAN_CHECKER_H_
