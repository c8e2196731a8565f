#ifndef XLA_HLO_MEMORY_GRAPH_OPTIMAL_ORDER_H_
#define XLA_HLO_MEMORY_GRAPH_OPTIMAL_ORDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/memory/graph/memory_graph.h"

namespace xla {

// Larger graphs are not searched.
inline constexpr int32_t kMaxOptimalOrderNodes = 64;

// An order with the lowest peak there is, for small graphs.
//
// Memory between steps depends on the set of steps run, not on their order: a
// shortest-path search over sets in order of their bottleneck (Dijkstra's
// algorithm with max for +; the dynamic program of Serenity, MLSys 2020). A
// ready step that never adds memory is run at once, without alternatives.
// Exact; up to 2^nodes sets, of which at most `*sets` (decremented for each)
// are expanded. nullopt if that was not enough, the graph is too large, or no
// order stays below `limit` bytes; `*is_complete` is true in the last case and
// if the order returned is optimal.
std::optional<std::vector<MemoryGraph::Node>> OptimalOrder(
    const MemoryGraph& graph, int64_t limit, int64_t* sets, bool* is_complete);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_OPTIMAL_ORDER_H_
