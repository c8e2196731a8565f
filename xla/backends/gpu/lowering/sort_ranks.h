#ifndef XLA_BACKENDS_GPU_LOWERING_SORT_RANKS_H_
#define XLA_BACKENDS_GPU_LOWERING_SORT_RANKS_H_

#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/lowering/sort_lowering.h"

// Sorts of rows that are too long for shared memory. Nothing moves: each thread
// has an element, and counts how many of its row go before it, which is where
// it goes.
//
//   out = s32[100000] sort(x)
//   ->  rank = 0
//       for j in 0..100000: rank += x[j] < x[i] or (not x[i] < x[j] and j < i)
//       out[rank] = x[i]
//
// That takes the square of the row's length, but all of the device, no barrier
// and no memory. Equals keep their order. Of a topk, ranks that are too high
// are not written.

namespace xla::gpu {

// Emits this part of the kernel. Unimplemented as in EmitSort, and where a
// comparator has no place for NaNs (several elements might get one rank), where
// operands are computed by loops, which would run for each pair, where threads
// share bytes of a result, and where the pairs are more than 2^40.
absl::Status EmitSortByRanks(const SortGroup& group, KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_SORT_RANKS_H_
