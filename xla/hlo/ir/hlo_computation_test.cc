#include "xla/hlo/ir/hlo_computation.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/dfs_hlo_visitor_with_default.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/literal_util.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Shape F32Scalar() { return ShapeUtil::MakeShape(F32, {}); }

std::unique_ptr<HloInstruction> Parameter(int number, const Shape& shape) {
  return HloInstruction::CreateParameter(number, shape,
                                         "p" + std::to_string(number));
}

std::unique_ptr<HloInstruction> Constant(float value) {
  return HloInstruction::CreateConstant(LiteralUtil::CreateR0<float>(value));
}

std::unique_ptr<HloInstruction> Unary(HloOpcode opcode, HloInstruction* a) {
  return HloInstruction::CreateUnary(a->shape(), opcode, a);
}

std::unique_ptr<HloInstruction> Binary(HloOpcode opcode, HloInstruction* a,
                                       HloInstruction* b) {
  return HloInstruction::CreateBinary(a->shape(), opcode, a, b);
}

std::unique_ptr<HloComputation> NegateComputation(const std::string& name) {
  HloComputation::Builder builder(name);
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  return builder.Build();
}

std::vector<HloInstruction*> Instructions(HloComputation* computation) {
  auto range = computation->instructions();
  return std::vector<HloInstruction*>(range.begin(), range.end());
}

class HloComputationTest : public ::testing::Test {
 protected:
  HloModule module_{"m", HloModuleConfig()};
};

// --- Building and storage
// --------------------------------------------------------

TEST_F(HloComputationTest, BuilderMakesRootAndParameters) {
  HloComputation::Builder builder("c");
  EXPECT_EQ(builder.last_added_instruction(), nullptr);
  HloInstruction* p0 = *builder.AddParameter(Parameter(0, F32Scalar()));
  EXPECT_FALSE(builder.AddParameter(Parameter(5, F32Scalar())).ok());
  HloInstruction* neg = builder.AddInstruction(Unary(HloOpcode::kNegate, p0));
  HloInstruction* exp =
      builder.AddInstruction(Unary(HloOpcode::kExp, p0), "named");
  EXPECT_EQ(builder.last_added_instruction(), exp);
  std::unique_ptr<HloComputation> computation = builder.Build(neg);
  EXPECT_EQ(computation->root_instruction(), neg);
  EXPECT_TRUE(neg->IsRoot());
  EXPECT_FALSE(exp->IsRoot());
  EXPECT_EQ(exp->name(), "named");
  EXPECT_THAT(computation->parameter_instructions(), ElementsAre(p0));
  EXPECT_EQ(computation->instruction_count(), 3);
  EXPECT_EQ(computation->unique_id(), -1);
}

TEST_F(HloComputationTest, UnbuiltInstructionsGoWithTheBuilder) {
  HloComputation::Builder builder("c");
  HloInstruction* p0 = builder.AddInstruction(Parameter(0, F32Scalar()));
  builder.AddInstruction(Unary(HloOpcode::kNegate, p0));
}

TEST_F(HloComputationTest, UsersInABuilderOutliveTheirOperands) {
  HloComputation::Builder builder("c");
  HloInstruction* late = nullptr;
  {
    HloModule module("m", HloModuleConfig());
    HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
    HloComputation* entry = module.AddEntryComputation(builder.Build());
    late = builder.AddInstruction(HloInstruction::CreateBinary(
        F32Scalar(), HloOpcode::kAdd, p, entry->parameter_instruction(0)));
    EXPECT_EQ(p->user_count(), 1);
  }
  EXPECT_EQ(late->operand_count(), 2);
  EXPECT_EQ(late->operand(0), nullptr);
  EXPECT_THAT(late->ToString(), ::testing::HasSubstr("add(null , null )"));
}

TEST_F(HloComputationTest, RemovedInstructionsPrint) {
  HloComputation::Builder builder("c");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* dead = builder.AddInstruction(
      HloInstruction::CreateBinary(F32Scalar(), HloOpcode::kAdd, p, p));
  HloComputation* c = module_.AddEntryComputation(builder.Build(p));
  ASSERT_TRUE(c->RemoveInstruction(dead).ok());
  EXPECT_EQ(dead->operand_count(), 0);
  EXPECT_THAT(dead->ToString(), ::testing::HasSubstr("add()"));
}

TEST_F(HloComputationTest, DerivedInstructionsTakeWhatIsTheirs) {
  HloComputation::Builder builder("c");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  ResultAccuracy accuracy;
  accuracy.set_mode(ResultAccuracy::HIGHEST);
  HloInstruction* exp = builder.AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kExp, p, accuracy));
  exp->set_frontend_attribute("_xla_compute_type", "host");
  exp->set_frontend_attribute("k", "v");
  exp->set_raw_backend_config_string("{}");
  module_.AddEntryComputation(builder.Build());
  HloInstruction* log = exp->AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kLog, p));
  EXPECT_EQ(log->result_accuracy().mode(), ResultAccuracy::HIGHEST);
  EXPECT_EQ(log->frontend_attributes().map_size(), 1);
  EXPECT_FALSE(log->has_backend_config());
  HloInstruction* other = exp->AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kExp, p));
  EXPECT_EQ(other->raw_backend_config_string(), "{}");
  HloInstruction* plain = p->AddInstruction(
      HloInstruction::CreateUnary(F32Scalar(), HloOpcode::kExp, p, accuracy));
  EXPECT_FALSE(plain->has_result_accuracy());
  EXPECT_TRUE(plain->result_accuracy().has_mode());
}

TEST_F(HloComputationTest, RemovalLeavesHolesUntilCleanup) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* dead = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  HloInstruction* root = builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  EXPECT_EQ(root->local_id(), 2);
  const int64_t old_id = root->unique_id();

  ASSERT_TRUE(entry->RemoveInstruction(dead).ok());
  EXPECT_TRUE(entry->IsMarkedAsDead(dead));
  EXPECT_EQ(entry->instruction_count(), 2);
  EXPECT_EQ(entry->next_unique_instruction_internal_id(), 3);
  EXPECT_EQ(entry->GetInstructionWithLocalId(1), nullptr);
  EXPECT_EQ(entry->GetInstructionWithLocalId(2), root);
  EXPECT_THAT(Instructions(entry), ElementsAre(p, root));
  EXPECT_EQ(root->unique_id(), old_id);
  EXPECT_THAT(p->users(), ElementsAre(root));

  HloInstruction* added = entry->AddInstruction(Unary(HloOpcode::kTanh, p));
  EXPECT_EQ(added->local_id(), 3);
  entry->Cleanup();
  EXPECT_EQ(root->local_id(), 1);
  EXPECT_EQ(added->local_id(), 2);
  EXPECT_EQ(entry->next_unique_instruction_internal_id(), 3);
  EXPECT_THAT(Instructions(entry), ElementsAre(p, root, added));
}

TEST_F(HloComputationTest, IterationSurvivesAddingAndRemoving) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  for (int i = 0; i < 5; ++i) {
    builder.AddInstruction(Unary(HloOpcode::kExp, p));
  }
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  int visited = 0;
  for (HloInstruction* instruction : entry->instructions()) {
    ++visited;
    if (instruction->opcode() != HloOpcode::kExp || instruction->IsRoot()) {
      continue;
    }
    entry->AddInstruction(Unary(HloOpcode::kTanh, p));
    ASSERT_TRUE(entry->RemoveInstruction(instruction).ok());
  }
  EXPECT_EQ(visited, 6);
  EXPECT_EQ(entry->instruction_count(), 6);
  int infos = 0;
  for (auto info : entry->instructions_with_info()) {
    infos += info.opcode() == HloOpcode::kTanh;
  }
  EXPECT_EQ(infos, 4);
}

TEST_F(HloComputationTest, NamesAreUniqueInTheModule) {
  HloComputation* a = module_.AddEntryComputation(NegateComputation("c"));
  HloComputation* b = module_.AddEmbeddedComputation(NegateComputation("c"));
  EXPECT_EQ(a->name(), "c");
  EXPECT_EQ(b->name(), "c.1");
  EXPECT_EQ(a->root_instruction()->name(), "negate");
  EXPECT_EQ(b->root_instruction()->name(), "negate.1");
  HloInstruction* more =
      a->AddInstruction(Unary(HloOpcode::kNegate, a->parameter_instruction(0)));
  EXPECT_EQ(more->name(), "negate.2");
  EXPECT_EQ(a->AddInstruction(Constant(1), "x.remat")->name(), "x.remat");
  EXPECT_EQ(a->AddInstruction(Constant(1), "x.remat")->name(), "x.remat.1");
  EXPECT_EQ(a->GetInstructionWithName("negate.2"), more);
  EXPECT_EQ(a->GetInstructionWithName("nobody"), nullptr);
}

TEST_F(HloComputationTest, RemovalIsRefused) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* unused = builder.AddInstruction(Parameter(1, F32Scalar()));
  HloInstruction* tied = builder.AddInstruction(Constant(1));
  HloInstruction* root = builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  ASSERT_TRUE(tied->AddControlDependencyTo(root).ok());
  for (HloInstruction* instruction : {p, unused, tied, root}) {
    EXPECT_EQ(entry->RemoveInstruction(instruction).code(),
              absl::StatusCode::kFailedPrecondition)
        << instruction->name();
  }
  EXPECT_TRUE(entry->IsSafelyRemovable(tied, /*ignore_control=*/true));
  EXPECT_TRUE(entry->ForceRemoveInstruction(tied).ok());
  EXPECT_THAT(root->control_predecessors(), IsEmpty());
}

TEST_F(HloComputationTest, RemoveInstructionAndUnusedOperands) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* shared = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  HloInstruction* c = builder.AddInstruction(Constant(1));
  HloInstruction* add =
      builder.AddInstruction(Binary(HloOpcode::kAdd, shared, c));
  HloInstruction* dead =
      builder.AddInstruction(Binary(HloOpcode::kMultiply, add, add));
  builder.AddInstruction(Unary(HloOpcode::kNegate, shared));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  std::vector<std::string> cleaned;
  ASSERT_TRUE(entry
                  ->RemoveInstructionAndUnusedOperands(
                      dead,
                      [&](HloInstruction* i) {
                        cleaned.emplace_back(HloOpcodeString(i->opcode()));
                      })
                  .ok());
  EXPECT_THAT(cleaned, UnorderedElementsAre("multiply", "add", "constant"));
  EXPECT_EQ(entry->instruction_count(), 3);
}

TEST_F(HloComputationTest, RemovalWithControlDependenciesRelaysThem) {
  HloComputation::Builder builder("entry");
  HloInstruction* before = builder.AddInstruction(Constant(1));
  HloInstruction* middle = builder.AddInstruction(Constant(2));
  HloInstruction* after = builder.AddInstruction(Constant(3));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  ASSERT_TRUE(before->AddControlDependencyTo(middle).ok());
  ASSERT_TRUE(middle->AddControlDependencyTo(after).ok());
  EXPECT_FALSE(entry->RemoveInstructionAndUnusedOperands(middle).ok());
  ASSERT_TRUE(entry
                  ->RemoveInstructionAndUnusedOperands(
                      middle, std::nullopt,
                      /*ignore_control_dependencies=*/true)
                  .ok());
  EXPECT_THAT(after->control_predecessors(), ElementsAre(before));
}

TEST_F(HloComputationTest, UnusedParametersOfCalledComputations) {
  HloComputation::Builder callee_builder("callee");
  HloInstruction* q0 = callee_builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* q1 = callee_builder.AddInstruction(Parameter(1, F32Scalar()));
  callee_builder.AddInstruction(Unary(HloOpcode::kNegate, q1));
  HloComputation* callee =
      module_.AddEmbeddedComputation(callee_builder.Build());
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* exp = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  HloInstruction* call = builder.AddInstruction(
      HloInstruction::CreateCall(F32Scalar(), {exp, p}, callee));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());

  EXPECT_FALSE(callee->IsSafelyRemovable(q0));
  auto callers = [](const HloComputation* computation) {
    auto list = computation->caller_instructions();
    return std::vector<HloInstruction*>(list.begin(), list.end());
  };
  EXPECT_TRUE(callee->IsSafelyRemovable(q0, false, callers));
  ASSERT_TRUE(
      callee
          ->RemoveInstructionAndUnusedOperands(q0, std::nullopt, false, callers)
          .ok());
  EXPECT_EQ(callee->num_parameters(), 1);
  EXPECT_EQ(q1->parameter_number(), 0);
  EXPECT_THAT(call->operands(), ElementsAre(p));
  // What only the lost operand needed is gone, too.
  EXPECT_THAT(Instructions(entry), ElementsAre(p, call));
}

// --- Orders
// ----------------------------------------------------------------------

TEST_F(HloComputationTest, PostOrderFollowsStorageAndOperands) {
  HloComputation::Builder builder("entry");
  HloInstruction* a = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* b = builder.AddInstruction(Parameter(1, F32Scalar()));
  HloInstruction* nb = builder.AddInstruction(Unary(HloOpcode::kNegate, b));
  HloInstruction* na = builder.AddInstruction(Unary(HloOpcode::kNegate, a));
  HloInstruction* add = builder.AddInstruction(Binary(HloOpcode::kAdd, na, nb));
  HloInstruction* other = builder.AddInstruction(Unary(HloOpcode::kExp, b));
  HloComputation* entry = module_.AddEntryComputation(builder.Build(add));
  EXPECT_THAT(entry->MakeInstructionPostOrder(),
              ElementsAre(a, na, b, nb, add, other));
  EXPECT_THAT(entry->MakeInstructionPostOrderFrom(*other),
              ElementsAre(b, other));
  ASSERT_TRUE(other->AddControlDependencyTo(na).ok());
  EXPECT_THAT(entry->MakeInstructionPostOrder(),
              ElementsAre(b, other, a, na, nb, add));
}

TEST_F(HloComputationTest, PostOrderHoldsCyclesToo) {
  HloComputation::Builder builder("entry");
  HloInstruction* a = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* x = builder.AddInstruction(Unary(HloOpcode::kNegate, a));
  HloInstruction* y = builder.AddInstruction(Unary(HloOpcode::kNegate, x));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  ASSERT_TRUE(y->AddControlDependencyTo(x).ok());
  EXPECT_EQ(entry->MakeInstructionPostOrder().size(), 3);
}

TEST_F(HloComputationTest, ReshapesFirst) {
  HloComputation::Builder builder("entry");
  const Shape vector = ShapeUtil::MakeShape(F32, {4});
  const Shape matrix = ShapeUtil::MakeShape(F32, {2, 2});
  HloInstruction* a = builder.AddInstruction(Parameter(0, vector));
  HloInstruction* neg = builder.AddInstruction(Unary(HloOpcode::kNegate, a));
  HloInstruction* reshape =
      builder.AddInstruction(HloInstruction::CreateReshape(matrix, a));
  builder.AddInstruction(HloInstruction::CreateTuple({neg, reshape}));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  EXPECT_THAT(entry->MakeInstructionPostOrderWithReshapeFirst(),
              ElementsAre(a, reshape, neg, entry->root_instruction()));
}

TEST_F(HloComputationTest, CachingPostOrder) {
  HloComputation* entry = module_.AddEntryComputation(NegateComputation("c"));
  HloComputation::CachingPostOrder cached(entry);
  EXPECT_EQ(cached.PostOrder().size(), 2);
  entry->AddInstruction(Constant(1));
  EXPECT_EQ(cached.PostOrder().size(), 2);
  cached.RecordChange(false);
  EXPECT_EQ(cached.PostOrder().size(), 2);
  cached.RecordChange(true);
  EXPECT_EQ(cached.PostOrder().size(), 3);
}

TEST_F(HloComputationTest, CanonicalizeLocalIdsFollowsThePostOrder) {
  HloComputation::Builder builder("entry");
  HloInstruction* a = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* b = builder.AddInstruction(Constant(1));
  HloInstruction* add = builder.AddInstruction(Binary(HloOpcode::kAdd, b, a));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  entry->CanonicalizeLocalIds();
  EXPECT_THAT(Instructions(entry), ElementsAre(b, a, add));
  EXPECT_EQ(a->local_id(), 1);
}

// --- Visitors
// ----------------------------------------------------------------------

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

// --- Callers and callees
// ---------------------------------------------------------

TEST_F(HloComputationTest, CallersAndCallees) {
  HloComputation* callee =
      module_.AddEmbeddedComputation(NegateComputation("callee"));
  EXPECT_TRUE(callee->IsDeadComputation());
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* call1 = builder.AddInstruction(
      HloInstruction::CreateCall(F32Scalar(), {p}, callee));
  HloInstruction* call2 = builder.AddInstruction(
      HloInstruction::CreateCall(F32Scalar(), {call1}, callee));
  HloInstruction* map = builder.AddInstruction(
      HloInstruction::CreateMap(F32Scalar(), {call2}, callee));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  EXPECT_FALSE(callee->IsDeadComputation());
  EXPECT_FALSE(entry->IsDeadComputation());
  EXPECT_THAT(callee->caller_instructions(), ElementsAre(call1, call2, map));
  EXPECT_THAT(callee->caller_instructions(HloOpcode::kMap), ElementsAre(map));
  EXPECT_EQ(callee->GetUniqueCaller(HloOpcode::kMap), map);
  EXPECT_EQ(callee->GetUniqueCaller(HloOpcode::kCall), std::nullopt);
  EXPECT_THAT(callee->caller_computations(), ElementsAre(Pair(entry, 3)));
  EXPECT_THAT(entry->callee_computations(), ElementsAre(Pair(callee, 3)));
  EXPECT_THAT(entry->MakeEmbeddedComputationsList(), ElementsAre(callee));
  EXPECT_FALSE(callee->IsFusionComputation());
  EXPECT_FALSE(callee->IsAsyncComputation());

  ASSERT_TRUE(call2->ReplaceAllUsesWith(p).ok());
  ASSERT_TRUE(entry->RemoveInstruction(call2).ok());
  EXPECT_THAT(callee->caller_instructions(), ElementsAre(call1, map));
  HloComputation* other =
      module_.AddEmbeddedComputation(NegateComputation("other"));
  call1->set_to_apply(other);
  EXPECT_THAT(other->caller_instructions(), ElementsAre(call1));
  EXPECT_THAT(entry->callee_computations(),
              ElementsAre(Pair(callee, 1), Pair(other, 1)));
  entry->ClearCalledComputations();
  EXPECT_THAT(entry->callee_computations(), IsEmpty());
  EXPECT_TRUE(callee->IsDeadComputation());
}

TEST_F(HloComputationTest, TwiceTheSameCallee) {
  HloComputation::Builder callee_builder("pred");
  callee_builder.AddInstruction(Parameter(0, ShapeUtil::MakeShape(PRED, {})));
  HloComputation* callee =
      module_.AddEmbeddedComputation(callee_builder.Build());
  HloComputation::Builder builder("entry");
  HloInstruction* p =
      builder.AddInstruction(Parameter(0, ShapeUtil::MakeShape(PRED, {})));
  HloInstruction* loop = builder.AddInstruction(
      HloInstruction::CreateWhile(p->shape(), callee, callee, p));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  EXPECT_THAT(callee->caller_instructions(), ElementsAre(loop));
  EXPECT_EQ(callee->GetUniqueCaller(HloOpcode::kWhile), loop);
  EXPECT_THAT(entry->callee_computations(), ElementsAre(Pair(callee, 2)));
}

// --- Parameters
// --------------------------------------------------------------------

TEST_F(HloComputationTest, EntryParametersKeepTheLayout) {
  HloComputation* entry = module_.AddEntryComputation(NegateComputation("c"));
  EXPECT_EQ(module_.entry_computation_layout().parameter_count(), 1);
  const Shape matrix = ShapeUtil::MakeShape(F32, {2, 2});
  HloInstruction* added =
      entry->AddEntryComputationParameter(Parameter(1, matrix));
  EXPECT_EQ(module_.entry_computation_layout().parameter_shape(1), matrix);
  const Shape vector = ShapeUtil::MakeShape(F32, {3});
  ASSERT_TRUE(
      entry->ReplaceEntryComputationParameter(1, added, Parameter(1, vector))
          .ok());
  EXPECT_EQ(module_.entry_computation_layout().parameter_shape(1), vector);
  EXPECT_EQ(entry->parameter_instruction(1)->shape(), vector);
  EXPECT_EQ(entry->instruction_count(), 3);
  EXPECT_FALSE(entry
                   ->ReplaceEntryComputationParameter(
                       0, entry->parameter_instruction(1), Parameter(0, vector))
                   .ok());
}

TEST_F(HloComputationTest, PermuteParameters) {
  HloComputation::Builder builder("c");
  HloInstruction* p0 = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* p1 = builder.AddInstruction(Parameter(1, F32Scalar()));
  HloInstruction* p2 = builder.AddInstruction(Parameter(2, F32Scalar()));
  HloComputation* c = module_.AddEmbeddedComputation(builder.Build());
  ASSERT_TRUE(c->PermuteParameters({2, 0, 1}).ok());
  EXPECT_THAT(c->parameter_instructions(), ElementsAre(p2, p0, p1));
  EXPECT_EQ(p2->parameter_number(), 0);
  EXPECT_FALSE(c->PermuteParameters({0, 0, 1}).ok());
  EXPECT_FALSE(c->PermuteParameters({0, 1}).ok());
}

TEST_F(HloComputationTest, ProgramShape) {
  HloComputation::Builder builder("c");
  HloInstruction* p = builder.AddInstruction(
      HloInstruction::CreateParameter(0, F32Scalar(), "x.17"));
  builder.AddInstruction(HloInstruction::CreateTuple({p, p}));
  HloComputation* c = module_.AddEmbeddedComputation(builder.Build());
  EXPECT_EQ(c->ComputeProgramShape().parameter_names(0), "x.17");
  EXPECT_EQ(c->ComputeProgramShape(/*include_ids=*/false).parameter_names(0),
            "x");
  EXPECT_EQ(c->ComputeProgramShape().result().tuple_shapes_size(), 2);
}

// --- Replacement
// -------------------------------------------------------------------

TEST_F(HloComputationTest, ReplaceInstructionTakesOverWhatIsMissing) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* old =
      builder.AddInstruction(Unary(HloOpcode::kExp, p), "old");
  HloInstruction* user = builder.AddInstruction(Unary(HloOpcode::kNegate, old));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  OpMetadata metadata;
  metadata.set_op_name("op");
  old->set_metadata(metadata);
  old->set_frontend_attribute("k", "v");
  old->set_sharding(HloSharding::Replicate());
  ASSERT_TRUE(
      entry->ReplaceWithNewInstruction(old, Unary(HloOpcode::kExp, p)).ok());
  HloInstruction* replaced = user->mutable_operand(0);
  EXPECT_NE(replaced, old);
  EXPECT_EQ(replaced->name(), "old");
  EXPECT_EQ(replaced->metadata().op_name(), "op");
  EXPECT_EQ(replaced->get_frontend_attribute("k"), "v");
  EXPECT_TRUE(replaced->sharding().IsReplicated());
  EXPECT_TRUE(entry->IsMarkedAsDead(old));
}

TEST_F(HloComputationTest, ReplaceRoot) {
  HloComputation* entry = module_.AddEntryComputation(NegateComputation("c"));
  HloInstruction* old = entry->root_instruction();
  ASSERT_TRUE(entry->ReplaceWithNewInstruction(old, Constant(3)).ok());
  EXPECT_EQ(entry->root_instruction()->opcode(), HloOpcode::kConstant);
  EXPECT_TRUE(entry->root_instruction()->IsRoot());
}

TEST_F(HloComputationTest, ReplaceChecksShapes) {
  HloComputation* entry = module_.AddEntryComputation(NegateComputation("c"));
  HloInstruction* other = entry->AddInstruction(HloInstruction::CreateIota(
      ShapeUtil::MakeShape(F32, {3}), /*iota_dimension=*/0));
  HloInstruction* old = entry->root_instruction();
  EXPECT_FALSE(entry->ReplaceInstruction(old, other).ok());
  EXPECT_TRUE(entry->ReplaceInstructionWithDifferentShape(old, other).ok());
  EXPECT_EQ(entry->root_instruction(), other);
}

TEST_F(HloComputationTest, ReplaceWithControlDependencies) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* before = builder.AddInstruction(Constant(1));
  HloInstruction* old = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  HloInstruction* root = builder.AddInstruction(Unary(HloOpcode::kNegate, old));
  HloInstruction* fresh = builder.AddInstruction(Unary(HloOpcode::kTanh, p));
  HloComputation* entry = module_.AddEntryComputation(builder.Build(root));
  ASSERT_TRUE(before->AddControlDependencyTo(old).ok());
  ASSERT_TRUE(old->AddControlDependencyTo(root).ok());
  EXPECT_EQ(entry->ReplaceInstruction(old, fresh).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(*entry->ReplaceInstruction(old, fresh,
                                          /*preserve_sharding=*/false));
  EXPECT_TRUE(*entry->ReplaceInstruction(old, fresh,
                                         /*preserve_sharding=*/false,
                                         /*relay_control_dependency=*/true));
  EXPECT_THAT(fresh->control_predecessors(), ElementsAre(before));
  EXPECT_THAT(root->control_predecessors(), ElementsAre(fresh));
  EXPECT_EQ(root->operand(0), fresh);
}

TEST_F(HloComputationTest, ReplacePreservesSharding) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* old = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  HloInstruction* root = builder.AddInstruction(Unary(HloOpcode::kNegate, old));
  HloInstruction* fresh = builder.AddInstruction(Unary(HloOpcode::kTanh, p));
  HloComputation* entry = module_.AddEntryComputation(builder.Build(root));
  old->set_sharding(HloSharding::SingleDevice(0));
  fresh->set_sharding(HloSharding::SingleDevice(1));
  EXPECT_FALSE(*entry->ReplaceInstruction(old, fresh,
                                          /*preserve_sharding=*/true));
  EXPECT_EQ(root->operand(0), old);
  fresh->clear_sharding();
  EXPECT_TRUE(*entry->ReplaceInstruction(old, fresh,
                                         /*preserve_sharding=*/true));
  EXPECT_EQ(fresh->sharding().GetUniqueDevice(), 0);
}

// The new instruction may be computed from the one it replaces.
TEST_F(HloComputationTest, ReplaceByAUserOfItself) {
  HloComputation* entry = module_.AddEntryComputation(NegateComputation("c"));
  HloInstruction* p = entry->parameter_instruction(0);
  HloInstruction* negate = entry->root_instruction();
  HloInstruction* copy = entry->AddInstruction(Unary(HloOpcode::kCopy, p));
  ASSERT_TRUE(entry->ReplaceInstruction(p, copy).ok());
  EXPECT_EQ(negate->operand(0), copy);
  EXPECT_EQ(copy->operand(0), p);
  EXPECT_EQ(entry->parameter_instruction(0), p);
}

// --- Outlining
// -----------------------------------------------------------------------

TEST_F(HloComputationTest, CreateFusionInstruction) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* exp = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  HloInstruction* add = builder.AddInstruction(Binary(HloOpcode::kAdd, exp, p));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  HloInstruction* fusion = entry->CreateFusionInstruction(
      {add, exp}, HloInstruction::FusionKind::kLoop);
  EXPECT_EQ(entry->root_instruction(), fusion);
  EXPECT_THAT(Instructions(entry), ElementsAre(p, fusion));
  HloComputation* fused = fusion->fused_instructions_computation();
  EXPECT_TRUE(fused->IsFusionComputation());
  EXPECT_EQ(fused->FusionInstruction(), fusion);
  EXPECT_EQ(fused->num_parameters(), fusion->operand_count());
  EXPECT_EQ(fused->root_instruction()->opcode(), HloOpcode::kAdd);
  EXPECT_EQ(fused->root_instruction()->operand(0)->opcode(), HloOpcode::kExp);
  EXPECT_THAT(module_.MakeNonfusionComputations(), ElementsAre(entry));
}

TEST_F(HloComputationTest, CreateCallInstruction) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* exp = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  HloInstruction* neg = builder.AddInstruction(Unary(HloOpcode::kNegate, exp));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  HloInstruction* call = entry->CreateCallInstruction({neg, exp});
  EXPECT_EQ(call->opcode(), HloOpcode::kCall);
  EXPECT_EQ(entry->root_instruction(), call);
  EXPECT_EQ(entry->instruction_count(), 2);
  EXPECT_EQ(call->to_apply()->instruction_count(), 3);
}

TEST_F(HloComputationTest, CreateAsyncInstructions) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* before = builder.AddInstruction(Constant(1));
  HloInstruction* add = builder.AddInstruction(Binary(HloOpcode::kAdd, p, p));
  HloInstruction* root = builder.AddInstruction(Unary(HloOpcode::kNegate, add));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  ASSERT_TRUE(before->AddControlDependencyTo(add).ok());
  auto done = entry->CreateAsyncInstructions(
      add, {ShapeUtil::MakeShape(U32, {})}, "thread");
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(root->operand(0), *done);
  HloInstruction* start = (*done)->mutable_operand(0);
  EXPECT_EQ(start->opcode(), HloOpcode::kAsyncStart);
  EXPECT_EQ(ShapeUtil::HumanString(start->shape()),
            "((f32[], f32[]), f32[], u32[])");
  EXPECT_THAT(start->control_predecessors(), ElementsAre(before));
  HloComputation* wrapped = start->async_wrapped_computation();
  EXPECT_EQ(wrapped->execution_thread(), "thread");
  EXPECT_TRUE(wrapped->IsAsyncComputation());
  EXPECT_TRUE(wrapped->CanExpandIntoSingleInstruction());
  EXPECT_THAT(module_.MakeNonfusionComputations({"thread"}),
              ElementsAre(wrapped));
  EXPECT_TRUE(entry->IsMarkedAsDead(add));
}

TEST_F(HloComputationTest, AsyncCopyHasItsOwnOpcodes) {
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* copy = builder.AddInstruction(Unary(HloOpcode::kCopy, p));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  ASSERT_TRUE(
      entry->CreateAsyncInstructions(copy, {ShapeUtil::MakeShape(U32, {})})
          .ok());
  EXPECT_EQ(entry->root_instruction()->opcode(), HloOpcode::kCopyDone);
  EXPECT_EQ(entry->root_instruction()->operand(0)->opcode(),
            HloOpcode::kCopyStart);
}

TEST_F(HloComputationTest, DeepCopyOfATuple) {
  HloComputation::Builder builder("entry");
  const Shape inner = ShapeUtil::MakeTupleShape({F32Scalar(), F32Scalar()});
  HloInstruction* p = builder.AddInstruction(
      Parameter(0, ShapeUtil::MakeTupleShape({inner, F32Scalar()})));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  ShapeTree<bool> indices(p->shape(), true);
  *indices.mutable_element({0, 1}) = false;
  ShapeTree<HloInstruction*> copies(p->shape(), nullptr);
  auto copy = entry->DeepCopyInstruction(p, &indices, &copies);
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ((*copy)->shape(), p->shape());
  EXPECT_EQ((*copy)->opcode(), HloOpcode::kTuple);
  EXPECT_EQ((*copy)->operand(0)->operand(0)->opcode(), HloOpcode::kCopy);
  EXPECT_EQ((*copy)->operand(0)->operand(1)->opcode(),
            HloOpcode::kGetTupleElement);
  EXPECT_EQ(copies.element({0, 1}), nullptr);
  EXPECT_EQ(copies.element({1}), (*copy)->operand(1));
  HloModule other("other", HloModuleConfig());
  HloComputation* elsewhere = other.AddEntryComputation(NegateComputation("c"));
  EXPECT_FALSE(elsewhere->DeepCopyInstruction(p).ok());
  ShapeTree<bool> wrong(F32Scalar(), true);
  EXPECT_FALSE(entry->DeepCopyInstruction(p, &wrong).ok());
}

// --- Equality
// ------------------------------------------------------------------------

std::unique_ptr<HloComputation> Chain(HloOpcode last, int length = 3) {
  HloComputation::Builder builder("chain");
  HloInstruction* x = builder.AddInstruction(Parameter(0, F32Scalar()));
  for (int i = 0; i < length; ++i) {
    x = builder.AddInstruction(Unary(HloOpcode::kExp, x));
  }
  builder.AddInstruction(Unary(last, x));
  return builder.Build();
}

TEST_F(HloComputationTest, EqualityIsStructural) {
  auto a = Chain(HloOpcode::kNegate);
  auto b = Chain(HloOpcode::kNegate);
  auto c = Chain(HloOpcode::kTanh);
  b->root_instruction()->SetAndSanitizeName("renamed");
  EXPECT_EQ(*a, *b);
  EXPECT_NE(*a, *c);
  EXPECT_EQ(absl::HashOf(*a), absl::HashOf(*b));
  EXPECT_NE(*a, *Chain(HloOpcode::kNegate, 4));
  b->SetExecutionThread("other");
  EXPECT_NE(*a, *b);
  EXPECT_TRUE(a->EqualIgnoringExecutionThread(*b, true, true));
}

TEST_F(HloComputationTest, EqualityLooksIntoCallees) {
  HloComputation* negate =
      module_.AddEmbeddedComputation(Chain(HloOpcode::kNegate));
  HloComputation* same =
      module_.AddEmbeddedComputation(Chain(HloOpcode::kNegate));
  HloComputation* tanh =
      module_.AddEmbeddedComputation(Chain(HloOpcode::kTanh));
  auto caller = [&](HloComputation* callee) {
    HloComputation::Builder builder("caller");
    HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
    builder.AddInstruction(
        HloInstruction::CreateCall(F32Scalar(), {p}, callee));
    return module_.AddEmbeddedComputation(builder.Build());
  };
  EXPECT_EQ(*caller(negate), *caller(same));
  EXPECT_NE(*caller(negate), *caller(tanh));
  EXPECT_TRUE(caller(negate)->Equal(
      *caller(tanh), /*is_layout_sensitive=*/true,
      [](const HloComputation*, const HloComputation*) { return true; }));
}

TEST_F(HloComputationTest, EqualityAndLayouts) {
  auto make = [](std::vector<int64_t> minor_to_major) {
    HloComputation::Builder builder("c");
    builder.AddInstruction(Parameter(
        0, ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, minor_to_major)));
    return builder.Build();
  };
  auto a = make({0, 1});
  auto b = make({1, 0});
  EXPECT_FALSE(a->Equal(*b, /*is_layout_sensitive=*/true));
  EXPECT_TRUE(a->Equal(*b, /*is_layout_sensitive=*/false));
}

// --- Cloning
// -------------------------------------------------------------------------

TEST_F(HloComputationTest, CloneKeepsOrderEdgesAndNames) {
  HloComputation::Builder builder("c");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* x = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  HloInstruction* y = builder.AddInstruction(Unary(HloOpcode::kTanh, p));
  builder.AddInstruction(Binary(HloOpcode::kAdd, y, x));
  HloComputation* c = module_.AddEmbeddedComputation(builder.Build());
  ASSERT_TRUE(x->AddControlDependencyTo(y).ok());
  std::unique_ptr<HloComputation> clone = c->Clone();
  EXPECT_EQ(clone->name(), "c.clone");
  EXPECT_EQ(*clone, *c);
  std::vector<std::string> names;
  for (HloInstruction* i : clone->instructions()) names.emplace_back(i->name());
  EXPECT_THAT(names, ElementsAre("p0", "exponential", "tanh", "add"));
  std::vector<HloInstruction*> clones = Instructions(clone.get());
  EXPECT_THAT(clones[2]->control_predecessors(), ElementsAre(clones[1]));
  // Users stand in the original order although tanh was cloned first.
  EXPECT_THAT(clones[0]->users(), ElementsAre(clones[1], clones[2]));
  EXPECT_EQ(module_.AddEmbeddedComputation(std::move(clone))->name(),
            "c.clone");
}

TEST_F(HloComputationTest, CloneWithReplacements) {
  HloComputation::Builder builder("c");
  HloInstruction* p0 = builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* p1 = builder.AddInstruction(Parameter(1, F32Scalar()));
  HloInstruction* x = builder.AddInstruction(Unary(HloOpcode::kExp, p0));
  builder.AddInstruction(Binary(HloOpcode::kAdd, x, p1));
  HloComputation* c = module_.AddEmbeddedComputation(builder.Build());
  std::unique_ptr<HloComputation> clone =
      c->CloneWithReplacementPairs({x, Unary(HloOpcode::kTanh, p1)});
  EXPECT_EQ(clone->root_instruction()->operand(0)->opcode(), HloOpcode::kTanh);
  EXPECT_EQ(clone->root_instruction()->operand(0)->operand(0),
            clone->parameter_instruction(1));
  EXPECT_EQ(clone->instruction_count(), 4);
  EXPECT_EQ(p1->user_count(), 1);

  HloComputation::ReplacementMap drop_root;
  drop_root.emplace(c->root_instruction(), nullptr);
  std::vector<HloInstruction*> outputs = {x, p1};
  clone = c->CloneWithReplacements(&drop_root, /*extra_parameters=*/{},
                                   /*context=*/nullptr, "outputs",
                                   absl::Span<HloInstruction* const>(outputs));
  EXPECT_EQ(clone->name(), "c.outputs");
  EXPECT_EQ(clone->root_instruction()->opcode(), HloOpcode::kTuple);
  EXPECT_EQ(clone->root_instruction()->operand(0)->opcode(), HloOpcode::kExp);
  EXPECT_EQ(clone->instruction_count(), 4);
}

TEST_F(HloComputationTest, CloneWithExtraParameter) {
  HloComputation* c = module_.AddEmbeddedComputation(Chain(HloOpcode::kTanh));
  auto extra = Parameter(1, F32Scalar());
  HloInstruction* root = c->root_instruction();
  HloComputation::ReplacementMap map;
  map.emplace(root,
              Binary(HloOpcode::kAdd, root->mutable_operand(0), extra.get()));
  std::unique_ptr<HloComputation> clone =
      c->CloneWithReplacements(&map, {extra.get()});
  EXPECT_EQ(clone->num_parameters(), 2);
  EXPECT_EQ(clone->root_instruction()->operand(1),
            clone->parameter_instruction(1));
}

// --- Facts
// ---------------------------------------------------------------------------

TEST_F(HloComputationTest, SideEffectsOfCalleesCount) {
  HloComputation::Builder builder("effect");
  HloInstruction* token = builder.AddInstruction(HloInstruction::CreateToken());
  builder.AddInstruction(
      HloInstruction::CreateInfeed(F32Scalar(), token, "config"));
  HloComputation* effect = module_.AddEmbeddedComputation(builder.Build());
  EXPECT_TRUE(effect->HasSideEffect());
  HloComputation::Builder outer("outer");
  outer.AddInstruction(HloInstruction::CreateCall(
      effect->root_instruction()->shape(), {}, effect));
  HloComputation* caller = module_.AddEmbeddedComputation(outer.Build());
  EXPECT_TRUE(caller->HasSideEffect());
  EXPECT_FALSE(
      module_.AddEmbeddedComputation(Chain(HloOpcode::kTanh))->HasSideEffect());
}

TEST_F(HloComputationTest, CanExpandIntoSingleInstruction) {
  EXPECT_TRUE(NegateComputation("c")->CanExpandIntoSingleInstruction());
  EXPECT_FALSE(Chain(HloOpcode::kTanh)->CanExpandIntoSingleInstruction());
}

// --- Depth
// ---------------------------------------------------------------------------

// Everything that walks must do without the stack of the thread.
TEST_F(HloComputationTest, LongChain) {
  constexpr int kLength = 100000;
  HloComputation* entry =
      module_.AddEntryComputation(Chain(HloOpcode::kNegate, kLength));
  EXPECT_EQ(entry->instruction_count(), kLength + 2);
  EXPECT_EQ(entry->MakeInstructionPostOrder().size(), kLength + 2);
  EXPECT_EQ(entry->MakeInstructionPostOrder().back(),
            entry->root_instruction());
  int visited = 0;
  FunctionVisitor visitor([&](HloInstruction*) {
    ++visited;
    return absl::OkStatus();
  });
  ASSERT_TRUE(entry->Accept(&visitor).ok());
  EXPECT_EQ(visited, kLength + 2);
  std::unique_ptr<HloModule> clone = module_.Clone();
  EXPECT_EQ(*clone->entry_computation(), *entry);
  EXPECT_EQ(absl::HashOf(*clone->entry_computation()), absl::HashOf(*entry));
  HloInstruction* old_root = entry->root_instruction();
  entry->set_root_instruction(entry->parameter_instruction(0));
  ASSERT_TRUE(entry->RemoveInstructionAndUnusedOperands(old_root).ok());
  EXPECT_EQ(entry->instruction_count(), 1);
  module_.Cleanup();
  EXPECT_EQ(entry->parameter_instruction(0)->local_id(), 0);
}

TEST_F(HloComputationTest, ParametersOfCallBodiesMayGo) {
  HloComputation::Builder builder("callee");
  builder.AddInstruction(Parameter(0, F32Scalar()));
  HloInstruction* second = builder.AddInstruction(Parameter(1, F32Scalar()));
  second->set_raw_backend_config_string("kept");
  builder.AddInstruction(Unary(HloOpcode::kNegate, second));
  HloComputation* callee = module_.AddEmbeddedComputation(builder.Build());
  ASSERT_TRUE(callee->RemoveParameter(0).ok());
  ASSERT_EQ(callee->num_parameters(), 1);
  EXPECT_EQ(callee->parameter_instruction(0)->parameter_number(), 0);
  EXPECT_EQ(callee->parameter_instruction(0)->raw_backend_config_string(),
            "kept");
  EXPECT_FALSE(callee->RemoveParameter(0).ok());  // it is used
}

// One value with very many users: removal of any is constant time.
TEST_F(HloComputationTest, ManyUsers) {
  constexpr int kUsers = 100000;
  HloComputation::Builder builder("entry");
  HloInstruction* p = builder.AddInstruction(Parameter(0, F32Scalar()));
  std::vector<HloInstruction*> users;
  for (int i = 0; i < kUsers; ++i) {
    users.push_back(builder.AddInstruction(Unary(HloOpcode::kNegate, p)));
  }
  HloComputation* entry = module_.AddEntryComputation(builder.Build(p));
  for (HloInstruction* user : users) {
    ASSERT_TRUE(entry->RemoveInstruction(user).ok());
  }
  EXPECT_EQ(p->user_count(), 0);
  entry->Cleanup();
  EXPECT_EQ(entry->instruction_count(), 1);
}

}  // namespace
}  // namespace xla
