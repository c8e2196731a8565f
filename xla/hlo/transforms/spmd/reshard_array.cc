#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
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

}  // namespace

// Tries, in order of cost: a plan of collectives found by search; a
// permutation, if both shardings have the same tiles on different devices; a
// permutation to devices in order on either side, after which a plan may exist;
// and as a last resort gathering the whole array and slicing it.
PartitionedHlo PartitionedHlo::ReshardArray(
    const HloSharding& target, std::optional<Literal> pad_value) const {
  if (pad_value.has_value()) {
    const PartitionedHlo moved = ReshardArray(target, std::nullopt);
    return moved.PadWithValue(CreateScalar(*std::move(pad_value), state_.b));
  }
  if (std::optional<PartitionedHlo> moved = ReshardByPlan(target)) {
    return *std::move(moved);
  }
  const bool both = sharding().IsTiledLeaf() && target.IsTiledLeaf() &&
                    sharding().subgroup_types() == target.subgroup_types();
  if (both && sharding().tile_assignment().dimensions() ==
                  target.tile_assignment().dimensions()) {
    return ReshardWithCollectivePermute(target);
  }
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

PartitionedHlo PartitionedHlo::GatherAndCut(const HloSharding& target) const {
  SpmdBuilder* b = state_.b;
  HloInstruction* whole = hlo_;
  if (sharding().IsTiledLeaf()) {
    std::vector<int64_t> tiled;
    for (int64_t d = 0; d < sharding().TiledDataRank(); ++d) {
      if (sharding().dimension(d) > 1) tiled.push_back(d);
    }
    whole = state_.partitioner->AllGatherShards(b, hlo_, sharding(),
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
