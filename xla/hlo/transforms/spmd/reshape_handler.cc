#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

// Reshapes: local where the shards of operand and result hold the same
// elements, else neighbors exchange what is missing.

namespace xla::spmd {
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
  // Padding stays in place only if both sides have the same amount.
  if (ShapeUtil::ElementsIn(MakePartitionedShape(from, *operand)) !=
      ShapeUtil::ElementsIn(MakePartitionedShape(to, *result))) {
    return;
  }
  ways->push_back({*operand, *result});
}

// Dimensions of operand and result that hold the same elements, as far as each
// group of them is cut along its first dimension at most. Of one, `flat`, the
// shards are intervals of other lengths on either side.
//
//   f32[7,10] → f32[14,5], both {devices=[2,1]<=[2]}: elements [0, 40) and
//   [40, 70) become [0, 35) and [35, 70)
//
// The result may have that group cut along several dimensions, all but the last
// of which are cut into single elements:
//
//   f32[14] → f32[2,7], {devices=[4]<=[4]} → {devices=[2,2]<=[4]}: elements
//   [0, 4), [4, 8), [8, 12) and [12, 14) become [0, 4), [4, 7), [7, 11) and
//   [11, 14)
struct IntervalWay {
  HloSharding operand = HloSharding::Replicate();
  HloSharding result = HloSharding::Replicate();
  // The group: its dimensions on either side, and its number of elements.
  int64_t operand_begin = 0, operand_end = 0;
  int64_t result_begin = 0, result_end = 0;
  int64_t size = 0;
  // Dimensions of the value between both, in which the group is one: those of
  // the result, or, for `flat`, the first that is cut.
  std::vector<int64_t> dims;
  int64_t flat = 0;
  // That of this value.
  HloSharding between = HloSharding::Replicate();
};

// The first of the dimensions [begin, end) that is longer than 1.
int64_t FirstLong(const Shape& shape, int64_t begin, int64_t end) {
  while (begin + 1 < end && shape.dimensions(begin) == 1) ++begin;
  return begin;
}

// The last of the dimensions [first, end) that is cut, if those before it are
// cut into single elements; nullopt if they are not.
std::optional<int64_t> LastCut(const Shape& shape, const HloSharding& cut,
                               int64_t first, int64_t end) {
  int64_t last = first;
  for (int64_t d = first + 1; d < end; ++d) {
    if (ShardCountAtDim(cut, d) > 1) last = d;
  }
  for (int64_t d = first; d < last; ++d) {
    if (ShardCountAtDim(cut, d) != shape.dimensions(d)) return std::nullopt;
  }
  return last;
}

// The way on which `cut`, of the result or of the operand, stays; nullopt where
// there is none, or several groups of uneven shards.
std::optional<IntervalWay> FindIntervalWay(const Shape& from, const Shape& to,
                                           const HloSharding& cut,
                                           bool cut_is_of_result) {
  if (!cut.IsTiledLeaf() || ShapeUtil::IsZeroElementArray(from)) {
    return std::nullopt;
  }
  const auto bounds = CommonFactors(from.dimensions(), to.dimensions());
  std::vector<int64_t> to_from(from.dimensions().size(), -1);
  std::vector<int64_t> from_to(to.dimensions().size(), -1);
  std::optional<IntervalWay> way;
  std::vector<int64_t> between;
  // `cut` with one dimension of tiles for those of the group.
  HloSharding merged = cut;
  int64_t merged_dims = 0;
  int64_t matched = 1;
  for (int64_t g = 0; g + 1 < bounds.size(); ++g) {
    const auto [a, b] = bounds[g];
    const auto [a_end, b_end] = bounds[g + 1];
    if (a == a_end || b == b_end) {
      for (int64_t d = b; d < b_end; ++d) between.push_back(d - merged_dims);
      continue;
    }
    const int64_t d = FirstLong(from, a, a_end), e = FirstLong(to, b, b_end);
    int64_t tiles = ShardCountAtDim(cut, cut_is_of_result ? e : d);
    const int64_t first = cut_is_of_result ? e - merged_dims : d;
    int64_t more = 0;
    if (cut_is_of_result) {
      const std::optional<int64_t> last = LastCut(to, cut, e, b_end);
      if (!last.has_value()) return std::nullopt;
      more = *last - e;
      for (int64_t r = e + 1; r <= *last; ++r) {
        tiles *= ShardCountAtDim(cut, r);
        merged = hlo_sharding_util::MergeShardingDimension(merged, first);
      }
    }
    to_from[d] = first;
    from_to[e] = d;
    matched *= tiles;
    const bool is_even =
        more == 0 &&
        (from.dimensions(d) == to.dimensions(e) ||
         (from.dimensions(d) % tiles == 0 && to.dimensions(e) % tiles == 0));
    if (tiles == 1 || is_even) {
      for (int64_t r = b; r < b_end; ++r) between.push_back(r - merged_dims);
      continue;
    }
    if (way.has_value()) return std::nullopt;
    way.emplace();
    way->operand_begin = a;
    way->operand_end = a_end;
    way->result_begin = b;
    way->result_end = b_end;
    way->flat = between.size();
    way->size = 1;
    for (int64_t r = b; r < b_end; ++r) way->size *= to.dimensions(r);
    between.push_back(e);
    merged_dims += more;
  }
  if (!way.has_value() || matched != cut.NumTiles()) return std::nullopt;
  way->dims = std::move(between);
  way->operand = cut_is_of_result ? MapShardingDims(merged, to_from) : cut;
  way->result = cut_is_of_result ? cut : MapShardingDims(cut, from_to);
  way->between =
      MapShardingDims(cut_is_of_result ? merged : way->result, way->dims);
  return way;
}

// Where tile `number` of the dimensions [begin, end), row by row, begins among
// their elements, and how many it has.
struct Interval {
  int64_t start = 0, length = 1;
};
Interval IntervalOfTile(int64_t number, const Shape& shape,
                        const HloSharding& sharding, int64_t begin,
                        int64_t end) {
  Interval interval;
  int64_t stride = 1;
  for (int64_t d = end - 1; d >= begin; --d) {
    const int64_t size = shape.dimensions(d);
    const int64_t tiles = ShardCountAtDim(sharding, d);
    const int64_t shard = CeilOfRatio(size, tiles);
    const int64_t at = number % tiles * shard;
    number /= tiles;
    interval.start += at * stride;
    interval.length *= std::clamp<int64_t>(size - at, 0, shard);
    stride *= size;
  }
  return interval;
}

int64_t ElementsOfDims(const Shape& shape, int64_t begin, int64_t end) {
  int64_t elements = 1;
  for (int64_t d = begin; d < end; ++d) elements *= shape.dimensions(d);
  return elements;
}

struct IntervalShapes {
  Shape between;
  ShardIntervals intervals;
};

IntervalShapes ShapesOnWay(const IntervalWay& way, const Shape& from,
                           const Shape& to) {
  const Shape operand = MakePartitionedShape(from, way.operand);
  const Shape result = MakePartitionedShape(to, way.result);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < to.dimensions().size(); ++d) {
    if (d == way.result_begin) {
      dims.push_back(
          ElementsOfDims(operand, way.operand_begin, way.operand_end));
    }
    if (d < way.result_begin || d >= way.result_end) {
      dims.push_back(result.dimensions(d));
    }
  }
  IntervalShapes shapes{ShapeUtil::MakeShape(from.element_type(), dims), {}};
  shapes.intervals.size =
      ElementsOfDims(result, way.result_begin, way.result_end);
  const int64_t tiles = ShardCountAtDim(way.between, way.flat);
  for (int64_t i = 0; i < tiles; ++i) {
    const Interval interval =
        IntervalOfTile(i, to, way.result, way.result_begin, way.result_end);
    shapes.intervals.start.push_back(interval.start);
    shapes.intervals.needed.push_back(interval.length);
  }
  return shapes;
}

int64_t BytesOnWay(const IntervalWay& way, const Shape& from, const Shape& to) {
  const IntervalShapes shapes = ShapesOnWay(way, from, to);
  const int64_t length = shapes.between.dimensions(way.flat);
  const HaloPlan plan = PlanHaloExchange(way.size, length, shapes.intervals);
  return ShapeSizeInBytes(shapes.between) / std::max<int64_t>(length, 1) *
         plan.received;
}

// The shard of the result of that of the operand, by intervals of the
// flattened group.
HloInstruction* ReshapeByIntervals(
    HloInstruction* shard, const IntervalWay& way, const Shape& from,
    const Shape& to, const PartitionedHlo::PartitioningState& state) {
  const IntervalShapes shapes = ShapesOnWay(way, from, to);
  HloInstruction* local =
      AddReshape(shard, shapes.between.dimensions(), state.b);
  local = ExchangeIntervals(local, way.between, way.flat, way.size,
                            shapes.intervals, nullptr, state);
  return AddReshape(local, MakePartitionedShape(to, way.result).dimensions(),
                    state.b);
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
  double best_bytes = 0;
  for (const ReshapeWay& way : ways) {
    const double bytes = RouteBytes(from, operand, way.operand) +
                         RouteBytes(to, way.result, result);
    if (best != nullptr && bytes >= best_bytes) continue;
    best = &way;
    best_bytes = bytes;
  }
  std::optional<IntervalWay> intervals;
  for (bool of_result : {true, false}) {
    std::optional<IntervalWay> way =
        FindIntervalWay(from, to, of_result ? result : operand, of_result);
    if (!way.has_value()) continue;
    const double bytes = RouteBytes(from, operand, way->operand) +
                         BytesOnWay(*way, from, to) +
                         RouteBytes(to, way->result, result);
    if ((best != nullptr || intervals.has_value()) && bytes >= best_bytes) {
      continue;
    }
    intervals = std::move(way);
    best_bytes = bytes;
  }
  // Or gathered first.
  if ((best == nullptr && !intervals.has_value()) ||
      (best_bytes > 0 && IsPriced(operand) &&
       RouteBytes(from, operand, HloSharding::Replicate()) < best_bytes)) {
    return DefaultAction(hlo);
  }
  if (intervals.has_value()) {
    Finish(hlo,
           ReshapeByIntervals(Operand(hlo, 0, intervals->operand), *intervals,
                              from, to, MakePartitioningState()),
           intervals->result);
    return absl::OkStatus();
  }
  return FinishOnShards(hlo, {Operand(hlo, 0, best->operand)}, best->result);
}

}  // namespace xla::spmd
