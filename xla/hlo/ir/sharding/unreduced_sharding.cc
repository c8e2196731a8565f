#include "xla/hlo/ir/sharding/unreduced_sharding.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/xla_data.pb.h"

namespace xla {

bool HasUnreduced(const HloSharding& sharding) {
  if (sharding.IsTuple()) {
    return absl::c_any_of(sharding.tuple_elements(), HasUnreduced);
  }
  return sharding.IsUnreducedLeaf() ||
         (sharding.IsTiledLeaf() && sharding.SubgroupUnreducedDim() >= 0);
}

std::optional<int64_t> UnreducedDim(const HloSharding& leaf) {
  if (!leaf.IsTiledLeaf() || leaf.SubgroupUnreducedDim() < 0) {
    return std::nullopt;
  }
  return leaf.SubgroupUnreducedDim();
}

HloSharding WithTilesOfAddends(const HloSharding& leaf, int64_t rank,
                               int64_t num_devices) {
  if (!leaf.IsUnreducedLeaf()) return leaf;
  std::vector<int64_t> dims(rank, 1);
  dims.push_back(num_devices);
  HloSharding tiled =
      HloSharding::Subgroup(TileAssignment(dims), {OpSharding::UNREDUCED});
  tiled.set_reduction_op(leaf.reduction_op());
  return tiled;
}

HloSharding WithSums(const HloSharding& sharding) {
  if (sharding.IsTuple()) {
    std::vector<HloSharding> elements;
    for (const HloSharding& element : sharding.tuple_elements()) {
      elements.push_back(WithSums(element));
    }
    return HloSharding::FlatTuple(std::move(elements));
  }
  if (!HasUnreduced(sharding)) return sharding;
  if (sharding.IsUnreducedLeaf()) return HloSharding::Replicate();
  std::vector<OpSharding::Type> types(sharding.subgroup_types().begin(),
                                      sharding.subgroup_types().end());
  absl::c_replace(types, OpSharding::UNREDUCED, OpSharding::REPLICATED);
  return HloSharding::Subgroup(sharding.tile_assignment(), types);
}

}  // namespace xla
