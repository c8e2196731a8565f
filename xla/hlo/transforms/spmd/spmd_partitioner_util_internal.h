#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_UTIL_INTERNAL_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_UTIL_INTERNAL_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"

// The groups of device_groups.h in one form each: the same devices in the same
// order, or nullopt if the form cannot express them.
//
//   {devices=[4,2]<=[8]}, {0}  →  lists   {{0,2,4,6},{1,3,5,7}}
//                                 iota    [2,4]<=[4,2]T(1,0)
//                                 axes    mesh['axis_0'=4,'axis_1'=2]
//                                 {'axis_0'}

namespace xla::spmd {

// One form for equivalent shardings: no names, an iota if the listed devices
// follow one, {replicated} if nothing is cut. Tuples leaf by leaf.
//
//   {mesh['a'=2,'b'=2], [{'b'}, {}]}, {devices=[2,1,2]0,2,1,3 last_tile_..}
//       → {devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}
HloSharding CanonicalizeSharding(const HloSharding& sharding);

// O(devices).
CollectiveDeviceList GetListOfListsPartitionGroupsForReplication(
    const HloSharding& sharding, absl::Span<const int64_t> replication_dims);
CollectiveDeviceList GetListOfListsPartitionGroupsAcrossTargetDims(
    const HloSharding& sharding, absl::Span<const int64_t> target_dims,
    absl::Span<const int64_t> group_sizes);

// nullopt if the tiles do not follow an iota. O(rank).
std::optional<IotaReplicaGroupList> GetIotaPartitionGroupsForReplication(
    const HloSharding& sharding, absl::Span<const int64_t> replication_dims);
std::optional<IotaReplicaGroupList> GetIotaPartitionGroupsAcrossTargetDims(
    const HloSharding& sharding, absl::Span<const int64_t> target_dims,
    absl::Span<const int64_t> group_sizes);

// By the axes of a named sharding, or of HloSharding::ToNamedSharding for tiled
// ones; groups are in the order of the mesh. nullopt if groups would end within
// an axis at a place that does not divide it. O(devices), since the order of
// the devices is compared.
std::optional<MeshAxesReplicaGroupList>
GetMeshAxesPartitionGroupsForReplication(
    const HloSharding& sharding, absl::Span<const int64_t> replication_dims);
std::optional<MeshAxesReplicaGroupList>
GetMeshAxesPartitionGroupsAcrossTargetDims(
    const HloSharding& sharding, absl::Span<const int64_t> target_dims,
    absl::Span<const int64_t> group_sizes);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_PARTITIONER_UTIL_INTERNAL_H_
