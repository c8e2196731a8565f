#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/transforms/spmd/window_shards.h"
#include "xla/shape_util.h"

// Concatenate: along other dimensions operands are cut like the result. Where
// the result is cut along its own dimension, operands are made whole there, or
// a shard of the result gets its piece of each.

namespace xla::spmd {
namespace {

// More operands than these are not put together from pieces.
constexpr int64_t kMostPieces = 8;

// For each operand of a concatenation, where its elements come to lie.
std::vector<std::vector<WindowDim>> PlacesInConcatenation(
    const HloInstruction& concat) {
  const int64_t dim = concat.concatenate_dimension();
  std::vector<std::vector<WindowDim>> places;
  int64_t at = 0;
  for (const HloInstruction* operand : concat.operands()) {
    std::vector<WindowDim>& windows = places.emplace_back();
    windows.resize(concat.shape().dimensions().size());
    windows[dim].moves = true;
    windows[dim].low = at;
    at += operand->shape().dimensions(dim);
  }
  return places;
}

// Whether shards under `cut`, each of which gets what it needs of every
// operand, take fewer bytes than `whole`, under which operands are
// concatenated.
bool PiecesTakeLess(const HloInstruction& concat,
                    absl::Span<const PartitionedHlo> operands,
                    const HloSharding& cut, const HloSharding& whole) {
  // What is whole on all devices is so on one.
  const HloSharding wanted = concat.sharding().IsSingleDeviceLeaf()
                                 ? HloSharding::Replicate()
                                 : concat.sharding();
  // Shards compare indices, which are s32.
  if (concat.operand_count() > kMostPieces ||
      concat.shape().dimensions(concat.concatenate_dimension()) - 1 >
          std::numeric_limits<int32_t>::max() ||
      ShardCountAtDim(cut, concat.concatenate_dimension()) == 1 ||
      !IsPriced(cut) || !IsPriced(whole) || !IsPriced(wanted)) {
    return false;
  }
  const Shape& result = concat.shape();
  const auto places = PlacesInConcatenation(concat);
  double in_pieces = RouteBytes(result, cut, wanted);
  double as_whole = RouteBytes(result, whole, wanted) -
                    BytesSavedByTuples(concat, wanted, whole);
  for (int64_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = operands[i].base_shape();
    const HloSharding& present = operands[i].sharding();
    if (!IsPriced(present) || ShapeUtil::IsZeroElementArray(shape)) {
      return false;
    }
    const HloSharding source =
        SourceOfWindows(shape, present, cut, result, places[i]);
    // Its shards would rather be gathered.
    if (source == cut &&
        ShardingOfWindows(cut, shape, result, places[i]) != cut) {
      return false;
    }
    in_pieces += BytesOfWindows(shape, present, cut, result, places[i]);
    if (!operands[i].IsAlso(whole)) {
      as_whole += RouteBytes(shape, present, whole);
    }
  }
  // Prices count local slices as a small part of a byte.
  return in_pieces + 1 <= as_whole;
}

// concatenate(f32[1] {replicated}, f32[7] {devices=[4]<=[4]}) on 4 devices
//     → select(index < 1, the first one, what the left neighbor sends and all
//       but the last of the own elements)
HloInstruction* PutTogether(const HloInstruction& concat,
                            absl::Span<const PartitionedHlo> operands,
                            const HloSharding& cut,
                            const PartitionedHlo::PartitioningState& state) {
  SpmdBuilder* b = state.b;
  const int64_t dim = concat.concatenate_dimension();
  const auto places = PlacesInConcatenation(concat);
  const Shape shard = MakePartitionedShape(concat.shape(), cut);
  std::vector<int64_t> table;
  for (int64_t ordinal : OrdinalTable(cut, dim)) {
    table.push_back(ordinal * shard.dimensions(dim));
  }
  const Shape index_shape = ShapeUtil::MakeShape(S32, shard.dimensions());
  HloInstruction* index =
      AddBinary(HloOpcode::kAdd,
                b->AddInstruction(HloInstruction::CreateIota(index_shape, dim)),
                CreateBroadcast(TableLookup(table, S32, state.partition_id, b),
                                index_shape.dimensions(), b),
                b);
  // Iotas may be large: of them, too, there is only what a shard gets.
  const auto piece_of_iota = [&](const HloInstruction* iota, int64_t low) {
    const PrimitiveType type = iota->shape().element_type();
    if (iota->dimensions(0) != dim) {
      const Shape whole = ShapeUtil::ChangeElementType(concat.shape(), type);
      return AddIota(
          HloInstruction::CreateIota(whole, iota->dimensions(0)).get(), cut,
          state.partition_id, b);
    }
    return AddConvert(AddBinary(HloOpcode::kSubtract, index,
                                CreateBroadcast(CreateR0(low, S32, b),
                                                index_shape.dimensions(), b),
                                b),
                      type, b);
  };
  HloInstruction* result = nullptr;
  for (int64_t i = operands.size() - 1; i >= 0; --i) {
    const Shape& shape = operands[i].base_shape();
    HloInstruction* piece =
        concat.operand(i)->opcode() == HloOpcode::kIota
            ? piece_of_iota(concat.operand(i), places[i][dim].low)
            : FetchWindows(operands[i].Reshard(
                               SourceOfWindows(shape, operands[i].sharding(),
                                               cut, concat.shape(), places[i])),
                           cut, concat.shape(), places[i], nullptr);
    if (result == nullptr) {
      result = piece;
      continue;
    }
    HloInstruction* end =
        CreateR0(places[i][dim].low + shape.dimensions(dim), S32, b);
    HloInstruction* is_inside =
        AddCompare(index, ComparisonDirection::kLt,
                   CreateBroadcast(end, index_shape.dimensions(), b), b);
    result = b->AddInstruction(HloInstruction::CreateTernary(
        shard, HloOpcode::kSelect, is_inside, piece, result));
  }
  return result;
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleConcatenate(HloInstruction* hlo) {
  const int64_t dim = hlo->concatenate_dimension();
  const HloSharding* cut = &hlo->sharding();
  std::vector<PartitionedHlo> operands;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    const HloInstruction* operand = hlo->operand(i);
    const PartitionedHlo& present = GetPartitionedHlo(operand);
    if (!cut->IsTiledLeaf()) cut = &present.sharding();
    const bool is_iota =
        operand->opcode() == HloOpcode::kIota && IsPriced(present.sharding());
    operands.push_back(
        is_iota ? PartitionedHlo(Operand(hlo, i, HloSharding::Replicate()),
                                 operand->shape(), MakePartitioningState())
        : present.IsAlsoWhole() ? present.Reshard(HloSharding::Replicate())
                                : present);
  }
  if (!cut->IsTiledLeaf()) return DefaultAction(hlo);
  const HloSharding sharding = WithWholeDims(*hlo, *cut, {dim});
  if (PiecesTakeLess(*hlo, operands, *cut, sharding)) {
    Finish(hlo, PutTogether(*hlo, operands, *cut, MakePartitioningState()),
           *cut);
    return absl::OkStatus();
  }
  std::vector<HloInstruction*> wholes;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    wholes.push_back(Operand(hlo, i, sharding));
  }
  return FinishOnShards(hlo, wholes, sharding);
}

}  // namespace xla::spmd
