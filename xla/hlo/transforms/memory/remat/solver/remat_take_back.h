#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_TAKE_BACK_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_TAKE_BACK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_search.h"

namespace xla::remat_plan {

// Removes repeated runs from a program where the limit has room for it, the
// most seconds per byte and step first; the peak stays at or below the limit or
// the program's peak, whichever is greater. O(runs log n) per round, a few
// rounds.
//
//   0 1 2 3 1 4      4 reads 1's value, and there is room for it during 2 and 3
//   → 0 1 2 3 4
absl::StatusOr<RematProgram> TakeBackRuns(const RematProblem& problem,
                                          RematProgram program, int64_t limit);

// The program without some of the runs that are not the first of their nodes,
// whatever it needs then: every `parts`-th one, starting with number `part`.
// nullopt if there are none.
absl::StatusOr<std::optional<std::vector<NodeId>>> WithoutPartOfRuns(
    const RematProblem& problem, absl::Span<const NodeId> program, int part,
    int parts);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_TAKE_BACK_H_
