#include "xla/hlo/transforms/memory/remat/solver/remat_eager.h"

#include <algorithm>

namespace xla::remat_plan {
namespace {

// Steps that may come early together.
constexpr int kMaxEagerChain = 4;
// Readers of one value that are looked at after each step.
constexpr size_t kMaxEagerReaders = 64;

// List scheduling in the given order with one exception: after each placed
// step, readers of the values involved are examined and run at once if they pay
// for themselves. A step pays if it produces no more bytes than its share of
// the operands it helps to free, where each operand is shared equally among its
// remaining readers. Up to kMaxEagerChain steps are considered as a unit,
// because a step that grows memory is often followed by one that shrinks it.
class Eager {
 public:
  Eager(const RematProblem& problem, absl::Span<const NodeId> start)
      : problem_(problem),
        start_(start),
        readers_(problem.values.size()),
        left_(problem.values.size(), 0),
        bytes_(problem.values.size(), 0),
        missing_(problem.nodes.size(), 0),
        moves_(problem.nodes.size(), false),
        done_(problem.nodes.size(), false) {
    for (NodeId node : start) {
      for (ValueId value : problem.nodes[node].reads) {
        readers_[value].push_back(node);
        ++left_[value];
        ++missing_[node];
      }
    }
    // A value computed in place must come after the other readers of its
    // operand.
    for (size_t n = 0; n < moves_.size(); ++n) {
      const RematProblem::Node& node = problem.nodes[n];
      moves_[n] =
          node.recomputable && node.internal_bytes == 0 && !node.reads.empty();
      ForEachMade(static_cast<NodeId>(n), [&](ValueId value) {
        if (problem.values[value].alias_of >= 0) moves_[n] = false;
      });
    }
    std::vector<bool> output(problem.values.size(), false);
    for (ValueId value : problem.outputs) output[value] = true;
    for (size_t v = problem.values.size(); v-- > 0;) {
      const RematProblem::Value& value = problem.values[v];
      if (output[v] && value.alias_of >= 0) output[value.alias_of] = true;
      if (!output[v] && value.alias_of < 0) bytes_[v] = value.bytes;
    }
  }

  std::vector<NodeId> Run() {
    for (NodeId node : start_) {
      if (done_[node]) continue;
      Place(node);
      // Steps that have become ready, or closer to freeing something.
      for (size_t i = program_.size() - 1; i < program_.size(); ++i) {
        Follow(program_[i]);
      }
    }
    return std::move(program_);
  }

 private:
  const RematProblem::Node& Node(NodeId id) const { return problem_.nodes[id]; }

  template <typename Visit>
  void ForEachMade(NodeId id, Visit visit) const {
    for (int32_t k = 0; k < Node(id).value_count; ++k) {
      visit(Node(id).first_value + k);
    }
  }

  void Place(NodeId id) {
    done_[id] = true;
    program_.push_back(id);
    for (ValueId value : Node(id).reads) --left_[value];
    ForEachMade(id, [&](ValueId value) {
      for (NodeId reader : readers_[value]) --missing_[reader];
    });
  }

  bool MayMove(NodeId id) const {
    return moves_[id] && !done_[id] && missing_[id] == 0;
  }

  // Examines what the placement of `id` has changed: readers of its results may
  // have become ready, and other readers of its operands now hold a larger
  // share of them.
  void Follow(NodeId id) {
    const auto look = [&](ValueId value) {
      if (readers_[value].size() > kMaxEagerReaders) return;
      for (NodeId reader : readers_[value]) {
        if (MayMove(reader)) TryChain(reader);
      }
    };
    ForEachMade(id, look);
    for (ValueId value : Node(id).reads) {
      if (left_[value] > 0 && bytes_[value] > 0) look(value);
    }
  }

  // Places the node, and what follows up to where it has paid.
  void TryChain(NodeId id) {
    NodeId chain[kMaxEagerChain];
    int length = 0;
    double share = 0;
    while (length < kMaxEagerChain) {
      const RematProblem::Node& node = Node(id);
      int64_t made = 0;
      for (ValueId value : node.reads) {
        const NodeId maker = problem_.values[value].node;
        if (length > 0 && maker == chain[length - 1]) continue;
        share += static_cast<double>(bytes_[value]) / left_[value];
      }
      ForEachMade(id, [&](ValueId value) { made += bytes_[value]; });
      chain[length++] = id;
      if (static_cast<double>(made) <= share) {
        for (int i = 0; i < length; ++i) Place(chain[i]);
        return;
      }
      NodeId next = -1;
      int64_t readers = 0;
      ForEachMade(id, [&](ValueId value) {
        readers += static_cast<int64_t>(readers_[value].size());
        if (readers_[value].size() == 1) next = readers_[value].front();
      });
      if (readers != 1 || done_[next] || missing_[next] != 1 || !moves_[next]) {
        return;
      }
      id = next;
    }
  }

  const RematProblem& problem_;
  const absl::Span<const NodeId> start_;
  std::vector<NodeId> program_;
  std::vector<std::vector<NodeId>> readers_;  // by value
  std::vector<int32_t> left_;                 // by value: readers not placed
  std::vector<int64_t> bytes_;                // by value; of outputs 0
  std::vector<int32_t> missing_;              // by node: reads not made
  std::vector<bool> moves_;                   // by node
  std::vector<bool> done_;                    // by node
};

}  // namespace

std::vector<NodeId> EagerProgram(const RematProblem& problem,
                                 absl::Span<const NodeId> start) {
  return Eager(problem, start).Run();
}

}  // namespace xla::remat_plan
