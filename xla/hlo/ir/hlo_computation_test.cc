// Building, storage, order, callers and parameters.

#include "xla/hlo/ir/hlo_computation.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/dfs_hlo_visitor_with_default.h"
#include "xla/hlo/ir/hlo_computation_test_base.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// --- Building and storage

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

// --- Callers and callees

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

// --- Facts

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
