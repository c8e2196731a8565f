#include "xla/hlo/transforms/memory/remat/planner/fused_values.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace xla::remat_plan {
namespace {

// Values that a node may read by way of what is fused into it.
constexpr size_t kMaxFusedReads = 64;

}  // namespace

FusedValues::FusedValues(ComputationProblem whole, std::vector<bool> fused)
    : whole_(std::move(whole)), fused_(std::move(fused)) {
  KeepWhatHasToStay();
  FindReads();
  MakeRest();
}

void FusedValues::KeepWhatHasToStay() {
  const RematProblem& problem = whole_.problem;
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    const RematProblem::Node& node = problem.nodes[n];
    if (!node.recomputable || node.value_count != 1 ||
        node.internal_bytes > 0 ||
        problem.values[node.first_value].overwritten_by >= 0) {
      fused_[n] = false;
    }
  }
  for (ValueId output : problem.outputs) {
    fused_[problem.values[output].node] = false;
  }
  for (const RematProblem::Value& value : problem.values) {
    if (value.alias_of < 0) continue;
    fused_[value.node] = fused_[problem.values[value.alias_of].node] = false;
  }
}

// In the order of the problem, so that what a node reads is known before.
// A node reads what its fused producers read, and theirs. One whose list grows
// too long is not fused after all, so that its readers have one entry for it:
// lists stay bounded, and the sum of their lengths linear.
void FusedValues::FindReads() {
  const RematProblem& problem = whole_.problem;
  reads_.resize(problem.nodes.size());
  place_.resize(problem.nodes.size());
  for (size_t i = 0; i < problem.order.size(); ++i) {
    const NodeId node = problem.order[i];
    place_[node] = static_cast<int32_t>(i);
    std::vector<ValueId>& reads = reads_[node];
    for (ValueId value : problem.nodes[node].reads) {
      const NodeId maker = problem.values[value].node;
      if (fused_[maker]) {
        reads.insert(reads.end(), reads_[maker].begin(), reads_[maker].end());
      } else {
        reads.push_back(value);
      }
    }
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    if (reads.size() > kMaxFusedReads) fused_[node] = false;
  }
}

void FusedValues::MakeRest() {
  const RematProblem& problem = whole_.problem;
  RematProblem& rest = rest_.problem;
  std::vector<NodeId> node_of(problem.nodes.size(), -1);
  std::vector<ValueId> value_of(problem.values.size(), -1);
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    if (fused_[n]) continue;
    node_of[n] = static_cast<NodeId>(rest.nodes.size());
    whole_of_.push_back(static_cast<NodeId>(n));
    rest_.instructions.push_back(whole_.instructions[n]);
    RematProblem::Node node = problem.nodes[n];
    node.first_value = static_cast<ValueId>(rest.values.size());
    for (int32_t k = 0; k < node.value_count; ++k) {
      value_of[problem.nodes[n].first_value + k] = node.first_value + k;
      rest.values.push_back(problem.values[problem.nodes[n].first_value + k]);
    }
    rest.nodes.push_back(std::move(node));
  }
  for (size_t m = 0; m < rest.nodes.size(); ++m) {
    rest.nodes[m].reads.clear();
    for (ValueId read : reads_[whole_of_[m]]) {
      rest.nodes[m].reads.push_back(value_of[read]);
    }
  }
  for (RematProblem::Value& value : rest.values) {
    value.node = node_of[value.node];
    if (value.alias_of >= 0) value.alias_of = value_of[value.alias_of];
    if (value.overwritten_by >= 0) {
      value.overwritten_by = node_of[value.overwritten_by];
    }
    // What is fused works in the memory of what it reads, too.
    ValueId place = value.in_place_of;
    while (place >= 0 && fused_[problem.values[place].node]) {
      place = problem.values[place].in_place_of;
    }
    value.in_place_of = place < 0 ? -1 : value_of[place];
  }
  for (ValueId output : problem.outputs) {
    rest.outputs.push_back(value_of[output]);
  }
  for (NodeId node : problem.order) {
    if (!fused_[node]) rest.order.push_back(node_of[node]);
  }
  rest.base_bytes = problem.base_bytes;
}

std::vector<NodeId> FusedValues::Expand(
    absl::Span<const NodeId> program) const {
  const RematProblem& problem = whole_.problem;
  std::vector<NodeId> expanded;
  // By node: the latest step that runs it; by node: the latest step that it is
  // part of, so that it is collected once.
  std::vector<int64_t> ran(problem.nodes.size(), -1);
  std::vector<int64_t> seen(problem.nodes.size(), -1);
  for (size_t step = 0; step < program.size(); ++step) {
    const NodeId node = whole_of_[program[step]];
    const bool again = ran[node] >= 0;
    std::vector<NodeId> parts = {node};
    for (size_t i = 0; i < parts.size(); ++i) {
      for (ValueId value : problem.nodes[parts[i]].reads) {
        const NodeId maker = problem.values[value].node;
        if (!fused_[maker] || seen[maker] == static_cast<int64_t>(step)) {
          continue;
        }
        seen[maker] = static_cast<int64_t>(step);
        parts.push_back(maker);
      }
    }
    std::sort(parts.begin(), parts.end(),
              [this](NodeId a, NodeId b) { return place_[a] < place_[b]; });
    for (NodeId part : parts) {
      // The first time, what others have had fused into them serves here, too,
      // unless what it reads has changed since.
      const auto& reads = problem.nodes[part].reads;
      const bool stale =
          std::any_of(reads.begin(), reads.end(), [&](ValueId value) {
            return ran[problem.values[value].node] > ran[part];
          });
      if (part != node && !again && ran[part] >= 0 && !stale) continue;
      ran[part] = static_cast<int64_t>(expanded.size());
      expanded.push_back(part);
    }
  }
  return expanded;
}

}  // namespace xla::remat_plan
