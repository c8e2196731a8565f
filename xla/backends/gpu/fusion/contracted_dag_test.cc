#include "xla/backends/gpu/fusion/contracted_dag.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/fusion/labeled_list.h"

namespace xla::gpu {
namespace {

using Node = ContractedDag::Node;
using Edges = std::vector<std::pair<Node, Node>>;

// Paths found the plain way, over the nodes that stand for the merged ones.
class Oracle {
 public:
  Oracle(Node nodes, Edges edges)
      : nodes_(nodes), edges_(std::move(edges)), group_(nodes) {
    for (Node i = 0; i < nodes; ++i) group_[i] = i;
  }
  void Merge(Node a, Node b) {
    const Node from = group_[b];
    const Node into = group_[a];
    for (Node& group : group_) {
      if (group == from) group = into;
    }
  }
  // Edges go past it instead.
  void Remove(Node node) {
    const Node group = group_[node];
    Edges kept, into, out;
    for (const auto& [from, to] : edges_) {
      if (group_[from] == group && group_[to] == group) continue;
      if (group_[from] == group) {
        out.emplace_back(from, to);
      } else if (group_[to] == group) {
        into.emplace_back(from, to);
      } else {
        kept.emplace_back(from, to);
      }
    }
    for (const auto& [from, unused_to] : into) {
      for (const auto& [unused_from, to] : out) kept.emplace_back(from, to);
    }
    edges_ = std::move(kept);
  }
  bool Reaches(Node a, Node b, bool skip_direct) const {
    const Node start = group_[a];
    const Node end = group_[b];
    std::vector<bool> seen(nodes_);
    std::vector<Node> work = {start};
    seen[start] = true;
    while (!work.empty()) {
      const Node node = work.back();
      work.pop_back();
      for (const auto& [from, to] : edges_) {
        if (group_[from] != node || group_[to] == node) continue;
        if (skip_direct && node == start && group_[to] == end) continue;
        if (group_[to] == end) return true;
        if (seen[group_[to]]) continue;
        seen[group_[to]] = true;
        work.push_back(group_[to]);
      }
    }
    return start == end && !skip_direct;
  }
  bool AreMerged(Node a, Node b) const { return group_[a] == group_[b]; }
  bool HasEdge(Node a, Node b) const {
    return std::any_of(edges_.begin(), edges_.end(), [&](const auto& edge) {
      const Node from = group_[edge.first], to = group_[edge.second];
      return (from == group_[a] && to == group_[b]) ||
             (from == group_[b] && to == group_[a]);
    });
  }

 private:
  Node nodes_;
  Edges edges_;
  std::vector<Node> group_;
};

// The list, from front to end, by what `list` says is before what.
void ExpectOrder(const LabeledList& list, const std::vector<Node>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    ASSERT_EQ(list.Previous(order[i]), i == 0 ? list.front() : order[i - 1]);
    ASSERT_TRUE(i == 0 || list.IsBefore(order[i - 1], order[i]));
  }
}

TEST(LabeledListTest, MovesInAnyOrder) {
  constexpr Node kItems = 60;
  std::mt19937 random(1);
  LabeledList list(kItems);
  std::vector<Node> order;
  for (Node i = 0; i < kItems; ++i) order.push_back(i);
  for (int step = 0; step < 5000; ++step) {
    // A few neighbors, mostly to the same place.
    const size_t count = 1 + random() % 5;
    const size_t from = random() % (order.size() - count);
    const std::vector<Node> moved(order.begin() + from,
                                  order.begin() + from + count);
    order.erase(order.begin() + from, order.begin() + from + count);
    for (Node item : moved) list.Remove(item);
    const size_t to =
        random() % 4 == 0 ? random() % (order.size() + 1) : step / 100 % 50;
    list.InsertAfter(moved, to == 0 ? list.front() : order[to - 1]);
    order.insert(order.begin() + to, moved.begin(), moved.end());
    ExpectOrder(list, order);
  }
  const Node item = order.back();
  order.pop_back();
  list.Remove(item);
  list.Replace(order[3], item);
  order[3] = item;
  ExpectOrder(list, order);
}

// Labels run out between two neighbors: only what is around gets new ones.
TEST(LabeledListTest, OnePlaceForAll) {
  for (Node items : {1000, 16000}) {
    LabeledList list(items);
    for (Node i = items - 1; i > 0; --i) {
      list.Remove(i);
      list.InsertAfter({i}, 0);
      ASSERT_EQ(list.Previous(i), 0);
    }
    EXPECT_LT(list.labels_given(), 40 * items);
  }
}

TEST(ContractedDagTest, SaysThroughWhatACycleWouldGo) {
  ContractedDag dag(4);
  dag.AddEdge(0, 1);
  dag.AddEdge(1, 2);
  dag.AddEdge(0, 2);
  EXPECT_EQ(dag.FindBetween(0, 2), 1);
  EXPECT_EQ(dag.FindBetween(2, 0), 1);
  EXPECT_EQ(dag.FindBetween(0, 1), ContractedDag::kNone);
  EXPECT_TRUE(dag.Reaches(0, 2));
  EXPECT_FALSE(dag.Reaches(2, 0));
  EXPECT_TRUE(dag.IsConnected(2, 0));
  EXPECT_FALSE(dag.IsConnected(3, 1));
  dag.Merge(0, 1);
  EXPECT_EQ(dag.FindBetween(0, 2), ContractedDag::kNone);
  dag.Merge(1, 2);
  EXPECT_TRUE(dag.AreMerged(0, 2));
}

TEST(ContractedDagTest, MergesOfASideMoveWhatFollows) {
  // 0 → 1 → 2 and 3 → 4 → 5; after 2 and 3 are one, 0 reaches 5.
  ContractedDag dag(6);
  dag.AddEdge(0, 1);
  dag.AddEdge(1, 2);
  dag.AddEdge(3, 4);
  dag.AddEdge(4, 5);
  dag.Merge(0, 5);
  EXPECT_TRUE(dag.IsConsistent());
  EXPECT_TRUE(dag.Reaches(3, 2));
  EXPECT_NE(dag.FindBetween(3, 1), ContractedDag::kNone);
  EXPECT_NE(dag.FindBetween(3, 2), ContractedDag::kNone);
}

TEST(ContractedDagTest, EdgesGoPastWhatIsRemoved) {
  // 0 → 1 → 2, 3; without 1 nothing is between 0 and 2.
  ContractedDag dag(4);
  dag.AddEdge(0, 1);
  dag.AddEdge(1, 2);
  dag.AddEdge(1, 3);
  EXPECT_EQ(dag.FindBetween(0, 2), 1);
  dag.Remove(1);
  EXPECT_EQ(dag.FindBetween(0, 2), ContractedDag::kNone);
  EXPECT_TRUE(dag.HasEdge(0, 2));
  EXPECT_TRUE(dag.Reaches(0, 3));
  dag.Merge(0, 2);
  EXPECT_TRUE(dag.IsConsistent());
  EXPECT_TRUE(dag.Reaches(2, 3));
}

TEST(ContractedDagTest, ManyMergesAtOnePlace) {
  // Labels run out between two neighbors.
  constexpr Node kNodes = 400;
  ContractedDag dag(kNodes);
  for (Node i = 2; i + 2 < kNodes; i += 2) dag.AddEdge(i, i + 1);
  for (Node i = kNodes - 3; i > 1; --i) {
    if (dag.FindBetween(0, i) == ContractedDag::kNone) dag.Merge(0, i);
    ASSERT_TRUE(dag.IsConsistent());
  }
}

// Random graphs, random merges and removals: every answer as the plain search
// has it. The variable HLO_RANDOM_GRAPHS asks for more of them.
TEST(ContractedDagTest, RandomGraphsNeverGetACycle) {
  const char* count = std::getenv("HLO_RANDOM_GRAPHS");
  const int graphs = count == nullptr ? 1000 : std::atoi(count);
  for (int seed = 0; seed < graphs; ++seed) {
    std::mt19937 random(seed);
    const Node nodes = 2 + random() % 20;
    const int density = 1 + random() % 4;
    Edges edges;
    ContractedDag dag(nodes);
    for (Node to = 1; to < nodes; ++to) {
      for (int i = 0; i < density; ++i) {
        if (random() % 3 == 0) continue;
        const Node from = random() % to;
        edges.emplace_back(from, to);
        dag.AddEdge(from, to);
      }
    }
    Oracle oracle(nodes, edges);
    // In every second graph, some nodes are removed.
    std::vector<Node> gone;
    const auto is_gone = [&](Node node) {
      return std::any_of(gone.begin(), gone.end(), [&](Node other) {
        return oracle.AreMerged(node, other);
      });
    };
    for (int step = 0; step < 40; ++step) {
      const Node a = random() % nodes;
      const Node b = random() % nodes;
      if (is_gone(a) || is_gone(b)) continue;
      if (seed % 2 == 1 && step % 8 == 7) {
        dag.Remove(a);
        oracle.Remove(a);
        gone.push_back(a);
        ASSERT_TRUE(dag.IsConsistent()) << seed;
        continue;
      }
      ASSERT_EQ(dag.AreMerged(a, b), oracle.AreMerged(a, b)) << seed;
      ASSERT_EQ(dag.Reaches(a, b), oracle.Reaches(a, b, false)) << seed;
      if (oracle.AreMerged(a, b)) continue;
      const Node between = dag.FindBetween(a, b);
      const bool cycle =
          oracle.Reaches(a, b, true) || oracle.Reaches(b, a, true);
      ASSERT_EQ(dag.HasEdge(a, b), oracle.HasEdge(a, b)) << seed;
      ASSERT_EQ(between != ContractedDag::kNone, cycle) << seed;
      if (cycle) {
        ASSERT_FALSE(dag.AreMerged(between, a)) << seed;
        ASSERT_FALSE(dag.AreMerged(between, b)) << seed;
        continue;
      }
      dag.Merge(a, b);
      oracle.Merge(a, b);
      ASSERT_TRUE(dag.IsConsistent()) << seed;
    }
  }
}

}  // namespace
}  // namespace xla::gpu
