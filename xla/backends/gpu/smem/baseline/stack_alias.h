#ifndef XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_ALIAS_H_
#define XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_ALIAS_H_

#include <string>
#include <vector>

#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/baseline/stack_liveness.h"

// Reuse of an earlier allocation, without a barrier, by making the later one a
// reference to it.
//
//   before: alloc %A : shared f32[64]        after: alloc %A : shared f32[64]
//           alloc %B : shared f32[64]               alloc %B : … alias %A
//           %A[x] = …                               …
//           %r[0] = neg(%A[x])
//           %B[x] = exp(%r[0])
//
// Two walks over the kernel. An allocation tries those it can see, innermost
// block first, latest first, and takes the first that will do:
//
//   both walks: same memory, same size as written, same width of elements, no
//     alias itself, disjoint from its lives and those of all its aliasers;
//   inner walk: by inner intervals. One is computed from the other by pointwise
//     operations, copies, reductions and expansions alone, and where a tensor
//     between them has a broadcast dimension, both have the same axes. Each
//     thread then overwrites what it alone has read;
//   outer walk: by outer intervals, registers only.
//
// Leaves alone: registers of one element, allocations that others alias, those
// with an alias. A register with vectors stops looking at the first donor that
// would do but for its narrower vectors.
//
// The rules are those of nvFuser's buffer aliasing as of April 2026, also where
// they refuse what would be safe; the default planner has none of them.

namespace xla::gpu {

// The buffers aliased to one allocation, and their combined live range.
struct AliasGroup {
  std::vector<kir::BufferId> aliasers;
  std::vector<LiveInterval> inner;  // its own first
  std::vector<LiveInterval> outer;
};

struct AliasResult {
  // By buffer; empty groups for those that are not tracked.
  std::vector<AliasGroup> groups;
  int aliased = 0;               // how many allocations became aliases
  std::vector<std::string> log;  // "%B aliases %A (inner)"
};

// Sets Buffer::alias of `kernel`; `liveness` is of it.
AliasResult AliasBuffers(const StackLiveness& liveness, kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_ALIAS_H_
