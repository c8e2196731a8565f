#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_SPLIT_BARRIERS_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_SPLIT_BARRIERS_H_

#include <cstdint>
#include <vector>

#include "xla/backends/gpu/smem/plan/smem_flow.h"
#include "xla/backends/gpu/smem/plan/smem_hazard.h"
#include "xla/backends/gpu/smem/plan/smem_insert.h"

// Splits barriers into two halves where threads have work to do between the
// access that must come first and the one that must come after.
//
//   … = %A[…]                          … = %A[…]
//   r = long work on registers         arrive %split0
//   sync block                   ->    r = long work on registers
//   if (tid.x < 32) %B[tid.x] = r      wait %split0
//                                      if (tid.x < 32) %B[tid.x] = r
//
// For each inserted block barrier we look at the arcs that no other barrier
// covers, find the runs of gaps that lie on all of those arcs and take the run
// with the most work; the arrival moves to its start and the wait to its end.
// Nothing else may rely on the barrier: no wait for transfers, no fence. It is
// split if a thread has at least `min_cycles` of work in between and, on each
// of the arcs, one side is not the whole block (otherwise all threads are about
// equally late).
//
// All threads arrive and all wait, so that phases alternate in loops too. The
// mbarrier takes 8 bytes of its own and is initialized at the kernel's start,
// which all threads must see before the first arrival: some other barrier must
// stand between, or one is added, which pays in loops only.

namespace xla::gpu {

struct SmemSplit {
  int gap = 0;               // of the barrier that it replaces
  int arrive = 0, wait = 0;  // gaps of one sequence, arrive < wait
  int64_t cycles = 0;        // of a thread between them, estimated
  bool needs_setup = false;  // a barrier behind its initialization
};

// `within` and `between` as given to FindInsertions.
std::vector<SmemSplit> FindSplitBarriers(const SmemFlow& flow,
                                         const std::vector<SmemArc>& within,
                                         const std::vector<SmemArc>& between,
                                         const SmemInsertions& insertions,
                                         int64_t min_cycles);

// A rough number of cycles that one thread is busy with a statement: 4 for an
// operation, 20 for a transcendental one, 25 more per operand in shared memory
// and 200 per one in global memory; times the trips of loops around.
int64_t EstimateCycles(const SmemFlow& flow, int node);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_SPLIT_BARRIERS_H_
