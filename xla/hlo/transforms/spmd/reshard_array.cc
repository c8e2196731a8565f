#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/device_groups.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_report.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {

// A value of fewer dimensions moves instead, if elements are repeated along the
// others.
PartitionedHlo PartitionedHlo::ReshardArray(
    const HloSharding& target, std::optional<Literal> pad_value) const {
  if (pad_value.has_value()) {
    const PartitionedHlo moved = ReshardArray(target, std::nullopt);
    return moved.PadWithValue(CreateScalar(*std::move(pad_value), state_.b));
  }
  if (std::optional<PartitionedHlo> moved = ReshardRepeated(target)) {
    return *std::move(moved);
  }
  const ReshardRoute route = FindReshardRoute(base_shape_, sharding(), target);
  if (route.pieces.has_value()) return ReshardByPieces(*route.pieces, target);
  if (route.legs.empty()) return GatherAndCut(target);
  PartitionedHlo moved = *this;
  for (const ReshardRoute::Leg& leg : route.legs) {
    moved = leg.plan.has_value() ? moved.ReshardByPlan(*leg.plan, leg.to)
                                 : moved.ReshardWithCollectivePermute(leg.to);
  }
  return moved;
}

// A value that is known to repeat itself along some dimensions moves without
// them and is broadcast again where it arrives. That holds only for dimensions
// along which shards have more than one element: a shard with a single element
// is trivially constant, which says nothing about its neighbors.
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

// The way that always works, and moves most: every device gets the whole value.
// Along dimensions of which most shards are padding, a sum of the others sends
// less than a gather (GatherShards).
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
