#ifndef XLA_HLO_MEMORY_GRAPH_MEMORY_ORDER_SEARCH_H_
#define XLA_HLO_MEMORY_GRAPH_MEMORY_ORDER_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/memory/graph/memory_graph.h"
#include "xla/hlo/memory/graph/memory_lower_bound.h"

namespace xla {

// An order to start from.
struct NamedOrder {
  std::string name;
  std::vector<MemoryGraph::Node> order;
};

struct FoundOrder {
  // Where the order comes from: the name of a known order, or greedy, cuts,
  // exact, series-parallel.
  std::string algorithm;
  std::vector<MemoryGraph::Node> order;
  int64_t peak_bytes = 0;
  // No order has a lower peak than this.
  MemoryBound lower_bound;
};

// Searches for an order with a low peak, never above the best of `known` (all
// valid orders).
//
//   1. the known orders and greedy ones;
//   2. while `steps` last (edges of flow networks and graphs looked at; not
//      seconds, so that results repeat): series-parallel parts become chains
//      (SeriesParallelReduction), which is all where the graph is one;
//   3. on the graph reduced further by MemoryGraphReduction: exact search if
//      that is small, and
//   4. repeated cutting: the step at the peak moves to where least is live
//      (MemoryCutter), which splits the order; each half that is still above
//      the bound is cut at its own peak, and so on. Cuts never raise the peak
//      step's own need; what they do to the rest the next round repairs, and
//      rounds differ in the side that takes ties.
//
// Ends early when the peak meets the lower bound, which is that of a minimum
// cut at the peak.
FoundOrder FindOrder(const MemoryGraph& graph,
                     absl::Span<const NamedOrder> known, int64_t steps);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_MEMORY_ORDER_SEARCH_H_
