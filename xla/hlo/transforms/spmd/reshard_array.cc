#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/literal.h"
#include "xla/shape.h"

namespace xla::spmd {

PartitionedHlo PartitionedHlo::ReshardArray(
    const HloSharding& target, std::optional<Literal> pad_value) const {
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
    HloInstruction* padded = PadBaseShapeBeforeUnevenTiledSharding(
        whole, target, b, std::move(pad_value));
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
