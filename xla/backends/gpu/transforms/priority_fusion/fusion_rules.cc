#include "xla/backends/gpu/transforms/priority_fusion/fusion_rules.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xla/backends/gpu/lowering/check_lowered.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/in_place_fusion.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;
using EmitterKind = HloFusionAnalysis::EmitterFusionKind;

// Reductions of fewer elements are loops that cost little.
constexpr double kLongReduction = 16;

bool IsFusibleOpcode(HloOpcode opcode) {
  return MovesElements(opcode) || opcode == HloOpcode::kIota ||
         opcode == HloOpcode::kReduce || opcode == HloOpcode::kScatter;
}

double ElementsOf(const Shape& shape) {
  const bool tuple = shape.IsTuple() && !shape.tuple_shapes().empty();
  const Shape& array = tuple ? shape.tuple_shapes(0) : shape;
  return array.IsArray() ? ShapeUtil::ElementsIn(array) : 0;
}

bool IsColumnReduction(const HloInstruction& kernel,
                       const DeviceDescription& device) {
  const HloFusionAnalysis analysis = HloFusionAnalysis::Create(kernel, device);
  const HloInstruction* hero = analysis.FindHeroReduction();
  if (hero == nullptr) return false;
  const std::optional<ReductionDimensions> dimensions =
      ReductionDimensionsOf(*hero);
  return dimensions.has_value() && !dimensions->is_row_reduction;
}

}  // namespace

bool IsTransparentBitcast(const HloInstruction& instruction) {
  return instruction.IsEffectiveBitcast() && KeepsElementWidth(instruction);
}

void FusionRules::Note(const HloInstruction& hlo, Contents* contents) {
  switch (hlo.opcode()) {
    case HloOpcode::kReduce:
      contents->reduce = true;
      contents->long_reduce |=
          ElementsOf(hlo.operand(0)->shape()) >=
          kLongReduction * std::max(ElementsOf(hlo.shape()), 1.0);
      break;
    case HloOpcode::kTranspose:
      contents->transpose = true;
      break;
    case HloOpcode::kConcatenate:
      contents->concatenate = true;
      break;
    case HloOpcode::kScatter:
      contents->scatter = true;
      contents->updates = true;
      break;
    case HloOpcode::kDynamicUpdateSlice:
      contents->updates = true;
      break;
    case HloOpcode::kRng:
      contents->random = true;
      break;
    default:  // No rule asks for it.
      break;
  }
}

const FusionRules::Contents& FusionRules::Get(const HloInstruction& kernel) {
  auto [it, is_new] = contents_.try_emplace(&kernel);
  if (!is_new) return it->second;
  if (kernel.opcode() != HloOpcode::kFusion) {
    Note(kernel, &it->second);
  } else {
    for (const HloInstruction* inner : kernel.fused_instructions()) {
      Note(*inner, &it->second);
    }
  }
  return it->second;
}

FusionRules::Contents FusionRules::ContentsOfPair(
    const HloInstruction& producer, const HloInstruction& consumer) {
  Contents contents = Get(producer);
  const Contents& outer = Get(consumer);
  contents.reduce |= outer.reduce;
  contents.long_reduce |= outer.long_reduce;
  contents.transpose |= outer.transpose;
  contents.concatenate |= outer.concatenate;
  contents.scatter |= outer.scatter;
  contents.updates |= outer.updates;
  contents.random |= outer.random;
  return contents;
}

void FusionRules::Invalidate(const HloInstruction& instruction) {
  contents_.erase(&instruction);
  budget_cache_.Invalidate(&instruction);
  tiled_.Invalidate(instruction);
}

FusionDecision FusionRules::IsOfFusibleKind(const HloInstruction& hlo) const {
  if (hlo.opcode() == HloOpcode::kFusion) {
    if (hlo.IsCustomFusion() && !tiled_.IsTiled(hlo)) {
      return FusionDecision::Forbid("a custom fusion does not fuse");
    }
    return FusionDecision::Allow();
  }
  const bool fusible =
      hlo.opcode() == HloOpcode::kBitcast
          ? KeepsElementWidth(hlo)
          : IsElementwiseInKernels(hlo) || IsFusibleOpcode(hlo.opcode());
  if (!fusible || !hlo.IsFusible()) {
    return FusionDecision::Forbid(
        absl::StrCat(HloOpcodeString(hlo.opcode()), " does not fuse"));
  }
  if (tiled_.options().kernels_for == KernelTarget::kOwn) {
    // It would leave the whole kernel without a lowering.
    const absl::Status lowered = CheckIsLowered(hlo);
    if (!lowered.ok()) return FusionDecision::Forbid(lowered.message());
  }
  return FusionDecision::Allow();
}

FusionDecision FusionRules::CanBeProducer(const HloInstruction& producer) {
  if (producer.opcode() == HloOpcode::kConstant) {
    return FusionDecision::Forbid("constants come last");
  }
  RETURN_IF_NOT_FUSIBLE(IsOfFusibleKind(producer));
  if (producer.IsRoot()) {
    return FusionDecision::Forbid("the producer is the root");
  }
  if (!producer.shape().IsArray()) {
    return FusionDecision::Forbid("the producer has several results");
  }
  if (Get(producer).random) {
    return FusionDecision::Forbid(
        "the producer draws random numbers, which are drawn once");
  }
  if (producer.HasControlDependencies()) {
    return FusionDecision::Forbid("the producer has control dependencies");
  }
  if (banned_.contains(producer.name())) {
    return FusionDecision::Forbid("fusing it exceeds the memory limit");
  }
  return FusionDecision::Allow();
}

FusionDecision FusionRules::CanBeConsumer(const HloInstruction& consumer) {
  RETURN_IF_NOT_FUSIBLE(IsOfFusibleKind(consumer));
  if (IsTransparentBitcast(consumer)) {
    return FusionDecision::Forbid("the consumer is a bitcast");
  }
  if (banned_.contains(consumer.name())) {
    return FusionDecision::Forbid("fusing it exceeds the memory limit");
  }
  return FusionDecision::Allow();
}

// The checks are ordered by cost: flags that are kept per kernel first, then
// analyses of the pair, then resource limits, and the in-place analysis last. A
// pair that is not forbidden here is still subject to the cost model.
FusionDecision FusionRules::CanFuse(const HloInstruction& producer,
                                    const HloInstruction& consumer) {
  RETURN_IF_NOT_FUSIBLE(CanBeConsumer(consumer));
  if (tiled_.IsTiledPair(producer, consumer)) {
    return tiled_.CanTile(producer, consumer, /*keep_output=*/false);
  }
  // By value: the second Get may move the first one's.
  const Contents inner = Get(producer);
  const Contents outer = Get(consumer);
  if (inner.scatter || outer.scatter) {
    RETURN_IF_NOT_FUSIBLE(CanEmitInputFusedScatter(producer, consumer));
  }
  if (inner.long_reduce && outer.long_reduce) {
    return FusionDecision::Forbid(
        "both reduce 16 elements or more, and one reduction feeds the other");
  }
  if (inner.reduce) {
    const HloFusionAnalysis alone =
        HloFusionAnalysis::Create(producer, device_);
    if (alone.emitter_fusion_kind() == EmitterKind::kReduction) {
      const HloFusionAnalysis fused =
          HloFusionAnalysis::Create(producer, consumer, device_);
      if (fused.emitter_fusion_kind() == EmitterKind::kLoop) {
        return FusionDecision::Forbid("the reduction would become a loop");
      }
      if (inner.long_reduce && outer.reduce &&
          fused.emitter_fusion_kind() == EmitterKind::kReduction &&
          fused.FindHeroReduction() != alone.FindHeroReduction()) {
        return FusionDecision::Forbid(
            "the reduction would become a loop in each thread of another");
      }
    }
  }
  if (inner.concatenate && outer.reduce &&
      IsColumnReduction(consumer, device_)) {
    return FusionDecision::Forbid(
        "a concatenation would feed a column reduction");
  }
  RETURN_IF_NOT_FUSIBLE(FusionFitsInBudget(consumer, producer, device_,
                                           /*is_consumer_producer_fusion=*/true,
                                           &budget_cache_));
  const double ir_size = model_.FusedIrSize(producer, consumer);
  if (ir_size > GpuPerformanceModel::kMaxIrSize) {
    return FusionDecision::Forbid(
        absl::StrFormat("too large: %.0f > %.0f instructions emitted", ir_size,
                        GpuPerformanceModel::kMaxIrSize));
  }
  if (outer.updates) {
    RETURN_IF_NOT_FUSIBLE(
        ShouldFuseInPlaceOp(&producer, &consumer, &alias_info_));
  }
  return FusionDecision::Allow();
}

FusionDecision FusionRules::CanFuseIntoMultiOutput(
    const HloInstruction& producer, const HloInstruction& consumer) {
  RETURN_IF_NOT_FUSIBLE(CanBeConsumer(consumer));
  const TiledFusionOptions& options = tiled_.options();
  if (!options.multi_output ||
      (!options.heroless && !tiled_.IsTiled(producer) &&
       !tiled_.IsTiled(consumer))) {
    return FusionDecision::Forbid("the producer would not stay a result");
  }
  return tiled_.CanTile(producer, consumer, /*keep_output=*/true);
}

HloInstruction::FusionKind FusionRules::ChooseKind(
    const HloInstruction& producer, const HloInstruction& consumer) {
  if (tiled_.IsTiledPair(producer, consumer)) {
    return HloInstruction::FusionKind::kCustom;
  }
  const Contents inner = Get(producer);
  const Contents outer = Get(consumer);
  if (!inner.needs_analysis() && !outer.needs_analysis()) {
    return HloInstruction::FusionKind::kLoop;
  }
  switch (HloFusionAnalysis::Create(producer, consumer, device_)
              .emitter_fusion_kind()) {
    case EmitterKind::kLoop:
      return HloInstruction::FusionKind::kLoop;
    case EmitterKind::kReduction:
    case EmitterKind::kTranspose:
    case EmitterKind::kConcatenate:
    case EmitterKind::kScatter:
      return HloInstruction::FusionKind::kInput;
    case EmitterKind::kCustomFusion:
    case EmitterKind::kTriton:
    case EmitterKind::kCuDnn:
    case EmitterKind::kSort:
      return HloInstruction::FusionKind::kCustom;
  }
  return HloInstruction::FusionKind::kLoop;
}

}  // namespace xla::gpu
