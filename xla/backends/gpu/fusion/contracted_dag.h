#ifndef XLA_BACKENDS_GPU_FUSION_CONTRACTED_DAG_H_
#define XLA_BACKENDS_GPU_FUSION_CONTRACTED_DAG_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "xla/backends/gpu/fusion/labeled_list.h"

namespace xla::gpu {

// A directed acyclic graph whose nodes are contracted, as kernels are when they
// are fused, and that tells in advance whether a contraction would close a
// cycle.
//
//   0 → 1 → 2, 0 → 2      merging 0 and 2 would: through 1
//                         merging 0 and 1 would not
//
// Nodes are kept in a topological order. A query searches only between the
// positions of its two nodes, from both ends at once, and stops when the
// smaller search is exhausted. Most connected pairs need no search: a spanning
// tree, which holds for each node the edge from its deepest predecessor, tells
// by two numbers whether one node is an ancestor of another, and nodes
// connected in the tree stay connected when they are contracted. A contraction
// restores the order by moving the smaller of two sets: the nodes between the
// two that follow the first one, or those that precede the second one (online
// topological order; after D. Pearce, P. Kelly, "A dynamic topological sort
// algorithm for directed acyclic graphs", JEA 2007). Nothing is recomputed.
//
// Removing a node adds edges that bypass it; no search enters it afterwards.
//
// Memory O(nodes + edges). Queries and merges take O(edges of the smaller
// search), and O(nodes merged into one) where the tree has the answer.
class ContractedDag {
 public:
  using Node = int32_t;
  static constexpr Node kNone = -1;

  // Nodes 0 … n - 1; every later edge must respect this order.
  explicit ContractedDag(Node nodes);
  // `from` < `to`; before the first merge.
  void AddEdge(Node from, Node to);

  // The representative of the nodes that `node` has been merged with.
  Node Find(Node node) const;
  bool AreMerged(Node a, Node b) const { return Find(a) == Find(b); }

  // Whether there is a path from `from` to `to`. A node reaches itself.
  bool Reaches(Node from, Node to) const;
  bool IsConnected(Node a, Node b) const;
  // Whether there is an edge, in either direction. O(edges of the node with
  // fewer).
  bool HasEdge(Node a, Node b) const;
  // An intermediate node of a path between the two, in either direction; kNone
  // if there is none. If there is one, merging the two would close a cycle.
  Node FindBetween(Node a, Node b) const;

  // FindBetween(a, b) must be kNone.
  void Merge(Node a, Node b);

  // Removes a node and everything merged into it. What it connected is
  // connected by edges afterwards. O(edges to it * edges from it). The node
  // must not be asked about again.
  void Remove(Node node);

  // Whether every edge agrees with the order. O(edges); for tests.
  bool IsConsistent() const;

 private:
  // A search in one direction, limited to the positions between two nodes.
  struct Search {
    std::vector<Node> found;
    size_t next = 0;  // into `found`
    size_t edge = 0;  // of found[next]
    bool done() const { return next == found.size(); }
    void Start(Node node) {
      found.assign(1, node);
      next = edge = 0;
    }
  };

  bool ComesBefore(Node a, Node b) const { return line_.IsBefore(a, b); }
  // Advances a search by a few edges, never entering `skip`. Returns a node
  // that the opposite search has found, or kNone.
  Node Step(bool forward, Node bound, Node skip, Search* search) const;
  // Starts both searches and alternates until they meet or one is exhausted.
  Node Meet(Node first, Node last, bool skip_direct) const;
  // Builds the spanning tree, before the first query.
  void BuildTree() const;
  bool IsAbove(Node a, Node b) const {
    return tree_begin_[a] <= tree_begin_[b] &&
           tree_begin_[b] < tree_begin_[a] + tree_size_[a];
  }
  // A node of `last` that has an ancestor in `first`; kNone if the tree knows
  // of none.
  Node FindBelow(Node first, Node last) const;

  std::vector<std::vector<Node>> successors_;
  std::vector<std::vector<Node>> predecessors_;
  std::vector<bool> removed_;
  mutable std::vector<Node> parent_;  // union-find
  LabeledList line_;
  // Marks of the running search: 2 * epoch forwards, + 1 backwards.
  mutable std::vector<int64_t> marks_;
  mutable int64_t epoch_ = 0;
  mutable Search forward_;
  mutable Search backward_;
  // Empty before the first query. Begin and size are those of the preorder
  // numbers of a node's subtree.
  mutable std::vector<Node> tree_parent_;
  mutable std::vector<Node> tree_begin_;
  mutable std::vector<Node> tree_size_;
  mutable std::vector<Node> tree_depth_;
  // By representative: the merged node with the largest subtree, and the
  // deepest one.
  mutable std::vector<Node> highest_;
  mutable std::vector<Node> deepest_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_CONTRACTED_DAG_H_
