#include "xla/backends/gpu/transforms/priority_fusion/priority_fusion.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/fusion/scheduled_peak.h"
#include "xla/backends/gpu/fusion/wide_root.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/cost/instruction_flops.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/tiling/tiled_performance_model.h"
#include "xla/backends/gpu/transforms/priority_fusion/convolution_kernels.h"
#include "xla/backends/gpu/transforms/priority_fusion/dot_kernels.h"
#include "xla/backends/gpu/transforms/priority_fusion/fuse_pair.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_order.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_queue.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_rules.h"
#include "xla/backends/gpu/transforms/priority_fusion/tiled_fusions.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;

// One computation.
// The main loop: pop the producer with the highest priority (time saved), fuse
// it into all of its consumers, and update the queue for everything whose price
// depends on the kernels that changed: the new fusions as producers, and the
// operands of both as producers of new consumers. Caches of costs, rules and
// tilings are invalidated for exactly the instructions that are replaced.
class Fuser {
 public:
  // `groups`: null if not wanted.
  Fuser(const DeviceDescription& device, const AliasInfo& alias_info,
        const absl::flat_hash_set<std::string>& banned,
        const PriorityFusionOptions& options, HloComputation* computation,
        FusionExplanation* explanation, std::vector<FusionGroup>* groups)
      : device_(device),
        banned_(banned),
        options_(options),
        computation_(computation),
        explanation_(explanation),
        groups_(groups),
        model_(device, options.kernels_for,
               options.xla_prices ? OperationPrices::kXla
                                  : OperationPrices::kDevice),
        tiled_(device, banned,
               {options.triton_heroless, options.triton_multi_output,
                options.kernels_for},
               &model_),
        rules_(device, alias_info, banned, &model_, &tiled_) {}

  absl::StatusOr<bool> Run() {
    WideRoot root(computation_);
    TF_RETURN_IF_ERROR(root.Split());
    if (options_.dots) {
      TF_ASSIGN_OR_RETURN(const int64_t dots,
                          MakeDotsFusible(computation_, device_, banned_,
                                          &rules_, explanation_));
      changed_ |= dots > 0;
    }
    if (options_.convolutions) {
      TF_ASSIGN_OR_RETURN(
          const int64_t convolutions,
          MakeConvolutionsFusible(computation_, &model_, banned_, &rules_,
                                  explanation_));
      changed_ |= convolutions > 0;
    }
    if (options_.triton_multi_output) order_.emplace(*computation_);
    queue_.emplace(&rules_, &tiled_, order_.has_value() ? &*order_ : nullptr);
    for (HloInstruction* hlo : computation_->MakeInstructionPostOrder()) {
      queue_->Update(hlo);
    }
    while (true) {
      const FusionQueue::Fusion next = queue_->Pop();
      if (next.producer == nullptr) break;
      TF_RETURN_IF_ERROR(next.only_consumer == nullptr
                             ? FuseIntoConsumers(next.producer)
                             : FuseAsResult(next.producer, next.only_consumer));
    }
    if (explanation_ != nullptr) RecordRefusals();
    TF_RETURN_IF_ERROR(FuseConstants());
    TF_RETURN_IF_ERROR(root.Join());
    if (groups_ != nullptr) AddGroups();
    return changed_;
  }

 private:
  absl::Status FuseIntoConsumers(HloInstruction* producer);
  // Into one consumer, in a tiling compiler's fusion that also gives the
  // producer's result to its other readers.
  absl::Status FuseAsResult(HloInstruction* producer, HloInstruction* consumer);
  // As FusePair.
  absl::StatusOr<HloInstruction*> Fuse(HloInstruction* producer,
                                       HloInstruction* consumer);
  // Before it goes.
  void Forget(const HloInstruction& producer);
  absl::Status RemoveProducer(HloInstruction* producer);
  absl::Status FuseConstants();
  // Who is in a fusion that is about to be made of both, by their names.
  std::vector<std::string> MembersOf(const HloInstruction& producer,
                                     const HloInstruction& consumer) const;
  void AddGroups();
  void RecordFusion(const HloInstruction& producer,
                    const std::vector<HloInstruction*>& consumers,
                    bool as_result = false);
  void RecordRefusals();

  const DeviceDescription& device_;
  const absl::flat_hash_set<std::string>& banned_;
  const PriorityFusionOptions& options_;
  HloComputation* computation_;
  FusionExplanation* explanation_;
  std::vector<FusionGroup>* groups_;
  // The members of each fusion; filled only if groups are wanted.
  absl::flat_hash_map<const HloInstruction*, std::vector<std::string>> members_;
  GpuPerformanceModel model_;
  TiledFusions tiled_;
  FusionRules rules_;
  // The state before kernels are fused.
  std::optional<FusionOrder> order_;
  std::optional<FusionQueue> queue_;
  bool changed_ = false;
};

// The cost of the new fusion is known from the price of the pair and is set
// directly instead of being recomputed from the body.
absl::StatusOr<HloInstruction*> Fuser::Fuse(HloInstruction* producer,
                                            HloInstruction* consumer) {
  changed_ = true;
  std::optional<TiledRunTimeData> tiling;
  if (tiled_.IsTiledPair(*producer, *consumer)) {
    TF_ASSIGN_OR_RETURN(tiling, tiled_.TilingOfPair(*producer, *consumer,
                                                    /*keep_output=*/false));
  }
  const HloInstruction::FusionKind kind =
      rules_.ChooseKind(*producer, *consumer);
  KernelCostWithOperands cost = model_.costs().Fused(*producer, *consumer);
  const FusionRules::Contents contents =
      rules_.ContentsOfPair(*producer, *consumer);
  std::vector<std::string> members;
  if (groups_ != nullptr) members = MembersOf(*producer, *consumer);
  model_.Invalidate(*consumer);
  rules_.Invalidate(*consumer);
  TF_ASSIGN_OR_RETURN(HloInstruction * fusion,
                      FusePair(producer, consumer, kind));
  if (fusion == producer) {
    model_.Invalidate(*producer);
    rules_.Invalidate(*producer);
  }
  if (order_.has_value()) order_->Fused(*producer, *consumer, *fusion);
  if (tiling.has_value()) {
    TF_RETURN_IF_ERROR(tiled_.Tile(*tiling, fusion));
  } else {
    model_.costs().Set(*fusion, std::move(cost));
  }
  rules_.Set(*fusion, contents);
  if (groups_ != nullptr) members_[fusion] = std::move(members);
  return fusion;
}

std::vector<std::string> Fuser::MembersOf(
    const HloInstruction& producer, const HloInstruction& consumer) const {
  std::vector<std::string> members;
  for (const HloInstruction* part : {&producer, &consumer}) {
    auto it = members_.find(part);
    if (it == members_.end()) {
      members.emplace_back(part->name());
    } else {
      members.insert(members.end(), it->second.begin(), it->second.end());
    }
  }
  absl::c_sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

void Fuser::AddGroups() {
  for (HloInstruction* hlo : computation_->instructions()) {
    auto it = members_.find(hlo);
    if (it != members_.end()) groups_->push_back({hlo, std::move(it->second)});
  }
}

void Fuser::Forget(const HloInstruction& producer) {
  queue_->Remove(&producer);
  if (order_.has_value()) order_->Remove(producer);
  model_.Invalidate(producer);
  rules_.Invalidate(producer);
}

absl::Status Fuser::RemoveProducer(HloInstruction* producer) {
  const bool bitcast = IsTransparentBitcast(*producer);
  const HloInstruction::InstructionVector operands =
      producer->unique_operands();
  Forget(*producer);
  HloComputation* body = producer->opcode() == HloOpcode::kFusion
                             ? producer->fused_instructions_computation()
                             : nullptr;
  TF_RETURN_IF_ERROR(computation_->RemoveInstruction(producer));
  if (body != nullptr) {
    TF_RETURN_IF_ERROR(computation_->parent()->RemoveEmbeddedComputation(body));
  }
  for (HloInstruction* operand : operands) {
    if (bitcast) {
      queue_->RemoveBitcast(operand);
    } else {
      queue_->ChangeConsumer(operand, producer, nullptr);
    }
  }
  return absl::OkStatus();
}

// The last consumer may be merged into the producer in place (FusePair), which
// avoids copying a large body; the producer is then the fusion.
absl::Status Fuser::FuseIntoConsumers(HloInstruction* producer) {
  std::vector<HloInstruction*> consumers;
  for (HloInstruction* user : producer->users()) {
    if (!IsTransparentBitcast(*user)) consumers.push_back(user);
  }
  if (explanation_ != nullptr) RecordFusion(*producer, consumers);
  std::vector<HloInstruction*> fusions;
  for (HloInstruction* consumer : consumers) {
    TF_ASSIGN_OR_RETURN(HloInstruction * fusion, Fuse(producer, consumer));
    if (fusion != consumer) queue_->Remove(consumer);
    fusions.push_back(fusion);
  }
  if (fusions.empty() || fusions.back() != producer) {
    if (producer->users().empty()) {
      TF_RETURN_IF_ERROR(RemoveProducer(producer));
    } else {
      queue_->Update(producer);
    }
  }
  for (size_t i = 0; i < fusions.size(); ++i) {
    model_.costs().IndexOperands(fusions[i]);
    for (HloInstruction* operand : fusions[i]->unique_operands()) {
      if (operand == producer) continue;
      queue_->ChangeConsumer(operand, consumers[i], fusions[i]);
    }
    model_.costs().IndexOperands(nullptr);
    queue_->Update(fusions[i]);
  }
  return absl::OkStatus();
}

absl::Status Fuser::FuseAsResult(HloInstruction* producer,
                                 HloInstruction* consumer) {
  changed_ = true;
  if (explanation_ != nullptr) {
    RecordFusion(*producer, {consumer}, /*as_result=*/true);
  }
  std::vector<std::string> members;
  if (groups_ != nullptr) members = MembersOf(*producer, *consumer);
  const FusionRules::Contents contents =
      rules_.ContentsOfPair(*producer, *consumer);
  const HloInstruction::InstructionVector operands =
      producer->unique_operands();
  TF_ASSIGN_OR_RETURN(const TiledRunTimeData tiling,
                      tiled_.TilingOfPair(*producer, *consumer,
                                          /*keep_output=*/true));
  model_.Invalidate(*consumer);
  rules_.Invalidate(*consumer);
  queue_->Remove(consumer);
  TF_ASSIGN_OR_RETURN(HloInstruction * fusion,
                      FusePairIntoMultiOutput(producer, consumer));
  order_->Merged(*producer, *consumer, *fusion);
  Forget(*producer);
  TF_RETURN_IF_ERROR(tiled_.Tile(tiling, fusion));
  rules_.Set(*fusion, contents);
  if (groups_ != nullptr) members_[fusion] = std::move(members);
  for (HloInstruction* operand : operands) {
    queue_->ChangeConsumer(operand, producer, nullptr);
  }
  for (HloInstruction* operand : fusion->unique_operands()) {
    queue_->ChangeConsumer(operand, consumer, fusion);
  }
  return absl::OkStatus();
}

// Scalar constants are fused last and unconditionally where legal: they cost
// nothing inside of a kernel.
absl::Status Fuser::FuseConstants() {
  std::vector<HloInstruction*> constants;
  for (HloInstruction* hlo : computation_->MakeInstructionPostOrder()) {
    if (hlo->opcode() == HloOpcode::kConstant && !hlo->IsRoot() &&
        hlo->shape().IsArray() && ShapeUtil::IsEffectiveScalar(hlo->shape()) &&
        !hlo->HasControlDependencies()) {
      constants.push_back(hlo);
    }
  }
  for (HloInstruction* constant : constants) {
    const std::vector<HloInstruction*> users(constant->users().begin(),
                                             constant->users().end());
    for (HloInstruction* user : users) {
      if (tiled_.IsTiled(*user)) {
        model_.Invalidate(*user);
        rules_.Invalidate(*user);
        Cast<HloFusionInstruction>(user)->FuseInstruction(constant);
        changed_ = true;
      } else if (rules_.CanFuse(*constant, *user)) {
        TF_RETURN_IF_ERROR(Fuse(constant, user).status());
      }
    }
    if (constant->IsDead()) {
      TF_RETURN_IF_ERROR(computation_->RemoveInstruction(constant));
      changed_ = true;
    }
  }
  return absl::OkStatus();
}

// --- Explanation ------------------------------------------------------------

void Fuser::RecordFusion(const HloInstruction& producer,
                         const std::vector<HloInstruction*>& consumers,
                         bool as_result) {
  FusionRecord record;
  record.kind = FusionRecord::Kind::kPriority;
  record.computation = computation_->name();
  record.producer = producer.name();
  double bytes = tiled_.EstimateRunTime(producer).bytes();
  absl::Duration unfused = tiled_.EstimateRunTime(producer).time;
  absl::Duration fused;
  for (const HloInstruction* consumer : consumers) {
    record.consumers.emplace_back(consumer->name());
    const EstimateRunTimeData together =
        as_result ? tiled_.EstimateTiledTime(producer, *consumer,
                                             /*keep_output=*/true)
                  : tiled_.EstimateFusedTime(producer, *consumer);
    const EstimateRunTimeData alone = tiled_.EstimateRunTime(*consumer);
    unfused += alone.time;
    fused += together.time;
    bytes += alone.bytes() - together.bytes();
  }
  record.fused = true;
  if (as_result) record.reason = "stays a result";
  record.saved_bytes = static_cast<int64_t>(bytes);
  record.unfused_seconds = absl::ToDoubleSeconds(unfused);
  record.fused_seconds = absl::ToDoubleSeconds(fused);
  explanation_->Record(std::move(record));
}

void Fuser::RecordRefusals() {
  queue_->ForEachRefusal([&](const HloInstruction& producer,
                             const HloInstruction* consumer,
                             const std::string& reason, absl::Duration loss) {
    FusionRecord record;
    record.kind = FusionRecord::Kind::kPriority;
    record.computation = computation_->name();
    record.producer = producer.name();
    if (consumer != nullptr) {
      record.consumers.emplace_back(consumer->name());
      record.reason = reason;
    } else {
      for (const HloInstruction* user : producer.users()) {
        record.consumers.emplace_back(user->name());
      }
      record.reason = absl::StrFormat("slower by %.3f us",
                                      absl::ToDoubleMicroseconds(loss));
    }
    explanation_->Record(std::move(record));
  });
}

}  // namespace

absl::StatusOr<bool> PriorityFusion::Fuse(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    const absl::flat_hash_set<std::string>& banned,
    FusionExplanation* explanation, std::vector<FusionGroup>* groups) const {
  const GpuAliasInfo default_alias_info;
  const AliasInfo& alias_info =
      alias_info_ != nullptr ? *alias_info_ : default_alias_info;
  bool changed = false;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    Fuser fuser(*device_, alias_info, banned, options_, computation,
                explanation, groups);
    TF_ASSIGN_OR_RETURN(const bool fused, fuser.Run());
    changed |= fused;
  }
  return changed;
}

absl::StatusOr<bool> PriorityFusion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!device_.has_value()) {
    TF_ASSIGN_OR_RETURN(device_, LoadGpuDevice(options_.device));
  }
  FusionMemoryPlan plan;
  if (!options_.memory_limit.empty()) {
    TF_ASSIGN_OR_RETURN(
        plan,
        PlanForMemoryLimit(
            module, options_.memory_limit,
            ScheduledPeakFunction(options_.schedule, options_.schedule_effort),
            [&](HloModule* copy, const absl::flat_hash_set<std::string>& banned,
                std::vector<FusionGroup>* groups) {
              return Fuse(copy, execution_threads, banned,
                          /*explanation=*/nullptr, groups)
                  .status();
            }));
    if (explanation_ != nullptr) ExplainUndone(plan, explanation_);
  }
  TF_ASSIGN_OR_RETURN(const bool changed,
                      Fuse(module, execution_threads, plan.banned, explanation_,
                           /*groups=*/nullptr));
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu
