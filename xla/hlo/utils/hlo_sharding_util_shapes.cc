// Shapes of tiles, and the shardings of instructions as wholes.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_sharding_util {

Shape TileShape(const HloSharding& sharding, const Shape& shape) {
  return sharding.TileShape(shape);
}

Shape TileLeafShape(const HloSharding& sharding, const Shape& shape) {
  CHECK(!sharding.IsTuple());
  return sharding.TileShape(shape);
}

Shape UntileShape(const HloSharding& sharding, const Shape& shape) {
  if (!sharding.IsTuple()) return UntileLeafShape(sharding, shape);
  Shape result = shape;
  ShapeUtil::ForEachMutableSubshape(
      &result, [&](Shape* subshape, const ShapeIndex& index) {
        if (!subshape->IsArray()) return;
        *subshape =
            UntileLeafShape(sharding.GetSubSharding(shape, index), *subshape);
      });
  return result;
}

Shape UntileLeafShape(const HloSharding& sharding, const Shape& shape) {
  CHECK(!sharding.IsTuple());
  if (!sharding.IsTiledLeaf() || !shape.IsArray()) return shape;
  Shape result = shape;
  for (int64_t d = 0; d < sharding.TiledDataRank(); ++d) {
    result.set_dimensions(d, shape.dimensions(d) * sharding.dimension(d));
  }
  return result;
}

std::shared_ptr<const HloSharding> CreateTupleSharding(
    const Shape& shape, absl::Span<const HloInstruction* const> elements) {
  bool any = false;
  std::vector<HloSharding> leaves;
  for (const HloInstruction* element : elements) {
    any = any || element->has_sharding();
    const HloSharding sharding = element->has_sharding()
                                     ? element->sharding()
                                     : HloSharding::Replicate();
    if (!element->shape().IsTuple()) {
      leaves.push_back(sharding);
      continue;
    }
    const HloSharding tuple = sharding.NormalizeTupleSharding(element->shape());
    leaves.insert(leaves.end(), tuple.tuple_elements().begin(),
                  tuple.tuple_elements().end());
  }
  if (!any) return nullptr;
  return std::make_shared<const HloSharding>(HloSharding::Tuple(shape, leaves));
}

std::optional<HloSharding> GetOutputSharding(
    const HloInstruction* instruction) {
  if (!instruction->has_sharding()) return std::nullopt;
  const HloSharding& sharding = instruction->sharding();
  if (instruction->opcode() != HloOpcode::kOutfeed || !sharding.IsTuple()) {
    return sharding;
  }
  // The last leaf is the token's.
  const std::vector<HloSharding>& leaves = sharding.tuple_elements();
  if (leaves.size() == 2) return leaves[0];
  return HloSharding::FlatTuple(
      std::vector<HloSharding>(leaves.begin(), leaves.end() - 1));
}

void ConvertV2ToV1Sharding(OpSharding& sharding) {
  if (sharding.type() == OpSharding::TUPLE) {
    for (OpSharding& element : *sharding.mutable_tuple_shardings()) {
      ConvertV2ToV1Sharding(element);
    }
    return;
  }
  if (sharding.iota_reshape_dims().empty()) return;
  const std::vector<int> perm(sharding.iota_transpose_perm().begin(),
                              sharding.iota_transpose_perm().end());
  const TileAssignment tiles(sharding.tile_assignment_dimensions(),
                             sharding.iota_reshape_dims(), perm);
  sharding.clear_iota_reshape_dims();
  sharding.clear_iota_transpose_perm();
  for (int64_t device : tiles.array()) {
    sharding.add_tile_assignment_devices(device);
  }
}

}  // namespace hlo_sharding_util
}  // namespace xla
