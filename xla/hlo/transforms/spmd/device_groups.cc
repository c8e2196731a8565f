#include "xla/hlo/transforms/spmd/device_groups.h"

#include <numeric>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "xla/array.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/tile_assignment.h"

namespace xla::spmd {
namespace {

// Rows of `tiles`, whose last dimensions make a group.
std::unique_ptr<CollectiveDeviceListBase> GroupsOfRows(
    const TileAssignment& tiles, int64_t group_size) {
  const int64_t num_groups = tiles.num_elements() / group_size;
  const TileAssignment groups = tiles.Reshape({num_groups, group_size});
  if (groups.iota().has_value()) {
    return std::make_unique<IotaReplicaGroupList>(num_groups, group_size,
                                                  *groups.iota());
  }
  std::vector<std::vector<int64_t>> lists(num_groups);
  groups.Each([&](absl::Span<const int64_t> index, int64_t device) {
    lists[index[0]].push_back(device);
  });
  return std::make_unique<CollectiveDeviceList>(
      absl::Span<const std::vector<int64_t>>(lists));
}

// Copies of each tile.
int64_t Copies(const HloSharding& sharding) {
  return sharding.num_devices() / sharding.NumTiles();
}

}  // namespace

std::unique_ptr<CollectiveDeviceListBase> GetPartitionGroupsForReplication(
    const HloSharding& sharding, absl::Span<const int64_t> replication_dims,
    bool enable_rgv3) {
  std::vector<int64_t> sizes;
  for (int64_t d : replication_dims) {
    sizes.push_back(sharding.tile_assignment().dim(d));
  }
  return GetPartitionGroupsAcrossTargetDims(sharding, replication_dims, sizes,
                                            enable_rgv3);
}

// Splits every tile dimension into (which group, where in the group), moves the
// second parts of the target dimensions to the back and reads off rows. The
// iota form of the assignment survives reshape and transpose, so groups stay
// compact for any number of devices.
std::unique_ptr<CollectiveDeviceListBase> GetPartitionGroupsAcrossTargetDims(
    const HloSharding& sharding, absl::Span<const int64_t> target_dims,
    absl::Span<const int64_t> group_sizes, bool /*enable_rgv3*/) {
  const TileAssignment& tiles = sharding.tile_assignment();
  // Each dimension becomes two: which group, and where in it.
  std::vector<int64_t> dims;
  std::vector<int> perm;
  for (int64_t d = 0; d < tiles.num_dimensions(); ++d) {
    auto it = absl::c_find(target_dims, d);
    const int64_t size =
        it == target_dims.end() ? 1 : group_sizes[it - target_dims.begin()];
    CHECK_EQ(tiles.dim(d) % size, 0) << sharding.ToString();
    dims.push_back(tiles.dim(d) / size);
    dims.push_back(size);
    perm.push_back(2 * d);
  }
  int64_t group_size = 1;
  for (int64_t d = 0; d < tiles.num_dimensions(); ++d) {
    if (!absl::c_linear_search(target_dims, d)) perm.push_back(2 * d + 1);
  }
  for (int64_t d : target_dims) {
    perm.push_back(2 * d + 1);
    group_size *= dims[2 * d + 1];
  }
  return GroupsOfRows(tiles.Reshape(dims).Transpose(perm), group_size);
}

bool SameGroups(const CollectiveDeviceListBase& a,
                const CollectiveDeviceListBase& b) {
  if (a == b) return true;
  auto sorted = [](const CollectiveDeviceListBase& list) {
    std::vector<std::vector<int64_t>> groups = list.flattened_replica_groups();
    for (std::vector<int64_t>& group : groups) absl::c_sort(group);
    absl::c_sort(groups);
    return groups;
  };
  return sorted(a) == sorted(b);
}

IotaReplicaGroupList ExpandPartitionGroupListAcrossReplicas(
    const IotaReplicaGroupList& partition_group_list, int64_t num_replicas,
    int64_t num_partitions) {
  CHECK_EQ(partition_group_list.num_total_devices(), num_partitions);
  if (num_replicas == 1) return partition_group_list;
  std::vector<int64_t> reshape = {num_replicas};
  std::vector<int> perm = {0};
  absl::c_copy(partition_group_list.reshape_dims(),
               std::back_inserter(reshape));
  for (int d : partition_group_list.transpose_perm()) perm.push_back(d + 1);
  return IotaReplicaGroupList(
      num_replicas * partition_group_list.num_replica_groups(),
      partition_group_list.num_devices_per_group(), reshape, perm);
}

MeshAxesReplicaGroupList ExpandPartitionGroupListAcrossReplicas(
    const MeshAxesReplicaGroupList& partition_group_list, int64_t num_replicas,
    int64_t num_partitions) {
  const Mesh& mesh = partition_group_list.mesh();
  CHECK_EQ(mesh.num_devices(), num_partitions);
  if (num_replicas == 1) return partition_group_list;
  std::vector<absl::string_view> names = {"replica"};
  std::vector<int64_t> sizes = {num_replicas};
  for (int64_t i = 0; i < mesh.num_axes(); ++i) {
    names.push_back(mesh.axis_names()[i]);
    sizes.push_back(mesh.axis_size(i));
  }
  std::vector<AxisRef> axes;
  for (const AxisRef& axis : partition_group_list.axes()) {
    axes.push_back(
        axis.sub_axis_info().has_value()
            ? AxisRef(axis.mesh_axis_index() + 1, *axis.sub_axis_info())
            : AxisRef(axis.mesh_axis_index() + 1));
  }
  const TileAssignment& devices = mesh.device_assignment();
  if (devices.iota().has_value()) {
    std::vector<int64_t> reshape = {num_replicas};
    std::vector<int> perm = {0};
    absl::c_copy(devices.iota()->reshape_dims(), std::back_inserter(reshape));
    for (int d : devices.iota()->transpose_perm()) perm.push_back(d + 1);
    return MeshAxesReplicaGroupList(
        Mesh(TileAssignment(sizes, reshape, perm), names), axes);
  }
  Array<int64_t> array(sizes);
  auto out = array.begin();
  for (int64_t replica = 0; replica < num_replicas; ++replica) {
    for (int64_t device : devices.array()) {
      *out++ = replica * num_partitions + device;
    }
  }
  return MeshAxesReplicaGroupList(Mesh(std::move(array), names), axes);
}

// The sharding with the target's tile counts that can be reached from the
// partially replicated one by slicing locally: the copies of each tile are
// distributed over its parts.
std::optional<HloSharding> PartialReplicateReshardCompatibleSharding(
    const HloSharding& partial_sharding, const HloSharding& target_sharding) {
  if (!partial_sharding.IsTiledLeaf() || !target_sharding.IsTiledLeaf() ||
      partial_sharding.IsManualSubgroup() ||
      target_sharding.IsManualSubgroup() ||
      partial_sharding.num_devices() != target_sharding.num_devices() ||
      partial_sharding.TiledDataRank() != target_sharding.TiledDataRank()) {
    return std::nullopt;
  }
  const int64_t rank = partial_sharding.TiledDataRank();
  // Tiles, then the parts into which the copies go, then copies that stay.
  std::vector<int64_t> dims, target;
  int64_t parts = 1;
  for (int64_t d = 0; d < rank; ++d) {
    dims.push_back(partial_sharding.dimension(d));
    target.push_back(target_sharding.dimension(d));
    if (target[d] % dims[d] != 0) return std::nullopt;
    parts *= target[d] / dims[d];
  }
  const int64_t copies = Copies(partial_sharding);
  if (copies % parts != 0) return std::nullopt;
  std::vector<int> perm;
  for (int64_t d = 0; d < rank; ++d) {
    perm.push_back(d);
    perm.push_back(rank + d);
    dims.push_back(target[d] / dims[d]);
  }
  perm.push_back(2 * rank);
  dims.push_back(copies / parts);
  target.push_back(copies / parts);
  return HloSharding::PartialTile(
      partial_sharding.tile_assignment().Reshape(dims).Transpose(perm).Reshape(
          target));
}

bool CanReshardWithCollectivePermute(const HloSharding& source,
                                     const HloSharding& target) {
  return source.IsTiledLeaf() && target.IsTiledLeaf() && source != target &&
         source.tile_assignment().dimensions() ==
             target.tile_assignment().dimensions() &&
         source.ReplicateOnLastTileDim() == target.ReplicateOnLastTileDim() &&
         source.subgroup_types() == target.subgroup_types();
}

// An all-to-all over n devices cuts a shard into n parts along one dimension
// and joins n received ones along another, so it moves a whole tile count from
// one dimension to the other: [4,1] becomes [1,4], but [4,1] to [2,2] needs
// subgroups and is no pair here. Each dimension that has too many tiles is
// matched with the first one that it exchanges its count with.
std::optional<std::vector<std::pair<int64_t, int64_t>>>
GetReshardAllToAllSourceTargetDims(const HloSharding& source,
                                   const HloSharding& target) {
  if (!source.IsTiledLeaf() || !target.IsTiledLeaf() ||
      source.TiledDataRank() != target.TiledDataRank() ||
      Copies(source) != Copies(target)) {
    return std::nullopt;
  }
  // Dimensions that have to give tiles, each to one that lacks as many.
  std::vector<std::pair<int64_t, int64_t>> pairs;
  std::vector<int64_t> now;
  for (int64_t d = 0; d < source.TiledDataRank(); ++d) {
    now.push_back(source.dimension(d));
  }
  for (int64_t from = 0; from < now.size(); ++from) {
    if (now[from] <= target.dimension(from)) continue;
    bool found = false;
    for (int64_t to = 0; to < now.size() && !found; ++to) {
      found = now[to] < target.dimension(to) &&
              now[from] == target.dimension(to) &&
              now[to] == target.dimension(from);
      if (!found) continue;
      pairs.push_back({from, to});
      std::swap(now[from], now[to]);
    }
    if (!found) return std::nullopt;
  }
  if (pairs.empty()) return std::nullopt;
  return pairs;
}

}  // namespace xla::spmd
