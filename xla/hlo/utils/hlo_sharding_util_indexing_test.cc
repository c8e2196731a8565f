#include "xla/hlo/utils/hlo_sharding_util_indexing.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace hlo_sharding_util {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

HloSharding Sharding(absl::string_view text) {
  auto sharding = ParseSharding(text);
  EXPECT_TRUE(sharding.ok()) << sharding.status();
  return *std::move(sharding);
}

HloInstruction* Find(const HloModule& module, absl::string_view name) {
  for (HloComputation* computation : module.computations()) {
    if (HloInstruction* hlo = computation->GetInstructionWithName(name))
      return hlo;
  }
  return nullptr;
}

// Rows of 9, whole, by number: the batch of 6 x 5 indices.
constexpr char kRows[] = R"(HloModule m
ENTRY e {
  p = f32[7,9] parameter(0)
  i = s32[6,1,5] parameter(1)
  ROOT g = f32[6,9,5] gather(p, i), offset_dims={1}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1,9}
})";

TEST(HloShardingUtilIndexingTest, DimensionsOfAGatherOfRows) {
  auto module = Parse(kRows);
  auto graph = CallGraph::Build(module.get());
  const HloInstruction& gather = *Find(*module, "g");
  const GatherScatterDims whole =
      GetGatherOperandPassthroughDims(gather, {1, 9});
  EXPECT_THAT(whole.operand_dims, ElementsAre(1));
  EXPECT_THAT(whole.output_dims, ElementsAre(1));
  EXPECT_THAT(GetGatherOperandPassthroughDims(gather, {1, 8}).operand_dims,
              IsEmpty());
  const GatherScatterDims index =
      GetGatherScatterIndexPassThroughDims(gather, *graph);
  EXPECT_THAT(index.indices_dims, ElementsAre(0, 2));
  EXPECT_THAT(index.output_dims, ElementsAre(0, 2));
  EXPECT_EQ(GetGatherParallelBatchDims(gather, *graph), std::nullopt);
  EXPECT_THAT(GetGatherConnectedDimsAcrossIndicesAndOutput(3, 1, 3, {1}, {0})
                  .output_dims,
              ElementsAre(2));
}

TEST(HloShardingUtilIndexingTest, ShardingsOfAGatherOfRows) {
  auto module = Parse(kRows);
  auto graph = CallGraph::Build(module.get());
  const HloInstruction* gather = Find(*module, "g");
  EXPECT_EQ(
      GatherOutputShardingFromIndex(Sharding("{devices=[2,1,4]<=[8]}"), gather),
      Sharding("{devices=[2,1,4]<=[8]}"));
  EXPECT_EQ(
      GatherIndexShardingFromOutput(Sharding("{devices=[2,2,2]<=[8]}"), gather),
      Sharding("{devices=[2,1,2,2]<=[2,2,2]T(0,2,1) "
               "last_tile_dim_replicate}"));
  EXPECT_EQ(GatherOutputShardingFromOperandOperandPassthroughDimensions(
                Sharding("{devices=[2,3]<=[6]}"), *gather),
            Sharding("{devices=[1,3,1,2]<=[2,3]T(1,0) "
                     "last_tile_dim_replicate}"));
  EXPECT_EQ(GatherOutputShardingFromOperandOperandPassthroughDimensions(
                Sharding("{devices=[2,1]<=[2]}"), *gather),
            std::nullopt);
  EXPECT_EQ(GatherOperandShardingFromOutput(Sharding("{devices=[2,3,1]<=[6]}"),
                                            *gather, *graph),
            Sharding("{devices=[1,3,2]<=[2,3]T(1,0) last_tile_dim_replicate}"));
  EXPECT_EQ(GatherOutputShardingFromIndex(HloSharding::Replicate(), gather),
            HloSharding::Replicate());
}

// Element [b, i[b]] of each row b: the rows run in parallel.
constexpr char kParallel[] = R"(HloModule m
ENTRY e {
  p = f32[6,9] parameter(0)
  b = s32[6,1] iota(), iota_dimension=0
  i = s32[6,1] parameter(1)
  bi = s32[6,2] concatenate(b, i), dimensions={1}
  ROOT g = f32[6] gather(p, bi), offset_dims={}, collapsed_slice_dims={0,1},
    start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}
})";

TEST(HloShardingUtilIndexingTest, RowsThatTheIndicesCountAreParallel) {
  auto module = Parse(kParallel);
  auto graph = CallGraph::Build(module.get());
  const HloInstruction& gather = *Find(*module, "g");
  auto dims = GetGatherParallelBatchDims(gather, *graph);
  ASSERT_TRUE(dims.has_value());
  EXPECT_THAT(dims->operand_dims, ElementsAre(0));
  EXPECT_THAT(dims->indices_dims, ElementsAre(0));
  EXPECT_THAT(dims->output_dims, ElementsAre(0));
  EXPECT_THAT(GetGatherScatterIndexPassThroughDims(gather, *graph).indices_dims,
              IsEmpty());
  EXPECT_EQ(GatherOperandShardingFromOutputParallelDimensions(
                Sharding("{devices=[3]<=[3]}"), gather, *graph),
            Sharding("{devices=[3,1]<=[3]}"));
  EXPECT_EQ(InferGatherScatterParallelShardingFromOperandSharding(
                Sharding("{devices=[3,2]<=[6]}"), gather.shape(),
                dims->operand_dims, dims->output_dims),
            Sharding("{devices=[3,2]<=[6] last_tile_dim_replicate}"));
}

TEST(HloShardingUtilIndexingTest, NamedBatchingDimensionsAreParallel) {
  auto module = Parse(R"(HloModule m
ENTRY e {
  p = f32[5,9,4] parameter(0)
  i = s32[5,3,1] parameter(1)
  ROOT g = f32[5,3,4] gather(p, i), offset_dims={2}, collapsed_slice_dims={1},
    start_index_map={1}, operand_batching_dims={0},
    start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,4}
})");
  auto graph = CallGraph::Build(module.get());
  auto dims = GetGatherParallelBatchDims(*Find(*module, "g"), *graph);
  ASSERT_TRUE(dims.has_value());
  EXPECT_THAT(dims->operand_dims, ElementsAre(0));
  EXPECT_THAT(dims->output_dims, ElementsAre(0));
  EXPECT_EQ(GatherOperandShardingFromOutput(Sharding("{devices=[5,1,2]<=[10]}"),
                                            *Find(*module, "g"), *graph),
            Sharding("{devices=[5,1,2]<=[10]}"));
}

TEST(HloShardingUtilIndexingTest, ScatterIsAGatherOfItsUpdates) {
  auto module = Parse(R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1)
  ROOT r = f32[] add(x, y) }
ENTRY e {
  p = f32[7,9] parameter(0)
  i = s32[5,1] parameter(1)
  u = f32[5,9] parameter(2)
  ROOT s = f32[7,9] scatter(p, i, u), update_window_dims={1},
    inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1, to_apply=add
})");
  auto graph = CallGraph::Build(module.get());
  const auto* scatter = Cast<HloScatterInstruction>(Find(*module, "s"));
  EXPECT_THAT(GetScatterSliceSize(scatter->shape(),
                                  scatter->scatter_updates()[0]->shape(),
                                  scatter->scatter_dimension_numbers()),
              ElementsAre(1, 9));
  EXPECT_EQ(
      ScatterUpdateShardingFromIndex(Sharding("{devices=[5,1]<=[5]}"), scatter),
      Sharding("{devices=[5,1]<=[5]}"));
  EXPECT_EQ(ScatterIndexShardingFromUpdate(Sharding("{devices=[5,3]<=[15]}"),
                                           scatter),
            Sharding("{devices=[5,1,3]<=[15] last_tile_dim_replicate}"));
  EXPECT_EQ(ScatterOutputShardingFromUpdate(Sharding("{devices=[1,3]<=[3]}"),
                                            *scatter),
            Sharding("{devices=[1,3]<=[3]}"));
  EXPECT_EQ(ScatterUpdateShardingFromOutput(Sharding("{devices=[7,3]<=[21]}"),
                                            *scatter, *graph),
            Sharding("{devices=[1,3,7]<=[7,3]T(1,0) last_tile_dim_replicate}"));
  EXPECT_EQ(ScatterUpdateShardingFromOutputParallelDimensions(
                Sharding("{devices=[7,1]<=[7]}"), *scatter, *graph),
            std::nullopt);
}

TEST(HloShardingUtilIndexingTest, WhereValuesCount) {
  auto module = Parse(R"(HloModule m
called { c0 = s32[4,8] parameter(0) ROOT c1 = s32[4,8] negate(c0) }
body { b = (s32[], s32[4,8], s32[4,8]) parameter(0)
  n = s32[] get-tuple-element(b), index=0
  kept = s32[4,8] get-tuple-element(b), index=1
  changed = s32[4,8] get-tuple-element(b), index=2
  doubled = s32[4,8] add(changed, changed)
  ROOT next = (s32[], s32[4,8], s32[4,8]) tuple(n, kept, doubled) }
cond { cb = (s32[], s32[4,8], s32[4,8]) parameter(0)
  ROOT stop = pred[] constant(false) }
ENTRY e {
  i = s32[8] iota(), iota_dimension=0
  copied = s32[8] copy(i)
  wide = s32[4,8] broadcast(copied), dimensions={1}
  turned = s32[8,4] transpose(wide), dimensions={1,0}
  unit = s32[1,8,4,1] reshape(turned)
  mixed = s32[32] reshape(turned)
  z = s32[] constant(0)
  zeros = s32[8] broadcast(z), dimensions={}
  end = pred[8] compare(i, zeros), direction=LT
  start = pred[8] compare(i, zeros), direction=GT
  annotated = s32[8] custom-call(i), custom_call_target="Sharding"
  front = s32[8] select(end, zeros, i)
  back = s32[8] select(end, i, zeros)
  neither = s32[8] select(start, zeros, i)
  bytes = u8[256] iota(), iota_dimension=0
  wrapped = u8[257] iota(), iota_dimension=0
  init = (s32[], s32[4,8], s32[4,8]) tuple(z, wide, wide)
  loop = (s32[], s32[4,8], s32[4,8]) while(init), condition=cond, body=body
  other = s32[4,8] parameter(0)
  one = s32[4,8] call(wide), to_apply=called
  ROOT t = ((s32[], s32[4,8], s32[4,8]), s32[4,8], s32[32], s32[1,8,4,1])
    tuple(loop, one, mixed, unit)
})");
  auto graph = CallGraph::Build(module.get());
  auto along = [&](absl::string_view name) {
    return GetDimensionForIota(Find(*module, name), *graph).value_or(-1);
  };
  EXPECT_EQ(along("i"), 0);
  EXPECT_EQ(along("wide"), 1);
  EXPECT_EQ(along("turned"), 0);
  EXPECT_EQ(along("unit"), 1);
  EXPECT_EQ(along("mixed"), -1);
  EXPECT_EQ(along("kept"), 1);
  EXPECT_EQ(along("changed"), -1);
  EXPECT_EQ(along("c0"), 1);
  EXPECT_EQ(along("other"), -1);
  EXPECT_EQ(along("b"), -1);
  EXPECT_EQ(along("annotated"), 0);
  EXPECT_EQ(along("front"), 0);
  EXPECT_EQ(along("back"), -1);
  EXPECT_EQ(along("neither"), -1);
  EXPECT_EQ(along("bytes"), 0);
  EXPECT_EQ(along("wrapped"), -1);
}

TEST(HloShardingUtilIndexingTest, FormatsThereAndBack) {
  auto module = Parse(R"(HloModule m
ENTRY e { z = bf16[] constant(0) ROOT p = bf16[3,5] parameter(0) })");
  HloComputation* entry = module->entry_computation();
  const std::vector<int64_t> swap = {1, 0};
  const std::vector<FormattingStep> steps = {
      {ShapeUtil::MakeShape(F32, {3, 5}), ShapeUtil::MakeShape(F32, {4, 6}),
       std::nullopt, HloOpcode::kPad, entry->GetInstructionWithName("z"),
       std::nullopt},
      {ShapeUtil::MakeShape(F32, {4, 6}), ShapeUtil::MakeShape(F32, {6, 4}),
       std::nullopt, HloOpcode::kTranspose, nullptr, absl::MakeSpan(swap)},
      {ShapeUtil::MakeShape(F32, {6, 4}), ShapeUtil::MakeShape(F32, {24}),
       std::nullopt, HloOpcode::kReshape, nullptr, std::nullopt}};
  HloInstruction* there =
      FormatShape(entry->GetInstructionWithName("p"), steps, entry);
  EXPECT_EQ(there->shape(), ShapeUtil::MakeShape(BF16, {24}));
  HloInstruction* back = ReverseFormatShape(there, steps, entry);
  EXPECT_EQ(back->opcode(), HloOpcode::kSlice);
  EXPECT_EQ(back->shape(), ShapeUtil::MakeShape(BF16, {3, 5}));
}

}  // namespace
}  // namespace hlo_sharding_util
}  // namespace xla
