#include "xla/hlo/analysis/heap/buffer_interval_tree.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/heap/heap_result.h"

// An interval tree as a treap: a binary search tree by start time and a heap by
// pseudo-random priority, so its expected depth is logarithmic. subtree_end,
// the latest end in a subtree, prunes searches for overlaps. Priorities come
// from a counter, which makes the shape deterministic.

namespace xla {
namespace {

using Node = BufferIntervalTreeNode;

constexpr int64_t kMaxPicture = 100;

// SplitMix64 (Steele, Lea, Flood 2014).
uint64_t Scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void Update(Node* node) {
  node->subtree_end = node->end;
  for (const Node* child : {node->left, node->right}) {
    if (child == nullptr) continue;
    node->subtree_end = std::max(node->subtree_end, child->subtree_end);
  }
}

}  // namespace

std::string BufferIntervalTreeNode::ToString() const {
  return absl::StrCat("time [", start, ", ", end, "], chunk ",
                      chunk.ToString());
}

// Puts a child into the place of its parent, which becomes its child.
void BufferIntervalTree::Rotate(Node* child) {
  Node* parent = child->parent;
  Node* above = parent->parent;
  Node*& inner = parent->left == child ? child->right : child->left;
  (parent->left == child ? parent->left : parent->right) = inner;
  if (inner != nullptr) inner->parent = parent;
  inner = parent;
  parent->parent = child;
  child->parent = above;
  if (above == nullptr) {
    root_ = child;
  } else {
    (above->left == parent ? above->left : above->right) = child;
  }
  Update(parent);
  Update(child);
}

void BufferIntervalTree::UpdateToRoot(Node* node) {
  for (; node != nullptr; node = node->parent) Update(node);
}

// Inserts as a leaf and rotates up while the heap order is violated.
void BufferIntervalTree::Add(int64_t start, int64_t end, const Chunk& chunk) {
  Node* node;
  if (unused_.empty()) {
    node = &nodes_.emplace_back();
  } else {
    node = unused_.back();
    unused_.pop_back();
    *node = Node();
  }
  node->start = start;
  node->end = node->subtree_end = end;
  node->chunk = chunk;
  node->priority = Scramble(num_added_++);
  if (root_ == nullptr) {
    root_ = node;
    return;
  }
  Node* parent = root_;
  while (true) {
    Node*& next = start < parent->start ? parent->left : parent->right;
    if (next == nullptr) {
      next = node;
      node->parent = parent;
      break;
    }
    parent = next;
  }
  UpdateToRoot(parent);
  while (node->parent != nullptr && node->parent->priority < node->priority) {
    Rotate(node);
  }
}

// Rotates the node down to a leaf, the child of higher priority up each time,
// and cuts it off. Nodes are recycled.
bool BufferIntervalTree::Remove(int64_t start, int64_t end,
                                const Chunk& chunk) {
  Node* found = nullptr;
  ApplyToSortedNodesOverlapping(start, start, [&](const Node* node) {
    if (node->start == start && node->end == end && node->chunk == chunk) {
      found = const_cast<Node*>(node);
    }
    return found == nullptr;
  });
  if (found == nullptr) return false;
  while (found->left != nullptr || found->right != nullptr) {
    const bool left = found->right == nullptr ||
                      (found->left != nullptr &&
                       found->left->priority > found->right->priority);
    Rotate(left ? found->left : found->right);
  }
  Node* parent = found->parent;
  if (parent == nullptr) {
    root_ = nullptr;
  } else {
    (parent->left == found ? parent->left : parent->right) = nullptr;
    UpdateToRoot(parent);
  }
  unused_.push_back(found);
  return true;
}

void BufferIntervalTree::Clear() {
  root_ = nullptr;
  nodes_.clear();
  unused_.clear();
}

// In-order traversal restricted to overlapping nodes: subtrees that end before
// `start` are skipped, and the first node that starts after `end` finishes the
// traversal. O(log n + nodes visited).
void BufferIntervalTree::ApplyToSortedNodesOverlapping(
    int64_t start, int64_t end, absl::FunctionRef<bool(const Node*)> fn) const {
  std::vector<const Node*> path;  // nodes whose left side is done
  const Node* node = root_;
  while (true) {
    while (node != nullptr && node->subtree_end >= start) {
      path.push_back(node);
      node = node->left;
    }
    if (path.empty()) return;
    node = path.back();
    path.pop_back();
    if (node->start > end) return;
    if (node->end >= start && !fn(node)) return;
    node = node->right;
  }
}

void BufferIntervalTree::ApplyToNodesOverlappingInTime(
    int64_t start, int64_t end, absl::FunctionRef<void(const Node*)> fn) const {
  ApplyToSortedNodesOverlapping(start, end, [&](const Node* node) {
    fn(node);
    return true;
  });
}

int BufferIntervalTree::NumChunksOverlappingInTime(int64_t start,
                                                   int64_t end) const {
  int count = 0;
  ApplyToNodesOverlappingInTime(start, end, [&](const Node*) { ++count; });
  return count;
}

std::vector<HeapChunk> BufferIntervalTree::ChunksOverlappingInTime(
    int64_t start, int64_t end) const {
  std::vector<Chunk> chunks;
  ApplyToNodesOverlappingInTime(
      start, end, [&](const Node* node) { chunks.push_back(node->chunk); });
  return chunks;
}

// Difference array over the interval; both ends are inclusive.
std::vector<int64_t> BufferIntervalTree::MemoryUsedInInterval(
    int64_t start, int64_t end) const {
  if (end < start) return {};
  std::vector<int64_t> changes(end - start + 2);
  ApplyToNodesOverlappingInTime(start, end, [&](const Node* node) {
    changes[std::max(node->start, start) - start] += node->chunk.size;
    changes[std::min(node->end, end) - start + 1] -= node->chunk.size;
  });
  std::partial_sum(changes.begin(), changes.end(), changes.begin());
  changes.pop_back();
  return changes;
}

int64_t BufferIntervalTree::HeapSizeInInterval(int64_t start,
                                               int64_t end) const {
  int64_t size = 0;
  ApplyToNodesOverlappingInTime(start, end, [&](const Node* node) {
    size = std::max(size, node->chunk.chunk_end());
  });
  return size;
}

std::string BufferIntervalTree::NodesOverlappingInTimeToAsciiArt(
    int64_t start, int64_t end, int64_t group_size) const {
  std::vector<const Node*> nodes;
  int64_t divisor = group_size;
  ApplyToNodesOverlappingInTime(start, end, [&](const Node* node) {
    nodes.push_back(node);
    if (group_size > 0) return;
    divisor = std::gcd(std::gcd(divisor, node->chunk.offset), node->chunk.size);
  });
  if (nodes.empty() || divisor == 0) return "nothing is allocated";
  const int64_t height = HeapSizeInInterval(start, end);
  const int64_t num_lines = (height + divisor - 1) / divisor;
  const int64_t num_columns = end - start + 1;
  if (num_lines > kMaxPicture || num_columns > kMaxPicture) {
    return absl::StrCat("a picture of ", num_lines, " lines and ", num_columns,
                        " columns is too large");
  }
  std::vector<std::string> lines(num_lines, std::string(num_columns, '.'));
  for (const Node* node : nodes) {
    const int64_t top = (node->chunk.chunk_end() + divisor - 1) / divisor;
    for (int64_t l = node->chunk.offset / divisor; l < top; ++l) {
      for (int64_t t = std::max(start, node->start);
           t <= std::min(end, node->end); ++t) {
        lines[l][t - start] = '#';
      }
    }
  }
  std::string text = absl::StrCat("time ", start, " to ", end, ", ", divisor,
                                  " bytes a line\n");
  for (int64_t l = num_lines - 1; l >= 0; --l) {
    absl::StrAppend(&text, lines[l], " ", l * divisor, "\n");
  }
  return text;
}

}  // namespace xla
