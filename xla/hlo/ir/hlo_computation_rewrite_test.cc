// Replacing, fusing, calling, comparing and cloning.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_computation_test_base.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

// --- Replacement

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

}  // namespace
}  // namespace xla
