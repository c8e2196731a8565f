// Named shardings and their tiled forms.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// The tile assignment of a named sharding: a dimension per data dimension and
// per kind of subgroup, in canonical order, and what is left last.
TileAssignment TiledByNames(const NamedSharding& named,
                            std::vector<OpSharding::Type>* types) {
  const Mesh& mesh = named.mesh();
  std::vector<AxisRef> axes;
  std::vector<int64_t> dims;
  const auto add = [&](absl::Span<const AxisRef> list) {
    int64_t size = 1;
    for (const AxisRef& axis : list) size *= axis.size(mesh);
    axes.insert(axes.end(), list.begin(), list.end());
    dims.push_back(size);
  };
  for (const auto& dim : named.dim_shardings()) add(dim.axes());
  if (!named.manual_axes().empty()) {
    add(named.manual_axes());
    types->push_back(OpSharding::MANUAL);
  }
  if (!named.unreduced_axes().empty()) {
    add(named.unreduced_axes());
    types->push_back(OpSharding::UNREDUCED);
  }
  const MeshAxesSplit split = SplitMeshByAxes(axes, mesh);
  std::vector<int> perm(split.axis_to_dim.begin(), split.axis_to_dim.end());
  int64_t left = 1;
  for (int64_t dim : split.unused) {
    perm.push_back(static_cast<int>(dim));
    left *= split.sizes[dim];
  }
  if (left > 1) {
    types->push_back(OpSharding::REPLICATED);
    dims.push_back(left);
  }
  return mesh.device_assignment()
      .Reshape(split.sizes)
      .Transpose(perm)
      .Reshape(dims);
}

}  // namespace

HloSharding HloSharding::V3ToV2Sharding(const NamedSharding& named) {
  const std::vector<OpMetadata>& metadata = named.metadata();
  HloSharding result = Replicate(metadata);
  if (named.IsMaximal()) {
    result = SingleDevice(named.mesh().device_assignment().first(), metadata);
  } else if (named.IsManual()) {
    result = Manual(metadata);
  } else if (named.IsUnreduced()) {
    result = Unreduced(metadata);
  } else if (!named.IsReplicated()) {
    std::vector<OpSharding::Type> types;
    TileAssignment assignment = TiledByNames(named, &types);
    result = Subgroup(assignment, types, metadata);
  }
  result.reduction_op_ = named.reduction_op();
  return result;
}

HloSharding::HloSharding(NamedSharding named_sharding)
    : HloSharding(V3ToV2Sharding(named_sharding)) {
  named_sharding_ =
      std::make_shared<const NamedSharding>(std::move(named_sharding));
}

HloSharding HloSharding::V3ToV2Sharding(const HloSharding& sharding) {
  HloSharding result = sharding;
  result.named_sharding_ = nullptr;
  for (HloSharding& element : result.tuple_elements_) {
    element.named_sharding_ = nullptr;
  }
  return result;
}

NamedSharding HloSharding::ToNamedSharding(const HloSharding& sharding) {
  CHECK(!sharding.IsTuple() && !sharding.IsUnknownLeaf())
      << sharding.ToString();
  if (sharding.UseNamedShardingLeaf()) return sharding.named_sharding();
  const std::vector<OpMetadata>& metadata = sharding.metadata_;
  if (sharding.IsSingleDeviceLeaf()) {
    return NamedSharding::MaximalSharding(sharding.tile_assignment_.first(),
                                          metadata);
  }
  if (sharding.IsReplicatedLeaf()) return NamedSharding::Replicate(metadata);
  CHECK(sharding.IsTiledLeaf()) << sharding.ToString();

  // One mesh axis per factor of the rule; where there is no rule, one per tile
  // dimension of a mesh that lists the devices.
  std::vector<int64_t> sizes;
  std::vector<std::vector<AxisRef>> axes_of_dim(sharding.num_dimensions());
  std::optional<AnalyzeTileAssignmentResult> analysis =
      AnalyzeTileAssignment(sharding.tile_assignment_);
  if (analysis) {
    sizes = analysis->local_mesh;
    std::vector<std::pair<SubDimInfo, int64_t>> order;
    for (size_t i = 0; i < sizes.size(); ++i) {
      order.push_back({analysis->sub_dims[i], static_cast<int64_t>(i)});
    }
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first.tile_sub_dim_index > b.first.tile_sub_dim_index;
    });
    for (const auto& [sub_dim, axis] : order) {
      axes_of_dim[sub_dim.tile_dim_index].push_back(AxisRef(axis));
    }
  } else {
    for (int64_t dim = 0; dim < sharding.num_dimensions(); ++dim) {
      if (sharding.dimension(dim) == 1) continue;
      axes_of_dim[dim].push_back(AxisRef(sizes.size()));
      sizes.push_back(sharding.dimension(dim));
    }
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < sizes.size(); ++i) {
    names.push_back(absl::StrCat("axis_", i));
  }
  const std::vector<absl::string_view> name_views(names.begin(), names.end());
  Mesh mesh = analysis
                  ? Mesh(sizes, name_views)
                  : Mesh(sharding.tile_assignment_.Reshape(sizes), name_views);
  std::vector<NamedSharding::DimensionSharding> dims;
  for (int64_t dim = 0; dim < sharding.TiledDataRank(); ++dim) {
    dims.emplace_back(axes_of_dim[dim]);
  }
  const auto subgroup = [&](int64_t dim) {
    return dim < 0 ? std::vector<AxisRef>() : axes_of_dim[dim];
  };
  return NamedSharding(std::move(mesh), dims, /*replicated_axes=*/{},
                       subgroup(sharding.SubgroupUnreducedDim()),
                       subgroup(sharding.SubgroupManualDim()), metadata,
                       sharding.reduction_op_);
}

HloSharding HloSharding::ToV3Sharding(const HloSharding& sharding) {
  if (sharding.IsTuple()) {
    HloSharding result = sharding;
    for (HloSharding& element : result.tuple_elements_) {
      element = ToV3Sharding(element);
    }
    return result;
  }
  switch (sharding.kind_) {
    case Kind::kUnknown:
    case Kind::kManual:
    case Kind::kUnreduced:
      return sharding;
    default:
      return HloSharding(ToNamedSharding(sharding))
          .SetShardGroup(sharding.shard_group_);
  }
}

}  // namespace xla
