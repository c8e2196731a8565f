#include "xla/hlo/memory/graph/memory_lower_bound.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "xla/hlo/memory/graph/memory_cut.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;

// Cuts at no more steps than this, of each kind.
constexpr size_t kMaxCuts = 8;

}  // namespace

// While a step runs, all its operands are live, and so are its results once it
// has run, less what handed-over and shareable operands give back; values that
// are live from start to end come on top of both.
std::vector<int64_t> StepLowerBounds(const MemoryGraph& graph) {
  // Buffers with a value that is live from the start to the end.
  std::vector<bool> always(graph.buffer_count(), false);
  int64_t throughout = 0;
  for (MemoryGraph::Value value = 0; value < graph.value_count(); ++value) {
    const MemoryGraph::ValueInfo& info = graph.value(value);
    if (info.def != MemoryGraph::kStart || !info.live_out ||
        always[info.buffer]) {
      continue;
    }
    always[info.buffer] = true;
    throughout += info.size;
  }
  std::vector<int64_t> bounds(graph.node_count());
  std::vector<Node> seen_at(graph.buffer_count(), -1);
  for (Node node = 0; node < graph.node_count(); ++node) {
    int64_t held = throughout;
    int64_t handed_over = 0;
    for (const MemoryGraph::Use& use : graph.reads(node)) {
      const MemoryGraph::ValueInfo& info = graph.value(use.id);
      if (always[info.buffer] || seen_at[info.buffer] == node) continue;
      seen_at[info.buffer] = node;
      held += info.size;
      if (use.handed_over) handed_over += info.size;
    }
    int64_t shareable = 0;
    MemoryGraph::Value last = -1;
    for (const MemoryGraph::Sharing& sharing : graph.sharings(node)) {
      if (sharing.result != last) {
        shareable += graph.value(sharing.result).size;
      }
      last = sharing.result;
    }
    int64_t made = 0;
    for (MemoryGraph::Value value : graph.defs(node)) {
      const MemoryGraph::ValueInfo& info = graph.value(value);
      // Another value of the buffer may be live already.
      if (graph.values_in(info.buffer) == 1) made += info.size;
    }
    bounds[node] =
        std::max({held, held - handed_over + graph.extra(node),
                  held - handed_over + made - std::min(shareable, made)});
  }
  return bounds;
}

MemoryBound AnyOrderLowerBound(const MemoryGraph& graph,
                               absl::Span<const Node> order, int64_t steps) {
  MemoryBound best = {MemoryReplay(graph).live(), MemoryGraph::kStart};
  std::vector<int64_t> needed = StepLowerBounds(graph);
  for (Node node = 0; node < graph.node_count(); ++node) {
    if (needed[node] > best.bytes) best = {needed[node], node};
  }
  if (steps <= 0) return best;

  std::vector<int64_t> profile;
  ReplayPeak(graph, order, &profile);
  std::vector<int32_t> positions(order.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i] = static_cast<int32_t>(i);
  }
  MemoryCutter cutter(graph, MemoryCutter::Mode::kLowerBound);
  for (bool by_need : {true, false}) {
    auto weight = [&](int32_t position) {
      return by_need ? needed[order[position]] : profile[position];
    };
    size_t count = std::min(kMaxCuts, positions.size());
    std::partial_sort(positions.begin(), positions.begin() + count,
                      positions.end(), [&](int32_t a, int32_t b) {
                        return std::make_pair(-weight(a), a) <
                               std::make_pair(-weight(b), b);
                      });
    for (size_t i = 0; i < count && steps > 0; ++i) {
      // A cut does not say more than the order has there.
      if (profile[positions[i]] <= best.bytes) continue;
      int64_t bytes = cutter.LeastPeakAt(order, positions[i], &steps);
      if (bytes > best.bytes) best = {bytes, order[positions[i]]};
    }
  }
  return best;
}

}  // namespace xla
