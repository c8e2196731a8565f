#ifndef XLA_HLO_ANALYSIS_REACHABILITY_LABELS_H_
#define XLA_HLO_ANALYSIS_REACHABILITY_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"

namespace xla {

// Labels of the nodes of an acyclic graph that answer most reachability queries
// without a walk.
//
// A node knows
//  - its depth and height (edges of the longest paths that end and begin
//    there), its rank in two topological orders, and the least and the greatest
//    rank of what reaches it and of what it reaches (Yildirim, Chaoji, Zaki:
//    GRAIL, 2010). What contradicts them is not reached;
//  - for some long paths through the graph, the last node there that reaches
//    it and the first that it reaches (Jagadish: A Compression Technique to
//    Materialize Transitive Closure, 1990). What meets on a path is reached.
//
// Networks are a few long paths with short branches, so few queries are left.
// Build O(nodes + edges), 88 bytes a node; a query O(1).
class ReachabilityLabels {
 public:
  enum class Answer { kNo, kYes, kUnknown };

  // Nodes are 0..num_nodes-1, each after all that reach it; add_inputs appends
  // the nodes that have an edge to `node`.
  ReachabilityLabels(
      int32_t num_nodes,
      absl::FunctionRef<void(int32_t node, std::vector<int32_t>* inputs)>
          add_inputs);

  // Whether a reaches b; a node reaches itself.
  Answer Reaches(int32_t a, int32_t b) const;

  size_t MemoryBytes() const { return labels_.capacity() * sizeof(Label); }

 private:
  static constexpr int kPaths = 4;

  struct Label {
    int32_t depth = 0;
    int32_t height = 0;
    // In the second order; the node's number is that in the first.
    int32_t rank = 0;
    // The ranks, in both orders, of what reaches it, and of what it reaches.
    int32_t least[2];
    int32_t greatest[2];
    int32_t path = -1;  // on which it lies
    int32_t place = 0;  // there
    int32_t last_before[kPaths];
    int32_t first_after[kPaths];
  };

  void SetRanks();
  void SetBounds();
  // Adds the longest path through nodes that are on no path yet.
  void AddPath(int32_t path);
  void SetPlaces();

  const int32_t* begin_of(int32_t node) const {
    return inputs_.data() + first_input_[node];
  }
  const int32_t* end_of(int32_t node) const {
    return inputs_.data() + first_input_[node + 1];
  }

  std::vector<Label> labels_;
  // Edges by node, only while labels are being computed.
  std::vector<int32_t> first_input_;
  std::vector<int32_t> inputs_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_REACHABILITY_LABELS_H_
