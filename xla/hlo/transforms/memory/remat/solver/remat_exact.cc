#include "xla/hlo/transforms/memory/remat/solver/remat_exact.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace xla::remat_plan {
namespace {

// Dijkstra's algorithm over states (number of nodes passed, set of nodes whose
// values are live). Edges: run the next node of the order, run an earlier node
// again, skip the next node if it is recomputable, or drop a live node's
// values. Only runs have a cost, their seconds; an edge exists if the memory
// during the run is within the limit. Exponential in the worst case, hence the
// bounds on nodes (bits of the mask) and on states.
//
// Values of one node live and die together here, and aliases are not modeled,
// so problems with aliases are rejected.
class ShortestPath {
 public:
  ShortestPath(const RematProblem& problem, int64_t limit_bytes,
               int64_t max_states)
      : problem_(problem), limit_(limit_bytes), max_states_(max_states) {}

  std::optional<std::vector<NodeId>> Run() {
    if (!Prepare()) return std::nullopt;
    Offer(0, {0, 0}, {0, 0}, -1);
    while (!queue_.empty()) {
      const auto [cost, passed, live] = queue_.top();
      queue_.pop();
      const State state = {passed, live};
      if (best_.at(state).cost < cost) continue;
      if (passed == size_ && (live & outputs_) == outputs_) {
        return PathTo(state);
      }
      if (static_cast<int64_t>(best_.size()) > max_states_) break;
      Expand(cost, state);
    }
    return std::nullopt;
  }

 private:
  // Nodes passed in the order of the problem, and those whose values are live;
  // nodes are numbered by their place.
  using State = std::pair<int, uint32_t>;
  struct Step {
    double cost;
    State from;
    int ran;  // -1: nothing
  };

  // Renumbers nodes by their place in the order and precomputes operand masks
  // and bytes. Outputs count 0 bytes, as everywhere.
  bool Prepare() {
    size_ = static_cast<int>(problem_.order.size());
    if (size_ > kMaxExactNodes) return false;
    std::vector<int> place(problem_.nodes.size());
    for (int i = 0; i < size_; ++i) place[problem_.order[i]] = i;
    for (ValueId value : problem_.outputs) {
      outputs_ |= 1u << place[problem_.values[value].node];
    }
    for (int i = 0; i < size_; ++i) {
      const RematProblem::Node& node = problem_.nodes[problem_.order[i]];
      uint32_t reads = 0;
      for (ValueId value : node.reads) {
        reads |= 1u << place[problem_.values[value].node];
      }
      int64_t bytes = 0;
      for (int32_t k = 0; k < node.value_count; ++k) {
        const RematProblem::Value& value =
            problem_.values[node.first_value + k];
        if (value.alias_of >= 0 || value.overwritten_by >= 0) return false;
        if ((outputs_ >> i & 1) == 0) bytes += value.bytes;
      }
      reads_.push_back(reads);
      bytes_.push_back(bytes);
    }
    return true;
  }

  void Offer(double cost, State state, State from, int ran) {
    auto [it, is_new] = best_.try_emplace(state, Step{cost, from, ran});
    if (!is_new) {
      if (it->second.cost <= cost) return;
      it->second = Step{cost, from, ran};
    }
    queue_.emplace(cost, state.first, state.second);
  }

  void Expand(double cost, State state) {
    const auto [passed, live] = state;
    int64_t live_bytes = problem_.base_bytes;
    for (int i = 0; i < size_; ++i) {
      if (live >> i & 1) live_bytes += bytes_[i];
    }
    if (passed < size_ && problem_.nodes[problem_.order[passed]].recomputable) {
      Offer(cost, {passed + 1, live}, state, -1);
    }
    for (int i = 0; i < size_; ++i) {
      const uint32_t bit = 1u << i;
      if (live & bit) {
        Offer(cost, {passed, live & ~bit}, state, -1);
        continue;
      }
      const RematProblem::Node& node = problem_.nodes[problem_.order[i]];
      const bool first = i == passed;
      if (i > passed || (!first && !node.recomputable)) continue;
      if ((reads_[i] & ~live) != 0) continue;
      if (live_bytes + bytes_[i] + node.internal_bytes > limit_) continue;
      Offer(cost + node.seconds, {first ? passed + 1 : passed, live | bit},
            state, i);
    }
  }

  std::vector<NodeId> PathTo(State state) const {
    std::vector<NodeId> program;
    while (state != State{0, 0}) {
      const Step& step = best_.at(state);
      if (step.ran >= 0) program.push_back(problem_.order[step.ran]);
      state = step.from;
    }
    std::reverse(program.begin(), program.end());
    return program;
  }

  const RematProblem& problem_;
  const int64_t limit_;
  const int64_t max_states_;
  int size_ = 0;
  uint32_t outputs_ = 0;
  std::vector<uint32_t> reads_;
  std::vector<int64_t> bytes_;
  absl::flat_hash_map<State, Step> best_;
  std::priority_queue<std::tuple<double, int, uint32_t>,
                      std::vector<std::tuple<double, int, uint32_t>>,
                      std::greater<std::tuple<double, int, uint32_t>>>
      queue_;
};

}  // namespace

std::optional<std::vector<NodeId>> ExactProgram(const RematProblem& problem,
                                                int64_t limit_bytes,
                                                int64_t max_states) {
  return ShortestPath(problem, limit_bytes, max_states).Run();
}

}  // namespace xla::remat_plan
