#ifndef XLA_HLO_MEMORY_GRAPH_MAX_FLOW_H_
#define XLA_HLO_MEMORY_GRAPH_MAX_FLOW_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace xla {

// A minimum cut between two vertices of a directed graph: Dinic's algorithm
// (1970), O(V^2 E) at worst, near-linear on the sparse networks of schedulers.
class MaxFlow {
 public:
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

  explicit MaxFlow(int32_t vertices) : first_(vertices, -1) {}

  int32_t AddVertex() {
    first_.push_back(-1);
    return static_cast<int32_t>(first_.size()) - 1;
  }
  void AddEdge(int32_t from, int32_t to, int64_t capacity);

  // Returns the capacity of a minimum cut; kInfinite or more: there is none.
  // `steps`, if given, is decremented for each edge visited; once it is
  // negative, the search ends and the result is not a cut.
  int64_t Run(int32_t source, int32_t sink, int64_t* steps = nullptr);

  // After Run(): whether the vertex is on the source's side of the minimum cut
  // whose source side is smallest.
  bool OnSourceSide(int32_t vertex) const { return level_[vertex] >= 0; }
  // After Run(): the vertices on the sink's side of the minimum cut whose sink
  // side is smallest.
  std::vector<bool> SinkSide(int32_t sink) const;

 private:
  struct Edge {
    int32_t to;
    int32_t next;  // of the same vertex; -1: none
    int64_t left;
  };

  bool FindLevels(int32_t source, int32_t sink);
  // Pushes flow along one augmenting path; 0 if there is none.
  int64_t Augment(int32_t source, int32_t sink);

  std::vector<int32_t> first_;
  std::vector<Edge> edges_;
  std::vector<int32_t> level_;
  std::vector<int32_t> next_;
  std::vector<int32_t> path_;
  std::vector<int32_t> queue_;
  int64_t looked_at_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_MAX_FLOW_H_
