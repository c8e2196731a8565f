// Passes as tests of OpenXLA construct them: include paths, constructors, what
// they rewrite by default.
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/transforms/horizontal_input_fusion.h"
#include "xla/backends/gpu/transforms/horizontal_loop_fusion.h"
#include "xla/backends/gpu/transforms/reduction_degenerate_dim_remover.h"
#include "xla/backends/gpu/transforms/reduction_dimension_grouper.h"
#include "xla/backends/gpu/transforms/reduction_layout_normalizer.h"
#include "xla/backends/gpu/transforms/reduction_splitter.h"
#include "xla/backends/gpu/transforms/tree_reduction_rewriter.h"
#include "xla/backends/gpu/transforms/variadic_op_splitter.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/hlo_hardware_independent_test_base.h"
#include "xla/hlo/transforms/collectives/all_gather_combiner.h"
#include "xla/hlo/transforms/collectives/all_reduce_combiner.h"
#include "xla/hlo/transforms/collectives/async_collective_creator.h"
#include "xla/hlo/transforms/collectives/reduce_scatter_combiner.h"
#include "xla/hlo/transforms/expanders/stochastic_convert_decomposer.h"
#include "xla/hlo/transforms/simplifiers/dot_merger.h"
#include "xla/service/cpu/cpu_instruction_fusion.h"
#include "xla/service/gpu/gpu_device_info_for_tests.h"
#include "xla/service/gpu/model/gpu_performance_model.h"
#include "xla/service/pattern_matcher.h"
#include "xla/service/while_loop_all_reduce_code_motion.h"
#include "xla/service/while_loop_invariant_code_motion.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

namespace m = ::xla::match;

using PassesTest = HloHardwareIndependentTestBase;

int64_t Count(const HloModule& module, HloOpcode opcode) {
  int64_t count = 0;
  for (const HloInstruction* inst :
       module.entry_computation()->instructions()) {
    count += inst->opcode() == opcode;
  }
  return count;
}

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

TEST_F(PassesTest, AllGathersOfDifferentTypesAreOne) {
  constexpr absl::string_view kText = R"(
HloModule m, replica_count=4
ENTRY e {
  a = f32[8] parameter(0)
  b = bf16[4] parameter(1)
  x = f32[32] all-gather(a), replica_groups={}, dimensions={0}
  y = bf16[16] all-gather(b), replica_groups={}, dimensions={0}
  ROOT t = (f32[32], bf16[16]) tuple(x, y)
})";
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(kText, 4));
  EXPECT_TRUE(AllGatherCombiner(kAny, kAny, /*combine_by_dim=*/true)
                  .Run(module.get())
                  .value());
  EXPECT_EQ(Count(*module, HloOpcode::kAllGather), 1);
  TF_EXPECT_OK(verifier().Run(module.get()).status());

  TF_ASSERT_OK_AND_ASSIGN(module, ParseAndReturnVerifiedModule(kText, 4));
  EXPECT_FALSE(AllGatherCombiner(kAny, kAny, /*combine_by_dim=*/true,
                                 /*combine_different_dtypes=*/false)
                   .Run(module.get())
                   .value());
}

// What is on one device is combined, and stays there.
TEST_F(PassesTest, AllReducesOfOneShardingAreOne) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(R"(
HloModule m
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
ENTRY e {
  a = f32[8] parameter(0)
  b = f32[4] parameter(1)
  c = f32[4] parameter(2)
  x = f32[8] all-reduce(a), replica_groups={}, to_apply=add, sharding={maximal device=0}
  y = f32[4] all-reduce(b), replica_groups={}, to_apply=add, sharding={maximal device=0}
  z = f32[4] all-reduce(c), replica_groups={}, to_apply=add, sharding={maximal device=1}
  ROOT t = (f32[8], f32[4], f32[4]) tuple(x, y, z)
})"));
  EXPECT_TRUE(AllReduceCombiner(kAny, kAny).Run(module.get()).value());
  const HloInstruction* combined;
  const HloInstruction* second;
  ASSERT_TRUE(Match(
      module->entry_computation()->root_instruction(),
      m::Tuple(
          m::GetTupleElement(
              m::AllReduce(&combined, m::Parameter(0), m::Parameter(1)), 0),
          m::GetTupleElement(&second, m::AllReduce(), 1),
          m::AllReduce(m::Parameter(2)))));
  ASSERT_TRUE(combined->has_sharding());
  EXPECT_TRUE(combined->sharding().IsTuple());
  EXPECT_EQ(second->sharding().GetUniqueDevice(), 0);
  TF_EXPECT_OK(verifier().Run(module.get()).status());
}

TEST_F(PassesTest, ReduceScattersOfLoopsStay) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(R"(
HloModule m, replica_count=2
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
cond {
  w = (s32[], f32[8], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(w), index=0
  n = s32[] constant(5)
  ROOT l = pred[] compare(i, n), direction=LT
}
body {
  v = (s32[], f32[8], f32[4], f32[4]) parameter(0)
  j = s32[] get-tuple-element(v), index=0
  one = s32[] constant(1)
  k = s32[] add(j, one)
  a = f32[8] get-tuple-element(v), index=1
  x = f32[4] reduce-scatter(a), replica_groups={{0,1}}, dimensions={0}, to_apply=add
  b = f32[8] negate(a)
  y = f32[4] reduce-scatter(b), replica_groups={{0,1}}, dimensions={0}, to_apply=add
  ROOT t = (s32[], f32[8], f32[4], f32[4]) tuple(k, a, x, y)
}
ENTRY e {
  state = (s32[], f32[8], f32[4], f32[4]) parameter(0)
  ROOT r = (s32[], f32[8], f32[4], f32[4]) while(state), condition=cond, body=body
})",
                                                                    2));
  EXPECT_FALSE(ReduceScatterCombiner(kAny, kAny, /*combine_by_dim=*/true,
                                     /*combine_while_loops=*/false)
                   .Run(module.get())
                   .value());
  EXPECT_TRUE(ReduceScatterCombiner(kAny, kAny, /*combine_by_dim=*/true)
                  .Run(module.get())
                  .value());
}

constexpr absl::string_view kTwoDots = R"(
HloModule m
ENTRY e {
  x = f16[200,100] parameter(0)
  a = f16[100,10] parameter(1)
  b = f16[100,50] parameter(2)
  c = f16[200,10] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = f32[200,50] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f16[200,10], f32[200,50]) tuple(c, d)
})";

TEST_F(PassesTest, DotsOfDifferentTypesAreOneOfTheMorePrecise) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(kTwoDots));
  EXPECT_TRUE(DotMerger(kAny).Run(module.get()).value());
  const HloInstruction* dot;
  ASSERT_TRUE(Match(module->entry_computation()->root_instruction(),
                    m::Tuple(m::Convert(m::Slice(m::Dot(&dot, m::Parameter(0),
                                                        m::Concatenate()))),
                             m::Slice(m::Dot()))));
  EXPECT_TRUE(
      ShapeUtil::Equal(dot->shape(), ShapeUtil::MakeShape(F32, {200, 60})));
}

// Neither f16 nor bf16 holds the other: the dot is in f32.
TEST_F(PassesTest, DotsOfHalfTypes) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(R"(
HloModule m
ENTRY e {
  x = f16[20,10] parameter(0)
  a = f16[10,10] parameter(1)
  b = f16[10,50] parameter(2)
  c = f16[20,10] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = bf16[20,50] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f16[20,10], bf16[20,50]) tuple(c, d)
})"));
  EXPECT_TRUE(DotMerger(kAny).Run(module.get()).value());
  EXPECT_TRUE(
      Match(module->entry_computation()->root_instruction(),
            m::Tuple(m::Convert(m::Slice(m::Dot().WithElementType(F32))),
                     m::Convert(m::Slice(m::Dot())))));
}

TEST_F(PassesTest, DotsThatMayNotMerge) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(kTwoDots));
  EXPECT_FALSE(
      DotMerger(kAny, [](const HloInstruction* dot_a,
                         const HloInstruction* dot_b) { return false; })
          .Run(module.get())
          .value());
}

// The first moves 46,000 bytes, the second 90,000: one of them must be small.
TEST_F(PassesTest, OneSmallDotIsEnough) {
  for (const int64_t limit : {45'999, 46'000}) {
    TF_ASSERT_OK_AND_ASSIGN(auto module,
                            ParseAndReturnVerifiedModule(kTwoDots));
    EXPECT_EQ(DotMerger(limit).Run(module.get()).value(), limit == 46'000);
  }
}

TEST_F(PassesTest, CollectivesThatTheConfigurationNamesAreSplit) {
  constexpr absl::string_view kText = R"(
HloModule m
ENTRY e {
  a = f32[1] parameter(0)
  x = f32[1] collective-permute(a), source_target_pairs={{0,1},{1,2}}, frontend_attributes={k="v"}
  ROOT y = f32[1] all-to-all(x), replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}
})";
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnUnverifiedModule(kText));
  EXPECT_FALSE(
      AsyncCollectiveCreator(AsyncCollectiveCreator::CollectiveCreatorConfig())
          .Run(module.get())
          .value());
  AsyncCollectiveCreator::CollectiveCreatorConfig config;
  config.convert_collective_permute = HloPredicateTrue;
  config.get_context_shapes = [](const HloInstruction*) {
    return std::vector<Shape>(2, ShapeUtil::MakeShape(U32, {}));
  };
  EXPECT_TRUE(AsyncCollectiveCreator(config).Run(module.get()).value());
  const HloInstruction* start;
  ASSERT_TRUE(Match(module->entry_computation()->root_instruction(),
                    m::AllToAll(m::CollectivePermuteDone(
                        m::CollectivePermuteStart(&start, m::Parameter(0))))));
  EXPECT_EQ(start->shape().tuple_shapes_size(), 4);
  EXPECT_TRUE(start->has_frontend_attributes());
}

TEST_F(PassesTest, PermutesInPlaceAreSplit) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
ENTRY e {
  p = u32[8] parameter(0)
  q = u32[] constant(0)
  i = (u32[]) tuple(q)
  o = u32[8] broadcast(q), dimensions={}
  ROOT r = u32[8] collective-permute(p, o, i, i), source_target_pairs={{0,1},{1,2}}, slice_sizes={{4}}
})"));
  EXPECT_FALSE(AsyncCollectiveCreator().Run(module.get()).value());
  AsyncCollectiveCreator::CollectiveCreatorConfig config;
  config.convert_collective_permute = HloPredicateTrue;
  EXPECT_TRUE(AsyncCollectiveCreator(config).Run(module.get()).value());
  EXPECT_EQ(
      module->entry_computation()->root_instruction()->operand(0)->opcode(),
      HloOpcode::kCollectivePermuteStart);
  TF_EXPECT_OK(module->schedule().Verify());
}

TEST_F(PassesTest, OnlyReducedDimensionsAreGrouped) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(R"(
HloModule m
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
ENTRY e {
  a = f32[100,10,32,3]{3,2,1,0} parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[100,10]{0,1} reduce(a, z), dimensions={2,3}, to_apply=add
})"));
  EXPECT_TRUE(gpu::ReductionDimensionGrouper().Run(module.get()).value());
  const HloInstruction* root = module->entry_computation()->root_instruction();
  ASSERT_TRUE(Match(root, m::Reduce(m::Bitcast(m::Parameter(0)), m::Op())));
  EXPECT_EQ(root->operand(0)->shape().ToString(true), "f32[100,10,96]{2,1,0}");
  EXPECT_EQ(root->shape().ToString(true), "f32[100,10]{0,1}");
}

TEST_F(PassesTest, SmallDimensionsAreSplitOnRequest) {
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(R"(
HloModule m
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
ENTRY e {
  a = f32[16,8,1024,8]{3,2,1,0} parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[16,1024]{1,0} reduce(a, z), dimensions={3,1}, to_apply=add
})"));
  EXPECT_FALSE(gpu::ReductionSplitter(/*ignore_small_dims=*/true)
                   .Run(module.get())
                   .value());
  EXPECT_TRUE(gpu::ReductionSplitter(/*ignore_small_dims=*/false)
                  .Run(module.get())
                  .value());
}

TEST_F(PassesTest, CheapInvariantsAreHoisted) {
  constexpr absl::string_view kText = R"(
HloModule m
cond {
  w = (s32[], s32[]) parameter(0)
  ROOT l = pred[] constant(true)
}
body {
  v = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(v), index=0
  j = s32[] get-tuple-element(v), index=1
  a = s32[] add(j, j)
  b = s32[] add(i, a)
  ROOT t = (s32[], s32[]) tuple(b, j)
}
ENTRY e {
  p = s32[] parameter(0)
  q = s32[] parameter(1)
  state = (s32[], s32[]) tuple(p, q)
  r = (s32[], s32[]) while(state), condition=cond, body=body
  ROOT x = s32[] get-tuple-element(r), index=0
})";
  TF_ASSERT_OK_AND_ASSIGN(auto module, ParseAndReturnVerifiedModule(kText));
  EXPECT_FALSE(WhileLoopInvariantCodeMotion(
                   /*hoist_constants=*/false, /*hoist_reshapes=*/false,
                   /*hoist_other=*/false)
                   .Run(module.get())
                   .value());
  EXPECT_TRUE(WhileLoopInvariantCodeMotion().Run(module.get()).value());
  EXPECT_EQ(Count(*module, HloOpcode::kAdd), 1);
}

TEST_F(PassesTest, DevicesAreGivenByDescription) {
  const auto device = gpu::TestGpuDeviceInfo::RTXA6000DeviceInfo();
  EXPECT_EQ(gpu::HorizontalLoopFusion(device).name(),
            "gpu-horizontal-loop-fusion");
  EXPECT_EQ(gpu::HorizontalInputFusion(device).name(),
            "gpu-horizontal-input-fusion");
  EXPECT_EQ(gpu::TreeReductionRewriter(device).name(),
            "tree-reduction-rewriter");
  EXPECT_EQ(gpu::VariadicOpSplitter().name(), "variadic-op-splitter");
}

}  // namespace
}  // namespace xla
