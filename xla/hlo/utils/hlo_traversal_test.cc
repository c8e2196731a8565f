#include "xla/hlo/utils/hlo_traversal.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

// exp -> {negate, abs} (a fusion of two results) -> add (a fusion) -> root;
// negate has another user.
constexpr char kFusions[] = R"(
producer {
  p = f32[4] parameter(0)
  neg = f32[4] negate(p)
  abs = f32[4] abs(p)
  ROOT t = (f32[4], f32[4]) tuple(neg, abs)
}
consumer {
  q0 = f32[4] parameter(0)
  q1 = f32[4] parameter(1)
  q2 = f32[4] parameter(2)
  mul = f32[4] multiply(q0, q2)
  ROOT add = f32[4] add(mul, q1)
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  exp = f32[4] exponential(x)
  f1 = (f32[4], f32[4]) fusion(exp), kind=kLoop, calls=producer
  g0 = f32[4] get-tuple-element(f1), index=0
  g1 = f32[4] get-tuple-element(f1), index=1
  f2 = f32[4] fusion(g0, g1, y), kind=kLoop, calls=consumer
  other = f32[4] sqrt(g0)
  ROOT root = (f32[4], f32[4]) tuple(f2, other)
})";

class HloTraversalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto module = ParseAndReturnUnverifiedModule(kFusions);
    CHECK_OK(module.status());
    module_ = *std::move(module);
  }
  const HloInstruction* Find(absl::string_view name) {
    for (const HloComputation* computation : module_->computations()) {
      for (const HloInstruction* inst : computation->instructions()) {
        if (inst->name() == name) return inst;
      }
    }
    LOG(FATAL) << name;
  }
  std::unique_ptr<HloFusionAdaptor> Pair(bool with_extra_outputs = false) {
    return HloFusionAdaptor::ForProducerConsumer(Find("f1"), Find("f2"),
                                                 with_extra_outputs);
  }
  template <typename List>
  static std::string Names(const List& list) {
    return absl::StrJoin(list, " ", [](std::string* out, const auto& item) {
      out->append(std::string(NameOf(item)));
    });
  }
  static absl::string_view NameOf(const HloInstruction* inst) {
    return inst->name();
  }
  static absl::string_view NameOf(const HloInstructionAdaptor& inst) {
    return inst.name();
  }

  std::unique_ptr<HloModule> module_;
};

TEST_F(HloTraversalTest, OneInstruction) {
  auto fusion = HloFusionAdaptor::ForInstruction(Find("exp"));
  EXPECT_EQ(Names(fusion->GetRoots()), "exp");
  EXPECT_EQ(Names(fusion->GetParameters()), "x");
  EXPECT_EQ(Names(fusion->MakeInstructionPostOrder()), "exp");
  HloInstructionAdaptor exp = fusion->GetInstruction(Find("exp"));
  EXPECT_EQ(exp.opcode(), HloOpcode::kExp);
  EXPECT_EQ(Names(exp.GetOperands()), "x");
  EXPECT_EQ(Names(exp.GetUsers()), "");
  EXPECT_TRUE(fusion->ContainsInstruction(exp));
  EXPECT_FALSE(fusion->ContainsInstruction(Find("x")));
  EXPECT_FALSE(exp.use_global_device_ids());
}

TEST_F(HloTraversalTest, OneFusion) {
  auto fusion = HloFusionAdaptor::ForInstruction(Find("f2"));
  EXPECT_EQ(Names(fusion->GetRoots()), "add");
  EXPECT_EQ(Names(fusion->GetParameters()), "g0 g1 y");
  EXPECT_EQ(Names(fusion->MakeInstructionPostOrder()), "mul add");
  HloInstructionAdaptor add = fusion->GetInstruction(Find("add"));
  EXPECT_EQ(Names(add.GetOperands()), "mul g1");
  EXPECT_EQ(add.GetOperand(1).name(), "g1");
  EXPECT_EQ(Names(add.GetUsers()), "");
  EXPECT_EQ(Names(fusion->GetInstruction(Find("q2")).GetOperands()), "y");
  EXPECT_EQ(Names(fusion->GetInstruction(Find("y")).GetUsers()), "mul");
}

TEST_F(HloTraversalTest, SeveralResults) {
  auto fusion = HloFusionAdaptor::ForInstruction(Find("f1"));
  EXPECT_EQ(Names(fusion->GetRoots()), "neg abs");
  EXPECT_EQ(Names(fusion->MakeInstructionPostOrder()), "neg abs");
  EXPECT_EQ(Names(fusion->GetInstruction(Find("neg")).GetUsers()), "");
  EXPECT_EQ(Names(fusion->GetInstruction(Find("abs")).GetUsers()), "");
  EXPECT_EQ(Names(fusion->GetInstruction(Find("exp")).GetUsers()), "neg abs");
}

TEST_F(HloTraversalTest, EveryResultIsARoot) {
  auto module = ParseAndReturnUnverifiedModule(R"(HloModule m
    f { p = f32[8] parameter(0)
      n = negate(p)
      ROOT t = tuple(n, n) }
    ENTRY e { x = f32[8] parameter(0)
      ROOT r = (f32[8], f32[8]) fusion(x), kind=kLoop, calls=f })");
  ASSERT_TRUE(module.ok()) << module.status();
  auto fusion = HloFusionAdaptor::ForInstruction(
      (*module)->entry_computation()->root_instruction());
  EXPECT_EQ(Names(fusion->GetRoots()), "n n");
}

TEST_F(HloTraversalTest, ProducerAndConsumer) {
  auto fusion = Pair();
  EXPECT_EQ(Names(fusion->GetRoots()), "add");
  EXPECT_EQ(Names(Pair(/*with_extra_outputs=*/true)->GetRoots()), "add neg");
  EXPECT_EQ(Names(fusion->GetParameters()), "exp y");
  EXPECT_EQ(Names(fusion->MakeInstructionPostOrder()), "neg abs mul add");
  EXPECT_EQ(Names(fusion->GetInstruction(Find("mul")).GetOperands()), "neg y");
  EXPECT_EQ(Names(fusion->GetInstruction(Find("add")).GetOperands()),
            "mul abs");
  // Not "other", which is outside.
  EXPECT_EQ(Names(fusion->GetInstruction(Find("neg")).GetUsers()), "mul");
  EXPECT_EQ(Names(fusion->GetInstruction(Find("neg")).GetOperands()), "exp");
  EXPECT_TRUE(HloAnyOf(*fusion, [](const HloInstructionAdaptor& inst) {
    return inst.opcode() == HloOpcode::kAbs;
  }));
  EXPECT_FALSE(HloAnyOf(*fusion, [](const HloInstructionAdaptor& inst) {
    return inst.opcode() == HloOpcode::kTuple;
  }));
  std::vector<HloInstructionAdaptor> seen;
  fusion->ForEach([&](HloInstructionAdaptor inst) { seen.push_back(inst); });
  EXPECT_EQ(Names(seen), "neg abs mul add");
}

TEST_F(HloTraversalTest, Computations) {
  auto fusion = HloFusionAdaptor::ForComputation(Find("add")->parent());
  EXPECT_EQ(Names(fusion->GetRoots()), "add");
  EXPECT_EQ(Names(fusion->GetParameters()), "g0 g1 y");
  auto entry = HloFusionAdaptor::ForComputation(Find("exp")->parent());
  EXPECT_EQ(Names(entry->GetParameters()), "x y");
  EXPECT_EQ(Names(entry->GetRoots()), "f2 other");
  EXPECT_EQ(Names(entry->GetInstruction(Find("exp")).GetOperands()), "x");
}

TEST_F(HloTraversalTest, BreadthFirstInAFusion) {
  auto fusion = Pair();
  std::vector<HloInstructionAdaptor> seen;
  HloBfsConsumersFirstTraversal(fusion->GetRoots(), *fusion,
                                [&](HloInstructionAdaptor node) {
                                  seen.push_back(node);
                                  return TraversalResult::kAdvance;
                                });
  EXPECT_EQ(Names(seen), "add mul abs neg");
  seen.clear();
  HloBfsConsumersFirstTraversal(
      fusion->GetRoots(), *fusion, [&](HloInstructionAdaptor node) {
        seen.push_back(node);
        return node.name() == "mul" ? TraversalResult::kSkip
                                    : TraversalResult::kAdvance;
      });
  EXPECT_EQ(Names(seen), "add mul abs");
  seen.clear();
  HloBfsProducersFirstTraversal({fusion->GetInstruction(Find("neg"))}, *fusion,
                                [&](HloInstructionAdaptor node) {
                                  seen.push_back(node);
                                  return node.name() == "mul"
                                             ? TraversalResult::kInterrupt
                                             : TraversalResult::kAdvance;
                                });
  EXPECT_EQ(Names(seen), "neg mul");
  auto is_abs = [](HloInstructionAdaptor node) {
    return node.opcode() == HloOpcode::kAbs;
  };
  EXPECT_TRUE(HloBfsAnyOf(fusion->GetRoots(), *fusion, is_abs));
  EXPECT_FALSE(HloBfsAnyOf(fusion->GetRoots(), *fusion, is_abs,
                           /*visit_operands=*/false));
  EXPECT_EQ(HloBfsFindIf(fusion->GetRoots(), *fusion, is_abs)->name(), "abs");
}

TEST_F(HloTraversalTest, BreadthFirstInAComputation) {
  auto is_parameter = [](const HloInstruction* node) {
    return node->opcode() == HloOpcode::kParameter;
  };
  std::vector<const HloInstruction*> roots = {Find("root")};
  EXPECT_EQ(Names(HloBfsFindAll(roots, is_parameter)), "y x");
  EXPECT_EQ((*HloBfsFindIf(roots, is_parameter))->name(), "y");
  EXPECT_TRUE(HloBfsAnyOf(roots, is_parameter));
  std::vector<const HloInstruction*> start = {Find("x")};
  EXPECT_EQ(HloBfsFindIf(start, IsOpcodeAnyOf<HloOpcode::kLog>,
                         /*visit_operands=*/false),
            std::nullopt);
  EXPECT_TRUE(HloBfsAnyOf(start,
                          IsOpcodeAnyOf<HloOpcode::kLog, HloOpcode::kSqrt>,
                          /*visit_operands=*/false));
}

TEST_F(HloTraversalTest, UseChains) {
  auto fusion = Pair();
  HloInstructionAdaptor neg = fusion->GetInstruction(Find("neg"));
  HloInstructionAdaptor add = fusion->GetInstruction(Find("add"));
  EXPECT_EQ(Names(HloFindUseChain(neg, add)), "neg mul add");
  EXPECT_EQ(Names(HloFindUseChain(add, add)), "add");
  EXPECT_EQ(Names(HloFindUseChain(add, neg)), "");
}

TEST_F(HloTraversalTest, UseChainsGoDepthFirst) {
  auto module = ParseAndReturnUnverifiedModule(R"(HloModule m
    f { q = f32[8] parameter(0)
      p = negate(q)
      l = log(p)
      ROOT s = add(p, l) }
    ENTRY e { x = f32[8] parameter(0)
      ROOT r = f32[8] fusion(x), kind=kLoop, calls=f })");
  ASSERT_TRUE(module.ok()) << module.status();
  const HloInstruction* call =
      (*module)->entry_computation()->root_instruction();
  auto fusion = HloFusionAdaptor::ForInstruction(call);
  const HloInstruction* s = call->fused_expression_root();
  EXPECT_EQ(Names(HloFindUseChain(fusion->GetInstruction(s->operand(0)),
                                  fusion->GetInstruction(s))),
            "p l s");
}

TEST_F(HloTraversalTest, ManyUsersAreListedOnce) {
  std::string text = "ENTRY e {\n  a = f32[] parameter(0)\n";
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back(absl::StrCat("n", i));
    absl::StrAppend(&text, "  ", names.back(), " = f32[] negate(a)\n");
  }
  absl::StrAppend(&text, "  ROOT t = (",
                  absl::StrJoin(std::vector<std::string>(100, "f32[]"), ", "),
                  ") tuple(", absl::StrJoin(names, ", "), ")\n}");
  auto module = ParseAndReturnUnverifiedModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  const HloInstruction* a =
      (*module)->entry_computation()->parameter_instruction(0);
  auto fusion = HloFusionAdaptor::ForComputation(a->parent());
  EXPECT_EQ(Names(fusion->GetInstruction(a).GetUsers()),
            absl::StrJoin(names, " "));
}

}  // namespace
}  // namespace xla
