// Questions about devices, tiles and tuples that an HloSharding answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Shape F32(const std::vector<int64_t>& dims) {
  return ShapeUtil::MakeShape(PrimitiveType::F32, dims);
}

TEST(HloShardingQueriesTest, Replicate) {
  const HloSharding sharding = HloSharding::Replicate();
  EXPECT_TRUE(sharding.IsReplicated());
  EXPECT_TRUE(sharding.IsReplicatedOrSingleDevice());
  EXPECT_FALSE(sharding.IsTiled());
  EXPECT_TRUE(sharding.UsesDevice(65535));
  EXPECT_EQ(sharding.NumTiles(), 1);
  EXPECT_EQ(sharding.UniqueDevice(), std::nullopt);
  EXPECT_THAT(sharding.UsedDevices(), IsEmpty());
  EXPECT_TRUE(sharding.Validate(F32({5}), 4).ok());
  const Shape shape = F32({3, 4});
  EXPECT_EQ(sharding.TileShape(shape), shape);
  EXPECT_THAT(sharding.TileOffsetForDevice(shape, 9), ElementsAre(0, 0));
  EXPECT_THAT(sharding.TileLimitForDevice(shape, 9), ElementsAre(3, 4));
}

TEST(HloShardingQueriesTest, SingleDevice) {
  const HloSharding sharding = HloSharding::AssignDevice(5);
  EXPECT_TRUE(sharding.IsSingleDevice());
  EXPECT_FALSE(sharding.IsReplicated());
  EXPECT_EQ(sharding.GetUniqueDevice(), 5);
  EXPECT_TRUE(sharding.UsesDevice(5));
  EXPECT_FALSE(sharding.UsesDevice(4));
  EXPECT_THAT(sharding.UsedDevices(), ElementsAre(Pair(5, 1)));
  EXPECT_TRUE(sharding.Validate(F32({2}), 6).ok());
  EXPECT_FALSE(sharding.Validate(F32({2}), 5).ok());
  EXPECT_TRUE(HloSharding::SingleDevice(-1).Validate(F32({2}), 5).ok());
  EXPECT_TRUE(HloSharding::IsReservedDevice(-2));
}

TEST(HloShardingQueriesTest, TilesOfUnevenSizesMayBeShortOrEmpty) {
  const HloSharding sharding = HloSharding::IotaTile({4});
  const Shape shape = F32({5});
  EXPECT_EQ(sharding.TileShape(shape), F32({2}));
  std::vector<int64_t> sizes;
  for (int64_t device = 0; device < 4; ++device) {
    sizes.push_back(sharding.TileShape(shape, device).dimensions(0));
  }
  EXPECT_THAT(sizes, ElementsAre(2, 2, 1, 0));
  EXPECT_THAT(sharding.TileOffsetForDevice(shape, 3), ElementsAre(5));
  EXPECT_THAT(sharding.TileLimitForDevice(shape, 3), ElementsAre(5));
  const HloSharding eight = HloSharding::IotaTile({8});
  sizes.clear();
  for (int64_t device = 0; device < 8; ++device) {
    sizes.push_back(eight.TileShape(F32({2}), device).dimensions(0));
  }
  EXPECT_THAT(sizes, ElementsAre(1, 1, 0, 0, 0, 0, 0, 0));
}

TEST(HloShardingQueriesTest, TileIndexOffsetAndLimit) {
  const HloSharding sharding =
      HloSharding::Tile(Array<int64_t>({{0, 3}, {1, 2}}));
  const Shape shape = F32({4, 5});
  EXPECT_THAT(sharding.TileIndexForDevice(3), ElementsAre(0, 1));
  EXPECT_THAT(sharding.TileOffsetForDevice(shape, 3), ElementsAre(0, 3));
  EXPECT_THAT(sharding.TileLimitForDevice(shape, 3), ElementsAre(2, 5));
  EXPECT_THAT(sharding.TileOffsetForDevice(shape, 1), ElementsAre(2, 0));
  EXPECT_EQ(sharding.NumTiles(), 4);
  EXPECT_EQ(sharding.NumTiles({1}), 2);
  EXPECT_THAT(sharding.UsedDevices(),
              ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1), Pair(3, 1)));
}

TEST(HloShardingQueriesTest, PartialTileCountsTilesWithoutGroups) {
  const HloSharding sharding =
      HloSharding::PartialTile(TileAssignment({2, 1, 4}));
  EXPECT_EQ(sharding.NumTiles(), 2);
  EXPECT_EQ(sharding.TotalNumTiles(), 8);
  EXPECT_EQ(sharding.ReplicationFactor(), 4);
  EXPECT_EQ(sharding.num_devices(), 8);
  EXPECT_EQ(sharding.TiledDataRank(), 2);
  EXPECT_EQ(sharding.SubgroupReplicationDim(), 2);
  EXPECT_EQ(sharding.SubgroupManualDim(), -1);
  EXPECT_TRUE(sharding.HasPartialReplication());
  EXPECT_FALSE(sharding.HasNonReplicatedSubgroup());
  EXPECT_THAT(sharding.TileIndexForDevice(5), ElementsAre(1, 0));
  EXPECT_EQ(sharding.TileShape(F32({6, 3})), F32({3, 3}));
}

TEST(HloShardingQueriesTest, EachTile) {
  const HloSharding sharding = HloSharding::IotaTile({2, 2}, {2, 2}, {1, 0});
  std::vector<std::string> seen;
  const absl::Status status = sharding.EachTile(
      {3, 4}, [&](int64_t device, absl::Span<const int64_t> offset,
                  absl::Span<const int64_t> limit) {
        seen.push_back(absl::StrCat(device, ":", offset[0], "-", limit[0], ",",
                                    offset[1], "-", limit[1]));
      });
  EXPECT_TRUE(status.ok());
  EXPECT_THAT(seen,
              ElementsAre("0:0-2,0-2", "2:0-2,2-4", "1:2-3,0-2", "3:2-3,2-4"));
  const auto ignore = [](int64_t, absl::Span<const int64_t>,
                         absl::Span<const int64_t>) {};
  EXPECT_FALSE(sharding.EachTile({3}, ignore).ok());
  EXPECT_FALSE(HloSharding::Replicate().EachTile({3}, ignore).ok());
  int64_t device_sum = 0;
  sharding.EachTile([&](absl::Span<const int64_t> index, int64_t device) {
    EXPECT_EQ(device, index[0] + 2 * index[1]);
    device_sum += device;
  });
  EXPECT_EQ(device_sum, 6);
}

TEST(HloShardingQueriesTest, ValidateTile) {
  const auto message = [](const HloSharding& sharding, const Shape& shape,
                          std::optional<int64_t> devices) {
    return std::string(sharding.Validate(shape, devices).message());
  };
  const HloSharding tile = HloSharding::IotaTile({2, 2});
  EXPECT_EQ(message(tile, F32({4, 4}), 4), "");
  EXPECT_THAT(message(tile, F32({4}), 4), HasSubstr("tile rank"));
  EXPECT_THAT(message(tile, F32({4, 4}), 8), HasSubstr("instead of 8"));
  EXPECT_EQ(message(tile, ShapeUtil::MakeTokenShape(), 8), "");
  EXPECT_THAT(message(HloSharding::IotaTile({1}), F32({4}), 1),
              HasSubstr("more than one device"));
  EXPECT_THAT(message(HloSharding::Tile(Array<int64_t>({{0, 0}})), F32({1, 4}),
                      std::nullopt),
              HasSubstr("twice"));
  EXPECT_THAT(
      message(HloSharding::Tile(Array<int64_t>({{0, 2}})), F32({1, 4}), 2),
      HasSubstr("out of range"));
  EXPECT_EQ(message(HloSharding::PartialTile(TileAssignment({2, 1, 2})),
                    F32({4, 4}), 4),
            "");
}

TEST(HloShardingQueriesTest, ValidateTuple) {
  const Shape tuple = ShapeUtil::MakeTupleShape({F32({4}), F32({4, 4})});
  const HloSharding good = HloSharding::Tuple(
      tuple, {HloSharding::IotaTile({4}), HloSharding::IotaTile({2, 2})});
  EXPECT_TRUE(good.Validate(tuple, 4).ok());
  EXPECT_FALSE(good.Validate(F32({4}), 4).ok());
  EXPECT_FALSE(HloSharding::Replicate().Validate(tuple, 4).ok());
  EXPECT_THAT(std::string(HloSharding::FlatTuple({HloSharding::Replicate()})
                              .Validate(tuple, 4)
                              .message()),
              HasSubstr("1 leaves"));
  const HloSharding swapped = HloSharding::FlatTuple(
      {HloSharding::IotaTile({2, 2}), HloSharding::IotaTile({4})});
  EXPECT_THAT(std::string(swapped.Validate(tuple, 4).message()),
              HasSubstr("leaf 0 (index {0})"));
}

TEST(HloShardingQueriesTest, TuplesFlattenInPreOrder) {
  const Shape inner = ShapeUtil::MakeTupleShape({F32({2}), F32({3})});
  const Shape shape = ShapeUtil::MakeTupleShape({F32({1}), inner, F32({4})});
  const HloSharding sharding = HloSharding::FlatTuple(
      {HloSharding::SingleDevice(0), HloSharding::SingleDevice(1),
       HloSharding::SingleDevice(2), HloSharding::SingleDevice(3)});
  EXPECT_EQ(HloSharding::RequiredLeaves(shape), 4);
  EXPECT_EQ(sharding.GetSubSharding(shape, {0}), HloSharding::SingleDevice(0));
  EXPECT_EQ(sharding.GetSubSharding(shape, {2}), HloSharding::SingleDevice(3));
  EXPECT_EQ(sharding.GetSubSharding(shape, {1, 1}),
            HloSharding::SingleDevice(2));
  EXPECT_EQ(sharding.GetSubSharding(shape, {1}).ToString(),
            "{{maximal device=1}, {maximal device=2}}");
  const ShapeTree<HloSharding> tree = sharding.GetAsShapeTree(shape);
  EXPECT_EQ(tree.element({1, 0}), HloSharding::SingleDevice(1));
  EXPECT_EQ(HloSharding::Tuple(tree), sharding);
  EXPECT_FALSE(sharding.AsShapeTree(inner).ok());
  EXPECT_FALSE(sharding.GetTupleSharding(inner).ok());
  EXPECT_EQ(*sharding.GetTupleSharding(shape), sharding);
  EXPECT_FALSE(HloSharding::Replicate().GetTupleSharding(F32({1})).ok());
}

TEST(HloShardingQueriesTest, EmptyTuplesCarryOneLeaf) {
  const Shape empty = ShapeUtil::MakeTupleShape({});
  const HloSharding sharding =
      HloSharding::SingleTuple(empty, HloSharding::Replicate());
  EXPECT_EQ(sharding.ToString(), "{{replicated}}");
  EXPECT_TRUE(sharding.Validate(empty, 4).ok());
  EXPECT_EQ(HloSharding::Tuple(sharding.GetAsShapeTree(empty)), sharding);
  const Shape mixed = ShapeUtil::MakeTupleShape({empty, F32({1})});
  EXPECT_EQ(HloSharding::RequiredLeaves(mixed), 1);
  EXPECT_EQ(HloSharding::SingleTuple(mixed, HloSharding::Manual())
                .GetSubSharding(mixed, {1}),
            HloSharding::Manual());
}

TEST(HloShardingQueriesTest, SingleAndTupleForms) {
  const Shape tuple = ShapeUtil::MakeTupleShape({F32({1}), F32({2})});
  const HloSharding device = HloSharding::SingleDevice(1);
  const HloSharding both = HloSharding::SingleTuple(tuple, device);
  EXPECT_EQ(HloSharding::Single(tuple, device), both);
  EXPECT_EQ(HloSharding::Single(F32({1}), device), device);
  EXPECT_EQ(device.NormalizeTupleSharding(tuple), both);
  EXPECT_EQ(both.NormalizeTupleSharding(tuple), both);
  EXPECT_EQ(both.ExtractSingleSharding(), device);
  EXPECT_EQ(both.UniqueDevice(), 1);
  EXPECT_TRUE(both.IsSingleDevice());
  EXPECT_THAT(both.UsedDevices(), ElementsAre(Pair(1, 2)));
  const HloSharding mixed =
      HloSharding::FlatTuple({device, HloSharding::Replicate()});
  EXPECT_EQ(mixed.ExtractSingleSharding(), std::nullopt);
  EXPECT_EQ(mixed.UniqueDevice(), std::nullopt);
  EXPECT_FALSE(mixed.IsSingleDevice());
  EXPECT_TRUE(mixed.IsReplicatedOrSingleDevice());
  EXPECT_TRUE(mixed.UsesDevice(77));
  EXPECT_EQ(both.TileShape(tuple), tuple);
}

TEST(HloShardingQueriesTest, RulesNeverBecomeArrays) {
  const HloSharding sharding =
      HloSharding::PartialTile(TileAssignment({1024, 1, 4}, {1024, 4}, {0, 1}));
  EXPECT_TRUE(sharding.Validate(F32({2048, 3}), 4096).ok());
  EXPECT_THAT(sharding.TileIndexForDevice(4095), ElementsAre(1023, 0));
  EXPECT_EQ(sharding, *HloSharding::FromProto(sharding.ToProto()));
  EXPECT_EQ(sharding.tile_assignment().array_ptr(), nullptr);
}

}  // namespace
}  // namespace xla
