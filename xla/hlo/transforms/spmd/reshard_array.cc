#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/spmd/device_groups.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/reshard_pieces.h"
#include "xla/hlo/transforms/spmd/reshard_plan.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_report.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

// The same numbers of tiles, on devices in order.
HloSharding InDeviceOrder(const HloSharding& sharding) {
  std::vector<OpSharding::Type> types(sharding.subgroup_types().begin(),
                                      sharding.subgroup_types().end());
  if (sharding.ReplicateOnLastTileDim()) types = {OpSharding::REPLICATED};
  const TileAssignment ordered(sharding.tile_assignment().dimensions());
  return types.empty() ? HloSharding::Tile(ordered)
                       : HloSharding::Subgroup(ordered, types);
}

bool HaveTheSameTiles(const HloSharding& a, const HloSharding& b) {
  return a.IsTiledLeaf() && b.IsTiledLeaf() &&
         a.subgroup_types() == b.subgroup_types() &&
         a.tile_assignment().dimensions() == b.tile_assignment().dimensions();
}

// What a device receives where ReshardArray finds no plan.
double BytesWithoutPlan(const Shape& shape, const HloSharding& from,
                        const HloSharding& to) {
  if (std::optional<ReshardPlan> plan = PlanReshard(shape, from, to)) {
    return plan->bytes;
  }
  const double shard = ShapeSizeInBytes(MakePartitionedShape(shape, from));
  if (HaveTheSameTiles(from, to)) return shard;
  const HloSharding ordered = InDeviceOrder(from);
  if (ordered != from) return shard + BytesWithoutPlan(shape, ordered, to);
  const HloSharding ordered_target = InDeviceOrder(to);
  if (ordered_target != to) {
    return BytesWithoutPlan(shape, from, ordered_target) +
           ShapeSizeInBytes(MakePartitionedShape(shape, to));
  }
  return shard * (from.NumTiles() - 1);
}

// In place of one gather, more rounds than these must halve what is received.
constexpr int64_t kMostRounds = 4;

// Pieces, where they are less than all else: half of what a plan with a gather
// takes, as there may be more of them than steps.
std::optional<PiecePlan> PiecesThatPay(const Shape& shape,
                                       const HloSharding& from,
                                       const HloSharding& to,
                                       const std::optional<ReshardPlan>& plan) {
  const bool gathers = !plan.has_value() ||
                       absl::c_any_of(plan->steps, [](const ReshardStep& step) {
                         return step.kind == ReshardStep::Kind::kAllGather;
                       });
  if (!gathers) return std::nullopt;
  std::optional<PiecePlan> pieces = PlanPieces(shape, from, to);
  if (!pieces.has_value()) return std::nullopt;
  const int64_t moves = absl::c_count_if(
      pieces->rounds,
      [](const PieceRound& round) { return !round.pairs.empty(); });
  const bool halves = plan.has_value() || moves > kMostRounds;
  const double others =
      plan.has_value() ? plan->bytes : BytesWithoutPlan(shape, from, to);
  const bool pays =
      halves ? 2 * pieces->bytes <= others : pieces->bytes < others;
  if (!pays) pieces.reset();
  return pieces;
}

}  // namespace

// Tries, in order of cost: a value of fewer dimensions, if elements are
// repeated along the others; pieces, if they are less than a plan that gathers;
// a plan of collectives found by search; a permutation, if both shardings have
// the same tiles on different devices; a permutation to devices in order on
// either side, after which a plan may exist; and as a last resort gathering the
// whole array and slicing it.
PartitionedHlo PartitionedHlo::ReshardArray(
    const HloSharding& target, std::optional<Literal> pad_value) const {
  if (pad_value.has_value()) {
    const PartitionedHlo moved = ReshardArray(target, std::nullopt);
    return moved.PadWithValue(CreateScalar(*std::move(pad_value), state_.b));
  }
  if (std::optional<PartitionedHlo> moved = ReshardRepeated(target)) {
    return *std::move(moved);
  }
  const std::optional<ReshardPlan> plan =
      PlanReshard(base_shape_, sharding(), target);
  if (!plan.has_value() && HaveTheSameTiles(sharding(), target)) {
    return ReshardWithCollectivePermute(target);
  }
  if (std::optional<PiecePlan> pieces =
          PiecesThatPay(base_shape_, sharding(), target, plan)) {
    return ReshardByPieces(*pieces, target);
  }
  if (plan.has_value()) return ReshardByPlan(*plan, target);
  // Tiles may stand on devices in no order. Manual regions keep theirs.
  if (sharding().IsTiledLeaf() && target.IsTiledLeaf() &&
      !sharding().IsManualSubgroup() && !target.IsManualSubgroup()) {
    const HloSharding ordered = InDeviceOrder(sharding());
    if (ordered != sharding()) {
      return ReshardWithCollectivePermute(ordered).ReshardArray(target,
                                                                std::nullopt);
    }
    const HloSharding ordered_target = InDeviceOrder(target);
    if (ordered_target != target) {
      return ReshardArray(ordered_target, std::nullopt)
          .ReshardWithCollectivePermute(target);
    }
  }
  return GatherAndCut(target);
}

// Along dimensions where a shard has one element, that they are all equal says
// nothing about those of other shards.
std::optional<PartitionedHlo> PartitionedHlo::ReshardRepeated(
    const HloSharding& target) const {
  const auto known = state_.b->BroadcastDimsForCreatedHlo(hlo_);
  if (!known.has_value() || sharding().IsManualSubgroup() ||
      target.IsManualSubgroup()) {
    return std::nullopt;
  }
  const Shape& shape = hlo_->shape();
  std::vector<int64_t> kept, one_of_each, dims, base_dims;
  for (int64_t d = 0; d < num_dimensions(); ++d) {
    const int64_t size = shape.dimensions(d);
    if (size > 1 && (*known)->contains(d)) {
      one_of_each.push_back(1);
      continue;
    }
    kept.push_back(d);
    one_of_each.push_back(size);
    dims.push_back(size);
    base_dims.push_back(base_shape_.dimensions(d));
  }
  if (kept.size() == num_dimensions() ||
      ReshardLowerBound(base_shape_, sharding(), target) == 0) {
    return std::nullopt;
  }
  SpmdBuilder* b = state_.b;
  HloInstruction* some = AddReshape(SliceTo(hlo_, one_of_each, b), dims, b);
  some->set_sharding(MapShardingDims(sharding(), kept));
  const HloSharding wanted = MapShardingDims(target, kept);
  PartitionedHlo moved(
      some, ShapeUtil::MakeShape(shape.element_type(), base_dims), state_);
  if (moved.sharding() != wanted) {
    moved = moved.ReshardArray(wanted, std::nullopt);
  }
  HloInstruction* repeated = b->AddInstruction(HloInstruction::CreateBroadcast(
      MakePartitionedShape(base_shape_, target), moved.hlo(), kept));
  repeated->set_sharding(target);
  return PartitionedHlo(repeated, base_shape_, state_);
}

PartitionedHlo PartitionedHlo::GatherAndCut(const HloSharding& target) const {
  SpmdBuilder* b = state_.b;
  HloInstruction* whole = hlo_;
  if (sharding().IsTiledLeaf()) {
    std::vector<int64_t> tiled;
    for (int64_t d = sharding().TiledDataRank() - 1; d >= 0; --d) {
      const int64_t shards = sharding().dimension(d);
      if (shards == 1) continue;
      const int64_t size = base_shape_.dimensions(d);
      if (!FewHaveElements(size, hlo_->shape().dimensions(d), shards,
                           hlo_->shape().element_type())) {
        tiled.push_back(d);
        continue;
      }
      whole = GatherShards(whole, size, d, shards,
                           *GetPartitionGroupsForReplication(sharding(), {d}),
                           NewChannel(), state_);
    }
    whole = state_.partitioner->AllGatherShards(b, whole, sharding(),
                                                state_.next_channel_id, tiled,
                                                state_.collective_ops_creator);
    whole = SliceTo(whole, base_shape_.dimensions(), b);
  }
  HloInstruction* shard = whole;
  if (target.IsTiledLeaf()) {
    const Shape shard_shape = MakePartitionedShape(base_shape_, target);
    HloInstruction* padded =
        PadBaseShapeBeforeUnevenTiledSharding(whole, target, b);
    if (!absl::c_equal(shard_shape.dimensions(),
                       padded->shape().dimensions())) {
      shard = b->AddInstruction(HloInstruction::CreateDynamicSlice(
          ShapeUtil::MakeShape(shard_shape.element_type(),
                               shard_shape.dimensions()),
          padded,
          MakePartitionOffsets(base_shape_, target, state_.partition_id, b),
          shard_shape.dimensions()));
    }
  }
  if (shard == hlo_) {
    shard = b->AddInstruction(
        HloInstruction::CreateUnary(hlo_->shape(), HloOpcode::kCopy, hlo_));
  }
  shard->set_sharding(target);
  return PartitionedHlo(shard, base_shape_, state_);
}

}  // namespace xla::spmd
