// What reads values of a module in odd ways.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/testlib/mutator/module_detours.h"
#include "xla/hlo/utils/scalar_computation.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace module_mutator_internal {
namespace {

// The whole of it, as if its size could be less.
HloInstruction* Dynamic(HloInstruction* inst, Picker& pick) {
  const Shape& shape = inst->shape();
  if (!shape.IsArray() || shape.dimensions().empty()) return nullptr;
  const int64_t dimension = pick.Below(shape.dimensions().size());
  const int64_t size = shape.dimensions(dimension);
  Shape dynamic = shape;
  dynamic.set_dynamic_dimension(dimension, true);
  HloInstruction* count = Constant(
      inst, LiteralUtil::CreateR0<int32_t>(
                static_cast<int32_t>(pick.OneIn(2) ? size : size / 2)));
  return Add(inst, HloInstruction::CreateSetDimensionSize(dynamic, inst, count,
                                                          dimension));
}

// A number for the array, of its last dimension or of all.
HloInstruction* Reduced(HloInstruction* inst, Picker& pick) {
  const Shape& shape = inst->shape();
  const PrimitiveType type = shape.element_type();
  if (type == PRED || primitive_util::IsComplexType(type)) return nullptr;
  std::vector<int64_t> reduced;
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < shape.dimensions().size(); ++i) {
    (pick.OneIn(2) ? reduced : kept).push_back(i);
  }
  HloComputation* sum = inst->GetModule()->AddEmbeddedComputation(
      MakeScalarComputation(HloOpcode::kAdd, type, "odd_sum"));
  HloInstruction* zero = Constant(inst, LiteralUtil::Zero(type));
  return Add(inst, HloInstruction::CreateReduce(
                       ShapeUtil::FilterDimensions(
                           [&](int64_t i) {
                             return std::count(kept.begin(), kept.end(), i) > 0;
                           },
                           shape),
                       inst, zero, reduced, sum));
}

}  // namespace

HloInstruction* OddReader(HloInstruction* inst, Picker& pick) {
  const Shape& shape = inst->shape();
  if (shape.IsToken()) {
    return Add(inst, HloInstruction::CreateAfterAll({inst, inst}));
  }
  if (!shape.IsArray()) return Detour(inst, /*holds_state=*/false, pick);
  constexpr PrimitiveType kTypes[] = {PRED, S4,   U4,  S8,  U8,  S32,   S64,
                                      F16,  BF16, F32, F64, C64, F8E5M2};
  const int64_t rank = shape.dimensions().size();
  switch (pick.Below(8)) {
    case 0:
      return Add(inst, HloInstruction::CreateVariadic(
                           ShapeUtil::MakeTokenShape(), HloOpcode::kAfterAll,
                           {inst, inst}));
    case 1:
      return Add(inst, HloInstruction::CreateConvert(
                           ShapeUtil::ChangeElementType(
                               shape, kTypes[pick.Below(std::size(kTypes))]),
                           inst));
    case 2:
      return Dynamic(inst, pick);
    case 3: {
      HloInstruction* dynamic = Dynamic(inst, pick);
      if (dynamic == nullptr) return nullptr;
      return pick.OneIn(2)
                 ? Reduced(dynamic, pick)
                 : Add(inst, HloInstruction::CreateBinary(dynamic->shape(),
                                                          HloOpcode::kMaximum,
                                                          dynamic, dynamic));
    }
    case 4:
      return Reduced(inst, pick);
    case 5: {  // no elements
      if (rank == 0) return nullptr;
      const std::vector<int64_t> zeros(rank, 0);
      std::vector<int64_t> limits(shape.dimensions().begin(),
                                  shape.dimensions().end());
      limits[pick.Below(rank)] = 0;
      return Add(inst, HloInstruction::CreateSlice(
                           ShapeUtil::MakeShape(shape.element_type(), limits),
                           inst, zeros, limits, std::vector<int64_t>(rank, 1)));
    }
    case 6: {
      if (rank == 0) return nullptr;
      return Add(inst,
                 HloInstruction::CreateGetDimensionSize(
                     ShapeUtil::MakeShape(S32, {}), inst, pick.Below(rank)));
    }
    default:
      return Add(inst, HloInstruction::CreateCompare(
                           ShapeUtil::ChangeElementType(shape, PRED), inst,
                           inst, Comparison::Direction::kNe));
  }
}

Shape OddShape(Picker& pick) {
  switch (pick.Below(7)) {
    case 0:
      return ShapeUtil::MakeTokenShape();
    case 1:
      return ShapeUtil::MakeTupleShape({});
    case 2:
      return ShapeUtil::MakeShape(F32, {3, 0});
    case 3:
      return ShapeUtil::MakeShape(S4, {5}, {true});
    case 4:
      return ShapeUtil::MakeTupleShape(
          {OddShape(pick), ShapeUtil::MakeTokenShape()});
    case 5:
      return ShapeUtil::MakeShape(C64, {});
    default:
      return ShapeUtil::MakeShape(BF16, {2, 1, 2});
  }
}

HloSharding RandomSharding(const Shape& shape, Picker& pick) {
  if (shape.IsTuple()) {
    // An empty tuple has one leaf, too.
    std::vector<HloSharding> leaves =
        HloSharding::SingleTuple(shape, HloSharding::Replicate())
            .tuple_elements();
    size_t next = 0;
    for (const ShapeUtil::IndexedShape& leaf :
         ShapeUtil::GetLeafShapes(shape)) {
      leaves[next++] = RandomSharding(leaf.shape, pick);
    }
    return HloSharding::FlatTuple(std::move(leaves));
  }
  constexpr int64_t kCounts[] = {2, 3, 4, 8};
  const int64_t devices = kCounts[pick.Below(std::size(kCounts))];
  const size_t rank = shape.IsArray() ? shape.dimensions().size() : 0;
  switch (pick.Below(5)) {
    case 0:
      return HloSharding::Replicate();
    case 1:
      return HloSharding::AssignDevice(pick.Below(devices));
    case 2:
      return HloSharding::Manual();
    default: {
      if (rank == 0) return HloSharding::Replicate();
      std::vector<int64_t> tiles(rank, 1);
      tiles[pick.Below(rank)] = devices;
      if (pick.OneIn(2)) return HloSharding::Tile(TileAssignment(tiles));
      tiles.push_back(2);
      return HloSharding::PartialTile(TileAssignment(tiles));
    }
  }
}

}  // namespace module_mutator_internal
}  // namespace xla
