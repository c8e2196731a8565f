#include "xla/hlo/memory/graph/memory_cut.h"

#include <algorithm>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"

// Minimizing the bytes live at one moment is a minimum cut. Every step that is
// neither a predecessor nor a successor of the given one is open: it may run
// before or after. The network has a vertex per open step, and:
//  - a dependency a -> b is an edge of infinite capacity from b to a: if b is
//    on the source side (runs before), so is a;
//  - a value of n bytes is a hyperedge: it is live across the moment exactly if
//    its producer is on the source side and some user is not. Its edge of
//    capacity n runs from the producer to an auxiliary vertex that reaches all
//    open users at infinite capacity, or to the sink if some user certainly
//    runs after.
//
// The source side of a minimum cut is a best set of steps to run first. In mode
// kLowerBound, values that share a buffer count only where they certainly
// coexist, which keeps the result a bound for every order.

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;

constexpr int32_t kSource = 0;
constexpr int32_t kSink = 1;

}  // namespace

MemoryCutter::MemoryCutter(const MemoryGraph& graph, Mode mode)
    : graph_(graph),
      items_of_node_(graph.node_count()),
      side_(graph.node_count(), Side::kOutside),
      vertex_(graph.node_count(), -1) {
  // Per buffer with several values: the last value of the one run of values,
  // each made from the one before in place, that counts for the buffer.
  std::vector<Value> run_end(graph.buffer_count(), -1);
  std::vector<Node> uses;
  for (Value value = 0; value < graph.value_count(); ++value) {
    const MemoryGraph::ValueInfo& info = graph.value(value);
    uses.clear();
    for (const MemoryGraph::Use& use : graph.uses(value)) {
      uses.push_back(use.id);
    }
    if (mode == Mode::kLowerBound && graph.values_in(info.buffer) > 1) {
      // Values of a buffer overlap or not as the order wills; one that is
      // followed by another counts up to there only, and others do not count.
      if (run_end[info.buffer] != -1 && run_end[info.buffer] != value) continue;
      Value next = -1;
      for (const MemoryGraph::Use& use : graph.uses(value)) {
        for (Value result : graph.defs(use.id)) {
          if (graph.value(result).buffer == info.buffer && result > value) {
            next = result;
          }
        }
      }
      run_end[info.buffer] = next == -1 ? graph.value_count() : next;
      if (next != -1) {
        uses.assign(1, graph.value(next).def);
        AddItem({info.size, info.buffer, info.def, /*live_out=*/false}, uses);
        continue;
      }
    }
    AddItem(info, uses);
  }
  seen_item_.resize(items_.size());
}

void MemoryCutter::AddItem(const MemoryGraph::ValueInfo& info,
                           absl::Span<const Node> uses) {
  if (info.size == 0) return;
  int32_t id = static_cast<int32_t>(items_.size());
  Item item = {info.size, info.def, info.live_out,
               static_cast<int32_t>(item_uses_.size()), 0};
  item_uses_.insert(item_uses_.end(), uses.begin(), uses.end());
  item.last_use = static_cast<int32_t>(item_uses_.size());
  items_.push_back(item);
  if (info.def != MemoryGraph::kStart) items_of_node_[info.def].push_back(id);
  for (Node use : uses) items_of_node_[use].push_back(id);
}

// Classifies the steps of the stretch by two breadth-first searches from
// `node`. scratch_ is the queue of both.
void MemoryCutter::Divide(absl::Span<const Node> stretch, Node node) {
  for (Node other : stretch) side_[other] = Side::kOpen;
  side_[node] = Side::kAfter;
  scratch_.assign(1, node);
  for (size_t i = 0; i < scratch_.size(); ++i) {
    for (Node next : graph_.successors(scratch_[i])) {
      if (side_[next] != Side::kOpen) continue;
      side_[next] = Side::kAfter;
      scratch_.push_back(next);
    }
  }
  scratch_.assign(1, node);
  for (size_t i = 0; i < scratch_.size(); ++i) {
    for (Node next : graph_.predecessors(scratch_[i])) {
      if (side_[next] != Side::kOpen) continue;
      side_[next] = Side::kBefore;
      scratch_.push_back(next);
    }
  }
  open_.clear();
  for (Node other : stretch) {
    if (side_[other] == Side::kOpen) open_.push_back(other);
  }
}

// Values whose side is decided already, because their producer has not run or
// all their users have, contribute a constant and are left out of the network.
void MemoryCutter::AddToNetwork(const MemoryReplay& replay, const Item& item,
                                MaxFlow* flow) const {
  bool defined_open =
      item.def != MemoryGraph::kStart && side_[item.def] == Side::kOpen;
  if (!defined_open && item.def != MemoryGraph::kStart &&
      !RunsBefore(replay, item.def)) {
    return;
  }
  int32_t from = defined_open ? vertex_[item.def] : kSource;
  bool used_after = item.live_out;
  absl::InlinedVector<int32_t, 8> open_uses;
  for (int32_t i = item.first_use; i < item.last_use; ++i) {
    Node use = item_uses_[i];
    if (side_[use] == Side::kOpen) {
      open_uses.push_back(vertex_[use]);
    } else if (!RunsBefore(replay, use)) {
      used_after = true;
    }
  }
  if (used_after) {
    if (defined_open) flow->AddEdge(from, kSink, item.size);
  } else if (open_uses.size() == 1) {
    flow->AddEdge(from, open_uses[0], item.size);
  } else if (!open_uses.empty()) {
    int32_t all_used = flow->AddVertex();
    flow->AddEdge(from, all_used, item.size);
    for (int32_t use : open_uses) {
      flow->AddEdge(all_used, use, MaxFlow::kInfinite);
    }
  }
}

// Runs the flow and moves each open step to its side. Among the minimum cuts
// there is a smallest and a largest source side; `largest` picks the latter.
// False if `*steps` ran out.
bool MemoryCutter::Decide(const MemoryReplay& replay, bool largest,
                          int64_t* steps) {
  MaxFlow flow(2);
  for (Node node : open_) vertex_[node] = flow.AddVertex();
  for (Node node : open_) {
    for (Node before : graph_.predecessors(node)) {
      if (side_[before] == Side::kOpen) {
        flow.AddEdge(vertex_[node], vertex_[before], MaxFlow::kInfinite);
      }
    }
    for (int32_t id : items_of_node_[node]) {
      if (seen_item_[id]) continue;
      seen_item_[id] = true;
      AddToNetwork(replay, items_[id], &flow);
    }
  }
  for (Node node : open_) {
    for (int32_t id : items_of_node_[node]) seen_item_[id] = false;
  }
  flow.Run(kSource, kSink, steps);
  if (*steps < 0) return false;
  std::vector<bool> sink_side;
  if (largest) sink_side = flow.SinkSide(kSink);
  for (Node node : open_) {
    bool before =
        largest ? !sink_side[vertex_[node]] : flow.OnSourceSide(vertex_[node]);
    side_[node] = before ? Side::kBefore : Side::kAfter;
  }
  return true;
}

int32_t MemoryCutter::Cut(const MemoryReplay& replay, absl::Span<Node> stretch,
                          int32_t position, bool largest, int64_t* steps) {
  Node node = stretch[position];
  Divide(stretch, node);
  *steps -= static_cast<int64_t>(stretch.size());
  bool decided = Decide(replay, largest, steps);
  int32_t result = -1;
  if (decided) {
    scratch_.clear();
    for (Node other : stretch) {
      if (side_[other] == Side::kBefore) scratch_.push_back(other);
    }
    result = static_cast<int32_t>(scratch_.size());
    scratch_.push_back(node);
    for (Node other : stretch) {
      if (side_[other] == Side::kAfter && other != node) {
        scratch_.push_back(other);
      }
    }
    absl::c_copy(scratch_, stretch.begin());
  }
  for (Node other : stretch) side_[other] = Side::kOutside;
  return result;
}

// Adds up the value of the cut directly instead of taking the flow, so that
// live values outside the network are included.
int64_t MemoryCutter::LeastPeakAt(absl::Span<const Node> order,
                                  int32_t position, int64_t* steps) {
  Node node = order[position];
  MemoryReplay replay(graph_);
  Divide(order, node);
  *steps -= static_cast<int64_t>(order.size());
  int64_t result = -1;
  if (Decide(replay, /*largest=*/false, steps)) {
    result = 0;
    for (const Item& item : items_) {
      if (item.def != MemoryGraph::kStart && side_[item.def] != Side::kBefore) {
        continue;
      }
      bool used_later = item.live_out;
      for (int32_t i = item.first_use; i < item.last_use; ++i) {
        used_later |= side_[item_uses_[i]] == Side::kAfter;
      }
      if (used_later) result += item.size;
    }
    result += LeastRise(node);
  }
  for (Node other : order) side_[other] = Side::kOutside;
  return result;
}

// The least that the step itself adds in any order: every permitted sharing is
// assumed to happen.
int64_t MemoryCutter::LeastRise(Node node) const {
  int64_t handed_over = 0;
  for (const MemoryGraph::Use& use : graph_.reads(node)) {
    if (use.handed_over) handed_over += graph_.value(use.id).size;
  }
  absl::InlinedVector<Value, 4> placed;
  int64_t shared = 0;
  for (const MemoryGraph::Sharing& sharing : graph_.sharings(node)) {
    if (absl::c_linear_search(placed, sharing.result)) continue;
    placed.push_back(sharing.result);
    shared += graph_.value(sharing.result).size;
  }
  int64_t made = 0;
  for (Value value : graph_.defs(node)) {
    // Others of the same buffer may be live already.
    if (graph_.values_in(graph_.value(value).buffer) == 1) {
      made += graph_.value(value).size;
    }
  }
  return std::max({int64_t{0}, graph_.extra(node) - handed_over,
                   made - handed_over - shared});
}

}  // namespace xla
