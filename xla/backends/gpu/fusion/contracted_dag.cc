#include "xla/backends/gpu/fusion/contracted_dag.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/log/check.h"

namespace xla::gpu {
namespace {

// Edges that the forward and the backward search follow in turn. The one that
// finishes first has then done no more work than the other.
constexpr size_t kEdgesPerStep = 8;

}  // namespace

ContractedDag::ContractedDag(Node nodes)
    : successors_(nodes),
      predecessors_(nodes),
      removed_(nodes, false),
      parent_(nodes),
      line_(nodes),
      marks_(nodes, -1) {
  for (Node i = 0; i < nodes; ++i) parent_[i] = i;
}

void ContractedDag::AddEdge(Node from, Node to) {
  CHECK_LT(from, to);
  successors_[from].push_back(to);
  predecessors_[to].push_back(from);
  tree_parent_.clear();
}

// Each node hangs below its deepest predecessor. With nodes numbered in
// pre-order, the descendants of a node have consecutive numbers, so "is below"
// is a comparison with the interval [begin, begin + size). A path in the tree
// is a path in the graph; the converse need not hold, so a negative answer
// still requires a search.
void ContractedDag::BuildTree() const {
  if (!tree_parent_.empty()) return;
  const Node nodes = static_cast<Node>(parent_.size());
  tree_parent_.assign(nodes, kNone);
  tree_begin_.assign(nodes, 0);
  tree_size_.assign(nodes, 1);
  tree_depth_.assign(nodes, 0);
  // All edges run from lower to higher numbers.
  for (Node node = 0; node < nodes; ++node) {
    for (Node from : predecessors_[node]) {
      if (tree_depth_[from] + 1 <= tree_depth_[node]) continue;
      tree_depth_[node] = tree_depth_[from] + 1;
      tree_parent_[node] = from;
    }
  }
  for (Node node = nodes - 1; node >= 0; --node) {
    if (tree_parent_[node] != kNone) {
      tree_size_[tree_parent_[node]] += tree_size_[node];
    }
  }
  Node roots = 0;
  std::vector<Node> next(nodes);  // number of the next child
  for (Node node = 0; node < nodes; ++node) {
    Node& number =
        tree_parent_[node] == kNone ? roots : next[tree_parent_[node]];
    tree_begin_[node] = number;
    number += tree_size_[node];
    next[node] = tree_begin_[node] + 1;
  }
  highest_.resize(nodes);
  for (Node node = 0; node < nodes; ++node) highest_[node] = node;
  deepest_ = highest_;
}

ContractedDag::Node ContractedDag::FindBelow(Node first, Node last) const {
  for (Node below : {deepest_[last], highest_[last], last}) {
    for (Node above : {highest_[first], deepest_[first], first}) {
      if (IsAbove(above, below)) return below;
    }
  }
  return kNone;
}

ContractedDag::Node ContractedDag::Find(Node node) const {
  while (parent_[node] != node) {
    parent_[node] = parent_[parent_[node]];
    node = parent_[node];
  }
  return node;
}

ContractedDag::Node ContractedDag::Step(bool forward, Node bound, Node skip,
                                        Search* search) const {
  const int64_t mine = 2 * epoch_ + (forward ? 0 : 1);
  const int64_t theirs = 2 * epoch_ + (forward ? 1 : 0);
  const bool is_start = search->next == 0;
  const Node node = search->found[search->next];
  const std::vector<Node>& edges =
      forward ? successors_[node] : predecessors_[node];
  const size_t end = std::min(edges.size(), search->edge + kEdgesPerStep);
  for (; search->edge < end; ++search->edge) {
    const Node other = Find(edges[search->edge]);
    if (other == node || removed_[other] || marks_[other] == mine) continue;
    if (is_start && other == skip) continue;
    if (marks_[other] == theirs) return other == bound ? node : other;
    if (forward ? !ComesBefore(other, bound) : !ComesBefore(bound, other)) {
      continue;
    }
    marks_[other] = mine;
    search->found.push_back(other);
  }
  if (end == edges.size()) {
    ++search->next;
    search->edge = 0;
  }
  return kNone;
}

// Both searches alternate in small steps and stay between the places of the two
// nodes, where any path between them must lie. They stop when they meet, or
// when one of them has run out of nodes, which proves that there is no path.
// The cost is twice that of the cheaper search.
ContractedDag::Node ContractedDag::Meet(Node first, Node last,
                                        bool skip_direct) const {
  ++epoch_;
  forward_.Start(first);
  backward_.Start(last);
  marks_[first] = 2 * epoch_;
  marks_[last] = 2 * epoch_ + 1;
  Node met = kNone;
  while (met == kNone) {
    met = Step(true, last, skip_direct ? last : kNone, &forward_);
    if (met != kNone || forward_.done()) break;
    met = Step(false, first, skip_direct ? first : kNone, &backward_);
    if (backward_.done()) break;
  }
  return met;
}

bool ContractedDag::Reaches(Node from, Node to) const {
  from = Find(from);
  to = Find(to);
  if (from == to) return true;
  if (!ComesBefore(from, to)) return false;
  BuildTree();
  if (FindBelow(from, to) != kNone) return true;
  return Meet(from, to, /*skip_direct=*/false) != kNone;
}

bool ContractedDag::IsConnected(Node a, Node b) const {
  a = Find(a);
  b = Find(b);
  return ComesBefore(a, b) ? Reaches(a, b) : Reaches(b, a);
}

ContractedDag::Node ContractedDag::FindBetween(Node a, Node b) const {
  a = Find(a);
  b = Find(b);
  if (a == b) return kNone;
  if (!ComesBefore(a, b)) std::swap(a, b);
  BuildTree();
  // The node before b on the way down from a.
  for (Node node = FindBelow(a, b); node != kNone; node = tree_parent_[node]) {
    const Node between = Find(node);
    if (between == a) break;  // it may be an edge
    if (between != b && !removed_[between]) return between;
  }
  return Meet(a, b, /*skip_direct=*/true);
}

bool ContractedDag::HasEdge(Node a, Node b) const {
  a = Find(a);
  b = Find(b);
  if (!ComesBefore(a, b)) std::swap(a, b);
  const bool forward = successors_[a].size() < predecessors_[b].size();
  const Node other = forward ? b : a;
  for (Node edge : forward ? successors_[a] : predecessors_[b]) {
    if (Find(edge) == other) return true;
  }
  return false;
}

// After a failed search for a path, the nodes found by the search that finished
// are exactly those that must change sides: everything between the places of a
// and b that follows a, or that precedes b. They move past the other node,
// after which both can share its place. The smaller edge list is appended to
// the larger one, so each edge moves O(log n) times in total.
void ContractedDag::Merge(Node a, Node b) {
  a = Find(a);
  b = Find(b);
  if (a == b) return;
  if (!ComesBefore(a, b)) std::swap(a, b);
  CHECK_EQ(Meet(a, b, /*skip_direct=*/true), kNone)
      << "merging nodes that a path connects";

  // The merged node takes the place at which the smaller search ended.
  const bool at_last = forward_.done();
  std::vector<Node>& moved = at_last ? forward_.found : backward_.found;
  moved.erase(moved.begin());
  std::sort(moved.begin(), moved.end(),
            [&](Node x, Node y) { return ComesBefore(x, y); });
  for (Node node : moved) line_.Remove(node);
  line_.InsertAfter(moved, at_last ? b : line_.Previous(a));
  const Node place = at_last ? b : a;
  const Node other = at_last ? a : b;

  // The node with the longer lists keeps them.
  const auto degree = [&](Node n) {
    return successors_[n].size() + predecessors_[n].size();
  };
  Node into = place;
  Node from = other;
  if (degree(into) < degree(from)) {
    // It also takes the place.
    std::swap(into, from);
    line_.Remove(into);
    line_.Replace(from, into);
  } else {
    line_.Remove(from);
  }
  parent_[from] = into;
  BuildTree();
  if (tree_size_[highest_[from]] > tree_size_[highest_[into]]) {
    highest_[into] = highest_[from];
  }
  if (tree_depth_[deepest_[from]] > tree_depth_[deepest_[into]]) {
    deepest_[into] = deepest_[from];
  }
  for (auto* lists : {&successors_, &predecessors_}) {
    std::vector<Node>& target = (*lists)[into];
    std::vector<Node>& source = (*lists)[from];
    target.insert(target.end(), source.begin(), source.end());
    source.clear();
    source.shrink_to_fit();
  }
}

void ContractedDag::Remove(Node node) {
  node = Find(node);
  // The tree knows paths by the edges that there are now.
  BuildTree();
  const auto is_other = [&](Node edge) {
    const Node other = Find(edge);
    return other != node && !removed_[other];
  };
  for (Node before : predecessors_[node]) {
    if (!is_other(before)) continue;
    for (Node after : successors_[node]) {
      if (!is_other(after)) continue;
      successors_[Find(before)].push_back(Find(after));
      predecessors_[Find(after)].push_back(Find(before));
    }
  }
  removed_[node] = true;
  for (auto* lists : {&successors_, &predecessors_}) {
    (*lists)[node].clear();
    (*lists)[node].shrink_to_fit();
  }
}

bool ContractedDag::IsConsistent() const {
  const Node nodes = static_cast<Node>(parent_.size());
  for (Node i = 0; i < nodes; ++i) {
    if (Find(i) != i) continue;
    for (Node edge : successors_[i]) {
      const Node other = Find(edge);
      if (other == i || removed_[other]) continue;
      if (!ComesBefore(i, other)) return false;
    }
  }
  return true;
}

}  // namespace xla::gpu
