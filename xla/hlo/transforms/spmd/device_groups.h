#ifndef XLA_HLO_TRANSFORMS_SPMD_DEVICE_GROUPS_H_
#define XLA_HLO_TRANSFORMS_SPMD_DEVICE_GROUPS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"

// Groups of devices formed by the tiles of a sharding.

namespace xla::spmd {

// The devices that differ only along `replication_dims` (tile dimensions, also
// those of subgroups), in the order of their tiles. As an iota if the tiles
// follow one; never as mesh axes, whatever the last argument is.
std::unique_ptr<CollectiveDeviceListBase> GetPartitionGroupsForReplication(
    const HloSharding& sharding, absl::Span<const int64_t> replication_dims,
    bool enable_rgv3 = true);

// The same for parts of dimensions: of the tiles along target_dims[i], each
// group_sizes[i] (which divide them) in a row.
//
//   {devices=[4,2]<=[8]}, {0}, {2} → {{0,2},{1,3},{4,6},{5,7}}
std::unique_ptr<CollectiveDeviceListBase> GetPartitionGroupsAcrossTargetDims(
    const HloSharding& sharding, absl::Span<const int64_t> target_dims,
    absl::Span<const int64_t> group_sizes, bool enable_rgv3 = true);

// Whether the groups hold the same devices, in any order.
bool SameGroups(const CollectiveDeviceListBase& a,
                const CollectiveDeviceListBase& b);

// The groups of partitions, once for each replica: device
// replica * num_partitions + partition.
IotaReplicaGroupList ExpandPartitionGroupListAcrossReplicas(
    const IotaReplicaGroupList& partition_group_list, int64_t num_replicas,
    int64_t num_partitions);
// By one more axis, "replica", before the others.
MeshAxesReplicaGroupList ExpandPartitionGroupListAcrossReplicas(
    const MeshAxesReplicaGroupList& partition_group_list, int64_t num_replicas,
    int64_t num_partitions);

// A sharding with as many tiles as the target, whose tiles subdivide those of
// the partial tiling, so that each device keeps a part of what it has; nullopt
// if the numbers of tiles do not divide.
//
//   {devices=[2,1,4]<=[8] last_tile_dim_replicate}, {devices=[2,4]...}
//       → {devices=[2,4]<=[8]}
std::optional<HloSharding> PartialReplicateReshardCompatibleSharding(
    const HloSharding& partial_sharding, const HloSharding& target_sharding);

// Equally many tiles along each dimension, and equally many copies, on devices
// in another order.
bool CanReshardWithCollectivePermute(const HloSharding& source,
                                     const HloSharding& target);

// Pairs of dimensions that exchange their tiles on the way from one tiling to
// the other; nullopt if such exchanges do not lead there.
//
//   {devices=[4,1]}, {devices=[1,4]} → {{0, 1}}
std::optional<std::vector<std::pair<int64_t, int64_t>>>
GetReshardAllToAllSourceTargetDims(const HloSharding& source,
                                   const HloSharding& target);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_DEVICE_GROUPS_H_
