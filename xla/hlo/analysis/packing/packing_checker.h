#ifndef XLA_HLO_ANALYSIS_PACKING_PACKING_CHECKER_H_
#define XLA_HLO_ANALYSIS_PACKING_PACKING_CHECKER_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla::packing {

// Checks that `solution` is a packing of `problem` within `capacity` bytes.
// Shares no code with the planner: sweeps over time and keeps the live blocks
// in order of their offsets, O(n log n).
//
// FailedPrecondition, naming the buffers, where two that are live at the same
// time overlap in memory, an offset is negative, unaligned, not the fixed one
// or not its group's, a block ends above the capacity, or the stated height is
// not the true one.
absl::Status CheckPacking(
    const PackingProblem& problem, const PackingSolution& solution,
    int64_t capacity = std::numeric_limits<int64_t>::max());

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_PACKING_CHECKER_H_
