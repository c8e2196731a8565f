#include "xla/hlo/transforms/spmd/spmd_partitioner_util_internal.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/transforms/spmd/device_groups.h"

namespace xla::spmd {
namespace {

std::vector<int64_t> TileCounts(const HloSharding& sharding,
                                absl::Span<const int64_t> dims) {
  std::vector<int64_t> sizes;
  for (int64_t d : dims) sizes.push_back(sharding.tile_assignment().dim(d));
  return sizes;
}

// The axes behind tile dimension `dim`, data or subgroup, major first.
std::vector<AxisRef> AxesOfDim(const HloSharding& tiled,
                               const NamedSharding& named, int64_t dim) {
  const int64_t rank = tiled.TiledDataRank();
  if (dim < rank) {
    const absl::Span<const AxisRef> axes = named.dim_shardings()[dim].axes();
    return {axes.begin(), axes.end()};
  }
  const OpSharding::Type type = tiled.ReplicateOnLastTileDim()
                                    ? OpSharding::REPLICATED
                                    : tiled.subgroup_types()[dim - rank];
  if (type == OpSharding::MANUAL) {
    return {named.manual_axes().begin(), named.manual_axes().end()};
  }
  if (type == OpSharding::UNREDUCED) {
    return {named.unreduced_axes().begin(), named.unreduced_axes().end()};
  }
  std::vector<AxisRef> used(named.manual_axes().begin(),
                            named.manual_axes().end());
  absl::c_copy(named.unreduced_axes(), std::back_inserter(used));
  for (const NamedSharding::DimensionSharding& d : named.dim_shardings()) {
    absl::c_copy(d.axes(), std::back_inserter(used));
  }
  return UncoveredAxes(used, named.mesh());
}

// The minor part of `axes` that makes `size` groups' members.
std::optional<std::vector<AxisRef>> MinorPart(std::vector<AxisRef> axes,
                                              int64_t size, const Mesh& mesh) {
  NamedSharding::DimensionSharding all(std::move(axes));
  const int64_t total = all.getShardedSize(mesh);
  if (size == total)
    return std::vector<AxisRef>(all.axes().begin(), all.axes().end());
  if (size == 1) return std::vector<AxisRef>();
  if (total % size != 0 || !all.Slice(mesh, total / size).has_value()) {
    return std::nullopt;
  }
  return std::vector<AxisRef>(all.axes().begin(), all.axes().end());
}

// Groups have no order among them.
std::vector<std::vector<int64_t>> InOrderOfFirst(
    std::vector<std::vector<int64_t>> groups) {
  absl::c_sort(groups);
  return groups;
}

}  // namespace

CollectiveDeviceList GetListOfListsPartitionGroupsForReplication(
    const HloSharding& sharding, absl::Span<const int64_t> replication_dims) {
  return GetListOfListsPartitionGroupsAcrossTargetDims(
      sharding, replication_dims, TileCounts(sharding, replication_dims));
}

CollectiveDeviceList GetListOfListsPartitionGroupsAcrossTargetDims(
    const HloSharding& sharding, absl::Span<const int64_t> target_dims,
    absl::Span<const int64_t> group_sizes) {
  const std::vector<std::vector<int64_t>> groups =
      GetPartitionGroupsAcrossTargetDims(sharding, target_dims, group_sizes)
          ->flattened_replica_groups();
  return CollectiveDeviceList(absl::Span<const std::vector<int64_t>>(groups));
}

std::optional<IotaReplicaGroupList> GetIotaPartitionGroupsForReplication(
    const HloSharding& sharding, absl::Span<const int64_t> replication_dims) {
  return GetIotaPartitionGroupsAcrossTargetDims(
      sharding, replication_dims, TileCounts(sharding, replication_dims));
}

std::optional<IotaReplicaGroupList> GetIotaPartitionGroupsAcrossTargetDims(
    const HloSharding& sharding, absl::Span<const int64_t> target_dims,
    absl::Span<const int64_t> group_sizes) {
  const std::unique_ptr<CollectiveDeviceListBase> groups =
      GetPartitionGroupsAcrossTargetDims(sharding, target_dims, group_sizes);
  if (groups->version() != CollectiveDeviceListVersion::kIota) {
    return std::nullopt;
  }
  return groups->MaybeConvertToIotaReplicaGroupList();
}

std::optional<MeshAxesReplicaGroupList>
GetMeshAxesPartitionGroupsForReplication(
    const HloSharding& sharding, absl::Span<const int64_t> replication_dims) {
  return GetMeshAxesPartitionGroupsAcrossTargetDims(
      sharding, replication_dims, TileCounts(sharding, replication_dims));
}

// Axes give a candidate, which is compared with the groups as they are defined:
// a sharding whose devices do not follow its mesh, or an axis that is cut in a
// way that axes cannot name, is found by its devices rather than by a list of
// cases.
std::optional<MeshAxesReplicaGroupList>
GetMeshAxesPartitionGroupsAcrossTargetDims(
    const HloSharding& sharding, absl::Span<const int64_t> target_dims,
    absl::Span<const int64_t> group_sizes) {
  if (!sharding.IsTiledLeaf()) return std::nullopt;
  const NamedSharding named = sharding.UseNamedShardingLeaf()
                                  ? sharding.named_sharding()
                                  : HloSharding::ToNamedSharding(sharding);
  std::vector<AxisRef> axes;
  for (size_t i = 0; i < target_dims.size(); ++i) {
    const std::optional<std::vector<AxisRef>> part =
        MinorPart(AxesOfDim(sharding, named, target_dims[i]), group_sizes[i],
                  named.mesh());
    if (!part.has_value()) return std::nullopt;
    absl::c_copy(*part, std::back_inserter(axes));
  }
  absl::StatusOr<MeshAxesReplicaGroupList> groups =
      MeshAxesReplicaGroupList::Create(named.mesh(), std::move(axes));
  if (!groups.ok() || InOrderOfFirst(groups->flattened_replica_groups()) !=
                          InOrderOfFirst(GetPartitionGroupsAcrossTargetDims(
                                             sharding, target_dims, group_sizes)
                                             ->flattened_replica_groups())) {
    return std::nullopt;
  }
  return *std::move(groups);
}

HloSharding CanonicalizeSharding(const HloSharding& sharding) {
  if (sharding.IsTuple()) {
    std::vector<HloSharding> elements;
    for (const HloSharding& element : sharding.tuple_elements()) {
      elements.push_back(CanonicalizeSharding(element));
    }
    return HloSharding::FlatTuple(std::move(elements));
  }
  const HloSharding tiled = HloSharding::V3ToV2Sharding(sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  TileAssignment tiles = tiled.tile_assignment();
  if (!tiles.iota().has_value()) {
    std::optional<IotaTileAssignment> rule =
        IotaTileAssignment::FromArray(tiles.array());
    if (rule.has_value()) tiles = TileAssignment(*std::move(rule));
  }
  if (!tiled.subgroup_types().empty()) {
    return HloSharding::Subgroup(tiles, tiled.subgroup_types(),
                                 tiled.metadata());
  }
  return tiled.ReplicateOnLastTileDim()
             ? HloSharding::PartialTile(tiles, tiled.metadata())
             : HloSharding::Tile(tiles, tiled.metadata());
}

}  // namespace xla::spmd
