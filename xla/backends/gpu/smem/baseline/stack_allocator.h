#ifndef XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_ALLOCATOR_H_
#define XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_ALLOCATOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/baseline/stack_alias.h"
#include "xla/backends/gpu/smem/baseline/stack_liveness.h"
#include "xla/backends/gpu/smem/kernel_positions.h"

// Addresses of shared memory by a stack with delayed pushes, and the barriers
// that promoted buffers need first: nvFuser's rules as of April 2026.

namespace xla::gpu {

// Whether reuse counts the statement as a barrier: syncs of the block or the
// grid, expressions that hold one, scans and sorts. Trip counts, branches
// around and the group that joins are not looked at, which is why the default
// planner has a stricter notion.
bool IsStackBarrier(const kir::Statement& statement);

// Effective lives of shared allocations that are not aliases: from their own
// first write to the last read of themselves and of their aliasers. By buffer;
// empty intervals ({-1, -1}) for all others.
std::vector<LiveInterval> EffectiveLives(const StackLiveness& liveness,
                                         const AliasResult& aliases,
                                         const kir::Kernel& kernel);

// Where block barriers go so that every promoted buffer can be reused by the
// next shared buffer written after its last read.
//
// Each such pair asks for a barrier strictly between the two; as few as
// possible are placed, each as late as possible (directly before the statement
// that begins the later life), and barriers that are there count. Greedy
// stabbing of intervals by right ends. O(positions * promoted buffers).
// Positions are sorted and name statements.
std::vector<int> PromotionBarriers(const kir::Kernel& kernel,
                                   const KernelPositions& positions,
                                   const StackLiveness& liveness,
                                   const AliasResult& aliases);

// Bytes: the swizzle's (128, 256, 512, 1024), else the buffer's own alignment,
// else `option min_align`, else 128.
int64_t StackAlignment(const kir::Kernel& kernel, const kir::Buffer& buffer);

// Sets Buffer::address of every shared buffer that is not an alias.
//
// Buffers wait from their first write on. At a barrier those that are waiting
// are pushed, longest life first, and whatever ended its life is popped from
// the top; while buffers wait and none of them has ended, nothing is popped. A
// buffer never goes below the top, so it only meets bytes that were popped,
// that is, dead and synchronized. O(n log n + positions).
//
// InvalidArgument for a buffer that nothing is written to.
absl::Status StackAllocate(const KernelPositions& positions,
                           const std::vector<LiveInterval>& lives,
                           kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_ALLOCATOR_H_
