#include "xla/hlo/memory/graph/series_parallel_reduction.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "xla/hlo/memory/graph/greedy_order.h"
#include "xla/hlo/memory/graph/series_parallel_parts.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;

// Builds the reduced graph.
class Reducer {
 public:
  Reducer(const MemoryGraph& graph, StepRelations* relations,
          const SeriesParallelParts& parts)
      : graph_(graph),
        relations_(*relations),
        parts_(parts),
        target_(graph.node_count(), kNoNode) {}

  MemoryGraph Run(std::vector<std::vector<Node>>* members) {
    std::vector<std::pair<Node, Node>> ends(graph_.node_count());
    for (Node part : parts_.parts()) ends[part] = AddPart(part, members);
    for (Node part : parts_.parts()) {
      for (Node before : parts_.predecessors(part)) {
        reduced_.AddDependency(ends[before].second, ends[part].first);
      }
    }
    AddValues(*members);
    for (Node node = 0; node < reduced_.node_count(); ++node) {
      // What goes to a joined step counts in its hill until it ends there.
      if ((*members)[node].size() > 1) {
        reduced_.set_extra(node, hills_[node] + handed_over_[node]);
      }
    }
    CHECK_OK(reduced_.Finish());
    return std::move(reduced_);
  }

 private:
  // Adds the steps of a part; returns the first and the last one.
  // A part becomes a chain of its segments. The optimal chain order inside a
  // part is known (OrderChain), so a segment is a single step of the reduced
  // graph whose hill is its extra memory.
  std::pair<Node, Node> AddPart(Node part,
                                std::vector<std::vector<Node>>* members) {
    Node first = kNoNode;
    Node last = kNoNode;
    for (const OrderChain::Segment& segment : parts_.chain(part).segments()) {
      std::vector<Node> steps = parts_.pool().Steps(segment);
      Node added = reduced_.AddNode(graph_.extra(steps[0]));
      for (Node step : steps) target_[step] = added;
      if (last != kNoNode) reduced_.AddDependency(last, added);
      if (first == kNoNode) first = added;
      last = added;
      hills_.push_back(segment.hill);
      members->push_back(std::move(steps));
    }
    return {first, last};
  }

  void AddValues(const std::vector<std::vector<Node>>& members) {
    handed_over_.assign(members.size(), 0);
    last_read_.assign(members.size(), -1);
    std::vector<MemoryGraph::Buffer> buffers(graph_.buffer_count(), -1);
    std::vector<Value> values(graph_.value_count(), -1);
    for (Value value = 0; value < graph_.value_count(); ++value) {
      const MemoryGraph::ValueInfo& info = graph_.value(value);
      Node def = info.def == MemoryGraph::kStart ? kNoNode : target_[info.def];
      bool is_inside = !info.live_out && def != kNoNode &&
                       members[def].size() > 1 &&
                       absl::c_all_of(graph_.uses(value), [&](const auto& use) {
                         return target_[use.id] == def;
                       });
      if (is_inside) continue;
      if (buffers[info.buffer] == -1) {
        buffers[info.buffer] = reduced_.AddBuffer(info.size);
      }
      values[value] = reduced_.AddValue(
          buffers[info.buffer], def == kNoNode ? MemoryGraph::kStart : def);
      if (info.live_out) reduced_.SetLiveOut(values[value]);
      AddUses(value, values[value], def, members);
    }
    for (const std::vector<Node>& steps : members) {
      if (steps.size() > 1) continue;
      for (const MemoryGraph::Sharing& sharing : graph_.sharings(steps[0])) {
        reduced_.AllowSharing(target_[steps[0]], values[sharing.operand],
                              values[sharing.result]);
      }
    }
  }

  // Reads by a joined step: if the last user of the value is inside, the value
  // ends there and is handed over; otherwise it merely has to be live.
  void AddUses(Value value, Value added, Node def,
               const std::vector<std::vector<Node>>& members) {
    const MemoryGraph::ValueInfo& info = graph_.value(value);
    Node last = info.live_out ? kNoNode : relations_.LastUser(value);
    for (const MemoryGraph::Use& use : graph_.uses(value)) {
      Node user = target_[use.id];
      if (user == def || last_read_[user] == value) continue;
      last_read_[user] = value;
      bool is_joined = members[user].size() > 1;
      bool ends_there = last != kNoNode && target_[last] == user;
      if (is_joined && ends_there) handed_over_[user] += info.size;
      reduced_.AddUse(added, user, is_joined ? ends_there : use.handed_over);
    }
  }

  const MemoryGraph& graph_;
  StepRelations& relations_;
  const SeriesParallelParts& parts_;
  MemoryGraph reduced_;
  std::vector<Node> target_;  // of each step
  std::vector<int64_t> hills_;
  std::vector<int64_t> handed_over_;
  // By added step: the last value that was found to be read there.
  std::vector<Value> last_read_;
};

}  // namespace

SeriesParallelReduction::SeriesParallelReduction(const MemoryGraph& graph) {
  StepRelations relations(graph, kMaxVisits);
  SeriesParallelParts parts(graph, &relations);
  is_chain_ = parts.parts().size() == 1;
  graph_ = Reducer(graph, &relations, parts).Run(&members_);
}

std::vector<Node> SeriesParallelReduction::Expand(
    absl::Span<const Node> order) const {
  return ExpandMembers(members_, order);
}

std::vector<Node> SeriesParallelReduction::Project(
    absl::Span<const Node> order) const {
  return ProjectOntoMembers(graph_, members_, order);
}

std::vector<Node> SeriesParallelReduction::ChainOrder() const {
  // Segments are numbered as they stand.
  std::vector<Node> order(graph_.node_count());
  for (Node node = 0; node < graph_.node_count(); ++node) order[node] = node;
  return order;
}

}  // namespace xla
