#include "xla/hlo/transforms/sharding_propagation/axis_mesh.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/xla_data.pb.h"

// A common coordinate system for all shardings of a module. Every tiling is a
// mixed-radix decomposition of the device number; the mesh is the coarsest
// refinement of all of them, split further into prime factors, so that any tile
// dimension is a list of whole axes. Devices in an irregular order are
// renumbered by the first such assignment (base_); shardings that do not fit
// stay untranslated.

namespace xla {
namespace {

std::vector<int64_t> PrimeFactors(absl::Span<const int64_t> sizes) {
  std::vector<int64_t> result;
  for (int64_t size : sizes) {
    for (int64_t p = 2; size > 1; ++p) {
      for (; size % p == 0; size /= p) result.push_back(p);
    }
  }
  return result;
}

// A bit for each axis: axes are prime factors of the number of devices, and as
// many as do not fit would take 2^33 devices.
AxisMask MaskOf(const AxisList& axes) {
  AxisMask mask = 0;
  for (int axis : axes) mask |= AxisMask{1} << axis;
  return mask;
}

// Axes of the mesh that a named sharding excludes from its array, as a tiling
// of one dimension per reference, to be translated like any other.
std::optional<TileAssignment> TilesOfAxes(const Mesh& mesh,
                                          absl::Span<const AxisRef> axes) {
  if (axes.empty()) return std::nullopt;
  std::vector<NamedSharding::DimensionSharding> dims;
  for (const AxisRef& axis : axes) {
    dims.push_back(NamedSharding::DimensionSharding({axis}));
  }
  const HloSharding tiled =
      HloSharding::V3ToV2Sharding(NamedSharding(mesh, dims));
  if (!tiled.IsTiledLeaf()) return std::nullopt;
  return tiled.tile_assignment();
}

}  // namespace

AxisMask TensorSharding::Used() const {
  AxisMask mask = unreduced | manual;
  for (const AxisList& axes : dims) mask |= MaskOf(axes);
  return mask;
}

// Intersects the digit sequences one by one (ExtractCommonFactorSequence);
// assignments without a regular form are skipped.
AxisMesh AxisMesh::Build(absl::Span<const HloSharding> shardings) {
  AxisMesh mesh;
  std::vector<TileAssignment> tilings;
  for (const HloSharding& sharding : shardings) {
    if (sharding.IsTuple()) continue;
    const HloSharding tiled = HloSharding::V3ToV2Sharding(sharding);
    if (tiled.IsTiledLeaf()) tilings.push_back(tiled.tile_assignment());
    if (sharding.UseNamedShardingLeaf() &&
        !sharding.named_sharding().mesh().IsMaximal() &&
        sharding.named_sharding().num_devices() > 1) {
      tilings.push_back(sharding.named_sharding().mesh().device_assignment());
    }
  }
  for (const TileAssignment& tiles : tilings) {
    mesh.num_devices_ = std::max(mesh.num_devices_, tiles.num_elements());
    if (mesh.base_.empty() && !tiles.iota() && !tiles.ToV2().iota()) {
      mesh.base_.assign(tiles.array().begin(), tiles.array().end());
    }
  }
  std::vector<int64_t> sizes = {mesh.num_devices_};
  if (mesh.num_devices_ == 1) return mesh;
  for (const TileAssignment& tiles : tilings) {
    const std::optional<TileAssignment> rule = mesh.InBaseOrder(tiles);
    if (!rule) continue;
    const auto digits = GetOrderedSubDimsFromIotaTileAssignment(*rule->iota());
    if (!digits) continue;
    std::vector<int64_t> digit_sizes;
    for (const SubDimInfo& digit : *digits) digit_sizes.push_back(digit.size);
    std::vector<int64_t> common =
        ExtractCommonFactorSequence(sizes, digit_sizes);
    if (!common.empty()) sizes = std::move(common);
  }
  mesh.sizes_ = PrimeFactors(sizes);
  return mesh;
}

int64_t AxisMesh::Extent(const AxisList& axes) const {
  int64_t extent = 1;
  for (int axis : axes) extent *= sizes_[axis];
  return extent;
}

std::optional<TileAssignment> AxisMesh::InBaseOrder(
    const TileAssignment& tiles) const {
  if (tiles.num_elements() != num_devices_) return std::nullopt;
  TileAssignment result = tiles;
  if (!base_.empty()) {
    std::vector<int64_t> place(num_devices_, -1);
    for (size_t i = 0; i < base_.size(); ++i) {
      if (base_[i] < 0 || base_[i] >= num_devices_) return std::nullopt;
      place[base_[i]] = i;
    }
    auto array = tiles.shared_array_clone();
    for (int64_t& device : *array) {
      if (device < 0 || device >= num_devices_) return std::nullopt;
      device = place[device];
    }
    result = TileAssignment(std::move(array));
  }
  result = result.ToV2();
  if (!result.iota()) return std::nullopt;
  return result;
}

// The axes behind each tile dimension, major first. nullopt if a digit of the
// tiling is no product of consecutive axes.
std::optional<std::vector<AxisList>> AxisMesh::AxesOfDims(
    const TileAssignment& tiles) const {
  const std::optional<TileAssignment> rule = InBaseOrder(tiles);
  if (!rule) return std::nullopt;
  const auto digits = GetOrderedSubDimsFromIotaTileAssignment(*rule->iota());
  if (!digits) return std::nullopt;
  // Digits of each dimension by rank, minor first.
  std::vector<std::vector<std::pair<int64_t, AxisList>>> of_dim(
      tiles.num_dimensions());
  int axis = 0;
  for (const SubDimInfo& digit : *digits) {
    AxisList list;
    int64_t left = digit.size;
    while (left > 1) {
      if (axis == num_axes() || left % sizes_[axis] != 0) return std::nullopt;
      left /= sizes_[axis];
      list.push_back(axis++);
    }
    of_dim[digit.tile_dim_index].push_back(
        {digit.tile_sub_dim_index, std::move(list)});
  }
  std::vector<AxisList> result(tiles.num_dimensions());
  for (size_t d = 0; d < of_dim.size(); ++d) {
    std::sort(of_dim[d].begin(), of_dim[d].end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [rank, list] : of_dim[d]) {
      result[d].insert(result[d].end(), list.begin(), list.end());
    }
  }
  return result;
}

// Axes of data dimensions, and as masks those of manual and unreduced subgroups
// and those explicitly replicated. Axes in none of these are free.
std::optional<TensorSharding> AxisMesh::Translate(const HloSharding& sharding,
                                                  int64_t rank) const {
  if (sharding.IsTuple()) return std::nullopt;
  TensorSharding result;
  result.dims.resize(rank);
  result.open.assign(rank, false);
  const HloSharding tiled = HloSharding::V3ToV2Sharding(sharding);
  if (sharding.UseNamedShardingLeaf()) {
    const NamedSharding& named = sharding.named_sharding();
    if (named.IsMaximal()) return std::nullopt;
    if (named.num_dimensions() == rank) {
      for (int64_t d = 0; d < rank; ++d) {
        result.open[d] = !named.dim_sharding(d).is_closed();
      }
    }
    result.reduction_op = named.reduction_op();
    if (const std::optional<TileAssignment> tiles =
            TilesOfAxes(named.mesh(), named.replicated_axes())) {
      const std::optional<std::vector<AxisList>> axes = AxesOfDims(*tiles);
      if (!axes) return std::nullopt;
      for (size_t d = 0; d < named.replicated_axes().size(); ++d) {
        result.replicated |= MaskOf((*axes)[d]);
      }
    }
  }
  if (tiled.IsReplicatedLeaf()) return result;
  if (!tiled.IsTiledLeaf() || tiled.TiledDataRank() != rank) {
    return std::nullopt;
  }
  std::optional<std::vector<AxisList>> axes =
      AxesOfDims(tiled.tile_assignment());
  if (!axes) return std::nullopt;
  for (int64_t d = 0; d < rank; ++d) result.dims[d] = std::move((*axes)[d]);
  if (tiled.SubgroupManualDim() >= 0) {
    result.manual = MaskOf((*axes)[tiled.SubgroupManualDim()]);
  }
  if (tiled.SubgroupUnreducedDim() >= 0) {
    result.unreduced = MaskOf((*axes)[tiled.SubgroupUnreducedDim()]);
    result.reduction_op = tiled.reduction_op();
  }
  return result;
}

// The inverse of Translate: axes become dimensions of an iota that is
// transposed into place.
HloSharding AxisMesh::ToHloSharding(const TensorSharding& sharding) const {
  if (sharding.Used() == 0) return HloSharding::Replicate();
  std::vector<int64_t> dims;
  std::vector<int> perm;
  for (const AxisList& axes : sharding.dims) {
    dims.push_back(Extent(axes));
    perm.insert(perm.end(), axes.begin(), axes.end());
  }
  std::vector<OpSharding::Type> types;
  const auto add_subgroup = [&](AxisMask mask, OpSharding::Type type) {
    if (mask == 0) return;
    int64_t extent = 1;
    for (int axis = 0; axis < num_axes(); ++axis) {
      if (((mask >> axis) & 1) == 0) continue;
      perm.push_back(axis);
      extent *= sizes_[axis];
    }
    dims.push_back(extent);
    types.push_back(type);
  };
  add_subgroup(sharding.manual, OpSharding::MANUAL);
  add_subgroup(sharding.unreduced, OpSharding::UNREDUCED);
  int64_t replicas = 1;
  const AxisMask used = sharding.Used();
  for (int axis = 0; axis < num_axes(); ++axis) {
    if ((used >> axis) & 1) continue;
    perm.push_back(axis);
    replicas *= sizes_[axis];
  }
  if (replicas > 1) {
    dims.push_back(replicas);
    types.push_back(OpSharding::REPLICATED);
  }
  TileAssignment tiles(dims, sizes_, perm);
  if (!base_.empty()) {
    auto array = tiles.shared_array_clone();
    for (int64_t& device : *array) device = base_[device];
    tiles = TileAssignment(std::move(array));
  }
  HloSharding result = HloSharding::Subgroup(tiles, types);
  if (sharding.unreduced != 0) result.set_reduction_op(sharding.reduction_op);
  return result;
}

}  // namespace xla
