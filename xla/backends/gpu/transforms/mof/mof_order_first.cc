#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/backends/gpu/transforms/mof/mof_kernels.h"
#include "xla/backends/gpu/transforms/mof/mof_order.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

using Kind = FusionRecord::Kind;

// 0 for multi-output fusions, 1 for fusions, 2 for others.
int RankOfKind(const HloInstruction* instruction) {
  if (instruction->opcode() != HloOpcode::kFusion) return 2;
  return instruction->IsMultiOutputFusion() ? 0 : 1;
}

class FirstCome {
 public:
  explicit FirstCome(MofKernels* kernels)
      : kernels_(*kernels), context_(kernels->context()) {}

  int64_t Run() {
    const std::vector<HloInstruction*>& order = kernels_.post_order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      HloInstruction* value = *it;
      if (kernels_.IsGone(value)) continue;
      if (value->opcode() == HloOpcode::kConstant) continue;
      if (value->opcode() == HloOpcode::kFusion && value->IsCustomFusion()) {
        if (context_.explanation != nullptr) {
          Record(Kind::kProducerConsumer, *value, {},
                 FusionDecision::Forbid("custom fusion"));
        }
        continue;
      }
      FuseReaders(value);
      FuseInto(value);
    }
    return fusions_;
  }

 private:
  void Record(Kind kind, const HloInstruction& producer,
              std::vector<const HloInstruction*> consumers,
              const FusionDecision& decision) {
    if (context_.explanation == nullptr) return;
    FusionRecord record;
    record.kind = kind;
    record.computation = std::string(producer.parent()->name());
    record.producer = std::string(producer.name());
    for (const HloInstruction* consumer : consumers) {
      record.consumers.emplace_back(consumer->name());
    }
    record.fused = decision.CanFuse();
    record.reason = decision.Explain();
    if (kind == Kind::kSibling) {
      record.saved_bytes = static_cast<int64_t>(
          context_.model->SiblingBytesSaved(*consumers[0], *consumers[1]));
    }
    context_.explanation->Record(std::move(record));
  }

  // Pairs of readers of `parent`. Kernels loop over equally many elements for
  // all of their results, so readers are grouped by that number, and pairs of
  // different groups are never asked about. Within a group, a reader that is
  // refused too often in a row is given up: pairs would be quadratic in the
  // readers.
  void FuseReaders(HloInstruction* parent) {
    if (ShapeUtil::IsEffectiveScalar(parent->shape())) return;
    // Classes in the order of their first readers.
    absl::flat_hash_map<int64_t, size_t> class_of;
    std::vector<std::vector<HloInstruction*>> classes;
    if (parent->user_count() < 2) return;
    for (HloInstruction* user : parent->users()) {
      if (!kernels_.CanBeRoot(user)) continue;
      auto [it, added] =
          class_of.try_emplace(kernels_.LoopElements(user), classes.size());
      if (added) classes.emplace_back();
      classes[it->second].push_back(user);
    }
    for (std::vector<HloInstruction*>& siblings : classes) {
      absl::c_stable_sort(siblings, [](const auto* a, const auto* b) {
        return RankOfKind(a) < RankOfKind(b);
      });
      FuseClass(parent, siblings);
    }
  }

  void FuseClass(HloInstruction* parent,
                 std::vector<HloInstruction*>& siblings) {
    for (size_t i = 0; i < siblings.size(); ++i) {
      HloInstruction* into = siblings[i];
      if (into == nullptr || into->opcode() != HloOpcode::kFusion) continue;
      int refusals = 0;
      for (size_t j = i + 1; j < siblings.size(); ++j) {
        if (siblings[j] == nullptr) continue;
        if (kernels_.IsFull(into) || refusals >= kMaxRefusals) break;
        const FusionDecision decision =
            kernels_.CanFuseSiblings(parent, into, siblings[j]);
        Record(Kind::kSibling, *parent, {into, siblings[j]}, decision);
        if (!decision) {
          ++refusals;
          continue;
        }
        kernels_.FuseSiblings(into, siblings[j]);
        siblings[j] = nullptr;
        refusals = 0;
        ++fusions_;
      }
    }
  }

  // `producer` into one of its readers.
  void FuseInto(HloInstruction* producer) {
    if (producer->user_count() == 0) return;
    const FusionDecision legal = kernels_.CanBeProducer(producer);
    if (!legal) {
      // Only what is a kernel is worth a line.
      if (context_.explanation != nullptr &&
          producer->opcode() == HloOpcode::kFusion) {
        Record(Kind::kProducerConsumer, *producer, {}, legal);
      }
      return;
    }
    HloInstruction* best = nullptr;
    for (HloInstruction* consumer : producer->users()) {
      if (best != nullptr && RankOfKind(consumer) >= RankOfKind(best)) continue;
      FusionDecision decision = kernels_.CanBeRoot(consumer);
      if (decision.CanFuse()) {
        decision = kernels_.CanFuseProducer(producer, consumer);
      }
      if (decision.CanFuse()) {
        decision = kernels_.IsWorthFusing(producer, consumer);
      }
      if (decision.CanFuse()) {
        best = consumer;
      } else {
        Record(Kind::kProducerConsumer, *producer, {consumer}, decision);
      }
    }
    if (best == nullptr) return;
    Record(Kind::kProducerConsumer, *producer, {best}, FusionDecision::Allow());
    kernels_.FuseProducer(producer, best);
    ++fusions_;
  }

  MofKernels& kernels_;
  const MofContext& context_;
  int64_t fusions_ = 0;
};

}  // namespace

int64_t FuseFirstCome(MofKernels* kernels) { return FirstCome(kernels).Run(); }

}  // namespace xla::gpu
