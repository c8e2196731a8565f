// Shardings in two levels: groups of devices, and tiles inside each group.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/hlo_sharding_util_internal.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_sharding_util {

using internal::Product;
using internal::Retile;
using internal::SubgroupTypes;
using internal::TiledForm;

namespace {

TileAssignment TilesOf(absl::Span<const std::vector<int64_t>> groups) {
  CHECK(!groups.empty());
  auto array = std::make_shared<Array<int64_t>>(
      absl::MakeConstSpan({static_cast<int64_t>(groups.size()),
                           static_cast<int64_t>(groups[0].size())}));
  int64_t* next = array->begin();
  for (const std::vector<int64_t>& group : groups) {
    CHECK_EQ(group.size(), groups[0].size());
    next = absl::c_copy(group, next);
  }
  return TileAssignment(std::move(array));
}

// The tiles inside a group, subgroup dimensions at the end; a sharding that
// cuts nothing is `group_size` replicas.
struct InnerTiles {
  TileAssignment tiles;
  std::vector<OpSharding::Type> types;
};
InnerTiles TilesInGroup(const HloSharding& sharding, int64_t data_rank,
                        int64_t group_size) {
  const HloSharding tiled = TiledForm(sharding);
  if (tiled.IsTiledLeaf()) {
    return {tiled.tile_assignment(), SubgroupTypes(tiled)};
  }
  std::vector<int64_t> dims(data_rank, 1);
  dims.push_back(group_size);
  const OpSharding::Type type =
      tiled.IsManualLeaf() ? OpSharding::MANUAL : OpSharding::REPLICATED;
  return {TileAssignment(absl::MakeConstSpan(dims)), {type}};
}

// groups(g, tiles(..)) as an array of dimensions [groups, dims of tiles...].
//
// For iota tiles the result is computed symbolically, without listing devices.
TileAssignment Compose(const TileAssignment& groups,
                       const TileAssignment& tiles) {
  std::vector<int64_t> dims = {groups.dim(0)};
  dims.insert(dims.end(), tiles.dimensions().begin(), tiles.dimensions().end());
  if (tiles.iota()) {
    // arange(k).reshape(r).transpose(p) applied to each row.
    std::vector<int64_t> source = {groups.dim(0)};
    const absl::Span<const int64_t> reshape_dims = tiles.iota()->reshape_dims();
    source.insert(source.end(), reshape_dims.begin(), reshape_dims.end());
    std::vector<int> perm = {0};
    for (int p : tiles.iota()->transpose_perm()) perm.push_back(p + 1);
    return groups.Reshape(source).Transpose(perm).Reshape(dims);
  }
  auto array = std::make_shared<Array<int64_t>>(dims);
  int64_t* next = array->begin();
  for (int64_t g = 0; g < groups.dim(0); ++g) {
    tiles.Each([&](absl::Span<const int64_t>, int64_t id) {
      *next++ = groups(g, id);
    });
  }
  return TileAssignment(std::move(array));
}

// For each group of `groups`, the number of the group of `reference` with the
// same devices; nullopt if there is none.
std::optional<std::vector<int64_t>> MatchGroups(
    absl::Span<const std::vector<int64_t>> groups,
    absl::Span<const std::vector<int64_t>> reference, bool ignore_order) {
  if (groups.size() != reference.size()) return std::nullopt;
  absl::flat_hash_map<int64_t, int64_t> group_of;
  for (size_t g = 0; g < reference.size(); ++g) {
    for (int64_t device : reference[g]) group_of[device] = g;
  }
  std::vector<int64_t> result;
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto first = group_of.find(groups[g].front());
    if (first == group_of.end()) return std::nullopt;
    const int64_t match = first->second;
    if (!ignore_order && match != static_cast<int64_t>(g)) return std::nullopt;
    if (reference[match].size() != groups[g].size()) return std::nullopt;
    for (int64_t device : groups[g]) {
      const auto it = group_of.find(device);
      if (it == group_of.end() || it->second != match) return std::nullopt;
    }
    result.push_back(match);
  }
  return result;
}

// new_id[i]: the position in `reference` of the device at position i of
// `group`, or empty if the two do not hold the same devices.
std::vector<int64_t> Renaming(absl::Span<const int64_t> group,
                              absl::Span<const int64_t> reference) {
  absl::flat_hash_map<int64_t, int64_t> place;
  for (size_t i = 0; i < reference.size(); ++i) place[reference[i]] = i;
  std::vector<int64_t> result;
  for (int64_t device : group) {
    const auto it = place.find(device);
    if (it == place.end()) return {};
    result.push_back(it->second);
  }
  return result;
}

HloSharding RenameDevices(const HloSharding& sharding,
                          absl::Span<const int64_t> new_id) {
  const HloSharding tiled = TiledForm(sharding);
  if (tiled.IsSingleDeviceLeaf()) {
    const int64_t device = tiled.GetUniqueDevice();
    if (device < 0 || device >= static_cast<int64_t>(new_id.size())) {
      return tiled;
    }
    return HloSharding::SingleDevice(new_id[device], tiled.metadata());
  }
  if (!tiled.IsTiledLeaf()) return tiled;
  bool identity = true;
  for (size_t i = 0; i < new_id.size(); ++i) {
    identity = identity && new_id[i] == static_cast<int64_t>(i);
  }
  if (identity) return tiled;
  auto array = tiled.tile_assignment().shared_array_clone();
  for (int64_t& device : *array) device = new_id[device];
  return Retile(tiled, TileAssignment(std::move(array)).ToV2(),
                SubgroupTypes(tiled));
}

}  // namespace

DeviceGroupTileAssignment::DeviceGroupTileAssignment(
    const TileAssignment& tile_assignment)
    : TileAssignment(tile_assignment) {
  CHECK_EQ(tile_assignment.num_dimensions(), 2) << tile_assignment.ToString();
}

DeviceGroupTileAssignment::DeviceGroupTileAssignment(
    absl::Span<const std::vector<int64_t>> device_groups)
    : TileAssignment(TilesOf(device_groups)) {}

std::vector<std::vector<int64_t>>
DeviceGroupTileAssignment::flattened_device_groups() const {
  std::vector<std::vector<int64_t>> result(num_groups());
  Each([&](absl::Span<const int64_t> index, int64_t device) {
    result[index[0]].push_back(device);
  });
  return result;
}

std::string GroupedSharding::ToString() const {
  std::vector<std::string> groups;
  for (const std::vector<int64_t>& group :
       device_groups.flattened_device_groups()) {
    groups.push_back(absl::StrCat("{", absl::StrJoin(group, ","), "}"));
  }
  return absl::StrCat("groups {", absl::StrJoin(groups, ","), "} at dims {",
                      absl::StrJoin(group_dims, ","), "} of sizes {",
                      absl::StrJoin(group_dim_sizes, ","), "}, rank ",
                      data_rank, ", inside ", sharding.ToString(),
                      subgroup_manual ? ", manual" : "");
}

// Grouping views a sharding on two levels: the group dimensions choose a group
// of devices, and inside each group the remaining dimensions are sharded over
// its members, which are renumbered from 0. The partitioner uses this to handle
// one set of dimensions at a time, as if there were no others. Each tile
// dimension is split into an outer part (groups) and an inner part, then all
// outer parts are transposed to the front; on iota assignments this is
// symbolic.
GroupedSharding GroupShardingOnDims(const HloSharding& sharding,
                                    absl::Span<const int64_t> group_dims,
                                    absl::Span<const int64_t> group_dim_shards,
                                    bool subgroup_manual) {
  const HloSharding tiled = TiledForm(sharding);
  CHECK(tiled.IsTiledLeaf()) << tiled.ToString();
  CHECK_EQ(group_dims.size(), group_dim_shards.size());
  const int64_t rank = tiled.num_dimensions();
  std::vector<int64_t> outer(rank, 1);
  std::vector<int64_t> inner(tiled.dimensions().begin(),
                             tiled.dimensions().end());
  DimensionVector sizes;
  for (size_t i = 0; i < group_dims.size(); ++i) {
    const int64_t d = group_dims[i];
    CHECK_EQ(inner[d] % group_dim_shards[i], 0) << tiled.ToString();
    outer[d] = inner[d] / group_dim_shards[i];
    inner[d] = group_dim_shards[i];
    sizes.push_back(outer[d]);
  }
  // [outer 0, inner 0, outer 1, ...] → group dims in their order, then inner.
  std::vector<int64_t> split;
  std::vector<int> perm;
  for (int64_t d = 0; d < rank; ++d) {
    split.push_back(outer[d]);
    split.push_back(inner[d]);
  }
  for (int64_t d : group_dims) perm.push_back(static_cast<int>(2 * d));
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(group_dims, d)) {
      perm.push_back(static_cast<int>(2 * d));  // of extent 1
    }
  }
  for (int64_t d = 0; d < rank; ++d)
    perm.push_back(static_cast<int>(2 * d + 1));
  // A subgroup dimension that became groups is none inside them.
  const std::vector<OpSharding::Type> all_types = SubgroupTypes(tiled);
  std::vector<OpSharding::Type> types;
  std::vector<int64_t> inner_dims;
  for (int64_t d = 0; d < rank; ++d) {
    const bool subgroup = d >= tiled.TiledDataRank();
    if (subgroup && inner[d] == 1 && absl::c_linear_search(group_dims, d)) {
      continue;
    }
    inner_dims.push_back(inner[d]);
    if (subgroup) types.push_back(all_types[d - tiled.TiledDataRank()]);
  }
  const std::vector<int64_t> group_sizes = {Product(outer), Product(inner)};
  return GroupedSharding(
      DeviceGroupTileAssignment(
          tiled.tile_assignment().Reshape(split).Transpose(perm).Reshape(
              group_sizes)),
      DimensionVector(group_dims.begin(), group_dims.end()), std::move(sizes),
      tiled.TiledDataRank(),
      Retile(tiled, TileAssignment(absl::MakeConstSpan(inner_dims)), types),
      subgroup_manual);
}

GroupedSharding GroupShardingOnDims(const HloSharding& sharding,
                                    absl::Span<const int64_t> group_dims,
                                    bool subgroup_manual) {
  return GroupShardingOnDims(sharding, group_dims,
                             std::vector<int64_t>(group_dims.size(), 1),
                             subgroup_manual);
}

GroupedSharding GroupShardingOnAllDimsExcept(
    const HloSharding& sharding, absl::Span<const int64_t> non_group_dims,
    bool subgroup_manual) {
  std::vector<int64_t> group_dims;
  for (int64_t d = 0; d < TiledForm(sharding).num_dimensions(); ++d) {
    if (!absl::c_linear_search(non_group_dims, d)) group_dims.push_back(d);
  }
  return GroupShardingOnDims(sharding, group_dims, subgroup_manual);
}

// Groups made of replicas need no communication to form. If there are too few
// replicas, the minor part of dimensions in `replicable_dims` is given up to
// get more; if this is not enough either, the groups are plain runs of devices.
GroupedSharding GroupShardingOnReplicatedDim(
    const HloSharding& sharding, int64_t num_groups, int64_t num_tiles,
    int64_t data_rank, absl::Span<const int64_t> replicable_dims) {
  HloSharding tiled = TiledForm(sharding);
  if (tiled.IsTiledLeaf()) {
    const int64_t replicas =
        tiled.SubgroupReplicationDim() < 0
            ? 1
            : tiled.dimension(tiled.SubgroupReplicationDim());
    // How many more replicas are needed, and where to take them from.
    int64_t missing = num_groups / std::gcd(num_groups, replicas);
    HloSharding enough = tiled;
    for (int64_t d : replicable_dims) {
      const int64_t part = std::gcd(missing, tiled.dimension(d));
      if (part == 1) continue;
      // The minor part of the dimension becomes replicas.
      const HloSharding split =
          SplitShardingDimension(enough, d, enough.dimension(d) / part);
      enough = RemoveShapeDimensions(
          PartiallyReplicateTiledShardingOnDims(split, {d + 1}), {d + 1});
      missing /= part;
    }
    if (missing == 1 && enough.IsTiledLeaf()) {
      const int64_t d = enough.SubgroupReplicationDim();
      if (d >= 0 && enough.dimension(d) % num_groups == 0) {
        const int64_t left = enough.dimension(d) / num_groups;
        return GroupShardingOnDims(enough, {d}, absl::MakeConstSpan(&left, 1));
      }
    }
  }
  return GetGroupedReplicatedSharding(num_groups, num_tiles, data_rank);
}

GroupedSharding GetGroupedReplicatedSharding(int64_t num_groups,
                                             int64_t num_tiles,
                                             int64_t data_rank) {
  CHECK_EQ(num_tiles % num_groups, 0);
  return GroupedSharding(
      DeviceGroupTileAssignment(num_groups, num_tiles / num_groups),
      {data_rank}, {num_groups}, data_rank, HloSharding::Replicate());
}

GroupedSharding GetManualSubgroupSharding(const HloSharding& sharding) {
  const HloSharding tiled = TiledForm(sharding);
  CHECK(tiled.IsManualSubgroup()) << tiled.ToString();
  return GroupShardingOnDims(tiled, {tiled.SubgroupManualDim()},
                             /*subgroup_manual=*/true);
}

std::optional<GroupedSharding>
PartialReplicatedGroupShardingWithAssignedDeviceGroups(
    const HloSharding& sharding, int64_t num_shards,
    const DeviceGroupTileAssignment& device_groups) {
  const HloSharding tiled = TiledForm(sharding);
  const int64_t group_size = device_groups.num_devices_per_group();
  if (!tiled.ReplicateOnLastTileDim() ||
      device_groups.num_groups() != num_shards ||
      device_groups.num_total_devices() != tiled.num_devices() ||
      tiled.dimensions().back() % num_shards != 0) {
    return std::nullopt;
  }
  const std::vector<std::vector<int64_t>> groups =
      device_groups.flattened_device_groups();
  const int64_t rank = tiled.TiledDataRank();
  const int64_t replicas = tiled.dimensions().back();
  // Position in the tile grid, data dimensions only, of each device.
  absl::flat_hash_map<int64_t, int64_t> tile_of;
  int64_t position = 0;
  tiled.tile_assignment().Each([&](absl::Span<const int64_t>, int64_t device) {
    tile_of[device] = position++ / replicas;
  });
  std::vector<std::vector<int64_t>> ids_of_tile(tile_of.size() / replicas);
  for (int64_t id = 0; id < group_size; ++id) {
    const auto first = tile_of.find(groups[0][id]);
    if (first == tile_of.end()) return std::nullopt;
    for (const std::vector<int64_t>& group : groups) {
      const auto it = tile_of.find(group[id]);
      if (it == tile_of.end() || it->second != first->second) {
        return std::nullopt;
      }
    }
    ids_of_tile[first->second].push_back(id);
  }
  std::vector<int64_t> dims(tiled.dimensions().begin(),
                            tiled.dimensions().end());
  dims.back() = replicas / num_shards;
  auto inner = std::make_shared<Array<int64_t>>(dims);
  int64_t* next = inner->begin();
  for (const std::vector<int64_t>& ids : ids_of_tile) {
    if (static_cast<int64_t>(ids.size()) != dims.back()) return std::nullopt;
    next = absl::c_copy(ids, next);
  }
  return GroupedSharding(device_groups, {rank}, {num_shards}, rank,
                         Retile(tiled, TileAssignment(std::move(inner)).ToV2(),
                                {OpSharding::REPLICATED}));
}

HloSharding UngroupSharding(const GroupedSharding& grouped) {
  const int64_t rank = grouped.data_rank;
  InnerTiles inner = TilesInGroup(
      grouped.sharding, rank, grouped.device_groups.num_devices_per_group());
  const int64_t groups = grouped.group_dims.size();
  const int64_t inner_rank = inner.tiles.num_dimensions();
  // [group dims.., inner dims..]
  std::vector<int64_t> dims(grouped.group_dim_sizes.begin(),
                            grouped.group_dim_sizes.end());
  const TileAssignment composed = Compose(grouped.device_groups, inner.tiles);
  dims.insert(dims.end(), inner.tiles.dimensions().begin(),
              inner.tiles.dimensions().end());
  const TileAssignment split = composed.Reshape(dims);
  std::vector<int> perm;
  std::vector<int64_t> result_dims;
  std::vector<OpSharding::Type> types;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t size = inner.tiles.dim(d);
    for (int64_t g = 0; g < groups; ++g) {
      if (grouped.group_dims[g] != d) continue;
      perm.push_back(static_cast<int>(g));
      size *= grouped.group_dim_sizes[g];
    }
    perm.push_back(static_cast<int>(groups + d));
    result_dims.push_back(size);
  }
  for (int64_t g = 0; g < groups; ++g) {
    if (grouped.group_dims[g] < rank) continue;
    perm.push_back(static_cast<int>(g));
    result_dims.push_back(grouped.group_dim_sizes[g]);
    types.push_back(grouped.subgroup_manual ? OpSharding::MANUAL
                                            : OpSharding::REPLICATED);
  }
  for (int64_t d = rank; d < inner_rank; ++d) {
    perm.push_back(static_cast<int>(groups + d));
    result_dims.push_back(inner.tiles.dim(d));
    types.push_back(inner.types[d - rank]);
  }
  return Retile(TiledForm(grouped.sharding),
                split.Transpose(perm).Reshape(result_dims), types);
}

bool DeviceGroupsAreMatch(const GroupedSharding& lhs,
                          const GroupedSharding& rhs, bool ignore_group_order) {
  const TileAssignment& a = lhs.device_groups;
  const TileAssignment& b = rhs.device_groups;
  if (a == b) return true;
  if (a.dimensions() != b.dimensions()) return false;
  return MatchGroups(lhs.device_groups.flattened_device_groups(),
                     rhs.device_groups.flattened_device_groups(),
                     ignore_group_order)
      .has_value();
}

GroupedSharding AlignGroupsWith(GroupedSharding grouped_sharding,
                                const GroupedSharding& reference,
                                bool ignore_group_order) {
  const TileAssignment& from = grouped_sharding.device_groups;
  const TileAssignment& to = reference.device_groups;
  if (from == to) return grouped_sharding;
  const auto groups = grouped_sharding.device_groups.flattened_device_groups();
  const auto wanted = reference.device_groups.flattened_device_groups();
  if (std::optional<std::vector<int64_t>> match =
          MatchGroups(groups, wanted, ignore_group_order)) {
    const std::vector<int64_t> first = Renaming(groups[0], wanted[(*match)[0]]);
    bool same = true;
    for (size_t g = 1; same && g < groups.size(); ++g) {
      same = Renaming(groups[g], wanted[(*match)[g]]) == first;
    }
    if (same) {
      grouped_sharding.sharding =
          RenameDevices(grouped_sharding.sharding, first);
    }
  }
  grouped_sharding.device_groups = reference.device_groups;
  return grouped_sharding;
}

std::optional<GroupedSharding> AlignGroupsWithIfCompatible(
    GroupedSharding grouped_sharding, const GroupedSharding& reference) {
  const TileAssignment& from = grouped_sharding.device_groups;
  const TileAssignment& to = reference.device_groups;
  if (from == to) return grouped_sharding;
  const auto groups = grouped_sharding.device_groups.flattened_device_groups();
  const auto wanted = reference.device_groups.flattened_device_groups();
  if (groups.size() != wanted.size()) return std::nullopt;
  const std::vector<int64_t> first = Renaming(groups[0], wanted[0]);
  if (first.size() != wanted[0].size()) return std::nullopt;
  for (size_t g = 1; g < groups.size(); ++g) {
    if (Renaming(groups[g], wanted[g]) != first) return std::nullopt;
  }
  return AlignGroupsWith(std::move(grouped_sharding), reference);
}

}  // namespace hlo_sharding_util
}  // namespace xla
