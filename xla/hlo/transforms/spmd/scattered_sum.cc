#include "xla/hlo/transforms/spmd/scattered_sum.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/spmd/device_groups.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape.h"
#include "xla/util.h"

namespace xla::spmd {
namespace {

// Orders of more dimensions than these are too many to try.
constexpr size_t kMostOrdered = 3;

// What a sum is scattered into, whatever the devices' order is.
struct Pieces {
  std::vector<int64_t> dims;
  // Along each of them, and copies of all.
  std::vector<int64_t> parts;
  int64_t rest;
};

// nullopt where addends cannot be cut into the tiles that are wanted, or
// padding would be half of them.
std::optional<Pieces> PiecesOf(const HloSharding& factors,
                               const FactorTensor& result, int64_t addends) {
  Pieces pieces = {{}, {}, addends};
  double padded = 1, present_elements = 1;
  for (int64_t d = 0; d < result.factors.size(); ++d) {
    const int64_t wanted = ShardCountAtDim(result.sharding, d);
    const int64_t present =
        result.factors[d] < 0 ? 1 : factors.dimension(result.factors[d]);
    if (wanted == present) continue;
    if (result.factors[d] < 0 || wanted % present != 0) return std::nullopt;
    // Devices that have the same addends cut the others of what each gets.
    const int64_t parts = std::gcd(wanted / present, pieces.rest);
    if (parts == 1) continue;
    const int64_t size = result.shape.dimensions(d);
    if (present > 1 && size % wanted != 0) return std::nullopt;
    pieces.dims.push_back(d);
    pieces.parts.push_back(parts);
    pieces.rest /= parts;
    padded *= CeilOfRatio(size, present * parts) * parts;
    present_elements *= CeilOfRatio(size, present);
  }
  // With padding, which is scattered, too, an all-reduce may take less: always,
  // where that leaves the whole that a reader wants.
  const bool whole_is_read =
      absl::c_linear_search(result.readers, HloSharding::Replicate());
  if (pieces.dims.empty() ||
      padded > (whole_is_read ? 1 : 2) * present_elements) {
    return std::nullopt;
  }
  return pieces;
}

// `order`: of the pieces' dimensions, and the rest as the last of them, how the
// devices of the factor `cut` are split, from major to minor.
ScatteredSum SplitSum(const HloSharding& factors, int64_t cut,
                      const FactorTensor& result, const Pieces& pieces,
                      absl::Span<const int64_t> order) {
  const int64_t count = pieces.dims.size();
  ScatteredSum sum = {pieces.dims, factors, std::vector<int64_t>(count), 0};
  for (int64_t i = 0; i <= count; ++i) {
    const bool is_rest = order[i] == count;
    (is_rest ? sum.rest : sum.scattered[order[i]]) = cut + i;
    if (i < count) {
      sum.split = hlo_sharding_util::SplitShardingDimension(
          sum.split, cut + i, is_rest ? pieces.rest : pieces.parts[order[i]]);
    }
  }
  std::vector<int64_t> moved = result.factors;
  for (int64_t& factor : moved) factor += factor > cut ? count : 0;
  HloSharding merged = sum.split;
  for (int64_t i = 0; i < count; ++i) {
    merged = hlo_sharding_util::MoveAndMergeShardingTiles(
        merged, sum.scattered[i], moved[pieces.dims[i]]);
  }
  sum.scattered_to = MapShardingDims(merged, moved);
  return sum;
}

// The factors split like that, the rest as the last part, among the same
// devices in the order of the tiles that the result shall have; nullopt where
// those are on other devices.
std::optional<HloSharding> SplitForResult(const HloSharding& factors,
                                          int64_t cut,
                                          const FactorTensor& result,
                                          const Pieces& pieces) {
  if (!result.sharding.subgroup_types().empty() ||
      !factors.subgroup_types().empty()) {
    return std::nullopt;
  }
  const int64_t rank = result.factors.size(), count = pieces.dims.size();
  const int64_t copies =
      factors.ReplicateOnLastTileDim()
          ? factors.tile_assignment().dim(factors.TiledDataRank())
          : 1;
  // Present tiles and parts along each dimension, then copies.
  std::vector<int64_t> dims(2 * rank + 2, 1), split, moved = result.factors;
  for (int64_t d = 0; d < rank; ++d) {
    dims[2 * d] = ShardCountAtDim(result.sharding, d);
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t d = pieces.dims[i];
    dims[2 * d] /= pieces.parts[i];
    dims[2 * d + 1] = pieces.parts[i];
  }
  std::vector<int> order;
  for (int64_t f = 0; f < factors.TiledDataRank(); ++f) {
    const auto at = absl::c_find(result.factors, f);
    if (f == cut) {
      absl::c_copy(pieces.parts, std::back_inserter(split));
      split.push_back(pieces.rest);
      for (int64_t d : pieces.dims) order.push_back(2 * d + 1);
      order.push_back(2 * rank);
    } else {
      split.push_back(factors.dimension(f));
      if (at != result.factors.end()) {
        order.push_back(2 * (at - result.factors.begin()));
      } else if (split.back() > 1) {
        return std::nullopt;
      }
    }
  }
  order.push_back(2 * rank + 1);
  if (copies > 1) split.push_back(copies);
  for (int64_t i = 0; i < 2 * rank; ++i) {
    if (!absl::c_linear_search(order, i)) order.push_back(i);
  }
  std::vector<int64_t> summed(count + 1);
  std::iota(summed.begin(), summed.end(), cut);
  for (int64_t& factor : moved) factor += factor > cut ? count : 0;
  for (const bool rest_first : {true, false}) {
    dims[2 * rank] = rest_first ? pieces.rest : copies;
    dims[2 * rank + 1] = rest_first ? copies : pieces.rest;
    if (!rest_first) {
      std::swap(*absl::c_find(order, 2 * rank),
                *absl::c_find(order, 2 * rank + 1));
    }
    const TileAssignment tiles = result.sharding.tile_assignment()
                                     .Reshape(dims)
                                     .Transpose(order)
                                     .Reshape(split);
    const HloSharding sharding =
        copies > 1 ? HloSharding::PartialTile(tiles) : HloSharding::Tile(tiles);
    if (MapShardingDims(sharding, moved) == TensorSharding(factors, result) &&
        SameGroups(*GetPartitionGroupsForReplication(sharding, summed),
                   *GetPartitionGroupsForReplication(factors, {cut}))) {
      return sharding;
    }
  }
  return std::nullopt;
}

// `value` with the parts of all `dims` in the first of them, those of the first
// before those of the others.
//
//   [4,6], dims {0,1}, parts {2,3} → [2,2,3,2] → [2,3,2,2] → [12,2]
HloInstruction* PartsInOneDim(HloInstruction* value,
                              absl::Span<const int64_t> dims,
                              absl::Span<const int64_t> parts, SpmdBuilder* b) {
  if (dims.size() == 1) return value;
  const absl::Span<const int64_t> sizes = value->shape().dimensions();
  std::vector<int64_t> split, order, result(sizes.begin(), sizes.end());
  for (int64_t d = 0, i = 0; d < sizes.size(); ++d) {
    if (i < dims.size() && dims[i] == d) {
      order.insert(order.begin() + dims[0] + i, split.size());
      split.push_back(parts[i]);
      result[d] /= parts[i++];
    }
    order.push_back(split.size());
    split.push_back(result[d]);
  }
  for (int64_t part : parts) result[dims[0]] *= part;
  return AddReshape(AddTranspose(AddReshape(value, split, b), order, b), result,
                    b);
}

}  // namespace

// Tiles that are only on other devices are the second choice.
std::optional<ScatteredSum> ScatterSum(const HloSharding& factors,
                                       const FactorTensor& result,
                                       absl::Span<const int64_t> summed) {
  if (!result.sharding.IsTiledLeaf()) return std::nullopt;
  const std::vector<int64_t> cut = CutFactors(factors, summed);
  if (cut.empty()) return std::nullopt;
  const int64_t addends = factors.NumTiles(cut);
  const std::optional<Pieces> pieces = PiecesOf(factors, result, addends);
  if (!pieces.has_value() || pieces->dims.size() > kMostOrdered) {
    return std::nullopt;
  }
  HloSharding together = factors;
  for (size_t i = 1; i < cut.size(); ++i) {
    together =
        hlo_sharding_util::MoveAndMergeShardingTiles(together, cut[i], cut[0]);
  }
  std::vector<int64_t> order(pieces->dims.size() + 1);
  std::iota(order.begin(), order.end(), 0);
  std::optional<ScatteredSum> elsewhere;
  do {
    ScatteredSum sum = SplitSum(together, cut[0], result, *pieces, order);
    if (result.addends.has_value()
            ? sum.scattered_to == result.sharding
            : ReshardBytes(result.shape, sum.scattered_to, result.sharding) ==
                  0) {
      return sum;
    }
    if (!elsewhere.has_value() &&
        HaveTheSameTiles(sum.scattered_to, result.sharding)) {
      elsewhere = std::move(sum);
    }
    // A rest of one device may be anywhere.
  } while (std::next_permutation(
      order.begin(), pieces->rest > 1 ? order.end() : order.end() - 1));
  if (!elsewhere.has_value()) return std::nullopt;
  if (const auto split = SplitForResult(together, cut[0], result, *pieces)) {
    std::iota(elsewhere->scattered.begin(), elsewhere->scattered.end(), cut[0]);
    elsewhere->rest = cut[0] + pieces->dims.size();
    elsewhere->split = *split;
    elsewhere->scattered_to = result.sharding;
    return elsewhere;
  }
  if (result.addends.has_value()) return std::nullopt;
  const HloSharding whole = TensorSharding(factors, result);
  const double rest = pieces->rest;
  const double scattered =
      ShapeSizeInBytes(MakePartitionedShape(result.shape, result.sharding)) *
      (elsewhere->Parts() + 2 * (rest - 1) / rest);
  const double reduced =
      2.0 * (addends - 1) / addends *
          ShapeSizeInBytes(MakePartitionedShape(result.shape, whole)) +
      ReshardBytes(result.shape, whole, result.sharding);
  return scattered < reduced ? elsewhere : std::nullopt;
}

HloSharding AddendsAsTiles(const HloSharding& addends) {
  const int64_t rank = addends.TiledDataRank();
  const int64_t dim = *UnreducedDim(addends);
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  order.push_back(dim);
  for (int64_t d = rank; d < addends.num_dimensions(); ++d) {
    if (d != dim) order.push_back(d);
  }
  std::vector<OpSharding::Type> others;
  absl::c_remove_copy(addends.subgroup_types(), std::back_inserter(others),
                      OpSharding::UNREDUCED);
  return HloSharding::Subgroup(addends.tile_assignment().Transpose(order),
                               others);
}

ShardedSum SumAddends(HloInstruction* local, const HloSharding& factors,
                      const FactorTensor& result,
                      absl::Span<const int64_t> summed,
                      const PartitionedHlo::PartitioningState& state,
                      HloComputation* reduction) {
  const std::vector<int64_t> cut = CutFactors(factors, summed);
  const HloSharding sharding = TensorSharding(factors, result);
  if (cut.empty()) return {local, sharding};
  if (reduction == nullptr) {
    reduction = MakeBinaryAdd(local->shape().element_type(), state.module);
  }
  const std::optional<ScatteredSum> scatter =
      ScatterSum(factors, result, summed);
  if (!scatter.has_value() ||
      state.collective_ops_creator.create_reduce_scatter == nullptr) {
    return {state.partitioner->AllReduceAlongShardingDims(
                state.b, local, factors, state.next_channel_id, cut,
                state.collective_ops_creator, reduction),
            sharding};
  }
  const Shape shard = MakePartitionedShape(result.shape, scatter->scattered_to);
  Shape padded = local->shape();
  std::vector<int64_t> parts;
  for (size_t i = 0; i < scatter->dims.size(); ++i) {
    const int64_t d = scatter->dims[i];
    parts.push_back(scatter->split.dimension(scatter->scattered[i]));
    padded.set_dimensions(d, shard.dimensions(d) * parts[i]);
  }
  HloInstruction* sum = state.collective_ops_creator.create_reduce_scatter(
      state.b,
      PartsInOneDim(PadToShape(local, padded, state.b), scatter->dims, parts,
                    state.b),
      reduction, shard,
      *GetPartitionGroupsForReplication(scatter->split, scatter->scattered),
      (*state.next_channel_id)++, scatter->dims[0]);
  if (scatter->split.dimension(scatter->rest) > 1) {
    sum = state.partitioner->AllReduceAlongShardingDims(
        state.b, sum, scatter->split, state.next_channel_id, {scatter->rest},
        state.collective_ops_creator, reduction);
  }
  return {sum, scatter->scattered_to};
}

}  // namespace xla::spmd
