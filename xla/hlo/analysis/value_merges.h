#ifndef XLA_HLO_ANALYSIS_VALUE_MERGES_H_
#define XLA_HLO_ANALYSIS_VALUE_MERGES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace xla {

// The graph behind dataflow analysis, without instructions: where values meet.
//
// Nodes are positions 0..n-1. A position defines a value (the initial state),
// forwards one other position, or merges several. Resolve finds the values at
// each position:
//
//   0: defines   1: merges {0, 2}   2: forwards 1   3: merges {1, 4}  4:
//   defines → with phis 1 and 2 are {0}, as nothing else ever gets there, and 3
//   is a
//     phi, that is, {3}; without, 3 is {0, 4}
//
// Path compression, Tarjan's strongly connected components, and the removal of
// redundant phis of Braun et al. (Simple and Efficient Construction of Static
// Single Assignment Form, 2013, algorithm 5). O((n + edges) * nesting of merges
// in merges + sizes of sets), near-linear; nothing recurses.
class ValueMerges {
 public:
  explicit ValueMerges(int32_t positions) : state_(positions, kDefines) {}

  int32_t size() const { return static_cast<int32_t>(state_.size()); }

  void Define(int32_t position) { state_[position] = kDefines; }
  void Forward(int32_t position, int32_t source) { state_[position] = source; }
  // With `phi`, several values give a phi; without, the set of them.
  void Merge(int32_t position, absl::Span<const int32_t> sources, bool phi);

  // Internal if positions forward one another in a cycle. Call once.
  absl::Status Resolve();

  // After Resolve: the position that defines the only value here, or its phi;
  // -1 if there are several.
  int32_t Unique(int32_t position) const {
    const int32_t state = state_[position];
    if (state == kDefines) return position;
    if (state >= 0) return state;
    const Node& node = merges_[MergeOf(state)];
    return node.set < 0 ? node.position : -1;
  }
  // If Unique is -1: all of them, ascending.
  absl::Span<const int32_t> Values(int32_t position) const {
    return sets_[merges_[MergeOf(state_[position])].set];
  }
  // Whether there is a phi here.
  bool IsPhi(int32_t position) const {
    return IsMerge(state_[position]) && Unique(position) == position;
  }

 private:
  static constexpr int32_t kDefines = -1;
  // A merge is -2 - its number.
  static bool IsMerge(int32_t state) { return state <= -2; }
  static int32_t MergeOf(int32_t state) { return -2 - state; }

  struct Node {
    int32_t position;
    bool phi;
    int32_t first_source;
    int32_t end_source;
    // The root position that replaces it; itself if none does.
    int32_t result;
    // Number of its set; -1 if `result` suffices.
    int32_t set = -1;
  };
  using Component = std::vector<int32_t>;

  // The definition or merge that a position comes from, through forwards and
  // replaced merges.
  int32_t Root(int32_t position) const;
  // The merge at a root, -1 if it is a definition.
  int32_t MergeAt(int32_t root) const {
    return IsMerge(state_[root]) ? MergeOf(state_[root]) : -1;
  }
  absl::Status CompressForwards();
  // Strongly connected components of the merges listed, sources first.
  std::vector<Component> Components(const std::vector<int32_t>& merges);
  void RemoveRedundant();
  // Replaces the component's merges by the only value that enters it, if there
  // is one; else returns those that no outside value enters directly.
  std::vector<int32_t> Reduce(const Component& component);
  void BuildSets();

  std::vector<int32_t> state_;
  std::vector<Node> merges_;
  std::vector<int32_t> sources_;
  std::vector<std::vector<int32_t>> sets_;
  // By merge, for Components and Reduce: the list that it is in (lists are
  // numbered), its number in the walk, the least number it reaches.
  std::vector<int32_t> list_of_;
  std::vector<int32_t> number_;
  std::vector<int32_t> low_;
  std::vector<bool> open_;
  int32_t list_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_VALUE_MERGES_H_
