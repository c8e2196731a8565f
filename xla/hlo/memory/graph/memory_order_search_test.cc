#include "xla/hlo/memory/graph/memory_order_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "xla/hlo/memory/graph/cut_refinement.h"
#include "xla/hlo/memory/graph/greedy_order.h"
#include "xla/hlo/memory/graph/max_flow.h"
#include "xla/hlo/memory/graph/memory_cut.h"
#include "xla/hlo/memory/graph/memory_graph_reduction.h"
#include "xla/hlo/memory/graph/memory_lower_bound.h"
#include "xla/hlo/memory/graph/optimal_order.h"
#include "xla/hlo/memory/graph/random_memory_graph.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;

// The lowest peak, by looking at every order of the steps.
int64_t BestPeakByForce(MemoryReplay& replay, const MemoryGraph& graph,
                        int64_t peak, int32_t done, int64_t best) {
  if (peak >= best) return best;
  if (done == graph.node_count()) return peak;
  for (Node node = 0; node < graph.node_count(); ++node) {
    if (!replay.IsReady(node)) continue;
    int64_t worst = replay.Run(node);
    best = std::min(best, BestPeakByForce(replay, graph, std::max(peak, worst),
                                          done + 1, best));
    replay.Undo(node);
  }
  return best;
}

int64_t BestPeakByForce(const MemoryGraph& graph) {
  MemoryReplay replay(graph);
  return BestPeakByForce(replay, graph, replay.live(), 0,
                         std::numeric_limits<int64_t>::max());
}

bool HasSharings(const MemoryGraph& graph) {
  for (Node node = 0; node < graph.node_count(); ++node) {
    if (!graph.sharings(node).empty()) return true;
  }
  return false;
}

TEST(MemoryGraphTest, CountsPhases) {
  // a makes 10 bytes, b turns them into 10 others in place, c takes 7 for a
  // while.
  MemoryGraph graph;
  Node a = graph.AddNode();
  Node b = graph.AddNode();
  Node c = graph.AddNode(/*extra=*/7);
  graph.AddDependency(a, b);
  graph.AddDependency(b, c);
  Value x = graph.AddValue(graph.AddBuffer(10), a);
  Value y = graph.AddValue(graph.AddBuffer(10), b);
  graph.AddUse(x, b);
  graph.AddUse(y, c);
  graph.AllowSharing(b, x, y);
  ASSERT_TRUE(graph.Finish().ok());
  std::vector<int64_t> profile;
  MemoryPeak peak = ReplayPeak(graph, {a, b, c}, &profile);
  EXPECT_EQ(profile, (std::vector<int64_t>{10, 10, 17}));
  EXPECT_EQ(peak.bytes, 17);
  EXPECT_EQ(peak.position, 2);
  EXPECT_FALSE(IsValidOrder(graph, {b, a, c}));
  EXPECT_FALSE(IsValidOrder(graph, {a, b}));
}

TEST(MemoryGraphTest, RefusesCyclesAndHugeSizes) {
  MemoryGraph cycle;
  Node a = cycle.AddNode();
  Node b = cycle.AddNode();
  cycle.AddDependency(a, b);
  cycle.AddDependency(b, a);
  EXPECT_FALSE(cycle.Finish().ok());
  MemoryGraph huge;
  for (int i = 0; i < 3; ++i) huge.AddBuffer(int64_t{1} << 61);
  EXPECT_FALSE(huge.Finish().ok());
}

TEST(MemoryReplayTest, UndoTakesEverythingBack) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    MemoryGraph graph = RandomMemoryGraph(seed, 12);
    std::vector<Node> order = IdentityOrder(graph);
    std::vector<int64_t> profile;
    ReplayPeak(graph, order, &profile);
    MemoryReplay replay(graph);
    for (size_t i = 0; i < order.size(); ++i) {
      int64_t after = 0;
      EXPECT_EQ(replay.Peek(order[i], &after), profile[i]) << seed;
      EXPECT_EQ(replay.Run(order[i]), profile[i]) << seed;
      EXPECT_EQ(replay.live(), after) << seed;
    }
    for (size_t i = order.size(); i-- > 0;) replay.Undo(order[i]);
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(replay.Run(order[i]), profile[i]) << seed;
    }
  }
}

TEST(OptimalOrderTest, EqualsBruteForce) {
  for (uint32_t seed = 0; seed < 120; ++seed) {
    MemoryGraph graph = RandomMemoryGraph(seed, 4 + seed % 6);
    int64_t sets = 1 << 20;
    bool is_complete = false;
    auto order = OptimalOrder(graph, std::numeric_limits<int64_t>::max(), &sets,
                              &is_complete);
    ASSERT_TRUE(order.has_value());
    EXPECT_TRUE(is_complete);
    EXPECT_TRUE(IsValidOrder(graph, *order));
    EXPECT_EQ(ReplayPeak(graph, *order).bytes, BestPeakByForce(graph)) << seed;
  }
}

TEST(MemoryGraphReductionTest, ExpandsToOrdersOfTheOriginal) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    MemoryGraph graph = RandomMemoryGraph(seed, 20);
    MemoryGraphReduction reduction(graph);
    std::vector<Node> order =
        GreedyOrder(reduction.graph(), GreedyRule::kLeastMemory);
    ASSERT_TRUE(IsValidOrder(reduction.graph(), order)) << seed;
    std::vector<Node> expanded = reduction.Expand(order);
    ASSERT_TRUE(IsValidOrder(graph, expanded)) << seed;
    EXPECT_LE(ReplayPeak(graph, expanded).bytes,
              std::max(ReplayPeak(reduction.graph(), order).bytes,
                       MemoryReplay(graph).live()))
        << seed;
    EXPECT_TRUE(IsValidOrder(reduction.graph(), reduction.Project(expanded)));
  }
}

// Merging keeps the best peak.
TEST(MemoryGraphReductionTest, KeepsTheOptimum) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    MemoryGraph graph = RandomMemoryGraph(seed, 12);
    MemoryGraphReduction reduction(graph);
    int64_t reduced =
        std::max(BestPeak(reduction.graph()), MemoryReplay(graph).live());
    int64_t original = BestPeak(graph);
    if (HasSharings(graph)) {
      EXPECT_GE(reduced, original) << seed;
    } else {
      EXPECT_EQ(reduced, original) << seed;
    }
  }
}

TEST(AnyOrderLowerBoundTest, IsOne) {
  for (uint32_t seed = 0; seed < 80; ++seed) {
    MemoryGraph graph = RandomMemoryGraph(seed, 10);
    int64_t least = BestPeak(graph);
    EXPECT_LE(AnyOrderLowerBound(graph, IdentityOrder(graph), 1 << 20).bytes,
              least)
        << seed;
    EXPECT_LE(AnyOrderLowerBound(graph, {}, 0).bytes, least) << seed;
  }
}

// HLO_RANDOM_GRAPHS=10000 looks at more of them.
TEST(FindOrderTest, IsOptimalOnSmallGraphs) {
  const char* wanted = std::getenv("HLO_RANDOM_GRAPHS");
  uint32_t graphs = wanted == nullptr ? 150 : std::atoi(wanted);
  for (uint32_t seed = 0; seed < graphs; ++seed) {
    MemoryGraph graph = RandomMemoryGraph(seed, 1 + seed % 14);
    FoundOrder found =
        FindOrder(graph, {{"given", IdentityOrder(graph)}}, 100000000);
    ASSERT_TRUE(IsValidOrder(graph, found.order)) << seed;
    EXPECT_EQ(ReplayPeak(graph, found.order).bytes, found.peak_bytes);
    EXPECT_EQ(found.peak_bytes, BestPeak(graph)) << seed;
    EXPECT_LE(found.lower_bound.bytes, found.peak_bytes) << seed;
  }
}

// The cuts alone, without exact search, on graphs small enough to know better.
TEST(CutRefinementTest, ComesNearTheOptimum) {
  double sum = 0;
  const int kGraphs = 50;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    MemoryGraph graph = RandomMemoryGraph(seed, 14);
    int64_t least = BestPeak(graph);
    CutRefiner refiner(graph);
    std::vector<Node> order = IdentityOrder(graph);
    int64_t found = ReplayPeak(graph, order).bytes;
    int64_t steps = 1000000;
    for (int round = 0; round < 8; ++round) {
      refiner.Refine(order, 0,
                     {/*by_need=*/round >= 4, [&] { return round % 2 == 1; }},
                     &steps);
      ASSERT_TRUE(IsValidOrder(graph, order)) << seed;
      found = std::min(found, ReplayPeak(graph, order).bytes);
    }
    EXPECT_GE(found, least);
    sum += least == 0 ? 1.0 : static_cast<double>(found) / least;
  }
  EXPECT_LE(sum / kGraphs, 1.03);
}

TEST(FindOrderTest, NeverAboveWhatIsKnown) {
  for (uint32_t seed = 0; seed < 4; ++seed) {
    MemoryGraph graph = RandomMemoryGraph(seed, 120);
    std::vector<Node> given = IdentityOrder(graph);
    int64_t before = ReplayPeak(graph, given).bytes;
    int64_t last = before;
    for (int64_t steps : {0, 10000, 200000}) {
      FoundOrder found = FindOrder(graph, {{"given", given}}, steps);
      ASSERT_TRUE(IsValidOrder(graph, found.order));
      EXPECT_LE(found.peak_bytes, before) << seed;
      EXPECT_LE(found.lower_bound.bytes, found.peak_bytes) << seed;
      FoundOrder again = FindOrder(graph, {{"given", given}}, steps);
      EXPECT_EQ(found.order, again.order) << seed;
      last = found.peak_bytes;
    }
    EXPECT_LE(last, before);
  }
}

TEST(MaxFlowTest, KnownNetwork) {
  MaxFlow flow(6);
  flow.AddEdge(0, 2, 16);
  flow.AddEdge(0, 3, 13);
  flow.AddEdge(3, 2, 4);
  flow.AddEdge(2, 4, 12);
  flow.AddEdge(4, 3, 9);
  flow.AddEdge(3, 5, 14);
  flow.AddEdge(5, 4, 7);
  flow.AddEdge(4, 1, 20);
  flow.AddEdge(5, 1, 4);
  EXPECT_EQ(flow.Run(0, 1), 23);
  EXPECT_TRUE(flow.OnSourceSide(2));
  EXPECT_TRUE(flow.OnSourceSide(3));
  EXPECT_TRUE(flow.OnSourceSide(5));
  EXPECT_FALSE(flow.OnSourceSide(4));
  EXPECT_TRUE(flow.SinkSide(1)[4]);
  EXPECT_FALSE(flow.SinkSide(1)[5]);
}

}  // namespace
}  // namespace xla
