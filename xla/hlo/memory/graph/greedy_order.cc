#include "xla/hlo/memory/graph/greedy_order.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/btree_set.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;

// List scheduling with exact look-ahead of one step (Replay::Peek). Keys of
// ready steps change only when a value has a single user left, so only the
// users of such values are refreshed.
class Greedy {
 public:
  Greedy(const MemoryGraph& graph, GreedyRule rule)
      : graph_(graph),
        rule_(rule),
        replay_(graph),
        keys_(graph.node_count()),
        ready_since_(graph.node_count(), 0) {}

  std::vector<Node> Make() {
    for (Node node = 0; node < graph_.node_count(); ++node) {
      if (replay_.IsReady(node)) Insert(node);
    }
    std::vector<Node> order;
    order.reserve(graph_.node_count());
    while (!ready_.empty()) {
      Node node = std::get<3>(*ready_.begin());
      ready_.erase(ready_.begin());
      replay_.Run(node);
      order.push_back(node);
      ++clock_;
      for (Node next : graph_.successors(node)) {
        if (!replay_.IsReady(next)) continue;
        ready_since_[next] = clock_;
        Insert(next);
      }
      // The last users of a value end it now.
      for (const MemoryGraph::Use& read : graph_.reads(node)) {
        if (!replay_.EndsAt(read.id)) continue;
        for (const MemoryGraph::Use& use : graph_.uses(read.id)) {
          if (replay_.IsReady(use.id)) Refresh(use.id);
        }
      }
    }
    return order;
  }

 private:
  // Class, bytes, age, node: lowest first.
  using Key = std::tuple<int, int64_t, int64_t, Node>;

  // Class 0 never adds memory and always goes first. The rules differ in how
  // they rank the others: by net change, or freeing steps by rise and then the
  // rest by age.
  Key KeyOf(Node node) {
    int64_t after = 0;
    int64_t rise = replay_.Peek(node, &after) - replay_.live();
    int64_t change = after - replay_.live();
    int64_t age = -ready_since_[node];
    if (change <= 0 && rise <= 0) return {0, change, age, node};
    if (rule_ == GreedyRule::kLeastMemory) return {1, change, age, node};
    if (change <= 0) return {1, rise, age, node};
    return {2, 0, age, node};
  }

  void Insert(Node node) {
    keys_[node] = KeyOf(node);
    ready_.insert(keys_[node]);
  }

  void Refresh(Node node) {
    ready_.erase(keys_[node]);
    Insert(node);
  }

  const MemoryGraph& graph_;
  GreedyRule rule_;
  MemoryReplay replay_;
  absl::btree_set<Key> ready_;
  std::vector<Key> keys_;
  std::vector<int64_t> ready_since_;
  int64_t clock_ = 0;
};

}  // namespace

std::vector<Node> GreedyOrder(const MemoryGraph& graph, GreedyRule rule) {
  return Greedy(graph, rule).Make();
}

std::vector<Node> OrderByKey(const MemoryGraph& graph,
                             const std::vector<int32_t>& key) {
  using Entry = std::pair<int32_t, Node>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  std::vector<int32_t> waits(graph.node_count());
  for (Node node = 0; node < graph.node_count(); ++node) {
    waits[node] = static_cast<int32_t>(graph.predecessors(node).size());
    if (waits[node] == 0) ready.push({key[node], node});
  }
  std::vector<Node> order;
  order.reserve(graph.node_count());
  while (!ready.empty()) {
    Node node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (Node next : graph.successors(node)) {
      if (--waits[next] == 0) ready.push({key[next], next});
    }
  }
  return order;
}

std::vector<Node> ExpandMembers(absl::Span<const std::vector<Node>> members,
                                absl::Span<const Node> order) {
  std::vector<Node> result;
  for (Node node : order) {
    result.insert(result.end(), members[node].begin(), members[node].end());
  }
  return result;
}

std::vector<Node> ProjectOntoMembers(
    const MemoryGraph& graph, absl::Span<const std::vector<Node>> members,
    absl::Span<const Node> order) {
  std::vector<int32_t> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    position[order[i]] = static_cast<int32_t>(i);
  }
  std::vector<int32_t> key(graph.node_count());
  for (Node node = 0; node < graph.node_count(); ++node) {
    key[node] = position[members[node].back()];
  }
  return OrderByKey(graph, key);
}

}  // namespace xla
