#include "xla/hlo/transforms/spmd/device_group_state.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/hlo_sharding_util_indexing.h"
#include "xla/util.h"

// A partitioner of groups is the ordinary one with another view of the devices:
// partition ids become places in the group, and a collective over places
// becomes one over all groups at once, each with its own devices in those
// places (InEveryGroup). So the code that reshards a value or emits halos need
// not know that it runs inside a group, and a dimension at a time can be taken
// out of a problem by grouping along it.

namespace xla::spmd {
namespace {

using hlo_sharding_util::DeviceGroupTileAssignment;
using hlo_sharding_util::GroupedSharding;
using DeviceLists = std::vector<std::vector<int64_t>>;

// By device: the group and the place in it.
std::vector<std::pair<int64_t, int64_t>> PlacesOfDevices(
    const DeviceGroupTileAssignment& device_groups) {
  std::vector<std::pair<int64_t, int64_t>> places(
      device_groups.num_total_devices());
  device_groups.Each([&](absl::Span<const int64_t> index, int64_t device) {
    CHECK_LT(device, places.size());
    places[device] = {index[0], index[1]};
  });
  return places;
}

// Lists of places → lists of devices, once for each group; no lists mean all.
CollectiveDeviceList InEveryGroup(const DeviceLists& groups,
                                  const CollectiveDeviceListBase& places) {
  DeviceLists lists = places.flattened_replica_groups();
  if (lists.empty()) {
    lists.emplace_back(groups[0].size());
    absl::c_iota(lists[0], 0);
  }
  DeviceLists all;
  for (const std::vector<int64_t>& group : groups) {
    for (const std::vector<int64_t>& list : lists) {
      all.emplace_back();
      for (int64_t place : list) all.back().push_back(group[place]);
    }
  }
  return CollectiveDeviceList(absl::Span<const std::vector<int64_t>>(all));
}

SPMDCollectiveOpsCreator PerGroupCreator(
    const SPMDCollectiveOpsCreator& whole,
    const DeviceGroupTileAssignment& device_groups) {
  auto groups = std::make_shared<const DeviceLists>(
      device_groups.flattened_device_groups());
  SPMDCollectiveOpsCreator creator;
  creator.create_partition_id = [=](SpmdBuilder* b) {
    return GetInGroupPartitionId(whole.create_partition_id(b), device_groups,
                                 b);
  };
  creator.create_all_reduce =
      [=](SpmdBuilder* b, HloInstruction* operand, HloComputation* reduction,
          const CollectiveDeviceListBase& places, int64_t channel_id) {
        return whole.create_all_reduce(
            b, operand, reduction, InEveryGroup(*groups, places), channel_id);
      };
  creator.create_collective_permute =
      [=](SpmdBuilder* b, HloInstruction* operand,
          std::vector<std::pair<int64_t, int64_t>>& places,
          int64_t channel_id) {
        std::vector<std::pair<int64_t, int64_t>> pairs;
        for (const std::vector<int64_t>& group : *groups) {
          for (const auto& [from, to] : places) {
            pairs.push_back({group[from], group[to]});
          }
        }
        absl::c_sort(pairs);
        return whole.create_collective_permute(b, operand, pairs, channel_id);
      };
  creator.create_all_to_all = [=](SpmdBuilder* b,
                                  absl::Span<HloInstruction* const> operands,
                                  const CollectiveDeviceListBase& places,
                                  int64_t channel_id,
                                  std::optional<int64_t> split_dimension) {
    return whole.create_all_to_all(b, operands, InEveryGroup(*groups, places),
                                   channel_id, split_dimension);
  };
  if (whole.create_all_gather) {
    creator.create_all_gather = [=](SpmdBuilder* b, HloInstruction* operand,
                                    const Shape& shape,
                                    const CollectiveDeviceListBase& places,
                                    int64_t channel_id, int64_t dimension) {
      return whole.create_all_gather(b, operand, shape,
                                     InEveryGroup(*groups, places), channel_id,
                                     dimension);
    };
  }
  if (whole.create_reduce_scatter) {
    creator.create_reduce_scatter =
        [=](SpmdBuilder* b, HloInstruction* operand, HloComputation* reduction,
            const Shape& shape, const CollectiveDeviceListBase& places,
            int64_t channel_id, int64_t dimension) {
          return whole.create_reduce_scatter(b, operand, reduction, shape,
                                             InEveryGroup(*groups, places),
                                             channel_id, dimension);
        };
  }
  return creator;
}

// Each sorted, and all of them.
DeviceLists Sorted(DeviceLists groups) {
  for (std::vector<int64_t>& group : groups) absl::c_sort(group);
  absl::c_sort(groups);
  return groups;
}

int64_t TilesAlong(const HloSharding& sharding,
                   absl::Span<const int64_t> dims) {
  int64_t tiles = 1;
  for (int64_t d : dims) tiles *= ShardCountAtDim(sharding, d);
  return tiles;
}

// `other`, cut along `other_dims` as `leader` is along `leader_dims`.
HloSharding CutAlike(const HloSharding& leader,
                     absl::Span<const int64_t> leader_dims,
                     const HloSharding& other, const Shape& other_shape,
                     absl::Span<const int64_t> other_dims) {
  HloSharding result = CreateMatchingShardingOnDims(other_shape, leader,
                                                    other_dims, leader_dims);
  if (!other.IsTiledLeaf()) return result;
  hlo_sharding_util::MergeShardingIfCompatible(
      hlo_sharding_util::PartiallyReplicateTiledShardingOnDims(other,
                                                               other_dims),
      &result);
  return result;
}

}  // namespace

Shape GetPerGroupBaseShape(const GroupedSharding& grouped_sharding,
                           const Shape& original_base_shape) {
  Shape shape = original_base_shape;
  for (size_t i = 0; i < grouped_sharding.group_dims.size(); ++i) {
    const int64_t d = grouped_sharding.group_dims[i];
    if (d >= grouped_sharding.data_rank) continue;
    shape.set_dimensions(d, CeilOfRatio(shape.dimensions(d),
                                        grouped_sharding.group_dim_sizes[i]));
  }
  return shape;
}

HloInstruction* GetInGroupPartitionId(
    HloInstruction* partition_id,
    const DeviceGroupTileAssignment& device_groups, SpmdBuilder* b) {
  std::vector<int64_t> table;
  for (const auto& [group, place] : PlacesOfDevices(device_groups)) {
    table.push_back(place);
  }
  return TableLookup(table, U32, partition_id, b);
}

PartitionedHlo::PartitioningState CreatePerGroupPartitioningState(
    const PartitionedHlo::PartitioningState& state,
    const DeviceGroupTileAssignment& device_groups, SpmdBuilder* b) {
  PartitionedHlo::PartitioningState result = state;
  result.b = b;
  result.partition_id =
      GetInGroupPartitionId(state.partition_id, device_groups, b);
  result.collective_ops_creator =
      PerGroupCreator(state.collective_ops_creator, device_groups);
  std::unique_ptr<PartitionedHlo::ReshardCache>& cache =
      state.reshard_cache->groupd_caches[device_groups.ToString()];
  if (cache == nullptr) {
    cache = std::make_unique<PartitionedHlo::ReshardCache>();
  }
  result.reshard_cache = cache.get();
  return result;
}

// Groups are numbered row-major over `group_dims`, so the coordinates of a
// group are its digits in the mixed radix of their sizes, the last dimension
// minor. A table by device gives each its start; one program runs on all of
// them.
HloInstruction* PerGroupSliceFromReplicated(
    HloInstruction* replicated, HloInstruction* partition_id,
    const DeviceGroupTileAssignment& device_groups,
    absl::Span<const int64_t> group_dims,
    absl::Span<const int64_t> group_dim_sizes, SpmdBuilder* b) {
  Shape padded = replicated->shape();
  Shape part = replicated->shape();
  std::vector<HloInstruction*> starts(padded.dimensions().size(), nullptr);
  const auto places = PlacesOfDevices(device_groups);
  int64_t inner = 1;
  for (int64_t i = static_cast<int64_t>(group_dims.size()) - 1; i >= 0; --i) {
    const int64_t d = group_dims[i];
    const int64_t count = group_dim_sizes[i];
    const int64_t size = CeilOfRatio(padded.dimensions(d), count);
    std::vector<int64_t> table;
    for (const auto& [group, place] : places) {
      table.push_back(group / inner % count * size);
    }
    inner *= count;
    starts[d] = TableLookup(table, S32, partition_id, b);
    part.set_dimensions(d, size);
    padded.set_dimensions(d, size * count);
  }
  for (HloInstruction*& start : starts) {
    if (start == nullptr) start = CreateR0(0, S32, b);
  }
  return b->AddInstruction(HloInstruction::CreateDynamicSlice(
      part, PadToShape(replicated, padded, b), starts, part.dimensions()));
}

std::optional<std::vector<int64_t>> FindMatchingPartitionedDimsForGrouping(
    const HloSharding& sharding,
    const DeviceGroupTileAssignment& device_groups) {
  if (!sharding.IsTiledLeaf()) return std::nullopt;
  std::vector<int64_t> cut;
  for (int64_t d = 0; d < sharding.TiledDataRank(); ++d) {
    if (sharding.dimension(d) > 1) cut.push_back(d);
  }
  const DeviceLists wanted = Sorted(device_groups.flattened_device_groups());
  std::optional<std::vector<int64_t>> best;
  for (uint64_t chosen = 1; chosen < uint64_t{1} << cut.size(); ++chosen) {
    std::vector<int64_t> dims;
    for (size_t i = 0; i < cut.size(); ++i) {
      if (chosen >> i & 1) dims.push_back(cut[i]);
    }
    if (TilesAlong(sharding, dims) != device_groups.num_groups() ||
        (best.has_value() && best->size() <= dims.size())) {
      continue;
    }
    const GroupedSharding grouped =
        hlo_sharding_util::GroupShardingOnDims(sharding, dims);
    if (Sorted(grouped.device_groups.flattened_device_groups()) == wanted) {
      best = std::move(dims);
    }
  }
  return best;
}

HloSharding AlignShardingOnDims(const HloSharding& sharding,
                                absl::Span<const int64_t> sharding_dims,
                                const HloSharding& reference,
                                absl::Span<const int64_t> reference_dims) {
  return hlo_sharding_util::UngroupSharding(hlo_sharding_util::AlignGroupsWith(
      hlo_sharding_util::GroupShardingOnDims(sharding, sharding_dims),
      hlo_sharding_util::GroupShardingOnDims(reference, reference_dims)));
}

HloSharding CreateMatchingShardingOnDims(
    const Shape& target_shape, const HloSharding& source_sharding,
    absl::Span<const int64_t> target_dims,
    absl::Span<const int64_t> source_dims) {
  return hlo_sharding_util::PropagateShardingAlongDimsAndReplicateOthers(
      source_sharding, source_dims, target_dims,
      target_shape.dimensions().size());
}

std::optional<GatherScatterParallelDimSharding>
GatherScatterOperandsShardedAcrossParallelDims(
    const HloInstruction& operand, const HloInstruction& indices,
    const hlo_sharding_util::GatherScatterDims& parallel_dims) {
  const HloSharding replicated = HloSharding::Replicate();
  const HloSharding& of_operand =
      operand.has_sharding() ? operand.sharding() : replicated;
  const HloSharding& of_indices =
      indices.has_sharding() ? indices.sharding() : replicated;
  const int64_t operand_tiles =
      TilesAlong(of_operand, parallel_dims.operand_dims);
  const int64_t indices_tiles =
      TilesAlong(of_indices, parallel_dims.indices_dims);
  if (operand_tiles == 1 && indices_tiles == 1) return std::nullopt;
  if (operand_tiles >= indices_tiles) {
    return GatherScatterParallelDimSharding{
        CutAlike(of_operand, parallel_dims.operand_dims, of_indices,
                 indices.shape(), parallel_dims.indices_dims),
        of_operand};
  }
  return GatherScatterParallelDimSharding{
      of_indices, CutAlike(of_indices, parallel_dims.indices_dims, of_operand,
                           operand.shape(), parallel_dims.operand_dims)};
}

}  // namespace xla::spmd
