#ifndef XLA_BACKENDS_GPU_SMEM_BASELINE_REQUIRED_SYNCS_H_
#define XLA_BACKENDS_GPU_SMEM_BASELINE_REQUIRED_SYNCS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/kernel_positions.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// Barriers and waits that data dependences require, whatever the addresses:
// what nvFuser inserts after it has assigned memory.
//
//   before: %A[x, y] = …          after: %A[x, y] = …
//           … = f(%A[y, x])              sync block        (RAW)
//                                        … = f(%A[y, x])
//
// RAW: between a write and a read of shared memory where a thread may read what
// another one wrote: in some dimension of the block the write is not parallel
// (one thread does it for all) and the read is not so as well, or the write is
// parallel and the read finds its elements by another index. One barrier
// covers all pending writes; it stands as late as possible, in the innermost
// loop that holds the reader and any of the writes. Global memory that blocks
// pass to one another takes a grid barrier.
// WAR: at the end of a non-trivial loop that writes such a buffer and reads it,
// without a barrier before the first write or after the last read.
// Asynchronous copies: cp.async groups are committed and waited for before the
// barrier that makes them visible. Bulk stores get a proxy fence before them,
// and a commit and a wait before the first reader of their result (at the
// kernel's end when there is none) and at the end of loops that write their
// source again; in a circular buffer of s stages that loads p ahead, s - p - 1
// groups may stay in flight there.
//
// Left to the author: loads with an mbarrier; circular buffers that are loaded
// ahead, whose waits the split loop holds (circular_buffering.h).

namespace xla::gpu {

struct RequiredSyncs {
  std::vector<Insertion> insertions;  // sorted by anchor
  std::vector<SmemSync> syncs;        // one per insertion, without positions
};

// InvalidArgument, with its place, for a register that threads would have to
// pass to one another.
// Accesses to `settled` buffers are in order already.
absl::StatusOr<RequiredSyncs> RawSyncs(
    const kir::Kernel& kernel, const KernelPositions& positions,
    absl::Span<const kir::BufferId> settled = {});
// Over a kernel that has the syncs of RawSyncs.
RequiredSyncs WarSyncs(const kir::Kernel& kernel,
                       const KernelPositions& positions,
                       absl::Span<const kir::BufferId> settled = {});

// A copy with the barriers that passing values through global memory takes, for
// planners that look at shared memory alone.
absl::StatusOr<kir::Kernel> InsertGlobalSyncs(const kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_BASELINE_REQUIRED_SYNCS_H_
