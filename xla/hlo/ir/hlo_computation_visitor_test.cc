// Visitors over the instructions of a computation.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/dfs_hlo_visitor_with_default.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_computation_test_base.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

class NamesVisitor : public DfsHloVisitorWithDefault {
 public:
  absl::Status DefaultAction(HloInstruction* hlo) override {
    names.emplace_back(hlo->name());
    return absl::OkStatus();
  }
  absl::Status HandleElementwiseBinary(HloInstruction* hlo) override {
    names.push_back("binary");
    return absl::OkStatus();
  }
  absl::Status HandleTanh(HloInstruction* hlo) override {
    return absl::AbortedError("tanh");
  }
  absl::Status FinishVisit(HloInstruction* root) override {
    names.push_back("finish " + std::string(root->name()));
    return absl::OkStatus();
  }
  std::vector<std::string> names;
};

TEST_F(HloComputationTest, AcceptVisitsAllAndTheRootLast) {
  HloComputation::Builder builder("entry");
  HloInstruction* a = builder.AddInstruction(
      HloInstruction::CreateParameter(0, F32Scalar(), "a"));
  HloInstruction* add = builder.AddInstruction(Binary(HloOpcode::kAdd, a, a));
  builder.AddInstruction(Unary(HloOpcode::kExp, a), "exp");
  HloComputation* entry = module_.AddEntryComputation(builder.Build(add));
  NamesVisitor visitor;
  ASSERT_TRUE(entry->Accept(&visitor).ok());
  EXPECT_THAT(visitor.names, ElementsAre("a", "exp", "binary", "finish add"));
  EXPECT_TRUE(visitor.DidVisit(*a));
  visitor.ResetVisitStates();
  EXPECT_TRUE(visitor.NotVisited(*a));
}

TEST_F(HloComputationTest, VisitorErrorsEndTheWalk) {
  HloComputation::Builder builder("entry");
  HloInstruction* a = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* tanh = builder.AddInstruction(Unary(HloOpcode::kTanh, a));
  builder.AddInstruction(Unary(HloOpcode::kExp, tanh));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  NamesVisitor visitor;
  EXPECT_EQ(entry->Accept(&visitor).message(), "tanh");
  EXPECT_THAT(visitor.names, ElementsAre("p0"));
}

TEST_F(HloComputationTest, AcceptOrdered) {
  HloComputation::Builder builder("entry");
  HloInstruction* a = builder.AddInstruction(Constant(1), "a");
  HloInstruction* b = builder.AddInstruction(Constant(2), "b");
  HloInstruction* add = builder.AddInstruction(Binary(HloOpcode::kAdd, a, b));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  NamesVisitor visitor;
  ASSERT_TRUE(entry->AcceptOrdered(&visitor, {b, a, add}).ok());
  EXPECT_THAT(visitor.names, ElementsAre("b", "a", "binary", "finish add"));
  EXPECT_FALSE(entry->AcceptOrdered(&visitor, {b, a}).ok());
  EXPECT_FALSE(entry->AcceptOrdered(&visitor, {add, b, a}).ok());
  EXPECT_FALSE(entry->AcceptOrdered(&visitor, {a, a, add}).ok());
}

TEST_F(HloComputationTest, RewriteVisitorTellsOfChanges) {
  class ExpToTanh : public DfsHloRewriteVisitor {
   public:
    absl::Status HandleExp(HloInstruction* hlo) override {
      return ReplaceWithNewInstruction(
          hlo, Unary(HloOpcode::kTanh, hlo->mutable_operand(0)));
    }
  };
  HloComputation::Builder builder("entry");
  HloInstruction* a = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* exp = builder.AddInstruction(Unary(HloOpcode::kExp, a));
  builder.AddInstruction(Unary(HloOpcode::kExp, exp));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  ExpToTanh first;
  EXPECT_TRUE(*first.RunOnModule(&module_));
  EXPECT_EQ(entry->root_instruction()->opcode(), HloOpcode::kTanh);
  EXPECT_EQ(entry->root_instruction()->operand(0)->opcode(), HloOpcode::kTanh);
  EXPECT_EQ(entry->instruction_count(), 3);
  ExpToTanh second;
  EXPECT_FALSE(*second.RunOnModule(&module_));
}

TEST_F(HloComputationTest, VisitorWithoutHandlerSaysSo) {
  class Strict : public ConstDfsHloVisitor {
   public:
    absl::Status FinishVisit(const HloInstruction*) override {
      return absl::OkStatus();
    }
  };
  HloComputation* entry = module_.AddEntryComputation(NegateComputation("c"));
  Strict strict;
  EXPECT_EQ(entry->Accept(&strict).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace xla
