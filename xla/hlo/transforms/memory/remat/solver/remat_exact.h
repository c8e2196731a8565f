#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EXACT_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EXACT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

// The program of least seconds that meets the limit and runs nodes for the
// first time in the order of the problem, apart from repeats and delays;
// nullopt if there is none, or if `max_states` do not suffice to find out.
// Shortest path over (nodes passed, nodes whose values are live), so only for
// small problems: of at most kMaxExactNodes nodes, in which no value shares the
// memory of another or is overwritten.
inline constexpr int kMaxExactNodes = 16;

std::optional<std::vector<NodeId>> ExactProgram(const RematProblem& problem,
                                                int64_t limit_bytes,
                                                int64_t max_states);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EXACT_H_
