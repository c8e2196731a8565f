#ifndef XLA_HLO_ANALYSIS_HEAP_BUFFER_INTERVAL_TREE_H_
#define XLA_HLO_ANALYSIS_HEAP_BUFFER_INTERVAL_TREE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/analysis/heap/heap_result.h"

namespace xla {

// A chunk that is in use in the closed interval of time [start, end].
struct BufferIntervalTreeNode {
  std::string ToString() const;

  int64_t start = 0;
  int64_t end = 0;
  int64_t subtree_end = 0;  // the largest end of the subtree
  HeapChunk chunk;
  BufferIntervalTreeNode* left = nullptr;
  BufferIntervalTreeNode* right = nullptr;
  BufferIntervalTreeNode* parent = nullptr;
  uint64_t priority = 0;
};

// The chunks of a heap and when they are in use. Finds those in use during an
// interval of time.
//
// An interval tree: a treap over start times (Seidel, Aragon 1996) in which
// every node knows the last end below it. Priorities are a fixed sequence of
// scrambled numbers, so that the tree is the same in every run. Add and Remove
// O(log n) expected; a query that finds k chunks O(k + log n).
class BufferIntervalTree {
 public:
  using Chunk = HeapChunk;

  BufferIntervalTree() = default;
  BufferIntervalTree(const BufferIntervalTree&) = delete;
  BufferIntervalTree& operator=(const BufferIntervalTree&) = delete;

  // start <= end.
  void Add(int64_t start, int64_t end, const Chunk& chunk);
  // Removes an entry added with exactly these arguments; false if there is
  // none.
  bool Remove(int64_t start, int64_t end, const Chunk& chunk);
  void Clear();

  // Calls `fn` on the nodes in use at some time of [start, end], by start;
  // among equal starts, those added first come first.
  void ApplyToNodesOverlappingInTime(
      int64_t start, int64_t end,
      absl::FunctionRef<void(const BufferIntervalTreeNode*)> fn) const;
  // The same until `fn` returns false.
  void ApplyToSortedNodesOverlapping(
      int64_t start, int64_t end,
      absl::FunctionRef<bool(const BufferIntervalTreeNode*)> fn) const;

  int NumChunksOverlappingInTime(int64_t start, int64_t end) const;
  std::vector<Chunk> ChunksOverlappingInTime(int64_t start, int64_t end) const;

  // The bytes in use at each time of [start, end].
  std::vector<int64_t> MemoryUsedInInterval(int64_t start, int64_t end) const;
  // The highest end of a chunk in use in [start, end]; 0 if there is none.
  int64_t HeapSizeInInterval(int64_t start, int64_t end) const;

  // A picture: a line per `group_size` bytes, highest first, a column per time;
  // `#` where taken, `.` where free. 0 chooses the size: the greatest that
  // divides all offsets and sizes. Says so where the picture would be larger
  // than 100 by 100.
  std::string NodesOverlappingInTimeToAsciiArt(int64_t start, int64_t end,
                                               int64_t group_size = 0) const;

  // Null when empty.
  BufferIntervalTreeNode* GetRoot() { return root_; }

 private:
  using Node = BufferIntervalTreeNode;

  void Rotate(Node* child);
  void UpdateToRoot(Node* node);

  Node* root_ = nullptr;
  std::deque<Node> nodes_;
  std::vector<Node*> unused_;
  uint64_t num_added_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_BUFFER_INTERVAL_TREE_H_
