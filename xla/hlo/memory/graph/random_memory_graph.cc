#include "xla/hlo/memory/graph/random_memory_graph.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "absl/log/check.h"
#include "xla/hlo/memory/graph/optimal_order.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;

// Not std::uniform_int_distribution, which differs between libraries.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int32_t Below(int32_t n) {
    return static_cast<int32_t>(engine_() % static_cast<uint32_t>(n));
  }

 private:
  std::mt19937 engine_;
};

// A part of a series-parallel order: its first and its last steps.
struct Part {
  std::vector<Node> first;
  std::vector<Node> last;
};

}  // namespace

MemoryGraph RandomMemoryGraph(uint32_t seed, int32_t nodes) {
  std::mt19937 random(seed);
  auto below = [&random](uint32_t n) { return random() % n; };
  MemoryGraph graph;
  std::vector<Value> values;
  std::vector<MemoryGraph::Buffer> buffers;
  for (uint32_t i = below(3); i-- > 0;) {
    buffers.push_back(graph.AddBuffer(1 + below(20)));
    values.push_back(graph.AddValue(buffers.back(), MemoryGraph::kStart));
    if (below(2) == 0) graph.SetLiveOut(values.back());
  }
  std::vector<int> uses(values.size(), 0);
  std::vector<Node> def(values.size(), MemoryGraph::kStart);
  // Values in place are not alone in their buffers, those that share are.
  enum State { kPlain, kInPlace, kSharing };
  std::vector<State> state(values.size(), kPlain);
  for (Node node = 0; node < nodes; ++node) {
    graph.AddNode(below(6) == 0 ? below(30) : 0);
    std::vector<Value> operands;
    bool may_share = seed % 2 == 1;
    for (uint32_t i = below(4); i-- > 0 && !values.empty();) {
      Value operand = below(static_cast<uint32_t>(values.size()));
      // Mostly recent ones.
      if (below(3) != 0) {
        operand = static_cast<Value>(
            values.size() - 1 -
            below(std::min<uint32_t>(4, static_cast<uint32_t>(values.size()))));
      }
      if (std::count(operands.begin(), operands.end(), operand) > 0) continue;
      operands.push_back(operand);
      ++uses[operand];
      bool handed_over = below(12) == 0;
      may_share &= !handed_over;
      graph.AddUse(operand, node, handed_over);
      if (def[operand] != MemoryGraph::kStart) {
        graph.AddDependency(def[operand], node);
      }
    }
    if (node > 0 && below(8) == 0) graph.AddDependency(below(node), node);
    for (uint32_t i = below(8) == 0 ? 2 : 1; i-- > 0;) {
      bool in_place = !operands.empty() && below(8) == 0;
      // Every other graph has results that take an operand's place.
      bool shares = may_share && !operands.empty() && !in_place &&
                    below(3) == 0 && state[operands[0]] != kInPlace;
      if (in_place && state[operands[0]] == kSharing) continue;
      int64_t size = shares ? graph.value(operands[0]).size
                            : static_cast<int64_t>(below(25));
      buffers.push_back(in_place ? buffers[operands[0]]
                                 : graph.AddBuffer(size));
      values.push_back(graph.AddValue(buffers.back(), node));
      uses.push_back(0);
      def.push_back(node);
      state.push_back(in_place ? kInPlace : shares ? kSharing : kPlain);
      if (in_place) state[operands[0]] = kInPlace;
      if (shares) {
        state[operands[0]] = kSharing;
        graph.AllowSharing(node, operands[0], values.back());
      }
      if (below(10) == 0) graph.SetLiveOut(values.back());
    }
  }
  for (Value value = 0; value < static_cast<Value>(values.size()); ++value) {
    if (def[value] == MemoryGraph::kStart && uses[value] == 0) {
      graph.AddUse(value, 0);
    }
  }
  CHECK_OK(graph.Finish());
  return graph;
}

MemoryGraph RandomMemoryTree(uint32_t seed, int32_t nodes) {
  Random random(seed);
  MemoryGraph graph;
  for (Node node = 0; node < nodes; ++node) {
    graph.AddNode(random.Below(4) == 0 ? random.Below(60) : 0);
  }
  for (Node node = 0; node + 1 < nodes; ++node) {
    Value value = graph.AddValue(graph.AddBuffer(1 + random.Below(40)), node);
    // Bushy or long, by seed.
    int32_t reach = seed % 3 == 0 ? nodes : 4;
    Node user = std::min<Node>(nodes - 1, node + 1 + random.Below(reach));
    graph.AddDependency(node, user);
    graph.AddUse(value, user);
  }
  CHECK_OK(graph.Finish());
  return graph;
}

MemoryGraph RandomSeriesParallelGraph(uint32_t seed, int32_t nodes) {
  Random random(seed);
  MemoryGraph graph;
  // These are the vertex series-parallel orders (Valdes, Tarjan and Lawler, The
  // Recognition of Series Parallel Digraphs, 1982).
  // Neighbors join in series or in parallel until one part is left.
  std::vector<Part> parts;
  for (Node node = 0; node < nodes; ++node) {
    graph.AddNode(random.Below(5) == 0 ? random.Below(60) : 0);
    parts.push_back({{node}, {node}});
  }
  std::vector<std::pair<Node, Node>> edges;
  while (parts.size() > 1) {
    int32_t at = random.Below(static_cast<int32_t>(parts.size()) - 1);
    Part& one = parts[at];
    Part& two = parts[at + 1];
    if (random.Below(2) == 0) {
      for (Node before : one.last) {
        for (Node after : two.first) edges.emplace_back(before, after);
      }
      one.last = std::move(two.last);
    } else {
      one.first.insert(one.first.end(), two.first.begin(), two.first.end());
      one.last.insert(one.last.end(), two.last.begin(), two.last.end());
    }
    parts.erase(parts.begin() + at + 1);
  }
  for (const auto& [before, after] : edges) {
    graph.AddDependency(before, after);
    if (random.Below(3) == 0) continue;
    Value value = graph.AddValue(graph.AddBuffer(1 + random.Below(40)), before);
    graph.AddUse(value, after);
    // Also used by something that comes later anyway.
    for (const auto& [from, to] : edges) {
      if (from != after || random.Below(4) != 0) continue;
      graph.AddDependency(before, to);
      graph.AddUse(value, to);
      break;
    }
  }
  for (Node node = 0; node < nodes; ++node) {
    if (random.Below(8) != 0) continue;
    Value value = graph.AddValue(graph.AddBuffer(1 + random.Below(40)), node);
    if (random.Below(2) == 0) graph.SetLiveOut(value);
  }
  CHECK_OK(graph.Finish());
  return graph;
}

std::vector<Node> IdentityOrder(const MemoryGraph& graph) {
  std::vector<Node> order(graph.node_count());
  for (Node node = 0; node < graph.node_count(); ++node) order[node] = node;
  return order;
}

int64_t BestPeak(const MemoryGraph& graph) {
  int64_t sets = 1 << 20;
  bool is_complete = false;
  std::optional<std::vector<Node>> order = OptimalOrder(
      graph, std::numeric_limits<int64_t>::max(), &sets, &is_complete);
  return order.has_value() ? ReplayPeak(graph, *order).bytes : -1;
}

}  // namespace xla
