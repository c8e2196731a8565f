#include "xla/hlo/utils/hlo_sharding_util.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_sharding_util {
namespace {

HloSharding S(const std::string& text) { return *ParseSharding(text); }

Shape Dims(std::vector<int64_t> dims) {
  return ShapeUtil::MakeShape(F32, dims);
}

// The elements that a device holds, as row-major positions. The oracle of this
// file: it knows tiles only by EachTile.
using Holdings = std::map<int64_t, std::set<int64_t>>;
Holdings Hold(const HloSharding& sharding, const Shape& shape, int64_t n) {
  Holdings result;
  auto add_box = [&](int64_t device, absl::Span<const int64_t> begin,
                     absl::Span<const int64_t> end) {
    std::set<int64_t>& held = result[device];
    const int64_t size = ShapeUtil::ElementsIn(shape);
    for (int64_t linear = 0; linear < size; ++linear) {
      int64_t rest = linear;
      bool inside = true;
      for (int64_t d = shape.dimensions().size() - 1; d >= 0; --d) {
        const int64_t i = rest % shape.dimensions(d);
        rest /= shape.dimensions(d);
        inside = inside && i >= begin[d] && i < end[d];
      }
      if (inside) held.insert(linear);
    }
  };
  if (!sharding.IsTiled()) {
    std::vector<int64_t> zeros(shape.dimensions().size(), 0);
    for (int64_t device = 0; device < n; ++device) {
      add_box(device, zeros, shape.dimensions());
    }
    return result;
  }
  EXPECT_TRUE(sharding.EachTile(shape.dimensions(), add_box).ok());
  return result;
}

// Random tilings of rank `rank` over n devices, with replicas, as iota rules,
// lists of the same devices, and lists in random order.
std::vector<HloSharding> RandomShardings(int64_t n, int64_t rank, int count,
                                         std::mt19937* rng) {
  std::vector<HloSharding> result;
  for (int k = 0; k < count; ++k) {
    std::vector<int64_t> primes;
    for (int64_t left = n, p = 2; left > 1;) {
      if (left % p == 0) {
        primes.push_back(p);
        left /= p;
      } else {
        ++p;
      }
    }
    std::vector<std::vector<int>> digits(rank + 1);
    std::vector<int> order(primes.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), *rng);
    for (int digit : order) digits[(*rng)() % (rank + 1)].push_back(digit);
    std::vector<int64_t> dims;
    std::vector<int> perm;
    for (const std::vector<int>& list : digits) {
      int64_t size = 1;
      for (int digit : list) {
        perm.push_back(digit);
        size *= primes[digit];
      }
      dims.push_back(size);
    }
    const TileAssignment rule(dims, primes, perm);
    result.push_back(HloSharding::PartialTile(rule));
    result.push_back(HloSharding::PartialTile(rule.array()));
    std::vector<int64_t> devices(n);
    std::iota(devices.begin(), devices.end(), 0);
    std::shuffle(devices.begin(), devices.end(), *rng);
    Array<int64_t> shuffled(dims);
    std::copy(devices.begin(), devices.end(), shuffled.begin());
    result.push_back(HloSharding::PartialTile(std::move(shuffled)));
  }
  return result;
}

constexpr int64_t kDevices[] = {2, 3, 4, 6, 8};

// --- Dimensions.

TEST(HloShardingUtilTest, TransposesTiles) {
  EXPECT_EQ(TransposeSharding(S("{devices=[2,4]<=[8]}"), {1, 0}),
            S("{devices=[4,2]<=[2,4]T(1,0)}"));
  EXPECT_EQ(TransposeSharding(
                S("{devices=[2,1,2]<=[4] last_tile_dim_replicate}"), {1, 0}),
            S("{devices=[1,2,2]<=[4] last_tile_dim_replicate}"));
}

TEST(HloShardingUtilTest, ShardingsWithoutTilesStay) {
  for (const char* text :
       {"{replicated}", "{maximal device=3}", "{manual}", "{unknown}"}) {
    const HloSharding s = S(text);
    EXPECT_EQ(TransposeSharding(s, {1, 0}), s);
    EXPECT_EQ(ReverseSharding(s, {0}), s);
    EXPECT_EQ(PartiallyReplicateTiledShardingOnDims(s, {0}), s);
    EXPECT_EQ(RemoveShapeDimensions(s, {0}), s);
    EXPECT_EQ(AddShapeDimensions(s, 0, 2), s);
    EXPECT_EQ(*ReshapeSharding(Dims({2, 3}), Dims({6}), s), s);
    EXPECT_EQ(MoveAndMergeShardingTiles(s, 0, 1), s);
  }
}

TEST(HloShardingUtilTest, NamedShardingsAreAnsweredAsTiles) {
  const HloSharding named = S("{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}");
  EXPECT_EQ(TransposeSharding(named, {1, 0}),
            S("{devices=[4,2]<=[2,4]T(1,0)}"));
  EXPECT_EQ(PartiallyReplicateTiledShardingOnDims(named, {0}),
            S("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"));
}

TEST(HloShardingUtilTest, ReplicatesDimensionsAndKeepsManualSubgroups) {
  EXPECT_EQ(
      PartiallyReplicateTiledShardingOnDims(S("{devices=[2,4]<=[8]}"), {0, 1}),
      HloSharding::Replicate());
  EXPECT_EQ(ReplicateAllDataDims(
                S("{devices=[2,2,2]<=[8] last_tile_dims={manual}}"), 3),
            S("{devices=[1,1,1,2,4]<=[4,2]T(1,0) "
              "last_tile_dims={manual, replicated}}"));
}

TEST(HloShardingUtilTest, AddsAndRemovesDimensions) {
  const HloSharding s = S("{devices=[2,1,4]<=[8]}");
  EXPECT_EQ(RemoveShapeDimensions(s, {1}), S("{devices=[2,4]<=[8]}"));
  EXPECT_EQ(AddShapeDimensions(s, 3, 1), S("{devices=[2,1,4,1]<=[8]}"));
  EXPECT_EQ(RemoveShapeDimensions(AddShapeDimensions(s, 0, 2), {0, 1}), s);
}

TEST(HloShardingUtilTest, DimensionsThatGoBecomeReplicas) {
  const HloSharding s = S("{devices=[2,4]<=[8]}");
  EXPECT_EQ(*TransposeShardingWithCollapsedDims(s, {-1, 1}, {-1, 1}),
            S("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"));
  EXPECT_EQ(*TransposeShardingWithCollapsedDims(s, {1, 0}, {1, 0}),
            TransposeSharding(s, {1, 0}));
  // Maps that contradict each other have no answer.
  EXPECT_FALSE(TransposeShardingWithCollapsedDims(s, {1, 0}, {0, 1}));
  EXPECT_FALSE(TransposeShardingWithCollapsedDims(s, {2, 0}, {1, -1}));
}

TEST(HloShardingUtilTest, MovesSplitsAndJoinsTiles) {
  const HloSharding s = S("{devices=[2,3,5]<=[30]}");
  EXPECT_EQ(MoveAndMergeShardingTiles(s, 0, 1),
            S("{devices=[1,6,5]<=[2,3,5]T(1,0,2)}"));
  EXPECT_EQ(MoveAndMergeShardingTiles(s, 1, 0), S("{devices=[6,1,5]<=[30]}"));
  const HloSharding four = S("{devices=[4,2]<=[8]}");
  EXPECT_EQ(SplitShardingDimension(four, 0, 2), S("{devices=[2,2,2]<=[8]}"));
  EXPECT_EQ(MergeShardingDimension(SplitShardingDimension(four, 0, 2), 0),
            four);
  EXPECT_EQ(*GetFirstTargetDimToMoveShardingTiles(
                Dims({8, 6, 16}), S("{devices=[4,1,2]<=[8]}"), 0),
            2);
  EXPECT_FALSE(GetFirstTargetDimToMoveShardingTiles(
      Dims({8, 6, 16}), S("{devices=[4,1,2]<=[8]}"), 0,
      [](int64_t dim) { return dim != 2; }));
}

TEST(HloShardingUtilTest, DimensionFunctionsMoveHoldingsAsTheyMoveElements) {
  std::mt19937 rng(1);
  const std::vector<int64_t> dims = {5, 3, 4};
  for (int64_t n : kDevices) {
    for (const HloSharding& s : RandomShardings(n, 3, 8, &rng)) {
      // Transposing by {2,0,1}: element (i,j,k) goes to (k,i,j).
      const Holdings before = Hold(s, Dims(dims), n);
      const Holdings transposed =
          Hold(TransposeSharding(s, {2, 0, 1}), Dims({4, 5, 3}), n);
      for (int64_t device = 0; device < n; ++device) {
        std::set<int64_t> moved;
        for (int64_t e : before.at(device)) {
          moved.insert((e % 4) * 15 + e / 4);
        }
        EXPECT_EQ(transposed.at(device), moved) << s.ToString();
      }
      // Replicating dimension 1 gives each device whole rows.
      const Holdings rows =
          Hold(PartiallyReplicateTiledShardingOnDims(s, {1}), Dims(dims), n);
      for (int64_t device = 0; device < n; ++device) {
        std::set<int64_t> projected;
        for (const auto& [other, elements] : before) {
          if (!s.IsTiled() || (s.TileIndexForDevice(other)[0] ==
                                   s.TileIndexForDevice(device)[0] &&
                               s.TileIndexForDevice(other)[2] ==
                                   s.TileIndexForDevice(device)[2])) {
            projected.insert(elements.begin(), elements.end());
          }
        }
        EXPECT_EQ(rows.at(device), projected) << s.ToString();
      }
      EXPECT_EQ(ReverseSharding(ReverseSharding(s, {0, 2}), {0, 2}), s);
    }
  }
}

TEST(HloShardingUtilTest, ReversedTilesHoldMirroredElements) {
  const HloSharding s = S("{devices=[4]<=[4]}");
  EXPECT_EQ(ReverseSharding(s, {0}), S("{devices=[4]3,2,1,0}"));
  EXPECT_EQ(ReverseSharding(S("{devices=[1,4]<=[4]}"), {0}),
            S("{devices=[1,4]<=[4]}"));
}

// --- Reshape.

TEST(HloShardingUtilTest, ReshapesWithoutMovingData) {
  auto reshape = [](std::vector<int64_t> from, std::vector<int64_t> to,
                    const char* sharding) {
    return ReshapeSharding(Dims(std::move(from)), Dims(std::move(to)),
                           S(sharding));
  };
  EXPECT_EQ(*reshape({8, 4}, {2, 16}, "{devices=[2,1]<=[2]}"),
            S("{devices=[2,1]<=[2]}"));
  EXPECT_EQ(*reshape({8, 4}, {2, 16}, "{devices=[8,1]<=[8]}"),
            S("{devices=[2,4]<=[8]}"));
  EXPECT_EQ(*reshape({2, 3, 4}, {6, 4}, "{devices=[2,3,2]<=[12]}"),
            S("{devices=[6,2]<=[12]}"));
  EXPECT_EQ(*reshape({38, 38, 324}, {38, 38, 4, 81}, "{devices=[3,1,1]<=[3]}"),
            S("{devices=[3,1,1,1]<=[3]}"));
  EXPECT_EQ(*reshape({1, 8}, {8}, "{devices=[1,3]<=[3]}"),
            S("{devices=[3]<=[3]}"));
  EXPECT_FALSE(reshape({8, 4}, {32}, "{devices=[1,2]<=[2]}"));
  EXPECT_FALSE(reshape({6}, {2, 3}, "{devices=[4]<=[4]}"));
  EXPECT_FALSE(reshape({0, 2}, {2, 0}, "{devices=[1,2]<=[2]}"));
}

TEST(HloShardingUtilTest, KeepsWhatAReshapeCanKeep) {
  EXPECT_EQ(PropagateShardingThroughReshape(Dims({8, 4}), Dims({32}),
                                            S("{devices=[2,2]<=[4]}")),
            S("{devices=[2,2]<=[4] last_tile_dim_replicate}"));
  EXPECT_EQ(PropagateShardingThroughReshape(Dims({12}), Dims({2, 6}),
                                            S("{devices=[4]<=[4]}")),
            S("{devices=[2,2]<=[4]}"));
  EXPECT_EQ(PropagateShardingThroughReshape(Dims({12}), Dims({3, 4}),
                                            S("{devices=[4]<=[4]}")),
            HloSharding::Replicate());
}

TEST(HloShardingUtilTest, ReshapesHoldTheSameElements) {
  std::mt19937 rng(2);
  const std::vector<std::vector<int64_t>> shapes = {
      {24},    {2, 12},   {12, 2},   {4, 6},    {6, 4},    {3, 8},      {8, 3},
      {1, 24}, {2, 3, 4}, {4, 3, 2}, {2, 2, 6}, {3, 1, 8}, {2, 2, 2, 3}};
  int exact = 0;
  int kept = 0;
  for (int64_t n : kDevices) {
    for (const std::vector<int64_t>& from : shapes) {
      for (const HloSharding& s : RandomShardings(n, from.size(), 3, &rng)) {
        const Holdings before = Hold(s, Dims(from), n);
        for (const std::vector<int64_t>& to : shapes) {
          const HloSharding any =
              PropagateShardingThroughReshape(Dims(from), Dims(to), s);
          const Holdings after = Hold(any, Dims(to), n);
          bool even = true;
          for (int64_t d = 0; s.IsTiled() && d < s.TiledDataRank(); ++d) {
            even = even && from[d] % s.dimension(d) == 0;
          }
          for (int64_t device = 0; even && device < n; ++device) {
            EXPECT_TRUE(std::includes(
                after.at(device).begin(), after.at(device).end(),
                before.at(device).begin(), before.at(device).end()))
                << s.ToString() << " to " << any.ToString();
          }
          const std::optional<HloSharding> same =
              ReshapeSharding(Dims(from), Dims(to), s);
          if (!same) continue;
          EXPECT_EQ(*same, any);
          EXPECT_EQ(Hold(*same, Dims(to), n), before)
              << s.ToString() << " to " << same->ToString();
          ++exact;
          kept += same->NumTiles() > 1;
        }
      }
    }
  }
  EXPECT_GT(exact, 500);
  EXPECT_GT(kept, 300);
}

// --- Order and merge.

TEST(HloShardingUtilTest, OrdersByWhatIsKnown) {
  const HloSharding replicated = HloSharding::Replicate();
  const HloSharding two = S("{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
  const HloSharding four = S("{devices=[2,2]<=[4]}");
  EXPECT_TRUE(IsShardingMoreSpecific(two, replicated));
  EXPECT_TRUE(IsShardingMoreSpecific(four, two));
  EXPECT_FALSE(IsShardingMoreSpecific(two, four));
  EXPECT_FALSE(IsShardingMoreSpecific(four, four));
  EXPECT_TRUE(IsShardingMoreSpecific(replicated, HloSharding::Unknown()));
  EXPECT_TRUE(IsShardingMoreSpecific(HloSharding::Manual(), replicated));
  const HloSharding single = HloSharding::AssignDevice(1);
  EXPECT_TRUE(IsShardingMoreSpecific(single, replicated));
  EXPECT_FALSE(IsShardingMoreSpecific(replicated, single));
  EXPECT_TRUE(IsShardingMoreSpecific(two, single));
  EXPECT_FALSE(IsShardingMoreSpecific(single, two));
  EXPECT_TRUE(IsShardingMoreSpecific(HloSharding::Manual(), single));
  EXPECT_FALSE(IsShardingMoreSpecific(HloSharding::Manual(), two));
  EXPECT_TRUE(IsShardingMoreSpecific(HloSharding::FlatTuple({two, four}),
                                     HloSharding::FlatTuple({two, two})));
  EXPECT_FALSE(IsShardingMoreSpecific(HloSharding::FlatTuple({two, four}),
                                      HloSharding::FlatTuple({four, two})));
}

TEST(HloShardingUtilTest, MergesTilesOfDifferentDimensions) {
  HloSharding dst = S("{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
  EXPECT_TRUE(MergeShardingIfCompatible(
      S("{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"), &dst));
  EXPECT_EQ(dst, S("{devices=[2,2]<=[4]}"));
  // Both cut by the same devices: no merge.
  dst = S("{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
  EXPECT_FALSE(MergeShardingIfCompatible(
      S("{devices=[1,2,2]<=[4] last_tile_dim_replicate}"), &dst));
  EXPECT_EQ(dst, S("{devices=[2,1,2]<=[4] last_tile_dim_replicate}"));
  // Too few tiles.
  EXPECT_FALSE(MergeShardingIfCompatible(
      S("{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"), 5, &dst));
  // Manual subgroups have to agree.
  dst = S("{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}");
  EXPECT_TRUE(
      MergeShardingIfCompatible(S("{devices=[1,2,2,2]<=[2,2,2]T(2,1,0) "
                                  "last_tile_dims={manual, replicated}}"),
                                &dst));
  EXPECT_EQ(dst, S("{devices=[2,2,2]<=[2,2,2]T(0,2,1) "
                   "last_tile_dims={manual}}"));
}

TEST(HloShardingUtilTest, MergesCandidatesThatImprove) {
  const HloSharding rows = S("{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
  const HloSharding columns =
      S("{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}");
  const HloSharding both = S("{devices=[2,2]<=[4]}");
  HloSharding dst = columns;
  EXPECT_TRUE(MergeSharding(rows, &dst, /*may_combine_partial_sharding=*/true));
  EXPECT_EQ(dst, both);
  // Without leave to combine, neither improves on the other.
  dst = columns;
  EXPECT_FALSE(MergeSharding(rows, &dst, false));
  EXPECT_EQ(dst, columns);
  // A candidate that says less stays as it is, one that says more does, too.
  EXPECT_FALSE(MergeSharding(both, &dst, true));
  EXPECT_EQ(dst, columns);
  dst = both;
  EXPECT_TRUE(MergeSharding(columns, &dst, true));
  EXPECT_EQ(dst, both);
  EXPECT_FALSE(MergeSharding(both, &dst, true));
  dst = HloSharding::FlatTuple({columns, HloSharding::Replicate()});
  EXPECT_TRUE(MergeSharding(HloSharding::FlatTuple({rows, both}), &dst, true));
  EXPECT_EQ(dst, HloSharding::FlatTuple({both, HloSharding::Replicate()}));
  // Of the better tuple, elements are those there are where none improves.
  EXPECT_EQ(BetterSharding(
                HloSharding::FlatTuple({columns, HloSharding::Replicate()}),
                HloSharding::FlatTuple({rows, both}), /*combine=*/true),
            HloSharding::FlatTuple({both, both}));
  EXPECT_EQ(BetterSharding(columns, rows, /*combine=*/false), std::nullopt);
  EXPECT_EQ(BetterSharding(HloSharding::FlatTuple({both}), rows, true),
            std::nullopt);
  // Fewer or more elements than there are improve nothing.
  EXPECT_EQ(BetterSharding(HloSharding::FlatTuple({both, both}),
                           HloSharding::FlatTuple({rows}), true),
            std::nullopt);
}

TEST(HloShardingUtilTest, MergesHoldTheIntersection) {
  std::mt19937 rng(3);
  const Shape shape = Dims({24, 24});
  int merged = 0;
  for (int64_t n : kDevices) {
    const std::vector<HloSharding> all = RandomShardings(n, 2, 8, &rng);
    for (const HloSharding& a : all) {
      for (const HloSharding& b : all) {
        if (!a.IsTiled() || !b.IsTiled()) continue;
        HloSharding dst = a;
        const Holdings of_a = Hold(a, shape, n);
        const Holdings of_b = Hold(b, shape, n);
        // Devices per intersection; a merge needs nested tiles on each
        // dimension and equally many devices on each.
        std::map<std::set<int64_t>, int64_t> counts;
        for (int64_t device = 0; device < n; ++device) {
          std::set<int64_t> both;
          std::set_intersection(of_a.at(device).begin(), of_a.at(device).end(),
                                of_b.at(device).begin(), of_b.at(device).end(),
                                std::inserter(both, both.end()));
          ++counts[both];
        }
        int64_t covered = 0;
        bool uniform = counts.begin()->first.size() > 0;
        for (const auto& [elements, count] : counts) {
          covered += elements.size();
          uniform = uniform && count == counts.begin()->second &&
                    elements.size() == counts.begin()->first.size();
        }
        const bool possible =
            uniform && covered == 24 * 24 &&
            static_cast<int64_t>(counts.size()) > a.NumTiles();
        EXPECT_EQ(MergeShardingIfCompatible(b, &dst), possible)
            << a.ToString() << " and " << b.ToString();
        if (!possible) continue;
        ++merged;
        for (const auto& [device, elements] : Hold(dst, shape, n)) {
          std::set<int64_t> both;
          std::set_intersection(of_a.at(device).begin(), of_a.at(device).end(),
                                of_b.at(device).begin(), of_b.at(device).end(),
                                std::inserter(both, both.end()));
          EXPECT_EQ(elements, both) << a.ToString() << " and " << b.ToString();
        }
      }
    }
  }
  EXPECT_GT(merged, 60);
}

TEST(HloShardingUtilTest, SubTilingIsContainment) {
  std::mt19937 rng(4);
  int yes = 0;
  for (const Shape& shape : {Dims({24, 24}), Dims({5, 3}), Dims({1, 7})}) {
    for (int64_t n : kDevices) {
      const std::vector<HloSharding> all = RandomShardings(n, 2, 5, &rng);
      for (const HloSharding& a : all) {
        for (const HloSharding& b : all) {
          const Holdings of_a = Hold(a, shape, n);
          const Holdings of_b = Hold(b, shape, n);
          bool contained = true;
          for (int64_t device = 0; device < n; ++device) {
            contained =
                contained &&
                std::includes(of_b.at(device).begin(), of_b.at(device).end(),
                              of_a.at(device).begin(), of_a.at(device).end());
          }
          // A replicated value is not said to lie in tiles, even in tiles that
          // are as large as the value.
          if (a.IsReplicated() && !b.IsReplicated()) continue;
          EXPECT_EQ(IsSubTilingOrEqualSharding(shape, a, b), contained)
              << a.ToString() << " in " << b.ToString();
          yes += contained;
        }
      }
    }
  }
  EXPECT_GT(yes, 100);
}

TEST(HloShardingUtilTest, FindsWhatShardingsHaveInCommon) {
  const HloSharding a = S("{devices=[2,2]<=[4]}");
  const HloSharding b = S("{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
  EXPECT_EQ(FindCommonSharding({a, b}), b);
  EXPECT_EQ(FindCommonSharding({a, a}), a);
  EXPECT_EQ(FindCommonSharding({a, S("{devices=[2,2]<=[2,2]T(1,0)}")}),
            HloSharding::Replicate());
  EXPECT_EQ(FindCommonSharding({a, S("{devices=[2,2]<=[2,2]T(1,0)}")}, b), b);
}

TEST(HloShardingUtilTest, ImprovesOnlyStrictly) {
  const Shape shape = Dims({8, 8});
  const HloSharding two = S("{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
  const HloSharding other =
      S("{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}");
  EXPECT_EQ(*ReturnImprovedShardingImpl(two, nullptr, shape, true), two);
  EXPECT_FALSE(ReturnImprovedShardingImpl(two, &two, shape, true));
  EXPECT_EQ(*ReturnImprovedShardingImpl(other, &two, shape, true),
            S("{devices=[2,2]<=[4]}"));
  EXPECT_FALSE(ReturnImprovedShardingImpl(other, &two, shape, false));
  const HloSharding one = HloSharding::SingleDevice(1);
  EXPECT_FALSE(ReturnImprovedShardingImpl(two, &one, shape, true));
  EXPECT_FALSE(ReturnImprovedShardingImpl(one, nullptr, shape, true));
  // More tiles, of other elements.
  const HloSharding four = S("{devices=[4,1]0,2,1,3}");
  EXPECT_FALSE(ReturnImprovedShardingImpl(four, &two, shape, true));
  EXPECT_EQ(*ReturnImprovedShardingImpl(four, &two, shape, true,
                                        /*allow_aggressive_resharding=*/true),
            four);
}

// --- Groups.

TEST(HloShardingUtilTest, GroupsOnDimensions) {
  const GroupedSharding g =
      GroupShardingOnDims(S("{devices=[2,4]<=[2,4]}"), {0});
  EXPECT_EQ(g.device_groups.ToString(), "devices=[2,4]<=[8]");
  EXPECT_EQ(g.sharding, S("{devices=[1,4]<=[4]}"));
  EXPECT_EQ(UngroupSharding(g), S("{devices=[2,4]<=[8]}"));
  const GroupedSharding half = GroupShardingOnDims(
      S("{devices=[2,4]<=[8]}"), {1}, std::vector<int64_t>{2});
  EXPECT_EQ(half.device_groups.flattened_device_groups(),
            (std::vector<std::vector<int64_t>>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(half.sharding, S("{devices=[2,2]<=[4]}"));
}

TEST(HloShardingUtilTest, GroupingAndUngroupingIsTheIdentity) {
  std::mt19937 rng(5);
  for (int64_t n : kDevices) {
    for (const HloSharding& s : RandomShardings(n, 3, 10, &rng)) {
      if (!s.IsTiled()) continue;
      for (const std::vector<int64_t>& dims :
           std::vector<std::vector<int64_t>>{{}, {0}, {2}, {2, 0}, {0, 1, 2}}) {
        const GroupedSharding g = GroupShardingOnDims(s, dims);
        EXPECT_EQ(UngroupSharding(g), s) << s.ToString() << g.ToString();
        EXPECT_TRUE(DeviceGroupsAreMatch(g, g, /*ignore_group_order=*/false));
      }
      const int64_t last = s.num_dimensions() - 1;
      EXPECT_EQ(UngroupSharding(GroupShardingOnDims(s, {0, last})), s);
    }
  }
}

TEST(HloShardingUtilTest, ManualSubgroupsAreGroups) {
  const HloSharding s =
      S("{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}");
  const GroupedSharding g = GetManualSubgroupSharding(s);
  EXPECT_TRUE(g.subgroup_manual);
  EXPECT_EQ(g.device_groups.num_groups(), 2);
  EXPECT_EQ(g.sharding, S("{devices=[2,1,2]<=[4] last_tile_dim_replicate}"));
  EXPECT_EQ(UngroupSharding(g), s);
}

TEST(HloShardingUtilTest, GroupsOfEqualDataComeFromReplicasFirst) {
  const HloSharding s = S("{devices=[2,4]<=[8] last_tile_dim_replicate}");
  GroupedSharding g = GroupShardingOnReplicatedDim(s, 2, 8, 1);
  EXPECT_EQ(g.device_groups.flattened_device_groups(),
            (std::vector<std::vector<int64_t>>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(g.sharding, S("{devices=[2,2]<=[4] last_tile_dim_replicate}"));
  EXPECT_EQ(UngroupSharding(g), s);
  // Then from dimensions that may be replicated.
  g = GroupShardingOnReplicatedDim(S("{devices=[2,4]<=[8]}"), 2, 8, 2, {1});
  EXPECT_EQ(UngroupSharding(g),
            S("{devices=[2,2,2]<=[8] last_tile_dim_replicate}"));
  EXPECT_EQ(g.sharding, S("{devices=[2,2]<=[4]}"));
  // Else everything is replicated.
  g = GroupShardingOnReplicatedDim(S("{devices=[2,4]<=[8]}"), 2, 8, 2);
  EXPECT_EQ(g.sharding, HloSharding::Replicate());
  EXPECT_EQ(UngroupSharding(g), HloSharding::Replicate());
}

TEST(HloShardingUtilTest, AssignedGroupsMustLieAcrossReplicas) {
  const HloSharding s = S("{devices=[2,2]<=[4] last_tile_dim_replicate}");
  const std::optional<GroupedSharding> g =
      PartialReplicatedGroupShardingWithAssignedDeviceGroups(
          s, 2, DeviceGroupTileAssignment({{0, 2}, {1, 3}}));
  ASSERT_TRUE(g);
  EXPECT_EQ(g->sharding, S("{devices=[2]<=[2]}"));
  EXPECT_EQ(UngroupSharding(*g), s);
  EXPECT_FALSE(PartialReplicatedGroupShardingWithAssignedDeviceGroups(
      s, 2, DeviceGroupTileAssignment({{0, 1}, {2, 3}})));
  EXPECT_FALSE(PartialReplicatedGroupShardingWithAssignedDeviceGroups(
      s, 2, DeviceGroupTileAssignment({{0, 2}, {3, 1}})));
}

TEST(HloShardingUtilTest, AligningGroupsRenamesInsideThem) {
  const GroupedSharding reference(DeviceGroupTileAssignment({{0, 1}, {2, 3}}),
                                  {0}, {2}, 2, S("{devices=[1,2]<=[2]}"));
  const GroupedSharding swapped(DeviceGroupTileAssignment({{1, 0}, {3, 2}}),
                                {0}, {2}, 2, S("{devices=[1,2]<=[2]}"));
  const std::optional<GroupedSharding> aligned =
      AlignGroupsWithIfCompatible(swapped, reference);
  ASSERT_TRUE(aligned);
  EXPECT_EQ(aligned->sharding, S("{devices=[1,2]1,0}"));
  EXPECT_EQ(UngroupSharding(*aligned), UngroupSharding(swapped));
  const GroupedSharding mixed(DeviceGroupTileAssignment({{1, 0}, {2, 3}}), {0},
                              {2}, 2, S("{devices=[1,2]<=[2]}"));
  EXPECT_FALSE(AlignGroupsWithIfCompatible(mixed, reference));
  EXPECT_TRUE(AlignGroupsWith(mixed, reference).device_groups ==
              reference.device_groups);
}

TEST(HloShardingUtilTest, SlicesReachCompatibleShardings) {
  std::mt19937 rng(6);
  const Shape shape = Dims({24, 24});
  int found = 0;
  for (int64_t n : kDevices) {
    const std::vector<HloSharding> all = RandomShardings(n, 2, 8, &rng);
    for (const HloSharding& a : all) {
      for (const HloSharding& b : all) {
        const std::optional<HloSharding> c =
            PartialReplicateReshardCompatibleSharding(a, b);
        if (!c) continue;
        ++found;
        EXPECT_TRUE(IsSubTilingOrEqualSharding(shape, *c, a))
            << c->ToString() << " in " << a.ToString();
        EXPECT_EQ(c->dimension(0), b.dimension(0));
        EXPECT_EQ(c->dimension(1), b.dimension(1));
        if (IsSubTilingOrEqualSharding(shape, b, a)) {
          EXPECT_EQ(*c, b);
        }
      }
    }
  }
  EXPECT_GT(found, 50);
}

// --- Cost.

TEST(HloShardingUtilTest, RulesStayRulesForManyDevices) {
  const HloSharding s = S("{devices=[64,8,16]<=[8,64,16]T(1,0,2)}");
  const HloSharding partial = PartiallyReplicateTiledShardingOnDims(s, {1});
  const std::vector<HloSharding> results = {
      TransposeSharding(s, {2, 0, 1}),
      partial,
      MoveAndMergeShardingTiles(s, 0, 2),
      *ReshapeSharding(Dims({128, 64, 32}), Dims({64, 2, 8, 8, 32}),
                       S("{devices=[64,8,16]<=[8192]}")),
      UngroupSharding(GroupShardingOnDims(s, {2, 0})),
      *PartialReplicateReshardCompatibleSharding(partial, s)};
  for (const HloSharding& result : results) {
    EXPECT_TRUE(result.tile_assignment().iota()) << result.ToString();
    EXPECT_EQ(result.tile_assignment().array_ptr(), nullptr);
  }
  HloSharding merged = PartiallyReplicateTiledShardingOnDims(s, {0, 2});
  EXPECT_TRUE(MergeShardingIfCompatible(partial, &merged));
  EXPECT_EQ(merged, s);
  EXPECT_EQ(merged.tile_assignment().array_ptr(), nullptr);
}

// --- Shapes.

TEST(HloShardingUtilTest, TilesAndWholesOfShapes) {
  const HloSharding s = S("{devices=[2,3]<=[6]}");
  EXPECT_TRUE(ShapeUtil::Equal(TileShape(s, Dims({5, 6})), Dims({3, 2})));
  EXPECT_TRUE(ShapeUtil::Equal(UntileShape(s, Dims({3, 2})), Dims({6, 6})));
  const Shape tuple = ShapeUtil::MakeTupleShape({Dims({4}), Dims({4})});
  const HloSharding both = HloSharding::FlatTuple(
      {S("{devices=[2]<=[2]}"), HloSharding::Replicate()});
  EXPECT_TRUE(
      ShapeUtil::Equal(TileShape(both, tuple),
                       ShapeUtil::MakeTupleShape({Dims({2}), Dims({4})})));
}

TEST(HloShardingUtilTest, ListsTheDevicesOfARule) {
  OpSharding proto = S("{devices=[2,2]<=[2,2]T(1,0)}").ToProto();
  ConvertV2ToV1Sharding(proto);
  EXPECT_EQ(proto.iota_reshape_dims_size(), 0);
  EXPECT_EQ(std::vector<int64_t>(proto.tile_assignment_devices().begin(),
                                 proto.tile_assignment_devices().end()),
            (std::vector<int64_t>{0, 2, 1, 3}));
}

std::unique_ptr<HloModule> ProductModule() {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m
ENTRY e {
  x = f32[4,8,16] parameter(0)
  y = f32[4,16,6] parameter(1), sharding={devices=[1,2,1,2]<=[4] last_tile_dim_replicate}
  d = f32[4,8,6] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, sharding={devices=[1,2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  z = f32[3] constant({1, 2, 3}), sharding={devices=[4]<=[4]}
  ROOT t = (f32[4,8,6], f32[3]) tuple(d, z), sharding={{devices=[4,1,1]<=[4]}, {devices=[4]<=[4]}}
})");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

TEST(HloShardingUtilTest, InferDotOperandSharding) {
  std::unique_ptr<HloModule> module = ProductModule();
  const HloInstruction* dot =
      module->entry_computation()->root_instruction()->operand(0);
  const auto dims = dot_as_convolution_util::ParseDotGeneralFromDot(dot);
  EXPECT_EQ(InferDotOperandSharding(dot, 0, dims, false, true),
            S("{devices=[1,2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"));
  // The contracting dimension is cut as that of the other operand.
  EXPECT_EQ(InferDotOperandSharding(dot, 0, dims, true, true),
            S("{devices=[1,2,2]<=[2,2]T(1,0)}"));
  EXPECT_EQ(InferDotOperandSharding(dot, 1, dims, true, true),
            HloSharding::Replicate());
  const HloSharding all = S("{devices=[2,1,2]<=[4]}");
  EXPECT_EQ(InferDotOperandSharding(&all, nullptr, 1, dims, true, true), all);
}

TEST(HloShardingUtilTest, ReplicateBoundaryShardingsIfIndivisible) {
  std::unique_ptr<HloModule> module = ProductModule();
  const HloInstruction* root = module->entry_computation()->root_instruction();
  ReplicateBoundaryShardingsIfIndivisible(module.get(), {true, false}, {true});
  EXPECT_EQ(root->sharding().tuple_elements()[1], S("{devices=[4]<=[4]}"));
  ReplicateBoundaryShardingsIfIndivisible(module.get(), {true}, {true});
  EXPECT_EQ(root->sharding().tuple_elements()[0], S("{devices=[4,1,1]<=[4]}"));
  EXPECT_EQ(root->sharding().tuple_elements()[1], HloSharding::Replicate());
}

TEST(HloShardingUtilTest, LayoutsAfterPropagation) {
  std::unique_ptr<HloModule> module = ProductModule();
  module->mutable_config().SetComputationLayoutIfExists(
      module->entry_computation()->ComputeProgramShape());
  module->set_layout_canonicalization_callback([](const HloModule& m) {
    std::vector<Shape> parameters;
    for (const HloInstruction* p :
         m.entry_computation()->parameter_instructions()) {
      parameters.push_back(ShapeUtil::MakeShapeWithDenseLayout(
          F32, p->shape().dimensions(), {0, 1, 2}));
    }
    return absl::StatusOr<std::pair<std::vector<Shape>, Shape>>(
        {parameters, m.result_shape()});
  });
  ASSERT_TRUE(CanonicalizeLayoutAfterShardingPropagation(module.get(), {false},
                                                         {false, true})
                  .ok());
  const auto& layout = module->entry_computation_layout();
  EXPECT_EQ(layout.parameter_shape(0).layout().minor_to_major(0), 2);
  EXPECT_EQ(layout.parameter_shape(1).layout().minor_to_major(0), 0);
}

}  // namespace
}  // namespace hlo_sharding_util
}  // namespace xla
