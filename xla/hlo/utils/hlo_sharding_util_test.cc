#include "xla/hlo/utils/hlo_sharding_util.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/hlo/utils/hlo_sharding_util_test_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_sharding_util {
namespace {

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
