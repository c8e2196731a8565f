#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EAGER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EAGER_H_

#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

// The program in another order: steps that make less than they help to free run
// as soon as they can.
//
//   d = …; e = f(d, x); … ; w = g(d, x)     (d and x wait for w)
//   → d = …; e = f(d, x); w = g(d, x); …
//
// A step helps to free a part of each value that it reads, 1 / (its remaining
// readers); it may run early together with the next few steps, if these read
// nothing else that is unavailable. If gradients of weights are scheduled after
// all others, what they read is kept all the while, and a value that would be
// recomputed for one reader is recomputed for two.
//
// Only steps move that may run again, call nothing and do not work in another
// value's memory; `start` runs no node twice. O(readers times their operands).
std::vector<NodeId> EagerProgram(const RematProblem& problem,
                                 absl::Span<const NodeId> start);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EAGER_H_
