// Fusion surgery, async chains, and the graph after random surgery.

#include <cstdint>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

constexpr auto kLoop = HloInstruction::FusionKind::kLoop;

// Both ends of every edge know it, once.
void ExpectConsistent(HloModule& module) {
  for (HloComputation* computation : module.computations()) {
    for (HloInstruction* inst : computation->instructions()) {
      for (HloInstruction* operand : inst->operands()) {
        ASSERT_NE(operand, nullptr) << inst->name();
        EXPECT_EQ(operand->parent(), computation) << inst->name();
        EXPECT_EQ(absl::c_count(operand->users(), inst), 1) << inst->name();
      }
      for (int64_t i = 0; i < inst->user_count(); ++i) {
        HloInstruction* user = inst->users()[i];
        EXPECT_TRUE(absl::c_linear_search(user->operands(), inst));
        EXPECT_EQ(inst->UserId(user), i);
      }
      for (HloInstruction* successor : inst->control_successors()) {
        EXPECT_EQ(absl::c_count(successor->control_predecessors(), inst), 1);
      }
      for (HloComputation* callee : inst->called_computations()) {
        EXPECT_TRUE(absl::c_linear_search(callee->caller_instructions(), inst));
      }
      if (inst->opcode() == HloOpcode::kFusion) {
        ASSERT_EQ(inst->operand_count(), inst->fused_parameters().size());
        for (int64_t i = 0; i < inst->operand_count(); ++i) {
          EXPECT_EQ(inst->fused_parameter(i)->parameter_number(), i);
          EXPECT_EQ(inst->fused_parameter(i)->shape(),
                    inst->operand(i)->shape());
        }
        EXPECT_EQ(inst->shape(), inst->fused_expression_root()->shape());
      }
    }
  }
}

class FusionTest : public ::testing::Test {
 protected:
  FusionTest() : module_("test", HloModuleConfig()) {}

  // p0, p1; neg = -p0; exp = e^neg; mul = exp * p1; root tuple if asked for.
  void Build() {
    HloComputation::Builder builder("entry");
    p0_ = builder.AddInstruction(
        HloInstruction::CreateParameter(0, shape_, "p0"));
    p1_ = builder.AddInstruction(
        HloInstruction::CreateParameter(1, shape_, "p1"));
    neg_ = builder.AddInstruction(
        HloInstruction::CreateUnary(shape_, HloOpcode::kNegate, p0_));
    exp_ = builder.AddInstruction(
        HloInstruction::CreateUnary(shape_, HloOpcode::kExp, neg_));
    mul_ = builder.AddInstruction(
        HloInstruction::CreateBinary(shape_, HloOpcode::kMultiply, exp_, p1_));
    entry_ = module_.AddEntryComputation(builder.Build());
  }

  HloFusionInstruction* Fuse(HloInstruction* root) {
    auto* fusion = entry_->AddInstruction(
        HloInstruction::CreateFusion(root->shape(), kLoop, root));
    EXPECT_TRUE(root->ReplaceAllUsesWith(fusion).ok());
    EXPECT_TRUE(entry_->RemoveInstruction(root).ok());
    return Cast<HloFusionInstruction>(fusion);
  }

  const Shape shape_ = ShapeUtil::MakeShape(F32, {4});
  HloModule module_;
  HloComputation* entry_ = nullptr;
  HloInstruction *p0_, *p1_, *neg_, *exp_, *mul_;
};

TEST_F(FusionTest, FuseProducersOneByOne) {
  Build();
  HloFusionInstruction* fusion = Fuse(mul_);
  EXPECT_THAT(fusion->operands(), ElementsAre(exp_, p1_));
  HloInstruction* fused = fusion->FuseInstruction(exp_);
  EXPECT_EQ(fused->opcode(), HloOpcode::kExp);
  EXPECT_EQ(fused->parent(), fusion->fused_instructions_computation());
  EXPECT_TRUE(fused->IsFused());
  EXPECT_TRUE(exp_->IsDead());
  ASSERT_TRUE(entry_->RemoveInstruction(exp_).ok());
  fusion->FuseInstruction(neg_);
  ASSERT_TRUE(entry_->RemoveInstruction(neg_).ok());
  EXPECT_THAT(fusion->operands(), ElementsAre(p1_, p0_));
  EXPECT_EQ(fusion->fused_instruction_count(), 5);
  EXPECT_TRUE(fusion->IsElementwise());
  EXPECT_TRUE(fusion->IsLoopFusion());
  EXPECT_EQ(fusion->ToCategory(), "loop fusion");
  ExpectConsistent(module_);
}

TEST_F(FusionTest, OperandUsedTwiceBecomesOneParameter) {
  Build();
  HloInstruction* square = entry_->AddInstruction(
      HloInstruction::CreateBinary(shape_, HloOpcode::kMultiply, p0_, p0_));
  HloFusionInstruction* fusion = Fuse(square);
  EXPECT_THAT(fusion->operands(), ElementsAre(p0_));
  ExpectConsistent(module_);
}

TEST_F(FusionTest, FusedProducerWithOtherUsersBecomesAnOutput) {
  Build();
  HloInstruction* other = entry_->AddInstruction(
      HloInstruction::CreateUnary(shape_, HloOpcode::kLog, exp_));
  HloFusionInstruction* fusion = Fuse(mul_);
  fusion->FuseInstructionIntoMultiOutput(exp_);
  EXPECT_TRUE(exp_->IsDead());
  ASSERT_TRUE(entry_->RemoveInstruction(exp_).ok());
  EXPECT_TRUE(fusion->IsMultiOutputFusion());
  EXPECT_EQ(other->operand(0)->opcode(), HloOpcode::kGetTupleElement);
  EXPECT_EQ(other->operand(0)->tuple_index(), 1);
  EXPECT_EQ(other->operand(0)->operand(0), fusion);
  EXPECT_EQ(entry_->root_instruction()->opcode(), HloOpcode::kGetTupleElement);
  EXPECT_EQ(entry_->root_instruction()->tuple_index(), 0);
  ExpectConsistent(module_);
}

TEST_F(FusionTest, FusedProducerWithoutOtherUsersIsNoOutput) {
  Build();
  HloFusionInstruction* fusion = Fuse(mul_);
  fusion->FuseInstructionIntoMultiOutput(exp_);
  EXPECT_FALSE(fusion->IsMultiOutputFusion());
  EXPECT_TRUE(exp_->IsDead());
  ExpectConsistent(module_);
}

TEST_F(FusionTest, MergeProducerFusion) {
  Build();
  HloFusionInstruction* producer = Fuse(exp_);
  producer->FuseInstruction(neg_);
  HloFusionInstruction* consumer = Fuse(mul_);
  consumer->MergeFusionInstruction(producer);
  EXPECT_TRUE(producer->IsDead());
  ASSERT_TRUE(entry_->RemoveInstruction(producer).ok());
  EXPECT_THAT(consumer->operands(), ElementsAre(p1_, p0_));
  EXPECT_EQ(consumer->fused_instruction_count(), 5);
  const HloInstruction* root = consumer->fused_expression_root();
  EXPECT_EQ(root->opcode(), HloOpcode::kMultiply);
  EXPECT_EQ(root->operand(0)->opcode(), HloOpcode::kExp);
  EXPECT_EQ(root->operand(0)->operand(0)->opcode(), HloOpcode::kNegate);
  ExpectConsistent(module_);
}

TEST_F(FusionTest, MergeMultiOutputProducerIntoMultiOutput) {
  Build();
  HloInstruction* other = entry_->AddInstruction(
      HloInstruction::CreateUnary(shape_, HloOpcode::kLog, neg_));
  HloFusionInstruction* producer = Fuse(exp_);
  producer->FuseInstructionIntoMultiOutput(neg_);
  ASSERT_TRUE(entry_->RemoveInstruction(neg_).ok());
  ASSERT_TRUE(producer->IsMultiOutputFusion());
  HloFusionInstruction* consumer = Fuse(mul_);
  const int64_t computations = module_.computation_count();
  consumer->MergeFusionInstructionIntoMultiOutput(producer);
  EXPECT_EQ(module_.computation_count(), computations - 1);
  // The product, and the negation for the logarithm; nothing else.
  EXPECT_EQ(consumer->shape().tuple_shapes().size(), 2);
  EXPECT_EQ(other->operand(0)->operand(0), consumer);
  EXPECT_EQ(other->operand(0)->tuple_index(), 1);
  EXPECT_EQ(entry_->root_instruction()->operand(0), consumer);
  ExpectConsistent(module_);
}

// What waits for the producer's tuple waits for its elements.
TEST_F(FusionTest, MergeKeepsTheOrderBehindATuple) {
  Build();
  entry_->AddInstruction(
      HloInstruction::CreateUnary(shape_, HloOpcode::kLog, neg_));
  HloFusionInstruction* producer = Fuse(exp_);
  producer->FuseInstructionIntoMultiOutput(neg_);
  ASSERT_TRUE(entry_->RemoveInstruction(neg_).ok());
  ASSERT_TRUE(producer->IsMultiOutputFusion());
  HloComputation* body = producer->fused_instructions_computation();
  HloInstruction* late = body->AddInstruction(HloInstruction::CreateUnary(
      shape_, HloOpcode::kCos, body->parameter_instruction(0)));
  ASSERT_TRUE(body->root_instruction()->AddControlDependencyTo(late).ok());
  HloFusionInstruction* consumer = Fuse(mul_);
  consumer->MergeFusionInstructionIntoMultiOutput(producer);
  int64_t found = 0;
  for (const HloInstruction* inner : consumer->fused_instructions()) {
    if (inner->opcode() != HloOpcode::kCos) continue;
    ++found;
    EXPECT_EQ(inner->control_predecessors().size(), 2);
  }
  EXPECT_EQ(found, 1);
  ExpectConsistent(module_);
}

TEST_F(FusionTest, MergeAddsNoOutputThatIsThereOrGiven) {
  Build();
  // A producer with the outputs p0, v, v, all of which are read.
  HloFusionInstruction* producer = Fuse(exp_);
  producer->FuseInstructionIntoMultiOutput(neg_);
  ASSERT_TRUE(entry_->RemoveInstruction(neg_).ok());
  HloComputation* body = producer->fused_instructions_computation();
  HloInstruction* v = body->root_instruction()->mutable_operand(0);
  HloInstruction* parameter = body->parameter_instruction(0);
  HloInstruction* tuple =
      body->AddInstruction(HloInstruction::CreateTuple({parameter, v, v}));
  body->set_root_instruction(tuple, /*accept_different_shape=*/true);
  *producer->mutable_shape() = tuple->shape();
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < 3; ++i) {
    elements.push_back(entry_->AddInstruction(
        HloInstruction::CreateGetTupleElement(shape_, producer, i)));
  }
  HloInstruction* product = entry_->AddInstruction(HloInstruction::CreateBinary(
      shape_, HloOpcode::kMultiply, elements[0], elements[1]));
  HloInstruction* results = entry_->AddInstruction(HloInstruction::CreateTuple(
      {product, elements[0], elements[1], elements[2]}));
  entry_->set_root_instruction(results, /*accept_different_shape=*/true);
  ASSERT_TRUE(entry_->RemoveInstruction(mul_).ok());
  HloFusionInstruction* consumer = Fuse(product);
  consumer->MergeFusionInstructionIntoMultiOutput(producer);
  EXPECT_EQ(consumer->shape().tuple_shapes().size(), 2);
  EXPECT_EQ(results->operand(1), p0_);
  EXPECT_EQ(results->operand(2), results->operand(3));
  EXPECT_EQ(results->operand(2)->operand(0), consumer);
}

TEST_F(FusionTest, MergeSiblings) {
  Build();
  HloInstruction* log = entry_->AddInstruction(
      HloInstruction::CreateUnary(shape_, HloOpcode::kLog, p1_));
  HloInstruction* tuple =
      entry_->AddInstruction(HloInstruction::CreateTuple({log, mul_}));
  entry_->set_root_instruction(tuple, /*accept_different_shape=*/true);
  HloFusionInstruction* left = Fuse(log);
  HloFusionInstruction* right = Fuse(mul_);
  right->MergeFusionInstructionIntoMultiOutput(left);
  EXPECT_EQ(tuple->operand(0)->operand(0), right);
  EXPECT_EQ(tuple->operand(1)->operand(0), right);
  EXPECT_THAT(right->operands(), ElementsAre(exp_, p1_)) << "p1 once";
  ExpectConsistent(module_);
}

TEST_F(FusionTest, DefuseGivesTheInstructionsBack) {
  Build();
  HloFusionInstruction* fusion = Fuse(mul_);
  fusion->FuseInstruction(exp_);
  ASSERT_TRUE(entry_->RemoveInstruction(exp_).ok());
  HloInstruction* base = fusion;
  ASSERT_TRUE(base->Defuse().ok());
  EXPECT_EQ(entry_->root_instruction()->opcode(), HloOpcode::kMultiply);
  EXPECT_EQ(entry_->root_instruction()->operand(0)->opcode(), HloOpcode::kExp);
  EXPECT_EQ(entry_->root_instruction()->operand(0)->operand(0), neg_);
  EXPECT_EQ(module_.computation_count(), 1);
  ExpectConsistent(module_);
}

TEST_F(FusionTest, UnfuseGoesFromTheParametersOn) {
  Build();
  HloFusionInstruction* fusion = Fuse(mul_);
  HloInstruction* fused_exp = fusion->FuseInstruction(exp_);
  HloInstruction* fused_neg = fusion->FuseInstruction(neg_);
  const int64_t count = fusion->fused_instruction_count();
  EXPECT_FALSE(fusion->UnfuseInstruction(fused_exp).ok());
  EXPECT_EQ(fusion->fused_instruction_count(), count);
  ASSERT_TRUE(fusion->UnfuseInstruction(fused_neg).ok());
  auto unfused = fusion->UnfuseInstruction(fused_exp);
  ASSERT_TRUE(unfused.ok()) << unfused.status();
  EXPECT_EQ((*unfused)->parent(), entry_);
  EXPECT_EQ((*unfused)->operand(0)->opcode(), HloOpcode::kNegate);
  EXPECT_EQ((*unfused)->operand(0)->operand(0), p0_);
  EXPECT_TRUE(fusion->IsUserOf(*unfused));
  for (const HloInstruction* inner : fusion->fused_instructions()) {
    EXPECT_NE(inner->opcode(), HloOpcode::kExp);
    EXPECT_NE(inner->opcode(), HloOpcode::kNegate);
  }
  ExpectConsistent(module_);
}

TEST_F(FusionTest, ReplacingAnOperandByAnotherLeavesNoDuplicate) {
  Build();
  HloFusionInstruction* fusion = Fuse(mul_);
  ASSERT_TRUE(exp_->ReplaceAllUsesWith(p1_).ok());
  EXPECT_THAT(fusion->operands(), ElementsAre(p1_));
  ExpectConsistent(module_);
}

TEST_F(FusionTest, PermuteOperands) {
  Build();
  HloFusionInstruction* fusion = Fuse(mul_);
  ASSERT_TRUE(fusion->PermuteFusionOperands({1, 0}).ok());
  EXPECT_THAT(fusion->operands(), ElementsAre(p1_, exp_));
  EXPECT_EQ(fusion->fused_expression_root()->operand(0)->parameter_number(), 1);
  EXPECT_FALSE(fusion->PermuteFusionOperands({0, 0}).ok());
  EXPECT_FALSE(fusion->PermuteFusionOperands({0}).ok());
  ExpectConsistent(module_);
}

TEST_F(FusionTest, PermuteOperandsSaysWhereEachGoes) {
  HloComputation::Builder builder("e");
  std::vector<HloInstruction*> p;
  for (int i = 0; i < 3; ++i) {
    p.push_back(builder.AddInstruction(
        HloInstruction::CreateParameter(i, shape_, "p")));
  }
  HloInstruction* clamp = builder.AddInstruction(HloInstruction::CreateTernary(
      shape_, HloOpcode::kClamp, p[0], p[1], p[2]));
  HloComputation* entry = module_.AddEntryComputation(builder.Build());
  auto* fusion = Cast<HloFusionInstruction>(entry->CreateFusionInstruction(
      {clamp}, HloInstruction::FusionKind::kLoop));
  std::vector<HloInstruction*> old(fusion->operands().begin(),
                                   fusion->operands().end());
  HloInstruction* first = fusion->fused_parameter(0);
  ASSERT_TRUE(fusion->PermuteFusionOperands({2, 0, 1}).ok());
  EXPECT_THAT(fusion->operands(), ElementsAre(old[1], old[2], old[0]));
  EXPECT_EQ(first->parameter_number(), 2);
}

TEST_F(FusionTest, AliasingFollowsOperandsAndOutputs) {
  Build();
  HloFusionInstruction* fusion = Fuse(mul_);
  fusion->set_output_to_operand_aliasing({{{}, {1, {}}}});  // p1
  ASSERT_TRUE(fusion->PermuteFusionOperands({1, 0}).ok());
  EXPECT_EQ(fusion->output_to_operand_aliasing()[0].second.first, 0);
  ASSERT_TRUE(fusion->PermuteFusionOperands({1, 0}).ok());
  HloInstruction* other = entry_->AddInstruction(
      HloInstruction::CreateUnary(shape_, HloOpcode::kLog, exp_));
  fusion->FuseInstructionIntoMultiOutput(exp_);
  EXPECT_FALSE(other->IsUserOf(exp_));
  ASSERT_EQ(fusion->output_to_operand_aliasing().size(), 1);
  const auto& [output, operand] = fusion->output_to_operand_aliasing()[0];
  EXPECT_EQ(output, ShapeIndex({0}));
  EXPECT_EQ(fusion->operand(operand.first), p1_);
  // The aliased operand goes, and its aliasing with it.
  ASSERT_TRUE(p1_->ReplaceUseWith(fusion, neg_).ok());
  EXPECT_EQ(fusion->operand_count(), 1);
  fusion->FuseInstruction(neg_);
  EXPECT_TRUE(fusion->output_to_operand_aliasing().empty());
}

TEST_F(FusionTest, CloneOwnsItsComputation) {
  Build();
  HloFusionInstruction* fusion = Fuse(mul_);
  HloInstruction* clone = entry_->AddInstruction(fusion->Clone());
  EXPECT_NE(clone->fused_instructions_computation(),
            fusion->fused_instructions_computation());
  EXPECT_TRUE(
      clone->Identical(*fusion, std::equal_to<const HloInstruction*>(),
                       [](const HloComputation* a, const HloComputation* b) {
                         return *a == *b;
                       }));
  EXPECT_EQ(clone->fusion_kind(), kLoop);
  ExpectConsistent(module_);
}

TEST_F(FusionTest, CallsTakeInstructionsInToo) {
  Build();
  HloInstruction* call =
      entry_->AddInstruction(HloInstruction::CreateCall(shape_, mul_));
  ASSERT_TRUE(mul_->ReplaceAllUsesWith(call).ok());
  ASSERT_TRUE(entry_->RemoveInstruction(mul_).ok());
  call->AppendInstructionIntoCalledComputation(exp_);
  EXPECT_THAT(call->operands(), ElementsAre(p1_, neg_));
  EXPECT_EQ(call->to_apply()->num_parameters(), 2);
  EXPECT_TRUE(exp_->IsDead());
  ExpectConsistent(module_);
}

TEST_F(FusionTest, AsyncChain) {
  Build();
  auto done = entry_->CreateAsyncInstructions(mul_, {}, "thread");
  ASSERT_TRUE(done.ok()) << done.status();
  HloInstruction* start = (*done)->async_chain_start();
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->opcode(), HloOpcode::kAsyncStart);
  EXPECT_EQ(start->async_chain_done(), *done);
  EXPECT_EQ(start->async_chain_next(), *done);
  EXPECT_EQ((*done)->async_wrapped_opcode(), HloOpcode::kMultiply);
  EXPECT_EQ((*done)->async_execution_thread(), "thread");
  EXPECT_EQ((*done)->async_wrapped_computation()->execution_thread(), "thread");
  EXPECT_TRUE((*done)->IsAsyncInstructionWithExecutionThread("thread"));
  EXPECT_TRUE(start->IsAsyncProducer());
  EXPECT_TRUE((*done)->IsAsyncConsumer());
  EXPECT_FALSE(start->HasSideEffect());
  EXPECT_THAT(Cast<HloAsyncInstruction>(*done)->GetAsyncChain(),
              ElementsAre(start, *done));
  ExpectConsistent(module_);
}

TEST_F(FusionTest, AsyncDoneOfAParameterKnowsWhatItIsTold) {
  Build();
  const Shape state =
      ShapeUtil::MakeTupleShape({ShapeUtil::MakeTupleShape({shape_}), shape_,
                                 ShapeUtil::MakeShape(U32, {})});
  auto p = HloInstruction::CreateParameter(0, state, "state");
  auto known =
      HloInstruction::CreateAsyncDone(shape_, p.get(), HloOpcode::kExp);
  EXPECT_EQ(known->async_wrapped_opcode(), HloOpcode::kExp);
  EXPECT_EQ(known->async_chain_start(), nullptr);
  EXPECT_EQ(known->async_wrapped_computation(), nullptr);
  auto unknown = HloInstruction::CreateAsyncDone(shape_, p.get());
  EXPECT_EQ(unknown->async_wrapped_opcode(), HloOpcode::kAsyncDone);
  EXPECT_FALSE(unknown->HasSideEffect());
}

// Whether no user of `producer`, or of its elements, comes before `consumer`,
// so that moving the producer into the consumer makes no cycle.
bool NoUserIsBefore(const std::vector<HloInstruction*>& order,
                    const HloInstruction* consumer,
                    const HloInstruction* producer) {
  for (const HloInstruction* inst : order) {
    if (inst == consumer) return true;
    if (inst->opcode() == HloOpcode::kGetTupleElement) continue;
    for (const HloInstruction* operand : inst->operands()) {
      if (operand->LatestNonGteAncestor() == producer) return false;
    }
  }
  return true;
}

// A number, or one per element of a tuple.
using Value = std::vector<uint32_t>;

// What the root of a computation of sums, products, tuples and fusions yields.
Value Evaluate(const HloComputation* computation,
               const std::vector<Value>& arguments) {
  absl::flat_hash_map<const HloInstruction*, Value> values;
  for (const HloInstruction* inst : computation->MakeInstructionPostOrder()) {
    std::vector<Value> operands;
    for (const HloInstruction* operand : inst->operands()) {
      operands.push_back(values.at(operand));
    }
    Value& value = values[inst];
    switch (inst->opcode()) {
      case HloOpcode::kParameter:
        value = arguments.at(inst->parameter_number());
        break;
      case HloOpcode::kAdd:
        value = {operands[0].at(0) + operands[1].at(0)};
        break;
      case HloOpcode::kMultiply:
        value = {operands[0].at(0) * operands[1].at(0) + 1};
        break;
      case HloOpcode::kTuple:
        for (const Value& operand : operands) value.push_back(operand.at(0));
        break;
      case HloOpcode::kGetTupleElement:
        value = {operands[0].at(inst->tuple_index())};
        break;
      case HloOpcode::kFusion:
        value = Evaluate(inst->fused_instructions_computation(), operands);
        break;
      default:
        ADD_FAILURE() << inst->name();
    }
  }
  return values.at(computation->root_instruction());
}

class RandomSurgeryTest : public FusionTest {
 protected:
  enum Step { kFuse, kMerge, kFuseOutput, kMergeOutput, kDefuse, kReplace };

  HloComputation* RandomGraph(HloModule& module) {
    HloComputation::Builder builder("entry");
    std::vector<HloInstruction*> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(builder.AddInstruction(
          HloInstruction::CreateParameter(i, shape_, absl::StrCat("p", i))));
    }
    for (int i = 0; i < 60; ++i) {
      all.push_back(builder.AddInstruction(HloInstruction::CreateBinary(
          shape_, i % 3 == 0 ? HloOpcode::kAdd : HloOpcode::kMultiply,
          all[random_() % all.size()], all[all.size() - 1 - random_() % 3])));
    }
    return module.AddEntryComputation(builder.Build());
  }

  void MakeFusion(HloInstruction* root) {
    if (root->opcode() != HloOpcode::kAdd &&
        root->opcode() != HloOpcode::kMultiply) {
      return;
    }
    HloComputation* entry = root->parent();
    HloInstruction* fusion = entry->AddInstruction(
        HloInstruction::CreateFusion(shape_, kLoop, root));
    ASSERT_TRUE(root->ReplaceAllUsesWith(fusion).ok());
    ASSERT_TRUE(entry->RemoveInstruction(root).ok());
  }

  // The first producer that may join the fusion does.
  void Grow(HloInstruction* fusion, bool into_outputs,
            const std::vector<HloInstruction*>& order) {
    for (HloInstruction* operand : fusion->unique_operands()) {
      HloInstruction* producer = operand->LatestNonGteAncestor();
      const bool is_fusion = producer->opcode() == HloOpcode::kFusion;
      if (!producer->IsFusible()) continue;
      if (producer->IsRoot() && !into_outputs) continue;
      if (into_outputs ? !NoUserIsBefore(order, fusion, producer)
                       : producer->user_count() != 1 || operand != producer) {
        continue;
      }
      HloComputation* entry = producer->parent();
      if (into_outputs && is_fusion) {
        fusion->MergeFusionInstructionIntoMultiOutput(producer);
        ++done_[kMergeOutput];
      } else if (into_outputs) {
        fusion->FuseInstructionIntoMultiOutput(producer);
        ASSERT_TRUE(entry->RemoveInstruction(producer).ok());
        ++done_[kFuseOutput];
      } else {
        is_fusion ? fusion->MergeFusionInstruction(producer)
                  : static_cast<void>(fusion->FuseInstruction(producer));
        ASSERT_TRUE(entry->RemoveInstruction(producer).ok());
        ++done_[is_fusion ? kMerge : kFuse];
      }
      return;
    }
  }

  void RandomStep(HloComputation* entry) {
    const std::vector<HloInstruction*> order =
        entry->MakeInstructionPostOrder();
    std::vector<HloInstruction*> fusions;
    absl::c_copy_if(order, std::back_inserter(fusions),
                    HloPredicateIsOp<HloOpcode::kFusion>);
    HloInstruction* any = order[random_() % order.size()];
    const int kind = random_() % 12;
    if (kind < 4 || fusions.empty()) {
      MakeFusion(any);
      return;
    }
    HloInstruction* fusion = fusions[random_() % fusions.size()];
    if (kind < 10) {
      Grow(fusion, /*into_outputs=*/kind % 2 == 0, order);
    } else if (kind == 10) {
      if (!fusion->shape().IsArray()) return;
      ASSERT_TRUE(fusion->Defuse().ok());
      ++done_[kDefuse];
    } else {
      HloInstruction* other = order[random_() % order.size()];
      if (any == other || any->shape() != other->shape()) return;
      // The earlier replaces the later, so that no cycle arises.
      if (absl::c_find(order, any) < absl::c_find(order, other)) {
        std::swap(any, other);
      }
      ASSERT_TRUE(any->ReplaceAllUsesWith(other).ok());
      ++done_[kReplace];
    }
  }

  std::mt19937 random_;
  int done_[6] = {};
};

// Random fusing, merging, replacing and removing keeps all edges in order, and
// all but replacing keeps the result.
TEST_F(RandomSurgeryTest, KeepsTheGraphConsistent) {
  for (int seed = 0; seed < 30; ++seed) {
    random_.seed(seed);
    HloModule module("random", HloModuleConfig());
    HloComputation* entry = RandomGraph(module);
    for (int step = 0; step < 80; ++step) {
      const std::vector<Value> arguments = {{3}, {5}, {7}};
      const Value before = Evaluate(entry, arguments);
      const int replaced = done_[kReplace];
      RandomStep(entry);
      ExpectConsistent(module);
      if (replaced == done_[kReplace]) {
        EXPECT_EQ(Evaluate(entry, arguments), before);
      }
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " step " << step;
      if (step % 7 == 0) module.Cleanup();
    }
  }
  for (int count : done_) EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace xla
