#include "xla/hlo/transforms/spmd/factor_sharding.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/spmd/device_groups.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/scattered_sum.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_report.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"

// A dot, gather, scatter or convolution is described by factors: groups of
// dimensions of its operands and result that run over the same index. A
// sharding of the factors then gives a sharding of every tensor under which the
// instruction is local, up to a sum over the factors that are contracted.
// Choosing how to partition an instruction means choosing a factor sharding
// that minimizes communication plus work.
//
// Candidates are the shardings that the tensors have already, merged in pairs
// (with fewer tiles of one factor where they contradict each other) and all
// together, and each of these with one factor less; so there are
// O(tensors^2 * factors^2 * divisors of a number of tiles) of them, each priced
// in O(tensors).

namespace xla::spmd {
namespace {

int64_t ShardBytes(const Shape& shape, const HloSharding& sharding) {
  return ShapeSizeInBytes(MakePartitionedShape(shape, sharding));
}

// Whether the devices that have addends along a factor may keep them.
bool KeepsAddends(const HloSharding& factors, int64_t cut,
                  const FactorTensor& result) {
  if (!result.addends.has_value()) return false;
  return SameGroups(*GetPartitionGroupsForReplication(factors, {cut}),
                    *GetPartitionGroupsForReplication(
                        *result.addends, {*UnreducedDim(*result.addends)}));
}

// Where tensors agree, as they mostly do, all candidates are one.
void AddIfNew(HloSharding candidate, std::vector<HloSharding>* candidates) {
  if (!absl::c_linear_search(*candidates, candidate)) {
    candidates->push_back(std::move(candidate));
  }
}

// The shardings of the factors that leave the result in the addends that are
// wanted: one for each summed factor that is long enough.
void AddCandidatesOfAddends(int64_t num_factors,
                            absl::Span<const FactorTensor> tensors,
                            absl::Span<const int64_t> summed,
                            std::vector<HloSharding>* candidates) {
  for (const FactorTensor& result : tensors) {
    if (!result.addends.has_value()) continue;
    const int64_t rank = result.factors.size();
    FactorTensor tiles = result;
    tiles.sharding = AddendsAsTiles(*result.addends);
    for (int64_t factor : summed) {
      const bool fits = absl::c_all_of(tensors, [&](const FactorTensor& t) {
        const auto at = absl::c_find(t.factors, factor);
        return at == t.factors.end() ||
               t.shape.dimensions(at - t.factors.begin()) >=
                   tiles.sharding.dimension(rank);
      });
      if (!fits) continue;
      tiles.factors.resize(rank);
      tiles.factors.push_back(factor);
      std::optional<HloSharding> factors = FactorSharding(num_factors, tiles);
      if (factors.has_value()) AddIfNew(*std::move(factors), candidates);
    }
  }
}

using BytesFn = absl::FunctionRef<double(const Shape&, const HloSharding&,
                                         const HloSharding&)>;

double FewestBytes(const Shape& shape, const HloSharding& from,
                   const HloSharding& to) {
  return from.IsTiledLeaf() ? ReshardBytes(shape, from, to) : 0;
}

// Tiles of dimensions that are needed whole go to dimensions that take them: an
// exchange instead of a gather.
void AddCandidatesOfMoved(int64_t num_factors, const FactorTensor& tensor,
                          std::vector<HloSharding>* candidates) {
  if (tensor.is_result || !IsPriced(tensor.sharding)) return;
  const int64_t rank = tensor.factors.size();
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t tiles = ShardCountAtDim(tensor.sharding, d);
    if (tensor.factors[d] >= 0 || tiles == 1) continue;
    for (int64_t e = 0; e < rank; ++e) {
      if (tensor.factors[e] < 0 ||
          tensor.shape.dimensions(e) %
                  (tiles * ShardCountAtDim(tensor.sharding, e)) !=
              0) {
        continue;
      }
      FactorTensor moved = tensor;
      moved.sharding =
          hlo_sharding_util::MoveAndMergeShardingTiles(tensor.sharding, d, e);
      std::optional<HloSharding> factors = FactorSharding(num_factors, moved);
      if (factors.has_value()) AddIfNew(*std::move(factors), candidates);
    }
  }
}

// Devices that have copies of an operand cut another factor among them, which
// takes nothing of that operand.
//
//   f32[m,k] {devices=[1,2,2]<=[4] last_tile_dim_replicate} times f32[k,n]
//       → k in 2 and m in 2: half of the addends
void AddCandidatesOfCopies(absl::Span<const FactorTensor> tensors,
                           const HloSharding& factors,
                           std::vector<HloSharding>* candidates) {
  if (!factors.ReplicateOnLastTileDim()) return;
  const int64_t rank = factors.TiledDataRank();
  const int64_t copies = factors.dimension(rank);
  const HloSharding tiles = HloSharding::Tile(factors.tile_assignment());
  std::vector<int64_t> others(rank);
  std::iota(others.begin(), others.end(), 0);
  for (int64_t factor : others) {
    const int64_t parts = copies * factors.dimension(factor);
    const bool divides = absl::c_all_of(tensors, [&](const FactorTensor& t) {
      const auto at = absl::c_find(t.factors, factor);
      return at == t.factors.end() ||
             t.shape.dimensions(at - t.factors.begin()) % parts == 0;
    });
    if (!divides) continue;
    AddIfNew(MapShardingDims(hlo_sharding_util::MoveAndMergeShardingTiles(
                                 tiles, /*source_dim=*/rank, factor),
                             others),
             candidates);
  }
}

double BytesToReaders(const FactorTensor& result, const HloSharding& made,
                      BytesFn reshard_bytes) {
  const auto bytes = [&](const HloSharding& from, const HloSharding& to) {
    return reshard_bytes(result.shape, from, to);
  };
  // To reach one device, it becomes whole on all of them.
  const HloSharding wanted =
      result.sharding.IsSingleDeviceLeaf() && !made.IsSingleDeviceLeaf()
          ? HloSharding::Replicate()
          : result.sharding;
  double sum = bytes(made, wanted);
  double fewest = std::numeric_limits<double>::infinity();
  for (const HloSharding& reader : result.readers) {
    const double direct = bytes(made, reader);
    if (reader.IsReplicatedLeaf()) fewest = direct;
    sum += std::min(direct, bytes(wanted, reader));
  }
  return std::min(sum, fewest);
}

// Bytes that each device receives: `reshard_bytes` of operands, and for results
// either a reduce-scatter (where the sum can be scattered directly into the
// wanted sharding) or an all-reduce, which counts twice, and a reshard. Addends
// that may stay where they are cost nothing.
double Cost(const HloSharding& factors, absl::Span<const FactorTensor> tensors,
            absl::Span<const int64_t> summed, BytesFn reshard_bytes) {
  double cost = 0;
  const int64_t addends = factors.NumTiles(summed);
  for (const FactorTensor& tensor : tensors) {
    if (tensor.is_made) continue;
    const HloSharding local = TensorSharding(factors, tensor);
    if (!tensor.is_result) {
      if (absl::c_linear_search(tensor.readers, local)) continue;
      cost += reshard_bytes(tensor.shape, tensor.sharding, local);
      continue;
    }
    if (const auto scatter = ScatterSum(factors, tensor, summed)) {
      const int64_t shard = ShardBytes(tensor.shape, scatter->scattered_to);
      const int64_t rest = scatter->split.dimension(scatter->rest);
      cost += (scatter->Parts() - 1) * shard +
              BytesToReaders(tensor, scatter->scattered_to, reshard_bytes);
      if (!KeepsAddends(scatter->split, scatter->rest, tensor)) {
        cost += 2.0 * (rest - 1) * shard / rest;
      }
      continue;
    }
    const std::vector<int64_t> cut = CutFactors(factors, summed);
    if (cut.size() == 1 && local == tensor.sharding &&
        KeepsAddends(factors, cut[0], tensor)) {
      continue;
    }
    cost += 2.0 * (addends - 1) * ShardBytes(tensor.shape, local) / addends +
            BytesToReaders(tensor, local, reshard_bytes);
  }
  return cost;
}

}  // namespace

std::optional<HloSharding> FactorSharding(int64_t num_factors,
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

bool IsPriced(const HloSharding& sharding) {
  return sharding.IsReplicatedLeaf() ||
         (sharding.IsTiledLeaf() && sharding.SubgroupManualDim() < 0 &&
          !UnreducedDim(sharding).has_value());
}

std::vector<int64_t> CutFactors(const HloSharding& factors,
                                absl::Span<const int64_t> dims) {
  std::vector<int64_t> cut;
  for (int64_t d : dims) {
    if (factors.dimension(d) > 1) cut.push_back(d);
  }
  return cut;
}

// An estimate without planning the steps. Free where every device already has
// what it needs.
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

double BytesToReaders(const FactorTensor& result, const HloSharding& made) {
  return BytesToReaders(result, made, RouteBytes);
}

double BytesOfResult(const HloSharding& factors, const FactorTensor& result,
                     absl::Span<const int64_t> summed) {
  return Cost(factors, {result}, summed, RouteBytes);
}

HloSharding TensorSharding(const HloSharding& factors,
                           const FactorTensor& tensor) {
  return MapShardingDims(factors, tensor.factors);
}

// Work in the unit of Cost, bytes on the interconnect: the bytes that could be
// transferred in the time of the operations.
double WorkOfFlops(double flops) { return flops * 450e9 / 989e12; }

namespace {

// Tiles along `preferred` factors, for each of them those of the first tensor
// that has it: an operand that is read comes before its indices.
int64_t PresentTiles(int64_t num_factors,
                     absl::Span<const FactorTensor> tensors,
                     absl::Span<const int64_t> preferred) {
  int64_t tiles = 1;
  for (int64_t factor : preferred) {
    const auto first =
        absl::c_find_if(tensors, [factor](const FactorTensor& tensor) {
          return absl::c_linear_search(tensor.factors, factor);
        });
    if (first == tensors.end()) continue;
    const std::optional<HloSharding> present =
        FactorSharding(num_factors, *first);
    if (present.has_value()) tiles *= present->dimension(factor);
  }
  return tiles;
}

// `factors` with only the major `tiles` of one factor.
HloSharding WithFewerTiles(const HloSharding& factors, int64_t factor,
                           int64_t tiles) {
  if (tiles == 1) return ReplicatedOnDims(factors, {factor});
  const HloSharding split =
      hlo_sharding_util::SplitShardingDimension(factors, factor, tiles);
  return hlo_sharding_util::RemoveShapeDimensions(
      ReplicatedOnDims(split, {factor + 1}), {factor + 1});
}

// `some` with what it can take of `others` with fewer tiles of one factor.
//
//   k in 2, and b in 3 times n in 2, of the devices that cut k → k in 2, b in 3
//   k in 2, and b in 4, half of that by the devices that cut k → k in 2, b in 2
void AddPairsWithFewerTiles(int64_t num_factors, const HloSharding& some,
                            const HloSharding& others,
                            std::vector<HloSharding>* candidates) {
  // AddIfNew moves the vector that `some` and `others` are in.
  std::vector<HloSharding> pairs;
  for (int64_t d = 0; d < num_factors; ++d) {
    const int64_t all = others.dimension(d);
    for (int64_t tiles = 1; tiles <= all / 2; ++tiles) {
      if (all % tiles != 0) continue;
      const HloSharding coarser = WithFewerTiles(others, d, tiles);
      if (!coarser.IsTiledLeaf() || coarser.NumTiles() == 1) continue;
      HloSharding pair = some;
      if (hlo_sharding_util::MergeShardingIfCompatible(coarser, &pair)) {
        pairs.push_back(std::move(pair));
      }
    }
  }
  for (HloSharding& pair : pairs) AddIfNew(std::move(pair), candidates);
}

}  // namespace

// The alternative of gathering everything and computing redundantly is the
// initial best. `preferred` factors, if they are cut, override costs.
std::optional<HloSharding> ChooseFactorSharding(
    int64_t num_factors, absl::Span<const FactorTensor> tensors,
    absl::Span<const int64_t> summed, double work,
    absl::Span<const int64_t> preferred, const FactorPrice& price) {
  std::vector<HloSharding> candidates;
  for (const FactorTensor& tensor : tensors) {
    std::optional<HloSharding> factors = FactorSharding(num_factors, tensor);
    if (factors.has_value()) AddIfNew(*std::move(factors), &candidates);
  }
  const int64_t present = candidates.size();
  std::vector<HloSharding> moved;
  for (const FactorTensor& tensor : tensors) {
    AddCandidatesOfMoved(num_factors, tensor, &moved);
  }
  for (const HloSharding& factors : moved) AddIfNew(factors, &candidates);
  AddCandidatesOfAddends(num_factors, tensors, summed, &candidates);
  // Pairs, or with fewer tiles where they contradict each other, and everything
  // merged in order.
  const int64_t singles = candidates.size();
  for (int64_t i = 0; i < singles; ++i) {
    HloSharding all = candidates[i];
    for (int64_t j = 0; j < singles; ++j) {
      if (i == j) continue;
      HloSharding pair = candidates[i];
      if (hlo_sharding_util::MergeShardingIfCompatible(candidates[j], &pair)) {
        AddIfNew(std::move(pair), &candidates);
      } else if (i < present && j < present) {
        AddPairsWithFewerTiles(num_factors, candidates[i], candidates[j],
                               &candidates);
      }
      hlo_sharding_util::MergeShardingIfCompatible(candidates[j], &all);
    }
    AddIfNew(std::move(all), &candidates);
  }
  const int64_t merged = candidates.size();
  for (int64_t i = 0; i < merged; ++i) {
    for (int64_t d = 0; d < num_factors; ++d) {
      if (candidates[i].dimension(d) == 1) continue;
      HloSharding coarser = ReplicatedOnDims(candidates[i], {d});
      if (coarser.IsTiledLeaf() && coarser.NumTiles() > 1) {
        AddIfNew(std::move(coarser), &candidates);
      }
    }
  }
  // Copies save work, too, but that alone is no reason to receive more.
  std::vector<int64_t> tiles_of_work;
  for (const HloSharding& factors : candidates) {
    tiles_of_work.push_back(factors.NumTiles());
  }
  for (int64_t i = 0; i < present; ++i) {
    std::vector<HloSharding> copies;
    AddCandidatesOfCopies(tensors, candidates[i], &copies);
    for (HloSharding& factors : copies) {
      AddIfNew(std::move(factors), &candidates);
      tiles_of_work.resize(candidates.size(), candidates[i].NumTiles());
    }
  }
  double whole = 0;
  for (const FactorTensor& tensor : tensors) {
    if (tensor.is_result || tensor.is_made) continue;
    const HloSharding everywhere = ReplicatedOnAllDims(tensor.sharding);
    if (absl::c_linear_search(tensor.readers, everywhere)) continue;
    whole += RouteBytes(tensor.shape, tensor.sharding, everywhere);
  }
  int64_t most_preferred = 1;
  for (const HloSharding& factors : candidates) {
    most_preferred = std::max(most_preferred, factors.NumTiles(preferred));
  }
  const int64_t preferred_tiles =
      std::min(most_preferred, PresentTiles(num_factors, tensors, preferred));
  std::optional<HloSharding> best;
  double best_cost = preferred_tiles > 1
                         ? std::numeric_limits<double>::infinity()
                         : whole + work;
  // Those that may cost least come first: for most others, what they cost at
  // least says enough.
  std::vector<std::pair<double, int64_t>> by_bound;
  for (int64_t i = 0; i < candidates.size(); ++i) {
    const HloSharding& factors = candidates[i];
    if (factors.NumTiles(preferred) < preferred_tiles) continue;
    const double bound =
        price == nullptr ? Cost(factors, tensors, summed, FewestBytes) : 0;
    by_bound.push_back({bound + work / tiles_of_work[i], i});
  }
  absl::c_stable_sort(
      by_bound, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [bound, i] : by_bound) {
    if (bound > best_cost) break;
    const HloSharding& factors = candidates[i];
    const double cost =
        (price == nullptr ? Cost(factors, tensors, summed, RouteBytes)
                          : price(factors)) +
        work / tiles_of_work[i];
    // At equal cost more tiles, which mean less work and memory per device, but
    // not for one more exchange.
    if (cost < best_cost ||
        (cost == best_cost && !absl::c_linear_search(moved, factors) &&
         (!best.has_value() || factors.NumTiles() > best->NumTiles()))) {
      best = factors;
      best_cost = cost;
    }
  }
  return best;
}

void ExplainPriced(absl::Span<const FactorTensor> tensors,
                   SpmdPartitioner* partitioner) {
  SpmdReport* report = partitioner->running_report();
  if (report == nullptr) return;
  report->set_why_whole(WhyWhole::kCheapest);
  for (const FactorTensor& tensor : tensors) {
    if (tensor.is_result) continue;
    for (int64_t d = 0; d < tensor.factors.size(); ++d) {
      if (tensor.factors[d] < 0 && ShardCountAtDim(tensor.sharding, d) > 1) {
        report->set_why_whole(WhyWhole::kNoRule);
      }
    }
  }
}

absl::StatusOr<std::optional<HloSharding>> AgreedFactorSharding(
    const HloInstruction& hlo, int64_t num_factors,
    absl::Span<const FactorTensor> tensors) {
  std::optional<HloSharding> all;
  for (const FactorTensor& tensor : tensors) {
    const std::optional<HloSharding> factors =
        FactorSharding(num_factors, tensor);
    if (!factors.has_value()) continue;
    if (!all.has_value()) {
      all = factors;
    } else if (*all != *factors) {
      hlo_sharding_util::MergeShardingIfCompatible(*factors, &*all);
    }
  }
  for (const FactorTensor& tensor : tensors) {
    const bool agrees =
        all.has_value()
            ? TensorSharding(*all, tensor) == tensor.sharding
            : ReplicatedOnAllDims(tensor.sharding) == tensor.sharding;
    if (!agrees) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the shardings of operands and result conflict, such as ",
          tensor.sharding.ToString(), " of ", tensor.shape.ToString(),
          ", and option need_resolve_conflicts is off: ", hlo.ToString()));
    }
  }
  return all;
}

}  // namespace xla::spmd
