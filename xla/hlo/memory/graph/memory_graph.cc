#include "xla/hlo/memory/graph/memory_graph.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;
using Buffer = MemoryGraph::Buffer;

// Sums stay far from overflow below this.
constexpr int64_t kMaxTotalBytes = int64_t{1} << 62;

}  // namespace

Node MemoryGraph::AddNode(int64_t extra) {
  extra_.push_back(extra);
  return node_count() - 1;
}

void MemoryGraph::AddDependency(Node before, Node after) {
  edges_.emplace_back(before, after);
}

Buffer MemoryGraph::AddBuffer(int64_t size) {
  sizes_.push_back(size);
  values_in_.push_back(0);
  return buffer_count() - 1;
}

Value MemoryGraph::AddValue(Buffer buffer, Node def) {
  values_.push_back({sizes_[buffer], buffer, def, /*live_out=*/false});
  ++values_in_[buffer];
  return value_count() - 1;
}

void MemoryGraph::AddUse(Value value, Node node, bool handed_over) {
  pending_uses_.push_back({value, {node, handed_over}});
}

void MemoryGraph::AllowSharing(Node node, Value operand, Value result) {
  sharings_.Add(node, {operand, result});
}

// Lists by key in two arrays (compressed sparse rows): a counting sort, stable,
// so that each list keeps the order in which its items were added.
template <typename T>
void MemoryGraph::Lists<T>::Finish(int32_t keys) {
  begin_.assign(keys + 1, 0);
  for (const auto& [key, item] : added_) ++begin_[key + 1];
  for (int32_t key = 0; key < keys; ++key) begin_[key + 1] += begin_[key];
  items_.resize(added_.size());
  std::vector<int32_t> next(begin_.begin(), begin_.end() - 1);
  for (const auto& [key, item] : added_) items_[next[key]++] = item;
  added_ = {};
}

absl::Status MemoryGraph::Finish() {
  int64_t total = 0;
  auto add = [&total](int64_t bytes) {
    total = bytes > kMaxTotalBytes - total ? kMaxTotalBytes : total + bytes;
  };
  for (int64_t size : sizes_) add(size);
  for (int64_t extra : extra_) add(extra);
  if (total >= kMaxTotalBytes) {
    return absl::InvalidArgumentError(
        "the sizes of all buffers together exceed 2^62 bytes");
  }
  absl::c_sort(edges_);
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  for (const auto& [before, after] : edges_) {
    predecessors_.Add(after, before);
    successors_.Add(before, after);
  }
  edges_ = {};
  // A value that is both handed over and read otherwise is not handed over.
  absl::c_sort(pending_uses_, [](const auto& a, const auto& b) {
    return std::make_tuple(a.first, a.second.id, a.second.handed_over) <
           std::make_tuple(b.first, b.second.id, b.second.handed_over);
  });
  for (size_t i = 0; i < pending_uses_.size(); ++i) {
    const auto& [value, use] = pending_uses_[i];
    if (i > 0 && pending_uses_[i - 1].first == value &&
        pending_uses_[i - 1].second.id == use.id) {
      continue;
    }
    uses_.Add(value, use);
    reads_.Add(use.id, {value, use.handed_over});
  }
  pending_uses_ = {};
  for (Value value = 0; value < value_count(); ++value) {
    if (values_[value].def != kStart) defs_.Add(values_[value].def, value);
  }
  predecessors_.Finish(node_count());
  successors_.Finish(node_count());
  defs_.Finish(node_count());
  reads_.Finish(node_count());
  uses_.Finish(value_count());
  sharings_.Finish(node_count());

  std::vector<int32_t> waits(node_count());
  std::vector<Node> ready;
  for (Node node = 0; node < node_count(); ++node) {
    waits[node] = static_cast<int32_t>(predecessors(node).size());
    if (waits[node] == 0) ready.push_back(node);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    for (Node next : successors(ready[i])) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  if (static_cast<int32_t>(ready.size()) == node_count()) {
    return absl::OkStatus();
  }
  Node stuck = static_cast<Node>(
      absl::c_find_if(waits, [](int32_t count) { return count > 0; }) -
      waits.begin());
  return absl::InvalidArgumentError(
      absl::StrCat("the dependencies have a cycle before node ", stuck));
}

MemoryReplay::MemoryReplay(const MemoryGraph& graph) : graph_(graph) {
  Reset();
}

void MemoryReplay::Reset() {
  live_ = 0;
  waits_.resize(graph_.node_count());
  for (Node node = 0; node < graph_.node_count(); ++node) {
    waits_[node] = static_cast<int32_t>(graph_.predecessors(node).size());
  }
  live_values_.assign(graph_.buffer_count(), 0);
  uses_left_.resize(graph_.value_count());
  for (Value value = 0; value < graph_.value_count(); ++value) {
    const MemoryGraph::ValueInfo& info = graph_.value(value);
    uses_left_[value] =
        static_cast<int32_t>(graph_.uses(value).size()) + info.live_out;
    if (info.def == MemoryGraph::kStart && ++live_values_[info.buffer] == 1) {
      live_ += info.size;
    }
  }
}

// The three phases of the header, each with its own sum: after what is handed
// over has ended, and with the new values alive but for those that take the
// place of an operand. `waits_` of a step that has run is -1 minus what it was,
// so that Undo() can restore it. Sharing is a greedy matching in the order of
// the graph's lists: each operand gives its place once, and each result takes
// one.
int64_t MemoryReplay::Run(Node node) {
  for (Node next : graph_.successors(node)) --waits_[next];
  waits_[node] = -1 - waits_[node];
  auto end = [this](Value value) {
    const MemoryGraph::ValueInfo& info = graph_.value(value);
    if (--live_values_[info.buffer] == 0) live_ -= info.size;
  };
  for (const MemoryGraph::Use& use : graph_.reads(node)) {
    if (--uses_left_[use.id] == 0 && use.handed_over) end(use.id);
  }
  int64_t worst = live_ + graph_.extra(node);
  // The operands' memory that the results take over.
  int64_t shared = 0;
  absl::InlinedVector<Value, 4> taken;
  absl::InlinedVector<Value, 4> placed;
  for (const MemoryGraph::Sharing& sharing : graph_.sharings(node)) {
    if (uses_left_[sharing.operand] != 0 ||
        absl::c_linear_search(taken, sharing.operand) ||
        absl::c_linear_search(placed, sharing.result)) {
      continue;
    }
    taken.push_back(sharing.operand);
    placed.push_back(sharing.result);
    shared += graph_.value(sharing.operand).size;
  }
  for (Value value : graph_.defs(node)) {
    const MemoryGraph::ValueInfo& info = graph_.value(value);
    if (++live_values_[info.buffer] == 1) live_ += info.size;
  }
  worst = std::max(worst, live_ - shared);
  for (const MemoryGraph::Use& use : graph_.reads(node)) {
    if (uses_left_[use.id] == 0 && !use.handed_over) end(use.id);
  }
  for (Value value : graph_.defs(node)) {
    if (uses_left_[value] == 0) end(value);
  }
  return worst;
}

int64_t MemoryReplay::Peek(Node node, int64_t* after) {
  int64_t worst = Run(node);
  *after = live_;
  Undo(node);
  return worst;
}

// Run() backwards. Nothing is recorded for it: the counts after a step
// determine those before it. A search may therefore go down and up a path in
// time that is linear in the edges of its steps.
void MemoryReplay::Undo(Node node) {
  auto revive = [this](Value value) {
    const MemoryGraph::ValueInfo& info = graph_.value(value);
    if (++live_values_[info.buffer] == 1) live_ += info.size;
  };
  for (Value value : graph_.defs(node)) {
    if (uses_left_[value] == 0) revive(value);
  }
  for (const MemoryGraph::Use& use : graph_.reads(node)) {
    if (++uses_left_[use.id] == 1) revive(use.id);
  }
  for (Value value : graph_.defs(node)) {
    const MemoryGraph::ValueInfo& info = graph_.value(value);
    if (--live_values_[info.buffer] == 0) live_ -= info.size;
  }
  waits_[node] = -1 - waits_[node];
  for (Node next : graph_.successors(node)) ++waits_[next];
}

MemoryPeak ReplayPeak(const MemoryGraph& graph, absl::Span<const Node> order,
                      std::vector<int64_t>* profile) {
  MemoryReplay replay(graph);
  MemoryPeak peak;
  peak.bytes = replay.live();
  if (profile != nullptr) profile->clear();
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t worst = replay.Run(order[i]);
    if (profile != nullptr) profile->push_back(worst);
    if (worst > peak.bytes) {
      peak.bytes = worst;
      peak.position = static_cast<int32_t>(i);
    }
  }
  return peak;
}

bool IsValidOrder(const MemoryGraph& graph, absl::Span<const Node> order) {
  if (static_cast<int32_t>(order.size()) != graph.node_count()) return false;
  std::vector<bool> done(graph.node_count());
  for (Node node : order) {
    if (node < 0 || node >= graph.node_count() || done[node]) return false;
    for (Node before : graph.predecessors(node)) {
      if (!done[before]) return false;
    }
    done[node] = true;
  }
  return true;
}

}  // namespace xla
