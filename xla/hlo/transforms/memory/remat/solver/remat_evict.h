#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EVICT_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EVICT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

// Criteria for keeping a value when room is needed.
enum class EvictionPrice {
  kCostPerByteTime,  // seconds to make it again / (bytes · steps until read)
  kByteTime,         // 1 / (bytes · steps until read)
  kTime,             // 1 / steps until read
};

// Runs `start` in a memory of `limit_bytes`: if a step needs more room, the
// values of the lowest price are evicted, and recomputed, with what they need,
// when a step reads them.
//
//   0 1 2 3(0)   with room for two values: 0 1 2 0 3
//
// After Kirisame et al., "Dynamic tensor rematerialization", 2021, but knowing
// when each value is read next. Meets tight limits where one choice at a time
// gets stuck, though seldom at the least cost: its result is meant to be
// improved, and its peak to be recounted. Nullopt if it runs more than a few
// times the steps of `start`. `*work` is reduced by the values looked at; it
// gives up at 0.
//
// O(log n) per run and per evicted value, times the short chains looked at for
// prices.
std::optional<std::vector<NodeId>> EvictingProgram(
    const RematProblem& problem, absl::Span<const NodeId> start,
    int64_t limit_bytes, EvictionPrice price, int64_t* work);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_EVICT_H_
