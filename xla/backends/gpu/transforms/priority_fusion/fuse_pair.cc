#include "xla/backends/gpu/transforms/priority_fusion/fuse_pair.h"

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

int64_t SizeOf(const HloInstruction& kernel) {
  return kernel.opcode() == HloOpcode::kFusion
             ? kernel.fused_instructions_computation()->instruction_count()
             : 1;
}

// It has nothing but its computation, operands and shape.
bool IsPlainFusion(const HloInstruction& kernel) {
  if (kernel.HasControlDependencies()) return false;
  if (kernel.opcode() != HloOpcode::kFusion) return true;
  const auto& fusion = static_cast<const HloFusionInstruction&>(kernel);
  if (!fusion.output_to_operand_aliasing().empty() ||
      !fusion.raw_backend_config_string().empty()) {
    return false;
  }
  return true;
}

// Whether the consumer's body may be cloned into the producer instead of the
// other way round: small to large, so that chains of fusions do not copy a
// growing body again and again.
// Then the clone of an instruction is in a body at least twice as large as
// before, which happens O(log n) times.
bool CanTakeIn(const HloInstruction& producer, const HloInstruction& consumer) {
  return producer.opcode() == HloOpcode::kFusion &&
         producer.user_count() == 1 && !producer.IsRoot() &&
         SizeOf(producer) > SizeOf(consumer) && IsPlainFusion(producer) &&
         IsPlainFusion(consumer);
}

// Clones the consumer, or its body, into the producer's body.
HloInstruction* CloneInto(HloFusionInstruction* producer,
                          HloInstruction* consumer) {
  HloComputation* body = producer->fused_instructions_computation();
  HloInstruction* result = body->root_instruction();
  HloInstruction::InstructionVector values;
  for (HloInstruction* operand : consumer->operands()) {
    if (operand == producer) {
      values.push_back(result);
    } else if (producer->IsUserOf(operand)) {
      values.push_back(
          producer->fused_parameter(producer->operand_index(operand)));
    } else {
      values.push_back(producer->AddFusionOperand(operand));
    }
  }
  if (consumer->opcode() != HloOpcode::kFusion) {
    return body->AddInstruction(
        consumer->CloneWithNewOperands(consumer->shape(), values));
  }
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones;
  const HloComputation* inner = consumer->fused_instructions_computation();
  HloInstruction* last = nullptr;
  for (HloInstruction* hlo : inner->MakeInstructionPostOrder()) {
    if (hlo->opcode() == HloOpcode::kParameter) {
      last = values[hlo->parameter_number()];
    } else {
      HloInstruction::InstructionVector operands;
      for (HloInstruction* operand : hlo->operands()) {
        operands.push_back(clones.at(operand));
      }
      last = body->AddInstruction(
          hlo->CloneWithNewOperands(hlo->shape(), operands));
    }
    clones[hlo] = last;
  }
  return clones.at(inner->root_instruction());
}

// The producer becomes the fusion of both and takes over the consumer's shape,
// users and metadata.
absl::StatusOr<HloInstruction*> TakeIn(HloFusionInstruction* producer,
                                       HloInstruction* consumer,
                                       HloInstruction::FusionKind kind) {
  HloComputation* computation = producer->parent();
  HloInstruction* root = CloneInto(producer, consumer);
  producer->fused_instructions_computation()->set_root_instruction(
      root, /*accept_different_shape=*/true);
  *producer->mutable_shape() = consumer->shape();
  producer->set_fusion_kind(kind);
  producer->clear_sharding();
  producer->set_original_value(consumer->original_value());
  consumer->SetupDerivedInstruction(producer);
  TF_RETURN_IF_ERROR(consumer->ReplaceAllUsesWith(producer));
  HloComputation* dead = consumer->opcode() == HloOpcode::kFusion
                             ? consumer->fused_instructions_computation()
                             : nullptr;
  TF_RETURN_IF_ERROR(computation->RemoveInstruction(consumer));
  if (dead != nullptr) {
    TF_RETURN_IF_ERROR(computation->parent()->RemoveEmbeddedComputation(dead));
  }
  return producer;
}

// The instruction, or a fusion of it in its place.
absl::StatusOr<HloInstruction*> AsFusion(HloInstruction* hlo,
                                         HloInstruction::FusionKind kind) {
  if (hlo->opcode() == HloOpcode::kFusion) {
    hlo->set_fusion_kind(kind);
    return hlo;
  }
  HloComputation* computation = hlo->parent();
  HloInstruction* fusion = computation->AddInstruction(
      HloInstruction::CreateFusion(hlo->shape(), kind, hlo));
  TF_ASSIGN_OR_RETURN(
      const bool replaced,
      computation->ReplaceInstruction(hlo, fusion,
                                      /*preserve_sharding=*/true,
                                      /*relay_control_dependency=*/true,
                                      /*remove_unused_operands=*/false));
  TF_RET_CHECK(replaced) << hlo->name();
  return fusion;
}

}  // namespace

absl::StatusOr<HloInstruction*> FusePair(HloInstruction* producer,
                                         HloInstruction* consumer,
                                         HloInstruction::FusionKind kind) {
  if (CanTakeIn(*producer, *consumer)) {
    return TakeIn(static_cast<HloFusionInstruction*>(producer), consumer, kind);
  }
  TF_ASSIGN_OR_RETURN(HloInstruction * fusion, AsFusion(consumer, kind));
  auto* fusion_hlo = static_cast<HloFusionInstruction*>(fusion);
  if (producer->opcode() == HloOpcode::kFusion) {
    fusion_hlo->MergeFusionInstruction(
        static_cast<HloFusionInstruction*>(producer));
  } else {
    fusion_hlo->FuseInstruction(producer);
  }
  return fusion;
}

absl::StatusOr<HloInstruction*> FusePairIntoMultiOutput(
    HloInstruction* producer, HloInstruction* consumer) {
  TF_ASSIGN_OR_RETURN(HloInstruction * fusion,
                      AsFusion(consumer, HloInstruction::FusionKind::kCustom));
  auto* fusion_hlo = static_cast<HloFusionInstruction*>(fusion);
  if (producer->opcode() == HloOpcode::kFusion) {
    fusion_hlo->MergeFusionInstructionIntoMultiOutput(
        static_cast<HloFusionInstruction*>(producer));
  } else {
    fusion_hlo->FuseInstructionIntoMultiOutput(producer);
    TF_RETURN_IF_ERROR(producer->parent()->RemoveInstruction(producer));
  }
  return fusion;
}

}  // namespace xla::gpu
