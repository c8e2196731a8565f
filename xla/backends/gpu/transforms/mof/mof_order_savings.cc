#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/transforms/explain/fusion_explanation.h"
#include "xla/backends/gpu/transforms/mof/mof_held_bytes.h"
#include "xla/backends/gpu/transforms/mof/mof_kernels.h"
#include "xla/backends/gpu/transforms/mof/mof_order.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

using Node = MofKernels::Node;
using Kind = FusionRecord::Kind;

// Readers of one value and class that are paired with one of them: those next
// to it.
constexpr size_t kMaxPartners = 16;

struct Candidate {
  double price;  // bytes saved, less what memory costs
  Node a;        // a < b
  Node b;
  // Of both together when it was priced.
  int32_t version;

  // The best one is on top: by price, then by place.
  bool operator<(const Candidate& other) const {
    return std::make_tuple(price, -a, -b) <
           std::make_tuple(other.price, -other.a, -other.b);
  }
};

struct Price {
  double saved_bytes = 0;
  int64_t held_bytes = 0;
  double unfused_seconds = 0;
  double fused_seconds = 0;
  double price = 0;
};

class BySavings {
 public:
  BySavings(MofKernels* kernels, double memory_weight)
      : kernels_(*kernels),
        context_(kernels->context()),
        memory_weight_(memory_weight),
        partners_(kernels->post_order().size()),
        versions_(kernels->post_order().size()) {}

  int64_t Run() {
    FindPairs();
    while (!queue_.empty()) {
      const Candidate candidate = queue_.top();
      queue_.pop();
      const Node a = Representative(candidate.a);
      const Node b = Representative(candidate.b);
      // Merges price their pairs anew and leave old entries behind.
      if (a != candidate.a || b != candidate.b) continue;
      if (candidate.version != versions_[a] + versions_[b]) continue;
      Try(candidate);
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

  void FindPairs() {
    const std::vector<HloInstruction*>& order = kernels_.post_order();
    std::vector<int64_t> class_of(order.size(), kUnknown);
    auto root_class = [&](const HloInstruction* instruction) {
      int64_t& result = class_of[kernels_.NodeOf(instruction)];
      if (result == kUnknown) {
        result = kernels_.CanBeRoot(instruction)
                     ? LoopElements(*instruction, *context_.device)
                     : kNoRoot;
      }
      return result;
    };
    std::vector<std::pair<int64_t, Node>> readers;
    for (const HloInstruction* value : order) {
      if (value->user_count() == 0 || value->shape().IsTuple()) continue;
      if (value->opcode() == HloOpcode::kConstant) continue;
      readers.clear();
      for (const HloInstruction* user : value->users()) {
        const int64_t elements = root_class(user);
        if (elements == kNoRoot) continue;
        readers.emplace_back(elements, kernels_.NodeOf(user));
      }
      if (!ShapeUtil::IsEffectiveScalar(value->shape())) {
        absl::c_sort(readers);
        for (size_t i = 0; i < readers.size(); ++i) {
          const size_t end = std::min(readers.size(), i + 1 + kMaxPartners);
          for (size_t j = i + 1; j < end; ++j) {
            if (readers[i].first != readers[j].first) break;
            AddPair(readers[i].second, readers[j].second);
          }
        }
      }
      if (!readers.empty() && kernels_.CanBeProducer(value)) {
        const Node producer = kernels_.NodeOf(value);
        for (size_t i = 0; i < std::min(readers.size(), kMaxPartners); ++i) {
          AddPair(producer, readers[i].second);
        }
      }
    }
  }

  void AddPair(Node a, Node b) {
    if (!pairs_.insert(Key(a, b)).second) return;
    partners_[a].push_back(b);
    partners_[b].push_back(a);
    Push(a, b);
  }

  void Push(Node a, Node b) {
    if (a > b) std::swap(a, b);
    const Price price = PriceOf(*kernels_.KernelOf(a), *kernels_.KernelOf(b));
    if (price.price <= 0) {
      RecordPair(
          a, b, price,
          FusionDecision::Forbid(
              price.saved_bytes <= 0
                  ? "saves no bytes"
                  : absl::StrFormat("saves %.0f B, but holds %d B longer",
                                    price.saved_bytes, price.held_bytes)));
      return;
    }
    queue_.push({price.price, a, b, versions_[a] + versions_[b]});
  }

  // Whether `b` reads what `a` computes, or the other way round.
  static const HloInstruction* ProducerOf(const HloInstruction& a,
                                          const HloInstruction& b) {
    if (b.IsUserOf(&a)) return &a;
    return a.IsUserOf(&b) ? &b : nullptr;
  }

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
    const HloInstruction* producer = ProducerOf(a, b);
    const EstimateRunTimeData fused =
        producer == nullptr
            ? model.EstimateSiblingsTime(a, b)
            : model.EstimateMultiOutputTime(*producer, producer == &a ? b : a);
    price.saved_bytes = bytes - fused.bytes();
    price.unfused_seconds = absl::ToDoubleSeconds(unfused);
    price.fused_seconds = absl::ToDoubleSeconds(fused.time);
    if (memory_weight_ > 0 || context_.explanation != nullptr) {
      price.held_bytes = HeldBytes(kernels_, a, b);
    }
    // Some move more bytes and take less time still: they come last.
    const double gain =
        producer != nullptr && price.fused_seconds < price.unfused_seconds
            ? std::max(1.0, price.saved_bytes)
            : price.saved_bytes;
    price.price = gain - memory_weight_ * static_cast<double>(std::max<int64_t>(
                                              0, price.held_bytes));
    return price;
  }

  FusionDecision Check(HloInstruction* a, HloInstruction* b) {
    const HloInstruction* producer = ProducerOf(*a, *b);
    if (producer == nullptr) {
      for (const HloInstruction* kernel : {a, b}) {
        RETURN_IF_NOT_FUSIBLE(kernels_.CanBeRoot(kernel));
      }
      return kernels_.CanFuseSiblings(nullptr, a, b);
    }
    HloInstruction* consumer = producer == a ? b : a;
    RETURN_IF_NOT_FUSIBLE(kernels_.CanBeProducer(producer));
    RETURN_IF_NOT_FUSIBLE(kernels_.CanBeRoot(consumer));
    return kernels_.CanFuseProducer(producer, consumer);
  }

  // What may change when one of them becomes larger.
  FusionDecision CheckForNow(HloInstruction* a, HloInstruction* b) {
    const HloInstruction* producer = ProducerOf(*a, *b);
    if (producer != nullptr) {
      return kernels_.IsWorthFusing(producer, producer == a ? b : a);
    }
    const auto times = context_.model->EstimateRunTimesForSiblings(*a, *b);
    if (times.time_fused <= times.time_unfused) return FusionDecision::Allow();
    return FusionDecision::Forbid(absl::StrFormat(
        "slower: %.2f > %.2f us", absl::ToDoubleMicroseconds(times.time_fused),
        absl::ToDoubleMicroseconds(times.time_unfused)));
  }

  void RecordPair(Node a, Node b, const Price& price,
                  const FusionDecision& decision) {
    if (context_.explanation == nullptr) return;
    const HloInstruction* left = kernels_.KernelOf(a);
    const HloInstruction* right = kernels_.KernelOf(b);
    const HloInstruction* producer = ProducerOf(*left, *right);
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

  void Try(const Candidate& candidate) {
    HloInstruction* a = kernels_.KernelOf(candidate.a);
    HloInstruction* b = kernels_.KernelOf(candidate.b);
    FusionDecision decision = Check(a, b);
    const bool forever = !decision;
    if (decision.CanFuse()) decision = CheckForNow(a, b);
    if (context_.explanation != nullptr) {
      RecordPair(candidate.a, candidate.b, PriceOf(*a, *b), decision);
    }
    if (forever) refused_.insert(Key(candidate.a, candidate.b));
    if (!decision) return;
    const HloInstruction* producer = ProducerOf(*a, *b);
    if (producer != nullptr) {
      kernels_.FuseProducer(producer == a ? a : b, producer == a ? b : a);
    } else {
      // Into the fusion, if one is; with more outputs rather than fewer.
      if (OutputCount(*b) > OutputCount(*a)) std::swap(a, b);
      kernels_.FuseSiblings(a, b);
    }
    ++fusions_;
    Reprice(candidate.a, candidate.b);
  }

  static size_t OutputCount(const HloInstruction& kernel) {
    return kernel.opcode() == HloOpcode::kFusion
               ? GetOutputSizeOfFusible(kernel)
               : 0;
  }

  // After the merge of two nodes, one of which stands for both now.
  void Reprice(Node a, Node b) {
    const Node merged = Representative(a);
    std::vector<Node> partners;
    for (Node old : {a, b}) {
      for (Node partner : partners_[old]) {
        const Node other = Representative(partner);
        if (other == merged) continue;
        if (refused_.contains(Key(a, other)) ||
            refused_.contains(Key(b, other))) {
          // What forbids it, budget or cycle, a larger kernel has too.
          refused_.insert(Key(merged, other));
          continue;
        }
        partners.push_back(other);
      }
      partners_[old].clear();
      partners_[old].shrink_to_fit();
    }
    absl::c_sort(partners);
    partners.erase(std::unique(partners.begin(), partners.end()),
                   partners.end());
    versions_[merged] = versions_[a] + versions_[b] + 1;
    for (Node partner : partners) {
      partners_[partner].push_back(merged);
      Push(merged, partner);
    }
    partners_[merged] = std::move(partners);
  }

  static constexpr int64_t kUnknown = -1;
  static constexpr int64_t kNoRoot = -2;

  MofKernels& kernels_;
  const MofContext& context_;
  const double memory_weight_;
  // By node that stands for itself: nodes that it might be merged with.
  std::vector<std::vector<Node>> partners_;
  std::vector<int32_t> versions_;
  absl::flat_hash_set<uint64_t> pairs_;
  absl::flat_hash_set<uint64_t> refused_;
  std::priority_queue<Candidate> queue_;
  int64_t fusions_ = 0;
};

}  // namespace

int64_t FuseBySavings(MofKernels* kernels, double memory_weight) {
  return BySavings(kernels, memory_weight).Run();
}

}  // namespace xla::gpu
