#include "xla/hlo/memory/graph/memory_graph_reduction.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "xla/hlo/memory/graph/greedy_order.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;
using Buffer = MemoryGraph::Buffer;

// Ends the rounds on graphs where each finds a few pairs only.
constexpr int kMaxRounds = 24;
// Nodes up to which every pair counts.
constexpr int32_t kSmallGraph = 4096;

// Facts about one step that hold in any order around it. The merge rules below
// compare these bounds only, so they hold for every order.
struct StepBounds {
  // Bytes at the worst moment over those before the step.
  int64_t rise = 0;
  // Bytes of operands that end here in any order.
  int64_t ends = 0;
  // Bytes of other operands, which may end here.
  int64_t may_end = 0;
  // Bytes of results.
  int64_t results = 0;
};

// Whether the value ends at its only user in any order.
bool HasOnlyUser(const MemoryGraph& graph, Value value) {
  const MemoryGraph::ValueInfo& info = graph.value(value);
  return !info.live_out && graph.uses(value).size() == 1 &&
         graph.values_in(info.buffer) == 1;
}

// Whether the step reads a value of the buffer, which is live throughout then.
bool Holds(const MemoryGraph& graph, Node node, Buffer buffer) {
  return absl::c_any_of(graph.reads(node), [&](const MemoryGraph::Use& use) {
    return !use.handed_over && graph.value(use.id).buffer == buffer;
  });
}

// A value counts in `ends` only if this step is its sole user in a buffer of
// its own; otherwise some order may keep it live and it counts in `may_end`.
// `rise` assumes that sharings whose operand certainly ends here are used.
StepBounds BoundsOf(const MemoryGraph& graph, Node node) {
  StepBounds bounds;
  int64_t handed_over = 0;
  for (const MemoryGraph::Use& use : graph.reads(node)) {
    const MemoryGraph::ValueInfo& info = graph.value(use.id);
    if (HasOnlyUser(graph, use.id)) {
      bounds.ends += info.size;
      if (use.handed_over) handed_over += info.size;
    } else if (!info.live_out || info.def != MemoryGraph::kStart) {
      bounds.may_end += info.size;
    }
  }
  int64_t shared = 0;
  absl::InlinedVector<Value, 4> taken;
  absl::InlinedVector<Value, 4> placed;
  for (const MemoryGraph::Sharing& sharing : graph.sharings(node)) {
    if (!HasOnlyUser(graph, sharing.operand) ||
        absl::c_linear_search(taken, sharing.operand) ||
        absl::c_linear_search(placed, sharing.result)) {
      continue;
    }
    taken.push_back(sharing.operand);
    placed.push_back(sharing.result);
    shared += graph.value(sharing.operand).size;
  }
  int64_t new_bytes = 0;
  for (Value value : graph.defs(node)) {
    const MemoryGraph::ValueInfo& info = graph.value(value);
    if (graph.values_in(info.buffer) > 1 && Holds(graph, node, info.buffer)) {
      // In place: neither an operand that may end nor a new result.
      for (const MemoryGraph::Use& use : graph.reads(node)) {
        const MemoryGraph::ValueInfo& operand = graph.value(use.id);
        if (operand.buffer == info.buffer &&
            (!operand.live_out || operand.def != MemoryGraph::kStart)) {
          bounds.may_end -= operand.size;
        }
      }
      continue;
    }
    new_bytes += info.size;
    if (!graph.uses(value).empty() || info.live_out) {
      bounds.results += info.size;
    }
  }
  bounds.rise = std::max({int64_t{0}, graph.extra(node) - handed_over,
                          new_bytes - handed_over - shared});
  return bounds;
}

// Whether what the step needs depends on the order around it in ways that a
// merged step cannot tell: it defines into memory that may be in use already,
// or takes over operands that others may still need.
bool DependsOnOrder(const MemoryGraph& graph, Node node) {
  return absl::c_any_of(graph.defs(node),
                        [&](Value value) {
                          Buffer buffer = graph.value(value).buffer;
                          return graph.values_in(buffer) > 1 &&
                                 !Holds(graph, node, buffer);
                        }) ||
         absl::c_any_of(graph.reads(node), [&](const MemoryGraph::Use& use) {
           return use.handed_over && !HasOnlyUser(graph, use.id);
         });
}

// Facts about the steps of a graph, found once for each: many steps may
// have one and the same large neighbor.
class StepFacts {
 public:
  explicit StepFacts(const MemoryGraph& graph)
      : graph_(graph),
        depends_(graph.node_count(), kUnknown),
        bounds_(graph.node_count()),
        has_bounds_(graph.node_count(), false),
        reads_of_(graph.value_count(), kNoNode) {}

  const MemoryGraph& graph() const { return graph_; }

  bool DependsOnOrder(Node node) {
    if (depends_[node] == kUnknown) {
      depends_[node] = xla::DependsOnOrder(graph_, node) ? kYes : kNo;
    }
    return depends_[node] == kYes;
  }

  const StepBounds& Bounds(Node node) {
    if (!has_bounds_[node]) {
      bounds_[node] = BoundsOf(graph_, node);
      has_bounds_[node] = true;
    }
    return bounds_[node];
  }

  // Whether the step reads the value.
  bool Reads(Node node, Value value) {
    if (node != reader_) {
      reader_ = node;
      for (const MemoryGraph::Use& use : graph_.reads(node)) {
        reads_of_[use.id] = node;
      }
    }
    return reads_of_[value] == node;
  }

 private:
  enum Answer : uint8_t { kUnknown, kNo, kYes };

  const MemoryGraph& graph_;
  std::vector<Answer> depends_;
  std::vector<StepBounds> bounds_;
  std::vector<bool> has_bounds_;
  // By value: a step that reads it, right for what reader_ reads.
  std::vector<Node> reads_of_;
  Node reader_ = kNoNode;
};

// Exchange argument: `next` never raises memory and certainly frees at least
// what it produces, so moving it forward to directly behind its only
// predecessor cannot make any step in between worse.
bool RunsRightAfter(StepFacts& facts, Node node, Node next) {
  if (facts.DependsOnOrder(node) || facts.DependsOnOrder(next)) return false;
  const StepBounds& bounds = facts.Bounds(next);
  return bounds.rise == 0 && bounds.results <= bounds.ends;
}

// The mirror image: `node` produces at least as much as it frees, so delaying
// it until right before its only successor cannot raise memory in between. The
// last condition makes sure that the pair as one step has no higher peak than
// its second half alone.
bool RunsRightBefore(StepFacts& facts, Node node, Node next) {
  if (facts.DependsOnOrder(node) || facts.DependsOnOrder(next)) return false;
  const MemoryGraph& graph = facts.graph();
  const StepBounds& bounds = facts.Bounds(node);
  int64_t held = bounds.ends;
  // An operand that may end here would have to be held inside the merged step.
  for (const MemoryGraph::Use& use : graph.reads(node)) {
    const MemoryGraph::ValueInfo& info = graph.value(use.id);
    bool is_permanent = info.live_out && info.def == MemoryGraph::kStart;
    if (!HasOnlyUser(graph, use.id) && !is_permanent &&
        !facts.Reads(next, use.id)) {
      return false;
    }
  }
  for (Value value : graph.defs(node)) {
    if (graph.value(value).live_out) return false;
  }
  return held <= bounds.results &&
         held + bounds.rise - bounds.results <= facts.Bounds(next).rise;
}

}  // namespace

MemoryGraphReduction::MemoryGraphReduction(const MemoryGraph& graph)
    : graph_(graph) {
  members_.resize(graph.node_count());
  for (Node node = 0; node < graph.node_count(); ++node) {
    members_[node].push_back(node);
  }
  for (int round = 0; round < kMaxRounds && MergePairs(); ++round) {
  }
}

// Greedy matching in node order: each step takes part in one merge per round at
// most, since merging changes the bounds that further merges depend on. Rounds
// end when few pairs are left in proportion to the cost of copying the graph.
bool MemoryGraphReduction::FindPairs(Pairs* pairs) const {
  int32_t nodes = graph_.node_count();
  pairs->runs_first.assign(nodes, false);
  pairs->later.assign(nodes, kNoNode);
  pairs->is_later.assign(nodes, false);
  std::vector<bool> taken(nodes, false);
  StepFacts facts(graph_);
  int32_t found = 0;
  for (Node node = 0; node < nodes; ++node) {
    if (taken[node]) continue;
    absl::Span<const Node> before = graph_.predecessors(node);
    absl::Span<const Node> after = graph_.successors(node);
    Node one = node;
    Node two = kNoNode;
    if (before.empty() && graph_.defs(node).empty() &&
        graph_.extra(node) == 0) {
      pairs->runs_first[node] = true;
    } else if (before.size() == 1 && !taken[before[0]] &&
               RunsRightAfter(facts, before[0], node)) {
      one = before[0];
      two = node;
    } else if (after.size() == 1 && !taken[after[0]] &&
               RunsRightBefore(facts, node, after[0])) {
      two = after[0];
    } else {
      continue;
    }
    ++found;
    taken[one] = true;
    if (two == kNoNode) continue;
    taken[two] = true;
    pairs->later[one] = two;
    pairs->is_later[two] = true;
  }
  // A few pairs are not worth another copy of a large graph.
  return found > 0 && (found > nodes / 64 || nodes <= kSmallGraph);
}

// Builds the reduced graph of one round. members_ remembers the original steps
// of each node, in order, and first_ the steps that nothing depends on
// memory-wise.
bool MemoryGraphReduction::MergePairs() {
  Pairs pairs;
  if (!FindPairs(&pairs)) return false;
  MemoryGraph reduced;
  std::vector<std::vector<Node>> members;
  // The step that each one becomes; kNoNode: it runs first.
  std::vector<Node> target(graph_.node_count(), kNoNode);
  for (Node node = 0; node < graph_.node_count(); ++node) {
    if (pairs.runs_first[node]) {
      first_.insert(first_.end(), members_[node].begin(), members_[node].end());
      continue;
    }
    if (pairs.is_later[node]) continue;
    target[node] = reduced.AddNode(graph_.extra(node));
    members.push_back(std::move(members_[node]));
    Node later = pairs.later[node];
    if (later == kNoNode) continue;
    target[later] = target[node];
    members.back().insert(members.back().end(), members_[later].begin(),
                          members_[later].end());
  }
  AddMergedValues(pairs, target, &reduced);
  for (Node node = 0; node < graph_.node_count(); ++node) {
    for (Node before : graph_.predecessors(node)) {
      if (target[before] != kNoNode && target[before] != target[node]) {
        reduced.AddDependency(target[before], target[node]);
      }
    }
  }
  CHECK_OK(reduced.Finish());
  graph_ = std::move(reduced);
  members_ = std::move(members);
  return true;
}

// Copies values to the reduced graph. Values that live and die inside a merged
// step vanish into its extra bytes, computed at the end from the two steps'
// bounds. Operands that end in a merged step are handed over to it, so that its
// extra bytes cover them until they end.
void MemoryGraphReduction::AddMergedValues(const Pairs& pairs,
                                           const std::vector<Node>& target,
                                           MemoryGraph* reduced) const {
  std::vector<Buffer> buffers(graph_.buffer_count(), -1);
  std::vector<Value> values(graph_.value_count(), -1);
  // Per merged step: bytes that are handed over to it.
  std::vector<int64_t> handed_over(reduced->node_count(), 0);
  // Per merged step: the last value that was found to be read there.
  std::vector<Value> last_read(reduced->node_count(), -1);
  for (Value value = 0; value < graph_.value_count(); ++value) {
    const MemoryGraph::ValueInfo& info = graph_.value(value);
    Node def = info.def == MemoryGraph::kStart ? kNoNode : target[info.def];
    absl::InlinedVector<Node, 8> users;
    for (const MemoryGraph::Use& use : graph_.uses(value)) {
      Node user = target[use.id];
      if (user == kNoNode || last_read[user] == value) continue;
      last_read[user] = value;
      users.push_back(user);
    }
    bool may_end = !info.live_out && graph_.values_in(info.buffer) == 1;
    bool is_inside = def != kNoNode && pairs.later[info.def] != kNoNode;
    is_inside |= def != kNoNode && pairs.is_later[info.def];
    is_inside &=
        may_end && (users.empty() || (users.size() == 1 && users[0] == def));
    // What lives inside a merged step is counted in its extra bytes; of what
    // nothing reads any more nothing depends on the order.
    if (is_inside || (def == kNoNode && users.empty() && !info.live_out)) {
      continue;
    }
    if (buffers[info.buffer] == -1) {
      buffers[info.buffer] = reduced->AddBuffer(info.size);
    }
    Value copy = reduced->AddValue(buffers[info.buffer],
                                   def == kNoNode ? MemoryGraph::kStart : def);
    values[value] = copy;
    if (info.live_out) reduced->SetLiveOut(copy);
    bool handed = false;
    for (const MemoryGraph::Use& use : graph_.uses(value)) {
      Node user = target[use.id];
      if (user == kNoNode || user == def) continue;
      bool to_merged = pairs.later[use.id] != kNoNode || pairs.is_later[use.id];
      handed = to_merged && may_end && users.size() == 1;
      reduced->AddUse(copy, user, to_merged ? handed : use.handed_over);
    }
    if (handed) handed_over[users[0]] += info.size;
  }
  for (Node node = 0; node < graph_.node_count(); ++node) {
    if (target[node] == kNoNode || pairs.is_later[node]) continue;
    Node later = pairs.later[node];
    if (later != kNoNode) {
      StepBounds one = BoundsOf(graph_, node);
      StepBounds two = BoundsOf(graph_, later);
      int64_t rise = std::max(one.rise, one.results - one.ends + two.rise);
      reduced->set_extra(target[node], rise + handed_over[target[node]]);
      continue;
    }
    for (const MemoryGraph::Sharing& sharing : graph_.sharings(node)) {
      if (values[sharing.operand] != -1 && values[sharing.result] != -1) {
        reduced->AllowSharing(target[node], values[sharing.operand],
                              values[sharing.result]);
      }
    }
  }
}

std::vector<Node> MemoryGraphReduction::Expand(
    absl::Span<const Node> order) const {
  std::vector<Node> result = first_;
  absl::c_copy(ExpandMembers(members_, order), std::back_inserter(result));
  return result;
}

std::vector<Node> MemoryGraphReduction::Project(
    absl::Span<const Node> order) const {
  return ProjectOntoMembers(graph_, members_, order);
}

}  // namespace xla
