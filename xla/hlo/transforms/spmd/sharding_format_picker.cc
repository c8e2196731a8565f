#include "xla/hlo/transforms/spmd/sharding_format_picker.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "xla/array.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"

namespace xla::test_only {
namespace {

using ShardingType = ShardingFormatPicker::ShardingType;

TileAssignment InForm(const TileAssignment& tiles, ShardingType type) {
  if (type == ShardingType::kV1) {
    return TileAssignment(
        std::make_shared<const Array<int64_t>>(tiles.array()));
  }
  const std::optional<IotaTileAssignment> iota =
      tiles.iota().has_value() ? tiles.iota()
                               : IotaTileAssignment::FromArray(tiles.array());
  return iota.has_value() ? TileAssignment(*iota) : tiles;
}

HloSharding InForm(const HloSharding& sharding, ShardingType type) {
  if (sharding.IsTuple()) {
    std::vector<HloSharding> elements;
    for (const HloSharding& element : sharding.tuple_elements()) {
      elements.push_back(InForm(element, type));
    }
    return HloSharding::FlatTuple(std::move(elements));
  }
  if (type == ShardingType::kNamed) return HloSharding::ToV3Sharding(sharding);
  const HloSharding tiled = sharding.UseNamedShardingLeaf()
                                ? HloSharding::V3ToV2Sharding(sharding)
                                : sharding;
  if (!tiled.IsTiledLeaf()) return tiled;
  const TileAssignment tiles = InForm(tiled.tile_assignment(), type);
  if (tiled.ReplicateOnLastTileDim()) {
    return HloSharding::PartialTile(tiles, tiled.metadata());
  }
  return tiled.subgroup_types().empty()
             ? HloSharding::Tile(tiles, tiled.metadata())
             : HloSharding::Subgroup(tiles, tiled.subgroup_types(),
                                     tiled.metadata());
}

}  // namespace

absl::StatusOr<bool> ShardingFormatPicker::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation : module->computations(execution_threads)) {
    for (HloInstruction* hlo : computation->instructions()) {
      if (!hlo->has_sharding()) continue;
      const HloSharding form = InForm(hlo->sharding(), sharding_type_);
      if (form.ToString() == hlo->sharding().ToString()) continue;
      hlo->set_sharding(form);
      changed = true;
    }
  }
  return changed;
}

}  // namespace xla::test_only
