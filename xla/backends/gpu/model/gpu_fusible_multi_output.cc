// Rules for the outputs of one fusion.

#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/model/fusion_hero.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fused_instructions.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace gpu {
namespace {

// The hero of an output if it makes the kernel; else null.
const HloInstruction* RealHero(const HloInstruction& output,
                               const se::DeviceDescription& device_info) {
  const HloInstruction& hero = FindNonTrivialHero(output);
  if (IsRealReductionHero(output, hero, device_info) ||
      GetDescriptionForTiledTransposeEmitter(hero).has_value()) {
    return &hero;
  }
  return nullptr;
}

// The fusion that `instr` is in; null if it is in none.
const HloInstruction* FusionAround(const HloInstruction* instr) {
  return instr->IsFused() ? instr->parent()->FusionInstruction() : nullptr;
}

// The values that `consumer` reads from `producer` reach a result through
// intermediates with one user each.
bool StaysHero(const HloInstruction& producer, const HloInstruction& consumer) {
  for (int64_t i : consumer.OperandIndices(&producer)) {
    const HloInstruction* value = consumer.fused_parameter(i);
    while (value->user_count() > 0) {
      if (value->user_count() != 1) return false;
      value = value->users()[0];
      if (value->opcode() != HloOpcode::kTuple && !IsIntermediate(value)) {
        return false;
      }
    }
  }
  return true;
}

// The shape that the kernel of `hero` runs over.
const Shape& LoopShape(const HloInstruction& hero,
                       const se::DeviceDescription& device_info) {
  if (IsReductionFromOrToContiguousDimensions(hero, device_info) ||
      GetDescriptionForTiledTransposeEmitter(hero).has_value()) {
    return hero.operand(0)->shape();
  }
  return hero.shape();
}

// A transpose without tiles that keeps the minor dimension in place: it moves
// rows as they are, of at least what one access to memory takes.
bool MovesRows(const HloInstruction& hero,
               const se::DeviceDescription& device_info) {
  if (hero.opcode() != HloOpcode::kTranspose ||
      GetDescriptionForTiledTransposeEmitter(hero).has_value() ||
      !hero.shape().has_layout() || TransposesMinorDimension(&hero)) {
    return false;
  }
  for (int64_t dim : hero.shape().layout().minor_to_major()) {
    const int64_t elements = hero.shape().dimensions(dim);
    if (elements == 1) continue;
    return elements * primitive_util::BitWidth(hero.shape().element_type()) >=
           8 * device_info.dram_to_l2_transaction_size_bytes();
  }
  return false;
}

// Outputs of one kernel share its loop. Two reductions must have the same shape
// in memory, two tiled transposes the same description, and kernels of
// different kinds do not mix. If one fusion reads the other, a tiled transpose
// must in addition remain the hero after merging.
FusionDecision CheckHeroes(const HloInstruction* hero1,
                           const HloInstruction* hero2,
                           const se::DeviceDescription& device_info,
                           bool rows_join_tiles) {
  const bool reduction1 =
      IsReductionFromOrToContiguousDimensions(*hero1, device_info);
  const bool reduction2 =
      IsReductionFromOrToContiguousDimensions(*hero2, device_info);
  const std::optional<TransposeDescription> tiled1 =
      GetDescriptionForTiledTransposeEmitter(*hero1);
  const std::optional<TransposeDescription> tiled2 =
      GetDescriptionForTiledTransposeEmitter(*hero2);

  if (reduction1 && reduction2 &&
      !AreReductionsMultiOutputFusionCompatible(hero2, hero1)) {
    return FusionDecision::Forbid(
        absl::StrCat("reductions run differently: ",
                     ReductionDimensionsOf(*hero1)->ToString(), " and ",
                     ReductionDimensionsOf(*hero2)->ToString()));
  }
  if (tiled1 && tiled2 && !tiled1->IsEquivalent(*tiled2)) {
    return FusionDecision::Forbid(
        absl::StrCat("transposes run differently: ", tiled1->ToString(),
                     " and ", tiled2->ToString()));
  }
  if ((tiled1 && reduction2) || (reduction1 && tiled2)) {
    return FusionDecision::Forbid("a tiled transpose and a reduction");
  }
  const bool nested1 = hero1->opcode() == HloOpcode::kTranspose && !tiled1;
  const bool nested2 = hero2->opcode() == HloOpcode::kTranspose && !tiled2;
  const bool rows_and_tiles =
      rows_join_tiles && ((tiled2 && MovesRows(*hero1, device_info)) ||
                          (tiled1 && MovesRows(*hero2, device_info)));
  if (!rows_and_tiles && ((nested1 && (tiled2 || reduction2)) ||
                          (nested2 && (tiled1 || reduction1)))) {
    return FusionDecision::Forbid(
        "a transpose that is not tiled, and a tiled transpose or a reduction");
  }

  const HloInstruction* fusion1 = FusionAround(hero1);
  const HloInstruction* fusion2 = FusionAround(hero2);
  if (fusion1 == nullptr || fusion2 == nullptr) return FusionDecision::Allow();
  if ((tiled1 && fusion2->IsUserOf(fusion1) &&
       !StaysHero(*fusion1, *fusion2)) ||
      (tiled2 && fusion1->IsUserOf(fusion2) &&
       !StaysHero(*fusion2, *fusion1))) {
    return FusionDecision::Forbid("a transpose would not stay tiled");
  }
  return FusionDecision::Allow();
}

}  // namespace

const HloInstruction* GetRealHeroForMultiOutputFusion(
    const HloInstruction& instr, const se::DeviceDescription& device_info) {
  if (instr.opcode() != HloOpcode::kFusion) return &instr;
  const auto outputs = GetOutputsOfFusible(instr);
  for (const HloInstruction* output : outputs) {
    if (const HloInstruction* hero = RealHero(*output, device_info)) {
      return hero;
    }
  }
  return outputs.empty() ? instr.fused_expression_root() : outputs[0];
}

bool IsOutputOfHero(const HloInstruction& output,
                    const se::DeviceDescription& device_info) {
  return RealHero(output, device_info) != nullptr;
}

FusionDecision FusionHeroesAreCompatible(
    const HloInstruction* hero1, const HloInstruction* hero2,
    const se::DeviceDescription& device_info) {
  return CheckHeroes(hero1, hero2, device_info, /*rows_join_tiles=*/false);
}

bool TransposesRowsOrTiles(const HloInstruction& kernel,
                           const se::DeviceDescription& device_info) {
  return absl::c_all_of(
      GetOutputsOfFusible(kernel), [&](const HloInstruction* output) {
        return output->opcode() != HloOpcode::kTranspose ||
               GetDescriptionForTiledTransposeEmitter(*output).has_value() ||
               MovesRows(*output, device_info);
      });
}

bool TransposesAtMostRows(const HloInstruction& instr,
                          const se::DeviceDescription& device_info) {
  return !AnyInside(instr, [&](const HloInstruction& part) {
    return IsPhysicallyTransposing(part) && !MovesRows(part, device_info);
  });
}

bool IsTransposeOfRowsOrTiles(const HloInstruction& instr,
                              const se::DeviceDescription& device_info) {
  return instr.opcode() == HloOpcode::kTranspose &&
         (GetDescriptionForTiledTransposeEmitter(instr).has_value() ||
          MovesRows(instr, device_info));
}

FusionDecision HeroesRunAlike(const HloInstruction& hero1,
                              const HloInstruction& hero2,
                              const se::DeviceDescription& device_info,
                              bool rows_join_tiles) {
  RETURN_IF_NOT_FUSIBLE(
      CheckHeroes(&hero1, &hero2, device_info, rows_join_tiles));

  const Shape& shape1 = LoopShape(hero1, device_info);
  const Shape& shape2 = LoopShape(hero2, device_info);
  if (ShapeUtil::EqualIgnoringElementType(shape1, shape2)) {
    return FusionDecision::Allow();
  }
  if (shape1.IsArray() && shape2.IsArray() && shape1.has_layout() &&
      shape2.has_layout() &&
      ShapeUtil::IsReshapeOrTransposeBitcast(shape1, shape2,
                                             /*ignore_element_type=*/true)) {
    return FusionDecision::Allow();
  }
  return FusionDecision::Forbid(
      absl::StrCat("different shapes: ", ShapeUtil::HumanString(shape1),
                   " and ", ShapeUtil::HumanString(shape2)));
}

FusionDecision ShapesCompatibleForMultiOutputFusion(
    const HloInstruction& instr1, const HloInstruction& instr2,
    const se::DeviceDescription& device_info) {
  return HeroesRunAlike(*GetRealHeroForMultiOutputFusion(instr1, device_info),
                        *GetRealHeroForMultiOutputFusion(instr2, device_info),
                        device_info, /*rows_join_tiles=*/false);
}

// The kernel of a scatter runs over its updates, in any order, and changes its
// target in place. So the target must be complete in memory before the kernel
// starts, and a producer in the kernel must not read it: it might see elements
// that another thread has changed already.
FusionDecision CanEmitInputFusedScatter(const HloInstruction& producer,
                                        const HloInstruction& consumer) {
  if (IsInputFusibleScatter(producer)) {
    return FusionDecision::Forbid("do not fuse into the output of a scatter");
  }
  if (!IsInputFusibleScatter(consumer)) return FusionDecision::Allow();
  const HloInstruction* scatter = consumer.opcode() == HloOpcode::kFusion
                                      ? consumer.fused_expression_root()
                                      : &consumer;
  // Targets, indices, updates: as many targets as updates.
  const int64_t targets = scatter->operand_count() / 2;
  for (int64_t i = 0; i < targets; ++i) {
    const HloInstruction* target = scatter->operand(i);
    if (scatter != &consumer) {
      if (target->opcode() != HloOpcode::kParameter) continue;
      target = consumer.operand(target->parameter_number());
    }
    if (target == &producer) {
      return FusionDecision::Forbid(
          "do not fuse what a scatter updates in place");
    }
    if (producer.IsUserOf(target)) {
      return FusionDecision::Forbid(
          "the producer reads what the scatter updates in place");
    }
  }
  return FusionDecision::Allow();
}

FusionDecision IsProducerMultiOutputFusible(
    const HloInstruction& producer, const GpuAliasInfo* alias_info,
    const se::DeviceDescription& device_info, bool rows_join_tiles) {
  if (producer.IsCustomFusion()) {
    return FusionDecision::Forbid("the producer is a custom fusion");
  }
  if (producer.opcode() == HloOpcode::kFusion &&
      producer.IsMultiOutputFusion()) {
    return FusionDecision::Forbid("the producer has several outputs");
  }
  if (!alias_info->GetInPlaceInputOutputPairs(&producer).empty()) {
    return FusionDecision::Forbid("the producer works in place");
  }
  if (!IsLoopFusibleAsProducer(producer)) {
    return FusionDecision::Forbid("the producer is not a loop");
  }
  if (IsPhysicallyTransposing(producer) &&
      !(rows_join_tiles && TransposesAtMostRows(producer, device_info))) {
    return FusionDecision::Forbid("the producer transposes in memory");
  }
  return FusionDecision::Allow();
}

bool IsFusibleAsMultiOutputFusionRoot(
    const HloInstruction& instr, const se::DeviceDescription& device_info) {
  if (!instr.IsFusible() || instr.IsCustomFusion() ||
      instr.opcode() == HloOpcode::kScatter) {
    return false;
  }
  if (instr.opcode() == HloOpcode::kFusion &&
      (instr.IsOutputFusion() || IsInputFusibleScatter(instr))) {
    return false;
  }
  return IsInputFusibleReduction(instr, device_info) ||
         IsInputFusibleTranspose(instr) || instr.IsLoopFusion() ||
         (IsElementwiseInKernels(instr) && instr.operand_count() > 0);
}

}  // namespace gpu
}  // namespace xla
