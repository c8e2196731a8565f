#include "xla/hlo/transforms/sharding_propagation/border_edges.h"

#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_annotations.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla::sharding_edges {
namespace {

using Index = std::vector<int64_t>;

// By device, its place along all dimensions of a tiled sharding. None of
// devices that are not numbered from 0.
std::vector<Index> PlacesOf(const HloSharding& sharding) {
  const int64_t devices = sharding.num_devices();
  std::vector<Index> places(devices);
  bool numbered = true;
  sharding.tile_assignment().Each(
      [&](absl::Span<const int64_t> index, int64_t device) {
        numbered = numbered && device < devices;
        if (numbered) places[device].assign(index.begin(), index.end());
      });
  if (!numbered) places.clear();
  return places;
}

// Devices at those places, as many copies of each; the last dimension is a
// subgroup if `type` is given. Nullopt where the places are not of equally
// many.
std::optional<HloSharding> AtPlaces(Index dims,
                                    const std::vector<Index>& places,
                                    std::optional<OpSharding::Type> type) {
  int64_t tiles = 1;
  for (int64_t size : dims) tiles *= size;
  const int64_t devices = places.size();
  if (devices == 0 || devices % tiles != 0) return std::nullopt;
  const int64_t copies = devices / tiles;
  Index listed(devices), filled(tiles);
  for (int64_t device = 0; device < devices; ++device) {
    int64_t tile = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      tile = tile * dims[d] + places[device][d];
    }
    if (filled[tile] == copies) return std::nullopt;
    listed[tile * copies + filled[tile]++] = device;
  }
  std::vector<OpSharding::Type> types;
  if (type.has_value()) types.push_back(*type);
  if (copies > 1) {
    dims.push_back(copies);
    types.push_back(OpSharding::REPLICATED);
  }
  auto array = std::make_shared<Array<int64_t>>(dims);
  array->SetValues(listed);
  const auto iota = IotaTileAssignment::FromArray(*array);
  const TileAssignment assignment = iota.has_value()
                                        ? TileAssignment(*iota)
                                        : TileAssignment(std::move(array));
  return types.empty() ? HloSharding::Tile(assignment)
                       : HloSharding::Subgroup(assignment, types);
}

}  // namespace

std::optional<OpenBorder> OpenBorder::Of(const HloInstruction& border) {
  if (!IsManualBorder(border) || border.operand_count() != 1 ||
      !border.shape().IsArray() || !border.operand(0)->shape().IsArray() ||
      !border.has_sharding() || !border.operand(0)->has_sharding() ||
      UnspecifiedDims(border).empty()) {
    return std::nullopt;
  }
  const HloInstruction* outer = &border;
  const HloInstruction* inner = border.operand(0);
  if (EntersManualRegion(border)) std::swap(outer, inner);
  const HloSharding outside = HloSharding::V3ToV2Sharding(outer->sharding());
  const HloSharding inside = HloSharding::V3ToV2Sharding(inner->sharding());
  if (!outside.IsTiledLeaf() || outside.IsManualSubgroup() ||
      !inside.IsManualSubgroup() || inside.NumTiles() > 1 ||
      inside.num_devices() != outside.num_devices()) {
    return std::nullopt;
  }
  OpenBorder result;
  result.outside_ = outer->shape();
  const int64_t rank = outer->shape().dimensions().size();
  result.tile_of_device_ = PlacesOf(outside);
  for (Index& tile : result.tile_of_device_) tile.resize(rank);
  for (int64_t d = 0; d < rank; ++d) {
    result.tiles_.push_back(outside.dimension(d));
  }
  const int64_t manual = inside.SubgroupManualDim();
  result.num_groups_ = inside.dimension(manual);
  for (const Index& place : PlacesOf(inside)) {
    result.group_.push_back(place[manual]);
  }
  const auto devices = static_cast<size_t>(inside.num_devices());
  if (result.tile_of_device_.size() != devices ||
      result.group_.size() != devices) {
    return std::nullopt;
  }
  return result;
}

std::optional<HloSharding> OpenBorder::Inside(
    const HloSharding& outside) const {
  if (!outside.IsTiledLeaf() || outside.IsManualSubgroup() ||
      outside.num_devices() != static_cast<int64_t>(group_.size()) ||
      !hlo_sharding_util::EvenlyPartitions(outside_, outside)) {
    return std::nullopt;
  }
  Index dims;
  for (size_t d = 0; d < tiles_.size(); ++d) {
    if (outside.dimension(d) % tiles_[d] != 0) return std::nullopt;
    dims.push_back(outside.dimension(d) / tiles_[d]);
  }
  std::vector<Index> places = PlacesOf(outside);
  for (size_t device = 0; device < places.size(); ++device) {
    places[device].resize(tiles_.size());
    for (size_t d = 0; d < tiles_.size(); ++d) {
      if (places[device][d] / dims[d] != tile_of_device_[device][d]) {
        return std::nullopt;
      }
      places[device][d] %= dims[d];
    }
    places[device].push_back(group_[device]);
  }
  dims.push_back(num_groups_);
  return AtPlaces(std::move(dims), places, OpSharding::MANUAL);
}

std::optional<HloSharding> OpenBorder::Outside(
    const HloSharding& inside) const {
  if (!inside.IsTiledLeaf() || !inside.IsManualSubgroup() ||
      inside.num_devices() != static_cast<int64_t>(group_.size())) {
    return std::nullopt;
  }
  Index dims;
  for (size_t d = 0; d < tiles_.size(); ++d) {
    dims.push_back(tiles_[d] * inside.dimension(d));
  }
  std::vector<Index> places = PlacesOf(inside);
  const int64_t manual = inside.SubgroupManualDim();
  for (size_t device = 0; device < places.size(); ++device) {
    if (places[device][manual] != group_[device]) return std::nullopt;
    places[device].resize(tiles_.size());
    for (size_t d = 0; d < tiles_.size(); ++d) {
      places[device][d] += tile_of_device_[device][d] * inside.dimension(d);
    }
  }
  std::optional<HloSharding> outside =
      AtPlaces(std::move(dims), places, std::nullopt);
  if (outside.has_value() &&
      !hlo_sharding_util::EvenlyPartitions(outside_, *outside)) {
    return std::nullopt;
  }
  return outside;
}

}  // namespace xla::sharding_edges
