#include "xla/backends/gpu/transforms/priority_fusion/tiled_fusions.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/status_macros.h"

namespace xla::gpu {

namespace {

// The estimate for a fusion that turns out to have no tiling: slower than any
// kernel, so that nothing is fused for its sake.
EstimateRunTimeData Forbidding() {
  EstimateRunTimeData data;
  data.exec_time = data.time = absl::Hours(1);
  return data;
}

}  // namespace

bool TiledFusions::IsTiled(const HloInstruction& kernel) const {
  return kernel.IsCustomFusion() && IsGenericTritonFusion(kernel) &&
         !banned_.contains(kernel.name()) &&
         Cast<HloFusionInstruction>(&kernel)
             ->output_to_operand_aliasing()
             .empty();
}

bool TiledFusions::IsTiledPair(const HloInstruction& producer,
                               const HloInstruction& consumer) {
  if (IsTiled(producer) || IsTiled(consumer)) return true;
  return options_.heroless &&
         CanTile(producer, consumer, /*keep_output=*/false).CanFuse();
}

// Rules, prices and the fusion itself ask about one pair in turn, so the last
// one is all that is kept: a tiling is expensive to find, and any fusion makes
// those of other pairs void.
TiledFusions::Pair& TiledFusions::OfPair(const HloInstruction& producer,
                                         const HloInstruction& consumer,
                                         bool keep_output) {
  if (!last_.has_value() || last_->producer != &producer ||
      last_->consumer != &consumer || last_->keep_output != keep_output) {
    last_.emplace();
    last_->producer = &producer;
    last_->consumer = &consumer;
    last_->keep_output = keep_output;
    last_->fusion = HloFusionAdaptor::ForProducerConsumer(&producer, &consumer,
                                                          keep_output);
    last_->possible = tiled_.CanTile(*last_->fusion);
  }
  return *last_;
}

FusionDecision TiledFusions::CanTile(const HloInstruction& producer,
                                     const HloInstruction& consumer,
                                     bool keep_output) {
  RETURN_IF_NOT_FUSIBLE(FusionFitsInParameterLimit(
      consumer, producer, /*is_consumer_producer_fusion=*/!keep_output));
  const absl::Status& possible =
      OfPair(producer, consumer, keep_output).possible;
  return possible.ok() ? FusionDecision::Allow()
                       : FusionDecision::Forbid(possible.message());
}

EstimateRunTimeData TiledFusions::EstimateRunTime(
    const HloInstruction& kernel) {
  if (!IsTiled(kernel)) return emitted_.EstimateRunTime(kernel);
  auto [it, is_new] = times_.try_emplace(&kernel);
  if (is_new) {
    absl::StatusOr<TiledRunTimeData> best = tiled_.TryFindBestTilingForFusion(
        *HloFusionAdaptor::ForInstruction(&kernel));
    // What this model cannot tile was tiled by somebody.
    it->second =
        best.ok() ? best->runtime_data : emitted_.EstimateRunTime(kernel);
  }
  return it->second;
}

EstimateRunTimeData TiledFusions::EstimateFusedTime(
    const HloInstruction& producer, const HloInstruction& consumer) {
  if (!IsTiledPair(producer, consumer)) {
    return emitted_.EstimateFusedTime(producer, consumer);
  }
  return EstimateTiledTime(producer, consumer, /*keep_output=*/false);
}

absl::StatusOr<TiledRunTimeData> TiledFusions::TilingOfPair(
    const HloInstruction& producer, const HloInstruction& consumer,
    bool keep_output) {
  Pair& pair = OfPair(producer, consumer, keep_output);
  if (!pair.best.has_value()) {
    pair.best.emplace(pair.possible.ok()
                          ? tiled_.TryFindBestTilingForFusion(*pair.fusion)
                          : pair.possible);
  }
  return *pair.best;
}

EstimateRunTimeData TiledFusions::EstimateTiledTime(
    const HloInstruction& producer, const HloInstruction& consumer,
    bool keep_output) {
  const absl::StatusOr<TiledRunTimeData> best =
      TilingOfPair(producer, consumer, keep_output);
  return best.ok() ? best->runtime_data : Forbidding();
}

absl::Status TiledFusions::Tile(const TiledRunTimeData& tiling,
                                HloInstruction* fusion) {
  times_[fusion] = tiling.runtime_data;
  return SetBlockLevelParameters(tiling.block_level_parameters, fusion);
}

void TiledFusions::Invalidate(const HloInstruction& kernel) {
  times_.erase(&kernel);
  last_.reset();
}

}  // namespace xla::gpu
