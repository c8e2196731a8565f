// Which part of a value a device holds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

int64_t TileSize(int64_t size, int64_t tiles) {
  return size / tiles + (size % tiles != 0);
}

}  // namespace

std::vector<int64_t> HloSharding::TileIndexForDevice(int64_t device) const {
  CHECK(IsTiledLeaf()) << ToString();
  std::vector<int64_t> index = tile_assignment_.index_for(device);
  index.resize(TiledDataRank());
  return index;
}

// All tiles but the last ones have ceil(size / tiles) elements, so the end of
// the array may cut a tile short or leave nothing of it: f32[5] on four devices
// has the offsets 0, 2, 4, 5 and the limits 2, 4, 5, 5. Both are capped at the
// size, which makes such a tile empty rather than negative.
std::vector<int64_t> HloSharding::TileOffsetForDevice(const Shape& shape,
                                                      int64_t device) const {
  CHECK(!IsTuple()) << ToString();
  const absl::Span<const int64_t> dims = shape.dimensions();
  if (!IsTiledLeaf()) return std::vector<int64_t>(dims.size(), 0);
  CHECK_EQ(dims.size(), TiledDataRank()) << ToString();
  std::vector<int64_t> offset = TileIndexForDevice(device);
  for (size_t i = 0; i < dims.size(); ++i) {
    offset[i] = std::min(offset[i] * TileSize(dims[i], dimension(i)), dims[i]);
  }
  return offset;
}

std::vector<int64_t> HloSharding::TileLimitForDevice(const Shape& shape,
                                                     int64_t device) const {
  CHECK(!IsTuple()) << ToString();
  const absl::Span<const int64_t> dims = shape.dimensions();
  if (!IsTiledLeaf()) return std::vector<int64_t>(dims.begin(), dims.end());
  CHECK_EQ(dims.size(), TiledDataRank()) << ToString();
  std::vector<int64_t> limit = TileIndexForDevice(device);
  for (size_t i = 0; i < dims.size(); ++i) {
    limit[i] =
        std::min((limit[i] + 1) * TileSize(dims[i], dimension(i)), dims[i]);
  }
  return limit;
}

void HloSharding::EachTile(
    absl::FunctionRef<void(absl::Span<const int64_t>, int64_t)> f) const {
  tile_assignment_.Each(f);
}

absl::Status HloSharding::EachTile(
    absl::Span<const int64_t> dims,
    absl::FunctionRef<void(int64_t, absl::Span<const int64_t>,
                           absl::Span<const int64_t>)>
        f) const {
  absl::InlinedVector<int64_t, 6> offset(dims.size(), 0);
  absl::InlinedVector<int64_t, 6> limit(dims.begin(), dims.end());
  if (!IsTuple() && IsSingleDeviceLeaf()) {
    f(tile_assignment_.first(), offset, limit);
    return absl::OkStatus();
  }
  if (!IsTiledLeaf() || TiledDataRank() != static_cast<int64_t>(dims.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("sharding ", ToString(), " does not tile a value of rank ",
                     dims.size()));
  }
  tile_assignment_.Each([&](absl::Span<const int64_t> index, int64_t device) {
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t size = TileSize(dims[i], dimension(i));
      offset[i] = std::min(index[i] * size, dims[i]);
      limit[i] = std::min((index[i] + 1) * size, dims[i]);
    }
    f(device, offset, limit);
  });
  return absl::OkStatus();
}

Shape HloSharding::TileShape(const Shape& shape) const {
  if (shape.IsTuple()) {
    Shape result = shape;
    for (int i = 0; i < static_cast<int>(shape.tuple_shapes().size()); ++i) {
      *result.mutable_tuple_shapes(i) =
          GetSubSharding(shape, {i}).TileShape(shape.tuple_shapes(i));
    }
    return result;
  }
  if (!IsTiledLeaf() || !shape.IsArray()) return shape;
  CHECK_EQ(shape.dimensions().size(), TiledDataRank())
      << ToString() << " " << ShapeUtil::HumanString(shape);
  Shape result = shape;
  for (int64_t i = 0; i < TiledDataRank(); ++i) {
    if (shape.is_unbounded_dynamic_dimension(i)) continue;
    result.set_dimensions(i, TileSize(shape.dimensions(i), dimension(i)),
                          shape.is_dynamic_dimension(i));
  }
  return result;
}

Shape HloSharding::TileShape(const Shape& shape, int64_t device) const {
  if (!IsTiledLeaf() || !shape.IsArray()) return shape;
  const std::vector<int64_t> offset = TileOffsetForDevice(shape, device);
  const std::vector<int64_t> limit = TileLimitForDevice(shape, device);
  Shape result = shape;
  for (size_t i = 0; i < offset.size(); ++i) {
    if (shape.is_unbounded_dynamic_dimension(i)) continue;
    result.set_dimensions(i, limit[i] - offset[i],
                          shape.is_dynamic_dimension(i));
  }
  return result;
}

int64_t HloSharding::TotalNumTiles() const {
  return IsTiledLeaf() ? tile_assignment_.num_elements() : 1;
}

int64_t HloSharding::NumTiles() const {
  if (!IsTiledLeaf()) return 1;
  int64_t tiles = 1;
  for (int64_t i = 0; i < TiledDataRank(); ++i) tiles *= dimension(i);
  return tiles;
}

int64_t HloSharding::NumTiles(absl::Span<const int64_t> dims) const {
  if (!IsTiledLeaf()) return 1;
  int64_t tiles = 1;
  for (int64_t dim : dims) {
    CHECK_LT(dim, TiledDataRank());
    tiles *= dimension(dim);
  }
  return tiles;
}

int64_t HloSharding::ReplicationFactor() const {
  if (!IsTiledLeaf()) return 1;
  const int64_t dim = SubgroupReplicationDim();
  return dim < 0 ? 1 : dimension(dim);
}

}  // namespace xla
