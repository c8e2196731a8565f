#include "xla/hlo/analysis/reachability_labels.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

// Labels that decide most reachability queries on a DAG in constant time, in
// the manner of GRAIL and of path labelings:
//  - negative filters: two topological orders that differ as much as possible,
//    depth and height, and for both orders the range of positions among the
//    ancestors and descendants; a reaches b only if all of them agree;
//  - positive and exact answers through a few long paths: for each node, the
//    last place on the path that reaches it and the first place that it
//    reaches. If one of the two nodes lies on a path, the comparison of places
//    is exact.
//
// Nodes are numbered topologically on input, inputs before their readers.
// Building takes O((nodes + edges) * kPaths).

namespace xla {

ReachabilityLabels::ReachabilityLabels(
    int32_t num_nodes,
    absl::FunctionRef<void(int32_t node, std::vector<int32_t>* inputs)>
        add_inputs)
    : labels_(num_nodes) {
  first_input_.reserve(num_nodes + 1);
  for (int32_t node = 0; node < num_nodes; ++node) {
    first_input_.push_back(static_cast<int32_t>(inputs_.size()));
    add_inputs(node, &inputs_);
  }
  first_input_.push_back(static_cast<int32_t>(inputs_.size()));
  SetRanks();
  SetBounds();
  for (int32_t path = 0; path < kPaths; ++path) AddPath(path);
  SetPlaces();
  first_input_ = {};
  inputs_ = {};
}

// A second topological order, as different from the first as may be: depth
// first from the last nodes, last inputs first.
void ReachabilityLabels::SetRanks() {
  const auto count = static_cast<int32_t>(labels_.size());
  std::vector<bool> seen(count);
  // Nodes that are being visited, each with the end of its inputs left.
  std::vector<std::pair<int32_t, const int32_t*>> stack;
  int32_t next = 0;
  for (int32_t start = count - 1; start >= 0; --start) {
    if (seen[start]) continue;
    seen[start] = true;
    stack.emplace_back(start, end_of(start));
    while (!stack.empty()) {
      auto& [node, end] = stack.back();
      if (end == begin_of(node)) {
        labels_[node].rank = next++;
        stack.pop_back();
        continue;
      }
      const int32_t input = *--end;
      if (seen[input]) continue;
      seen[input] = true;
      stack.emplace_back(input, end_of(input));
    }
  }
}

// least and greatest: over all ancestors, respectively descendants, the extreme
// positions in both orders.
void ReachabilityLabels::SetBounds() {
  const auto count = static_cast<int32_t>(labels_.size());
  for (int32_t node = 0; node < count; ++node) {
    Label& label = labels_[node];
    label.least[0] = label.greatest[0] = node;
    label.least[1] = label.greatest[1] = label.rank;
    for (const int32_t* input = begin_of(node); input != end_of(node);
         ++input) {
      const Label& its = labels_[*input];
      label.depth = std::max(label.depth, its.depth + 1);
      label.least[0] = std::min(label.least[0], its.least[0]);
      label.least[1] = std::min(label.least[1], its.least[1]);
    }
  }
  for (int32_t node = count - 1; node >= 0; --node) {
    const Label& label = labels_[node];
    for (const int32_t* input = begin_of(node); input != end_of(node);
         ++input) {
      Label& its = labels_[*input];
      its.height = std::max(its.height, label.height + 1);
      its.greatest[0] = std::max(its.greatest[0], label.greatest[0]);
      its.greatest[1] = std::max(its.greatest[1], label.greatest[1]);
    }
  }
}

// A longest path through the nodes that no earlier path covers, by dynamic
// programming in topological order.
void ReachabilityLabels::AddPath(int32_t path) {
  const auto count = static_cast<int32_t>(labels_.size());
  std::vector<int32_t> length(count);
  std::vector<int32_t> before(count, -1);
  int32_t last = -1;
  for (int32_t node = 0; node < count; ++node) {
    if (labels_[node].path >= 0) continue;
    length[node] = 1;
    for (const int32_t* input = begin_of(node); input != end_of(node);
         ++input) {
      if (labels_[*input].path >= 0 || length[*input] < length[node]) continue;
      length[node] = length[*input] + 1;
      before[node] = *input;
    }
    if (last < 0 || length[node] > length[last]) last = node;
  }
  for (int32_t node = last; node >= 0; node = before[node]) {
    labels_[node].path = path;
    labels_[node].place = length[node];
  }
}

// For every path: the last place on it that reaches the node, and the first
// that the node reaches. Along a path each node reaches the next, so one number
// decides: a node at place p reaches this one if and only if p <= last_before.
// Numbers of nodes are topological, so one sweep forward takes the greatest of
// the inputs, and one backward the least of the users.
void ReachabilityLabels::SetPlaces() {
  const auto count = static_cast<int32_t>(labels_.size());
  for (int32_t node = 0; node < count; ++node) {
    Label& label = labels_[node];
    std::fill_n(label.last_before, kPaths, -1);
    std::fill_n(label.first_after, kPaths, std::numeric_limits<int32_t>::max());
    for (const int32_t* input = begin_of(node); input != end_of(node);
         ++input) {
      const Label& its = labels_[*input];
      for (int path = 0; path < kPaths; ++path) {
        label.last_before[path] =
            std::max(label.last_before[path], its.last_before[path]);
      }
    }
    if (label.path < 0) continue;
    label.last_before[label.path] = label.first_after[label.path] = label.place;
  }
  for (int32_t node = count - 1; node >= 0; --node) {
    const Label& label = labels_[node];
    for (const int32_t* input = begin_of(node); input != end_of(node);
         ++input) {
      Label& its = labels_[*input];
      for (int path = 0; path < kPaths; ++path) {
        its.first_after[path] =
            std::min(its.first_after[path], label.first_after[path]);
      }
    }
  }
}

// The cheap negative tests come first, as most pairs are unordered.
ReachabilityLabels::Answer ReachabilityLabels::Reaches(int32_t a,
                                                       int32_t b) const {
  if (a == b) return Answer::kYes;
  const Label& from = labels_[a];
  const Label& to = labels_[b];
  if (a > b || from.depth >= to.depth || from.height <= to.height ||
      from.rank > to.rank || a < to.least[0] || from.rank < to.least[1] ||
      b > from.greatest[0] || to.rank > from.greatest[1]) {
    return Answer::kNo;
  }
  if (from.path >= 0) {
    return to.last_before[from.path] >= from.place ? Answer::kYes : Answer::kNo;
  }
  if (to.path >= 0) {
    return from.first_after[to.path] <= to.place ? Answer::kYes : Answer::kNo;
  }
  for (int path = 0; path < kPaths; ++path) {
    if (from.first_after[path] <= to.last_before[path]) return Answer::kYes;
  }
  return Answer::kUnknown;
}

}  // namespace xla
