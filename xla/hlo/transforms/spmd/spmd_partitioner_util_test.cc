#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util_internal.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/hlo_sharding_util_indexing.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::UnorderedElementsAreArray;
using Groups = std::vector<std::vector<int64_t>>;
using hlo_sharding_util::DeviceGroupTileAssignment;

HloSharding Sharding(absl::string_view text) { return *ParseSharding(text); }

std::unique_ptr<HloModule> Module(absl::string_view body) {
  auto module = ParseAndReturnUnverifiedModule(
      absl::StrCat("HloModule m, num_partitions=4\nENTRY e {\n", body, "}"));
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

TEST(PartitionGroupsTest, EachFormHoldsTheSameDevices) {
  for (absl::string_view text :
       {"{devices=[4,2]<=[8]}", "{devices=[2,2,2]<=[2,4]T(1,0)}",
        "{devices=[4,2]<=[2,4]T(1,0)}",
        "{devices=[2,2,2]<=[8] last_tile_dim_replicate}",
        "{mesh['a'=2,'b'=4], [{'b'}, {'a'}]}",
        "{mesh['a'=4,'b'=2], [{'b','a':(1)2}, {}]}"}) {
    const HloSharding sharding = Sharding(text);
    for (int64_t d = 0; d < sharding.tile_assignment().num_dimensions(); ++d) {
      const Groups lists =
          GetListOfListsPartitionGroupsForReplication(sharding, {d})
              .flattened_replica_groups();
      EXPECT_EQ(lists, GetPartitionGroupsForReplication(sharding, {d})
                           ->flattened_replica_groups());
      const auto iota = GetIotaPartitionGroupsForReplication(sharding, {d});
      ASSERT_TRUE(iota.has_value()) << text;
      EXPECT_EQ(iota->flattened_replica_groups(), lists) << text;
      const auto axes = GetMeshAxesPartitionGroupsForReplication(sharding, {d});
      ASSERT_TRUE(axes.has_value()) << text << d;
      EXPECT_THAT(axes->flattened_replica_groups(),
                  UnorderedElementsAreArray(lists))
          << text;
    }
  }
}

TEST(PartitionGroupsTest, OneFormForEqualShardings) {
  for (const auto& [text, canonical] :
       {std::pair{"{mesh['a'=2,'b'=2], [{'b'}, {}]}",
                  "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
        {"{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}",
         "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
        {"{devices=[2,1,2]0,1,2,3 last_tile_dims={manual}}",
         "{devices=[2,1,2]<=[4] last_tile_dims={manual}}"},
        {"{devices=[4,1]3,0,2,1}", "{devices=[4,1]3,0,2,1}"},
        {"{{replicated}, {devices=[4]0,1,2,3}}",
         "{{replicated}, {devices=[4]<=[4]}}"}}) {
    EXPECT_EQ(CanonicalizeSharding(Sharding(text)).ToString(), canonical);
  }
}

TEST(ComparatorsTest, FloatsWithNansInTheirPlace) {
  auto is_gt = [](absl::string_view type, absl::string_view body) {
    auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
        "HloModule m\nENTRY e {\na = ", type, "[] parameter(0)\nb = ", type,
        "[] parameter(1)\n", body, "\n}"));
    EXPECT_TRUE(module.ok()) << module.status();
    return IsNanSafeGt((*module)->entry_computation());
  };
  EXPECT_TRUE(
      is_gt("bf16", "c = pred[] compare(a, b), direction=GT, type=TOTALORDER"));
  EXPECT_FALSE(is_gt("f32", "c = pred[] compare(a, b), direction=GT"));
  EXPECT_FALSE(
      is_gt("f32", "c = pred[] compare(b, a), direction=GT, type=TOTALORDER"));
  constexpr absl::string_view kBits = R"(
    z = s32[] constant(0)
    m = u32[] constant(2147483647)
    as = s32[] bitcast-convert($0)
    au = u32[] bitcast-convert($0)
    an = pred[] compare(as, z), direction=LT
    ad = u32[] subtract(m, au)
    ai = s32[] bitcast-convert(ad)
    ak = s32[] select(an, ai, as)
    bs = s32[] bitcast-convert($1)
    bu = u32[] bitcast-convert($1)
    bn = pred[] compare(bs, z), direction=LT
    bd = u32[] subtract(m, bu)
    bi = s32[] bitcast-convert(bd)
    bk = s32[] select(bn, bi, bs)
    ROOT c = pred[] compare(ak, bk), direction=$2)";
  EXPECT_TRUE(is_gt("f32", absl::Substitute(kBits, "a", "b", "GT")));
  EXPECT_FALSE(is_gt("f32", absl::Substitute(kBits, "a", "b", "GE")));
  EXPECT_FALSE(is_gt("f32", absl::Substitute(kBits, "a", "a", "GT")));
  EXPECT_TRUE(is_gt(
      "bf16", absl::StrCat("aw = f32[] convert(a)\nbw = f32[] convert(b)\n",
                           absl::Substitute(kBits, "aw", "bw", "GT"))));
}

TEST(SmallInstructionsTest, ForBuildersAndComputations) {
  auto module = Module("ROOT p = f32[3] parameter(0)");
  HloComputation* entry = module->entry_computation();
  HloInstruction* p = entry->root_instruction();
  const Shape pair = ShapeUtil::MakeTupleShape(
      {ShapeUtil::MakeShape(BF16, {2}), ShapeUtil::MakeTokenShape()});
  EXPECT_EQ(CreateOne(pair, entry)->shape(), pair);
  EXPECT_EQ(PadToShape(p, ShapeUtil::MakeShape(F32, {5}), entry)
                ->shape()
                .dimensions(0),
            5);
  SpmdBuilder b("b", nullptr);
  EXPECT_TRUE(CreateZero(ShapeUtil::MakeShape(S8, {}), &b)->literal().IsAll(0));
  HloInstruction* last = CreateLastWithType(F32, &b);
  EXPECT_TRUE(std::isnan(last->literal().Get<float>({})));
  EXPECT_TRUE(
      std::signbit(CreateFirstWithType(F32, entry)->literal().Get<float>({})));
  EXPECT_EQ(CreateFirstWithType(S8, &b)->literal().Get<int8_t>({}), -128);
  // A table of two steps is a line.
  HloInstruction* id = CreateR0(1, U32, &b);
  EXPECT_EQ(
      TableLookup<int32_t>(std::vector<int32_t>{0, 7}, S32, id, &b)->opcode(),
      HloOpcode::kMultiply);
}

// Along which dimensions elements are equal, by name of the test's reshapes.
TEST(SmallInstructionsTest, RepeatedDimensionsOfReshapes) {
  SpmdBuilder b("b", /*hlo=*/nullptr);
  HloInstruction* p = b.AddInstruction(
      HloInstruction::CreateParameter(0, ShapeUtil::MakeShape(F32, {5}), "p"));
  HloInstruction* rows = b.AddInstruction(HloInstruction::CreateBroadcast(
      ShapeUtil::MakeShape(F32, {6, 5}), p, {1}));
  const auto repeated = [&](std::vector<int64_t> dims) {
    const auto known = b.BroadcastDimsForCreatedHlo(AddReshape(rows, dims, &b));
    return known.has_value() ? **known : absl::flat_hash_set<int64_t>();
  };
  EXPECT_EQ(repeated({3, 2, 5}), (absl::flat_hash_set<int64_t>{0, 1}));
  EXPECT_EQ(repeated({2, 15}), (absl::flat_hash_set<int64_t>{0}));
  EXPECT_EQ(repeated({6, 1, 5}), (absl::flat_hash_set<int64_t>{0}));
  EXPECT_EQ(repeated({5, 6}), absl::flat_hash_set<int64_t>());
  EXPECT_EQ(repeated({30}), absl::flat_hash_set<int64_t>());
  // One row of a shard, beside others elsewhere.
  HloInstruction* row = AddReshape(p, {1, 5}, &b);
  rows = b.AddInstruction(HloInstruction::CreateBroadcast(
      ShapeUtil::MakeShape(F32, {1, 5, 4}), row, {0, 1}));
  EXPECT_EQ(repeated({5, 4}), absl::flat_hash_set<int64_t>());
}

TEST(WrapPatternTest, PartsOfAnArrayAroundIt) {
  auto module = Module(R"(
    p = f32[8,4] parameter(0), sharding={devices=[4,1]<=[4]}
    l = f32[2,4] slice(p), slice={[5:7], [0:4]}
    c = f32[2,4] copy(l)
    n = f32[2,4] negate(c)
    r = f32[1,4] slice(p), slice={[0:1], [0:4]}
    ROOT q = f32[11,4] concatenate(n, p, r), dimensions={0})");
  const auto pattern =
      FindPadWithWrapPattern(module->entry_computation()->root_instruction());
  ASSERT_TRUE(pattern.has_value());
  EXPECT_EQ(pattern->lhs_slice_start, 5);
  EXPECT_EQ(pattern->rhs_slice_start, 0);
  ASSERT_EQ(pattern->lhs_modifiers.size(), 1);
  EXPECT_EQ(pattern->lhs_modifiers[0]->name(), "n");
  EXPECT_TRUE(pattern->rhs_modifiers.empty());
}

TEST(PartitionGroupsTest, ListsFollowNoRule) {
  const HloSharding sharding = Sharding("{devices=[4,2]7,3,0,1,2,6,4,5}");
  EXPECT_EQ(GetListOfListsPartitionGroupsForReplication(sharding, {0})
                .flattened_replica_groups(),
            (Groups{{7, 0, 2, 4}, {3, 1, 6, 5}}));
  EXPECT_FALSE(GetIotaPartitionGroupsForReplication(sharding, {0}).has_value());
}

TEST(PartitionGroupsTest, PartsOfDimensions) {
  const HloSharding sharding = Sharding("{mesh['a'=8,'b'=2], [{'a'}, {}]}");
  const Groups lists =
      GetListOfListsPartitionGroupsAcrossTargetDims(sharding, {0}, {2})
          .flattened_replica_groups();
  EXPECT_EQ(lists[0], (std::vector<int64_t>{0, 2}));
  const auto axes =
      GetMeshAxesPartitionGroupsAcrossTargetDims(sharding, {0}, {2});
  ASSERT_TRUE(axes.has_value());
  EXPECT_EQ(axes->ToString(), "mesh['a'=8,'b'=2] {'a':(4)2}");
  EXPECT_EQ(axes->flattened_replica_groups(), lists);
  EXPECT_EQ(GetIotaPartitionGroupsAcrossTargetDims(sharding, {0}, {2})
                ->flattened_replica_groups(),
            lists);
}

TEST(DeviceGroupsOfShardingsTest, DimensionsThatMakeTheGroups) {
  const HloSharding sharding = Sharding("{devices=[2,2,2]<=[8]}");
  EXPECT_THAT(FindMatchingPartitionedDimsForGrouping(
                  sharding, DeviceGroupTileAssignment(2, 4)),
              Optional(ElementsAre(0)));
  EXPECT_THAT(
      FindMatchingPartitionedDimsForGrouping(
          sharding, DeviceGroupTileAssignment(4, 2, {2, 2, 2}, {0, 2, 1})),
      Optional(ElementsAre(0, 2)));
  // Groups in any order, of devices in any order.
  EXPECT_THAT(FindMatchingPartitionedDimsForGrouping(
                  sharding, DeviceGroupTileAssignment(absl::MakeConstSpan(
                                Groups{{7, 6, 5, 4}, {0, 1, 3, 2}}))),
              Optional(ElementsAre(0)));
  EXPECT_FALSE(FindMatchingPartitionedDimsForGrouping(
                   sharding, DeviceGroupTileAssignment(2, 2))
                   .has_value());
  EXPECT_FALSE(FindMatchingPartitionedDimsForGrouping(
                   sharding, DeviceGroupTileAssignment(absl::MakeConstSpan(
                                 Groups{{0, 7, 1, 2}, {3, 4, 5, 6}})))
                   .has_value());
}

TEST(DeviceGroupsOfShardingsTest, AlignedDimensionsShareDevices) {
  const HloSharding reference = Sharding("{devices=[2,2]<=[4]}");
  EXPECT_EQ(AlignShardingOnDims(Sharding("{devices=[2,2]<=[4]}"), {1},
                                reference, {0}),
            Sharding("{devices=[2,2]<=[2,2]T(1,0)}"));
  EXPECT_EQ(CreateMatchingShardingOnDims(ShapeUtil::MakeShape(F32, {8, 8, 8}),
                                         reference, {2}, {0}),
            Sharding("{devices=[1,1,2,2]<=[4] last_tile_dim_replicate}"));
  const auto grouped = hlo_sharding_util::GroupShardingOnDims(
      Sharding("{devices=[2,2]<=[4]}"), {0});
  EXPECT_EQ(GetPerGroupBaseShape(grouped, ShapeUtil::MakeShape(F32, {5, 7})),
            ShapeUtil::MakeShape(F32, {3, 7}));
}

TEST(GatherScatterTest, ParallelDimensionsAreCutAlike) {
  auto module = Module(
      "  o = f32[8,4] parameter(0), sharding={devices=[4,1]<=[4]}\n"
      "  i = s32[8,2] parameter(1), sharding={replicated}\n"
      "  ROOT r = (f32[8,4], s32[8,2]) tuple(o, i)\n");
  HloInstruction* operand =
      module->entry_computation()->parameter_instruction(0);
  HloInstruction* indices =
      module->entry_computation()->parameter_instruction(1);
  hlo_sharding_util::GatherScatterDims dims;
  dims.operand_dims = {0};
  dims.indices_dims = {0};
  auto both =
      GatherScatterOperandsShardedAcrossParallelDims(*operand, *indices, dims);
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->operand_sharding, operand->sharding());
  EXPECT_EQ(both->indices_sharding, Sharding("{devices=[4,1]<=[4]}"));
  // Fewer tiles on the operand: it takes those of the indices, and keeps what
  // fits beside them.
  operand->set_sharding(
      Sharding("{devices=[1,2,2]<=[4] last_tile_dim_replicate}"));
  indices->set_sharding(
      Sharding("{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"));
  both =
      GatherScatterOperandsShardedAcrossParallelDims(*operand, *indices, dims);
  EXPECT_EQ(both->indices_sharding, indices->sharding());
  EXPECT_EQ(both->operand_sharding, Sharding("{devices=[2,2]<=[2,2]T(1,0)}"));
  indices->set_sharding(HloSharding::Replicate());
  EXPECT_FALSE(
      GatherScatterOperandsShardedAcrossParallelDims(*operand, *indices, dims)
          .has_value());
}

TEST(PatternTest, RotationsOfCutDimensions) {
  const auto amount = [](absl::string_view first, absl::string_view second,
                         absl::string_view sharding) {
    auto module = Module(absl::StrCat(
        "  x = f32[8] parameter(0), sharding=", sharding, "\n  a = f32[", first,
        "\n  b = f32[", second,
        "\n  ROOT c = f32[8] concatenate(a, b), dimensions={0}, sharding=",
        sharding, "\n"));
    return FindRotateRightPattern(
        module->entry_computation()->root_instruction());
  };
  EXPECT_THAT(amount("2] slice(x), slice={[6:8]}", "6] slice(x), slice={[0:6]}",
                     "{devices=[4]<=[4]}"),
              Optional(2));
  EXPECT_FALSE(amount("2] slice(x), slice={[6:8]}",
                      "6] slice(x), slice={[0:6]}", "{replicated}")
                   .has_value());
  EXPECT_FALSE(amount("2] slice(x), slice={[5:7]}",
                      "6] slice(x), slice={[0:6]}", "{devices=[4]<=[4]}")
                   .has_value());
}

TEST(PatternTest, UpdatesOfSlices) {
  const auto analyze = [](absl::string_view update, absl::string_view index) {
    auto module = Module(absl::StrCat(
        "  x = f32[8,4] parameter(0), sharding={devices=[4,1]<=[4]}\n"
        "  u = f32[",
        update,
        "] parameter(1)\n  z = s32[] constant(0)\n"
        "  i = s32[] ",
        index,
        "\n  ROOT r = f32[8,4] dynamic-update-slice(x, u, i, z), "
        "sharding={devices=[4,1]<=[4]}\n"));
    return AnalyzeDynamicUpdateSlice(
        module->entry_computation()->root_instruction());
  };
  using Method = DynamicUpdateSliceMethod;
  const auto row = analyze("1,4", "parameter(2)");
  EXPECT_EQ(row.method, Method::kUpdateOnASinglePartition);
  EXPECT_THAT(row.slice_dims, ElementsAre(0));
  EXPECT_THAT(row.partitioned_slice_dims, ElementsAre(0));
  EXPECT_EQ(analyze("2,4", "constant(4)").method,
            Method::kUpdateOnASinglePartition);
  // Starts are clamped first: elements 6 and 7.
  EXPECT_EQ(analyze("2,4", "constant(7)").method,
            Method::kUpdateOnASinglePartition);
  EXPECT_EQ(analyze("2,4", "constant(3)").method,
            Method::kAllPartitionedSliceDimsHaveConstantIndices);
  EXPECT_EQ(analyze("2,4", "parameter(2)").method, Method::kDefault);
  const auto columns = analyze("8,2", "parameter(2)");
  EXPECT_EQ(columns.method, Method::kDefault);
  EXPECT_THAT(columns.slice_dims, ElementsAre(1));
  EXPECT_TRUE(columns.partitioned_slice_dims.empty());
}

TEST(PatternTest, SortsOfWhichTheFirstElementsAreRead) {
  const auto first = [](absl::string_view sharding) {
    auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
        "HloModule m\nless {\n  a = f32[] parameter(0)\n"
        "  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), "
        "direction=GT\n}\nENTRY e {\n  x = f32[4,64] parameter(0), sharding=",
        sharding,
        "\n  s = f32[4,64] sort(x), dimensions={1}, to_apply=less\n"
        "  ROOT r = f32[4,5] slice(s), slice={[0:4], [0:5]}\n}"));
    return GetKValueInTopKWhenPartitionSortDim(
        (*module)->entry_computation()->root_instruction()->mutable_operand(0));
  };
  EXPECT_THAT(first("{devices=[1,4]<=[4]}"), Optional(5));
  EXPECT_FALSE(first("{devices=[4,1]<=[4]}").has_value());
}

// Whatever was asked before, of other types, packed or not, or other tiles.
TEST(RouteBytesTest, RememberedAsFound) {
  std::vector<Shape> shapes;
  for (absl::string_view text :
       {"f32[8,8]", "f32[8,16]", "s4[8,8]{1,0}", "s4[8,8]{1,0:E(4)}"}) {
    shapes.push_back(*ParseShape(text));
  }
  std::vector<HloSharding> shardings;
  for (absl::string_view text :
       {"{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}", "{devices=[2,2]<=[4]}",
        "{devices=[4,1]1,2,3,0}", "{replicated}"}) {
    shardings.push_back(Sharding(text));
  }
  const auto all = [&] {
    std::vector<double> bytes;
    for (const Shape& shape : shapes) {
      for (const HloSharding& from : shardings) {
        for (const HloSharding& to : shardings) {
          bytes.push_back(RouteBytes(shape, from, to));
        }
      }
    }
    return bytes;
  };
  const std::vector<double> found = all();
  EXPECT_GT(found[1], 0);
  {
    const RouteBytesMemo memo;
    EXPECT_EQ(all(), found);
    { const RouteBytesMemo inner; }
    EXPECT_EQ(all(), found);
  }
  EXPECT_EQ(all(), found);
}

// A sum with zeros of all others: an all-reduce, half of it where all tiles are
// even, and more for those that several devices have.
TEST(RouteBytesTest, FromOneDevice) {
  const Shape shape = *ParseShape("f32[8,6]");
  const HloSharding one = HloSharding::SingleDevice(1);
  const auto bytes = [&](absl::string_view to) {
    return RouteBytes(shape, one, Sharding(to));
  };
  EXPECT_EQ(bytes("{maximal device=1}"), 0);
  EXPECT_EQ(bytes("{maximal device=2}"), 2 * 192);
  EXPECT_EQ(bytes("{replicated}"), 2 * 192);
  EXPECT_EQ(bytes("{devices=[4,1]<=[4]}"), 192 - 48);
  EXPECT_EQ(bytes("{devices=[1,4]<=[4]}"), 2 * 192);
  EXPECT_EQ(bytes("{devices=[2,1,2]<=[4] last_tile_dim_replicate}"),
            192 - 96 + 96);
}

// Empty tuples have a leaf of their own, but none in a tuple around them.
TEST(ElementShardingsTest, AsOneByOne) {
  const Shape shape = *ParseShape("(f32[8], (), (f32[8], (s32[])), f32[4])");
  const HloSharding sharding = Sharding(
      "{{devices=[4]<=[4]}, {replicated}, {maximal device=2}, "
      "{devices=[4]3,2,1,0}}");
  for (const HloSharding& of : {sharding, HloSharding::Replicate()}) {
    const std::vector<HloSharding> elements = ElementShardings(of, shape);
    ASSERT_EQ(elements.size(), 4);
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(elements[i], of.GetSubSharding(shape, {i})) << i;
    }
  }
}

// One shard reads all others, which is as many pieces as there are shards. Not
// all pieces can be tried with all shards.
TEST(HaloPlanTest, ManyPiecesForOneOfManyShards) {
  constexpr int64_t kShards = int64_t{1} << 17;
  ShardIntervals intervals;
  intervals.size = kShards;
  intervals.start.assign(kShards, 0);
  intervals.needed.assign(kShards, 0);
  intervals.needed[1] = kShards;
  const HaloPlan plan = PlanHaloExchange(kShards, 1, intervals);
  EXPECT_EQ(plan.received, kShards - 1);
  ASSERT_EQ(plan.pieces.size(), kShards);
  EXPECT_TRUE(plan.pieces[1].own);
  EXPECT_FALSE(plan.pieces[2].own);
  EXPECT_THAT(plan.rounds[1].from, ElementsAre(2));
  EXPECT_THAT(plan.rounds[1].to, ElementsAre(1));
}

TEST(BytesOfResultTest, SharesOfSumsAreNotRounded) {
  FactorTensor result{*ParseShape("f32[1]"), HloSharding::Replicate(), {0}};
  result.is_result = true;
  EXPECT_DOUBLE_EQ(
      BytesOfResult(Sharding("{devices=[1,3]<=[3]}"), result, /*summed=*/{1}),
      2.0 * 2 * 4 / 3);
  // Scattered among two devices, then summed up by three.
  result.shape = *ParseShape("f32[2]");
  result.sharding = Sharding("{devices=[2,3]<=[6] last_tile_dim_replicate}");
  EXPECT_DOUBLE_EQ(
      BytesOfResult(Sharding("{devices=[1,6]<=[6]}"), result, /*summed=*/{1}),
      4 + 2.0 * 2 * 4 / 3);
}

TEST(VisitorTest, GroupsOfEveryReplica) {
  auto module = Module("  ROOT p = f32[] parameter(0)\n");
  SpmdPartitioner partitioner(4, 2, SpmdPartitionerOptions());
  const std::unique_ptr<CallGraph> calls = CallGraph::Build(module.get());
  int64_t channel = 1;
  SpmdLogger logger(1, /*disabled=*/true);
  auto visitor = partitioner.CreateVisitor(
      module->entry_computation(), 4, 2, GetDefaultCollectiveOpsCreator(4, 2),
      &channel, &logger, SpmdPartitionerOptions(), *calls);
  const Groups both = {{0, 2}, {1, 3}, {4, 6}, {5, 7}};
  EXPECT_EQ(
      visitor
          ->CreateReplicaGroups(DeviceGroupTileAssignment(2, 2, {2, 2}, {1, 0}))
          ->flattened_replica_groups(),
      both);
  EXPECT_EQ(visitor
                ->CreateReplicaGroups(DeviceGroupTileAssignment(
                    absl::MakeConstSpan(Groups{{0, 2}, {1, 3}})))
                ->flattened_replica_groups(),
            both);
}

}  // namespace
}  // namespace xla::spmd
