#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_STAB_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_STAB_H_

#include <cstdint>
#include <utility>
#include <vector>

// The cheapest set of points that hits every arc: where to put barriers so that
// each hazard passes one.
//
//   arcs {3..5, 9..9}, {4..7}, {8..8, 9..9}; weights 1 but for 9, which is in a
//   loop and weighs 16  ->  points 5 and 8, cost 2
//
// An arc is a union of closed ranges of points. Points are tried only at right
// ends of ranges, which is enough since weights are constant along a range.
// Dominated arcs and points are removed until nothing changes, which alone
// solves intervals on a line (greedy by right end); what is left is solved by
// branch and bound, or greedily past kMaxBranches. O(A * P * (A + P) / 64).

namespace xla::gpu {

struct StabProblem {
  // Closed ranges, along each of which usable points weigh the same; an arc
  // without a usable point cannot be hit.
  std::vector<std::vector<std::pair<int, int>>> arcs;
  std::vector<int64_t> weights;  // by point; negative: not usable
};

struct StabSolution {
  std::vector<int> points;  // ascending
  int64_t weight = 0;
  std::vector<int> unhit;  // arcs that no usable point lies on
  bool optimal = true;
};

// Among the cheapest sets, one with the fewest points.
StabSolution SolveStab(const StabProblem& problem);

// The points worth trying: the last usable one of each range of each arc.
std::vector<int> StabCandidates(const StabProblem& problem);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_SMEM_STAB_H_
