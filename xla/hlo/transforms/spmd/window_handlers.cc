#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/cumulative_windows.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/transforms/spmd/window_shards.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/literal.h"
#include "xla/shape_util.h"
#include "xla/util.h"

// Slice, pad, reduce-window, reverse: a shard of the result reads an interval
// of the operand along each dimension.

namespace xla::spmd {
namespace {

// Along which shards may stay where they are, although windows reach through
// all of them.
std::vector<CumulativeWindow> CumulativeCuts(const HloInstruction& hlo,
                                             const HloSharding& sharding) {
  std::vector<CumulativeWindow> result;
  const Shape& whole = hlo.operand(0)->shape();
  for (int64_t d = 0; d < whole.dimensions().size(); ++d) {
    const int64_t size = whole.dimensions(d);
    const auto window = CumulativeWindowOf(hlo.window().dimensions(d), d, size);
    const int64_t shards = ShardCountAtDim(sharding, d);
    if (window.has_value() && shards > 1 && CeilOfRatio(size, shards) > 1) {
      result.push_back(*window);
    }
  }
  return result;
}

const Shape& ResultShape(const HloInstruction& hlo, int64_t i) {
  return hlo.shape().IsTuple() ? hlo.shape().tuple_shapes(i) : hlo.shape();
}

// The sharding that the users of result `i` get.
HloSharding WantedSharding(const HloInstruction& hlo, int64_t i) {
  const HloSharding& sharding = hlo.sharding().IsTuple()
                                    ? hlo.sharding().tuple_elements()[i]
                                    : hlo.sharding();
  // What is whole on all devices is so on one.
  return sharding.IsSingleDeviceLeaf() ? HloSharding::Replicate() : sharding;
}

// What a device receives where windows are computed under `sharding`; nullopt
// if shardings of operands or results have no price.
std::optional<double> BytesUnder(const HloInstruction& hlo,
                                 absl::Span<const HloSharding> operands,
                                 absl::Span<const WindowDim> windows,
                                 const HloSharding& sharding) {
  double bytes = 0;
  for (int64_t i = 0; i < operands.size(); ++i) {
    const HloSharding wanted = WantedSharding(hlo, i);
    if (!IsPriced(operands[i]) || !IsPriced(wanted)) return std::nullopt;
    const Shape& operand = hlo.operand(i)->shape();
    const Shape& result = ResultShape(hlo, i);
    bytes += BytesOfWindows(operand, operands[i], sharding, result, windows) +
             RouteBytes(result, sharding, wanted);
  }
  // To reduce windows on all devices is work.
  if (hlo.opcode() != HloOpcode::kReduceWindow) {
    bytes -= BytesSavedByTuples(hlo, WantedSharding(hlo, 0), sharding);
  }
  return bytes;
}

std::vector<int64_t> MovedDims(absl::Span<const WindowDim> windows) {
  std::vector<int64_t> moved;
  for (int64_t d = 0; d < windows.size(); ++d) {
    if (windows[d].moves) moved.push_back(d);
  }
  return moved;
}

// The first of the operands' shardings that cuts something; null if none does.
const HloSharding* FirstCut(absl::Span<const HloSharding> operands) {
  const auto it = absl::c_find_if(operands, [](const HloSharding& sharding) {
    return sharding.IsTiledLeaf();
  });
  return it == operands.end() ? nullptr : &*it;
}

// Where windows are computed so that fewest bytes move, with what neighbors
// exchange: under the sharding of the first operand that is cut, after which
// results move, too, or under that of the result; without cuts along dimensions
// that windows move along, or without any.
//
//   f32[16,1] {devices=[2,1]<=[2]}, padding 0_0x0_31 → {replicated}
//       → gathered and then padded: 8 elements instead of 256
HloSharding CheapestShardingOfWindows(const HloInstruction& hlo,
                                      absl::Span<const HloSharding> operands,
                                      absl::Span<const WindowDim> windows) {
  const Shape& whole = hlo.operand(0)->shape();
  const Shape& result = ResultShape(hlo, 0);
  const HloSharding wanted = WantedSharding(hlo, 0);
  HloSharding best =
      ShardingOfWindows(*FirstCut(operands), whole, result, windows);
  const std::vector<int64_t> moved = MovedDims(windows);
  std::optional<double> fewest = BytesUnder(hlo, operands, windows, best);
  if (!fewest.has_value() || *fewest == 0) return best;
  for (const HloSharding& sharding :
       {ShardingOfWindows(wanted, whole, result, windows),
        ReplicatedOnDims(wanted, moved), ReplicatedOnDims(best, moved),
        HloSharding::Replicate()}) {
    const std::optional<double> sum =
        BytesUnder(hlo, operands, windows, sharding);
    if (*sum < *fewest) {
      best = sharding;
      fewest = sum;
    }
  }
  return best;
}

// What a device receives where the shards under `stays` exchange totals along
// the dimensions of `cuts`.
double BytesOfTotals(const HloInstruction& hlo, int64_t inputs,
                     absl::Span<const CumulativeWindow> cuts,
                     const HloSharding& stays) {
  double bytes = 0;
  for (int64_t i = 0; i < inputs; ++i) {
    for (const CumulativeWindow& cut : cuts) {
      Shape totals = MakePartitionedShape(hlo.operand(i)->shape(), stays);
      totals.set_dimensions(cut.dim, 1);
      bytes += ShapeSizeInBytes(totals) * (ShardCountAtDim(stays, cut.dim) - 1);
    }
  }
  return bytes;
}

// The work of one device that reduces all windows of the whole.
double WorkOfWindows(const HloInstruction& hlo, int64_t inputs) {
  double flops = 0;
  for (int64_t i = 0; i < inputs; ++i) {
    flops += static_cast<double>(ShapeUtil::ElementsIn(ResultShape(hlo, i)));
  }
  const Shape& whole = hlo.operand(0)->shape();
  for (int64_t d = 0; d < whole.dimensions().size(); ++d) {
    flops *= std::min(hlo.window().dimensions(d).size(), whole.dimensions(d));
  }
  return WorkOfFlops(flops);
}

// The sharding under which windows are computed. Where bytes and work are no
// more with totals, the shards along the dimensions of `cuts` stay, and
// `windows` do not move there; else that is `gathered`, and no `cuts` are left.
HloSharding WithTotalsIfTheyPay(const HloInstruction& hlo,
                                absl::Span<const HloSharding> operands,
                                const HloSharding& gathered,
                                std::vector<CumulativeWindow>* cuts,
                                std::vector<WindowDim>* windows) {
  if (cuts->empty()) return gathered;
  std::vector<WindowDim> in_place = *windows;
  for (const CumulativeWindow& cut : *cuts) in_place[cut.dim].moves = false;
  HloSharding stays =
      ShardingOfWindows(*FirstCut(operands), hlo.operand(0)->shape(),
                        ResultShape(hlo, 0), in_place);
  const std::optional<double> bytes =
      BytesUnder(hlo, operands, in_place, stays);
  if (bytes.has_value()) {
    const double work = WorkOfWindows(hlo, operands.size());
    if (*bytes + BytesOfTotals(hlo, operands.size(), *cuts, stays) +
            work / stays.NumTiles() >
        *BytesUnder(hlo, operands, *windows, gathered) +
            work / gathered.NumTiles()) {
      cuts->clear();
      return gathered;
    }
  }
  *windows = std::move(in_place);
  return stays;
}

// The reversed dimensions along which shards are uneven.
std::vector<int64_t> UnevenReversedDims(const HloInstruction& reverse,
                                        const HloSharding& sharding) {
  std::vector<int64_t> uneven;
  for (int64_t d : reverse.dimensions()) {
    if (reverse.shape().dimensions(d) % ShardCountAtDim(sharding, d) != 0) {
      uneven.push_back(d);
    }
  }
  return uneven;
}

// Whether the padding value occurs in the result.
bool AddsElements(const PaddingConfig& padding) {
  return absl::c_any_of(padding.dimensions(), [](const auto& dim) {
    return dim.edge_padding_low() > 0 || dim.edge_padding_high() > 0 ||
           dim.interior_padding() > 0;
  });
}

}  // namespace

// A slice as windows of one element: result i reads element start + i * stride,
// which is a negative padding of `start`. What FetchWindows returns begins with
// the element that the first result of the shard reads, so along dimensions
// that are cut the local slice starts at 0. Dimensions that are whole on every
// device are sliced where they were.
absl::Status SpmdPartitioningVisitor::HandleSlice(HloInstruction* hlo) {
  if (HandledOnDeviceOfOperands(hlo)) return absl::OkStatus();
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
      CheapestShardingOfWindows(*hlo, {operand.sharding()}, windows);
  HloInstruction* local = FetchWindows(
      operand.Reshard(SourceOfWindows(whole, operand.sharding(), sharding,
                                      hlo->shape(), windows)),
      sharding, hlo->shape(), windows, nullptr);
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

// A pad as windows of one element over a dilated base. The shards of a cut
// dimension begin at different places between the elements and in the padding,
// but run one program: each pads by the amounts of ShardWindows, which suffice
// for all of them, and CutWindowResult takes its part of that. Where no element
// of the result is padding, a zero stands in for the padding value, which need
// not be sent then.
absl::Status SpmdPartitioningVisitor::HandlePad(HloInstruction* hlo) {
  PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
  if (!operand.sharding().IsTiledLeaf()) return DefaultAction(hlo);
  const Shape& whole = hlo->operand(0)->shape();
  const int64_t rank = whole.dimensions().size();
  std::vector<WindowDim> windows(rank);
  for (int64_t d = 0; d < rank; ++d) {
    const auto& padding = hlo->padding_config().dimensions(d);
    windows[d].low = padding.edge_padding_low();
    windows[d].base_dilation = padding.interior_padding() + 1;
    windows[d].moves = padding.edge_padding_low() != 0 ||
                       padding.edge_padding_high() != 0 ||
                       padding.interior_padding() != 0;
  }
  const HloSharding sharding =
      CheapestShardingOfWindows(*hlo, {operand.sharding()}, windows);
  HloInstruction* pad_value = AddsElements(hlo->padding_config())
                                  ? ReplicatedOperand(hlo, 1)
                                  : CreateZero(hlo->operand(1)->shape(), &b_);
  HloInstruction* local = FetchWindows(
      operand.Reshard(SourceOfWindows(whole, operand.sharding(), sharding,
                                      hlo->shape(), windows)),
      sharding, hlo->shape(), windows, pad_value);
  PaddingConfig config = hlo->padding_config();
  Shape shape = MakePartitionedShape(hlo->shape(), sharding);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t shards = ShardCountAtDim(sharding, d);
    if (!windows[d].moves || shards == 1) continue;
    const WindowShards shard =
        ShardWindows(windows[d], hlo->shape().dimensions(d), shards);
    config.mutable_dimensions(d)->set_edge_padding_low(shard.padding_low);
    config.mutable_dimensions(d)->set_edge_padding_high(shard.padding_high);
    shape.set_dimensions(d, shard.result_size);
  }
  local = b_.AddInstruction(
      HloInstruction::CreatePad(shape, local, pad_value, config));
  Finish(
      hlo,
      CutWindowResult(local, sharding, hlo->shape(), windows, operand.state()),
      sharding);
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleReduceWindow(HloInstruction* hlo) {
  if (HandledOnDeviceOfOperands(hlo)) return absl::OkStatus();
  const int64_t inputs = hlo->operand_count() / 2;
  std::vector<HloSharding> shardings;
  for (int64_t i = 0; i < inputs; ++i) {
    const HloSharding& present = GetPartitionedHlo(hlo->operand(i)).sharding();
    // What one device has goes to all of them in any case.
    shardings.push_back(present.IsSingleDeviceLeaf() ? HloSharding::Replicate()
                                                     : present);
  }
  const HloSharding* first_cut = FirstCut(shardings);
  if (first_cut == nullptr) return DefaultAction(hlo);
  const Shape& whole = hlo->operand(0)->shape();
  const Shape& result = ResultShape(*hlo, 0);
  const int64_t rank = whole.dimensions().size();
  std::vector<WindowDim> windows(rank);
  for (int64_t d = 0; d < rank; ++d) {
    windows[d] = WindowDimOf(hlo->window().dimensions(d));
  }
  // Elements outside of the whole are in the windows of shards.
  const std::optional<std::vector<Literal>> neutral = NeutralInputs(*hlo);
  std::vector<CumulativeWindow> cumulative;
  if (neutral.has_value()) {
    cumulative = CumulativeCuts(*hlo, *first_cut);
  }
  HloSharding sharding =
      neutral.has_value()
          ? CheapestShardingOfWindows(*hlo, shardings, windows)
          : ShardingOfWindows(*first_cut, whole, result, windows);
  sharding =
      WithTotalsIfTheyPay(*hlo, shardings, sharding, &cumulative, &windows);
  if (!neutral.has_value()) {
    sharding = ReplicatedOnDims(sharding, MovedDims(windows));
  }
  Window window = hlo->window();
  std::vector<int64_t> sizes(result.dimensions().begin(),
                             result.dimensions().end());
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t shards = ShardCountAtDim(sharding, d);
    sizes[d] = CeilOfRatio(sizes[d], shards);
    if (!windows[d].moves || shards == 1) continue;
    const WindowShards shard =
        ShardWindows(windows[d], result.dimensions(d), shards);
    window.mutable_dimensions(d)->set_padding_low(shard.padding_low);
    window.mutable_dimensions(d)->set_padding_high(shard.padding_high);
    sizes[d] = shard.result_size;
  }
  std::vector<int64_t> not_cumulative;
  for (int64_t d = 0; d < rank; ++d) {
    if (absl::c_none_of(cumulative, [d](const CumulativeWindow& cut) {
          return cut.dim == d;
        })) {
      not_cumulative.push_back(d);
    }
  }
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < inputs; ++i) {
    PartitionedHlo moved =
        GetPartitionedHlo(hlo->operand(i))
            .Reshard(SourceOfWindows(whole, shardings[i], sharding, result,
                                     windows));
    HloInstruction* outside = neutral.has_value()
                                  ? CreateScalar((*neutral)[i].Clone(), &b_)
                                  : nullptr;
    if (!cumulative.empty()) {
      moved = moved.PadWithValue(outside, {}, not_cumulative);
    }
    operands.push_back(FetchWindows(moved, sharding, result, windows, outside));
  }
  for (const CumulativeWindow& cut : cumulative) {
    operands = WithTotals(operands, *neutral, hlo->to_apply(), cut, sharding,
                          MakePartitioningState());
    SetCumulativeWindow(sizes[cut.dim], cut.from_end,
                        window.mutable_dimensions(cut.dim));
    ++sizes[cut.dim];
  }
  for (int64_t i = 0; i < inputs; ++i) {
    operands.push_back(ReplicatedOperand(hlo, inputs + i));
  }
  Shape shape = hlo->shape();
  ShapeUtil::ForEachMutableLeafShape(&shape,
                                     [&](Shape* leaf, const ShapeIndex&) {
                                       for (int64_t d = 0; d < rank; ++d)
                                         leaf->set_dimensions(d, sizes[d]);
                                     });
  HloInstruction* local =
      b_.AddInstruction(hlo->CloneWithNewOperands(shape, operands));
  local->set_window(window);
  const auto cut = [&](HloInstruction* array) {
    for (const auto& [dim, from_end] : cumulative) {
      const int64_t size = sizes[dim] - 1;
      array = SliceDim(array, dim, from_end ? 0 : 1, from_end ? size : size + 1,
                       &b_);
    }
    return CutWindowResult(array, sharding, result, windows,
                           MakePartitioningState());
  };
  if (!hlo->shape().IsTuple()) {
    Finish(hlo, cut(local), sharding);
    return absl::OkStatus();
  }
  std::vector<HloInstruction*> results;
  for (int64_t i = 0; i < inputs; ++i) {
    results.push_back(
        cut(b_.AddInstruction(HloInstruction::CreateGetTupleElement(
            shape.tuple_shapes(i), local, i))));
  }
  Finish(hlo, b_.AddInstruction(HloInstruction::CreateTuple(results)),
         HloSharding::SingleTuple(hlo->shape(), sharding));
  return absl::OkStatus();
}

// Shards change places. Padding would come to stand at the low end of those
// that are uneven, whose neighbors send elements instead.
absl::Status SpmdPartitioningVisitor::HandleReverse(HloInstruction* hlo) {
  const HloSharding& cut = hlo->sharding();
  if (!cut.IsTiledLeaf()) return DefaultAction(hlo);
  const HloSharding reversed =
      hlo_sharding_util::ReverseSharding(cut, hlo->dimensions());
  const std::vector<int64_t> uneven = UnevenReversedDims(*hlo, cut);
  const PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
  const HloSharding& present = operand.sharding();
  if (!uneven.empty() && IsPriced(present) &&
      UnevenReversedDims(*hlo, present).empty()) {
    // What the operand has needs no neighbors; the result moves.
    Finish(hlo,
           b_.AddInstruction(hlo->CloneWithNewOperands(operand.hlo()->shape(),
                                                       {operand.hlo()})),
           hlo_sharding_util::ReverseSharding(present, hlo->dimensions()));
    return absl::OkStatus();
  }
  // Devices may exchange the very elements where they are.
  const bool in_place = uneven.size() == hlo->dimensions().size() &&
                        present != reversed &&
                        ReshardBytes(hlo->shape(), present, cut) == 0;
  const PartitionedHlo moved = operand.Reshard(in_place ? cut : reversed);
  HloInstruction* local = moved.hlo();
  for (int64_t d : uneven) {
    const int64_t n = hlo->shape().dimensions(d);
    const int64_t shards = ShardCountAtDim(cut, d);
    ShardIntervals intervals;
    intervals.size = CeilOfRatio(n, shards);
    for (int64_t i = 0; i < shards; ++i) {
      const int64_t ordinal = in_place ? i : shards - 1 - i;
      intervals.start.push_back(n - (ordinal + 1) * intervals.size);
      intervals.needed.push_back(intervals.size);
    }
    local = ExchangeIntervals(local, moved.sharding(), d, n, intervals, nullptr,
                              operand.state());
  }
  Finish(hlo,
         b_.AddInstruction(hlo->CloneWithNewOperands(
             MakePartitionedShape(hlo->shape(), cut), {local})),
         cut);
  return absl::OkStatus();
}

}  // namespace xla::spmd
