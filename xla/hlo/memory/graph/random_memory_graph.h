#ifndef XLA_HLO_MEMORY_GRAPH_RANDOM_MEMORY_GRAPH_H_
#define XLA_HLO_MEMORY_GRAPH_RANDOM_MEMORY_GRAPH_H_

#include <cstdint>
#include <vector>

#include "xla/hlo/memory/graph/memory_graph.h"

namespace xla {

// Random graphs for tests, determined by the seed.

// A graph with every feature: shared operands, values in place, live-in,
// live-out and handed-over values, called computations, control dependencies.
// Every other seed has results that may take an operand's place.
MemoryGraph RandomMemoryGraph(uint32_t seed, int32_t nodes);

// Each step but the last makes one value, which one later step uses.
MemoryGraph RandomMemoryTree(uint32_t seed, int32_t nodes);

// Steps in a random series-parallel order. Each value that a step makes has one
// user, or a user after all others (as a residual connection has).
MemoryGraph RandomSeriesParallelGraph(uint32_t seed, int32_t nodes);

// 0, 1, 2, …, a valid order of the graphs above.
std::vector<MemoryGraph::Node> IdentityOrder(const MemoryGraph& graph);

// The lowest peak of any order, by exact search of at most 64 nodes; -1 if it
// did not end.
int64_t BestPeak(const MemoryGraph& graph);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_RANDOM_MEMORY_GRAPH_H_
