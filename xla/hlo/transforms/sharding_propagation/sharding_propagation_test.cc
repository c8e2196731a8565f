#include "xla/hlo/transforms/sharding_propagation/sharding_propagation.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return std::move(module).value();
}

HloInstruction* Find(const HloModule& module, absl::string_view name) {
  for (HloComputation* computation : module.computations()) {
    for (HloInstruction* inst : computation->instructions()) {
      if (inst->name() == name) return inst;
    }
  }
  return nullptr;
}

std::string ShardingOf(const HloModule& module, absl::string_view name) {
  const HloInstruction* inst = Find(module, name);
  if (inst == nullptr) return "no such instruction";
  return inst->has_sharding() ? inst->sharding().ToString() : "";
}

TEST(ShardingPropagationTest, SingleStepsOfProducts) {
  auto module = Parse(R"(
HloModule m
ENTRY e {
  x = f32[8,16] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  y = f32[16,32] parameter(1), sharding={devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  d = f32[8,32] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT n = f32[8,32] negate(d)
})");
  const std::unique_ptr<CallGraph> calls = CallGraph::Build(module.get());
  HloInstruction* dot = Find(*module, "d");
  const auto dims = dot_as_convolution_util::ParseDotGeneralFromDot(dot);
  // Without merging one operand decides; both are of one cut, y is larger.
  EXPECT_TRUE(InferDotShardingFromOperands(dot, *calls, dims, false, true));
  EXPECT_EQ(dot->sharding().ToString(),
            "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}");
  EXPECT_TRUE(InferDotShardingFromOperands(dot, *calls, dims, true, true));
  EXPECT_EQ(dot->sharding().ToString(), "{devices=[2,2]<=[4]}");
  EXPECT_FALSE(InferDotShardingFromOperands(dot, *calls, dims, true, true));
}

// A product takes the tiles of the operand that fits its reader, unless that is
// too far away: each product of a chain looks for its own.
TEST(ShardingPropagationTest, ProductsLookAheadSoFar) {
  for (const int length : {10, 300}) {
    std::string text = R"(
HloModule m
ENTRY e {
  x = f32[8,8] parameter(0), sharding={devices=[4,1]<=[4]}
  y = f32[8,8] parameter(1), sharding={devices=[1,4]<=[4]}
  w = f32[8,8] parameter(2)
  n0 = f32[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)";
    for (int i = 1; i <= length; ++i) {
      absl::StrAppend(
          &text, "n", i, " = f32[8,8] dot(w, n", i - 1,
          "), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
    }
    absl::StrAppend(&text, "ROOT r = f32[8,8] negate(n", length,
                    "), sharding={devices=[1,4]<=[4]}\n}");
    auto module = Parse(text);
    ShardingPropagation pass(/*is_spmd=*/true);
    ASSERT_TRUE(pass.Run(module.get()).ok());
    EXPECT_EQ(ShardingOf(*module, "n0"),
              length < 100 ? "{devices=[1,4]<=[4]}" : "{devices=[4,1]<=[4]}");
  }
}

TEST(ShardingPropagationTest, SingleStepOfReduceAndBroadcast) {
  auto module = Parse(R"(
HloModule m
add {
  first = f32[] parameter(0)
  second = f32[] parameter(1)
  ROOT sum = f32[] add(first, second)
}
ENTRY e {
  x = f32[8,16] parameter(0), sharding={devices=[2,2]<=[4]}
  z = f32[] constant(0)
  r = f32[8] reduce(x, z), dimensions={1}, to_apply=add
  ROOT b = f32[8,4] broadcast(r), dimensions={0}, sharding={devices=[2,2]<=[2,2]T(1,0)}
})");
  EXPECT_TRUE(InferReduceShardingFromOperand(Find(*module, "r"), true, true));
  EXPECT_EQ(ShardingOf(*module, "r"),
            "{devices=[2,2]<=[4] last_tile_dim_replicate}");
  const std::optional<HloSharding> operand =
      InferBroadcastOperandSharding(*Find(*module, "b"));
  ASSERT_TRUE(operand.has_value());
  EXPECT_EQ(operand->ToString(),
            "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}");
  EXPECT_EQ(ComputeNonRootUsers(Find(*module, "r")), 0);
  EXPECT_EQ(ComputeNonRootUsers(Find(*module, "x")), 1);
}

TEST(ShardingPropagationTest, GetShardingFromUserByLevel) {
  auto module = Parse(R"(
HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  t = f32[8] negate(x)
  b = f32[8,4] broadcast(t), dimensions={0}, sharding={devices=[2,1]<=[2]}
  s = f32[4] slice(t), slice={[0:4]}, sharding={devices=[2]<=[2]}
  ROOT r = (f32[8,4], f32[4]) tuple(b, s)
})");
  const std::unique_ptr<CallGraph> calls = CallGraph::Build(module.get());
  auto step = [&](absl::string_view from, absl::string_view to, int level) {
    const std::optional<HloSharding> sharding =
        ShardingPropagation::GetShardingFromUser(
            *Find(*module, from), *Find(*module, to), level, /*is_spmd=*/true,
            *calls, /*sharding_helper=*/nullptr);
    return sharding ? sharding->ToString() : "";
  };
  EXPECT_EQ(step("t", "b", 1), "");
  EXPECT_EQ(step("t", "b", 2), "{devices=[2]<=[2]}");
  EXPECT_EQ(step("t", "s", 0), "");
  EXPECT_EQ(step("t", "s", 1), "{devices=[2]<=[2]}");
}

TEST(ShardingPropagationTest, ProcessesShardingCalls) {
  auto module = Parse(R"(
HloModule m
ENTRY e {
  p = f32[8,4] parameter(0), sharding={replicated}
  q = f32[8,4] negate(p)
  c = f32[8,4] custom-call(q), custom_call_target="Sharding", sharding={devices=[2,1]<=[2]}
  o = f32[8,4] custom-call(c), custom_call_target="Sharding", sharding={devices=[1,2]<=[2]}, backend_config="unspecified_dims=[0]"
  g = f32[8,4] custom-call(p), custom_call_target="Sharding", sharding={unknown shard_as 7}
  ROOT t = (f32[8,4], f32[8,4]) tuple(o, g), sharding={{replicated}, {devices=[2,1]<=[2]}}
})");
  absl::flat_hash_map<const HloInstruction*, std::vector<int64_t>> open;
  std::vector<HloSharding> roots;
  absl::flat_hash_map<int64_t, HloSharding> parameters;
  absl::flat_hash_map<HloInstruction*, int64_t> groups;
  absl::flat_hash_map<int64_t, std::vector<HloInstruction*>> as, like;
  auto changed = ProcessShardingInstruction(
      module.get(), {}, /*replace_sharding_with_copy=*/true, &open, &roots,
      &parameters, &groups, &as, &like);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
  EXPECT_EQ(ShardingOf(*module, "q"), "{devices=[2,1]<=[2]}");
  const HloInstruction* root = module->entry_computation()->root_instruction();
  EXPECT_EQ(root->operand(0)->opcode(), HloOpcode::kCopy);
  ASSERT_TRUE(open.contains(root->operand(0)));
  EXPECT_EQ(open[root->operand(0)], std::vector<int64_t>{0});
  EXPECT_EQ(roots.size(), 2);
  EXPECT_EQ(roots[1].ToString(), "{devices=[2,1]<=[2]}");
  EXPECT_TRUE(parameters.at(0).IsReplicated());
  ASSERT_EQ(as.size(), 1);
  EXPECT_EQ(as[7], std::vector<HloInstruction*>{
                       const_cast<HloInstruction*>(root->operand(1))});
  EXPECT_TRUE(like.empty());
  EXPECT_EQ(groups.size(), 1);
}

TEST(ShardingPropagationTest, ElementsOfTheResultOneByOne) {
  constexpr absl::string_view kText = R"(
HloModule m
ENTRY e {
  p = f32[8] parameter(0), sharding={devices=[2]<=[2]}
  a = f32[8] negate(p)
  b = f32[8] exponential(p)
  ROOT t = (f32[8], f32[8]) tuple(a, b)
})";
  auto module = Parse(kText);
  auto changed = ShardingPropagation(true, false, {false, true}, {false})
                     .Run(module.get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(ShardingOf(*module, "t"), "{{replicated}, {devices=[2]<=[2]}}");
  // At the fixed point nothing changes any more.
  changed = ShardingPropagation(true, false, {false, true}, {false})
                .Run(module.get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(*changed);
  module = Parse(kText);
  changed = ShardingPropagation(true, false, {false, true, true}, {false})
                .Run(module.get());
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.status().message().find("3 flags for 2 elements"),
            absl::string_view::npos)
      << changed.status();
}

TEST(ShardingPropagationTest, ElementsOfASingleTupleParameter) {
  auto module = Parse(R"(
HloModule m
ENTRY e {
  p = (f32[8], f32[8]) parameter(0)
  a = f32[8] get-tuple-element(p), index=0
  b = f32[8] get-tuple-element(p), index=1
  n = f32[8] negate(a), sharding={devices=[2]<=[2]}
  x = f32[8] exponential(b), sharding={devices=[2]<=[2]}
  ROOT t = (f32[8], f32[8]) tuple(n, x)
})");
  auto changed = ShardingPropagation(true, false, {false}, {true, false})
                     .Run(module.get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(ShardingOf(*module, "p"), "{{devices=[2]<=[2]}, {replicated}}");
}

TEST(ShardingPropagationTest, MetadataSaysWhereAShardingComesFrom) {
  constexpr absl::string_view kText = R"(
HloModule m
ENTRY e {
  p = f32[8] parameter(0), sharding={devices=[2]<=[2]}, metadata={op_name="here"}
  a = f32[8] negate(p)
  ROOT b = f32[8] exponential(a)
})";
  for (const bool propagate : {true, false}) {
    auto module = Parse(kText);
    auto changed =
        ShardingPropagation(true, propagate, {true}, {false}).Run(module.get());
    ASSERT_TRUE(changed.ok()) << changed.status();
    const auto& metadata = Find(*module, "a")->sharding().metadata();
    ASSERT_EQ(metadata.size(), propagate ? 1 : 0);
    if (propagate) {
      EXPECT_EQ(metadata[0].op_name(), "here");
    }
  }
}

TEST(ShardingPropagationTest, ShardingsThatDoNotFit) {
  auto module = Parse(R"(
HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  ROOT wrong = f32[8] negate(p), sharding={devices=[2,1]<=[2]}
})");
  auto changed = ShardingPropagation(true).Run(module.get());
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.status().message().find("wrong"), absl::string_view::npos);
}

}  // namespace
}  // namespace xla
