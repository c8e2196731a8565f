#ifndef XLA_HLO_MEMORY_GRAPH_SERIES_PARALLEL_REDUCTION_H_
#define XLA_HLO_MEMORY_GRAPH_SERIES_PARALLEL_REDUCTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/memory/graph/memory_graph.h"
#include "xla/hlo/memory/graph/order_chain.h"

namespace xla {

// A smaller graph with the same best peak: trees and series-parallel parts
// become chains, in the order that is best for them in any context.
//
//       ╭─► b ─► c ─╮
//   a ──┤           ├─► e ──► f    ==>   {a b} ──► {c d e} ──► f
//       ╰─► d ──────╯
//
// A part is a set of steps that all have the same relation to every other step
// (all before it, all after it, or neither), made from single steps by
//   - u ──► v, where v is u's only successor and u is v's only predecessor;
//   - u and v with the same predecessors and the same successors;
// edges that a longer path implies do not count. The order of a part does not
// matter to the others, nor theirs to it, as long as each of its steps changes
// memory by the same amount in any order, that is, unless it may or may not be
// the last to use something. So an order of the part that is best by itself
// (OrderChain: Liu, Abdel-Wahab and Kameda, Kayaaslan et al.) is part of a best
// order of the graph, and its segments become single steps.
//
// If all is one part the chain is an order with the lowest peak there is.
// Steps that may be the last users of a value beside others stay as they are.
// Whether one user of a value comes after all others, and whether an edge is
// implied, is searched up to kMaxVisits steps back, and "no" beyond.
// O((nodes + edges) * log^2(nodes) + nodes * kMaxVisits).
class SeriesParallelReduction {
 public:
  static constexpr int32_t kMaxVisits = 128;

  explicit SeriesParallelReduction(const MemoryGraph& graph);

  const MemoryGraph& graph() const { return graph_; }
  // Whether graph() has a single order, which is then best.
  bool is_chain() const { return is_chain_; }

  // The order of the original graph that an order of graph() represents; the
  // peak is the same.
  std::vector<MemoryGraph::Node> Expand(
      absl::Span<const MemoryGraph::Node> order) const;
  // An order of graph() as close as possible to one of the original.
  std::vector<MemoryGraph::Node> Project(
      absl::Span<const MemoryGraph::Node> order) const;
  // The only order of graph() if is_chain().
  std::vector<MemoryGraph::Node> ChainOrder() const;

 private:
  MemoryGraph graph_;
  std::vector<std::vector<MemoryGraph::Node>> members_;
  bool is_chain_ = false;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_SERIES_PARALLEL_REDUCTION_H_
