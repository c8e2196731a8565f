#ifndef XLA_HLO_MEMORY_GRAPH_MEMORY_LOWER_BOUND_H_
#define XLA_HLO_MEMORY_GRAPH_MEMORY_LOWER_BOUND_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/memory/graph/memory_graph.h"

namespace xla {

// A lower bound for all orders, and the step that attains it.
struct MemoryBound {
  int64_t bytes = 0;
  // The step that needs it; kStart: the values live at the start.
  MemoryGraph::Node node = MemoryGraph::kStart;
};

// The bytes that each step needs in any order: its operands and results, its
// `extra`, and the values live throughout. O(nodes + edges).
std::vector<int64_t> StepLowerBounds(const MemoryGraph& graph);

// A lower bound for the peak of any order: the largest of StepLowerBounds, and
// of minimum cuts (MemoryCutter) at some steps: those with the largest needs
// and those where `order` has the most bytes live. Visits about `steps` edges
// at most; 0: no cuts, and `order` may be empty.
MemoryBound AnyOrderLowerBound(const MemoryGraph& graph,
                               absl::Span<const MemoryGraph::Node> order,
                               int64_t steps);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_MEMORY_LOWER_BOUND_H_
