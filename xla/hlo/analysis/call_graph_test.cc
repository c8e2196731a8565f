#include "xla/hlo/analysis/call_graph.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

HloInstruction* Inst(HloModule& module, absl::string_view computation,
                     absl::string_view name) {
  return module.GetComputationWithName(computation)
      ->GetInstructionWithName(name);
}

const CallGraphNode& Node(const CallGraph& graph, HloModule& module,
                          absl::string_view name) {
  return graph.GetNode(module.GetComputationWithName(name));
}

constexpr char kScalar[] =
    "s { x = f32[] parameter(0)\n ROOT n = f32[] negate(x) }\n";

// Entry runs while(cond, a); a calls c and runs while(cond, b); b maps c.
constexpr char kComplex[] = R"(
HloModule complex
cond { x = f32[] parameter(0)
 ROOT p = pred[] constant(false) }
c { x = f32[] parameter(0)
 ROOT n = f32[] negate(x) }
b { x = f32[] parameter(0)
 ROOT map = f32[] map(x), dimensions={}, to_apply=c }
a { x = f32[] parameter(0)
 call = f32[] call(x), to_apply=c
 ROOT while = f32[] while(call), condition=cond, body=b }
ENTRY entry { x = f32[] parameter(0)
 ROOT outer = f32[] while(x), condition=cond, body=a })";

TEST(CallGraphTest, Singleton) {
  auto module = Parse("HloModule m\nENTRY e { ROOT x = f32[] parameter(0) }");
  auto graph = CallGraph::Build(module.get());
  ASSERT_EQ(graph->nodes().size(), 1);
  EXPECT_TRUE(graph->IsFlattened());
  const CallGraphNode& node = Node(*graph, *module, "e");
  EXPECT_EQ(node.depth(), 0);
  EXPECT_EQ(node.context(), CallContext::kControlFlow);
  EXPECT_TRUE(node.callsites().empty());
  EXPECT_TRUE(node.callees().empty());
  EXPECT_TRUE(node.caller_callsites().empty());
  EXPECT_TRUE(node.callers().empty());
}

TEST(CallGraphTest, UnreachableComputation) {
  auto module = Parse(absl::StrCat("HloModule m\n", kScalar,
                                   "ENTRY e { ROOT x = f32[] parameter(0) }"));
  auto graph = CallGraph::Build(module.get());
  ASSERT_EQ(graph->nodes().size(), 2);
  for (const CallGraphNode& node : graph->nodes()) {
    EXPECT_EQ(node.depth(), 0);
    EXPECT_EQ(node.context(), CallContext::kControlFlow);
  }
}

std::string FiveOf(absl::string_view operation, int count) {
  std::string text = absl::StrCat("HloModule m\n", kScalar,
                                  "ENTRY e {\n x0 = f32[] parameter(0)\n");
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, i + 1 == count ? " ROOT x" : " x", i + 1,
                    " = f32[] ", operation, "(x", i, "), to_apply=s\n");
  }
  return text + "}";
}

TEST(CallGraphTest, EmbeddedCalls) {
  auto module = Parse(FiveOf("map", 5));
  auto graph = CallGraph::Build(module.get());
  const CallGraphNode& entry = Node(*graph, *module, "e");
  EXPECT_EQ(entry.callsites().size(), 5);
  EXPECT_EQ(entry.callees().size(), 1);
  const CallGraphNode& callee = Node(*graph, *module, "s");
  EXPECT_EQ(callee.context(), CallContext::kEmbedded);
  EXPECT_EQ(callee.depth(), 1);
  EXPECT_EQ(callee.caller_callsites().size(), 5);
  EXPECT_EQ(callee.callers().size(), 1);
}

TEST(CallGraphTest, ControlFlowCalls) {
  auto module = Parse(FiveOf("call", 3));
  auto graph = CallGraph::Build(module.get());
  EXPECT_EQ(Node(*graph, *module, "e").callsites().size(), 3);
  EXPECT_EQ(Node(*graph, *module, "s").context(), CallContext::kControlFlow);
  EXPECT_FALSE(graph->IsFlattened());
  EXPECT_EQ(
      graph->GetComputationCallers(module->GetComputationWithName("s")).size(),
      3);
}

TEST(CallGraphTest, BothContexts) {
  auto module = Parse(absl::StrCat("HloModule m\n", kScalar, R"(
ENTRY e {
 x = f32[] parameter(0)
 call = f32[] call(x), to_apply=s
 ROOT map = f32[] map(call), to_apply=s
})"));
  auto graph = CallGraph::Build(module.get());
  EXPECT_EQ(Node(*graph, *module, "s").context(), CallContext::kBoth);
  EXPECT_FALSE(graph->IsFlattened());
  const CallGraphNode& entry = Node(*graph, *module, "e");
  HloInstruction* call = Inst(*module, "e", "call");
  HloInstruction* map = Inst(*module, "e", "map");
  EXPECT_EQ(entry.GetCallSite(call)->instruction(), call);
  EXPECT_EQ(entry.GetCallSite(call)->context(), CallContext::kControlFlow);
  EXPECT_EQ(entry.GetCallSite(map)->context(), CallContext::kEmbedded);
  EXPECT_EQ(entry.GetCallSite(Inst(*module, "e", "x")), nullptr);
}

TEST(CallGraphTest, Conditional) {
  auto module = Parse(R"(
HloModule m
t { x = f32[] parameter(0)
 ROOT n = f32[] negate(x) }
f { x = f32[] parameter(0)
 ROOT n = f32[] abs(x) }
ENTRY e { p = pred[] parameter(0)
 x = f32[] parameter(1)
 ROOT c = f32[] conditional(p, x, x), true_computation=t, false_computation=f
})");
  auto graph = CallGraph::Build(module.get());
  ASSERT_EQ(graph->nodes().size(), 3);
  const CallGraphNode& entry = Node(*graph, *module, "e");
  ASSERT_EQ(entry.callsites().size(), 1);
  EXPECT_EQ(entry.callsites()[0].called_computations().size(), 2);
  for (const char* branch : {"t", "f"}) {
    EXPECT_EQ(Node(*graph, *module, branch).depth(), 1);
    EXPECT_THAT(Node(*graph, *module, branch).callers(),
                ElementsAre(module->entry_computation()));
  }
}

TEST(CallGraphTest, ComplexGraph) {
  auto module = Parse(kComplex);
  auto graph = CallGraph::Build(module.get());
  const char* names[] = {"entry", "a", "b", "c", "cond"};
  const int depths[] = {0, 1, 2, 3, 2};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Node(*graph, *module, names[i]).depth(), depths[i]) << names[i];
  }
  EXPECT_EQ(Node(*graph, *module, "c").context(), CallContext::kBoth);

  for (bool unreachable : {false, true}) {
    std::vector<std::string> visited;
    ASSERT_TRUE(graph
                    ->VisitNodes(
                        [&](const CallGraphNode& node) {
                          visited.emplace_back(node.computation()->name());
                          return absl::OkStatus();
                        },
                        unreachable)
                    .ok());
    auto at = [&](const char* name) {
      return std::find(visited.begin(), visited.end(), name) - visited.begin();
    };
    ASSERT_EQ(visited.size(), 5);
    EXPECT_LT(at("cond"), at("a"));
    EXPECT_LT(at("c"), at("b"));
    EXPECT_LT(at("b"), at("a"));
    EXPECT_EQ(at("entry"), 4);
  }

  // Who stands on every way to whom.
  auto dominates = [&](const char* x, const char* y) {
    return graph->Dominates(module->GetComputationWithName(x),
                            module->GetComputationWithName(y));
  };
  for (const char* x : names) {
    for (const char* y : names) {
      std::string xs = x, ys = y;
      bool expected =
          xs == ys || xs == "entry" || (xs == "a" && (ys == "b" || ys == "c"));
      EXPECT_EQ(dominates(x, y), expected) << x << " " << y;
    }
  }
  EXPECT_TRUE(graph->CanReach(module->GetComputationWithName("a"),
                              module->GetComputationWithName("c")));
  EXPECT_FALSE(graph->CanReach(module->GetComputationWithName("b"),
                               module->GetComputationWithName("cond")));
  EXPECT_TRUE(graph->InstructionIsNestedIn(
      Inst(*module, "b", "map"), module->GetComputationWithName("a")));
}

TEST(CallGraphTest, NearestAncestorsInSameComputation) {
  auto module = Parse(kComplex);
  auto graph = CallGraph::Build(module.get());
  HloInstruction* entry_while = Inst(*module, "entry", "outer");
  HloInstruction* a_call = Inst(*module, "a", "call");
  HloInstruction* a_while = Inst(*module, "a", "while");
  HloInstruction* b_map = Inst(*module, "b", "map");
  HloInstruction* c_root = Inst(*module, "c", "n");
  auto nearest = [&](HloInstruction* x, HloInstruction* y) {
    return graph->NearestAncestorsInSameComputation(x, y);
  };
  EXPECT_THAT(nearest(a_call, a_call), Pair(a_call, a_call));
  EXPECT_THAT(nearest(b_map, c_root), Pair(nullptr, nullptr));
  EXPECT_THAT(nearest(b_map, entry_while), Pair(entry_while, entry_while));
  EXPECT_THAT(nearest(b_map, a_call), Pair(a_while, a_call));
  EXPECT_THAT(nearest(a_while, a_call), Pair(a_while, a_call));
  EXPECT_THAT(nearest(a_while, b_map), Pair(a_while, a_while));
}

TEST(CallGraphTest, NearestCommonAncestorInstructions) {
  auto module = Parse(R"(
HloModule m
ENTRY e {
 p0 = f32[] parameter(0)
 p1 = f32[] parameter(1)
 p2 = f32[] parameter(2)
 add0 = f32[] add(p0, p1)
 mul0 = f32[] multiply(p1, p2)
 sub0 = f32[] subtract(add0, mul0)
 add1 = f32[] add(add0, p2)
 ROOT t = (f32[], f32[]) tuple(sub0, add1)
})");
  auto graph = CallGraph::Build(module.get());
  auto i = [&](const char* name) { return Inst(*module, "e", name); };
  using Set = std::vector<const HloInstruction*>;
  auto nearest = [&](Set set) {
    return graph->NearestCommonAncestorInstructions(set);
  };
  EXPECT_THAT(nearest({i("p0"), i("p1"), i("p2")}),
              UnorderedElementsAre(i("sub0"), i("add1")));
  EXPECT_THAT(nearest({i("p0"), i("p1")}), UnorderedElementsAre(i("add0")));
  EXPECT_THAT(nearest({i("p0"), i("add1")}), UnorderedElementsAre(i("add1")));
  EXPECT_THAT(nearest({i("p0"), i("p1"), i("add0")}),
              UnorderedElementsAre(i("add0")));
  EXPECT_THAT(nearest({i("p2"), i("mul0"), i("sub0")}),
              UnorderedElementsAre(i("sub0")));
  EXPECT_THAT(nearest({i("p1"), i("mul0")}), UnorderedElementsAre(i("mul0")));
  EXPECT_THAT(nearest({i("sub0"), i("add1")}), UnorderedElementsAre(i("t")));
  EXPECT_THAT(nearest({i("t"), i("t")}), UnorderedElementsAre(i("t")));
}

TEST(CallGraphTest, NearestCommonAncestorComputations) {
  auto module = Parse(kComplex);
  auto graph = CallGraph::Build(module.get());
  auto c = [&](const char* name) {
    return module->GetComputationWithName(name);
  };
  using Set = std::vector<const HloComputation*>;
  auto nearest = [&](Set set) {
    return graph->NearestCommonAncestorComputations(set);
  };
  EXPECT_THAT(nearest({c("a"), c("a")}), UnorderedElementsAre(c("a")));
  EXPECT_THAT(nearest({c("b"), c("c")}), UnorderedElementsAre(c("b")));
  EXPECT_THAT(nearest({c("a"), c("b"), c("c")}), UnorderedElementsAre(c("a")));
  EXPECT_THAT(nearest({c("c"), c("cond")}), UnorderedElementsAre(c("a")));
  EXPECT_THAT(nearest({c("b"), c("cond")}), UnorderedElementsAre(c("a")));
}

TEST(CallGraphTest, VisitsOnlyWhatItShould) {
  auto module = Parse(absl::StrCat("HloModule m\n", kScalar,
                                   "ENTRY e { ROOT x = f32[] parameter(0) }"));
  auto graph = CallGraph::Build(module.get());
  for (bool unreachable : {false, true}) {
    int visits = 0;
    ASSERT_TRUE(graph
                    ->VisitNodes(
                        [&](const CallGraphNode&) {
                          ++visits;
                          return absl::OkStatus();
                        },
                        unreachable)
                    .ok());
    EXPECT_EQ(visits, unreachable ? 2 : 1);
  }
}

TEST(CallGraphTest, VisitWithReturn) {
  auto module = Parse(FiveOf("call", 1));
  auto graph = CallGraph::Build(module.get());
  auto visit = [&](const char* which) {
    auto result = graph->VisitNodesWithReturn(
        [&](const CallGraphNode& node) -> absl::StatusOr<bool> {
          return node.computation()->name() == which;
        });
    EXPECT_TRUE(result.ok());
    return *result;
  };
  EXPECT_FALSE(visit("nobody"));
  EXPECT_TRUE(visit("e"));
  EXPECT_TRUE(visit("s"));
}

TEST(CallGraphTest, VisitorErrorIsReturned) {
  auto module = Parse(FiveOf("call", 1));
  auto graph = CallGraph::Build(module.get());
  absl::Status status = graph->VisitNodes(
      [](const CallGraphNode&) { return absl::InternalError("stop"); });
  EXPECT_EQ(status, absl::InternalError("stop"));
}

TEST(CallGraphTest, ExecutionThreads) {
  auto module = Parse(R"(
HloModule m
other { x = f32[] parameter(0)
 ROOT n = f32[] negate(x) }, execution_thread="parallel"
ENTRY e { x = f32[] parameter(0)
 s = ((f32[]), f32[], u32[]) call-start(x), to_apply=other, async_execution_thread="parallel"
 ROOT d = f32[] call-done(s) })");
  auto all = CallGraph::Build(module.get());
  int64_t parallel = 0;
  for (const CallGraphNode& node : all->nodes()) {
    parallel += node.computation()->execution_thread() == "parallel";
  }
  EXPECT_EQ(Node(*all, *module, "e").depth(), 0);
  auto main = CallGraph::Build(module.get(), {"main"});
  ASSERT_EQ(main->nodes().size(), 1);
  EXPECT_TRUE(main->nodes()[0].callees().empty());
  auto other = CallGraph::Build(module.get(), {"parallel"});
  EXPECT_EQ(other->nodes().size(), parallel);
  EXPECT_TRUE(Node(*other, *module, "other").context() != CallContext::kNone);
}

bool FlatOnControlFlow(absl::string_view entry) {
  auto module = Parse(absl::StrCat(R"(
HloModule m
cond1 { x = f32[] parameter(0)
 ROOT p = pred[] constant(false) }
cond2 { x = f32[] parameter(0)
 ROOT p = pred[] constant(false) }
body1 { x = f32[] parameter(0)
 ROOT n = f32[] negate(x) }
body2 { x = f32[] parameter(0)
 ROOT n = f32[] negate(x) }
ENTRY e { x = f32[] parameter(0)
 p = pred[] constant(true)
)",
                                   entry, "}"));
  return CallGraph::Build(module.get())->IsFlatOnControlFlow();
}

TEST(CallGraphTest, FlatOnControlFlow) {
  EXPECT_TRUE(FlatOnControlFlow(
      "ROOT w = f32[] while(x), condition=cond1, body=body1\n"));
  EXPECT_FALSE(FlatOnControlFlow(
      "v = f32[] while(x), condition=cond1, body=body1\n"
      "ROOT w = f32[] while(v), condition=cond2, body=body1\n"));
  EXPECT_TRUE(FlatOnControlFlow(
      "ROOT c = f32[] conditional(p, x, x), true_computation=body1, "
      "false_computation=body2\n"));
  EXPECT_FALSE(FlatOnControlFlow(
      "ROOT c = f32[] conditional(p, x, x), true_computation=body1, "
      "false_computation=body1\n"));
  EXPECT_FALSE(FlatOnControlFlow(
      "v = f32[] while(x), condition=cond1, body=body1\n"
      "ROOT c = f32[] conditional(p, v, x), true_computation=body1, "
      "false_computation=body2\n"));
  EXPECT_FALSE(
      FlatOnControlFlow("v = f32[] while(x), condition=cond1, body=body1\n"
                        "ROOT c = f32[] call(v), to_apply=body1\n"));
}

// A chain of calls each made twice has 2^60 ways from top to bottom.
TEST(CallGraphTest, DiamondsTakeNoExponentialTime) {
  std::string text = absl::StrCat("HloModule m\n", kScalar);
  std::string callee = "s";
  for (int i = 0; i < 60; ++i) {
    std::string name = absl::StrCat("level", i);
    absl::StrAppend(&text, name,
                    " { x = f32[] parameter(0)\n y = f32[] call(x)",
                    ", to_apply=", callee,
                    "\n ROOT z = f32[] call(y), to_apply=", callee, " }\n");
    callee = name;
  }
  absl::StrAppend(&text, "ENTRY e { x = f32[] parameter(0)\n ROOT y = f32[] ",
                  "call(x), to_apply=", callee, " }");
  auto module = Parse(text);
  auto graph = CallGraph::Build(module.get());
  HloComputation* bottom = module->GetComputationWithName("s");
  EXPECT_EQ(graph->GetNode(bottom).depth(), 61);
  EXPECT_TRUE(graph->CanReach(module->entry_computation(), bottom));
  EXPECT_TRUE(
      graph->Dominates(module->GetComputationWithName("level30"), bottom));
}

// Later links of an asynchronous chain may be anywhere; it runs from the start.
TEST(CallGraphTest, AsyncStartComesFirst) {
  auto module = Parse(R"(
HloModule m
wrapped { a = f32[] parameter(0)
  ROOT n = f32[] negate(a) }
done {
  s = ((f32[]), f32[], u32[]) parameter(0)
  ROOT d = f32[] async-done(s), calls=wrapped
}
begin {
  x = f32[] parameter(0)
  ROOT s = ((f32[]), f32[], u32[]) async-start(x), calls=wrapped
}
ENTRY e {
  x = f32[] parameter(0)
  begun = ((f32[]), f32[], u32[]) call(x), to_apply=begin
  ROOT d = f32[] call(begun), to_apply=done
})");
  auto graph = CallGraph::Build(module.get());
  HloComputation* wrapped = module->GetComputationWithName("wrapped");
  const auto& sites = graph->GetNode(wrapped).caller_callsites();
  ASSERT_EQ(sites.size(), 2);
  EXPECT_EQ(sites[0].instruction()->opcode(), HloOpcode::kAsyncStart);
  auto [a, b] = graph->NearestAncestorsInSameComputation(
      wrapped->root_instruction(),
      module->entry_computation()->root_instruction());
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->name(), "begun");
}

}  // namespace
}  // namespace xla
