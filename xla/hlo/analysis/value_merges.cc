#include "xla/hlo/analysis/value_merges.h"

#include <algorithm>
#include <utility>

// Resolves the graph of forwards and merges between positions to sets of
// values. state_[p] encodes what position p is: a forward to another position
// (>= 0), a definition (-1) or merge number n (-2 - n).
//
// Redundant merges are removed as by Braun et al., "Simple and Efficient
// Construction of Static Single Assignment Form" (CC 2013): a strongly
// connected component of merges that a single value enters from outside is that
// value. If several values enter, the merges they enter directly stay, and the
// rest of the component is decomposed again. Merges that are no phis become
// sets: the union over everything that reaches their component.

namespace xla {

void ValueMerges::Merge(int32_t position, absl::Span<const int32_t> sources,
                        bool phi) {
  const int32_t number = static_cast<int32_t>(merges_.size());
  const int32_t first = static_cast<int32_t>(sources_.size());
  sources_.insert(sources_.end(), sources.begin(), sources.end());
  merges_.push_back(
      {position, phi, first, static_cast<int32_t>(sources_.size()), position});
  state_[position] = -2 - number;
}

absl::Status ValueMerges::Resolve() {
  absl::Status status = CompressForwards();
  if (!status.ok()) return status;
  list_of_.resize(merges_.size(), 0);
  number_.resize(merges_.size());
  low_.resize(merges_.size());
  open_.resize(merges_.size(), false);
  RemoveRedundant();
  BuildSets();
  for (int32_t i = 0; i < static_cast<int32_t>(state_.size()); ++i) {
    const int32_t root = Root(i);
    if (root == i) continue;
    const int32_t merge = MergeAt(root);
    state_[i] = merge >= 0 ? -2 - merge : root;
  }
  return absl::OkStatus();
}

// Path compression for chains of forwards. A path longer than the number of
// positions must be a cycle.
absl::Status ValueMerges::CompressForwards() {
  std::vector<int32_t> path;
  for (int32_t start = 0; start < static_cast<int32_t>(state_.size());
       ++start) {
    int32_t at = start;
    while (state_[at] >= 0 && path.size() <= state_.size()) {
      path.push_back(at);
      at = state_[at];
    }
    if (path.size() > state_.size()) {
      return absl::InternalError("values are forwarded in a cycle");
    }
    for (int32_t position : path) state_[position] = at;
    path.clear();
  }
  return absl::OkStatus();
}

// Follows forwards and resolved merges to a definition or to a merge that
// stands for itself.
int32_t ValueMerges::Root(int32_t position) const {
  int32_t root = position;
  while (true) {
    if (state_[root] >= 0) {
      root = state_[root];
      continue;
    }
    const int32_t merge = MergeAt(root);
    if (merge < 0 || merges_[merge].result == root) return root;
    root = merges_[merge].result;
  }
}

// Tarjan's algorithm on the subgraph of the given merges, iterative. Components
// come out sources first.
std::vector<ValueMerges::Component> ValueMerges::Components(
    const std::vector<int32_t>& merges) {
  const int32_t list = ++list_;
  for (int32_t merge : merges) {
    list_of_[merge] = list;
    number_[merge] = -1;
  }
  std::vector<int32_t> pending;
  // Merges being visited, each with its next source.
  std::vector<std::pair<int32_t, int32_t>> visiting;
  std::vector<Component> components;
  int32_t count = 0;
  auto enter = [&](int32_t merge) {
    number_[merge] = low_[merge] = count++;
    open_[merge] = true;
    pending.push_back(merge);
    visiting.emplace_back(merge, merges_[merge].first_source);
  };
  for (int32_t start : merges) {
    if (number_[start] >= 0) continue;
    enter(start);
    while (!visiting.empty()) {
      const int32_t merge = visiting.back().first;
      if (visiting.back().second < merges_[merge].end_source) {
        const int32_t source =
            MergeAt(Root(sources_[visiting.back().second++]));
        if (source < 0 || list_of_[source] != list) continue;
        if (number_[source] < 0) {
          enter(source);
        } else if (open_[source]) {
          low_[merge] = std::min(low_[merge], number_[source]);
        }
        continue;
      }
      visiting.pop_back();
      if (!visiting.empty()) {
        int32_t& parent = low_[visiting.back().first];
        parent = std::min(parent, low_[merge]);
      }
      if (low_[merge] != number_[merge]) continue;
      Component component;
      do {
        component.push_back(pending.back());
        open_[pending.back()] = false;
        pending.pop_back();
      } while (component.back() != merge);
      components.push_back(std::move(component));
    }
  }
  return components;
}

// If exactly one value enters the component, all of its merges are that value.
// Otherwise returns the merges that no outside value enters, which may still be
// reducible.
std::vector<int32_t> ValueMerges::Reduce(const Component& component) {
  const int32_t mark = ++list_;
  for (int32_t merge : component) list_of_[merge] = mark;
  int32_t entering = -1;
  bool several = false;
  std::vector<int32_t> inner;
  for (int32_t merge : component) {
    bool entered = false;
    for (int32_t i = merges_[merge].first_source; i < merges_[merge].end_source;
         ++i) {
      const int32_t root = Root(sources_[i]);
      const int32_t source = MergeAt(root);
      if (source >= 0 && list_of_[source] == mark) continue;
      entered = true;
      several |= entering >= 0 && entering != root;
      entering = root;
    }
    if (!entered) inner.push_back(merge);
  }
  if (several) return inner;
  if (entering >= 0) {
    for (int32_t merge : component) merges_[merge].result = entering;
  }
  return {};
}

void ValueMerges::RemoveRedundant() {
  std::vector<int32_t> all(merges_.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
  // Lists of components that are being worked off; inner ones on top, since
  // what comes after depends on them.
  std::vector<std::pair<std::vector<Component>, size_t>> stack;
  stack.emplace_back(Components(all), 0);
  while (!stack.empty()) {
    if (stack.back().second == stack.back().first.size()) {
      stack.pop_back();
      continue;
    }
    const Component& next = stack.back().first[stack.back().second++];
    std::vector<int32_t> inner = Reduce(next);
    if (!inner.empty()) stack.emplace_back(Components(inner), 0);
  }
}

// All merges of a component have the same set. Components come in topological
// order, so the sets of their sources are complete.
void ValueMerges::BuildSets() {
  std::vector<int32_t> unions;
  for (size_t i = 0; i < merges_.size(); ++i) {
    if (!merges_[i].phi && merges_[i].result == merges_[i].position) {
      unions.push_back(static_cast<int32_t>(i));
    }
  }
  for (const Component& component : Components(unions)) {
    const int32_t number = static_cast<int32_t>(sets_.size());
    for (int32_t merge : component) merges_[merge].set = number;
    std::vector<int32_t> values;
    for (int32_t merge : component) {
      for (int32_t i = merges_[merge].first_source;
           i < merges_[merge].end_source; ++i) {
        const int32_t root = Root(sources_[i]);
        const int32_t source = MergeAt(root);
        const int32_t set = source < 0 ? -1 : merges_[source].set;
        if (set == number) continue;
        if (set < 0) {
          values.push_back(root);
        } else {
          values.insert(values.end(), sets_[set].begin(), sets_[set].end());
        }
      }
    }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    sets_.push_back(std::move(values));
  }
}

}  // namespace xla
