// Passes as tests of OpenXLA construct them: include paths, constructors, what
// they rewrite by default.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
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
#include "xla/hlo/pass/hlo_pass_interface.h"
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

class PassesTest : public HloHardwareIndependentTestBase {
 protected:
  // Whether the pass changes the module of `text`: module_, which is verified
  // before and after.
  bool Changes(HloPassInterface&& pass, absl::string_view text,
               int64_t replicas = 1) {
    module_ = ParseAndReturnVerifiedModule(text, replicas).value();
    return RunHloPass(&pass, module_.get()).value();
  }
  HloInstruction* root() const {
    return module_->entry_computation()->root_instruction();
  }
  int64_t Count(HloOpcode opcode) const {
    return absl::c_count_if(
        module_->entry_computation()->instructions(),
        [&](const HloInstruction* inst) { return inst->opcode() == opcode; });
  }

  std::unique_ptr<HloModule> module_;
};

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

constexpr absl::string_view kAdd = R"(
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
})";

TEST_F(PassesTest, AllGathersOfDifferentTypesAreOne) {
  constexpr absl::string_view kText = R"(
ENTRY e {
  a = f32[8] parameter(0)
  b = bf16[4] parameter(1)
  x = f32[32] all-gather(a), replica_groups={}, dimensions={0}
  y = bf16[16] all-gather(b), replica_groups={}, dimensions={0}
  ROOT t = (f32[32], bf16[16]) tuple(x, y)
})";
  EXPECT_TRUE(Changes(AllGatherCombiner(kAny, kAny, /*combine_by_dim=*/true),
                      kText, 4));
  EXPECT_EQ(Count(HloOpcode::kAllGather), 1);
  EXPECT_FALSE(Changes(AllGatherCombiner(kAny, kAny, /*combine_by_dim=*/true,
                                         /*combine_different_dtypes=*/false),
                       kText, 4));
}

// The dimension of most becomes that of all.
TEST_F(PassesTest, CollectivesOfDifferentDimensionsAreOneOnRequest) {
  constexpr absl::string_view kText = R"(
ENTRY e {
  a = f32[2,7]{1,0} parameter(0)
  b = f32[4,9]{0,1} parameter(1)
  c = f32[6]{0} parameter(2)
  x = f32[8,7]{1,0} all-gather(a), replica_groups={}, dimensions={0}
  y = f32[4,36]{0,1} all-gather(b), replica_groups={}, dimensions={1}
  z = f32[24]{0} all-gather(c), replica_groups={}, dimensions={0}
  ROOT t = (f32[8,7]{1,0}, f32[4,36]{0,1}, f32[24]{0}) tuple(x, y, z)
})";
  ASSERT_TRUE(Changes(AllGatherCombiner(kAny, kAny, /*combine_by_dim=*/false),
                      kText, /*replicas=*/4));
  EXPECT_EQ(Count(HloOpcode::kAllGather), 1);
  ASSERT_TRUE(Match(
      root(),
      m::Tuple(m::GetTupleElement(m::Op(), 0),
               m::Bitcast(m::GetTupleElement(
                   m::AllGather(m::Parameter(0), m::Bitcast(m::Parameter(1)),
                                m::Parameter(2)),
                   1)),
               m::GetTupleElement(m::Op(), 2))));
  EXPECT_EQ(root()->operand(1)->operand(0)->shape().ToString(true),
            "f32[36,4]{1,0}");
  ASSERT_TRUE(Changes(AllGatherCombiner(kAny, kAny, /*combine_by_dim=*/true),
                      kText, /*replicas=*/4));
  EXPECT_EQ(Count(HloOpcode::kAllGather), 2);
}

// What is on one device is combined, and stays there.
TEST_F(PassesTest, AllReducesOfOneShardingAreOne) {
  EXPECT_TRUE(Changes(AllReduceCombiner(kAny, kAny), absl::StrCat(kAdd, R"(
ENTRY e {
  a = f32[8] parameter(0)
  b = f32[4] parameter(1)
  c = f32[4] parameter(2)
  d = f32[4] parameter(3)
  x = f32[8] all-reduce(a), replica_groups={}, to_apply=add, sharding={maximal device=0}
  y = f32[4] all-reduce(b), replica_groups={}, to_apply=add, sharding={maximal device=0}
  z = f32[4] all-reduce(c), replica_groups={}, to_apply=add, sharding={maximal device=1}
  w = f32[4] all-reduce(d), replica_groups={}, to_apply=add
  ROOT t = (f32[8], f32[4], f32[4], f32[4]) tuple(x, y, z, w)
})")));
  const HloInstruction* combined;
  const HloInstruction* second;
  ASSERT_TRUE(Match(
      root(),
      m::Tuple(
          m::GetTupleElement(
              m::AllReduce(&combined, m::Parameter(0), m::Parameter(1)), 0),
          m::GetTupleElement(&second, m::AllReduce(), 1),
          m::AllReduce(m::Parameter(2)), m::AllReduce(m::Parameter(3)))));
  ASSERT_TRUE(combined->has_sharding());
  EXPECT_TRUE(combined->sharding().IsTuple());
  EXPECT_EQ(second->sharding().GetUniqueDevice(), 0);
}

TEST_F(PassesTest, ReduceScattersOfLoopsStay) {
  const std::string text = absl::StrCat(kAdd, R"(
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
})");
  EXPECT_FALSE(
      Changes(ReduceScatterCombiner(kAny, kAny, /*combine_by_dim=*/true,
                                    /*combine_while_loops=*/false),
              text, 2));
  EXPECT_TRUE(Changes(
      ReduceScatterCombiner(kAny, kAny, /*combine_by_dim=*/true), text, 2));
}

constexpr absl::string_view kTwoDots = R"(
ENTRY e {
  x = f16[200,100] parameter(0)
  a = f16[100,10] parameter(1)
  b = f16[100,50] parameter(2)
  c = f16[200,10] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = f32[200,50] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f16[200,10], f32[200,50]) tuple(c, d)
})";

TEST_F(PassesTest, DotsOfDifferentTypesAreOneOfTheMorePrecise) {
  EXPECT_TRUE(Changes(DotMerger(kAny), kTwoDots));
  const HloInstruction* dot;
  ASSERT_TRUE(
      Match(root(), m::Tuple(m::Convert(m::Slice(m::Dot(&dot, m::Parameter(0),
                                                        m::Concatenate()))),
                             m::Slice(m::Dot()))));
  EXPECT_TRUE(
      ShapeUtil::Equal(dot->shape(), ShapeUtil::MakeShape(F32, {200, 60})));
}

// Neither f16 nor bf16 holds the other: the dot is in f32.
TEST_F(PassesTest, DotsOfHalfTypes) {
  EXPECT_TRUE(Changes(DotMerger(kAny), R"(
ENTRY e {
  x = f16[20,10] parameter(0)
  a = f16[10,10] parameter(1)
  b = f16[10,50] parameter(2)
  c = f16[20,10] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = bf16[20,50] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f16[20,10], bf16[20,50]) tuple(c, d)
})"));
  EXPECT_TRUE(Match(
      root(), m::Tuple(m::Convert(m::Slice(m::Dot().WithElementType(F32))),
                       m::Convert(m::Slice(m::Dot())))));
}

// Among integers none is more precise: only equal types are merged.
TEST_F(PassesTest, DotsOfDifferentIntegerTypes) {
  EXPECT_FALSE(Changes(DotMerger(kAny), R"(
ENTRY e {
  x = s8[20,10] parameter(0)
  a = s8[10,10] parameter(1)
  b = s8[10,50] parameter(2)
  c = s32[20,10] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = s64[20,50] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[20,10], s64[20,50]) tuple(c, d)
})"));
}

TEST_F(PassesTest, DotsThatMayNotMerge) {
  EXPECT_FALSE(Changes(
      DotMerger(kAny, [](const HloInstruction* dot_a,
                         const HloInstruction* dot_b) { return false; }),
      kTwoDots));
}

// Each two that are merged may be: c goes with a, but not with b.
TEST_F(PassesTest, DotsThatMayMergeWithTheFirstOnly) {
  const auto can_merge = [](const HloInstruction* dot_a,
                            const HloInstruction* dot_b) {
    return dot_a->name() != "b" || dot_b->name() != "c";
  };
  EXPECT_TRUE(Changes(DotMerger(kAny, can_merge), R"(
ENTRY e {
  x = f32[4,4] parameter(0)
  p = f32[4,4] parameter(1)
  q = f32[4,4] parameter(2)
  r = f32[4,4] parameter(3)
  a = f32[4,4] dot(x, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[4,4] dot(x, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[4,4] dot(x, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[4,4], f32[4,4], f32[4,4]) tuple(a, b, c)
})"));
  EXPECT_EQ(Count(HloOpcode::kDot), 2);
}

// Both a and d, and b and c, may merge, but not one after the other: d depends
// on b, and c on a.
TEST_F(PassesTest, DotsThatMayMergeInTwoWays) {
  const auto can_merge = [](const HloInstruction* dot_a,
                            const HloInstruction* dot_b) {
    const auto is_outer = [](const HloInstruction* dot) {
      return dot->name() == "a" || dot->name() == "d";
    };
    return is_outer(dot_a) == is_outer(dot_b);
  };
  EXPECT_TRUE(Changes(DotMerger(kAny, can_merge), R"(
ENTRY e {
  x = f32[4,4] parameter(0)
  p = f32[4,4] parameter(1)
  q = f32[4,4] parameter(2)
  a = f32[4,4] dot(x, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[4,4] dot(x, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  nb = f32[4,4] negate(b)
  d = f32[4,4] dot(x, nb), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  na = f32[4,4] negate(a)
  c = f32[4,4] dot(x, na), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[4,4], f32[4,4], f32[4,4], f32[4,4]) tuple(a, b, d, c)
})"));
  EXPECT_EQ(Count(HloOpcode::kDot), 3);
}

// The first moves 46,000 bytes, the second 90,000: one of them must be small.
TEST_F(PassesTest, OneSmallDotIsEnough) {
  EXPECT_FALSE(Changes(DotMerger(45'999), kTwoDots));
  EXPECT_TRUE(Changes(DotMerger(46'000), kTwoDots));
}

using CreatorConfig = AsyncCollectiveCreator::CollectiveCreatorConfig;

constexpr absl::string_view kCollectives = R"(
ENTRY e {
  a = f32[8] parameter(0)
  o = s32[2] parameter(1)
  b = f32[8] all-reduce(a), replica_groups={{0,1}}, to_apply=add
  c = f32[16] all-gather(b), replica_groups={{0,1}}, dimensions={0}
  d = f32[8] reduce-scatter(c), replica_groups={{0,1}}, dimensions={0}, to_apply=add
  f = f32[8] collective-permute(d), source_target_pairs={{0,1},{1,0}}, frontend_attributes={k="v"}
  g = f32[8] all-to-all(f), replica_groups={{0,1}}, dimensions={0}
  h = f32[8] collective-broadcast(g), replica_groups={{0,1}}
  ROOT i = f32[8] ragged-all-to-all(h, a, o, o, o, o), replica_groups={{0,1}}
})";

TEST_F(PassesTest, OnlyCollectivesThatTheConfigurationNamesAreSplit) {
  const std::string text = absl::StrCat(kAdd, kCollectives);
  EXPECT_FALSE(Changes(AsyncCollectiveCreator(CreatorConfig()), text, 2));
  const std::pair<HloPredicate CreatorConfig::*, HloOpcode> kinds[] = {
      {&CreatorConfig::convert_all_reduce, HloOpcode::kAllReduce},
      {&CreatorConfig::convert_all_gather, HloOpcode::kAllGather},
      {&CreatorConfig::convert_collective_broadcast,
       HloOpcode::kCollectiveBroadcast},
      {&CreatorConfig::convert_collective_permute,
       HloOpcode::kCollectivePermute},
      {&CreatorConfig::convert_all_to_all, HloOpcode::kAllToAll},
      {&CreatorConfig::convert_reduce_scatter, HloOpcode::kReduceScatter},
      {&CreatorConfig::convert_ragged_all_to_all, HloOpcode::kRaggedAllToAll}};
  for (const auto& [predicate, split] : kinds) {
    CreatorConfig config;
    config.*predicate = HloPredicateTrue;
    EXPECT_TRUE(Changes(AsyncCollectiveCreator(config), text, 2));
    for (const auto& [unused, opcode] : kinds) {
      EXPECT_EQ(Count(opcode), opcode == split ? 0 : 1)
          << HloOpcodeString(split) << ": " << HloOpcodeString(opcode);
    }
  }
}

TEST_F(PassesTest, SmallCollectivesAreNotSplit) {
  const std::string text = absl::StrCat(kAdd, kCollectives);
  for (const int64_t more : {0, 1}) {
    CreatorConfig reduce;
    reduce.convert_all_reduce = HloPredicateTrue;
    reduce.all_reduce_min_threshold_in_bytes = 32 + more;
    EXPECT_EQ(Changes(AsyncCollectiveCreator(reduce), text, 2), more == 0);
    CreatorConfig gather;
    gather.convert_all_gather = HloPredicateTrue;
    gather.all_gather_min_threshold_in_bytes = 64 + more;
    EXPECT_EQ(Changes(AsyncCollectiveCreator(gather), text, 2), more == 0);
  }
}

// The states of permutes and of wrapped computations.
TEST_F(PassesTest, StatesOfCollectivesHaveContexts) {
  CreatorConfig config;
  config.convert_collective_permute = HloPredicateTrue;
  config.convert_all_to_all = HloPredicateTrue;
  config.get_context_shapes = [](const HloInstruction* inst) {
    return std::vector<Shape>(inst->opcode() == HloOpcode::kAllToAll ? 1 : 2,
                              ShapeUtil::MakeShape(U32, {}));
  };
  EXPECT_TRUE(Changes(AsyncCollectiveCreator(config),
                      absl::StrCat(kAdd, kCollectives), 2));
  const HloInstruction* permute;
  const HloInstruction* exchange;
  ASSERT_TRUE(
      Match(root()->operand(0)->operand(0),
            m::AsyncDone(
                m::Op(&exchange)
                    .WithOpcode(HloOpcode::kAsyncStart)
                    .WithOperand(
                        0, m::CollectivePermuteDone(m::CollectivePermuteStart(
                               &permute, m::ReduceScatter()))))));
  EXPECT_EQ(permute->shape().tuple_shapes_size(), 4);
  EXPECT_TRUE(permute->has_frontend_attributes());
  EXPECT_EQ(exchange->shape().tuple_shapes_size(), 3);
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
  EXPECT_TRUE(Changes(gpu::ReductionDimensionGrouper(), absl::StrCat(kAdd, R"(
ENTRY e {
  a = f32[100,10,32,3]{3,2,1,0} parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[100,10]{0,1} reduce(a, z), dimensions={2,3}, to_apply=add
})")));
  ASSERT_TRUE(Match(root(), m::Reduce(m::Bitcast(m::Parameter(0)), m::Op())));
  EXPECT_EQ(root()->operand(0)->shape().ToString(true),
            "f32[100,10,96]{2,1,0}");
  EXPECT_EQ(root()->shape().ToString(true), "f32[100,10]{0,1}");
}

TEST_F(PassesTest, SmallDimensionsAreSplitOnRequest) {
  // Lengths of the two dimensions that are reduced.
  const auto splits = [&](bool ignore_small_dims, int64_t length) {
    return Changes(gpu::ReductionSplitter(ignore_small_dims),
                   absl::StrCat(kAdd, absl::Substitute(R"(
ENTRY e {
  a = f32[16,$0,1024,$0]{3,2,1,0} parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[16,1024]{1,0} reduce(a, z), dimensions={3,1}, to_apply=add
})",
                                                       length)));
  };
  EXPECT_FALSE(splits(/*ignore_small_dims=*/true, 8));
  EXPECT_TRUE(splits(/*ignore_small_dims=*/true, 9));
  EXPECT_TRUE(splits(/*ignore_small_dims=*/false, 8));
}

TEST_F(PassesTest, CheapInvariantsAreHoisted) {
  constexpr absl::string_view kText = R"(
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
  EXPECT_FALSE(Changes(WhileLoopInvariantCodeMotion(/*hoist_constants=*/false,
                                                    /*hoist_reshapes=*/false,
                                                    /*hoist_other=*/false),
                       kText));
  EXPECT_TRUE(Changes(WhileLoopInvariantCodeMotion(), kText));
  EXPECT_EQ(Count(HloOpcode::kAdd), 1);
}

TEST_F(PassesTest, ResultsOfReductionsAreWrittenWhereTheyLie) {
  ASSERT_TRUE(Changes(gpu::ReductionLayoutNormalizer(), absl::StrCat(kAdd, R"(
ENTRY e {
  a = f32[4,6,2,3]{1,0,2,3} parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[4,6,2]{2,1,0} reduce(a, z), dimensions={3}, to_apply=add
})")));
  ASSERT_EQ(root()->opcode(), HloOpcode::kBitcast);
  EXPECT_TRUE(ShapeUtil::Equal(
      root()->operand(0)->shape(),
      ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 4, 6}, {0, 2, 1})));
  EXPECT_EQ(Count(HloOpcode::kCopy), 0);
}

TEST_F(PassesTest, ReductionsOfDimensionsOfOneElementAreBitcasts) {
  ASSERT_TRUE(
      Changes(gpu::ReductionDegenerateDimRemover(), absl::StrCat(kAdd, R"(
ENTRY e {
  a = f32[1,5,10,12] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[5,10,12] reduce(a, z), dimensions={0}, to_apply=add
})")));
  EXPECT_EQ(root()->opcode(), HloOpcode::kBitcast);
}

// The loop starts from a parameter, and its state is the result.
TEST_F(PassesTest, InvariantsLeaveLoopsThatAreResults) {
  constexpr absl::string_view kText = R"(
cond {
  w = (s32[], s32[], s32[]) parameter(0)
  ROOT l = pred[] constant(true)
}
body {
  v = (s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(v), index=0
  j = s32[] get-tuple-element(v), index=1
  a = s32[] add(i, j)
  ROOT t = (s32[], s32[], s32[]) tuple(i, j, a)
}
ENTRY e {
  p = (s32[], s32[], s32[]) parameter(0)
  ROOT r = (s32[], s32[], s32[]) while(p), condition=cond, body=body
})";
  ASSERT_TRUE(Changes(WhileLoopInvariantCodeMotion(), kText));
  EXPECT_EQ(Count(HloOpcode::kAdd), 1);
  EXPECT_EQ(root()->operand_count(), 3);
  EXPECT_EQ(root()->operand(0)->operand(0)->shape().tuple_shapes().size(), 4);
}

TEST_F(PassesTest, ConstantsAreHoistedOnRequest) {
  constexpr absl::string_view kText = R"(
cond {
  w = (f32[2]) parameter(0)
  ROOT l = pred[] constant(true)
}
body {
  v = (f32[2]) parameter(0)
  i = f32[2] get-tuple-element(v), index=0
  c = f32[2] constant({3, 4})
  a = f32[2] add(i, c)
  ROOT t = (f32[2]) tuple(a)
}
ENTRY e {
  k = f32[2] constant({1, 2})
  p = (f32[2]) tuple(k)
  ROOT r = (f32[2]) while(p), condition=cond, body=body
})";
  EXPECT_FALSE(Changes(WhileLoopInvariantCodeMotion(), kText));
  EXPECT_TRUE(
      Changes(WhileLoopInvariantCodeMotion(/*hoist_constants=*/true), kText));
  EXPECT_EQ(Count(HloOpcode::kConstant), 2);
}

// Two kernels of 128 bytes of shared memory each, or of two tiles of 33
// columns: one kernel where a block has as much.
TEST_F(PassesTest, DevicesAreGivenByDescription) {
  const std::string rows = absl::StrCat(kAdd, R"(
f {
  x = f32[64,128] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[64] reduce(x, z), dimensions={1}, to_apply=add
}
g {
  x = f32[64,128] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[64] reduce(x, z), dimensions={1}, to_apply=add
}
ENTRY e {
  p = f32[64,128] parameter(0)
  q = f32[64,128] parameter(1)
  u = f32[64] fusion(p), kind=kInput, calls=f
  v = f32[64] fusion(q), kind=kInput, calls=g
  ROOT t = (f32[64], f32[64]) tuple(u, v)
})");
  constexpr absl::string_view kTransposes = R"(
f {
  x = f32[64,64] parameter(0)
  ROOT s = f32[64,64] transpose(x), dimensions={1,0}
}
g {
  x = f32[64,64] parameter(0)
  ROOT s = f32[64,64] transpose(x), dimensions={1,0}
}
ENTRY e {
  p = f32[64,64] parameter(0)
  q = f32[64,64] parameter(1)
  u = f32[64,64] fusion(p), kind=kLoop, calls=f
  v = f32[64,64] fusion(q), kind=kLoop, calls=g
  ROOT t = (f32[64,64], f32[64,64]) tuple(u, v)
})";
  auto device = gpu::TestGpuDeviceInfo::RTXA6000DeviceInfo();
  device.set_shared_memory_per_block(256);
  EXPECT_TRUE(Changes(gpu::HorizontalInputFusion(device), rows));
  device.set_shared_memory_per_block(255);
  EXPECT_FALSE(Changes(gpu::HorizontalInputFusion(device), rows));
  device.set_shared_memory_per_block(2 * 32 * 33 * 4);
  EXPECT_TRUE(Changes(gpu::HorizontalLoopFusion(device), kTransposes));
  device.set_shared_memory_per_block(2 * 32 * 33 * 4 - 1);
  EXPECT_FALSE(Changes(gpu::HorizontalLoopFusion(device), kTransposes));
}

TEST_F(PassesTest, NamesOfPasses) {
  EXPECT_EQ(
      gpu::TreeReductionRewriter(gpu::TestGpuDeviceInfo::RTXA6000DeviceInfo())
          .name(),
      "tree-reduction-rewriter");
  EXPECT_EQ(gpu::VariadicOpSplitter().name(), "variadic-op-splitter");
}

}  // namespace
}  // namespace xla
