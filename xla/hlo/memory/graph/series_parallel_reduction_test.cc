#include "xla/hlo/memory/graph/series_parallel_reduction.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "xla/hlo/memory/graph/greedy_order.h"
#include "xla/hlo/memory/graph/memory_order_search.h"
#include "xla/hlo/memory/graph/order_chain.h"
#include "xla/hlo/memory/graph/random_memory_graph.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;

int64_t PeakOf(const MemoryGraph& graph, const std::vector<Node>& order) {
  EXPECT_TRUE(IsValidOrder(graph, order));
  return ReplayPeak(graph, order).bytes;
}

// Steps of the whole chain, in order.
std::vector<int32_t> Steps(const OrderChain& chain,
                           const OrderChain::Pool& pool) {
  std::vector<int32_t> steps;
  for (const OrderChain::Segment& segment : chain.segments()) {
    for (int32_t step : pool.Steps(segment)) steps.push_back(step);
  }
  return steps;
}

TEST(OrderChainTest, JoinsWhatIsNotWorthAStop) {
  OrderChain::Pool pool(3);
  OrderChain chain(0, 5, 3);
  OrderChain higher(1, 9, 2);
  chain.Append(&higher, &pool);
  // 5 | 3 + 9 = 12 | 5: one hill, since the first stop is on the way up.
  ASSERT_EQ(chain.segments().size(), 1);
  EXPECT_EQ(chain.segments()[0].hill, 12);
  EXPECT_EQ(chain.segments()[0].valley, 5);
  OrderChain lower(2, 4, 4);
  chain.Append(&lower, &pool);
  EXPECT_EQ(chain.segments().size(), 2);
  EXPECT_EQ(chain.Hill(), 12);
  EXPECT_EQ(Steps(chain, pool), (std::vector<int32_t>{0, 1, 2}));
}

TEST(OrderChainTest, MergesFallingFirstThenRising) {
  OrderChain::Pool pool(4);
  OrderChain chain(0, 10, 9);  // comes down by 1
  for (auto [step, hill, valley] :
       {std::array<int64_t, 3>{1, 10, 2}, std::array<int64_t, 3>{2, 8, -1},
        std::array<int64_t, 3>{3, 3, -2}}) {
    OrderChain other(static_cast<int32_t>(step), hill, valley);
    chain.Merge(&other);
    EXPECT_TRUE(other.segments().empty());
  }
  EXPECT_EQ(Steps(chain, pool), (std::vector<int32_t>{3, 2, 1, 0}));
}

// Liu: a tree is one chain, with the lowest peak there is.
TEST(SeriesParallelReductionTest, TreesAreSolved) {
  for (uint32_t seed = 0; seed < 70; ++seed) {
    MemoryGraph graph = RandomMemoryTree(seed, 2 + seed % 11);
    SeriesParallelReduction reduction(graph);
    ASSERT_TRUE(reduction.is_chain()) << seed;
    EXPECT_EQ(PeakOf(graph, reduction.Expand(reduction.ChainOrder())),
              BestPeak(graph))
        << seed;
  }
}

// Kayaaslan et al., and values that a later step than the next one ends.
TEST(SeriesParallelReductionTest, SeriesParallelGraphsAreSolved) {
  for (uint32_t seed = 0; seed < 70; ++seed) {
    MemoryGraph graph = RandomSeriesParallelGraph(seed, 2 + seed % 12);
    SeriesParallelReduction reduction(graph);
    ASSERT_TRUE(reduction.is_chain()) << seed;
    EXPECT_EQ(PeakOf(graph, reduction.Expand(reduction.ChainOrder())),
              BestPeak(graph))
        << seed;
  }
}

// Whatever the graph, parts in order keep the lowest peak and have the same
// peaks as the steps that they stand for.
TEST(SeriesParallelReductionTest, KeepsTheOptimum) {
  int64_t fewer = 0;
  for (uint32_t seed = 0; seed < 70; ++seed) {
    MemoryGraph graph = RandomMemoryGraph(seed, 4 + seed % 10);
    SeriesParallelReduction reduction(graph);
    fewer += graph.node_count() - reduction.graph().node_count();
    EXPECT_EQ(BestPeak(reduction.graph()), BestPeak(graph)) << seed;
    for (GreedyRule rule :
         {GreedyRule::kLeastMemory, GreedyRule::kFreeingThenDeepest}) {
      std::vector<Node> order = GreedyOrder(reduction.graph(), rule);
      EXPECT_EQ(PeakOf(reduction.graph(), order),
                PeakOf(graph, reduction.Expand(order)))
          << seed;
      EXPECT_TRUE(IsValidOrder(reduction.graph(),
                               reduction.Project(IdentityOrder(graph))));
    }
  }
  EXPECT_GT(fewer, 70);
}

// Steps that race for the last use of a value are left alone.
TEST(SeriesParallelReductionTest, SharedOperandsStay) {
  MemoryGraph graph;
  for (int i = 0; i < 4; ++i) graph.AddNode();
  Value value = graph.AddValue(graph.AddBuffer(10), 0);
  for (Node user : {1, 2}) {
    graph.AddDependency(0, user);
    graph.AddDependency(user, 3);
    graph.AddUse(value, user);
  }
  ASSERT_TRUE(graph.Finish().ok());
  EXPECT_EQ(SeriesParallelReduction(graph).graph().node_count(), 4);
}

// Trees of any size are solved, where cuts alone come near only.
TEST(FindOrderTest, SolvesLargeTrees) {
  for (uint32_t seed = 0; seed < 4; ++seed) {
    MemoryGraph graph = RandomMemoryTree(seed, 500);
    FoundOrder found =
        FindOrder(graph, {{"given", IdentityOrder(graph)}}, 10000000);
    EXPECT_EQ(found.lower_bound.bytes, found.peak_bytes) << seed;
    EXPECT_EQ(PeakOf(graph, found.order), found.peak_bytes) << seed;
  }
}

}  // namespace
}  // namespace xla
