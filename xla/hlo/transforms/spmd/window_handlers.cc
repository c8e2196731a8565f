#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/window_util.h"

// Slice, pad, reduce-window, concatenate, reverse: a shard of the result reads
// an interval of the operand along each dimension.

namespace xla::spmd {
namespace {

// Along one dimension, result element r reads operand elements
// [r * stride - low, r * stride - low + width). `moves`: not just element r.
struct WindowDim {
  bool moves = false;
  bool exchangeable = true;
  int64_t low = 0;
  int64_t stride = 1;
  int64_t width = 1;
};

ShardIntervals IntervalsOf(const WindowDim& window, int64_t result_size,
                           int64_t shards) {
  const int64_t shard_size = CeilOfRatio(result_size, shards);
  ShardIntervals intervals;
  intervals.size = (shard_size - 1) * window.stride + window.width;
  for (int64_t i = 0; i < shards; ++i) {
    intervals.start.push_back(i * shard_size * window.stride - window.low);
    const int64_t results =
        std::clamp<int64_t>(result_size - i * shard_size, 0, shard_size);
    intervals.needed.push_back(
        results == 0 ? 0 : (results - 1) * window.stride + window.width);
  }
  return intervals;
}

// The sharding of operand and result: that of the operand if it is cut, without
// the cuts along dimensions whose intervals are better gathered.
HloSharding ShardingOfWindows(const HloSharding& operand_sharding,
                              const Shape& operand, const Shape& result,
                              absl::Span<const WindowDim> windows) {
  std::vector<int64_t> gathered;
  for (size_t d = 0; d < windows.size(); ++d) {
    const int64_t shards = ShardCountAtDim(operand_sharding, d);
    if (!windows[d].moves || shards == 1) continue;
    if (!windows[d].exchangeable || result.dimensions(d) == 0 ||
        !CanFetchIntervals(
            operand.dimensions(d), shards,
            IntervalsOf(windows[d], result.dimensions(d), shards))) {
      gathered.push_back(d);
    }
  }
  return ReplicatedOnDims(operand_sharding, gathered);
}

// The operand with the intervals along dimensions that move and are cut.
HloInstruction* FetchWindows(const PartitionedHlo& operand, const Shape& result,
                             absl::Span<const WindowDim> windows,
                             HloInstruction* pad_value) {
  HloInstruction* local = operand.hlo();
  for (size_t d = 0; d < windows.size(); ++d) {
    const int64_t shards = ShardCountAtDim(operand.sharding(), d);
    if (!windows[d].moves || shards == 1) continue;
    local = *FetchIntervals(
        local, operand.sharding(), d, operand.base_shape().dimensions(d),
        IntervalsOf(windows[d], result.dimensions(d), shards), pad_value,
        operand.state());
  }
  return local;
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleSlice(HloInstruction* hlo) {
  PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
  if (!operand.sharding().IsTiledLeaf()) return DefaultAction(hlo);
  const Shape& whole = hlo->operand(0)->shape();
  const int64_t rank = whole.dimensions().size();
  std::vector<WindowDim> windows(rank);
  for (int64_t d = 0; d < rank; ++d) {
    windows[d].low = -hlo->slice_starts(d);
    windows[d].stride = hlo->slice_strides(d);
    windows[d].moves = hlo->shape().dimensions(d) != whole.dimensions(d);
  }
  const HloSharding sharding =
      ShardingOfWindows(operand.sharding(), whole, hlo->shape(), windows);
  const PartitionedHlo moved = operand.Reshard(sharding);
  HloInstruction* local = FetchWindows(moved, hlo->shape(), windows, nullptr);
  std::vector<int64_t> starts, limits, strides;
  for (int64_t d = 0; d < rank; ++d) {
    const bool whole_dim = ShardCountAtDim(sharding, d) == 1;
    starts.push_back(whole_dim ? hlo->slice_starts(d) : 0);
    limits.push_back(whole_dim ? hlo->slice_limits(d)
                               : local->shape().dimensions(d));
    strides.push_back(hlo->slice_strides(d));
  }
  Finish(hlo,
         b_.AddInstruction(HloInstruction::CreateSlice(
             MakePartitionedShape(hlo->shape(), sharding), local, starts,
             limits, strides)),
         sharding);
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandlePad(HloInstruction* hlo) {
  PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
  if (!operand.sharding().IsTiledLeaf()) return DefaultAction(hlo);
  const Shape& whole = hlo->operand(0)->shape();
  const int64_t rank = whole.dimensions().size();
  std::vector<WindowDim> windows(rank);
  for (int64_t d = 0; d < rank; ++d) {
    const auto& padding = hlo->padding_config().dimensions(d);
    windows[d].low = padding.edge_padding_low();
    windows[d].exchangeable = padding.interior_padding() == 0;
    windows[d].moves = padding.edge_padding_low() != 0 ||
                       padding.edge_padding_high() != 0 ||
                       padding.interior_padding() != 0;
  }
  const HloSharding sharding =
      ShardingOfWindows(operand.sharding(), whole, hlo->shape(), windows);
  const PartitionedHlo moved = operand.Reshard(sharding);
  HloInstruction* pad_value = ReplicatedOperand(hlo, 1);
  HloInstruction* local = FetchWindows(moved, hlo->shape(), windows, pad_value);
  PaddingConfig config = hlo->padding_config();
  for (int64_t d = 0; d < rank; ++d) {
    if (ShardCountAtDim(sharding, d) == 1) continue;
    config.mutable_dimensions(d)->set_edge_padding_low(0);
    config.mutable_dimensions(d)->set_edge_padding_high(0);
  }
  Finish(hlo,
         b_.AddInstruction(HloInstruction::CreatePad(
             MakePartitionedShape(hlo->shape(), sharding), local, pad_value,
             config)),
         sharding);
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleReduceWindow(HloInstruction* hlo) {
  PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
  if (!operand.sharding().IsTiledLeaf()) return DefaultAction(hlo);
  const Shape& whole = hlo->operand(0)->shape();
  const bool tuple = hlo->shape().IsTuple();
  const Shape& result = tuple ? hlo->shape().tuple_shapes(0) : hlo->shape();
  const int64_t rank = whole.dimensions().size();
  std::vector<WindowDim> windows(rank);
  for (int64_t d = 0; d < rank; ++d) {
    const WindowDimension& dim = hlo->window().dimensions(d);
    windows[d].low = dim.padding_low();
    windows[d].stride = dim.stride();
    windows[d].width =
        window_util::DilatedBound(dim.size(), dim.window_dilation());
    windows[d].exchangeable = dim.base_dilation() == 1;
    windows[d].moves = !window_util::IsTrivialWindowDimension(dim);
  }
  const HloSharding sharding =
      ShardingOfWindows(operand.sharding(), whole, result, windows);
  Window window = hlo->window();
  for (int64_t d = 0; d < rank; ++d) {
    if (!windows[d].moves || ShardCountAtDim(sharding, d) == 1) continue;
    window.mutable_dimensions(d)->set_padding_low(0);
    window.mutable_dimensions(d)->set_padding_high(0);
  }
  const int64_t inputs = hlo->operand_count() / 2;
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < inputs; ++i) {
    const PartitionedHlo moved =
        GetPartitionedHlo(hlo->operand(i)).Reshard(sharding);
    operands.push_back(FetchWindows(moved, result, windows,
                                    ReplicatedOperand(hlo, inputs + i)));
  }
  for (int64_t i = 0; i < inputs; ++i) {
    operands.push_back(ReplicatedOperand(hlo, inputs + i));
  }
  const HloSharding result_sharding =
      HloSharding::Single(hlo->shape(), sharding);
  HloInstruction* local = b_.AddInstruction(hlo->CloneWithNewOperands(
      MakePartitionedShape(hlo->shape(), result_sharding), operands));
  local->set_window(window);
  Finish(hlo, local, result_sharding);
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleConcatenate(HloInstruction* hlo) {
  const int64_t dim = hlo->concatenate_dimension();
  const HloSharding* cut = &hlo->sharding();
  for (const HloInstruction* operand : hlo->operands()) {
    if (cut->IsTiledLeaf()) break;
    cut = &GetPartitionedHlo(operand).sharding();
  }
  if (!cut->IsTiledLeaf()) return DefaultAction(hlo);
  const HloSharding sharding = MoveTilesOff(hlo->shape(), *cut, {dim});
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    operands.push_back(Operand(hlo, i, sharding));
  }
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(
             MakePartitionedShape(hlo->shape(), sharding), operands)),
         sharding);
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleReverse(HloInstruction* hlo) {
  const HloSharding& cut = hlo->sharding();
  if (!cut.IsTiledLeaf()) return DefaultAction(hlo);
  // Padding would come to stand at the low end.
  std::vector<int64_t> uneven, reversed;
  for (int64_t d : hlo->dimensions()) {
    const int64_t shards = ShardCountAtDim(cut, d);
    (hlo->shape().dimensions(d) % shards == 0 ? reversed : uneven).push_back(d);
  }
  const HloSharding sharding =
      MoveTilesOff(hlo->shape(), cut, uneven, reversed);
  HloInstruction* operand = Operand(
      hlo, 0, hlo_sharding_util::ReverseSharding(sharding, hlo->dimensions()));
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(
             MakePartitionedShape(hlo->shape(), sharding), {operand})),
         sharding);
  return absl::OkStatus();
}

namespace {

// A reshape under these shardings of operand and result is local.
struct ReshapeWay {
  HloSharding operand, result;
};

void AddReshapeWay(const Shape& from, const Shape& to,
                   const std::optional<HloSharding>& operand,
                   const std::optional<HloSharding>& result,
                   std::vector<ReshapeWay>* ways) {
  if (!operand.has_value() || !result.has_value()) return;
  if (!operand->IsTiledLeaf() || !result->IsTiledLeaf()) return;
  // Padding stays where it is only if there is equally much.
  if (ShapeUtil::ElementsIn(MakePartitionedShape(from, *operand)) !=
      ShapeUtil::ElementsIn(MakePartitionedShape(to, *result))) {
    return;
  }
  ways->push_back({*operand, *result});
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleReshape(HloInstruction* hlo) {
  using hlo_sharding_util::PropagateShardingThroughReshape;
  using hlo_sharding_util::ReshapeSharding;
  const Shape& from = hlo->operand(0)->shape();
  const Shape& to = hlo->shape();
  const HloSharding operand = GetPartitionedHlo(hlo->operand(0)).sharding();
  const HloSharding& result = hlo->sharding();
  if (operand.IsSingleDeviceLeaf() || result.IsSingleDeviceLeaf()) {
    return DefaultAction(hlo);
  }
  std::vector<ReshapeWay> ways;
  if (result.IsTiledLeaf()) {
    AddReshapeWay(from, to, ReshapeSharding(to, from, result), result, &ways);
    const HloSharding back = PropagateShardingThroughReshape(to, from, result);
    AddReshapeWay(from, to, back, ReshapeSharding(from, to, back), &ways);
  }
  if (operand.IsTiledLeaf()) {
    AddReshapeWay(from, to, operand, ReshapeSharding(from, to, operand), &ways);
    const HloSharding on = PropagateShardingThroughReshape(from, to, operand);
    AddReshapeWay(from, to, ReshapeSharding(to, from, on), on, &ways);
  }
  const ReshapeWay* best = nullptr;
  int64_t best_bytes = 0;
  for (const ReshapeWay& way : ways) {
    const int64_t bytes = ReshardBytes(from, operand, way.operand) +
                          ReshardBytes(to, way.result, result);
    if (best != nullptr && bytes >= best_bytes) continue;
    best = &way;
    best_bytes = bytes;
  }
  if (best == nullptr) return DefaultAction(hlo);
  HloInstruction* local = Operand(hlo, 0, best->operand);
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(
             MakePartitionedShape(to, best->result), {local})),
         best->result);
  return absl::OkStatus();
}

}  // namespace xla::spmd
