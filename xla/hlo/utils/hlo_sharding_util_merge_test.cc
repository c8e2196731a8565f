// Which shardings hold more than others, and what holds as much as two.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/hlo_sharding_util_test_util.h"
#include "xla/shape.h"

namespace xla {
namespace hlo_sharding_util {
namespace {

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
  // Where no sharding improves, the better tuple keeps the element it has.
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

}  // namespace
}  // namespace hlo_sharding_util
}  // namespace xla
