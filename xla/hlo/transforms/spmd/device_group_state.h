#ifndef XLA_HLO_TRANSFORMS_SPMD_DEVICE_GROUP_STATE_H_
#define XLA_HLO_TRANSFORMS_SPMD_DEVICE_GROUP_STATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape.h"

// Partitioning within groups of devices, as if each group were the whole
// machine: a group's sharding, hlo_sharding_util::GroupedSharding::sharding, is
// over ids 0..k-1, the positions in the group.
//
//   groups {{0,1},{2,3}}, f32[8] {devices=[4]<=[4]}
//     → base shape f32[4], {devices=[2]<=[2]}, id of device 3: 1,
//       a permute {0→1} sends {0→1, 2→3}

namespace xla::spmd {

// A group's part of an array.
Shape GetPerGroupBaseShape(
    const hlo_sharding_util::GroupedSharding& grouped_sharding,
    const Shape& original_base_shape);

// U32: the position of each device in its group.
HloInstruction* GetInGroupPartitionId(
    HloInstruction* partition_id,
    const hlo_sharding_util::DeviceGroupTileAssignment& device_groups,
    SpmdBuilder* b);

// Collectives named by positions run in every group. Values moved within groups
// are cached separately (ReshardCache::groupd_caches).
PartitionedHlo::PartitioningState CreatePerGroupPartitioningState(
    const PartitionedHlo::PartitioningState& state,
    const hlo_sharding_util::DeviceGroupTileAssignment& device_groups,
    SpmdBuilder* b);

// Each group's part of a value that all devices have whole; groups are at the
// coordinates of `group_dims`, row-major, group_dim_sizes[i] of them along one.
// Padded with zeros beyond the end.
HloInstruction* PerGroupSliceFromReplicated(
    HloInstruction* replicated, HloInstruction* partition_id,
    const hlo_sharding_util::DeviceGroupTileAssignment& device_groups,
    absl::Span<const int64_t> group_dims,
    absl::Span<const int64_t> group_dim_sizes, SpmdBuilder* b);

// Cut dimensions of `sharding` whose tiles coincide with these groups, in any
// order of groups and within groups; the fewest. O(2^cut dimensions * devices).
std::optional<std::vector<int64_t>> FindMatchingPartitionedDimsForGrouping(
    const HloSharding& sharding,
    const hlo_sharding_util::DeviceGroupTileAssignment& device_groups);

// A sharding with as many tiles as `sharding`, on devices such that those that
// share coordinates along `sharding_dims` also do along `reference_dims` of
// `reference`.
//
//   {devices=[2,2]<=[4]}, {1}, {devices=[2,2]<=[4]}, {0}
//       → {devices=[2,2]<=[2,2]T(1,0)}
HloSharding AlignShardingOnDims(const HloSharding& sharding,
                                absl::Span<const int64_t> sharding_dims,
                                const HloSharding& reference,
                                absl::Span<const int64_t> reference_dims);

// For a value of `target_shape`: dimension target_dims[i] is cut as
// source_dims[i] is, the others are whole.
HloSharding CreateMatchingShardingOnDims(const Shape& target_shape,
                                         const HloSharding& source_sharding,
                                         absl::Span<const int64_t> target_dims,
                                         absl::Span<const int64_t> source_dims);

struct GatherScatterParallelDimSharding {
  HloSharding indices_sharding;
  HloSharding operand_sharding;
};
// Shardings that cut both alike, on the same devices, along their parallel
// dimensions: like the one that has more tiles there, which is unchanged; of
// the other's tiles along further dimensions, those that fit are kept. nullopt
// if neither is cut there.
std::optional<GatherScatterParallelDimSharding>
GatherScatterOperandsShardedAcrossParallelDims(
    const HloInstruction& operand, const HloInstruction& indices,
    const hlo_sharding_util::GatherScatterDims& parallel_dims);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_DEVICE_GROUP_STATE_H_
