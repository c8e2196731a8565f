#include "xla/hlo/transforms/sharding_propagation/kept_edges.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::sharding_edges {
namespace {

// Whether windows are spread over elements that are not in the base.
bool HasDilation(const Window& window) {
  return absl::c_any_of(window.dimensions(), [](const WindowDimension& d) {
    return d.base_dilation() > 1 || d.window_dilation() > 1;
  });
}

// The sharding of an operand that says most, of those that may spread; the
// first of several. Null: none.
const HloSharding* MostSpecific(const HloInstruction& inst, LeafReader reader) {
  const HloSharding* best = nullptr;
  for (const HloInstruction* operand : inst.operands()) {
    const HloSharding* own = reader(operand, 0);
    if (own != nullptr && MaySpread(*own) &&
        (best == nullptr ||
         hlo_sharding_util::IsShardingMoreSpecific(*own, *best))) {
      best = own;
    }
  }
  return best;
}

// The sharding that the operands and results of a sort share: the most specific
// of its operands'; null if there is none, or if it cuts what is sorted and no
// other dimension could take its tiles.
const HloSharding* OfSorted(const HloInstruction& sort, LeafReader reader) {
  const HloSharding* best = MostSpecific(sort, reader);
  if (best == nullptr || !best->IsTiledLeaf()) return best;
  const HloSharding tiled = HloSharding::V3ToV2Sharding(*best);
  const int64_t along = sort.dimensions(0);
  if (tiled.dimension(along) == 1 ||
      hlo_sharding_util::GetFirstTargetDimToMoveShardingTiles(
          sort.operand(0)->shape(), tiled, along)) {
    return best;
  }
  return nullptr;
}

}  // namespace

bool KeepsTiles(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kConcatenate:
    case HloOpcode::kPad:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kSlice:
    case HloOpcode::kSort:
      return true;
    default:  // Those that compute element by element.
      return inst.IsElementwise() && inst.opcode() != HloOpcode::kRng;
  }
}

std::vector<LeafSharding> KeptForward(const HloInstruction& inst,
                                      const Context& context,
                                      LeafReader reader) {
  std::vector<LeafSharding> found;
  const int64_t leaves = NumLeaves(inst.shape());
  const auto add = [&](const HloSharding* sharding) {
    if (sharding == nullptr || !MaySpread(*sharding)) return;
    for (int64_t leaf = 0; leaf < leaves; ++leaf) {
      found.push_back({leaf, *sharding});
    }
  };
  switch (inst.opcode()) {
    case HloOpcode::kPad:
    case HloOpcode::kSlice:
      add(reader(inst.operand(0), 0));
      return found;
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
      if (HasDilation(inst.window())) return found;
      add(reader(inst.operand(0), 0));
      for (int64_t i = 1; inst.opcode() == HloOpcode::kReduceWindow &&
                          i < inst.operand_count() / 2;
           ++i) {
        add(reader(inst.operand(i), 0));
      }
      return found;
    case HloOpcode::kSort:
      add(OfSorted(inst, reader));
      return found;
    default:  // Any operand's.
      break;
  }
  if (inst.IsElementwise() && context.is_spmd && context.level >= 1) {
    for (const HloInstruction* operand : inst.operands()) {
      add(reader(operand, 0));
    }
    return found;
  }
  add(MostSpecific(inst, reader));
  return found;
}

void KeptBackward(const HloInstruction& user, int operand,
                  const Context& context, LeafReader reader,
                  std::vector<LeafSharding>* found) {
  int64_t leaf = 0;
  switch (user.opcode()) {
    case HloOpcode::kReduceWindow:
      if (operand >= user.operand_count() / 2) return;
      if (user.shape().IsTuple()) leaf = operand;
      break;
    case HloOpcode::kConcatenate:
      break;
    case HloOpcode::kSort:
      if (user.shape().IsTuple()) leaf = operand;
      break;
    case HloOpcode::kPad:
    case HloOpcode::kSlice:
      if (operand != 0) return;
      break;
    default:  // Not the scalars that all elements read.
      if (!ShapeUtil::SameDimensions(user.operand(operand)->shape(),
                                     user.shape())) {
        return;
      }
  }
  const HloSharding* sharding = reader(&user, leaf);
  if (sharding != nullptr && MaySpread(*sharding)) {
    found->push_back({0, *sharding});
  }
}

}  // namespace xla::sharding_edges
