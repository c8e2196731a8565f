#include "xla/hlo/transforms/fusion/instruction_fusion.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/transforms/fusion/fusible_opcodes.h"
#include "xla/hlo/transforms/fusion/fusion_cycle.h"
#include "xla/hlo/transforms/fusion/reverse_post_order_queue.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/hlo/utils/in_place_fusion.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Fusing moves lists of operands and parameters: without a bound, quadratic.
constexpr int64_t kMaxOperands = 256;
// The largest body: some checks walk it as a whole.
constexpr int64_t kMaxInstructions = 512;
// The largest fusion that may duplicate a producer.
constexpr int64_t kMaxInstructionsWithDuplicates = 64;

bool IsConvertToWiderType(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kConvert &&
         ShapeUtil::ElementSizeInBits(hlo.shape()) >
             ShapeUtil::ElementSizeInBits(hlo.operand(0)->shape());
}

// Costs less than reading its result, wherever it is computed.
bool IsFreeToDuplicate(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kBroadcast || IsConvertToWiderType(hlo);
}

// Distinct operands with at least as many dimensions as the result.
int64_t CountFullOperands(const HloInstruction& hlo) {
  if (!hlo.shape().IsArray()) return hlo.operand_count();
  const size_t rank = hlo.shape().dimensions().size();
  absl::InlinedVector<const HloInstruction*, 3> full;
  for (const HloInstruction* operand : hlo.operands()) {
    const Shape& shape = operand->shape();
    if (shape.IsArray() && (shape.dimensions().size() < rank ||
                            ShapeUtil::IsEffectiveScalar(shape))) {
      continue;
    }
    if (!absl::c_linear_search(full, operand)) full.push_back(operand);
  }
  return full.size();
}

// Read by all users instead of the result, operands cost no more than writing
// the result and reading it back.
bool ReadsNoMoreIfDuplicated(const HloInstruction& producer) {
  const int64_t operands = CountFullOperands(producer);
  const int64_t users = producer.user_count();
  return operands * users <= operands + 1 + users;
}

// Whether some user of `producer` is also reached from it over an edge for
// which `fuses` is false. Looks at instructions for which `in_range` holds, and
// at a bounded number of them.
bool HasUnfusibleDetour(
    const HloInstruction* producer,
    absl::FunctionRef<bool(const HloInstruction*, HloInstruction*)> fuses,
    absl::FunctionRef<bool(const HloInstruction*)> in_range) {
  constexpr int64_t kMaxVisits = 1024;
  // Each instruction is reached at most twice: over fusible edges, and behind
  // one that is not.
  using Reached = std::pair<const HloInstruction*, bool>;
  absl::flat_hash_set<Reached> seen = {{producer, false}};
  std::vector<Reached> work(seen.begin(), seen.end());
  while (!work.empty() && seen.size() < kMaxVisits) {
    auto [inst, is_behind] = work.back();
    work.pop_back();
    for (HloInstruction* user : inst->users()) {
      if (!in_range(user)) continue;
      const Reached next = {user, is_behind || !fuses(inst, user)};
      if (next.second && user->IsUserOf(producer)) return true;
      if (seen.insert(next).second) work.push_back(next);
    }
  }
  return false;
}

}  // namespace

InstructionFusion::InstructionFusion(
    std::function<bool(const HloInstruction& instruction)> is_expensive,
    const AliasInfo* alias_info, bool may_duplicate,
    FusionConfigCollection config_collection_mode)
    : is_expensive_(std::move(is_expensive)),
      alias_info_(alias_info),
      may_duplicate_(may_duplicate),
      config_collection_mode_(config_collection_mode) {}

InstructionFusion::InstructionFusion(const InstructionFusionOptions& options)
    : InstructionFusion(IsExpensive, /*alias_info=*/nullptr,
                        options.may_duplicate) {
  alias_info_ = &default_alias_info_;
}

FusionDecision InstructionFusion::ShouldFuseInPlaceOp(
    const HloInstruction* producer, const HloInstruction* consumer,
    const AliasInfo* alias_info,
    std::optional<const InPlaceFusionOptions> in_place_fusion_options) {
  RETURN_IF_NOT_FUSIBLE(MayFuseUpdates(producer, consumer, alias_info));
  return ::xla::ShouldFuseInPlaceOp(producer, consumer, alias_info,
                                    in_place_fusion_options);
}

bool InstructionFusion::IsExpensive(const HloInstruction& instruction) {
  return IsExpensiveToRepeat(instruction);
}

bool InstructionFusion::IsEmbeddedComputation(
    const HloComputation* computation) {
  return !absl::c_all_of(computation->caller_instructions(),
                         [](const HloInstruction* caller) {
                           return caller->opcode() == HloOpcode::kWhile ||
                                  caller->opcode() == HloOpcode::kConditional ||
                                  caller->opcode() == HloOpcode::kCall;
                         });
}

std::vector<HloComputation*> InstructionFusion::GetNonFusionComputations(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  std::vector<HloComputation*> result;
  for (HloComputation* computation :
       module->MakeNonfusionComputationsSorted(execution_threads)) {
    if (!IsEmbeddedComputation(computation)) result.push_back(computation);
  }
  return result;
}

std::unique_ptr<FusionQueue> InstructionFusion::GetFusionQueue(
    HloComputation* computation) {
  return std::make_unique<ReversePostOrderQueue>(
      computation->MakeInstructionPostOrder(), config_collection_mode_);
}

bool InstructionFusion::EffectivelyAtMostUnary(
    const HloInstruction& instruction) {
  return CountFullOperands(instruction) <= 1;
}

bool InstructionFusion::IsAlwaysDuplicable(
    const HloInstruction& instruction) const {
  if (IsFreeToDuplicate(instruction)) return true;
  return !is_expensive_(instruction) && EffectivelyAtMostUnary(instruction);
}

// Duplicating a producer into all its users pays off if the producer
// disappears: all users can be fusions, reading the operands instead of the
// result costs no more memory traffic, and the work itself is small. Otherwise
// the producer would run on its own and in fusions as well.
//
// That also holds on detours: where a user waits for the producer through
// something that cannot fuse, no fusion can hold the producer, its other users
// and that user.
InstructionFusion::InstructionSet InstructionFusion::FindNotDuplicable(
    const std::vector<HloInstruction*>& post_order) {
  InstructionSet result;
  absl::flat_hash_map<const HloInstruction*, int64_t> position;
  for (const HloInstruction* inst : post_order) {
    position[inst] = static_cast<int64_t>(position.size());
  }
  absl::flat_hash_map<std::pair<const HloInstruction*, const HloInstruction*>,
                      bool>
      fusible;
  auto fuses = [&](const HloInstruction* producer, HloInstruction* user) {
    auto [it, is_new] = fusible.try_emplace({producer, user}, false);
    if (is_new) {
      it->second = absl::c_all_of(
          user->OperandIndices(producer),
          [&](int64_t i) -> bool { return bool{ShouldFuse(user, i)}; });
    }
    return it->second;
  };
  auto all_users_fuse = [&](const HloInstruction* producer) {
    return absl::c_all_of(producer->users(), [&](HloInstruction* user) {
      return fuses(producer, user);
    });
  };
  auto has_detour = [&](const HloInstruction* producer) {
    int64_t last = 0;
    for (const HloInstruction* user : producer->users()) {
      last = std::max(last, position.at(user));
    }
    return HasUnfusibleDetour(producer, fuses, [&](const HloInstruction* inst) {
      return position.at(inst) <= last;
    });
  };
  for (const HloInstruction* producer : post_order) {
    if (producer->user_count() < 2 || !MayBeFused(*producer) ||
        IsAlwaysDuplicable(*producer)) {
      continue;
    }
    if (IsHeavy(*producer) || !ReadsNoMoreIfDuplicated(*producer) ||
        !all_users_fuse(producer) || has_detour(producer)) {
      result.insert(producer);
    }
  }
  return result;
}

FusionDecision InstructionFusion::MayDuplicate(
    const HloInstruction& producer, const HloInstruction& consumer) const {
  if (producer.user_count() == 1) return FusionDecision::Allow();
  if (!may_duplicate_ && !IsFreeToDuplicate(producer)) {
    return FusionDecision::Forbid(absl::StrCat(
        producer.name(), " has ", producer.user_count(), " users"));
  }
  if (not_duplicable_.contains(&producer)) {
    return FusionDecision::Forbid(
        absl::StrCat(producer.name(), " would be computed again"));
  }
  if (consumer.opcode() == HloOpcode::kFusion && producer.operand_count() > 0 &&
      consumer.fused_instruction_count() >= kMaxInstructionsWithDuplicates) {
    return FusionDecision::Forbid(absl::StrCat(
        consumer.name(), " has ", consumer.fused_instruction_count(),
        " instructions, and ", producer.name(), " other users"));
  }
  return FusionDecision::Allow();
}

FusionDecision InstructionFusion::ShouldFuse(
    HloInstruction* consumer, int64_t operand_index,
    const InPlaceDecider& in_place_decider) {
  const HloInstruction* producer = consumer->operand(operand_index);
  if (!MayBeFused(*producer)) {
    return FusionDecision::Forbid(
        absl::StrCat(producer->name(), " cannot be in a fusion"));
  }
  if (!MayBeFusionRoot(*consumer)) {
    return FusionDecision::Forbid(
        absl::StrCat(consumer->name(), " cannot be a fusion"));
  }
  if (producer->IsRoot()) {
    return FusionDecision::Forbid(
        absl::StrCat(producer->name(), " is the root"));
  }
  if (producer->HasControlDependencies()) {
    return FusionDecision::Forbid(
        absl::StrCat(producer->name(), " has control dependencies"));
  }
  if (producer->has_sharding() != consumer->has_sharding() ||
      (producer->has_sharding() &&
       !producer->has_compatible_sharding(consumer))) {
    return FusionDecision::Forbid("shardings differ");
  }
  if (consumer->operand_count() >= kMaxOperands) {
    return FusionDecision::Forbid(absl::StrCat(
        consumer->name(), " has ", consumer->operand_count(), " operands"));
  }
  const int64_t size = consumer->opcode() == HloOpcode::kFusion
                           ? consumer->fused_instruction_count()
                           : 1;
  if (size >= kMaxInstructions) {
    return FusionDecision::Forbid(
        absl::StrCat(consumer->name(), " has ", size, " instructions"));
  }
  if (is_expensive_(*producer) &&
      consumer->ReusesOperandElements(operand_index)) {
    return FusionDecision::Forbid(
        absl::StrCat(producer->name(), " is expensive, and ", consumer->name(),
                     " reads its elements more than once"));
  }
  return in_place_decider(producer, consumer, std::nullopt);
}

FusionDecision InstructionFusion::ShouldFuse(HloInstruction* consumer,
                                             int64_t operand_index) {
  return ShouldFuse(
      consumer, operand_index,
      [this](const HloInstruction* producer, const HloInstruction* user,
             std::optional<const InPlaceFusionOptions> options) {
        return ShouldFuseInPlaceOp(producer, user, alias_info_, options);
      });
}

HloInstruction::FusionKind InstructionFusion::ChooseKind(
    const HloInstruction* producer, const HloInstruction* consumer) {
  // An existing fusion has its kind already.
  for (const HloInstruction* hlo : {consumer, producer}) {
    if (hlo->opcode() == HloOpcode::kFusion) return hlo->fusion_kind();
  }
  return HloInstruction::FusionKind::kLoop;
}

HloInstruction* InstructionFusion::AddFusionInstruction(
    HloInstruction* producer, HloInstruction* consumer,
    HloComputation* computation) {
  const HloInstruction::FusionKind kind = ChooseKind(producer, consumer);
  if (consumer->opcode() == HloOpcode::kFusion) {
    if (kind != consumer->fusion_kind()) consumer->set_fusion_kind(kind);
    return consumer;
  }
  HloInstruction* fusion = computation->AddInstruction(
      HloInstruction::CreateFusion(consumer->shape(), kind, consumer));
  CHECK_OK(computation
               ->ReplaceInstruction(consumer, fusion,
                                    /*preserve_sharding=*/true,
                                    /*relay_control_dependency=*/true,
                                    /*remove_unused_operands=*/false)
               .status());
  return fusion;
}

HloInstruction* InstructionFusion::FuseInstruction(
    HloInstruction* fusion_instruction, HloInstruction* producer) {
  if (producer->opcode() == HloOpcode::kFusion) {
    fusion_instruction->MergeFusionInstruction(producer);
    return fusion_instruction;
  }
  return fusion_instruction->FuseInstruction(producer);
}

HloInstruction* InstructionFusion::Fuse(HloInstruction* producer,
                                        HloInstruction* consumer,
                                        HloComputation* computation) {
  HloInstruction* fusion =
      AddFusionInstruction(producer, consumer, computation);
  FuseInstruction(fusion, producer);
  return fusion;
}

HloInstruction* InstructionFusion::FuseIntoMultiOutput(
    HloInstruction* producer, HloInstruction* consumer,
    HloComputation* computation) {
  HloInstruction* fusion =
      AddFusionInstruction(producer, consumer, computation);
  if (producer->opcode() == HloOpcode::kFusion) {
    fusion->MergeFusionInstructionIntoMultiOutput(producer);
  } else {
    fusion->FuseInstructionIntoMultiOutput(producer);
  }
  return fusion;
}

absl::Status InstructionFusion::RemoveIfDead(HloInstruction* instruction,
                                             HloComputation* computation,
                                             FusionQueue* queue) {
  if (instruction->parent() != computation || !instruction->IsDead() ||
      computation->IsMarkedAsDead(instruction)) {
    return absl::OkStatus();
  }
  queue->RemoveInstruction(instruction);
  return computation->RemoveInstruction(instruction);
}

// Fuses the first operand in the given order that may be fused, as a duplicated
// or moved producer if possible and as an additional output of the fusion
// otherwise. After a success the queue is asked again, since the operands of
// the fusion are new ones.
absl::StatusOr<bool> InstructionFusion::FuseOneOperand(
    HloInstruction* consumer, const std::vector<int64_t>& operands,
    HloComputation* computation, FusionQueue* queue) {
  for (const int64_t i : operands) {
    HloInstruction* producer = consumer->mutable_operand(i);
    if (!producer->IsFusible() || !consumer->IsFusible()) {
      queue->NotFusingInstruction(producer, consumer);
      continue;
    }
    HloInstruction* fusion = nullptr;
    if (MayDuplicate(*producer, *consumer) && ShouldFuse(consumer, i)) {
      queue->PreFusion(producer, consumer);
      fusion = Fuse(producer, consumer, computation);
    } else if (ShouldFuseIntoMultiOutput(consumer, i) &&
               !HasIndirectPath(producer, consumer)) {
      queue->PreFusion(producer, consumer);
      // Its value is an output of the fusion from now on.
      queue->RemoveInstruction(producer);
      fusion = FuseIntoMultiOutput(producer, consumer, computation);
    }
    if (fusion == nullptr) {
      queue->NotFusingInstruction(producer, consumer);
      continue;
    }
    queue->OnFusingInstruction(fusion, producer, consumer);
    TF_RETURN_IF_ERROR(RemoveIfDead(producer, computation, queue));
    return true;
  }
  return false;
}

absl::StatusOr<bool> InstructionFusion::RunOnComputation(
    HloComputation* computation) {
  not_duplicable_.clear();
  if (may_duplicate_) {
    not_duplicable_ =
        FindNotDuplicable(computation->MakeInstructionPostOrder());
  }
  std::unique_ptr<FusionQueue> queue = GetFusionQueue(computation);
  bool changed = false;
  while (true) {
    auto [consumer, operands] =
        queue->DequeueNextInstructionAndOperandsToFuseInOrder();
    if (consumer == nullptr) break;
    TF_ASSIGN_OR_RETURN(bool fused, FuseOneOperand(consumer, operands,
                                                   computation, queue.get()));
    changed |= fused;
  }
  if (config_collection_mode_ != FusionConfigCollection::kOff) {
    if (const std::vector<bool>* config = queue->FusionConfiguration()) {
      computation->parent()->mutable_config().mutable_fusion_config().push_back(
          *config);
    }
  }
  return changed;
}

absl::StatusOr<bool> InstructionFusion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       GetNonFusionComputations(module, execution_threads)) {
    TF_ASSIGN_OR_RETURN(bool changed_here, RunOnComputation(computation));
    changed |= changed_here;
  }
  if (!changed) return false;
  // Bodies of fusions that were merged into others.
  TF_RETURN_IF_ERROR(module->RemoveUnusedComputations());
  if (module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return true;
}

}  // namespace xla
