#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_LIVENESS_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_LIVENESS_H_

#include <cstdint>
#include <vector>

#include "xla/backends/gpu/smem/plan/smem_flow.h"
#include "xla/backends/gpu/smem/plan/smem_footprint.h"

// When the bytes of a shared buffer must be kept, over all of its accesses and
// per iteration of loops:
//
//   for %i : serial [0, 8) {        A: 2..4    a new A every iteration, since
//     %A[tid.x] = ...     // 2                 each read is written before, in
//     sync block          // 3                 the same iteration
//     ... = %A[63-tid.x]  // 4
//     %B[tid.x] = ...     // 5      B: 5..6
//     ... = %B[tid.x]     // 6
//   }                     // 7
//
// A read is traced to the shortest run of statements before it whose writes
// cover all it reads; if one iteration does not contain such a run, the bytes
// are kept for the whole loop. Between two such runs the buffer is dead
// although it is used again later. Every access, even a write that nothing
// reads, is part of the live range. O(accesses^2) coverage tests per buffer.

namespace xla::gpu {

// Closed intervals of positions, ascending and disjoint.
struct SmemLife {
  struct Interval {
    int first, last;
  };
  std::vector<Interval> intervals;

  bool empty() const { return intervals.empty(); }
  int first() const { return intervals.empty() ? 0 : intervals.front().first; }
  int last() const { return intervals.empty() ? -1 : intervals.back().last; }
  bool Meets(const SmemLife& other) const;
  void Add(int first, int last);
};

// One life per buffer of the kernel; empty for what is not in shared memory, is
// an alias, or is never touched.
std::vector<SmemLife> ComputeSmemLives(const SmemFlow& flow,
                                       const SmemFootprints& footprints);

// The most bytes that any position has alive, if every start is a multiple of
// the least alignment there: no placement can be smaller. `bytes` and
// `alignments` per buffer.
int64_t LiveBytesLowerBound(const std::vector<SmemLife>& lives,
                            const std::vector<int64_t>& bytes,
                            const std::vector<int64_t>& alignments);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_LIVENESS_H_
