#include "xla/hlo/transforms/spmd/cumulative_windows.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

// Reduces each value along `dim`, which stays with size 1.
std::vector<HloInstruction*> ReduceAlong(
    const std::vector<HloInstruction*>& values,
    const std::vector<HloInstruction*>& inits, HloComputation* reducer,
    int64_t dim, SpmdBuilder* b) {
  std::vector<Shape> shapes;
  for (const HloInstruction* value : values) {
    shapes.push_back(ShapeUtil::DeleteDimension(dim, value->shape()));
  }
  HloInstruction* reduced = b->AddInstruction(HloInstruction::CreateReduce(
      shapes.size() == 1 ? shapes[0] : ShapeUtil::MakeTupleShape(shapes),
      values, inits, {dim}, reducer));
  std::vector<HloInstruction*> result;
  for (HloInstruction* element : Elements(reduced, b)) {
    std::vector<int64_t> dims(element->shape().dimensions().begin(),
                              element->shape().dimensions().end());
    dims.insert(dims.begin() + dim, 1);
    result.push_back(AddReshape(element, dims, b));
  }
  return result;
}

}  // namespace

std::optional<CumulativeWindow> CumulativeWindowOf(
    const WindowDimension& window, int64_t dim, int64_t size) {
  if (window.stride() != 1 || window.base_dilation() != 1 ||
      window.window_dilation() != 1 || window.window_reversal() ||
      window.size() < size) {
    return std::nullopt;
  }
  const int64_t others = window.size() - 1;
  const bool from_begin =
      window.padding_low() == others && window.padding_high() == 0;
  const bool from_end =
      window.padding_low() == 0 && window.padding_high() == others;
  if (!from_begin && !from_end) return std::nullopt;
  return CumulativeWindow{dim, !from_begin};
}

// The two-level prefix sum (Blelloch, "Prefix Sums and Their Applications",
// 1990): each device reduces its shard, the totals are gathered, one element
// per shard, and each device reduces those of the shards before its own (behind
// it, from the end). That total becomes one more element of the shard, so that
// the local window, one element longer, adds it to every result.
std::vector<HloInstruction*> WithTotals(
    const std::vector<HloInstruction*>& shards,
    const std::vector<Literal>& neutral, HloComputation* reducer,
    const CumulativeWindow& window, const HloSharding& sharding,
    const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  const int64_t dim = window.dim;
  std::vector<HloInstruction*> inits;
  for (const Literal& value : neutral) {
    inits.push_back(CreateScalar(value.Clone(), b));
  }
  std::vector<HloInstruction*> totals =
      ReduceAlong(shards, inits, reducer, dim, b);
  HloInstruction* ordinal =
      MakeTiledPartitionOrdinals(sharding, state.partition_id, b)[dim];
  for (int64_t i = 0; i < totals.size(); ++i) {
    HloInstruction* all = state.partitioner->AllGatherShards(
        b, totals[i], sharding, state.next_channel_id, {dim},
        state.collective_ops_creator);
    const Shape places = ShapeUtil::ChangeElementType(all->shape(), S32);
    HloInstruction* counts = AddCompare(
        b->AddInstruction(HloInstruction::CreateIota(places, dim)),
        window.from_end ? ComparisonDirection::kGt : ComparisonDirection::kLt,
        CreateBroadcast(ordinal, places.dimensions(), b), b);
    totals[i] = b->AddInstruction(HloInstruction::CreateTernary(
        all->shape(), HloOpcode::kSelect, counts, all,
        CreateBroadcast(inits[i], places.dimensions(), b)));
  }
  totals = ReduceAlong(totals, inits, reducer, dim, b);
  std::vector<HloInstruction*> result;
  for (int64_t i = 0; i < shards.size(); ++i) {
    Shape shape = shards[i]->shape();
    shape.set_dimensions(dim, shape.dimensions(dim) + 1);
    std::vector<HloInstruction*> parts = {totals[i], shards[i]};
    if (window.from_end) std::swap(parts[0], parts[1]);
    result.push_back(b->AddInstruction(
        HloInstruction::CreateConcatenate(shape, parts, dim)));
  }
  return result;
}

void SetCumulativeWindow(int64_t size, bool from_end, WindowDimension* window) {
  window->set_size(size + 1);
  window->set_padding_low(from_end ? 0 : size);
  window->set_padding_high(from_end ? size : 0);
}

}  // namespace xla::spmd
