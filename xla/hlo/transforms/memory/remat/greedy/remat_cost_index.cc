#include "xla/hlo/transforms/memory/remat/greedy/remat_cost_index.h"

#include <algorithm>
#include <utility>

#include "absl/log/check.h"

namespace xla {

void RematCostIndex::Grow(int32_t leaves) {
  std::vector<int64_t> tree(2 * leaves, kAbsent);
  std::copy_n(tree_.begin() + leaves_, leaves_, tree.begin() + leaves);
  for (int32_t node = leaves - 1; node > 0; --node) {
    tree[node] = std::min(tree[2 * node], tree[2 * node + 1]);
  }
  tree_ = std::move(tree);
  leaves_ = leaves;
}

void RematCostIndex::Set(int32_t position, int64_t cost) {
  if (position >= leaves_) {
    int32_t leaves = std::max(leaves_, 64);
    while (leaves <= position) leaves *= 2;
    Grow(leaves);
  }
  int32_t node = leaves_ + position;
  if (tree_[node] == cost) return;
  tree_[node] = cost;
  for (node /= 2; node > 0; node /= 2) {
    const int64_t least = std::min(tree_[2 * node], tree_[2 * node + 1]);
    if (tree_[node] == least) break;
    tree_[node] = least;
  }
}

int32_t RematCostIndex::Best() const {
  CHECK_NE(BestCost(), kAbsent);
  int32_t node = 1;
  while (node < leaves_) {
    node *= 2;
    if (tree_[node] > tree_[node + 1]) ++node;
  }
  return node - leaves_;
}

}  // namespace xla
