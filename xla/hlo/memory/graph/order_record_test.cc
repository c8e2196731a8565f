// How good the orders of random graphs are, against what is recorded.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/hlo/memory/graph/greedy_order.h"
#include "xla/hlo/memory/graph/memory_order_search.h"
#include "xla/hlo/memory/graph/random_memory_graph.h"
#include "xla/hlo/testlib/recorded.h"

namespace xla {
namespace {

void Record(const std::string& name, const MemoryGraph& graph,
            std::vector<std::string>* lines) {
  const NamedOrder known{"known", IdentityOrder(graph)};
  std::string line = absl::StrFormat("%s: known %d", name,
                                     ReplayPeak(graph, known.order).bytes);
  for (const int64_t steps : {0, 300, 3000, 100000}) {
    const FoundOrder found = FindOrder(graph, {known}, steps);
    EXPECT_TRUE(IsValidOrder(graph, found.order)) << name;
    EXPECT_EQ(ReplayPeak(graph, found.order).bytes, found.peak_bytes) << name;
    absl::StrAppendFormat(&line, "; %d steps %s %d >= %d", steps,
                          found.algorithm, found.peak_bytes,
                          found.lower_bound.bytes);
  }
  lines->push_back(line);
}

TEST(OrderRecordTest, AsRecorded) {
  std::vector<std::string> lines;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    for (int32_t nodes : {12, 40, 90}) {
      const std::string size = absl::StrCat(nodes, ", ", seed);
      Record("graph " + size, RandomMemoryGraph(seed, nodes), &lines);
      Record("tree " + size, RandomMemoryTree(seed, nodes), &lines);
      Record("series-parallel " + size, RandomSeriesParallelGraph(seed, nodes),
             &lines);
    }
  }
  ExpectRecorded("xla/hlo/memory/graph/testdata/orders.txt", lines);
}

}  // namespace
}  // namespace xla
