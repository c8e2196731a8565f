#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/transforms/mof/mof_held_bytes.h"
#include "xla/backends/gpu/transforms/mof/mof_kernels.h"
#include "xla/backends/gpu/transforms/mof/mof_order.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/shape_util.h"

// Fuses pairs of kernels in order of the bytes they save, best first. Exact
// prices are expensive, so a pair enters the queue with an upper bound (the
// bytes of what both read, or of what passes between them) and is priced
// exactly when it reaches the top; if the exact price is below the new top it
// is queued again, otherwise it is fused or refused. Since bounds are never
// below prices, the order is that of exact prices.
//
// Pairs are restricted to kernels of equal loop size that read a common value,
// or of which one reads the other. To stay linear for values with many readers,
// each reader is paired with its next kMaxPartners neighbors only.
//
// After a merge the surviving node takes over the pairs of the other one.
// Prices change only for pairs of the merged kernel, so everything else stays
// in the queue; `version`, the sum of both kernels' merge counts, tells whether
// a price is still current. Pairs that are not worth it now wait until one side
// changes; pairs that can never be legal again (budgets, cycles) are refused
// for good, because merging only adds to a kernel.

namespace xla::gpu {
namespace {

using Node = MofKernels::Node;
using Kind = FusionRecord::Kind;

// Readers of one value and class that are paired with one of them: those next
// to it.
constexpr size_t kMaxPartners = 16;

// More bytes than there are.
constexpr double kFirst = 1e18;

// Two kernels that might become one.
struct Pair {
  enum class State {
    kQueued,
    kWaiting,  // until one of the two changes
    kRefused,  // whatever else they take in
  };
  // Bytes saved: what the model says of the kernels as they are in `version`,
  // else an upper bound.
  double gain = 0;
  // The sum of both kernels' versions.
  int64_t version = -1;
  // One reads the other's result.
  bool feeds = false;
  State state = State::kQueued;
  // The price in the queue entry that is current; other entries are stale.
  double queued_price = 0;
};

struct Candidate {
  double price;  // bytes saved, less what memory costs
  Node a;        // a < b
  Node b;

  // The best one is on top: by price, then by place.
  bool operator<(const Candidate& other) const {
    return std::make_tuple(price, -a, -b) <
           std::make_tuple(other.price, -other.a, -other.b);
  }
};

struct Price {
  double gain = 0;  // bytes
  double saved_bytes = 0;
  int64_t held_bytes = 0;
  double unfused_seconds = 0;
  double fused_seconds = 0;
  double price = 0;
};

double Bytes(const HloInstruction& value) {
  return static_cast<double>(
      ShapeUtil::ByteSizeOfElementsRecursive(value.shape()));
}

class BySavings {
 public:
  BySavings(MofKernels* kernels, double memory_weight)
      : kernels_(*kernels),
        context_(kernels->context()),
        memory_weight_(memory_weight),
        partners_(kernels->post_order().size()),
        waiting_(kernels->post_order().size()),
        versions_(kernels->post_order().size()) {}

  int64_t Run() {
    FindPairs();
    while (!queue_.empty()) {
      const Candidate candidate = queue_.top();
      queue_.pop();
      auto it = pairs_.find(Key(candidate.a, candidate.b));
      // Merges leave old entries behind.
      if (it == pairs_.end() || it->second.state != Pair::State::kQueued ||
          it->second.queued_price != candidate.price) {
        continue;
      }
      Visit(candidate.a, candidate.b, &it->second);
    }
    return fusions_;
  }

 private:
  static uint64_t Key(Node a, Node b) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(std::min(a, b)))
            << 32) |
           static_cast<uint32_t>(std::max(a, b));
  }
  Node Representative(Node node) const {
    return kernels_.NodeOf(kernels_.KernelOf(node));
  }

  // --- Pairs ----------------------------------------------------------------

  // Groups the readers of each value by the number of elements of their loops,
  // and pairs neighbors within a group; then producers with their readers.
  void FindPairs() {
    const std::vector<HloInstruction*>& order = kernels_.post_order();
    std::vector<int64_t> class_of(order.size(), kUnknown);
    auto root_class = [&](const HloInstruction* instruction) {
      int64_t& result = class_of[kernels_.NodeOf(instruction)];
      if (result == kUnknown) {
        result = kernels_.CanBeRoot(instruction)
                     ? kernels_.LoopElements(instruction)
                     : kNoRoot;
      }
      return result;
    };
    std::vector<std::pair<int64_t, Node>> readers;
    for (const HloInstruction* value : order) {
      ExplainIfLeftAlone(*value);
      if (value->user_count() == 0 || value->shape().IsTuple()) continue;
      if (value->opcode() == HloOpcode::kConstant) continue;
      readers.clear();
      for (const HloInstruction* user : value->users()) {
        const int64_t elements = root_class(user);
        if (elements == kNoRoot) continue;
        readers.emplace_back(elements, kernels_.NodeOf(user));
      }
      if (readers.empty()) continue;
      const double bytes = Bytes(*value);
      if (!ShapeUtil::IsEffectiveScalar(value->shape())) {
        absl::c_sort(readers);
        for (size_t i = 0; i < readers.size(); ++i) {
          const size_t end = std::min(readers.size(), i + 1 + kMaxPartners);
          for (size_t j = i + 1; j < end; ++j) {
            if (readers[i].first != readers[j].first) break;
            AddPair(readers[i].second, readers[j].second, bytes, false);
          }
        }
      }
      if (!IsOutputOfKernel(*value)) continue;
      const Node producer = kernels_.NodeOf(value);
      for (size_t i = 0; i < std::min(readers.size(), kMaxPartners); ++i) {
        // Read by it no longer; and perhaps not written.
        AddPair(
            producer, readers[i].second,
            context_.model->costs().Get(*value).is_free ? kFirst : 2 * bytes,
            true);
      }
    }
    for (Node a = 0; a < static_cast<Node>(partners_.size()); ++a) {
      for (Node b : partners_[a]) {
        if (a < b) Push(a, b, &pairs_.at(Key(a, b)));
      }
    }
  }

  // Records why a fusion takes part in no pair at all.
  void ExplainIfLeftAlone(const HloInstruction& value) {
    if (context_.explanation == nullptr ||
        value.opcode() != HloOpcode::kFusion) {
      return;
    }
    const FusionDecision decision = kernels_.CanBeRoot(&value);
    if (decision.CanFuse()) return;
    FusionRecord record;
    record.kind = Kind::kProducerConsumer;
    record.computation = std::string(kernels_.computation()->name());
    record.producer = std::string(value.name());
    record.reason = decision.Explain();
    context_.explanation->Record(std::move(record));
  }

  // A kernel or one of several outputs of one.
  bool IsOutputOfKernel(const HloInstruction& value) const {
    if (value.opcode() == HloOpcode::kGetTupleElement) {
      return kernels_.CanBeRoot(value.operand(0)).CanFuse();
    }
    return kernels_.CanBeProducer(&value).CanFuse();
  }

  // Finds new partners for a kernel that reads `value` because it absorbed a
  // reader of `value`.
  void FindNewPairs(const HloInstruction& value, Node reader_before) {
    if (value.shape().IsTuple() || value.opcode() == HloOpcode::kConstant) {
      return;
    }
    const Node reader = Representative(reader_before);
    std::vector<std::pair<Node, bool>> found;
    if (!ShapeUtil::IsEffectiveScalar(value.shape())) {
      const int64_t elements = kernels_.LoopElements(kernels_.KernelOf(reader));
      for (const HloInstruction* user : value.users()) {
        if (found.size() >= kMaxPartners) break;
        if (kernels_.CanBeRoot(user) &&
            kernels_.LoopElements(user) == elements) {
          found.emplace_back(kernels_.NodeOf(user), false);
        }
      }
    }
    if (IsOutputOfKernel(value)) {
      found.emplace_back(kernels_.NodeOf(&value), true);
    }
    for (const auto& [other, feeds] : found) {
      if (other == reader || pairs_.contains(Key(reader, other))) continue;
      AddPair(reader, other, (feeds ? 2 : 1) * Bytes(value), feeds);
      Push(reader, other, &pairs_.at(Key(reader, other)));
    }
  }

  // Gains of several common values add up.
  void AddPair(Node a, Node b, double gain, bool feeds) {
    if (a == b) return;
    auto [it, added] = pairs_.try_emplace(Key(a, b));
    it->second.gain += gain;
    it->second.feeds |= feeds;
    if (!added) return;
    partners_[a].push_back(b);
    partners_[b].push_back(a);
  }

  void Push(Node a, Node b, Pair* pair) {
    pair->state = Pair::State::kQueued;
    pair->queued_price = pair->gain;
    queue_.push({pair->gain, std::min(a, b), std::max(a, b)});
  }

  void Wait(Node a, Node b, Pair* pair) {
    pair->state = Pair::State::kWaiting;
    waiting_[a].push_back(b);
    waiting_[b].push_back(a);
  }

  // --- Prices ---------------------------------------------------------------

  // The exact price by the performance model: bytes saved, less the weight of
  // the bytes that stay live longer because of the fusion. A pair that saves a
  // launch but no bytes still has a small positive gain. Producers that are
  // free by themselves come first, as they may separate two real kernels.
  Price PriceOf(const HloInstruction& a, const HloInstruction& b) {
    GpuPerformanceModel& model = *context_.model;
    Price price;
    double bytes = 0;
    absl::Duration unfused;
    for (const HloInstruction* kernel : {&a, &b}) {
      const EstimateRunTimeData& data = model.EstimateRunTime(*kernel);
      bytes += data.bytes();
      unfused += data.time;
    }
    const HloInstruction* producer = MofKernels::ProducerOf(a, b);
    const EstimateRunTimeData fused =
        producer == nullptr
            ? model.EstimateSiblingsTime(a, b)
            : model.EstimateMergedTime(*producer, producer == &a ? b : a);
    price.saved_bytes = bytes - fused.bytes();
    price.unfused_seconds = absl::ToDoubleSeconds(unfused);
    price.fused_seconds = absl::ToDoubleSeconds(fused.time);
    if (memory_weight_ > 0 || context_.explanation != nullptr) {
      price.held_bytes = HeldBytes(kernels_, a, b);
    }
    // Some save a launch, but no bytes: they come last. What is no kernel by
    // itself need not be faster inside; and it comes first, since it stands
    // between two that are kernels.
    price.gain = price.saved_bytes;
    if (price.fused_seconds < price.unfused_seconds) {
      price.gain = std::max(1.0, price.gain);
    } else if (producer != nullptr &&
               price.fused_seconds == price.unfused_seconds &&
               model.costs().Get(*producer).is_free) {
      price.gain = kFirst;
    }
    price.price =
        price.gain - memory_weight_ * static_cast<double>(std::max<int64_t>(
                                          0, price.held_bytes));
    return price;
  }

  // Handles the pair on top of the queue. Its exact price may be lower than the
  // bound that brought it here; then it goes back into the queue at that price.
  void Visit(Node a, Node b, Pair* pair) {
    const Price price = PriceOf(*kernels_.KernelOf(a), *kernels_.KernelOf(b));
    const int64_t version = versions_[a] + versions_[b];
    const bool is_new = pair->version != version;
    pair->version = version;
    pair->gain = price.gain;
    if (price.price <= 0) {
      Wait(a, b, pair);
      RecordPair(
          a, b, price,
          FusionDecision::Forbid(
              price.saved_bytes <= 0
                  ? "saves no bytes"
                  : absl::StrCat(
                        "saves ", HumanBytes(price.saved_bytes), ", but holds ",
                        HumanBytes(static_cast<double>(price.held_bytes)),
                        " longer")));
    } else if (is_new && !queue_.empty() && price.price < queue_.top().price) {
      pair->queued_price = price.price;
      queue_.push({price.price, a, b});
    } else {
      Try(a, b, price, pair);
    }
  }

  // --- Decisions ------------------------------------------------------------

  // They read something that is no scalar, and not different parts of it.
  FusionDecision ShareElements(const HloInstruction& a,
                               const HloInstruction& b) const {
    for (const HloInstruction* operand : a.operands()) {
      if (b.IsUserOf(operand) &&
          !ShapeUtil::IsEffectiveScalar(operand->shape()) &&
          !ReadDisjointSlices(*operand, a, b)) {
        return FusionDecision::Allow();
      }
    }
    return FusionDecision::Forbid("no element is read by both");
  }

  // Legality that cannot improve as the kernels grow.
  FusionDecision Check(const HloInstruction* a, const HloInstruction* b,
                       const Price& price) {
    const HloInstruction* producer = MofKernels::ProducerOf(*a, *b);
    for (const HloInstruction* kernel : {a, b}) {
      if (kernel == producer && !kernel->shape().IsTuple()) continue;
      RETURN_IF_NOT_FUSIBLE(kernels_.CanBeRoot(kernel));
    }
    if (producer == nullptr) {
      if (price.saved_bytes <= 0) RETURN_IF_NOT_FUSIBLE(ShareElements(*a, *b));
      return kernels_.CanFuseSiblings(nullptr, a, b);
    }
    const HloInstruction* consumer = producer == a ? b : a;
    if (producer->shape().IsTuple()) {
      return kernels_.CanFuseOutputs(producer, consumer);
    }
    RETURN_IF_NOT_FUSIBLE(kernels_.CanBeProducer(producer));
    return kernels_.CanFuseProducer(producer, consumer);
  }

  // Profitability, which may change when one of the kernels takes in others.
  FusionDecision CheckForNow(const HloInstruction& a, const HloInstruction& b,
                             const Price& price) {
    const HloInstruction* producer = MofKernels::ProducerOf(a, b);
    if (producer != nullptr && producer->user_count() == 1 &&
        !a.shape().IsTuple() && !b.shape().IsTuple()) {
      return FusionDecision::Forbid(
          "it is read by this kernel alone: no second output is needed");
    }
    if (price.fused_seconds <= price.unfused_seconds) {
      return FusionDecision::Allow();
    }
    return FusionDecision::Forbid(absl::StrFormat(
        "slower by %.1f %%: %.2f > %.2f us",
        100 * (price.fused_seconds / price.unfused_seconds - 1),
        1e6 * price.fused_seconds, 1e6 * price.unfused_seconds));
  }

  void RecordPair(Node a, Node b, const Price& price,
                  const FusionDecision& decision) {
    if (context_.explanation == nullptr) return;
    const HloInstruction* left = kernels_.KernelOf(a);
    const HloInstruction* right = kernels_.KernelOf(b);
    const HloInstruction* producer = MofKernels::ProducerOf(*left, *right);
    FusionRecord record;
    record.computation = std::string(kernels_.computation()->name());
    record.kind =
        producer == nullptr ? Kind::kSibling : Kind::kProducerConsumer;
    if (producer != nullptr) {
      record.producer = std::string(producer->name());
      record.consumers.emplace_back(producer == left ? right->name()
                                                     : left->name());
    } else {
      for (const HloInstruction* operand : left->operands()) {
        if (!right->IsUserOf(operand)) continue;
        record.producer = std::string(operand->name());
        break;
      }
      record.consumers = {std::string(left->name()),
                          std::string(right->name())};
    }
    record.fused = decision.CanFuse();
    record.reason = decision.Explain();
    record.saved_bytes = static_cast<int64_t>(price.saved_bytes);
    record.held_bytes = price.held_bytes;
    record.unfused_seconds = price.unfused_seconds;
    record.fused_seconds = price.fused_seconds;
    context_.explanation->Record(std::move(record));
  }

  void Try(Node left, Node right, const Price& price, Pair* pair) {
    HloInstruction* a = kernels_.KernelOf(left);
    HloInstruction* b = kernels_.KernelOf(right);
    FusionDecision decision = Check(a, b, price);
    const bool forever = !decision;
    if (!forever) decision = CheckForNow(*a, *b, price);
    RecordPair(left, right, price, decision);
    if (forever) {
      pair->state = Pair::State::kRefused;
      return;
    }
    if (!decision) return Wait(left, right, pair);
    const HloInstruction* producer = MofKernels::ProducerOf(*a, *b);
    std::vector<const HloInstruction*> operands;
    if (producer != nullptr) {
      // Without pairs so far, if it was no kernel.
      if (!kernels_.CanBeRoot(producer)) {
        operands.assign(producer->operands().begin(),
                        producer->operands().end());
      }
      kernels_.FuseProducer(producer == a ? a : b, producer == a ? b : a);
    } else {
      // Into the fusion, if one is; with more outputs rather than fewer.
      if (OutputCount(*b) > OutputCount(*a)) std::swap(a, b);
      kernels_.FuseSiblings(a, b);
    }
    ++fusions_;
    Join(left, right);
    for (const HloInstruction* operand : operands) FindNewPairs(*operand, left);
  }

  static size_t OutputCount(const HloInstruction& kernel) {
    return kernel.opcode() == HloOpcode::kFusion
               ? GetOutputSizeOfFusible(kernel)
               : 0;
  }

  // Called after two nodes were merged; one of them represents both from now
  // on. Moves the pairs of the other one, combines pairs that now connect the
  // same two kernels, and wakes the pairs that waited for a change. O(pairs of
  // the node that is gone).
  void Join(Node a, Node b) {
    const Node merged = Representative(a);
    const Node gone = merged == a ? b : a;
    versions_[merged] += versions_[gone] + 1;
    pairs_.erase(Key(a, b));
    for (Node partner : partners_[gone]) {
      const Node other = Representative(partner);
      if (other == merged) continue;
      auto old = pairs_.find(Key(gone, other));
      if (old == pairs_.end()) continue;  // twice in the list
      const Pair taken = old->second;
      pairs_.erase(old);
      auto [it, added] = pairs_.try_emplace(Key(merged, other), taken);
      Pair& pair = it->second;
      if (added) {
        partners_[merged].push_back(other);
        partners_[other].push_back(merged);
      } else {
        pair.gain = std::max(0.0, pair.gain) + std::max(0.0, taken.gain);
        pair.feeds |= taken.feeds;
        // Together they may be the only readers.
        if (pair.feeds) pair.gain += BytesBetween(merged, other);
      }
      if (!pair.feeds && pair.gain > 0) {
        pair.gain = MostSavedBySiblings(merged, other);
      }
      if (pair.state == Pair::State::kRefused ||
          taken.state == Pair::State::kRefused) {
        // The obstacle, budget or cycle, also holds for a larger kernel.
        pair.state = Pair::State::kRefused;
        continue;
      }
      Requeue(merged, other, &pair);
    }
    for (Node node : {merged, gone}) {
      const std::vector<Node> waiting = std::move(waiting_[node]);
      waiting_[node].clear();
      for (Node partner : waiting) {
        const Node other = Representative(partner);
        auto it = pairs_.find(Key(merged, other));
        if (it == pairs_.end() || it->second.state != Pair::State::kWaiting) {
          continue;
        }
        Requeue(merged, other, &it->second);
      }
    }
    partners_[gone] = {};
  }

  void Requeue(Node a, Node b, Pair* pair) {
    pair->version = -1;
    if (pair->gain > 0) return Push(a, b, pair);
    pair->state = Pair::State::kWaiting;
  }

  // An upper bound: what both read, once. Most pairs save as much, so that the
  // first one in the queue is the only one to be priced; and a launch at least.
  double MostSavedBySiblings(Node left, Node right) const {
    const HloInstruction* a = kernels_.KernelOf(left);
    const HloInstruction* b = kernels_.KernelOf(right);
    if (a->operand_count() < b->operand_count()) std::swap(a, b);
    double bytes = 0;
    for (const HloInstruction* operand : b->operands()) {
      if (a->IsUserOf(operand)) bytes += Bytes(*operand);
    }
    return std::max(1.0, bytes);
  }

  // Results of the one that the other one reads, and more.
  double BytesBetween(Node a, Node b) const {
    const HloInstruction* producer =
        MofKernels::ProducerOf(*kernels_.KernelOf(a), *kernels_.KernelOf(b));
    return producer == nullptr ? 0 : Bytes(*producer);
  }

  static constexpr int64_t kUnknown = -1;
  static constexpr int64_t kNoRoot = -2;

  MofKernels& kernels_;
  const MofContext& context_;
  const double memory_weight_;
  // By node that stands for itself: nodes that it might be merged with, or
  // what they have been merged into since.
  std::vector<std::vector<Node>> partners_;
  // The same of pairs that are kWaiting.
  std::vector<std::vector<Node>> waiting_;
  // Counts the merges.
  std::vector<int64_t> versions_;
  absl::flat_hash_map<uint64_t, Pair> pairs_;
  std::priority_queue<Candidate> queue_;
  int64_t fusions_ = 0;
};

}  // namespace

int64_t FuseBySavings(MofKernels* kernels, double memory_weight) {
  return BySavings(kernels, memory_weight).Run();
}

}  // namespace xla::gpu
