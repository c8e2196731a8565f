// The order of shardings, their merges, and shardings that local slices reach.
#include <algorithm>
#include <cstdint>
#include <map>
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
namespace {

using internal::CommonDigits;
using internal::DeviceDigit;
using internal::DigitsOfDim;
using internal::FindCommonDigits;
using internal::Product;
using internal::Retile;
using internal::SubgroupTypes;
using internal::TiledForm;

bool LeafIsMoreSpecific(const HloSharding& lhs, const HloSharding& rhs) {
  if (lhs.IsUnknownLeaf()) return false;
  if (rhs.IsUnknownLeaf()) return true;
  const bool rhs_cuts_nothing =
      rhs.IsReplicatedLeaf() || rhs.IsSingleDeviceLeaf();
  if (lhs.IsManualLeaf()) return rhs_cuts_nothing;
  if (rhs.IsManualLeaf()) return false;
  if (lhs.IsSingleDeviceLeaf()) return rhs.IsReplicatedLeaf();
  return lhs.NumTiles() > rhs.NumTiles();
}

// Subgroups that are not replicas, with their types.
std::vector<OpSharding::Type> OtherTypes(const HloSharding& sharding) {
  std::vector<OpSharding::Type> types;
  for (OpSharding::Type type : SubgroupTypes(sharding)) {
    if (type != OpSharding::REPLICATED) types.push_back(type);
  }
  return types;
}

// The digits of a merge: per data dimension the longer of two lists, one of
// which begins the other. nullopt if no list begins the other, a digit is used
// twice, or the other subgroups differ.
//
// Two shardings whose device orders have a common refinement are compared by
// "digits": mixed-radix digits of the device number, of which each tile
// dimension uses some, major first. Shardings are compatible in a dimension if
// one list is a prefix of the other, that is, if one of them cuts the tiles of
// the other further. This needs time in the number of digits, not of devices.
std::optional<std::vector<std::vector<int>>> MergeDigits(
    const CommonDigits& digits, const HloSharding& a, const HloSharding& b) {
  std::vector<std::vector<int>> result;
  std::vector<bool> used(digits.first.size(), false);
  auto take = [&](std::vector<int> list) {
    for (int digit : list) {
      if (used[digit]) return false;
      used[digit] = true;
    }
    result.push_back(std::move(list));
    return true;
  };
  const int64_t rank = a.TiledDataRank();
  for (int64_t d = 0; d < rank; ++d) {
    std::vector<int> of_a = DigitsOfDim(digits.first, d);
    std::vector<int> of_b = DigitsOfDim(digits.second, d);
    if (of_a.size() < of_b.size()) of_a.swap(of_b);
    if (!std::equal(of_b.begin(), of_b.end(), of_a.begin())) {
      return std::nullopt;
    }
    if (!take(std::move(of_a))) return std::nullopt;
  }
  const int64_t dims[2][2] = {
      {a.SubgroupManualDim(), b.SubgroupManualDim()},
      {a.SubgroupUnreducedDim(), b.SubgroupUnreducedDim()}};
  for (const auto& [dim_a, dim_b] : dims) {
    if (dim_a < 0) continue;
    std::vector<int> of_a = DigitsOfDim(digits.first, dim_a);
    if (of_a != DigitsOfDim(digits.second, dim_b)) return std::nullopt;
    if (!take(std::move(of_a))) return std::nullopt;
  }
  return result;
}

std::optional<HloSharding> MergeByRule(const CommonDigits& digits,
                                       const HloSharding& a,
                                       const HloSharding& b) {
  std::optional<std::vector<std::vector<int>>> merged =
      MergeDigits(digits, a, b);
  if (!merged) return std::nullopt;
  std::vector<int64_t> mesh;
  for (const DeviceDigit& digit : digits.first) mesh.push_back(digit.size);
  std::vector<int> perm;
  std::vector<int64_t> dims;
  std::vector<bool> used(mesh.size(), false);
  for (const std::vector<int>& list : *merged) {
    int64_t size = 1;
    for (int digit : list) {
      perm.push_back(digit);
      used[digit] = true;
      size *= mesh[digit];
    }
    dims.push_back(size);
  }
  std::vector<OpSharding::Type> types = OtherTypes(a);
  int64_t replicas = 1;
  for (size_t i = 0; i < mesh.size(); ++i) {
    if (used[i]) continue;
    perm.push_back(static_cast<int>(i));
    replicas *= mesh[i];
  }
  dims.push_back(replicas);
  types.push_back(OpSharding::REPLICATED);
  return Retile(a, TileAssignment(dims, mesh, perm), types);
}

// The coordinates of each device without replicas, in `merged` dimensions
// (those of `sharding`, in which it may have fewer tiles).
std::map<int64_t, std::vector<int64_t>> Coordinates(
    const HloSharding& sharding) {
  std::map<int64_t, std::vector<int64_t>> result;
  const int64_t replica_dim = sharding.SubgroupReplicationDim();
  sharding.tile_assignment().Each(
      [&](absl::Span<const int64_t> index, int64_t device) {
        std::vector<int64_t> place(index.begin(), index.end());
        if (replica_dim >= 0) place.erase(place.begin() + replica_dim);
        result[device] = std::move(place);
      });
  return result;
}

// The same for any device order.
//
// Compares the tile coordinates of each device: O(devices x rank), used when
// the device orders have no common refinement.
std::optional<HloSharding> MergeByDevices(const HloSharding& a,
                                          const HloSharding& b) {
  const auto of_a = Coordinates(a);
  const auto of_b = Coordinates(b);
  const int64_t rank = a.TiledDataRank();
  std::vector<int64_t> dims_a(rank);
  std::vector<int64_t> dims;
  std::vector<int64_t> dims_b;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t x = a.dimension(d);
    const int64_t y = b.dimension(d);
    if (std::max(x, y) % std::min(x, y) != 0) return std::nullopt;
    dims_a[d] = x;
    dims_b.push_back(y);
    dims.push_back(std::max(x, y));
  }
  // Devices by merged coordinates, in ascending order on each tile.
  std::map<std::vector<int64_t>, std::vector<int64_t>> tiles;
  for (const auto& [device, place_a] : of_a) {
    const auto it = of_b.find(device);
    if (it == of_b.end()) return std::nullopt;
    std::vector<int64_t> place = place_a;
    for (int64_t d = 0; d < static_cast<int64_t>(place.size()); ++d) {
      const int64_t x = place_a[d];
      const int64_t y = it->second[d];
      if (d >= rank) {
        if (x != y) return std::nullopt;
        continue;
      }
      // The coarser coordinate has to be the major part of the finer one.
      const int64_t fine = dims_a[d] >= dims_b[d] ? x : y;
      const int64_t coarse = dims_a[d] >= dims_b[d] ? y : x;
      const int64_t ratio = dims[d] / std::min(dims_a[d], dims_b[d]);
      if (fine / ratio != coarse) return std::nullopt;
      place[d] = fine;
    }
    tiles[place].push_back(device);
  }
  std::vector<OpSharding::Type> types = OtherTypes(a);
  if (a.SubgroupManualDim() >= 0)
    dims.push_back(a.dimension(a.SubgroupManualDim()));
  if (a.SubgroupUnreducedDim() >= 0) {
    dims.push_back(a.dimension(a.SubgroupUnreducedDim()));
  }
  if (static_cast<int64_t>(tiles.size()) != Product(dims)) return std::nullopt;
  const int64_t replicas = of_a.size() / tiles.size();
  dims.push_back(replicas);
  types.push_back(OpSharding::REPLICATED);
  auto array = std::make_shared<Array<int64_t>>(dims);
  int64_t* next = array->begin();
  for (const auto& [place, devices] : tiles) {
    if (static_cast<int64_t>(devices.size()) != replicas) return std::nullopt;
    next = absl::c_copy(devices, next);
  }
  return Retile(a, TileAssignment(std::move(array)), types);
}

std::optional<HloSharding> Merge(const HloSharding& a, const HloSharding& b) {
  if (!a.IsTiledLeaf() || !b.IsTiledLeaf() ||
      a.TiledDataRank() != b.TiledDataRank() ||
      a.num_devices() != b.num_devices() || OtherTypes(a) != OtherTypes(b)) {
    return std::nullopt;
  }
  if (std::optional<CommonDigits> digits =
          FindCommonDigits(a.tile_assignment(), b.tile_assignment())) {
    return MergeByRule(*digits, a, b);
  }
  return MergeByDevices(a, b);
}

// Writes to `result` what improves on `now`, element by element; whether any
// does. `result` may be `offered`.
bool ImproveEach(absl::Span<const HloSharding> offered,
                 absl::Span<const HloSharding> now, bool combine,
                 absl::Span<HloSharding> result) {
  if (offered.size() != now.size()) return false;
  bool any = false;
  for (size_t i = 0; i < now.size(); ++i) {
    std::optional<HloSharding> better =
        BetterSharding(offered[i], now[i], combine);
    if (!better) continue;
    result[i] = *std::move(better);
    any = true;
  }
  return any;
}

// `sharding` with the minor part of each tile dimension replicated, so that the
// tiles of `coarse` are left.
std::optional<HloSharding> Coarsened(const HloSharding& sharding,
                                     const HloSharding& coarse) {
  std::vector<int64_t> split;
  std::vector<int> perm;
  std::vector<int> minor;
  std::vector<int64_t> dims;
  const int64_t rank = sharding.TiledDataRank();
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t kept = coarse.IsTiledLeaf() ? coarse.dimension(d) : 1;
    if (sharding.dimension(d) % kept != 0) return std::nullopt;
    perm.push_back(static_cast<int>(split.size()));
    split.push_back(kept);
    minor.push_back(static_cast<int>(split.size()));
    split.push_back(sharding.dimension(d) / kept);
    dims.push_back(kept);
  }
  std::vector<OpSharding::Type> types = SubgroupTypes(sharding);
  for (int64_t d = rank; d < sharding.num_dimensions(); ++d) {
    perm.push_back(static_cast<int>(split.size()));
    split.push_back(sharding.dimension(d));
    dims.push_back(sharding.dimension(d));
  }
  for (int i : minor) {
    perm.push_back(i);
    dims.push_back(split[i]);
    types.push_back(OpSharding::REPLICATED);
  }
  return Retile(
      sharding,
      sharding.tile_assignment().Reshape(split).Transpose(perm).Reshape(dims),
      types);
}

bool TilesDivide(const Shape& shape, const HloSharding& sharding) {
  for (int64_t d = 0; d < sharding.TiledDataRank(); ++d) {
    if (shape.dimensions(d) == 0 ||
        shape.dimensions(d) % sharding.dimension(d) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool IsShardingMoreSpecific(const HloSharding& lhs, const HloSharding& rhs) {
  if (!lhs.IsTuple() || !rhs.IsTuple()) {
    if (lhs.IsTuple() != rhs.IsTuple()) return false;
    return LeafIsMoreSpecific(lhs, rhs);
  }
  if (lhs.tuple_elements().size() != rhs.tuple_elements().size()) return false;
  bool better = false;
  for (size_t i = 0; i < lhs.tuple_elements().size(); ++i) {
    const HloSharding& a = lhs.tuple_elements()[i];
    const HloSharding& b = rhs.tuple_elements()[i];
    if (LeafIsMoreSpecific(b, a)) return false;
    better = better || LeafIsMoreSpecific(a, b);
  }
  return better;
}

bool IsSubTilingOrEqualSharding(const Shape& shape,
                                const HloSharding& potential_subsharding,
                                const HloSharding& sharding) {
  const HloSharding sub = TiledForm(potential_subsharding);
  const HloSharding whole = TiledForm(sharding);
  if (sub == whole) return true;
  if (whole.IsReplicatedLeaf()) return !sub.IsManualLeaf();
  if (!sub.IsTiledLeaf() || !whole.IsTiledLeaf()) return false;
  if (sub.num_devices() != whole.num_devices() ||
      sub.TiledDataRank() != whole.TiledDataRank() ||
      OtherTypes(sub) != OtherTypes(whole)) {
    return false;
  }
  if (TilesDivide(shape, sub) && TilesDivide(shape, whole)) {
    const std::optional<HloSharding> coarse = Coarsened(sub, whole);
    return coarse && *coarse == whole;
  }
  bool inside = true;
  sub.tile_assignment().Each([&](absl::Span<const int64_t>, int64_t device) {
    if (!inside || !whole.UsesDevice(device)) {
      inside = false;
      return;
    }
    const auto begin = sub.TileOffsetForDevice(shape, device);
    const auto end = sub.TileLimitForDevice(shape, device);
    const auto whole_begin = whole.TileOffsetForDevice(shape, device);
    const auto whole_end = whole.TileLimitForDevice(shape, device);
    for (size_t d = 0; d < begin.size(); ++d) {
      if (begin[d] == end[d]) return;  // an empty tile lies in every tile
    }
    for (size_t d = 0; d < begin.size(); ++d) {
      inside = inside && begin[d] >= whole_begin[d] && end[d] <= whole_end[d];
    }
  });
  return inside;
}

bool MergeShardingIfCompatible(const HloSharding& to_merge,
                               int64_t minimum_tiles, HloSharding* dst) {
  const HloSharding target = TiledForm(*dst);
  const HloSharding merging = TiledForm(to_merge);
  if (merging.IsTuple() || target.IsTuple()) return false;
  if (target.IsReplicatedLeaf() && merging.IsTiledLeaf() &&
      merging.NumTiles() >= minimum_tiles) {
    *dst = merging;
    return true;
  }
  std::optional<HloSharding> merged = Merge(target, merging);
  if (!merged || merged->NumTiles() < minimum_tiles || *merged == target) {
    return false;
  }
  *dst = merged->WithMetadata(merging.metadata(), /*overwrite=*/false);
  return true;
}

bool MergeShardingIfCompatible(const HloSharding& to_merge, HloSharding* dst) {
  if (dst->IsTuple()) return false;
  return MergeShardingIfCompatible(to_merge, dst->NumTiles() + 1, dst);
}

std::optional<HloSharding> BetterSharding(const HloSharding& offered,
                                          const HloSharding& now,
                                          bool combine) {
  if (offered.IsTuple() != now.IsTuple()) return std::nullopt;
  if (now.IsTuple()) {
    HloSharding result = now;
    if (!ImproveEach(offered.tuple_elements(), now.tuple_elements(), combine,
                     absl::MakeSpan(result.tuple_elements()))) {
      return std::nullopt;
    }
    return result;
  }
  if (combine && offered.HasPartialReplication() &&
      now.HasPartialReplication()) {
    const HloSharding other = TiledForm(now);
    const std::optional<HloSharding> both = Merge(TiledForm(offered), other);
    if (both && both->NumTiles() > offered.NumTiles() &&
        both->NumTiles() > now.NumTiles()) {
      return both->WithMetadata(other.metadata(), /*overwrite=*/false);
    }
  }
  if (!IsShardingMoreSpecific(offered, now)) return std::nullopt;
  return offered;
}

bool MergeSharding(const HloSharding& to_merge, HloSharding* dst,
                   bool may_combine_partial_sharding) {
  if (to_merge.IsTuple() != dst->IsTuple()) return false;
  const absl::Span<HloSharding> offered =
      dst->IsTuple() ? absl::MakeSpan(dst->tuple_elements())
                     : absl::MakeSpan(dst, 1);
  const absl::Span<const HloSharding> now =
      dst->IsTuple() ? absl::MakeConstSpan(to_merge.tuple_elements())
                     : absl::MakeConstSpan(&to_merge, 1);
  return ImproveEach(offered, now, may_combine_partial_sharding, offered);
}

// A sharding that all of them refine: in each dimension either the common
// tiling or replication. Dimensions are compared on their own, with all others
// replicated, so one disagreement does not lose the rest.
HloSharding FindCommonSharding(absl::Span<const HloSharding> shardings,
                               std::optional<HloSharding> default_sharding) {
  CHECK(!shardings.empty());
  const bool same = absl::c_all_of(
      shardings, [&](const HloSharding& s) { return s == shardings[0]; });
  if (same) return shardings[0];
  HloSharding common = TiledForm(shardings[0]);
  for (const HloSharding& sharding : shardings.subspan(1)) {
    const HloSharding next = TiledForm(sharding);
    if (!next.IsTiledLeaf() || !common.IsTiledLeaf() ||
        next.TiledDataRank() != common.TiledDataRank() ||
        next.num_devices() != common.num_devices()) {
      common = HloSharding::Replicate();
      break;
    }
    // Dimensions that both cut in the same way, each on its own.
    std::vector<int64_t> kept;
    for (int64_t d = 0; d < common.TiledDataRank(); ++d) {
      if (common.dimension(d) > 1 &&
          PartiallyReplicateTiledShardingOnAllDimsExcept(common, {d}) ==
              PartiallyReplicateTiledShardingOnAllDimsExcept(next, {d})) {
        kept.push_back(d);
      }
    }
    common = PartiallyReplicateTiledShardingOnAllDimsExcept(common, kept);
  }
  if (!common.IsTiledLeaf() && default_sharding) return *default_sharding;
  return common;
}

// The step by which propagation refines the sharding of one instruction from a
// neighbor's. Unless resharding is aggressive, a result is accepted only if it
// is an improvement (more specific, or tiles within the old tiles), so that
// repeated application terminates.
std::optional<HloSharding> ReturnImprovedShardingImpl(
    HloSharding from, const HloSharding* to_improved,
    const Shape& to_improved_shape, bool may_combine_partial_sharding,
    bool allow_aggressive_resharding) {
  // That a value is on one device says nothing of those around it.
  if (!from.IsTuple() && from.IsSingleDeviceLeaf()) return std::nullopt;
  if (to_improved == nullptr) return from;
  if (from == *to_improved || from.IsTuple() != to_improved->IsTuple()) {
    return std::nullopt;
  }
  if (from.IsTuple()) {
    return BetterSharding(from, *to_improved, may_combine_partial_sharding);
  }
  // A single device and manual are never merged away.
  if (to_improved->IsSingleDeviceLeaf() || to_improved->IsManualLeaf()) {
    return std::nullopt;
  }
  std::optional<HloSharding> better =
      BetterSharding(from, *to_improved, may_combine_partial_sharding);
  if (!better) return std::nullopt;
  // More tiles alone are not worth moving all elements to other devices.
  if (!allow_aggressive_resharding && to_improved_shape.IsArray() &&
      to_improved->IsTiledLeaf() && better->NumTiles() == from.NumTiles() &&
      !IsSubTilingOrEqualSharding(to_improved_shape, *better, *to_improved)) {
    return std::nullopt;
  }
  return better;
}

// The result can be reached from `partial_sharding` by a local slice: every
// device already holds what it needs, since each tile of the target lies within
// the partially replicated tile of the same device. If the device orders
// differ, a target with the same tile counts is built from the replicas of each
// tile; the caller still has to permute devices afterwards.
std::optional<HloSharding> PartialReplicateReshardCompatibleSharding(
    const HloSharding& partial_sharding, const HloSharding& target_sharding) {
  const HloSharding partial = TiledForm(partial_sharding);
  const HloSharding target = TiledForm(target_sharding);
  if (!partial.IsTiledLeaf() || !target.IsTiledLeaf() ||
      partial.SubgroupReplicationDim() < 0 ||
      partial.TiledDataRank() != target.TiledDataRank() ||
      partial.num_devices() != target.num_devices() ||
      OtherTypes(partial) != OtherTypes(target)) {
    return std::nullopt;
  }
  const std::optional<HloSharding> coarse = Coarsened(target, partial);
  if (!coarse) return std::nullopt;
  if (*coarse == partial) return target;
  // Another order: the replicas, major first, become the minor tiles.
  const int64_t rank = partial.TiledDataRank();
  const int64_t replica_dim = partial.SubgroupReplicationDim();
  std::vector<int64_t> split;
  std::vector<int> perm;
  std::vector<int64_t> dims;
  int64_t left = partial.dimension(replica_dim);
  std::vector<int64_t> parts;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t part = target.dimension(d) / partial.dimension(d);
    if (left % part != 0) return std::nullopt;
    left /= part;
    parts.push_back(part);
    dims.push_back(target.dimension(d));
  }
  for (int64_t d = 0; d < partial.num_dimensions(); ++d) {
    if (d != replica_dim) {
      split.push_back(partial.dimension(d));
      continue;
    }
    split.insert(split.end(), parts.begin(), parts.end());
    split.push_back(left);
  }
  for (int64_t d = 0; d < rank; ++d) {
    perm.push_back(static_cast<int>(d));
    perm.push_back(static_cast<int>(replica_dim + d));
  }
  for (int64_t i = rank; i < static_cast<int64_t>(split.size()); ++i) {
    if (i >= replica_dim && i < replica_dim + rank) continue;
    perm.push_back(static_cast<int>(i));
    dims.push_back(split[i]);
  }
  return Retile(
      partial,
      partial.tile_assignment().Reshape(split).Transpose(perm).Reshape(dims),
      SubgroupTypes(partial));
}

}  // namespace hlo_sharding_util
}  // namespace xla
