#ifndef XLA_HLO_MEMORY_GRAPH_MEMORY_GRAPH_H_
#define XLA_HLO_MEMORY_GRAPH_MEMORY_GRAPH_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace xla {

// A computation as seen by a scheduler: steps, the dependencies between them,
// and the memory that they hold. Independent of HLO, so that solvers can be
// checked by brute force.
//
// Memory is counted per buffer. A buffer has one or more values (which must
// share its memory) and takes its size while any of them is live. A value is
// live from the step that defines it, or from the start, to its last use (or
// its definition, if it has none), or to the end.
//
// A step has three phases:
//   1. values handed over to it that nothing uses later end; then it takes
//      `extra` bytes for a while (what the computations that it calls hold);
//   2. its values come to life. One of them may take the place of an operand
//      that ends here, where AllowSharing() says so;
//   3. values that it was the last to use end.
// The peak is the largest sum in any phase.
class MemoryGraph {
 public:
  using Node = int32_t;
  using Value = int32_t;
  using Buffer = int32_t;
  // "Defined" here: live before the first step.
  static constexpr Node kStart = -1;

  struct Use {
    int32_t id;  // the value, in lists of a node; the node, in those of a value
    // The step takes ownership: the value's memory counts in `extra`.
    bool handed_over;
  };
  struct ValueInfo {
    int64_t size;  // that of the buffer, bytes
    Buffer buffer;
    Node def;
    bool live_out;
  };
  // `result`, defined by the step, may reuse the memory of `operand`.
  struct Sharing {
    Value operand;
    Value result;
  };

  Node AddNode(int64_t extra = 0);
  void AddDependency(Node before, Node after);
  // Sizes are not negative.
  Buffer AddBuffer(int64_t size);
  Value AddValue(Buffer buffer, Node def);
  void AddUse(Value value, Node node, bool handed_over = false);
  void SetLiveOut(Value value) { values_[value].live_out = true; }
  // Both values must be alone in their buffers, and the operand must not be
  // handed over to the step.
  void AllowSharing(Node node, Value operand, Value result);
  void set_extra(Node node, int64_t extra) { extra_[node] = extra; }

  // Ends construction and makes the lists below available, sorted and without
  // duplicates. InvalidArgument if the dependencies have a cycle or all sizes
  // together exceed 2^62 bytes.
  absl::Status Finish();

  int32_t node_count() const { return static_cast<int32_t>(extra_.size()); }
  int32_t value_count() const { return static_cast<int32_t>(values_.size()); }
  int32_t buffer_count() const { return static_cast<int32_t>(sizes_.size()); }

  int64_t extra(Node node) const { return extra_[node]; }
  int64_t size(Buffer buffer) const { return sizes_[buffer]; }
  const ValueInfo& value(Value value) const { return values_[value]; }
  // The number of values of the buffer.
  int32_t values_in(Buffer buffer) const { return values_in_[buffer]; }

  absl::Span<const Node> predecessors(Node node) const {
    return predecessors_[node];
  }
  absl::Span<const Node> successors(Node node) const {
    return successors_[node];
  }
  absl::Span<const Value> defs(Node node) const { return defs_[node]; }
  absl::Span<const Use> reads(Node node) const { return reads_[node]; }
  absl::Span<const Sharing> sharings(Node node) const {
    return sharings_[node];
  }
  absl::Span<const Use> uses(Value value) const { return uses_[value]; }

 private:
  // Lists of all keys in one array.
  template <typename T>
  class Lists {
   public:
    void Add(int32_t key, T item) { added_.emplace_back(key, item); }
    // Stable per key.
    void Finish(int32_t keys);
    absl::Span<const T> operator[](int32_t key) const {
      return absl::MakeConstSpan(items_).subspan(begin_[key],
                                                 begin_[key + 1] - begin_[key]);
    }

   private:
    friend class MemoryGraph;
    std::vector<std::pair<int32_t, T>> added_;
    std::vector<T> items_;
    std::vector<int32_t> begin_;
  };

  std::vector<int64_t> extra_;
  std::vector<int64_t> sizes_;
  std::vector<int32_t> values_in_;
  std::vector<ValueInfo> values_;
  std::vector<std::pair<Node, Node>> edges_;
  std::vector<std::pair<int32_t, Use>> pending_uses_;
  Lists<Node> predecessors_;
  Lists<Node> successors_;
  Lists<Value> defs_;
  Lists<Use> reads_;
  Lists<Use> uses_;
  Lists<Sharing> sharings_;
};

// In place of a node where there is none.
inline constexpr MemoryGraph::Node kNoNode = -1;

// Replays an order step by step, forwards and back.
class MemoryReplay {
 public:
  explicit MemoryReplay(const MemoryGraph& graph);

  // Returns to before the first step.
  void Reset();

  // Bytes live now: before the first step, or after the last one run.
  int64_t live() const { return live_; }
  bool IsReady(MemoryGraph::Node node) const { return waits_[node] == 0; }
  bool IsDone(MemoryGraph::Node node) const { return waits_[node] < 0; }
  bool IsLive(MemoryGraph::Buffer buffer) const {
    return live_values_[buffer] > 0;
  }
  // Whether the value is live and has a single use left.
  bool EndsAt(MemoryGraph::Value value) const { return uses_left_[value] == 1; }

  // Runs a ready step and returns the most bytes live during it. O(degree).
  int64_t Run(MemoryGraph::Node node);
  // What Run() would return; `after` is set to what live() would be then.
  int64_t Peek(MemoryGraph::Node node, int64_t* after);
  // Undoes the last step.
  void Undo(MemoryGraph::Node node);

 private:
  const MemoryGraph& graph_;
  int64_t live_ = 0;
  // Predecessors not yet run; -1 - that, once the step itself has run.
  std::vector<int32_t> waits_;
  std::vector<int32_t> uses_left_;    // per value; live-out counts as one
  std::vector<int32_t> live_values_;  // per buffer
};

// The peak of an order.
struct MemoryPeak {
  int64_t bytes = 0;
  // Index in the order of the (first) step with the peak; -1 before the first.
  int32_t position = -1;
};

// The peak of `order`, which holds every node once, predecessors first.
// O(nodes + edges). `profile`, if given, gets the most bytes live during each
// step.
MemoryPeak ReplayPeak(const MemoryGraph& graph,
                      absl::Span<const MemoryGraph::Node> order,
                      std::vector<int64_t>* profile = nullptr);

// Whether `order` holds every node once, after its predecessors.
bool IsValidOrder(const MemoryGraph& graph,
                  absl::Span<const MemoryGraph::Node> order);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_GRAPH_MEMORY_GRAPH_H_
