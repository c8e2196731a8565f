#include "xla/hlo/memory/graph/series_parallel_parts.h"

#include <algorithm>
#include <cstddef>

#include "absl/algorithm/container.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;

// SplitMix64's finalizer (Steele, Lea and Flood, OOPSLA 2014): sums of these
// tell sets apart.
uint64_t HashOf(Node node) {
  uint64_t z = (static_cast<uint64_t>(node) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

StepRelations::StepRelations(const MemoryGraph& graph, int32_t max_visits)
    : graph_(graph),
      max_visits_(max_visits),
      rank_(graph.node_count()),
      mark_(graph.node_count(), 0) {
  std::vector<int32_t> waits(graph.node_count());
  for (Node node = 0; node < graph.node_count(); ++node) {
    waits[node] = static_cast<int32_t>(graph.predecessors(node).size());
    if (waits[node] == 0) order_.push_back(node);
  }
  for (size_t i = 0; i < order_.size(); ++i) {
    rank_[order_[i]] = static_cast<int32_t>(i);
    for (Node next : graph.successors(order_[i])) {
      if (--waits[next] == 0) order_.push_back(next);
    }
  }
}

// Marks transitive predecessors down to `first_rank`, at most max_visits_ edges
// deep. Stopping early can only lose answers ("not known to come before"),
// never produce wrong ones.
bool StepRelations::MarkBefore(absl::Span<const Node> nodes,
                               int32_t first_rank) {
  ++current_mark_;
  to_visit_.assign(nodes.begin(), nodes.end());
  int32_t visits = 0;
  while (!to_visit_.empty()) {
    Node node = to_visit_.back();
    to_visit_.pop_back();
    for (Node before : graph_.predecessors(node)) {
      if (++visits > max_visits_) return false;
      if (rank_[before] < first_rank || IsMarked(before)) continue;
      mark_[before] = current_mark_;
      to_visit_.push_back(before);
    }
  }
  return true;
}

Node StepRelations::LastUser(Value value) {
  absl::Span<const MemoryGraph::Use> uses = graph_.uses(value);
  if (uses.empty()) return kNoNode;
  Node last = uses[0].id;
  int32_t first_rank = rank_[last];
  for (const MemoryGraph::Use& use : uses) {
    if (rank_[use.id] > rank_[last]) last = use.id;
    first_rank = std::min(first_rank, rank_[use.id]);
  }
  if (uses.size() == 1) return last;
  // A part of what comes before may be enough to meet the others.
  MarkBefore({last}, first_rank);
  bool is_known = absl::c_all_of(uses, [&](const MemoryGraph::Use& use) {
    return use.id == last || IsMarked(use.id);
  });
  return is_known ? last : kNoNode;
}

// Transitive reduction of the incoming edges, as far as the visit budget
// reaches: predecessors that are implied by a longer path are dropped.
std::vector<Node> StepRelations::Predecessors(Node node) {
  absl::Span<const Node> before = graph_.predecessors(node);
  std::vector<Node> result(before.begin(), before.end());
  if (before.size() < 2) return result;
  int32_t first_rank = rank_[before[0]];
  for (Node other : before) first_rank = std::min(first_rank, rank_[other]);
  MarkBefore(before, first_rank);
  result.erase(std::remove_if(result.begin(), result.end(),
                              [&](Node other) { return IsMarked(other); }),
               result.end());
  return result;
}

// Whether the values of one buffer follow one another in every order: the last
// user of each produces the next. Then the buffer's bytes change at fixed
// steps.
bool StepRelations::IsPassedOn(std::vector<Value>& values) {
  auto begins = [&](Value value) {
    Node def = graph_.value(value).def;
    return def == MemoryGraph::kStart ? -1 : rank_[def];
  };
  absl::c_stable_sort(values,
                      [&](Value a, Value b) { return begins(a) < begins(b); });
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    Node next = graph_.value(values[i + 1]).def;
    if (graph_.value(values[i]).live_out || next == MemoryGraph::kStart ||
        LastUser(values[i]) != next) {
      return false;
    }
  }
  return graph_.value(values.back()).live_out ||
         graph_.uses(values.back()).empty() ||
         LastUser(values.back()) != kNoNode;
}

// A step is fixed if it changes memory by the same amount in any order. Users
// of values whose last user depends on the order are not, and neither are
// producers into buffers whose values may overlap.
std::vector<bool> StepRelations::FixedSteps() {
  std::vector<bool> fixed(graph_.node_count(), true);
  std::vector<std::vector<Value>> of_buffer(graph_.buffer_count());
  for (Value value = 0; value < graph_.value_count(); ++value) {
    const MemoryGraph::ValueInfo& info = graph_.value(value);
    if (info.size == 0) continue;
    of_buffer[info.buffer].push_back(value);
  }
  for (std::vector<Value>& values : of_buffer) {
    if (values.empty() || IsPassedOn(values)) continue;
    for (Value value : values) {
      for (const MemoryGraph::Use& use : graph_.uses(value)) {
        fixed[use.id] = false;
      }
      Node def = graph_.value(value).def;
      if (values.size() > 1 && def != MemoryGraph::kStart) fixed[def] = false;
    }
  }
  return fixed;
}

void SeriesParallelParts::Neighbors::Insert(Node node) {
  if (nodes.insert(node).second) hash += HashOf(node);
}

void SeriesParallelParts::Neighbors::Erase(Node node) {
  if (nodes.erase(node) > 0) hash -= HashOf(node);
}

// Bottom-up decomposition with a work list: each part is tried for a series
// merge with a single neighbor and a parallel merge with a twin, and whoever's
// neighborhood changes is queued again. Each merge removes a part, so there
// are fewer than n of them.
SeriesParallelParts::SeriesParallelParts(const MemoryGraph& graph,
                                         StepRelations* relations)
    : fixed_(relations->FixedSteps()),
      gone_(graph.node_count(), false),
      chains_(graph.node_count()),
      pool_(graph.node_count()),
      before_(graph.node_count()),
      after_(graph.node_count()),
      is_queued_(graph.node_count(), false) {
  MemoryReplay replay(graph);
  for (Node node : relations->order()) {
    int64_t before = replay.live();
    int64_t hill = replay.Run(node) - before;
    int64_t valley = replay.live() - before;
    chains_[node] =
        OrderChain(node, std::max({int64_t{0}, hill, valley}), valley);
    for (Node other : relations->Predecessors(node)) {
      before_[node].Insert(other);
      after_[other].Insert(node);
    }
  }
  for (size_t i = relations->order().size(); i-- > 0;) {
    Enqueue(relations->order()[i]);
  }
  while (!queue_.empty()) {
    Node part = queue_.back();
    queue_.pop_back();
    is_queued_[part] = false;
    while (!gone_[part] && (MergeInSeries(part) || MergeTwin(part))) {
    }
  }
  for (Node node = 0; node < graph.node_count(); ++node) {
    if (!gone_[node]) parts_.push_back(node);
  }
}

void SeriesParallelParts::Enqueue(Node part) {
  if (!fixed_[part] || gone_[part] || is_queued_[part]) return;
  is_queued_[part] = true;
  queue_.push_back(part);
}

void SeriesParallelParts::EnqueueAll(const absl::btree_set<Node>& parts) {
  for (Node part : parts) Enqueue(part);
}

void SeriesParallelParts::TakePlace(Node part, Node old, bool before) {
  Neighbors& mine = before ? before_[part] : after_[part];
  std::vector<Neighbors>& theirs = before ? after_ : before_;
  mine = std::move(before ? before_[old] : after_[old]);
  for (Node other : mine.nodes) {
    theirs[other].Erase(old);
    theirs[other].Insert(part);
    Enqueue(other);
  }
}

// The merged part keeps the number of the side with the larger outer
// neighborhood, so that only the smaller one is rewritten (small to large).
void SeriesParallelParts::Join(Node first, Node second) {
  // The number with more neighbors to tell stays.
  bool keeps_first = before_[first].nodes.size() > after_[second].nodes.size();
  Node kept = keeps_first ? first : second;
  chains_[first].Append(&chains_[second], &pool_);
  if (keeps_first) {
    TakePlace(first, second, /*before=*/false);
  } else {
    std::swap(chains_[first], chains_[second]);
    TakePlace(second, first, /*before=*/true);
  }
  gone_[keeps_first ? second : first] = true;
  Enqueue(kept);
}

bool SeriesParallelParts::MergeInSeries(Node part) {
  if (after_[part].nodes.size() == 1) {
    Node next = *after_[part].nodes.begin();
    if (fixed_[next] && before_[next].nodes.size() == 1) {
      Join(part, next);
      return true;
    }
  }
  if (before_[part].nodes.size() == 1) {
    Node last = *before_[part].nodes.begin();
    if (fixed_[last] && after_[last].nodes.size() == 1) {
      Join(last, part);
      return true;
    }
  }
  return false;
}

// Twins have equal predecessors and equal successors. They are found by the
// sums of hashes of both sets; the sets themselves are compared before merging,
// so a collision costs an opportunity at most.
bool SeriesParallelParts::MergeTwin(Node part) {
  auto [it, is_new] =
      by_neighbors_.try_emplace({before_[part].hash, after_[part].hash}, part);
  Node twin = it->second;
  if (is_new || twin == part) return false;
  if (gone_[twin] || before_[twin].nodes != before_[part].nodes ||
      after_[twin].nodes != after_[part].nodes) {
    it->second = part;
    return false;
  }
  // The older one stays, since the table knows it.
  chains_[twin].Merge(&chains_[part]);
  gone_[part] = true;
  for (Node other : before_[part].nodes) after_[other].Erase(part);
  for (Node other : after_[part].nodes) before_[other].Erase(part);
  EnqueueAll(before_[part].nodes);
  EnqueueAll(after_[part].nodes);
  Enqueue(twin);
  return true;
}

}  // namespace xla
