#include "xla/hlo/ir/hlo_instruction.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/dfs_hlo_visitor_with_default.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class HloInstructionTest : public ::testing::Test {
 protected:
  HloInstructionTest() : module_("test", HloModuleConfig()) {}

  HloComputation* Add(HloComputation::Builder& builder, bool entry = true,
                      HloInstruction* root = nullptr) {
    return entry ? module_.AddEntryComputation(builder.Build(root))
                 : module_.AddEmbeddedComputation(builder.Build(root));
  }

  // add(x, y) on scalars.
  HloComputation* AddScalarAdd() {
    HloComputation::Builder builder("add");
    auto* x = builder.AddInstruction(
        HloInstruction::CreateParameter(0, scalar_, "x"));
    auto* y = builder.AddInstruction(
        HloInstruction::CreateParameter(1, scalar_, "y"));
    builder.AddInstruction(
        HloInstruction::CreateBinary(scalar_, HloOpcode::kAdd, x, y));
    return Add(builder, /*entry=*/false);
  }

  std::unique_ptr<HloInstruction> Unary(HloOpcode opcode, HloInstruction* x) {
    return HloInstruction::CreateUnary(x->shape(), opcode, x);
  }
  std::unique_ptr<HloInstruction> Binary(HloOpcode opcode, HloInstruction* x,
                                         HloInstruction* y) {
    return HloInstruction::CreateBinary(x->shape(), opcode, x, y);
  }
  std::unique_ptr<HloInstruction> Param(int64_t i) {
    return HloInstruction::CreateParameter(i, shape_, absl::StrCat("p", i));
  }

  const Shape scalar_ = ShapeUtil::MakeShape(F32, {});
  const Shape shape_ = ShapeUtil::MakeShape(F32, {4, 8});
  HloModule module_;
};

TEST_F(HloInstructionTest, StaysSmall) {
  EXPECT_LE(sizeof(HloInstruction), 320);
}

TEST_F(HloInstructionTest, UsersAreListedOnce) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* square = builder.AddInstruction(Binary(HloOpcode::kMultiply, p, p));
  auto* exp = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  auto* sum = builder.AddInstruction(Binary(HloOpcode::kAdd, square, exp));
  Add(builder);
  EXPECT_THAT(p->users(), ElementsAre(square, exp));
  EXPECT_EQ(p->user_count(), 2);
  EXPECT_EQ(p->UserId(exp), 1);
  EXPECT_TRUE(square->IsUserOf(p));
  EXPECT_FALSE(sum->IsUserOf(p));
  EXPECT_THAT(square->OperandIndices(p), ElementsAre(0, 1));
  EXPECT_THAT(square->unique_operands(), ElementsAre(p));
  EXPECT_TRUE(sum->IsRoot());
  EXPECT_FALSE(sum->IsDead());
}

TEST_F(HloInstructionTest, ManyUsersKeepOrderAndIds) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  std::vector<HloInstruction*> users;
  for (int i = 0; i < 200; ++i) {
    users.push_back(builder.AddInstruction(Unary(HloOpcode::kNegate, p)));
  }
  HloComputation* c = Add(builder);
  EXPECT_THAT(p->users(), ::testing::ElementsAreArray(users));
  for (int i = 0; i < 200; i += 2) {
    ASSERT_TRUE(c->RemoveInstruction(users[i]).ok());
  }
  EXPECT_EQ(p->user_count(), 100);
  for (int64_t i = 0; i < p->user_count(); ++i) {
    EXPECT_EQ(p->UserId(p->users()[i]), i);
  }
}

TEST_F(HloInstructionTest, ReplaceAllUsesWithOneOfTheUsers) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* neg = builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  auto* exp = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  auto* sum = builder.AddInstruction(Binary(HloOpcode::kAdd, exp, p));
  Add(builder);
  // neg(p) takes the place of p everywhere but in neg itself.
  ASSERT_TRUE(p->ReplaceAllUsesWith(neg).ok());
  EXPECT_THAT(p->users(), ElementsAre(neg));
  EXPECT_EQ(neg->operand(0), p);
  EXPECT_EQ(exp->operand(0), neg);
  EXPECT_EQ(sum->operand(1), neg);
  EXPECT_THAT(neg->users(), UnorderedElementsAre(exp, sum));
}

TEST_F(HloInstructionTest, ReplacedRootPassesTheRoleOn) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* neg = builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  HloComputation* c = Add(builder);
  auto* exp = c->AddInstruction(Unary(HloOpcode::kExp, p));
  ASSERT_TRUE(neg->ReplaceAllUsesWith(exp).ok());
  EXPECT_EQ(c->root_instruction(), exp);
  EXPECT_TRUE(exp->IsRoot());
  EXPECT_TRUE(neg->IsDead());
}

TEST_F(HloInstructionTest, ReplaceUsesOfOtherShapesIsRefused) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* s =
      builder.AddInstruction(HloInstruction::CreateParameter(1, scalar_, "s"));
  auto* neg = builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  Add(builder);
  EXPECT_FALSE(p->ReplaceAllUsesWith(s).ok());
  EXPECT_FALSE(p->ReplaceUseWith(neg, s).ok());
  EXPECT_FALSE(neg->ReplaceOperandWith(0, s).ok());
  EXPECT_FALSE(neg->ReplaceOperandWith(1, p).ok());
  EXPECT_FALSE(s->ReplaceUseWith(neg, s).ok()) << "neg does not use s";
  EXPECT_EQ(neg->operand(0), p);
  ASSERT_TRUE(p->ReplaceUseWithDifferentShape(neg, s).ok());
  EXPECT_EQ(neg->operand(0), s);
  EXPECT_TRUE(p->users().empty());
}

TEST_F(HloInstructionTest, NobodyBecomesItsOwnOperand) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* neg = builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  Add(builder);
  EXPECT_FALSE(neg->ReplaceOperandWith(0, neg).ok());
  EXPECT_FALSE(p->ReplaceUseWith(neg, neg).ok());
  EXPECT_FALSE(p->ReplaceUseWith(neg, 0, neg).ok());
  EXPECT_EQ(neg->operand(0), p);
  EXPECT_THAT(p->users(), ElementsAre(neg));
}

TEST_F(HloInstructionTest, ReplaceOneOfTwoEqualOperands) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* q = builder.AddInstruction(Param(1));
  auto* sum = builder.AddInstruction(Binary(HloOpcode::kAdd, p, p));
  Add(builder);
  ASSERT_TRUE(sum->ReplaceOperandWith(0, q).ok());
  EXPECT_THAT(p->users(), ElementsAre(sum));
  ASSERT_TRUE(sum->ReplaceOperandWith(1, q).ok());
  EXPECT_TRUE(p->users().empty());
  EXPECT_THAT(q->users(), ElementsAre(sum));
}

TEST_F(HloInstructionTest, ControlDependencies) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* a = builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  auto* b = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  auto* d = builder.AddInstruction(Unary(HloOpcode::kLog, p));
  Add(builder);
  ASSERT_TRUE(a->AddControlDependencyTo(b).ok());
  ASSERT_TRUE(a->AddControlDependencyTo(b).ok());
  ASSERT_TRUE(b->AddControlDependencyTo(d).ok());
  EXPECT_THAT(a->control_successors(), ElementsAre(b));
  EXPECT_THAT(b->control_predecessors(), ElementsAre(a));
  EXPECT_TRUE(b->HasControlDependencies());
  EXPECT_FALSE(a->AddControlDependencyTo(a).ok()) << "a cycle of one";

  ASSERT_TRUE(b->SafelyDropAllControlDependencies().ok());
  EXPECT_FALSE(b->HasControlDependencies());
  EXPECT_THAT(a->control_successors(), ElementsAre(d));

  ASSERT_TRUE(b->CopyAllControlDepsFrom(d).ok());
  EXPECT_THAT(b->control_predecessors(), ElementsAre(a));
  ASSERT_TRUE(a->RemoveControlDependencyTo(d).ok());
  EXPECT_FALSE(a->RemoveControlDependencyTo(d).ok());
  ASSERT_TRUE(a->DropAllControlDeps().ok());
  EXPECT_FALSE(b->HasControlDependencies());
}

TEST_F(HloInstructionTest, VisitorGoesOperandsFirst) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* a = builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  auto* b = builder.AddInstruction(Unary(HloOpcode::kExp, p));
  auto* sum = builder.AddInstruction(Binary(HloOpcode::kAdd, b, a));
  Add(builder);
  std::vector<HloInstruction*> order;
  FunctionVisitor visitor([&](HloInstruction* inst) {
    order.push_back(inst);
    return absl::OkStatus();
  });
  ASSERT_TRUE(sum->Accept(&visitor).ok());
  EXPECT_THAT(order, ElementsAre(p, b, a, sum));

  order.clear();
  FunctionVisitor by_name([&](HloInstruction* inst) {
    order.push_back(inst);
    return absl::OkStatus();
  });
  ASSERT_TRUE(sum->AcceptWithOperandOrder(
                     &by_name,
                     [](const HloInstruction* x, const HloInstruction* y) {
                       return x->opcode() > y->opcode();
                     })
                  .ok());
  EXPECT_THAT(order, ElementsAre(p, a, b, sum)) << "negate after exponential";
}

TEST_F(HloInstructionTest, CycleThroughControlEdgeIsAnError) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* a = builder.AddInstruction(Unary(HloOpcode::kNegate, p));
  auto* b = builder.AddInstruction(Unary(HloOpcode::kExp, a));
  Add(builder);
  ASSERT_TRUE(b->AddControlDependencyTo(a).ok());
  FunctionVisitor visitor([](HloInstruction*) { return absl::OkStatus(); });
  EXPECT_EQ(b->Accept(&visitor).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(b->DropAllControlDeps().ok());
}

TEST_F(HloInstructionTest, DetachedFromOperandsHasNone) {
  HloComputation::Builder builder("e");
  auto* x =
      builder.AddInstruction(HloInstruction::CreateParameter(0, scalar_, "x"));
  auto* sum = builder.AddInstruction(Binary(HloOpcode::kAdd, x, x));
  builder.AddInstruction(Unary(HloOpcode::kNegate, x));
  HloComputation* computation = Add(builder);
  EXPECT_EQ(x->user_count(), 2);
  sum->DetachFromOperands();
  EXPECT_EQ(sum->operand_count(), 0);
  EXPECT_EQ(x->user_count(), 1);
  EXPECT_TRUE(computation->RemoveInstruction(sum).ok());
}

TEST_F(HloInstructionTest, StackTraceFallsBackToTheSourceLine) {
  HloComputation::Builder builder("e");
  auto* x =
      builder.AddInstruction(HloInstruction::CreateParameter(0, scalar_, "x"));
  EXPECT_EQ(x->GetStackTraceStringFromMetadata(2),
            "  <no source information>\n");
  OpMetadata metadata;
  metadata.set_source_file("f.py");
  metadata.set_source_line(3);
  x->set_metadata(metadata);
  EXPECT_EQ(x->GetStackTraceStringFromMetadata(4), "    f.py:3\n");
  Add(builder);
  FunctionVisitor visitor(
      [](HloInstruction*) { return absl::InternalError("no"); });
  EXPECT_EQ(x->Accept(&visitor).message(),
            "no\nPython Code Location:\n    f.py:3\n");
}

TEST_F(HloInstructionTest, ReplacementsKeepPayloads) {
  const Shape shape = ShapeUtil::MakeShape(F32, {4});
  HloComputation::Builder builder("e");
  auto* p =
      builder.AddInstruction(HloInstruction::CreateParameter(0, shape, "p"));
  auto* old = builder.AddInstruction(
      HloInstruction::CreateUnary(shape, HloOpcode::kNegate, p));
  OpMetadata metadata;
  metadata.mutable_metadata_payload()->set_value("payload");
  old->set_metadata(metadata);
  auto* other = builder.AddInstruction(
      HloInstruction::CreateUnary(shape, HloOpcode::kSin, p));
  HloComputation* entry = module_.AddEntryComputation(builder.Build(old));
  ASSERT_TRUE(entry->ReplaceInstruction(old, other).ok());
  EXPECT_EQ(other->metadata_payload_string(), "payload");
}

TEST_F(HloInstructionTest, NegativeTolerancesDie) {
  HloComputation::Builder builder("e");
  auto* x =
      builder.AddInstruction(HloInstruction::CreateParameter(0, scalar_, "x"));
  ResultAccuracy accuracy;
  accuracy.mutable_tolerance()->set_rtol(-1);
  EXPECT_DEATH(
      HloInstruction::CreateUnary(scalar_, HloOpcode::kExp, x, accuracy),
      "invalid accuracy");
}

TEST_F(HloInstructionTest, DeepChainNeedsNoStack) {
  HloComputation::Builder builder("c");
  HloInstruction* last = builder.AddInstruction(Param(0));
  for (int i = 0; i < 200000; ++i) {
    last = builder.AddInstruction(Unary(HloOpcode::kNegate, last));
  }
  Add(builder);
  int64_t visited = 0;
  FunctionVisitor visitor([&](HloInstruction*) {
    ++visited;
    return absl::OkStatus();
  });
  ASSERT_TRUE(last->Accept(&visitor).ok());
  EXPECT_EQ(visited, 200001);
}

TEST_F(HloInstructionTest, GathersReadEachElementOncePerResult) {
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  auto i =
      HloInstruction::CreateParameter(1, ShapeUtil::MakeShape(S32, {16}), "i");
  const auto dims = HloGatherInstruction::MakeGatherDimNumbers(
      /*offset_dims=*/{1}, /*collapsed_slice_dims=*/{0},
      /*start_index_map=*/{0}, /*index_vector_dim=*/1);
  auto gather = HloInstruction::CreateGather(
      ShapeUtil::MakeShape(F32, {16, 8}), p.get(), i.get(), dims,
      /*slice_sizes=*/{1, 8}, /*indices_are_sorted=*/false);
  EXPECT_FALSE(gather->ReusesOperandElements(0));
  EXPECT_FALSE(gather->ReusesOperandElements(1));
}

TEST_F(HloInstructionTest, TolerancesAsText) {
  ResultAccuracy::Tolerance tolerance;
  tolerance.set_atol(0.5);
  tolerance.set_rtol(1e-5);
  tolerance.set_ulps(3);
  EXPECT_EQ(ResultAccuracyToleranceToString(tolerance),
            "tolerance={atol=0.5,rtol=1e-05,ulps=3}");
}

TEST_F(HloInstructionTest, ChannelIdsCountUnlessIgnored) {
  HloComputation* add = AddScalarAdd();
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  auto reduce = [&](std::optional<int64_t> channel) {
    return HloInstruction::CreateAllReduce(
        shape_, {p.get()}, add, std::make_shared<CollectiveDeviceList>(),
        /*constrain_layout=*/false, channel, /*use_global_device_ids=*/false);
  };
  auto one = reduce(1), two = reduce(2), none = reduce(std::nullopt);
  EXPECT_FALSE(one->Identical(*two));
  EXPECT_TRUE(one->IdenticalIgnoringChannelIdValues(*two));
  EXPECT_FALSE(one->IdenticalIgnoringChannelIdValues(*none));
  EXPECT_TRUE(one->IsCrossModuleAllReduce());
  EXPECT_TRUE(none->IsCrossReplicaAllReduce());
}

TEST_F(HloInstructionTest, SideEffects) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* token = builder.AddInstruction(HloInstruction::CreateToken());
  auto* send = builder.AddInstruction(
      HloInstruction::CreateSend(p, token, 1, /*is_host_transfer=*/false));
  auto* call = builder.AddInstruction(
      HloInstruction::CreateCustomCall(shape_, {p}, "target"));
  Add(builder, true, call);
  EXPECT_TRUE(send->HasSideEffect());
  EXPECT_FALSE(send->IsFusible());
  EXPECT_FALSE(call->HasSideEffect());
  Cast<HloCustomCallInstruction>(call)->set_custom_call_has_side_effect(true);
  EXPECT_TRUE(call->HasSideEffect());
  EXPECT_FALSE(p->HasSideEffect());

  // Through a call.
  HloComputation::Builder outer("outer");
  auto* q = outer.AddInstruction(Param(0));
  HloComputation::Builder inner("inner");
  auto* r = inner.AddInstruction(Param(0));
  auto* effect = inner.AddInstruction(
      HloInstruction::CreateCustomCall(shape_, {r}, "target"));
  Cast<HloCustomCallInstruction>(effect)->set_custom_call_has_side_effect(true);
  HloComputation* callee = Add(inner, /*entry=*/false);
  auto* caller =
      outer.AddInstruction(HloInstruction::CreateCall(shape_, {q}, callee));
  Add(outer, /*entry=*/false);
  EXPECT_FALSE(caller->HasSideEffectNoRecurse());
  EXPECT_TRUE(caller->HasSideEffect());
}

TEST_F(HloInstructionTest, Elementwise) {
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  auto q = HloInstruction::CreateParameter(1, shape_, "q");
  auto i =
      HloInstruction::CreateParameter(2, ShapeUtil::MakeShape(S32, {}), "i");
  EXPECT_TRUE(Binary(HloOpcode::kAdd, p.get(), q.get())->IsElementwiseBinary());
  auto dus = HloInstruction::CreateDynamicUpdateSlice(shape_, p.get(), q.get(),
                                                      {i.get(), i.get()});
  EXPECT_FALSE(dus->IsElementwise());
  EXPECT_TRUE(dus->IsElementwiseOnOperand(0));
  EXPECT_FALSE(dus->IsElementwiseOnOperand(1));
  auto transpose = HloInstruction::CreateTranspose(
      ShapeUtil::MakeShape(F32, {8, 4}), p.get(), {1, 0});
  EXPECT_FALSE(transpose->IsElementwise());
  EXPECT_FALSE(transpose->ReusesOperandElements(0));
  EXPECT_EQ(transpose->MapUnaryOutputDimToOperandDim(0), 1);
  auto broadcast = HloInstruction::CreateBroadcast(
      ShapeUtil::MakeShape(F32, {2, 4, 8}), p.get(), {1, 2});
  EXPECT_TRUE(broadcast->ReusesOperandElements(0));
  EXPECT_EQ(broadcast->MapUnaryOutputDimToOperandDim(0), std::nullopt);
  EXPECT_EQ(broadcast->MapUnaryOutputDimToOperandDim(2), 1);
}

TEST_F(HloInstructionTest, DotReusesUnlessTheOtherSideIsAVector) {
  auto m = HloInstruction::CreateParameter(0, shape_, "m");
  auto v =
      HloInstruction::CreateParameter(1, ShapeUtil::MakeShape(F32, {8}), "v");
  DotDimensionNumbers dnums;
  dnums.add_lhs_contracting_dimensions(1);
  dnums.add_rhs_contracting_dimensions(0);
  auto dot = HloInstruction::CreateDot(ShapeUtil::MakeShape(F32, {4}), m.get(),
                                       v.get(), dnums, PrecisionConfig());
  EXPECT_FALSE(dot->ReusesOperandElements(0));
  EXPECT_TRUE(dot->ReusesOperandElements(1));
}

TEST_F(HloInstructionTest, FrontendAttributes) {
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  EXPECT_FALSE(p->has_frontend_attributes());
  EXPECT_EQ(p->get_frontend_attribute("a"), std::nullopt);
  EXPECT_TRUE(p->add_frontend_attribute("a", "1"));
  EXPECT_FALSE(p->add_frontend_attribute("a", "2"));
  EXPECT_EQ(p->get_frontend_attribute("a"), "1");
  p->set_frontend_attribute("a", "3");
  EXPECT_EQ(p->get_frontend_attribute("a"), "3");
  EXPECT_EQ(p->erase_frontend_attribute("a"), 1);
  EXPECT_FALSE(p->has_frontend_attributes());
}

// The end of a chain stays if a link of it has to: a start needs an end.
TEST_F(HloInstructionTest, NoRemovalTakesTheEndOfWhatStays) {
  HloComputation::Builder body("body");
  body.AddInstruction(Unary(HloOpcode::kExp, body.AddInstruction(Param(0))));
  HloComputation* callee = Add(body, /*entry=*/false);
  const Shape chain =
      ShapeUtil::MakeTupleShape({ShapeUtil::MakeTupleShape({shape_}), shape_,
                                 ShapeUtil::MakeShape(U32, {})});
  HloComputation::Builder builder("entry");
  auto* p = builder.AddInstruction(Param(0));
  auto* start = builder.AddInstruction(
      HloInstruction::CreateAsyncStart(chain, {p}, callee));
  auto* update =
      builder.AddInstruction(HloInstruction::CreateAsyncUpdate(chain, start));
  auto* done =
      builder.AddInstruction(HloInstruction::CreateAsyncDone(shape_, update));
  auto* reader = builder.AddInstruction(Unary(HloOpcode::kNegate, done));
  auto* root = builder.AddInstruction(Unary(HloOpcode::kSin, p));
  HloComputation* entry = Add(builder, /*entry=*/true, root);
  ASSERT_TRUE(p->AddControlDependencyTo(update).ok());

  ASSERT_TRUE(entry->RemoveInstructionAndUnusedOperands(reader).ok());
  EXPECT_EQ(entry->instruction_count(), 5);
  EXPECT_TRUE(done->IsDead() && done->parent() == entry);

  ASSERT_TRUE(update->DropAllControlDeps().ok());
  reader = entry->AddInstruction(Unary(HloOpcode::kNegate, done));
  ASSERT_TRUE(entry->RemoveInstructionAndUnusedOperands(reader).ok());
  EXPECT_EQ(entry->instruction_count(), 2);
}

TEST_F(HloInstructionTest, LatestNonGteAncestor) {
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  auto inner = HloInstruction::CreateTuple({p.get(), p.get()});
  auto outer = HloInstruction::CreateTuple({p.get(), inner.get()});
  auto one = HloInstruction::CreateGetTupleElement(outer.get(), 1);
  auto zero = HloInstruction::CreateGetTupleElement(one.get(), 0);
  auto [ancestor, index] = zero->LatestNonGteAncestorAndIndex();
  EXPECT_EQ(ancestor, outer.get());
  EXPECT_EQ(index, ShapeIndex({1, 0}));
  EXPECT_EQ(zero->LatestNonGteAncestor(), outer.get());
}

TEST_F(HloInstructionTest, CallersFollowCalledComputations) {
  HloComputation* add = AddScalarAdd();
  HloComputation* add2 = AddScalarAdd();
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(Param(0));
  auto* zero = builder.AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::CreateR0<float>(0)));
  auto* reduce = builder.AddInstruction(HloInstruction::CreateReduce(
      ShapeUtil::MakeShape(F32, {4}), p, zero, {1}, add));
  HloComputation* c = Add(builder);
  EXPECT_THAT(add->caller_instructions(), ElementsAre(reduce));
  reduce->set_to_apply(add2);
  EXPECT_TRUE(add->caller_instructions().empty());
  EXPECT_THAT(add2->caller_instructions(), ElementsAre(reduce));
  reduce->ReplaceCalledComputations([&](HloComputation*) { return add; });
  EXPECT_EQ(reduce->to_apply(), add);
  EXPECT_THAT(add->caller_instructions(), ElementsAre(reduce));
  EXPECT_EQ(c->callee_computations().size(), 1);
}

TEST_F(HloInstructionTest, BroadcastSequence) {
  HloComputation::Builder builder("c");
  auto* p = builder.AddInstruction(HloInstruction::CreateParameter(
      0, ShapeUtil::MakeShape(F32, {4, 1}), "p"));
  auto* out = builder.AddInstruction(HloInstruction::CreateBroadcastSequence(
      shape_, p, [&](std::unique_ptr<HloInstruction> inst) {
        return builder.AddInstruction(std::move(inst));
      }));
  Add(builder);
  EXPECT_EQ(out->opcode(), HloOpcode::kBroadcast);
  EXPECT_THAT(out->dimensions(), ElementsAre(0));
  EXPECT_EQ(out->operand(0)->opcode(), HloOpcode::kReshape);
  EXPECT_EQ(out->operand(0)->operand(0), p);
}

TEST_F(HloInstructionTest, CastsFollowOpcodes) {
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  EXPECT_NE(DynCast<HloParameterInstruction>(p.get()), nullptr);
  EXPECT_EQ(DynCast<HloFusionInstruction>(p.get()), nullptr);
  HloInstruction* none = nullptr;
  EXPECT_EQ(DynCastOrNull<HloFusionInstruction>(none), nullptr);
  EXPECT_DEATH(DynCast<HloFusionInstruction>(none), "Check failed");
  EXPECT_DEATH(Cast<HloFusionInstruction>(none), "Check failed");
  auto iota = HloInstruction::CreateIota(shape_, 1);
  EXPECT_THAT(iota->dimensions(), ElementsAre(1));
  EXPECT_FALSE(HloDimensionsInstruction::ClassOf(iota.get()));
}

}  // namespace
}  // namespace xla
