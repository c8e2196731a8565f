#ifndef XLA_HLO_MEMORY_GRAPH_MEMORY_CUT_H_
#define XLA_HLO_MEMORY_GRAPH_MEMORY_CUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/memory/graph/max_flow.h"
#include "xla/hlo/memory/graph/memory_graph.h"

namespace xla {

// Finds when a step can run with the fewest other bytes live.
//
// Bytes live between two steps are a submodular function of the set of steps
// already run: the sum over values of [defined, and not all uses done]. Its
// minimum over all sets that hold the step's ancestors and none of its
// descendants is a minimum cut (values are hyperedges, dependencies edges of
// infinite capacity). It serves two purposes:
//   - that minimum plus the step's own needs is a lower bound for any order;
//   - with the set run first, then the step, then the rest, each in the order
//     they had, the step's own peak is the least there is.
class MemoryCutter {
 public:
  enum class Mode {
    // Values are counted separately, so those of one buffer that are live at
    // once count twice.
    kEstimate,
    // Never above the actual memory, whatever the order.
    kLowerBound,
  };
  MemoryCutter(const MemoryGraph& graph, Mode mode);

  // Takes a stretch of a valid order and its step at `position`; `replay` has
  // run everything before the stretch. Reorders the stretch to: a set after
  // which the fewest bytes are live, the step, the rest. If there are several
  // sets, takes the largest or the smallest. Returns the step's new position,
  // or -1 without changes if `*steps` (decremented by the work done) ran out.
  int32_t Cut(const MemoryReplay& replay, absl::Span<MemoryGraph::Node> stretch,
              int32_t position, bool largest, int64_t* steps);

  // The fewest bytes that any order has live while `order[position]` runs, its
  // own needs included. `order` is a valid order of the whole graph. In mode
  // kLowerBound this is a bound for the peak of any order. -1 if `*steps` ran
  // out.
  int64_t LeastPeakAt(absl::Span<const MemoryGraph::Node> order,
                      int32_t position, int64_t* steps);

 private:
  // A value, live from its definition to its last use.
  struct Item {
    int64_t size;
    MemoryGraph::Node def;
    bool live_out;
    int32_t first_use;
    int32_t last_use;  // exclusive
  };
  enum class Side : int8_t { kOutside, kBefore, kAfter, kOpen };

  void AddItem(const MemoryGraph::ValueInfo& info,
               absl::Span<const MemoryGraph::Node> uses);
  // Sets side_ for the stretch around `node`: which steps must run before it
  // and which after it; the others are also collected in open_.
  void Divide(absl::Span<const MemoryGraph::Node> stretch,
              MemoryGraph::Node node);
  // Moves open steps to the sides. Returns false if out of steps.
  bool Decide(const MemoryReplay& replay, bool largest, int64_t* steps);
  // Adds the edges of one item to the network.
  void AddToNetwork(const MemoryReplay& replay, const Item& item,
                    MaxFlow* flow) const;
  // Lower bound of the bytes that the step adds to those live before it.
  int64_t LeastRise(MemoryGraph::Node node) const;
  bool RunsBefore(const MemoryReplay& replay, MemoryGraph::Node node) const {
    return side_[node] == Side::kBefore ||
           (side_[node] == Side::kOutside && replay.IsDone(node));
  }

  const MemoryGraph& graph_;
  std::vector<Item> items_;
  std::vector<MemoryGraph::Node> item_uses_;
  std::vector<std::vector<int32_t>> items_of_node_;
  std::vector<Side> side_;
  std::vector<int32_t> vertex_;  // of open steps in the network
  std::vector<bool> seen_item_;
  std::vector<MemoryGraph::Node> open_;
  std::vector<MemoryGraph::Node> scratch_;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_MEMORY_CUT_H_
