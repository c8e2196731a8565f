#include "xla/hlo/memory/graph/max_flow.h"

#include <algorithm>
#include <cstddef>

// Dinic's algorithm. Each phase computes levels by breadth-first search over
// residual edges and then augments along shortest paths only, with next_ as the
// current-arc pointer of each vertex. Edges are stored in pairs, so that e ^ 1
// is the reverse of e. Infinite capacities stay infinite: neither side of such
// an edge is adjusted, which is safe while the flow stays far below kInfinite.

namespace xla {

void MaxFlow::AddEdge(int32_t from, int32_t to, int64_t capacity) {
  edges_.push_back({to, first_[from], capacity});
  first_[from] = static_cast<int32_t>(edges_.size()) - 1;
  edges_.push_back({from, first_[to], 0});
  first_[to] = static_cast<int32_t>(edges_.size()) - 1;
}

bool MaxFlow::FindLevels(int32_t source, int32_t sink) {
  level_.assign(first_.size(), -1);
  queue_.clear();
  queue_.push_back(source);
  level_[source] = 0;
  for (size_t i = 0; i < queue_.size(); ++i) {
    int32_t from = queue_[i];
    for (int32_t e = first_[from]; e != -1; e = edges_[e].next) {
      ++looked_at_;
      int32_t to = edges_[e].to;
      if (edges_[e].left > 0 && level_[to] < 0) {
        level_[to] = level_[from] + 1;
        queue_.push_back(to);
      }
    }
  }
  return level_[sink] >= 0;
}

// One augmenting path by iterative depth-first search; 0 when the phase is
// over. A vertex without admissible edges is closed for the rest of the phase.
int64_t MaxFlow::Augment(int32_t source, int32_t sink) {
  path_.clear();
  int32_t at = source;
  while (at != sink) {
    int32_t& e = next_[at];
    while (e != -1 &&
           (edges_[e].left == 0 || level_[edges_[e].to] != level_[at] + 1)) {
      e = edges_[e].next;
      ++looked_at_;
    }
    if (e != -1) {
      path_.push_back(e);
      at = edges_[e].to;
      continue;
    }
    // A dead end: nothing comes here again in this phase.
    level_[at] = -2;
    if (path_.empty()) return 0;
    at = edges_[path_.back() ^ 1].to;
    path_.pop_back();
  }
  int64_t amount = kInfinite;
  for (int32_t e : path_) amount = std::min(amount, edges_[e].left);
  for (int32_t e : path_) {
    if (edges_[e].left < kInfinite / 2) edges_[e].left -= amount;
    if (edges_[e ^ 1].left < kInfinite / 2) edges_[e ^ 1].left += amount;
  }
  looked_at_ += static_cast<int64_t>(path_.size());
  return amount;
}

int64_t MaxFlow::Run(int32_t source, int32_t sink, int64_t* steps) {
  int64_t total = 0;
  looked_at_ = 0;
  while (FindLevels(source, sink)) {
    next_ = first_;
    while (int64_t amount = Augment(source, sink)) {
      total += amount;
      if (total >= kInfinite / 2) return kInfinite;
      if (steps != nullptr && looked_at_ > *steps) break;
    }
    if (steps != nullptr && looked_at_ > *steps) break;
  }
  if (steps != nullptr) *steps -= looked_at_;
  return total;
}

// The vertices that reach the sink in the residual graph: the complement of the
// largest source side of a minimum cut.
std::vector<bool> MaxFlow::SinkSide(int32_t sink) const {
  std::vector<bool> side(first_.size(), false);
  std::vector<int32_t> queue = {sink};
  side[sink] = true;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (int32_t e = first_[queue[i]]; e != -1; e = edges_[e].next) {
      int32_t from = edges_[e].to;
      if (!side[from] && edges_[e ^ 1].left > 0) {
        side[from] = true;
        queue.push_back(from);
      }
    }
  }
  return side;
}

}  // namespace xla
