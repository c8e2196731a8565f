#include "xla/hlo/memory/graph/optimal_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "absl/container/flat_hash_map.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using NodeSet = uint64_t;

NodeSet Only(Node node) { return NodeSet{1} << node; }

// Dijkstra's algorithm with max in place of +: states are sets of steps that
// have run (bit masks), popped in order of the lowest peak on the way to them.
// The replay is rebuilt along the path of each popped set, O(n) per set, which
// keeps a state at a few bytes.
//
// Pruning: sets whose peak is not below `limit` are dropped, and a ready step
// that never adds memory is the only successor considered, since running it at
// once is never worse.
class SetSearch {
 public:
  SetSearch(const MemoryGraph& graph, int64_t limit, int64_t* sets)
      : graph_(graph), replay_(graph), limit_(limit), sets_(*sets) {}

  std::optional<std::vector<Node>> Find(bool* is_complete) {
    *is_complete = true;
    int32_t nodes = graph_.node_count();
    NodeSet all =
        nodes == kMaxOptimalOrderNodes ? ~NodeSet{0} : Only(nodes) - 1;
    if (replay_.live() >= limit_) return std::nullopt;
    Reach(0, kNoNode, replay_.live());
    while (!open_.empty()) {
      auto [peak, missing, set] = open_.top();
      open_.pop();
      Reached& reached = reached_[set];
      if (reached.closed) continue;
      reached.closed = true;
      std::vector<Node> path = PathTo(set);
      if (set == all) return path;
      if (--sets_ < 0) {
        *is_complete = false;
        return std::nullopt;
      }
      for (Node node : path) replay_.Run(node);
      Expand(set, peak);
      for (size_t i = path.size(); i-- > 0;) replay_.Undo(path[i]);
    }
    return std::nullopt;
  }

 private:
  struct Reached {
    int64_t peak;
    Node last;
    bool closed = false;
  };

  // Reaches what comes after `set`, whose steps replay_ has run.
  void Expand(NodeSet set, int64_t peak) {
    std::vector<Node> ready;
    for (Node node = 0; node < graph_.node_count(); ++node) {
      if (!replay_.IsReady(node)) continue;
      int64_t after = 0;
      int64_t worst = replay_.Peek(node, &after);
      if (worst <= replay_.live() && after <= replay_.live() &&
          !FillsGap(node)) {
        Reach(set | Only(node), node, peak);
        return;
      }
      ready.push_back(node);
    }
    for (Node node : ready) {
      int64_t after = 0;
      int64_t worst = replay_.Peek(node, &after);
      Reach(set | Only(node), node, std::max(peak, worst));
    }
  }

  // Whether the step defines into a buffer that might be free until later if
  // the step came later.
  bool FillsGap(Node node) const {
    for (MemoryGraph::Value def : graph_.defs(node)) {
      MemoryGraph::Buffer buffer = graph_.value(def).buffer;
      if (graph_.values_in(buffer) == 1) continue;
      bool held = false;
      for (const MemoryGraph::Use& use : graph_.reads(node)) {
        held |= graph_.value(use.id).buffer == buffer && !use.handed_over;
      }
      if (!held) return true;
    }
    return false;
  }

  void Reach(NodeSet set, Node last, int64_t peak) {
    if (peak >= limit_) return;
    auto [it, is_new] = reached_.try_emplace(set, Reached{peak, last});
    if (!is_new) {
      if (it->second.closed || it->second.peak <= peak) return;
      it->second.peak = peak;
      it->second.last = last;
    }
    int missing = graph_.node_count() - __builtin_popcountll(set);
    open_.push({peak, missing, set});
  }

  std::vector<Node> PathTo(NodeSet set) const {
    std::vector<Node> path;
    while (set != 0) {
      Node last = reached_.at(set).last;
      path.push_back(last);
      set &= ~Only(last);
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  const MemoryGraph& graph_;
  MemoryReplay replay_;
  int64_t limit_;
  int64_t& sets_;
  absl::flat_hash_map<NodeSet, Reached> reached_;
  // Lowest peak first; of equals the set that misses fewest steps.
  using Entry = std::tuple<int64_t, int, NodeSet>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> open_;
};

}  // namespace

std::optional<std::vector<Node>> OptimalOrder(const MemoryGraph& graph,
                                              int64_t limit, int64_t* sets,
                                              bool* is_complete) {
  *is_complete = false;
  if (graph.node_count() > kMaxOptimalOrderNodes) return std::nullopt;
  return SetSearch(graph, limit, sets).Find(is_complete);
}

}  // namespace xla
