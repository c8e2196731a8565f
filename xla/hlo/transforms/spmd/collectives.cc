#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/preprocess.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {

namespace {

// Those that are cut, minor ones last.
std::vector<int64_t> CutDims(absl::Span<const int64_t> dims,
                             const HloSharding& sharding) {
  std::vector<int64_t> cut;
  for (int64_t d : dims) {
    if (ShardCountAtDim(sharding, d) > 1) cut.push_back(d);
  }
  absl::c_sort(cut);
  return cut;
}

// [tiles.., dims..] → [.., tile * dim, ..]: tile i of `tiles` in front of
// dimension cut[i].
HloInstruction* MergeTiles(HloInstruction* gathered,
                           absl::Span<const int64_t> cut,
                           absl::Span<const int64_t> tiles,
                           absl::Span<const int64_t> shard, SpmdBuilder* b) {
  const int64_t count = cut.size(), rank = shard.size();
  std::vector<int64_t> split(tiles.begin(), tiles.end());
  split.insert(split.end(), shard.begin(), shard.end());
  std::vector<int64_t> order, merged(shard.begin(), shard.end());
  for (int64_t d = 0, i = 0; d < rank; ++d) {
    if (i < count && cut[i] == d) {
      merged[d] *= tiles[i];
      order.push_back(i++);
    }
    order.push_back(count + d);
  }
  return AddReshape(AddTranspose(AddReshape(gathered, split, b), order, b),
                    merged, b);
}

}  // namespace

// All dimensions can be gathered at once, in an additional dimension of tiles,
// which takes one collective and a transpose of the result; or one by one, each
// in place, which takes a collective for each dimension and no transpose.
std::pair<HloInstruction*, HloInstruction*>
SpmdPartitioner::AllGatherShardsInternal(
    SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
    int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
    const SPMDCollectiveOpsCreator& collectives_creator, bool per_dim_ag) {
  std::vector<int64_t> dims = CutDims(selected_dims, sharding);
  const PartitionedHlo::PartitioningState state = {
      b,
      module_,
      num_replicas_,
      collectives_creator.create_all_gather == nullptr
          ? collectives_creator.create_partition_id(b)
          : nullptr,
      collectives_creator,
      next_channel_id,
      /*reshard_cache=*/nullptr,
      this};
  auto gather = [&](HloInstruction* value, int64_t dim, int64_t tiles,
                    absl::Span<const int64_t> over) {
    Shape shape = value->shape();
    shape.set_dimensions(dim, shape.dimensions(dim) * tiles);
    return GatherGroups(value, shape, dim,
                        *GetPartitionGroupsForReplication(sharding, over),
                        (*next_channel_id)++, state);
  };
  if (!per_dim_ag && dims.size() > 1) {
    const Shape& shard = operand->shape();
    std::vector<int64_t> one(shard.dimensions().begin(),
                             shard.dimensions().end());
    one.insert(one.begin(), 1);
    std::vector<int64_t> tiles;
    int64_t all = 1;
    for (int64_t d : dims) {
      tiles.push_back(sharding.dimension(d));
      all *= tiles.back();
    }
    HloInstruction* gathered =
        gather(AddReshape(operand, one, b), 0, all, dims);
    return {MergeTiles(gathered, dims, tiles, shard.dimensions(), b), gathered};
  }
  HloInstruction* result = operand;
  HloInstruction* last = nullptr;
  absl::c_reverse(dims);
  for (int64_t d : dims) {
    result = last = gather(result, d, sharding.dimension(d), {d});
  }
  return {result, last};
}

HloInstruction* SpmdPartitioner::AllGatherShards(
    SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
    int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
    const SPMDCollectiveOpsCreator& collectives_creator) {
  return AllGatherShardsInternal(b, operand, sharding, next_channel_id,
                                 selected_dims, collectives_creator,
                                 /*per_dim_ag=*/true)
      .first;
}

HloInstruction* SpmdPartitioner::AllGatherShards(SpmdBuilder* b,
                                                 HloInstruction* operand,
                                                 const HloSharding& sharding,
                                                 int64_t channel_id) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < sharding.TiledDataRank(); ++d) dims.push_back(d);
  return AllGatherShards(b, operand, sharding, &channel_id, dims,
                         collective_ops_creator_);
}

HloInstruction* SpmdPartitioner::AllReduceAlongShardingDimsInternal(
    SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
    int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
    const SPMDCollectiveOpsCreator& collectives_creator,
    HloComputation* reduction, bool per_dim_ar) {
  std::vector<int64_t> dims = CutDims(selected_dims, sharding);
  if (dims.empty()) return operand;
  auto reduce = [&](HloInstruction* value, absl::Span<const int64_t> over) {
    return collectives_creator.create_all_reduce(
        b, value, reduction, *GetPartitionGroupsForReplication(sharding, over),
        (*next_channel_id)++);
  };
  if (!per_dim_ar) return reduce(operand, dims);
  absl::c_reverse(dims);
  for (int64_t d : dims) operand = reduce(operand, {d});
  return operand;
}

HloInstruction* SpmdPartitioner::AllReduceAlongShardingDims(
    SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
    int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
    const SPMDCollectiveOpsCreator& collectives_creator,
    HloComputation* reduction) {
  return AllReduceAlongShardingDimsInternal(
      b, operand, sharding, next_channel_id, selected_dims, collectives_creator,
      reduction, /*per_dim_ar=*/false);
}

SPMDCollectiveOpsCreator WithNotedGaps(SPMDCollectiveOpsCreator creator,
                                       std::string* missing) {
  if (creator.create_partition_id == nullptr) {
    creator.create_partition_id = [=](SpmdBuilder* b) {
      *missing = "partition-id";
      return CreateR0(0, U32, b);
    };
  }
  if (creator.create_all_reduce == nullptr) {
    creator.create_all_reduce = [=](SpmdBuilder*, HloInstruction* operand,
                                    HloComputation*,
                                    const CollectiveDeviceListBase&, int64_t) {
      *missing = "all-reduce";
      return operand;
    };
  }
  if (creator.create_collective_permute == nullptr) {
    creator.create_collective_permute =
        [=](SpmdBuilder*, HloInstruction* operand,
            std::vector<std::pair<int64_t, int64_t>>&, int64_t) {
          *missing = "collective-permute";
          return operand;
        };
  }
  if (creator.create_all_to_all == nullptr) {
    creator.create_all_to_all = [=](SpmdBuilder* b,
                                    absl::Span<HloInstruction* const> operands,
                                    const CollectiveDeviceListBase&, int64_t,
                                    std::optional<int64_t> split_dimension) {
      *missing = "all-to-all";
      return split_dimension.has_value()
                 ? operands[0]
                 : b->AddInstruction(HloInstruction::CreateTuple(operands));
    };
  }
  return creator;
}

}  // namespace xla::spmd
