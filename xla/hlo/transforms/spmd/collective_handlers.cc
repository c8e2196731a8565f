#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/utils/collectives/collective_ops_utils.h"

// Collectives that the module has before it is partitioned: among replicas, or
// among partitions in a manual region. Where a region is manual along some axes
// only, values are cut along the others, and each device exchanges its shard
// with those that have the same shard of another value of the region:
//
//   f32[8,4], {devices=[2,1,2]<=[4] last_tile_dims={manual}}
//       all-gather, replica_groups={{0,1},{2,3}}, dimensions={1} → f32[8,8]
//   becomes f32[4,4] → f32[4,8], in the same groups

namespace xla::spmd {
namespace {

// The number of the shard that each device has.
std::vector<int64_t> ShardNumbers(const HloSharding& sharding,
                                  int64_t num_devices) {
  std::vector<int64_t> numbers(num_devices, 0);
  const int64_t rank = sharding.TiledDataRank();
  sharding.tile_assignment().Each(
      [&](absl::Span<const int64_t> index, int64_t device) {
        int64_t number = 0;
        for (int64_t d = 0; d < rank; ++d) {
          number = number * sharding.tile_assignment().dim(d) + index[d];
        }
        numbers[device] = number;
      });
  return numbers;
}

// Whether devices exchange with such alone as have the same shard.
bool KeepsToShards(const HloInstruction& hlo, const HloSharding& sharding,
                   int64_t num_partitions) {
  if (!hlo.channel_id().has_value() || sharding.NumTiles() == 1) return true;
  const std::vector<int64_t> numbers = ShardNumbers(sharding, num_partitions);
  const auto number = [&](int64_t id) { return numbers[id % num_partitions]; };
  if (hlo.opcode() == HloOpcode::kCollectivePermute) {
    for (const auto& [source, target] : hlo.source_target_pairs()) {
      if (number(source) != number(target)) return false;
    }
    return true;
  }
  const absl::StatusOr<CollectiveOpGroupMode> mode =
      GetCollectiveOpGroupMode(&hlo);
  if (!mode.ok() || (*mode != COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION &&
                     *mode != COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID)) {
    return false;
  }
  const auto groups = Cast<HloCollectiveInstruction>(&hlo)
                          ->device_list()
                          ->flattened_replica_groups();
  // No groups: one of all partitions.
  if (groups.empty()) return false;
  for (const std::vector<int64_t>& group : groups) {
    for (int64_t id : group) {
      if (number(id) != number(group[0])) return false;
    }
  }
  return true;
}

// Along axes of one device, of which shardings say nothing.
bool IsAmongSingleDevices(const HloInstruction& hlo) {
  const auto groups = Cast<HloCollectiveInstruction>(&hlo)
                          ->device_list()
                          ->flattened_replica_groups();
  return !groups.empty() &&
         absl::c_all_of(groups, [](const std::vector<int64_t>& group) {
           return group.size() == 1;
         });
}

}  // namespace

absl::Status SpmdPartitioningVisitor::CollectiveOfShards(HloInstruction* hlo,
                                                         int64_t dim) {
  HloSharding sharding = hlo->sharding();
  if (hlo->operand_count() != 1 || !hlo->shape().IsArray()) {
    return DefaultAction(hlo);
  }
  if (!sharding.IsTiledLeaf()) return LocalWithSharding(hlo, sharding);
  if (dim >= 0) sharding = MoveTilesOff(hlo->shape(), sharding, {dim});
  if (!KeepsToShards(*hlo, sharding, num_partitions_)) {
    return DefaultAction(hlo);
  }
  return FinishOnShards(hlo, {Operand(hlo, 0, sharding)}, sharding);
}

absl::Status SpmdPartitioningVisitor::HandleAllGather(HloInstruction* hlo) {
  return CollectiveOfShards(
      hlo, Cast<HloAllGatherInstruction>(hlo)->all_gather_dimension());
}

absl::Status SpmdPartitioningVisitor::HandleReduceScatter(HloInstruction* hlo) {
  return CollectiveOfShards(
      hlo, Cast<HloReduceScatterInstruction>(hlo)->scatter_dimension());
}

absl::Status SpmdPartitioningVisitor::HandleAllToAll(HloInstruction* hlo) {
  const auto split = Cast<HloAllToAllInstruction>(hlo)->split_dimension();
  if (!split.has_value()) return DefaultAction(hlo);
  return CollectiveOfShards(hlo, *split);
}

absl::Status SpmdPartitioningVisitor::HandleCollectiveBroadcast(
    HloInstruction* hlo) {
  return CollectiveOfShards(hlo, -1);
}

absl::Status SpmdPartitioningVisitor::HandleCollectivePermute(
    HloInstruction* hlo) {
  return CollectiveOfShards(hlo, -1);
}

absl::Status SpmdPartitioningVisitor::HandleAllReduce(HloInstruction* hlo) {
  if (!hlo->channel_id().has_value() || hlo->sharding().IsManualSubgroup() ||
      hlo->sharding().IsReplicated() || IsAmongSingleDevices(*hlo)) {
    return CollectiveOfShards(hlo, -1);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "an all-reduce of partitions stands in a manual region, not with "
      "sharding ",
      hlo->sharding().ToString(), ": ", hlo->ToString()));
}

absl::Status SpmdPartitioningVisitor::HandlePartitionId(HloInstruction* hlo) {
  return absl::InvalidArgumentError(
      absl::StrCat("partition-id outside of a manual region means different "
                   "numbers on devices that hold one value: ",
                   hlo->ToString()));
}

}  // namespace xla::spmd
