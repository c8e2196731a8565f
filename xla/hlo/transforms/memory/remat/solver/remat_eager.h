#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EAGER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EAGER_H_

#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

// The program in another order: what makes less than it helps to free runs as
// soon as it can.
//
//   d = …; e = f(d, x); … ; w = g(d, x)     (d and x wait for w)
//   → d = …; e = f(d, x); w = g(d, x); …
//
// A step helps to free a part of each value that it reads, one of as many as
// there are readers left; it may come early together with the next few steps,
// if these read nothing else that is not there. Where gradients of weights are
// scheduled behind all others, what they read waits all the while, and what
// would come back for one reader comes back for two.
//
// Only steps that may run again, call nothing and work in no other value's
// memory move; `start` runs no node twice. O(readers times their operands).
std::vector<NodeId> EagerProgram(const RematProblem& problem,
                                 absl::Span<const NodeId> start);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EAGER_H_
