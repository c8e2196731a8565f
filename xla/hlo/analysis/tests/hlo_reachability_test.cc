#include "xla/hlo/analysis/hlo_reachability.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/hlo_dfs_reachability.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

class Graph {
 public:
  explicit Graph(absl::string_view text) {
    auto module = ParseAndReturnUnverifiedModule(text);
    EXPECT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
  }
  HloComputation* computation() const { return module_->entry_computation(); }
  HloInstruction* operator[](absl::string_view name) const {
    HloInstruction* inst = computation()->GetInstructionWithName(name);
    EXPECT_NE(inst, nullptr) << name;
    return inst;
  }

 private:
  std::unique_ptr<HloModule> module_;
};

constexpr char kNonTrivial[] = R"(
HloModule m
ENTRY e {
  constant1 = f32[] constant(1)
  constant2 = f32[] constant(2)
  add = f32[] add(constant1, constant2), control-predecessors={constant2}
  negate = f32[] negate(constant2)
  exp = f32[] exponential(negate), control-predecessors={add}
  mul = f32[] multiply(add, exp)
  copy = f32[] copy(exp), control-predecessors={mul}
  ROOT t = (f32[], f32[]) tuple(mul, copy)
})";

constexpr char kDiamond[] = R"(
HloModule m
ENTRY e {
  a = f32[] constant(1)
  b = f32[] constant(2)
  c = f32[] constant(3)
  d = f32[] constant(4)
  e = f32[] constant(5)
  ROOT t = (f32[], f32[], f32[], f32[], f32[]) tuple(a, b, c, d, e)
})";

constexpr char kChannel[] = R"(
HloModule m
ENTRY e {
  param = f32[] parameter(0)
  token0 = token[] after-all()
  send = (f32[], u32[], token[]) send(param, token0), channel_id=1
  send-done = token[] send-done(send), channel_id=1
  token1 = token[] after-all()
  recv = (f32[], u32[], token[]) recv(token1), channel_id=1
  recv-done = (f32[], token[]) recv-done(recv), channel_id=1
  ROOT out = f32[] get-tuple-element(recv-done), index=0
})";

// Both forms of the map: a cap of zero bytes leaves the sparse one.
class HloReachabilityTest : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Forms, HloReachabilityTest,
                         ::testing::Values(HloReachabilityMap::kMaxDenseBytes,
                                           0));

// What a user of the map says becomes true, step by step, along a -> b, c -> d
// and e alone.
TEST_P(HloReachabilityTest, Manual) {
  Graph g(kDiamond);
  std::vector<HloInstruction*> abcde = {g["a"], g["b"], g["c"], g["d"], g["e"]};
  HloReachabilityMap map({g["a"], g["b"], g["c"], g["d"], g["e"]}, GetParam());
  EXPECT_EQ(map.is_dense(), GetParam() != 0);
  for (HloInstruction* x : abcde) {
    for (HloInstruction* y : abcde) EXPECT_EQ(map.IsReachable(x, y), x == y);
  }
  map.SetReachable(g["a"], g["b"]);
  map.SetReachable(g["a"], g["c"]);
  EXPECT_TRUE(map.SetReachabilityToUnion({g["b"], g["c"]}, g["d"]));
  EXPECT_FALSE(map.SetReachabilityToUnion({g["b"], g["c"]}, g["d"]));
  EXPECT_TRUE(map.IsReachable(g["a"], g["d"]));
  EXPECT_TRUE(map.IsReachable(g["b"], g["d"]));
  EXPECT_FALSE(map.IsReachable(g["d"], g["a"]));
  EXPECT_FALSE(map.IsReachable(g["e"], g["d"]));
  EXPECT_TRUE(map.IsConnected(g["d"], g["a"]));
  EXPECT_FALSE(map.IsConnected(g["b"], g["c"]));
  // The union replaces what was reachable before.
  map.FastSetReachabilityToUnion({g["e"]}, g["d"]);
  EXPECT_FALSE(map.IsReachable(g["a"], g["d"]));
  EXPECT_TRUE(map.IsReachable(g["e"], g["d"]));
  EXPECT_FALSE(map.IsPresent(g["t"]));
}

TEST_P(HloReachabilityTest, OperandsAndControlEdges) {
  Graph g(kNonTrivial);
  auto map = HloReachabilityMap::Build(g.computation(), GetParam());
  EXPECT_TRUE(map->IsReachable(g["constant1"], g["constant1"]));
  EXPECT_FALSE(map->IsReachable(g["constant1"], g["constant2"]));
  EXPECT_TRUE(map->IsReachable(g["constant1"], g["add"]));
  EXPECT_FALSE(map->IsReachable(g["constant1"], g["negate"]));
  EXPECT_TRUE(map->IsReachable(g["constant1"], g["exp"]));
  EXPECT_TRUE(map->IsReachable(g["add"], g["exp"]));
  EXPECT_TRUE(map->IsReachable(g["mul"], g["copy"]));
  EXPECT_FALSE(map->IsReachable(g["copy"], g["mul"]));
  EXPECT_TRUE(map->IsConnected(g["constant2"], g["copy"]));
  EXPECT_FALSE(map->IsConnected(g["add"], g["negate"]));

  ASSERT_TRUE(g["add"]->AddControlDependencyTo(g["negate"]).ok());
  map->UpdateReachabilityThroughInstruction(g["negate"]);
  EXPECT_TRUE(map->IsReachable(g["add"], g["negate"]));
  EXPECT_TRUE(map->IsReachable(g["constant1"], g["negate"]));
  ASSERT_TRUE(g["add"]->RemoveControlDependencyTo(g["negate"]).ok());
  map->UpdateReachabilityThroughInstruction(g["negate"]);
  EXPECT_FALSE(map->IsReachable(g["constant1"], g["negate"]));
}

TEST_P(HloReachabilityTest, ChannelsDoNotConnect) {
  Graph g(kChannel);
  auto map = HloReachabilityMap::Build(g.computation(), GetParam());
  EXPECT_TRUE(map->IsReachable(g["param"], g["send-done"]));
  EXPECT_FALSE(map->IsConnected(g["param"], g["recv"]));
  EXPECT_FALSE(map->IsConnected(g["send"], g["recv-done"]));
}

TEST_P(HloReachabilityTest, Replace) {
  Graph g(kNonTrivial);
  auto map = HloReachabilityMap::Build(g.computation(), GetParam());
  HloInstruction* add = g["add"];
  HloInstruction* other = g.computation()->AddInstruction(add->Clone("other"));
  EXPECT_FALSE(map->IsPresent(other));
  map->Replace(add, other);
  EXPECT_FALSE(map->IsPresent(add));
  EXPECT_TRUE(map->IsPresent(other));
  EXPECT_TRUE(map->IsReachable(g["constant1"], other));
  EXPECT_TRUE(map->IsReachable(other, g["mul"]));
}

TEST_P(HloReachabilityTest, UpdateOfSeveral) {
  Graph g(kDiamond);
  auto map = HloReachabilityMap::Build(g.computation(), GetParam());
  ASSERT_TRUE(g["e"]->AddControlDependencyTo(g["c"]).ok());
  ASSERT_TRUE(g["c"]->AddControlDependencyTo(g["a"]).ok());
  ASSERT_TRUE(g["b"]->AddControlDependencyTo(g["c"]).ok());
  map->UpdateMultipleInstructions(
      {{g["c"], {g["e"], g["b"]}}, {g["a"], {g["c"]}}});
  EXPECT_TRUE(map->IsReachable(g["e"], g["a"]));
  EXPECT_TRUE(map->IsReachable(g["b"], g["a"]));
  EXPECT_FALSE(map->IsReachable(g["a"], g["e"]));
  EXPECT_FALSE(map->IsConnected(g["e"], g["b"]));
  EXPECT_FALSE(map->IsConnected(g["d"], g["a"]));
}

TEST_P(HloReachabilityTest, Restrictions) {
  Graph g(kNonTrivial);
  // Along first operands only.
  auto map = HloReachabilityMap::BuildWithRestrictions(
      g.computation(),
      [](const HloInstruction* inst, std::vector<HloInstruction*>* inputs) {
        if (inst->operand_count() > 0) inputs->push_back(inst->operands()[0]);
      },
      GetParam());
  EXPECT_TRUE(map->IsReachable(g["constant1"], g["mul"]));
  EXPECT_FALSE(map->IsReachable(g["constant2"], g["add"]));
  EXPECT_FALSE(map->IsReachable(g["add"], g["exp"]));
}

// A random graph: instruction i is a tuple of some earlier ones.
std::string RandomGraph(std::mt19937& rng, int size) {
  std::string text = "HloModule m\nENTRY e {\n  i0 = f32[] parameter(0)\n";
  for (int i = 1; i < size; ++i) {
    absl::StrAppend(&text, "  i", i, " = f32[] ",
                    rng() % 2 ? "add(i" : "multiply(i", rng() % i, ", i",
                    rng() % i, ")\n");
  }
  return text + "}";
}

// Random merges and edges give the same answers as a search of the edges.
TEST(HloReachabilityFormsTest, AgreeOnRandomGraphs) {
  std::mt19937 rng(1);
  for (int round = 0; round < 20; ++round) {
    const int size = 5 + rng() % 150;
    Graph g(RandomGraph(rng, size));
    auto dense = HloReachabilityMap::Build(g.computation());
    auto sparse = HloReachabilityMap::Build(g.computation(), 0);
    auto dfs = HloDfsReachability::Build(g.computation());
    EXPECT_LT(sparse->MemoryBytes(), 100 * size + 1000);
    std::vector<HloInstruction*> all;
    for (int i = 0; i < size; ++i) all.push_back(g[absl::StrCat("i", i)]);
    auto check_maps = [&] {
      for (int k = 0; k < 500; ++k) {
        HloInstruction* a = all[rng() % size];
        HloInstruction* b = all[rng() % size];
        ASSERT_EQ(dense->IsReachable(a, b), sparse->IsReachable(a, b))
            << a->name() << " " << b->name();
      }
    };
    for (HloInstruction* a : all) {
      for (HloInstruction* b : all) {
        ASSERT_EQ(dense->IsReachable(a, b), dfs->IsReachable(a, b));
      }
    }
    check_maps();
    for (int k = 0; k < 10; ++k) {
      HloInstruction* a = all[rng() % size];
      HloInstruction* b = all[rng() % size];
      if (a == b || dense->IsConnected(a, b)) continue;
      ASSERT_TRUE(a->AddControlDependencyTo(b).ok());
      dense->UpdateReachabilityThroughInstruction(b);
      sparse->UpdateReachabilityThroughInstruction(b);
    }
    check_maps();
    for (int k = 0; k < 10; ++k) {
      HloInstruction* a = all[rng() % size];
      HloInstruction* b = all[rng() % size];
      if (dense->IsConnected(a, b)) continue;
      dense->UpdateReachabilityForMerge(a, b);
      sparse->UpdateReachabilityForMerge(a, b);
      EXPECT_TRUE(dense->IsReachable(a, b) && dense->IsReachable(b, a));
    }
    check_maps();
  }
}

TEST(HloDfsReachabilityTest, OperandsAndControlEdges) {
  Graph g(kNonTrivial);
  auto dfs = HloDfsReachability::Build(g.computation());
  EXPECT_TRUE(dfs->IsReachable(g["constant1"], g["constant1"]));
  EXPECT_TRUE(dfs->IsReachable(g["constant1"], g["exp"]));
  EXPECT_FALSE(dfs->IsReachable(g["constant1"], g["negate"]));
  EXPECT_TRUE(dfs->IsReachable(g["mul"], g["copy"]));
  EXPECT_FALSE(dfs->IsReachable(g["copy"], g["mul"]));
  EXPECT_TRUE(dfs->IsConnected(g["copy"], g["constant2"]));
}

TEST(HloDfsReachabilityTest, ReplacedByAFusion) {
  Graph g(kNonTrivial);
  auto dfs = HloDfsReachability::Build(g.computation());
  HloInstruction* copy = g["copy"];
  HloInstruction* fusion = g.computation()->CreateFusionInstruction(
      {copy}, HloInstruction::FusionKind::kLoop);
  EXPECT_FALSE(dfs->IsPresent(fusion));
  dfs->OnInstructionReplaced(copy, fusion);
  EXPECT_TRUE(dfs->IsPresent(fusion));
  EXPECT_TRUE(dfs->IsReachable(g["exp"], fusion));
  EXPECT_TRUE(dfs->IsReachable(fusion, g["t"]));
  EXPECT_FALSE(dfs->IsReachable(fusion, g["exp"]));
}

TEST(HloDfsReachabilityTest, ChannelsDoNotConnect) {
  Graph g(kChannel);
  auto dfs = HloDfsReachability::Build(g.computation());
  EXPECT_TRUE(dfs->IsReachable(g["param"], g["send-done"]));
  EXPECT_FALSE(dfs->IsConnected(g["param"], g["recv"]));
  EXPECT_FALSE(dfs->IsConnected(g["send"], g["recv-done"]));
}

}  // namespace
}  // namespace xla
