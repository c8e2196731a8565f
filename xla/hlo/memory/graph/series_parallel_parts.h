#ifndef XLA_HLO_MEMORY_GRAPH_SERIES_PARALLEL_PARTS_H_
#define XLA_HLO_MEMORY_GRAPH_SERIES_PARALLEL_PARTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "xla/hlo/memory/graph/memory_graph.h"
#include "xla/hlo/memory/graph/order_chain.h"

namespace xla {

// Facts about the order of a graph's steps, from searches of limited depth.
class StepRelations {
 public:
  StepRelations(const MemoryGraph& graph, int32_t max_visits);

  // Some topological order.
  absl::Span<const MemoryGraph::Node> order() const { return order_; }
  // The user of the value that runs after all its other users in any order; -1
  // if there is none, or it is unknown.
  MemoryGraph::Node LastUser(MemoryGraph::Value value);
  // Predecessors of the step, without those known to be implied by another one.
  std::vector<MemoryGraph::Node> Predecessors(MemoryGraph::Node node);
  // Per step: whether it changes memory by the same amounts in any order.
  std::vector<bool> FixedSteps();

 private:
  // Marks the ancestors of the steps, back to the step at `first_rank` of the
  // order. Returns false if there are too many.
  bool MarkBefore(absl::Span<const MemoryGraph::Node> nodes,
                  int32_t first_rank);
  bool IsMarked(MemoryGraph::Node node) const {
    return mark_[node] == current_mark_;
  }
  // Whether each value of the buffer ends where the next one starts.
  bool IsPassedOn(std::vector<MemoryGraph::Value>& values);

  const MemoryGraph& graph_;
  int32_t max_visits_;
  std::vector<MemoryGraph::Node> order_;
  std::vector<int32_t> rank_;  // in order_
  std::vector<int32_t> mark_;
  int32_t current_mark_ = 0;
  std::vector<MemoryGraph::Node> to_visit_;
};

// The series-parallel parts of a graph; see SeriesParallelReduction. A part has
// the number of one of its steps.
class SeriesParallelParts {
 public:
  SeriesParallelParts(const MemoryGraph& graph, StepRelations* relations);

  // Steps that are numbers of parts, in ascending order.
  const std::vector<MemoryGraph::Node>& parts() const { return parts_; }
  const OrderChain& chain(MemoryGraph::Node part) const {
    return chains_[part];
  }
  const absl::btree_set<MemoryGraph::Node>& predecessors(
      MemoryGraph::Node part) const {
    return before_[part].nodes;
  }
  const OrderChain::Pool& pool() const { return pool_; }

 private:
  using Node = MemoryGraph::Node;
  // The parts on one side of another, with a sum of hashes to find equal sets.
  struct Neighbors {
    void Insert(Node node);
    void Erase(Node node);
    absl::btree_set<Node> nodes;
    uint64_t hash = 0;
  };

  void Enqueue(Node part);
  void EnqueueAll(const absl::btree_set<Node>& parts);
  // Merges the part with others until none fits.
  bool MergeInSeries(Node part);
  bool MergeTwin(Node part);
  void Join(Node first, Node second);
  // Replaces `old` by `part` in the lists of its neighbors.
  void TakePlace(Node part, Node old, bool before);

  std::vector<bool> fixed_;
  std::vector<bool> gone_;
  std::vector<OrderChain> chains_;
  OrderChain::Pool pool_;
  std::vector<Neighbors> before_;
  std::vector<Neighbors> after_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, Node> by_neighbors_;
  std::vector<bool> is_queued_;
  std::vector<Node> queue_;
  std::vector<Node> parts_;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_SERIES_PARALLEL_PARTS_H_
