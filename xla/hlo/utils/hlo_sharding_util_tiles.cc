// Functions that rename, drop, add, split, join and move tile dimensions.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/hlo_sharding_util_internal.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_sharding_util {
namespace internal {

HloSharding TiledForm(const HloSharding& sharding) {
  return sharding.UseNamedShardingLeaf() ? HloSharding::V3ToV2Sharding(sharding)
                                         : sharding;
}

std::vector<OpSharding::Type> SubgroupTypes(const HloSharding& sharding) {
  if (sharding.ReplicateOnLastTileDim()) return {OpSharding::REPLICATED};
  return sharding.subgroup_types();
}

HloSharding Retile(const HloSharding& like, const TileAssignment& tiles,
                   absl::Span<const OpSharding::Type> types) {
  // A single replica is no subgroup.
  const int64_t rank = tiles.num_dimensions() - types.size();
  std::vector<int64_t> dims(tiles.dimensions().begin(),
                            tiles.dimensions().begin() + rank);
  std::vector<OpSharding::Type> kept_types;
  for (size_t i = 0; i < types.size(); ++i) {
    const int64_t size = tiles.dim(rank + i);
    if (types[i] == OpSharding::REPLICATED && size == 1) continue;
    kept_types.push_back(types[i]);
    dims.push_back(size);
  }
  if (kept_types.empty() && tiles.num_elements() == 1) {
    return HloSharding::Replicate(like.metadata());
  }
  HloSharding result = HloSharding::Subgroup(
      kept_types.size() == types.size() ? tiles : tiles.Reshape(dims),
      kept_types, like.metadata());
  if (result.SubgroupUnreducedDim() >= 0) {
    result.set_reduction_op(like.reduction_op());
  }
  return result;
}

int64_t Product(absl::Span<const int64_t> values) {
  int64_t product = 1;
  for (int64_t value : values) product *= value;
  return product;
}

namespace {

// Cuts the digits further, into factors `mesh` that refine their sizes.
std::vector<DeviceDigit> Refine(absl::Span<const SubDimInfo> digits,
                                absl::Span<const int64_t> mesh) {
  std::vector<DeviceDigit> result;
  size_t next = 0;
  for (const SubDimInfo& digit : digits) {
    for (int64_t left = digit.size; left > 1; left /= mesh[next++]) {
      // Digits of a dimension are told apart by where they come from: first by
      // the rank of the unrefined digit (minor = 0), then by their own.
      result.push_back(
          {mesh[next], digit.tile_dim_index, -digit.tile_sub_dim_index});
    }
  }
  return result;
}

// Replaces ranks of unrefined digits by ranks within the dimension.
void RankDigits(std::vector<DeviceDigit>* digits) {
  std::vector<int> order(digits->size());
  std::iota(order.begin(), order.end(), 0);
  absl::c_stable_sort(order, [&](int a, int b) {
    return std::make_pair((*digits)[a].dim, (*digits)[a].place) <
           std::make_pair((*digits)[b].dim, (*digits)[b].place);
  });
  int64_t dim = -1;
  int64_t rank = 0;
  for (int i : order) {
    DeviceDigit& digit = (*digits)[i];
    rank = digit.dim == dim ? rank + 1 : 0;
    dim = digit.dim;
    digit.place = rank;
  }
}

}  // namespace

// Writes both assignments over one mixed-radix numbering of the devices. Each
// iota assignment splits the device number into digits; the common factor
// sequence of the two lists of digit sizes refines both, after which every tile
// dimension of either assignment is a product of some of the common digits.
// nullopt if one assignment is no iota or the digit boundaries are incompatible
// (such as 2*3 and 3*2).
std::optional<CommonDigits> FindCommonDigits(const TileAssignment& first,
                                             const TileAssignment& second) {
  if (first.num_elements() != second.num_elements()) return std::nullopt;
  if (first.num_elements() == 1) return CommonDigits();
  const TileAssignment first_rule = first.iota() ? first : first.ToV2();
  const TileAssignment second_rule = second.iota() ? second : second.ToV2();
  if (!first_rule.iota() || !second_rule.iota()) return std::nullopt;
  auto drop_ones = [](std::vector<SubDimInfo>* digits) {
    digits->erase(
        std::remove_if(digits->begin(), digits->end(),
                       [](const SubDimInfo& d) { return d.size == 1; }),
        digits->end());
  };
  std::optional<std::vector<SubDimInfo>> a =
      GetOrderedSubDimsFromIotaTileAssignment(*first_rule.iota());
  std::optional<std::vector<SubDimInfo>> b =
      GetOrderedSubDimsFromIotaTileAssignment(*second_rule.iota());
  if (!a || !b) return std::nullopt;
  drop_ones(&*a);
  drop_ones(&*b);
  std::vector<int64_t> sizes_a;
  std::vector<int64_t> sizes_b;
  for (const SubDimInfo& digit : *a) sizes_a.push_back(digit.size);
  for (const SubDimInfo& digit : *b) sizes_b.push_back(digit.size);
  const std::vector<int64_t> mesh =
      ExtractCommonFactorSequence(sizes_a, sizes_b);
  if (mesh.empty()) return std::nullopt;
  CommonDigits result{Refine(*a, mesh), Refine(*b, mesh)};
  RankDigits(&result.first);
  RankDigits(&result.second);
  return result;
}

std::vector<int> DigitsOfDim(absl::Span<const DeviceDigit> digits,
                             int64_t dim) {
  std::vector<int> result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i].dim == dim) result.push_back(static_cast<int>(i));
  }
  absl::c_sort(result,
               [&](int a, int b) { return digits[a].place < digits[b].place; });
  return result;
}

}  // namespace internal

using internal::Retile;
using internal::SubgroupTypes;
using internal::TiledForm;

HloSharding TransposeSharding(const HloSharding& sharding,
                              absl::Span<const int64_t> dimensions) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  std::vector<int> perm(dimensions.begin(), dimensions.end());
  for (int64_t d = perm.size(); d < tiled.num_dimensions(); ++d) {
    perm.push_back(static_cast<int>(d));
  }
  return Retile(tiled, tiled.tile_assignment().Transpose(perm),
                SubgroupTypes(tiled));
}

HloSharding ReverseSharding(const HloSharding& sharding,
                            absl::Span<const int64_t> dimensions) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  if (absl::c_all_of(dimensions,
                     [&](int64_t d) { return tiled.dimension(d) == 1; })) {
    return tiled;
  }
  const TileAssignment& tiles = tiled.tile_assignment();
  auto reversed = std::make_shared<Array<int64_t>>(tiles.dimensions());
  std::vector<int64_t> source;
  reversed->Each([&](absl::Span<const int64_t> index, int64_t* device) {
    source.assign(index.begin(), index.end());
    for (int64_t d : dimensions) source[d] = tiles.dim(d) - 1 - source[d];
    *device = tiles(source);
  });
  return Retile(tiled, TileAssignment(std::move(reversed)),
                SubgroupTypes(tiled));
}

// Moves the tile dimensions to the end and declares them replicas; the order of
// devices within the remaining tiles stays.
HloSharding PartiallyReplicateTiledShardingOnDims(
    const HloSharding& sharding, absl::Span<const int64_t> dims_to_replicate) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  const int64_t rank = tiled.TiledDataRank();
  std::vector<int64_t> dims(tiled.dimensions().begin(),
                            tiled.dimensions().end());
  std::vector<int64_t> moved;
  for (int64_t d = 0; d < rank; ++d) {
    if (dims[d] > 1 && absl::c_linear_search(dims_to_replicate, d)) {
      moved.push_back(d);
    }
  }
  if (moved.empty()) return tiled;
  std::vector<int> perm;
  for (int64_t d = 0; d < tiled.num_dimensions(); ++d) {
    if (!absl::c_linear_search(moved, d)) perm.push_back(static_cast<int>(d));
  }
  std::vector<OpSharding::Type> types = SubgroupTypes(tiled);
  for (int64_t d : moved) {
    perm.push_back(static_cast<int>(d));
    types.push_back(OpSharding::REPLICATED);
  }
  // Put dimensions of extent 1 where the moved ones stood.
  std::vector<int64_t> new_dims = dims;
  for (int64_t d : moved) {
    new_dims.push_back(dims[d]);
    new_dims[d] = 1;
  }
  return Retile(
      tiled, tiled.tile_assignment().Transpose(perm).Reshape(new_dims), types);
}

HloSharding PartiallyReplicateTiledShardingOnAllDimsExcept(
    const HloSharding& sharding, absl::Span<const int64_t> dims_to_keep) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < tiled.TiledDataRank(); ++d) {
    if (!absl::c_linear_search(dims_to_keep, d)) dims.push_back(d);
  }
  return PartiallyReplicateTiledShardingOnDims(tiled, dims);
}

HloSharding ReplicateAllDataDims(const HloSharding& sharding,
                                 int64_t data_rank) {
  const HloSharding tiled = TiledForm(sharding);
  const HloSharding replicated =
      PartiallyReplicateTiledShardingOnAllDimsExcept(tiled, {});
  if (data_rank < 0 || !replicated.IsTiledLeaf() ||
      replicated.TiledDataRank() == data_rank) {
    return replicated;
  }
  std::vector<int64_t> dims(data_rank, 1);
  for (int64_t d = replicated.TiledDataRank(); d < replicated.num_dimensions();
       ++d) {
    dims.push_back(replicated.dimension(d));
  }
  return Retile(replicated, replicated.tile_assignment().Reshape(dims),
                SubgroupTypes(replicated));
}

HloSharding RemoveShapeDimensions(const HloSharding& sharding,
                                  absl::Span<const int64_t> dims_to_remove) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf() || dims_to_remove.empty()) return tiled;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < tiled.num_dimensions(); ++d) {
    if (!absl::c_linear_search(dims_to_remove, d)) {
      dims.push_back(tiled.dimension(d));
    } else {
      CHECK_EQ(tiled.dimension(d), 1) << tiled.ToString() << " dimension " << d;
    }
  }
  return Retile(tiled, tiled.tile_assignment().Reshape(dims),
                SubgroupTypes(tiled));
}

HloSharding AddShapeDimensions(const HloSharding& sharding,
                               int64_t insertion_index, int64_t num_dims) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf() || num_dims == 0) return tiled;
  CHECK_LE(insertion_index, tiled.TiledDataRank());
  std::vector<int64_t> dims(tiled.dimensions().begin(),
                            tiled.dimensions().end());
  dims.insert(dims.begin() + insertion_index, num_dims, 1);
  return Retile(tiled, tiled.tile_assignment().Reshape(dims),
                SubgroupTypes(tiled));
}

std::optional<HloSharding> TransposeShardingWithCollapsedDims(
    const HloSharding& source, absl::Span<int64_t const> src_to_tgt,
    absl::Span<int64_t const> tgt_to_src) {
  const HloSharding tiled = TiledForm(source);
  if (!tiled.IsTiledLeaf()) return tiled;
  const int64_t src_rank = src_to_tgt.size();
  const int64_t tgt_rank = tgt_to_src.size();
  if (src_rank != tiled.TiledDataRank()) return std::nullopt;
  for (int64_t d = 0; d < src_rank; ++d) {
    const int64_t target = src_to_tgt[d];
    if (target >= tgt_rank || (target >= 0 && tgt_to_src[target] != d)) {
      return std::nullopt;
    }
  }
  std::vector<int64_t> source_dims;
  std::vector<int64_t> target_dims;
  for (int64_t d = 0; d < tgt_rank; ++d) {
    const int64_t from = tgt_to_src[d];
    if (from < 0) continue;
    if (from >= src_rank || src_to_tgt[from] != d) return std::nullopt;
    source_dims.push_back(from);
    target_dims.push_back(d);
  }
  return PropagateShardingAlongDimsAndReplicateOthers(tiled, source_dims,
                                                      target_dims, tgt_rank);
}

// Reorders tile dimensions as target <- source, gives target dimensions without
// a source one tile, and turns source dimensions without a target into
// replicas.
HloSharding PropagateShardingAlongDimsAndReplicateOthers(
    const HloSharding& source_sharding, absl::Span<const int64_t> source_dims,
    absl::Span<const int64_t> target_dims, int64_t target_shape_rank) {
  CHECK_EQ(source_dims.size(), target_dims.size());
  const HloSharding tiled = TiledForm(source_sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  const int64_t rank = tiled.TiledDataRank();
  std::vector<int64_t> source_of(target_shape_rank, -1);
  for (size_t i = 0; i < source_dims.size(); ++i) {
    source_of[target_dims[i]] = source_dims[i];
  }
  std::vector<OpSharding::Type> types = SubgroupTypes(tiled);
  std::vector<int> perm;
  std::vector<int64_t> dims;
  for (int64_t source : source_of) {
    dims.push_back(source < 0 ? 1 : tiled.dimension(source));
    if (source >= 0) perm.push_back(static_cast<int>(source));
  }
  for (int64_t d = rank; d < tiled.num_dimensions(); ++d) {
    perm.push_back(static_cast<int>(d));
    dims.push_back(tiled.dimension(d));
  }
  for (int64_t d = 0; d < rank; ++d) {
    if (absl::c_linear_search(source_of, d)) continue;
    perm.push_back(static_cast<int>(d));
    dims.push_back(tiled.dimension(d));
    types.push_back(OpSharding::REPLICATED);
  }
  return Retile(tiled, tiled.tile_assignment().Transpose(perm).Reshape(dims),
                types);
}

// The tiles of the source become minor within those of the target: with [2,4]
// tiles moved from dimension 0 to 1, the device of tile (i, j) gets tile 2 * j
// + i. So each part of the target dimension is cut among the devices that had
// it, and data moves only between devices that differ in i.
HloSharding MoveAndMergeShardingTiles(const HloSharding& sharding,
                                      int64_t source_dim, int64_t target_dim) {
  CHECK_NE(source_dim, target_dim);
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf() || tiled.dimension(source_dim) == 1) return tiled;
  std::vector<int> perm;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < tiled.num_dimensions(); ++d) {
    dims.push_back(tiled.dimension(d));
    if (d != source_dim) perm.push_back(static_cast<int>(d));
    if (d == target_dim) perm.push_back(static_cast<int>(source_dim));
  }
  dims[target_dim] *= dims[source_dim];
  dims[source_dim] = 1;
  return Retile(tiled, tiled.tile_assignment().Transpose(perm).Reshape(dims),
                SubgroupTypes(tiled));
}

std::optional<int64_t> GetFirstTargetDimToMoveShardingTiles(
    const Shape& shape, const HloSharding& sharding, int64_t source_dim,
    std::function<bool(int64_t)> can_be_target_dim) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf()) return std::nullopt;
  for (int64_t d = 0; d < tiled.TiledDataRank(); ++d) {
    if (d == source_dim) continue;
    const int64_t tiles = tiled.dimension(d) * tiled.dimension(source_dim);
    if (shape.dimensions(d) % tiles == 0 && can_be_target_dim(d)) return d;
  }
  return std::nullopt;
}

HloSharding SplitShardingDimension(const HloSharding& sharding,
                                   int64_t dimension, int64_t new_dim_size) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  std::vector<int64_t> dims(tiled.dimensions().begin(),
                            tiled.dimensions().end());
  CHECK_EQ(dims[dimension] % new_dim_size, 0) << tiled.ToString();
  dims.insert(dims.begin() + dimension + 1, dims[dimension] / new_dim_size);
  dims[dimension] = new_dim_size;
  return Retile(tiled, tiled.tile_assignment().Reshape(dims),
                SubgroupTypes(tiled));
}

HloSharding MergeShardingDimension(const HloSharding& sharding,
                                   int64_t dimension) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  CHECK_LT(dimension + 1, tiled.TiledDataRank());
  std::vector<int64_t> dims(tiled.dimensions().begin(),
                            tiled.dimensions().end());
  dims[dimension] *= dims[dimension + 1];
  dims.erase(dims.begin() + dimension + 1);
  return Retile(tiled, tiled.tile_assignment().Reshape(dims),
                SubgroupTypes(tiled));
}

}  // namespace hlo_sharding_util
}  // namespace xla
