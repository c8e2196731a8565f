#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

// What any program needs at some time, whatever it runs again and in which
// order. A node has all that it reads at hand. One of these values was made
// last: while that happened, the others were there. The same goes for what had
// to be there then. A state is such a set of values; its cost, the most bytes
// on the way to it. Which value is the last one is the program's choice, so the
// cheapest way counts: Dijkstra with the greatest cost instead of the sum.
// Where it ends early, the cost of the state at hand is a bound all the same.
//
// Outputs and parameters count nothing, as in a trace.

namespace xla::remat_plan {
namespace {

// Nodes that are looked at more closely, those of the highest bound so far, and
// states of each.
constexpr size_t kNodes = 24;
constexpr int kStates = 200;
// Values of a state, beyond which it is not followed.
constexpr size_t kMaxValues = 24;

using Values = std::vector<ValueId>;  // ascending

class BoundSearch {
 public:
  BoundSearch(const RematProblem& problem, bool in_place)
      : problem_(problem), in_place_(in_place) {
    const size_t count = problem.values.size();
    home_.resize(count);
    bytes_.resize(count);
    seen_.assign(count, -1);
    std::vector<bool> output(count, false);
    for (ValueId value : problem.outputs) output[value] = true;
    // A value that lies in another's memory comes after it.
    for (size_t v = count; v-- > 0;) {
      const ValueId alias = problem.values[v].alias_of;
      if (output[v] && alias >= 0) output[alias] = true;
    }
    for (size_t v = 0; v < count; ++v) {
      const ValueId alias = problem.values[v].alias_of;
      home_[v] = alias < 0 ? static_cast<ValueId>(v) : home_[alias];
      bytes_[v] = output[home_[v]] ? 0 : problem.values[home_[v]].bytes;
    }
  }

  int64_t Bound() {
    std::vector<std::pair<int64_t, NodeId>> nodes;
    int64_t bound = 0;
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      const NodeId node = static_cast<NodeId>(n);
      bound = std::max(bound, Cost({}, node));
      const Values reads = ReadBy(node);
      if (reads.size() < 2 || reads.size() > kMaxValues) continue;
      int64_t least = -1;
      ForEachLast(reads, [&](NodeId last, Values rest) {
        const int64_t cost = Cost(rest, last);
        if (least < 0 || cost < least) least = cost;
      });
      nodes.emplace_back(least, node);
    }
    const size_t most = std::min(kNodes, nodes.size());
    std::partial_sort(nodes.begin(), nodes.begin() + most, nodes.end(),
                      std::greater<std::pair<int64_t, NodeId>>());
    for (size_t i = 0; i < most; ++i) {
      bound = std::max(bound, BoundOf(nodes[i].second));
    }
    return bound + problem_.base_bytes;
  }

 private:
  // Bytes of the memory of a value, if it was not counted since the last stamp.
  int64_t Take(ValueId value) {
    int64_t& seen = seen_[home_[value]];
    if (seen == stamp_) return 0;
    seen = stamp_;
    return bytes_[value];
  }

  // What a run of `node` needs while the other values are there.
  int64_t Cost(const Values& others, NodeId id) {
    const RematProblem::Node& node = problem_.nodes[id];
    ++stamp_;
    int64_t rest = 0, read = 0, made = 0, shared = 0;
    for (ValueId value : others) rest += Take(value);
    for (ValueId value : node.reads) read += Take(value);
    for (int32_t k = 0; k < node.value_count; ++k) {
      const ValueId value = node.first_value + k;
      const int64_t bytes = Take(value);
      made += bytes;
      const ValueId operand = problem_.values[value].in_place_of;
      if (operand >= 0 && bytes_[operand] > 0) shared += bytes;
    }
    return rest + node.internal_bytes +
           (in_place_ && node.shares_memory ? std::max(read, made)
                                            : read + made - shared);
  }

  // What has to be there, without what takes no room.
  Values ReadBy(NodeId node) const {
    Values result;
    for (ValueId value : problem_.nodes[node].reads) {
      if (bytes_[value] > 0) result.push_back(value);
    }
    return result;
  }

  // Calls `visit` for each node that may have run last of those that make the
  // values, with the values of the others.
  template <typename Visit>
  void ForEachLast(const Values& values, Visit visit) const {
    // Values of a node follow each other.
    for (size_t begin = 0, end = 0; begin < values.size(); begin = end) {
      const NodeId last = problem_.values[values[begin]].node;
      while (end < values.size() && problem_.values[values[end]].node == last) {
        ++end;
      }
      Values rest(values.begin(), values.begin() + begin);
      rest.insert(rest.end(), values.begin() + end, values.end());
      visit(last, std::move(rest));
    }
  }

  int64_t BoundOf(NodeId node) {
    using State = std::pair<int64_t, Values>;
    std::priority_queue<State, std::vector<State>, std::greater<State>> queue;
    std::set<Values> known;
    queue.emplace(Cost({}, node), ReadBy(node));
    int left = kStates;
    while (true) {
      const State state = queue.top();
      queue.pop();
      if (state.second.empty() || state.second.size() > kMaxValues ||
          --left == 0) {
        return state.first;
      }
      // Each state is left on the cheapest way to it.
      if (!known.insert(state.second).second) continue;
      ForEachLast(state.second, [&](NodeId last, Values rest) {
        const int64_t cost = std::max(state.first, Cost(rest, last));
        Values next;
        const Values reads = ReadBy(last);
        std::set_union(rest.begin(), rest.end(), reads.begin(), reads.end(),
                       std::back_inserter(next));
        queue.emplace(cost, std::move(next));
      });
    }
  }

  const RematProblem& problem_;
  const bool in_place_;
  std::vector<ValueId> home_;   // by value
  std::vector<int64_t> bytes_;  // by value, of its home
  std::vector<int64_t> seen_;   // by home: the last stamp
  int64_t stamp_ = 0;
};

}  // namespace

int64_t LowerBoundBytes(const RematProblem& problem, bool in_place) {
  return BoundSearch(problem, in_place).Bound();
}

}  // namespace xla::remat_plan
