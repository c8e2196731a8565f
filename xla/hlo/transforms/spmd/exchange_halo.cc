#include "xla/hlo/transforms/spmd/exchange_halo.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

// A halo of at most one shard comes from the next shard, a longer one from
// several. ExchangeHalo sends, for each distance between sender and receiver,
// the part of a shard that any receiver at that distance can need: the same
// slice on all devices, as SPMD code has one shape for all, cut to the longest
// halo. The first shard's left halo and the last one's right halo have no
// sender and do not count for that maximum.

namespace xla::spmd {
namespace {

// What an exchange needs to know of the devices.
PartitionedHlo::PartitioningState StateOf(
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdBuilder* b) {
  PartitionedHlo::PartitioningState state = {};
  state.b = b;
  state.num_replicas = 1;
  state.collective_ops_creator = collective_ops_creator;
  state.next_channel_id = next_channel_id;
  return state;
}

// The shard of ordinal i and its halos, in the whole.
ShardIntervals IntervalsWithHalos(const OffsetCalculation& left,
                                  const OffsetCalculation& right,
                                  int64_t shards, int64_t shard_size) {
  ShardIntervals intervals;
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t low = left.Calculate(i);
    intervals.start.push_back(i * shard_size - low);
    intervals.needed.push_back(
        std::max<int64_t>(0, shard_size + low + right.Calculate(i)));
    intervals.size = std::max(intervals.size, intervals.needed.back());
  }
  return intervals;
}

// Elements at `offset`, .. along `dim` of a padded whole, those outside of
// [low, high) replaced.
HloInstruction* MaskOutside(HloInstruction* inst, int64_t dim,
                            HloInstruction* offset, int64_t low, int64_t high,
                            HloInstruction* pad_value, SpmdBuilder* b) {
  const int64_t size = inst->shape().dimensions(dim);
  HloInstruction* position = AddBinary(
      HloOpcode::kAdd,
      b->AddInstruction(
          HloInstruction::CreateIota(ShapeUtil::MakeShape(S32, {size}), 0)),
      CreateBroadcast(
          AddBinary(HloOpcode::kSubtract, offset, CreateR0(low, S32, b), b),
          {size}, b),
      b);
  return AddSelect(IsInRange(position, high - low, b), {dim}, inst,
                   CreateBroadcast(pad_value, inst->shape().dimensions(), b),
                   b);
}

}  // namespace

std::optional<HloInstruction*> ExchangeHalo(
    HloInstruction* hlo, const OffsetCalculation& left_halo_size_function,
    const OffsetCalculation& right_halo_size_function, int64_t dim,
    const HloSharding& target,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdBuilder* b) {
  const int64_t shards = ShardCountAtDim(target, dim);
  if (shards == 1) return hlo;
  const int64_t size = hlo->shape().dimensions(dim);
  const int64_t left = left_halo_size_function.MaxInRange(1, shards);
  const int64_t right = right_halo_size_function.MaxInRange(0, shards - 1);
  if (std::max(left, right) > (shards - 1) * size || left + size + right <= 0) {
    return std::nullopt;
  }
  const std::vector<std::vector<int64_t>> groups =
      GetPartitionGroupsForReplication(target, {dim})
          ->flattened_replica_groups();
  std::vector<HloInstruction*> pieces;
  // From the shard that is `distance` further on.
  const int64_t end = CeilOfRatio(size + right, size);
  for (int64_t distance = FloorOfRatio(-left, size); distance < end;
       ++distance) {
    const int64_t low = std::max<int64_t>(-left - distance * size, 0);
    const int64_t high = std::min(size + right - distance * size, size);
    if (low >= high) continue;
    HloInstruction* piece = SliceDim(hlo, dim, low, high, b);
    if (distance != 0) {
      std::vector<std::pair<int64_t, int64_t>> pairs;
      for (int64_t to = 0; to < shards; ++to) {
        const int64_t from = to + distance;
        const bool needed =
            distance < 0
                ? left_halo_size_function.Calculate(to) > (-distance - 1) * size
                : right_halo_size_function.Calculate(to) >
                      (distance - 1) * size;
        if (from < 0 || from >= shards || !needed) continue;
        for (const std::vector<int64_t>& group : groups) {
          pairs.push_back({group[from], group[to]});
        }
      }
      absl::c_sort(pairs);
      piece = collective_ops_creator.create_collective_permute(
          b, piece, pairs, (*next_channel_id)++);
    }
    pieces.push_back(piece);
  }
  if (pieces.size() == 1) return pieces[0];
  Shape shape = ShapeUtil::MakeShape(hlo->shape().element_type(),
                                     hlo->shape().dimensions());
  shape.set_dimensions(dim, left + size + right);
  return b->AddInstruction(
      HloInstruction::CreateConcatenate(shape, pieces, dim));
}

std::optional<HloInstruction*> ExchangeHalo(
    HloInstruction* hlo,
    std::vector<OffsetCalculation> left_halo_size_functions,
    std::vector<OffsetCalculation> right_halo_size_functions,
    const HloSharding& target,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdBuilder* b) {
  std::optional<HloInstruction*> result = hlo;
  for (size_t d = 0; result.has_value() && d < left_halo_size_functions.size();
       ++d) {
    result = ExchangeHalo(*result, left_halo_size_functions[d],
                          right_halo_size_functions[d], d, target,
                          collective_ops_creator, next_channel_id, b);
  }
  return result;
}

HloInstruction* ExchangeHaloCompact(
    HloInstruction* hlo, const Shape& base_shape,
    const OffsetCalculation& left_halo_size_function,
    const OffsetCalculation& right_halo_size_function,
    HloInstruction* pad_value, int64_t dim, const HloSharding& sharding,
    HloInstruction* shard_ordinal,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdBuilder* b) {
  return ExchangeIntervals(
      hlo, sharding, dim, base_shape.dimensions(dim),
      IntervalsWithHalos(left_halo_size_function, right_halo_size_function,
                         ShardCountAtDim(sharding, dim),
                         hlo->shape().dimensions(dim)),
      pad_value, StateOf(collective_ops_creator, next_channel_id, b),
      shard_ordinal);
}

std::optional<HloInstruction*> ExchangeHaloAndGetValidData(
    HloInstruction* hlo, const Shape& base_shape,
    const OffsetCalculation& left_halo_size_function,
    const OffsetCalculation& right_halo_size_function,
    int64_t explicit_left_padding_on_full_shape, int64_t padded_full_shape_size,
    int64_t shard_size_with_halo, int64_t dim, const HloSharding& target,
    HloInstruction* offset_on_padded_shape, HloInstruction* pad_value,
    HloInstruction* partition_ordinal,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdBuilder* b, bool mask_invalid_region,
    bool force_mask_in_compact) {
  const int64_t base_size = base_shape.dimensions(dim);
  const int64_t shards = ShardCountAtDim(target, dim);
  ShardIntervals intervals =
      IntervalsWithHalos(left_halo_size_function, right_halo_size_function,
                         shards, hlo->shape().dimensions(dim));
  intervals.size = shard_size_with_halo;
  bool outside = false;
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t start = intervals.start[i];
    intervals.needed[i] = std::clamp<int64_t>(
        padded_full_shape_size - explicit_left_padding_on_full_shape - start, 0,
        std::min(intervals.needed[i], shard_size_with_halo));
    outside |= start < 0 || start + shard_size_with_halo > base_size;
  }
  if (!CanFetchIntervals(base_size, shards, intervals)) return std::nullopt;
  HloInstruction* window = ExchangeIntervals(
      hlo, target, dim, base_size, intervals, /*pad_value=*/nullptr,
      StateOf(collective_ops_creator, next_channel_id, b), partition_ordinal);
  if (!outside || !(mask_invalid_region || force_mask_in_compact)) {
    return window;
  }
  return MaskOutside(
      window, dim, offset_on_padded_shape, explicit_left_padding_on_full_shape,
      explicit_left_padding_on_full_shape + base_size, pad_value, b);
}

// Moves padding from the end of the array to its beginning, by shifting every
// shard by the size of the padding. f32[3] on 2 devices has shards [a b] and
// [c ?]; with a left halo of 1 and a right one of -1 they become [? a] and
// [b c].
HloInstruction* HaloExchangeToPadOnLeft(PartitionedHlo& original,
                                        absl::Span<const int64_t> dims) {
  HloInstruction* result = original.hlo();
  for (int64_t d : dims) {
    const int64_t shards = ShardCountAtDim(original.sharding(), d);
    const int64_t size = result->shape().dimensions(d);
    const int64_t base_size = original.base_shape().dimensions(d);
    const int64_t padding = shards * size - base_size;
    if (padding == 0) continue;
    const OffsetCalculation left =
        MultiplyAddDivideOffsetCalculation(0, padding, 1);
    const OffsetCalculation right =
        MultiplyAddDivideOffsetCalculation(0, -padding, 1);
    result = ExchangeIntervals(result, original.sharding(), d, base_size,
                               IntervalsWithHalos(left, right, shards, size),
                               /*pad_value=*/nullptr, original.state());
  }
  return result;
}

}  // namespace xla::spmd
