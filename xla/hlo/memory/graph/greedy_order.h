#ifndef XLA_HLO_MEMORY_GRAPH_GREEDY_ORDER_H_
#define XLA_HLO_MEMORY_GRAPH_GREEDY_ORDER_H_

#include <vector>

#include "xla/hlo/memory/graph/memory_graph.h"

namespace xla {

// How a greedy order chooses among ready steps. All rules first take steps that
// never add memory.
enum class GreedyRule {
  // The step that leaves the least memory live.
  kLeastMemory,
  // A step that lowers memory; if none does, the one that became ready last
  // (depth first).
  kFreeingThenDeepest,
};

// Repeatedly runs the ready step that the rule prefers; among equals, the one
// that became ready last. O((nodes + edges) log nodes) for steps with few
// values.
std::vector<MemoryGraph::Node> GreedyOrder(const MemoryGraph& graph,
                                           GreedyRule rule);

// The topological order closest to ascending `key` (one per node): always runs
// the ready step with the lowest key. O((nodes + edges) log nodes).
std::vector<MemoryGraph::Node> OrderByKey(const MemoryGraph& graph,
                                          const std::vector<int32_t>& key);

// For a graph whose node i represents the steps members[i] of another, in this
// order: the steps of an order of its nodes.
std::vector<MemoryGraph::Node> ExpandMembers(
    absl::Span<const std::vector<MemoryGraph::Node>> members,
    absl::Span<const MemoryGraph::Node> order);

// Conversely, the order of `graph` closest to an order of the steps: nodes are
// sorted by the position of their last member. O(steps + edges log nodes).
std::vector<MemoryGraph::Node> ProjectOntoMembers(
    const MemoryGraph& graph,
    absl::Span<const std::vector<MemoryGraph::Node>> members,
    absl::Span<const MemoryGraph::Node> order);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_GREEDY_ORDER_H_
