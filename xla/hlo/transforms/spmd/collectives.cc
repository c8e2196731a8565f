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

HloInstruction* SpmdPartitioner::AllGatherShards(
    SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
    int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
    const SPMDCollectiveOpsCreator& collectives_creator) {
  std::vector<int64_t> dims(selected_dims.begin(), selected_dims.end());
  absl::c_sort(dims, [](int64_t x, int64_t y) { return x > y; });
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
  HloInstruction* result = operand;
  for (int64_t d : dims) {
    if (ShardCountAtDim(sharding, d) == 1) continue;
    Shape shape = result->shape();
    shape.set_dimensions(d, shape.dimensions(d) * sharding.dimension(d));
    result = GatherGroups(result, shape, d,
                          *GetPartitionGroupsForReplication(sharding, {d}),
                          (*next_channel_id)++, state);
  }
  return result;
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

HloInstruction* SpmdPartitioner::AllReduceAlongShardingDims(
    SpmdBuilder* b, HloInstruction* operand, const HloSharding& sharding,
    int64_t* next_channel_id, absl::Span<const int64_t> selected_dims,
    const SPMDCollectiveOpsCreator& collectives_creator,
    HloComputation* reduction) {
  std::vector<int64_t> dims;
  for (int64_t d : selected_dims) {
    if (ShardCountAtDim(sharding, d) > 1) dims.push_back(d);
  }
  if (dims.empty()) return operand;
  return collectives_creator.create_all_reduce(
      b, operand, reduction, *GetPartitionGroupsForReplication(sharding, dims),
      (*next_channel_id)++);
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
