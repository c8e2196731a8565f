#ifndef XLA_HLO_MEMORY_GRAPH_MEMORY_GRAPH_REDUCTION_H_
#define XLA_HLO_MEMORY_GRAPH_MEMORY_GRAPH_REDUCTION_H_

#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/memory/graph/memory_graph.h"

namespace xla {

// A smaller graph with the same best peak.
//
//   a ──► n ──► e ──► d      a: 8 bytes, read by n only     {a n e} ──► d
//   (n, e: element-wise)                              ==>
//
// Steps that are adjacent in some best order become one step:
//   - a step with one predecessor that never adds memory runs right after it;
//   - a step with one successor whose operands are never larger than its
//     results runs right before it;
//   - steps without predecessors and memory run first.
// Repeats until no rule applies. If no step reuses an operand's memory, the
// best peak stays the same; a merged step ignores that a result could reuse an
// operand with further users, so the peak of a reduced order may then be above
// that of the expanded one, but never below. Values live before the first step
// that end there are not counted. O((nodes + edges) log nodes).
class MemoryGraphReduction {
 public:
  explicit MemoryGraphReduction(const MemoryGraph& graph);

  const MemoryGraph& graph() const { return graph_; }

  // The order of the original graph that an order of graph() represents.
  std::vector<MemoryGraph::Node> Expand(
      absl::Span<const MemoryGraph::Node> order) const;
  // An order of graph() as close as possible to one of the original.
  std::vector<MemoryGraph::Node> Project(
      absl::Span<const MemoryGraph::Node> order) const;

 private:
  // Disjoint pairs of steps to merge.
  struct Pairs {
    std::vector<bool> runs_first;
    // For the earlier member of a pair, the later one; -1: none.
    std::vector<MemoryGraph::Node> later;
    std::vector<bool> is_later;
  };
  // Whether there are enough to go on.
  bool FindPairs(Pairs* pairs) const;
  // One round of merging. Returns whether anything changed.
  bool MergePairs();
  void AddMergedValues(const Pairs& pairs,
                       const std::vector<MemoryGraph::Node>& target,
                       MemoryGraph* reduced) const;

  MemoryGraph graph_;
  std::vector<std::vector<MemoryGraph::Node>> members_;
  std::vector<MemoryGraph::Node> first_;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_MEMORY_GRAPH_REDUCTION_H_
