#include "xla/hlo/ir/named_sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Dim = NamedSharding::DimensionSharding;

AxisRef Axis(int64_t index) { return AxisRef(index); }
AxisRef Part(int64_t index, int64_t pre, int64_t size) {
  return AxisRef(index, AxisRef::SubAxis{pre, size});
}
Mesh MeshXY() { return Mesh({2, 4}, {"x", "y"}); }

std::string V2(const NamedSharding& named) {
  return HloSharding::V3ToV2Sharding(named).ToString();
}

TEST(MeshTest, PrintsAndRoundTripsThroughProto) {
  const Mesh plain = MeshXY();
  const Mesh rule(TileAssignment({4, 2}, {2, 4}, {1, 0}), {"a", "b"});
  const Mesh listed({3, 1, 2, 0}, {2, 2}, {"a", "b"});
  EXPECT_EQ(plain.ToString(), "mesh['x'=2,'y'=4]");
  EXPECT_EQ(rule.ToString(), "mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0))");
  EXPECT_EQ(listed.ToString(), "mesh['a'=2,'b'=2], device_ids=(3,1,2,0)");
  EXPECT_EQ(Mesh(5).ToString(), "maximal_mesh[device_id=5]");
  EXPECT_EQ(Mesh().ToString(), "mesh[]");
  for (const Mesh& mesh : {plain, rule, listed, Mesh(5), Mesh(0), Mesh()}) {
    EXPECT_EQ(Mesh::FromProto(mesh.ToProto()), mesh) << mesh;
    EXPECT_EQ(absl::HashOf(Mesh::FromProto(mesh.ToProto())),
              absl::HashOf(mesh));
  }
}

TEST(MeshTest, FromProtoRefusesBadMeshes) {
  MeshProto proto;
  proto.add_axes()->set_name("a");
  proto.mutable_axes(0)->set_size(int64_t{1} << 40);
  EXPECT_FALSE(Mesh::CreateFromProto(proto).ok());
  proto.mutable_axes(0)->set_size(2);
  EXPECT_TRUE(Mesh::CreateFromProto(proto).ok());
  proto.add_device_ids(0);
  EXPECT_FALSE(Mesh::CreateFromProto(proto).ok());  // too few
  proto.add_device_ids(0);
  EXPECT_FALSE(Mesh::CreateFromProto(proto).ok());  // repeated
  proto.set_device_ids(0, 1);
  EXPECT_TRUE(Mesh::CreateFromProto(proto).ok());
  proto.mutable_iota_transform()->add_reshape_dims(2);
  EXPECT_FALSE(Mesh::CreateFromProto(proto).ok());  // both
  proto.clear_device_ids();
  EXPECT_FALSE(Mesh::CreateFromProto(proto).ok());  // no permutation
  proto.mutable_iota_transform()->add_transpose_perm(0);
  EXPECT_TRUE(Mesh::CreateFromProto(proto).ok());
  *proto.add_axes() = proto.axes(0);
  proto.clear_iota_transform();
  EXPECT_FALSE(Mesh::CreateFromProto(proto).ok());  // the same name twice
}

TEST(AxisRefTest, PartsOverlapCoexistAndMerge) {
  const Mesh mesh({12}, {"a"});
  EXPECT_EQ(Part(0, 2, 3).ToString(mesh), "'a':(2)3");
  EXPECT_TRUE(Axis(0).Overlaps(Part(0, 1, 2)));
  EXPECT_FALSE(Part(0, 1, 2).Overlaps(Part(0, 2, 3)));
  EXPECT_TRUE(Part(0, 1, 4).Overlaps(Part(0, 2, 3)));
  EXPECT_FALSE(Part(0, 1, 2).CanCoexist(Part(0, 3, 4)));
  AxisRef part = Part(0, 1, 2);
  EXPECT_FALSE(part.Merge(Part(0, 4, 3), mesh));
  EXPECT_TRUE(part.Merge(Part(0, 2, 3), mesh));
  EXPECT_EQ(part, Part(0, 1, 6));
  EXPECT_TRUE(part.Merge(Part(0, 6, 2), mesh));
  EXPECT_EQ(part, Axis(0));
  EXPECT_THAT(
      MergeAdjacentAxes({Part(0, 1, 2), Part(0, 2, 3), Part(0, 6, 2)}, mesh),
      ElementsAre(Axis(0)));
}

TEST(AxisRefTest, ValidateAxesNamesWhatIsWrong) {
  const Mesh mesh = MeshXY();
  EXPECT_TRUE(ValidateAxes({Axis(0), Part(1, 1, 2), Part(1, 2, 2)}, mesh).ok());
  EXPECT_THAT(ValidateAxes({Axis(2)}, mesh).message(), HasSubstr("no axis 2"));
  EXPECT_THAT(ValidateAxes({Part(1, 2, 4)}, mesh).message(),
              HasSubstr("does not divide axis 'y'"));
  EXPECT_FALSE(AxisRef::Create(1, AxisRef::SubAxis{0, 2}).ok());
  EXPECT_FALSE(AxisRef::Create(1, AxisRef::SubAxis{1, 1}).ok());
  EXPECT_FALSE(ValidateAxes({Part(1, 1, 4)}, mesh).ok());  // all of it
  EXPECT_FALSE(ValidateAxes({Part(1, int64_t{1} << 62, 4)}, mesh).ok());
  EXPECT_THAT(ValidateAxes({Axis(1), Part(1, 2, 2)}, mesh).message(),
              HasSubstr("overlap"));
}

TEST(NamedShardingTest, Prints) {
  const Mesh mesh({2, 4, 2, 2}, {"x", "y", "z", "w"});
  NamedSharding named(mesh,
                      {Dim({Axis(0), Part(1, 1, 2)}), Dim({}, false),
                       Dim({Part(1, 2, 2)}, false), Dim()},
                      {}, {Axis(2)}, {Axis(3)});
  EXPECT_EQ(named.ToString(),
            "{mesh['x'=2,'y'=4,'z'=2,'w'=2], [{'x', 'y':(1)2}, {?}, "
            "{'y':(2)2, ?}, {}], unreduced={'z'}, manual={'w'}}");
  named.set_reduction_op(ReductionOp::kMax);
  EXPECT_THAT(named.ToString(), HasSubstr("unreduced=max{'z'}"));
  EXPECT_EQ(NamedSharding(MeshXY(), {Dim()}, {Axis(0)}).ToString(),
            "{replicated}");
  EXPECT_EQ(NamedSharding(MeshXY(), {Dim({Axis(1)})}, {Axis(0)}).ToString(),
            "{mesh['x'=2,'y'=4], [{'y'}], replicated={'x'}}");
  EXPECT_EQ(NamedSharding(MeshXY(), {Dim({}, false)}).ToString(),
            "{mesh['x'=2,'y'=4], [{?}]}");
  EXPECT_EQ(NamedSharding::Manual(MeshXY()).ToString(),
            "{mesh['x'=2,'y'=4], manual}");
  EXPECT_EQ(NamedSharding::Manual().ToString(), "{mesh[], manual}");
  NamedSharding unreduced = NamedSharding::Unreduced(MeshXY());
  unreduced.set_reduction_op(ReductionOp::kMax);
  EXPECT_EQ(unreduced.ToString(), "{unreduced=max}");
  EXPECT_EQ(NamedSharding::MaximalSharding(5).ToString(),
            "{maximal_mesh[device_id=5]}");
  EXPECT_EQ(NamedSharding::Replicate().ToString(), "{replicated}");
}

TEST(NamedShardingTest, WhatTwoShardingsMeanDecidesWhetherTheyAreEqual) {
  const Mesh renamed({2, 4}, {"u", "v"});
  const NamedSharding x(MeshXY(), {Dim({Axis(0)})});
  for (const NamedSharding& same :
       {NamedSharding(renamed, {Dim({Axis(0)})}),
        NamedSharding(MeshXY(), {Dim({Axis(0)})}, {Axis(1)})}) {
    EXPECT_EQ(x, same);
    EXPECT_EQ(absl::HashOf(x), absl::HashOf(same));
  }
  EXPECT_NE(x, NamedSharding(MeshXY(), {Dim({Axis(0)}, false)}));
  EXPECT_NE(x, NamedSharding(Mesh({2, 2}, {"x", "y"}), {Dim({Axis(0)})}));
  EXPECT_EQ(NamedSharding(MeshXY(), {Dim()}), NamedSharding::Replicate());
  EXPECT_EQ(HloSharding(NamedSharding(MeshXY(), {Dim()})),
            HloSharding::Replicate());
  EXPECT_EQ(absl::HashOf(HloSharding(NamedSharding(MeshXY(), {Dim()}))),
            absl::HashOf(HloSharding::Replicate()));
  EXPECT_EQ(HloSharding(NamedSharding::Unreduced(MeshXY())),
            HloSharding::Unreduced());
  EXPECT_NE(NamedSharding::Manual(MeshXY()), NamedSharding::Manual());
  EXPECT_EQ(NamedSharding::Replicate().num_devices(), 0);
}

TEST(NamedShardingTest, RefusesWhatHasAnotherForm) {
  const Mesh mesh = MeshXY();
  const auto create = [&](std::vector<AxisRef> dim,
                          std::vector<AxisRef> replicated) {
    return NamedSharding::Create(mesh, {Dim(dim)}, replicated, {}, {}).ok();
  };
  EXPECT_TRUE(create({Part(1, 1, 2), Axis(0), Part(1, 2, 2)}, {}));
  EXPECT_FALSE(create({Part(1, 1, 2), Part(1, 2, 2)}, {}));
  EXPECT_TRUE(create({}, {Axis(0), Axis(1)}));
  EXPECT_FALSE(create({}, {Axis(1), Axis(0)}));
  EXPECT_TRUE(VerifyNamedSharding(NamedSharding::Manual(mesh)).ok());
}

TEST(NamedShardingDeathTest, ConstructorsDieWhereCreateFails) {
  const Mesh mesh = MeshXY();
  EXPECT_DEATH(Part(1, 0, 2), "");
  EXPECT_DEATH(Part(1, 1, 1), "");
  const auto cut_by = [&](std::vector<AxisRef> axes) {
    return NamedSharding(mesh, {Dim(std::move(axes))});
  };
  EXPECT_DEATH(cut_by({Part(1, 1, 2), Part(1, 2, 2)}), "");
  EXPECT_DEATH(cut_by({Part(1, 1, 4)}), "");  // all of the axis
  EXPECT_DEATH(cut_by({Part(1, 1, 3)}), "");  // does not divide it
  EXPECT_DEATH(cut_by({Axis(0), Axis(0)}), "");
  EXPECT_DEATH(NamedSharding(mesh, {}, {Axis(1), Axis(0)}), "");
  EXPECT_DEATH(NamedSharding(mesh, {}, {Axis(2)}), "");
  EXPECT_DEATH(NamedSharding(mesh, {Dim({Axis(0)})}, {}, {Axis(0)}), "");
  EXPECT_DEATH(NamedSharding(mesh, {}, {}, {}, {Part(1, 1, 2), Part(1, 2, 2)}),
               "");
}

TEST(MeshDeathTest, ConstructorsDieOfWhatDoesNotValidate) {
  EXPECT_DEATH(Mesh(-1), "negative");
  EXPECT_DEATH(Mesh({2, 2}, {"x"}), "1 axis names but 2 sizes");
  EXPECT_DEATH(Mesh({2, 2}, {"x", "x"}), "distinct");
  EXPECT_DEATH(Mesh({2, 2}, {"x", ""}), "not empty");
  EXPECT_DEATH(Mesh({2, 2}, {"x", "1"}), "the number of an axis");
  EXPECT_DEATH(Mesh(Array<int64_t>({{0, 1}, {2, 4}}), {"x", "y"}), "0 to 3");
  EXPECT_DEATH(Mesh({0, 1, 1, 2}, {2, 2}, {"x", "y"}), "0 to 3");
  EXPECT_EQ(Mesh(Array<int64_t>({{0, 1}, {2, 3}}), {"x", "y"}),
            Mesh({2, 2}, {"x", "y"}));
}

TEST(AxisRefTest, ListsOfAxes) {
  const Mesh mesh = MeshXY();
  EXPECT_LT(Part(1, 1, 2), Axis(1));
  EXPECT_LT(Axis(1), Part(1, 2, 2));
  EXPECT_TRUE(Part(1, 1, 2).CanCoexistWithoutOverlap(Part(1, 2, 2)));
  EXPECT_EQ(Axis(1).GetPrefixWithoutOverlap(Part(1, 2, 2)), Part(1, 1, 2));
  EXPECT_EQ(Axis(1).GetPrefixWithoutOverlap(Part(1, 1, 2)), std::nullopt);
  EXPECT_EQ(Axis(1).GetPrefixWithoutOverlap(Axis(0)), Axis(1));
  std::vector<AxisRef> axes = {Part(1, 2, 2), Axis(0), Part(1, 1, 2)};
  SortAndMergeAxes(axes, mesh);
  EXPECT_THAT(axes, ElementsAre(Axis(0), Axis(1)));
  EXPECT_TRUE(TruncateAxesByRemovingOverlaps(axes, {Part(1, 2, 2)}));
  EXPECT_THAT(axes, ElementsAre(Axis(0), Part(1, 1, 2)));
  EXPECT_FALSE(TruncateAxesByRemovingOverlaps(axes, {}));
  EXPECT_EQ(Part(1, 2, 2).ToString(), "1:(2)2");
  Dim dim({Axis(1), Axis(0)});
  EXPECT_EQ(dim.Slice(mesh, 3), std::nullopt);
  EXPECT_EQ(dim.Slice(mesh, 2), Dim({Part(1, 1, 2)}));
  EXPECT_EQ(dim, Dim({Part(1, 2, 2), Axis(0)}));
  EXPECT_TRUE(Dim({Part(1, 1, 2)}).IsPrefixOf(Dim({Axis(1)}), mesh, mesh));
  EXPECT_FALSE(Dim({Axis(0)}).IsPrefixOf(Dim({Axis(1)}), mesh, mesh));
  Dim major({Part(1, 1, 2)});
  major.Append(dim, mesh);
  EXPECT_EQ(major, Dim({Axis(1), Axis(0)}));
  EXPECT_THAT(NamedSharding(mesh, {Dim({Part(1, 1, 2)})}, {Axis(0)})
                  .GetImplicitlyReplicatedAxes(),
              ElementsAre(Part(1, 2, 2)));
  EXPECT_EQ(test_utils::FromAxisNames(mesh, {{"y"}, {}}, {}, {"x"}).ToString(),
            "{mesh['x'=2,'y'=4], [{'y'}, {}], unreduced={'x'}}");
}

TEST(NamedShardingTest, RoundTripsThroughProto) {
  OpMetadata metadata;
  metadata.set_op_name("m");
  const NamedSharding named(MeshXY(),
                            {Dim({Axis(0)}), Dim({Part(1, 1, 2)}, false)}, {},
                            {Part(1, 2, 2)}, {}, {metadata}, ReductionOp::kMin);
  const NamedSharding copy = NamedSharding::FromProto(named.ToProto());
  EXPECT_EQ(copy, named);
  EXPECT_EQ(absl::HashOf(copy), absl::HashOf(named));
  EXPECT_EQ(copy.ToString(/*include_metadata=*/true),
            named.ToString(/*include_metadata=*/true));
  EXPECT_EQ(copy.reduction_op(), ReductionOp::kMin);
  NamedShardingProto bad = named.ToProto();
  bad.mutable_unreduced_axes(0)->set_mesh_axis_index(0);
  EXPECT_FALSE(NamedSharding::CreateFromProto(bad).ok());
  // A reduction of nothing is none.
  NamedShardingProto reduced = named.ToProto();
  reduced.clear_unreduced_axes();
  const auto none = NamedSharding::CreateFromProto(reduced);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->reduction_op(), ReductionOp::kSum);
}

TEST(NamedShardingTest, TiledForm) {
  const Mesh mesh = MeshXY();
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim({Axis(0)}), Dim({Axis(1)})})),
            "{devices=[2,4]<=[8]}");
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim({Axis(1)}), Dim({Axis(0)})})),
            "{devices=[4,2]<=[2,4]T(1,0)}");
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim(), Dim({Axis(0)})})),
            "{devices=[1,2,4]<=[8] last_tile_dim_replicate}");
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim({Axis(1), Axis(0)})})),
            "{devices=[8]<=[2,4]T(1,0)}");
  // 'y' splits into [2,2]; its major half cuts the dimension.
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim({Part(1, 1, 2)})})),
            "{devices=[2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}");
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim({Axis(0)})}, {}, {}, {Axis(1)})),
            "{devices=[2,4]<=[8] last_tile_dims={manual}}");
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim({Axis(0)})}, {}, {Part(1, 1, 2)}, {})),
            "{devices=[2,2,2]<=[8] last_tile_dims={unreduced, replicated}}");
}

TEST(NamedShardingTest, TiledFormOfWholeMeshKinds) {
  const Mesh mesh = MeshXY();
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim(), Dim()})), "{replicated}");
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim()}, {}, {}, {Axis(0), Axis(1)})),
            "{manual}");
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim()}, {}, {Axis(0), Axis(1)}, {})),
            "{unreduced}");
  EXPECT_EQ(V2(NamedSharding::MaximalSharding(3)), "{maximal device=3}");
  EXPECT_EQ(V2(NamedSharding::Replicate()), "{replicated}");
}

TEST(NamedShardingTest, TiledFormKeepsExplicitDevices) {
  const Mesh mesh({3, 1, 2, 0}, {2, 2}, {"a", "b"});
  EXPECT_EQ(V2(NamedSharding(mesh, {Dim({Axis(1)})})),
            "{devices=[2,2]2,3,0,1 last_tile_dim_replicate}");
}

TEST(NamedShardingTest, TiledToNamedAndBack) {
  for (const HloSharding& tiled :
       {HloSharding::IotaTile({2, 4}), HloSharding::IotaTile({8, 1}),
        HloSharding::IotaTile({4, 2}, {2, 4}, {1, 0}),
        HloSharding::IotaTile({8}, {2, 4}, {1, 0}),
        HloSharding::PartialTile(TileAssignment({2, 1, 4})),
        HloSharding::PartialTile(TileAssignment({2, 1, 4}, {4, 2}, {1, 0})),
        HloSharding::Subgroup(TileAssignment({2, 2, 2, 2}),
                              {OpSharding::MANUAL, OpSharding::REPLICATED,
                               OpSharding::UNREDUCED}),
        HloSharding::Tile(Array<int64_t>({{0, 1}, {3, 2}})),
        HloSharding::Replicate(), HloSharding::SingleDevice(7)}) {
    const HloSharding named = HloSharding::ToV3Sharding(tiled);
    EXPECT_TRUE(named.UseNamedShardingLeaf());
    EXPECT_EQ(HloSharding::V3ToV2Sharding(named), tiled)
        << named << " " << tiled;
    EXPECT_EQ(named == tiled, tiled.IsReplicated()) << tiled;
    if (tiled.IsTiled() && !tiled.tile_assignment().iota().has_value()) {
      EXPECT_DEATH(HloSharding::HasherV2()(tiled), "listed");
      const Shape array = ShapeUtil::MakeShape(F32, {4, 4});
      EXPECT_DEATH(HloSharding::HasherV2()(HloSharding::SingleTuple(
                       ShapeUtil::MakeTupleShape({array}), tiled)),
                   "listed");
    } else {
      EXPECT_EQ(HloSharding::HasherV2()(named), HloSharding::HasherV2()(tiled));
    }
    EXPECT_EQ(*HloSharding::FromProto(named.ToProto()), named);
  }
  EXPECT_EQ(HloSharding::ToV3Sharding(HloSharding::IotaTile({2, 4})).ToString(),
            "{mesh['axis_0'=2,'axis_1'=4], [{'axis_0'}, {'axis_1'}]}");
  EXPECT_EQ(HloSharding::ToV3Sharding(HloSharding::Unknown()),
            HloSharding::Unknown());
}

TEST(NamedShardingTest, NamedLeafAnswersQueriesAsItsTiledForm) {
  const HloSharding named(NamedSharding(MeshXY(), {Dim({Axis(0)}), Dim()}));
  EXPECT_TRUE(named.IsTiled());
  EXPECT_TRUE(named.ReplicateOnLastTileDim());
  EXPECT_EQ(named.NumTiles(), 2);
  EXPECT_EQ(named.TiledDataRank(), 2);
  EXPECT_EQ(named.num_devices(), 8);
  const HloSharding again(NamedSharding(MeshXY(), {Dim({Axis(0)}), Dim()}));
  EXPECT_EQ(named, again);
  EXPECT_EQ(absl::HashOf(named), absl::HashOf(again));
}

}  // namespace
}  // namespace xla
