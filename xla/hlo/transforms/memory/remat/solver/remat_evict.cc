#include "xla/hlo/transforms/memory/remat/solver/remat_evict.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "xla/hlo/transforms/memory/remat/solver/drop_pricing.h"

namespace xla::remat_plan {
namespace {

// Runs, per step of the start, before it gives up.
constexpr size_t kMaxGrowth = 6;
// Nodes looked at to price one value.
constexpr int kMaxChain = 48;

// Simulates a memory of limited size, like a cache that knows the future: the
// program runs step by step, operands that were evicted are recomputed on
// demand (depth first, with an explicit stack of frames), and MakeRoom evicts
// the cheapest value whenever a run needs more than is free. Values that are in
// use by a waiting frame are pinned.
//
// The heap is lazy: each change of a value's price pushes a new entry with a
// higher version, and entries whose version is stale are skipped.
class Memory {
 public:
  Memory(const RematProblem& problem, absl::Span<const NodeId> start,
         int64_t limit, EvictionPrice price, int64_t* work)
      : problem_(problem),
        start_(start),
        limit_(limit),
        price_(price),
        work_(*work),
        live_(problem.base_bytes),
        values_(problem.values.size()),
        overwrites_(problem.nodes.size()),
        stamp_(problem.nodes.size(), 0) {
    CountReads();
    SetBytes();
  }

  std::optional<std::vector<NodeId>> Run() {
    const size_t most_runs = kMaxGrowth * start_.size() + 1000;
    for (now_ = 0; now_ < static_cast<int32_t>(start_.size()); ++now_) {
      if (!RunWithOperands(start_[now_])) return std::nullopt;
      if (program_.size() > most_runs || work_ <= 0) return std::nullopt;
      AfterStep(start_[now_]);
    }
    // Outputs take no room and stay; what is not there was never made.
    return std::move(program_);
  }

 private:
  struct Value {
    std::vector<int32_t> reads;  // steps of the start, ascending
    size_t next = 0;             // of those, the first one not yet done
    int64_t bytes = 0;
    int64_t version = 0;  // of its entry in the heap
    int32_t pins = 0;
    bool there = false;
    bool counted = false;  // in live_
    bool fixed = false;    // never goes as long as it is read
  };
  // One run that waits for its operands.
  struct Frame {
    NodeId node;
    size_t next = 0;  // of its reads
  };
  using Entry = std::tuple<double, ValueId, int64_t>;  // price, value, version

  const RematProblem::Node& Node(NodeId node) const {
    return problem_.nodes[node];
  }

  void CountReads() {
    for (size_t step = 0; step < start_.size(); ++step) {
      for (ValueId value : Node(start_[step]).reads) {
        values_[value].reads.push_back(static_cast<int32_t>(step));
      }
    }
    for (ValueId value : problem_.outputs) {
      values_[value].reads.push_back(static_cast<int32_t>(start_.size()));
    }
  }

  // A value in another's memory keeps that one alive as long as it is read.
  void SetBytes() {
    for (size_t v = 0; v < values_.size(); ++v) {
      const RematProblem::Value& value = problem_.values[v];
      if (value.overwritten_by >= 0) {
        overwrites_[value.overwritten_by].push_back(static_cast<ValueId>(v));
      }
      values_[v].bytes = value.alias_of < 0 ? value.bytes : 0;
      values_[v].fixed = value.alias_of >= 0 || !Node(value.node).recomputable;
    }
    for (size_t v = values_.size(); v-- > 0;) {
      const ValueId home = problem_.values[v].alias_of;
      if (home < 0) continue;
      values_[home].fixed = true;
      std::vector<int32_t>& reads = values_[home].reads;
      reads.insert(reads.end(), values_[v].reads.begin(),
                   values_[v].reads.end());
      std::sort(reads.begin(), reads.end());
    }
    const int32_t end = static_cast<int32_t>(start_.size());
    for (Value& value : values_) {
      if (!value.reads.empty() && value.reads.back() == end) value.bytes = 0;
    }
  }

  // Steps until the value is read; many, if only recomputed values may.
  double Wait(const Value& value) const {
    if (value.next >= value.reads.size()) {
      return 4 * static_cast<double>(start_.size());
    }
    return std::max(1, value.reads[value.next] - now_);
  }

  // Seconds to recompute the value from what is in memory now.
  double SecondsAgain(ValueId value) {
    ++epoch_;
    double seconds = kLeastSeconds;
    std::vector<NodeId>& chain = scratch_;
    chain.assign(1, problem_.values[value].node);
    stamp_[chain[0]] = epoch_;
    for (size_t i = 0; i < chain.size(); ++i) {
      --work_;
      const RematProblem::Node& node = Node(chain[i]);
      seconds += node.seconds;
      if (chain.size() > kMaxChain) continue;
      for (ValueId read : node.reads) {
        const NodeId maker = problem_.values[read].node;
        if (values_[read].there || stamp_[maker] == epoch_) continue;
        stamp_[maker] = epoch_;
        chain.push_back(maker);
      }
    }
    return seconds;
  }

  double Price(ValueId id) {
    const Value& value = values_[id];
    const double wait = Wait(value);
    switch (price_) {
      case EvictionPrice::kCostPerByteTime:
        return SecondsAgain(id) / (static_cast<double>(value.bytes) * wait);
      case EvictionPrice::kByteTime:
        return 1 / (static_cast<double>(value.bytes) * wait);
      case EvictionPrice::kTime:
        return 1 / wait;
    }
    return 0;
  }

  // Queues the value at its current price; older entries of it become stale.
  // Values that may never go, or free nothing, are not queued.
  void Offer(ValueId id) {
    Value& value = values_[id];
    ++value.version;
    if (value.fixed || value.bytes == 0 || !value.there) return;
    heap_.emplace(Price(id), id, value.version);
  }

  // Evicts values, cheapest first, until `bytes` more fit or nothing can go.
  // Entries are re-priced when they come up, since prices rise as readers come
  // nearer; pinned values are skipped and queued again at the end. Missing the
  // limit is not an error here: the result is improved and measured exactly
  // later.
  void MakeRoom(int64_t bytes) {
    std::vector<ValueId> pinned;
    while (live_ + bytes > limit_ && !heap_.empty()) {
      --work_;
      const auto [price, id, version] = heap_.top();
      heap_.pop();
      Value& value = values_[id];
      if (version != value.version || !value.there) continue;
      if (value.pins > 0) {
        pinned.push_back(id);
        continue;
      }
      // Prices rise as readers come nearer.
      const double now = Price(id);
      if (now > 1.05 * price && !heap_.empty() &&
          now > std::get<0>(heap_.top())) {
        heap_.emplace(now, id, version);
        continue;
      }
      value.there = false;
      if (value.counted) live_ -= value.bytes;
      value.counted = false;
    }
    for (ValueId id : pinned) Offer(id);
  }

  // Runs the node after its operands, which are made first where they are gone.
  bool RunWithOperands(NodeId node) {
    std::vector<Frame> stack;
    if (!Open(node, &stack)) return false;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const std::vector<ValueId>& reads = Node(frame.node).reads;
      if (frame.next < reads.size()) {
        const ValueId read = reads[frame.next++];
        --work_;
        if (values_[read].there) continue;
        // Once it is made, it stays until it has been read.
        const NodeId maker = problem_.values[read].node;
        if (!Node(maker).recomputable || !Open(maker, &stack)) return false;
        continue;
      }
      const NodeId done = frame.node;
      stack.pop_back();
      // Values that an inner run has evicted in vain.
      if (!std::all_of(reads.begin(), reads.end(),
                       [&](ValueId v) { return values_[v].there; })) {
        return false;
      }
      RunNode(done);
      for (ValueId read : reads) --values_[read].pins;
    }
    return true;
  }

  // Starts a frame for `node` and pins its operands. A stack deeper than the
  // graph would mean that recomputation evicts what it is waiting for.
  bool Open(NodeId node, std::vector<Frame>* stack) {
    if (stack->size() > problem_.nodes.size() || work_ <= 0) return false;
    for (ValueId read : Node(node).reads) ++values_[read].pins;
    stack->push_back({node});
    return true;
  }

  void RunNode(NodeId id) {
    const RematProblem::Node& node = Node(id);
    int64_t bytes = node.internal_bytes;
    for (int32_t k = 0; k < node.value_count; ++k) {
      const Value& value = values_[node.first_value + k];
      if (!value.counted) bytes += value.bytes;
    }
    MakeRoom(bytes);
    program_.push_back(id);
    for (ValueId overwritten : overwrites_[id]) Lose(overwritten);
    for (int32_t k = 0; k < node.value_count; ++k) {
      const ValueId made = node.first_value + k;
      Value& value = values_[made];
      value.there = true;
      if (!value.counted) live_ += value.bytes;
      value.counted = true;
      Offer(made);
    }
  }

  // The value's memory, unless another one lies in it, was for its writer.
  void Lose(ValueId id) {
    Value& value = values_[id];
    value.there = false;
    if (value.fixed || !value.counted) return;
    live_ -= value.bytes;
    value.counted = false;
  }

  // Readers up to now are done.
  void AfterStep(NodeId node) {
    for (ValueId read : Node(node).reads) {
      for (ValueId v = read; v >= 0; v = problem_.values[v].alias_of) {
        Advance(v);
      }
    }
    for (int32_t k = 0; k < Node(node).value_count; ++k) {
      Advance(Node(node).first_value + k);
    }
  }

  void Advance(ValueId id) {
    Value& value = values_[id];
    while (value.next < value.reads.size() && value.reads[value.next] <= now_) {
      ++value.next;
    }
    if (value.next < value.reads.size()) {
      Offer(id);
      return;
    }
    // Nobody reads it in its own right any more. It may stay for what is made
    // again, unless that would be permanent.
    if (value.fixed) {
      if (value.counted) live_ -= value.bytes;
      value.counted = false;
    } else {
      Offer(id);
    }
  }

  const RematProblem& problem_;
  const absl::Span<const NodeId> start_;
  const int64_t limit_;
  const EvictionPrice price_;
  int64_t& work_;
  int64_t live_;
  int32_t now_ = 0;
  std::vector<Value> values_;
  std::vector<std::vector<ValueId>> overwrites_;  // by node
  std::vector<NodeId> program_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap_;
  std::vector<int64_t> stamp_;  // of nodes, for SecondsAgain()
  int64_t epoch_ = 0;
  std::vector<NodeId> scratch_;
};

}  // namespace

std::optional<std::vector<NodeId>> EvictingProgram(
    const RematProblem& problem, absl::Span<const NodeId> start,
    int64_t limit_bytes, EvictionPrice price, int64_t* work) {
  return Memory(problem, start, limit_bytes, price, work).Run();
}

}  // namespace xla::remat_plan
