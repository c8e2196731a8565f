#include "xla/hlo/transforms/spmd/factor_sharding.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

// The sharding of the factors that goes with that of a tensor; nullopt where
// nothing is cut.
std::optional<HloSharding> FactorsOf(int64_t num_factors,
                                     const FactorTensor& tensor) {
  if (!tensor.sharding.IsTiledLeaf()) return std::nullopt;
  std::vector<int64_t> source(num_factors, -1);
  for (int64_t d = 0; d < tensor.factors.size(); ++d) {
    if (tensor.factors[d] >= 0) source[tensor.factors[d]] = d;
  }
  HloSharding result = MapShardingDims(tensor.sharding, source);
  if (!result.IsTiledLeaf() || result.NumTiles() == 1) return std::nullopt;
  return result;
}

int64_t TilesOf(const HloSharding& factors, absl::Span<const int64_t> dims) {
  int64_t tiles = 1;
  for (int64_t d : dims) tiles *= factors.dimension(d);
  return tiles;
}

int64_t ShardBytes(const Shape& shape, const HloSharding& sharding) {
  return ShapeSizeInBytes(MakePartitionedShape(shape, sharding));
}

int64_t Cost(const HloSharding& factors, absl::Span<const FactorTensor> tensors,
             absl::Span<const int64_t> summed) {
  int64_t cost = 0;
  const int64_t addends = TilesOf(factors, summed);
  for (const FactorTensor& tensor : tensors) {
    const HloSharding local = TensorSharding(factors, tensor);
    if (!tensor.is_result) {
      cost += ReshardBytes(tensor.shape, tensor.sharding, local);
      continue;
    }
    const int64_t sent =
        (addends - 1) * ShardBytes(tensor.shape, local) / addends;
    if (ReduceScatterDim(factors, tensor, summed).has_value()) {
      cost += sent;
      continue;
    }
    cost += 2 * sent + ReshardBytes(tensor.shape, local, tensor.sharding);
  }
  return cost;
}

}  // namespace

int64_t ReshardBytes(const Shape& shape, const HloSharding& from,
                     const HloSharding& to) {
  if (from == to || from.IsReplicated() || ReplicatedOnAllDims(from) == from ||
      hlo_sharding_util::IsSubTilingOrEqualSharding(shape, to, from)) {
    return 0;
  }
  const int64_t has = from.IsTiledLeaf() ? ShardBytes(shape, from) : 0;
  const int64_t needs = ShardBytes(shape, to);
  // To larger tiles: what is missing. To others: what its own share of the
  // tile, as large as that of every other device, leaves.
  return needs > has ? needs - has : needs - needs / to.NumTiles();
}

HloSharding TensorSharding(const HloSharding& factors,
                           const FactorTensor& tensor) {
  return MapShardingDims(factors, tensor.factors);
}

std::optional<int64_t> ReduceScatterDim(const HloSharding& factors,
                                        const FactorTensor& result,
                                        absl::Span<const int64_t> summed) {
  if (!result.sharding.IsTiledLeaf()) return std::nullopt;
  std::optional<int64_t> cut;
  for (int64_t factor : summed) {
    if (factors.dimension(factor) == 1) continue;
    if (cut.has_value()) return std::nullopt;
    cut = factor;
  }
  if (!cut.has_value()) return std::nullopt;
  for (int64_t d = 0; d < result.factors.size(); ++d) {
    if (result.factors[d] < 0 ||
        result.shape.dimensions(d) % ShardCountAtDim(result.sharding, d) != 0 ||
        ShardCountAtDim(result.sharding, d) !=
            factors.dimension(result.factors[d]) * factors.dimension(*cut)) {
      continue;
    }
    const HloSharding merged = hlo_sharding_util::MoveAndMergeShardingTiles(
        factors, *cut, result.factors[d]);
    if (MapShardingDims(merged, result.factors) == result.sharding) return d;
  }
  return std::nullopt;
}

ShardedSum SumAddends(HloInstruction* local, const HloSharding& factors,
                      const FactorTensor& result,
                      absl::Span<const int64_t> summed,
                      const PartitionedHlo::PartitioningState& state) {
  std::vector<int64_t> cut;
  for (int64_t factor : summed) {
    if (factors.dimension(factor) > 1) cut.push_back(factor);
  }
  const HloSharding sharding = TensorSharding(factors, result);
  if (cut.empty()) return {local, sharding};
  HloComputation* add =
      MakeBinaryAdd(local->shape().element_type(), state.module);
  const std::optional<int64_t> dim = ReduceScatterDim(factors, result, summed);
  if (dim.has_value() &&
      state.collective_ops_creator.create_reduce_scatter != nullptr) {
    return {state.collective_ops_creator.create_reduce_scatter(
                state.b, local, add,
                MakePartitionedShape(result.shape, result.sharding),
                *GetPartitionGroupsForReplication(factors, cut),
                (*state.next_channel_id)++, *dim),
            result.sharding};
  }
  return {state.partitioner->AllReduceAlongShardingDims(
              state.b, local, factors, state.next_channel_id, cut,
              state.collective_ops_creator, add),
          sharding};
}

std::optional<HloSharding> ChooseFactorSharding(
    int64_t num_factors, absl::Span<const FactorTensor> tensors,
    absl::Span<const int64_t> summed) {
  std::vector<HloSharding> candidates;
  for (const FactorTensor& tensor : tensors) {
    std::optional<HloSharding> factors = FactorsOf(num_factors, tensor);
    if (factors.has_value()) candidates.push_back(*factors);
  }
  // Pairs, and everything merged in order.
  const int64_t singles = candidates.size();
  for (int64_t i = 0; i < singles; ++i) {
    HloSharding all = candidates[i];
    for (int64_t j = 0; j < singles; ++j) {
      if (i == j) continue;
      HloSharding pair = candidates[i];
      if (hlo_sharding_util::MergeShardingIfCompatible(candidates[j], &pair)) {
        candidates.push_back(pair);
      }
      hlo_sharding_util::MergeShardingIfCompatible(candidates[j], &all);
    }
    candidates.push_back(all);
  }
  const int64_t merged = candidates.size();
  for (int64_t i = 0; i < merged; ++i) {
    for (int64_t d = 0; d < num_factors; ++d) {
      if (candidates[i].dimension(d) == 1) continue;
      HloSharding coarser = ReplicatedOnDims(candidates[i], {d});
      if (coarser.IsTiledLeaf() && coarser.NumTiles() > 1) {
        candidates.push_back(std::move(coarser));
      }
    }
  }
  int64_t whole = 0;
  for (const FactorTensor& tensor : tensors) {
    if (tensor.is_result) continue;
    whole += ReshardBytes(tensor.shape, tensor.sharding,
                          ReplicatedOnAllDims(tensor.sharding));
  }
  std::optional<HloSharding> best;
  int64_t best_cost = whole;
  for (const HloSharding& factors : candidates) {
    const int64_t cost = Cost(factors, tensors, summed);
    // At equal cost more tiles, which mean less work and memory per device.
    if (cost < best_cost ||
        (cost == best_cost &&
         (!best.has_value() || factors.NumTiles() > best->NumTiles()))) {
      best = factors;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace xla::spmd
