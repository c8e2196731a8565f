#ifndef XLA_BACKENDS_GPU_FUSION_CONTRACTED_DAG_H_
#define XLA_BACKENDS_GPU_FUSION_CONTRACTED_DAG_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "xla/backends/gpu/fusion/labeled_list.h"

namespace xla::gpu {

// A directed graph without cycles whose nodes are merged, as kernels that are
// fused, and that says beforehand whether a merge would close a cycle.
//
//   0 → 1 → 2, 0 → 2      merging 0 and 2 would: through 1
//                         merging 0 and 1 would not
//
// Nodes stand in a line, all edges pointing on; a query searches between the
// two places only, from both ends at once, and ends with the smaller search.
// Most that are connected need no search: a tree that has of each node the edge
// from its deepest predecessor tells by two numbers whether a node is above
// another one, and what connects nodes of the tree connects what they have been
// merged into.
// A merge closes the gap by moving the smaller of what follows the first node
// there and what precedes the second one (online topological order; after
// D. Pearce, P. Kelly, "A dynamic topological sort algorithm for directed
// acyclic graphs", JEA 2007). Nothing is computed anew.
//
// A removed node leaves edges that go past it, and no search enters it.
//
// Memory O(nodes + edges). Queries and merges O(edges of the smaller search),
// and O(nodes merged into one) where the tree knows.
class ContractedDag {
 public:
  using Node = int32_t;
  static constexpr Node kNone = -1;

  // Nodes 0 … n - 1, in an order that the edges to come will respect.
  explicit ContractedDag(Node nodes);
  // `from` < `to`; before the first merge.
  void AddEdge(Node from, Node to);

  // The node that stands for what `node` has been merged into.
  Node Find(Node node) const;
  bool AreMerged(Node a, Node b) const { return Find(a) == Find(b); }

  // There is a path from `from` to `to`; from a node to itself always.
  bool Reaches(Node from, Node to) const;
  bool IsConnected(Node a, Node b) const;
  // An edge, in either direction. O(edges of the one that has fewer).
  bool HasEdge(Node a, Node b) const;
  // A path between the two that has other nodes on it, in either direction:
  // one node of it, else kNone. Merging them would close a cycle.
  Node FindBetween(Node a, Node b) const;

  // FindBetween(a, b) must be kNone.
  void Merge(Node a, Node b);

  // Takes out a node, with all that has been merged into it: what it connected
  // is connected by edges then. O(edges to it * edges from it). It is asked
  // about no more.
  void Remove(Node node);

  // Whether all edges point on. O(edges); for tests.
  bool IsConsistent() const;

 private:
  // A search in one direction, within the places of two nodes.
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
  // Continues a search by a few edges; `skip` is not entered. Returns a node
  // that the search from the other end has found, or kNone.
  Node Step(bool forward, Node bound, Node skip, Search* search) const;
  // Starts both searches; searches in turn until they meet or one has ended.
  Node Meet(Node first, Node last, bool skip_direct) const;
  // The tree; before the first query.
  void BuildTree() const;
  bool IsAbove(Node a, Node b) const {
    return tree_begin_[a] <= tree_begin_[b] &&
           tree_begin_[b] < tree_begin_[a] + tree_size_[a];
  }
  // A node of `last` that one of `first` is above; kNone if the tree does not
  // know of any.
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
  // Empty before the first query. Begin and size: of the numbers of what is
  // below, in preorder.
  mutable std::vector<Node> tree_parent_;
  mutable std::vector<Node> tree_begin_;
  mutable std::vector<Node> tree_size_;
  mutable std::vector<Node> tree_depth_;
  // By node that stands for others: the one of these with the most below it,
  // and the deepest one.
  mutable std::vector<Node> highest_;
  mutable std::vector<Node> deepest_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_CONTRACTED_DAG_H_
