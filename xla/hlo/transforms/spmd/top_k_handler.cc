#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

// The first k of each row: each device finds those of its part, and the k of
// all parts are sorted.

namespace xla::spmd {
namespace {

// a before b of pairs (value, place) by value alone, in total order.
HloComputation* TotalOrder(PrimitiveType value, PrimitiveType place,
                           bool largest_first, HloModule* module) {
  HloComputation::Builder b("compare");
  std::vector<HloInstruction*> values;
  for (int64_t i = 0; i < 4; ++i) {
    HloInstruction* parameter =
        b.AddInstruction(HloInstruction::CreateParameter(
            i, ShapeUtil::MakeShape(i < 2 ? value : place, {}), "p"));
    if (i < 2) values.push_back(parameter);
  }
  b.AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), values[0], values[1],
      largest_first ? ComparisonDirection::kGt : ComparisonDirection::kLt,
      primitive_util::IsFloatingPointType(value)
          ? Comparison::Type::kFloatTotalOrder
          : Comparison::DefaultComparisonType(value)));
  return module->AddEmbeddedComputation(b.Build());
}

HloSharding CutSharding(const HloInstruction* hlo,
                        const PartitionedHlo& operand) {
  const HloSharding wanted = hlo->sharding().IsTuple()
                                 ? hlo->sharding().tuple_elements()[0]
                                 : hlo->sharding();
  return operand.sharding().IsTiledLeaf() ? operand.sharding() : wanted;
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleTopK(HloInstruction* hlo) {
  if (hlo->operand_count() != 1 || !hlo->shape().IsTuple() ||
      hlo->shape().tuple_shapes().size() != 2) {
    return DefaultAction(hlo);
  }
  PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
  const Shape& whole = operand.base_shape();
  HloSharding sharding = CutSharding(hlo, operand);
  if (!whole.IsArray() || !sharding.IsTiledLeaf() ||
      hlo->sharding().UniqueDevice().has_value()) {
    return DefaultAction(hlo);
  }
  const bool largest_first = hlo->opcode() != HloOpcode::kTopK ||
                             Cast<HloTopKInstruction>(hlo)->largest();
  const Shape& values = hlo->shape().tuple_shapes(0);
  const Shape& places = hlo->shape().tuple_shapes(1);
  // A custom call may claim to be one and return anything.
  const int64_t last = whole.dimensions().size() - 1;
  if (last < 0 || !values.IsArray() || !places.IsArray() ||
      !ShapeUtil::SameDimensions(values, places) ||
      values.dimensions().size() != whole.dimensions().size() ||
      !absl::c_equal(values.dimensions().first(last),
                     whole.dimensions().first(last))) {
    return DefaultAction(hlo);
  }
  const int64_t k = values.dimensions(last);
  const int64_t shard_size =
      MakePartitionedShape(whole, sharding).dimensions(last);
  const bool uneven =
      whole.dimensions(last) % ShardCountAtDim(sharding, last) != 0;
  HloInstruction* padding = nullptr;
  if (uneven) padding = LastInOrder(whole.element_type(), largest_first, &b_);
  if (k >= shard_size || (uneven && padding == nullptr)) {
    sharding = MoveTilesOff(whole, sharding, {last});
    if (!sharding.IsTiledLeaf()) return DefaultAction(hlo);
  }
  const int64_t shards = ShardCountAtDim(sharding, last);
  PartitionedHlo moved = operand.Reshard(sharding);
  HloInstruction* part = moved.hlo();
  if (shards > 1 && uneven) {
    std::vector<int64_t> others;
    for (int64_t d = 0; d < last; ++d) others.push_back(d);
    part = moved.PadWithValueHlo(padding, {}, others);
  }
  // Each part contributes k candidates.
  Shape candidates =
      ShapeUtil::MakeShape(values.element_type(), values.dimensions());
  candidates.set_dimensions(last, k * shards);
  const Shape local_values = MakePartitionedShape(candidates, sharding);
  const Shape local_places =
      ShapeUtil::ChangeElementType(local_values, places.element_type());
  HloInstruction* local = b_.AddInstruction(hlo->CloneWithNewOperands(
      ShapeUtil::MakeTupleShape({local_values, local_places}), {part}));
  const HloSharding tuple = HloSharding::SingleTuple(hlo->shape(), sharding);
  if (shards == 1) {
    Finish(hlo, local, tuple);
    return absl::OkStatus();
  }
  HloInstruction* local_value = b_.AddInstruction(
      HloInstruction::CreateGetTupleElement(local_values, local, 0));
  HloInstruction* local_place = b_.AddInstruction(
      HloInstruction::CreateGetTupleElement(local_places, local, 1));
  std::vector<int64_t> offsets;
  for (int64_t ordinal : OrdinalTable(sharding, last)) {
    offsets.push_back(ordinal * shard_size);
  }
  local_place = AddBinary(
      HloOpcode::kAdd, local_place,
      CreateBroadcast(
          TableLookup(offsets, places.element_type(), partition_id_, &b_),
          local_places.dimensions(), &b_),
      &b_);
  // The k of all parts, in the order of the parts: of equal ones the first.
  const HloSharding gathered = ReplicatedOnDims(sharding, {last});
  std::vector<HloInstruction*> operands;
  for (HloInstruction* array : {local_value, local_place}) {
    array->set_sharding(sharding);
    const Shape shape =
        ShapeUtil::ChangeElementType(candidates, array->shape().element_type());
    operands.push_back(PartitionedHlo(array, shape, MakePartitioningState())
                           .Reshard(gathered)
                           .hlo());
  }
  // The first k of all are among the first k of each part. Candidates lie in
  // the order of the parts, and those of a part in the order of their places
  // where values are equal, so a stable sort by value alone breaks ties by
  // place, as one device would.
  HloInstruction* sorted = b_.AddInstruction(HloInstruction::CreateSort(
      ShapeUtil::MakeTupleShape({operands[0]->shape(), operands[1]->shape()}),
      last, operands,
      TotalOrder(values.element_type(), places.element_type(), largest_first,
                 module_),
      /*is_stable=*/true));
  std::vector<HloInstruction*> results;
  for (int64_t i = 0; i < 2; ++i) {
    HloInstruction* array = b_.AddInstruction(
        HloInstruction::CreateGetTupleElement(operands[i]->shape(), sorted, i));
    results.push_back(SliceDim(array, last, 0, k, &b_));
  }
  Finish(hlo, b_.AddInstruction(HloInstruction::CreateTuple(results)),
         HloSharding::SingleTuple(hlo->shape(), gathered));
  return absl::OkStatus();
}

}  // namespace xla::spmd
