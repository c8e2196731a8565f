#include "xla/hlo/ir/hlo_original_value.h"

#include <memory>
#include <optional>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tuple_tree.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

const Shape& Array() {
  static const Shape& shape = *new Shape(ShapeUtil::MakeShape(F32, {2}));
  return shape;
}

// ((a, b), c)
Shape Nested() {
  return ShapeUtil::MakeTupleShape(
      {ShapeUtil::MakeTupleShape({Array(), Array()}), Array()});
}

TEST(OriginalValueTest, TextOfLeavesAndTuples) {
  OriginalValue array(Array());
  EXPECT_EQ(array.ToString(), "{}");
  *array.mutable_original_array({}) = OriginalArray{"x", {}};
  EXPECT_EQ(array.ToString(), R"({"x"})");
  *array.mutable_original_array({}) = OriginalArray{"x", {1, 0}};
  EXPECT_EQ(array.ToString(), R"({"x" {1,0}})");

  OriginalValue tuple(Nested());
  EXPECT_EQ(tuple.ToString(), "(({}, {}), {})");
  *tuple.mutable_original_array({0, 1}) = OriginalArray{"y", {}};
  EXPECT_EQ(tuple.ToString(), R"((({}, {"y"}), {}))");
  EXPECT_EQ(tuple.mutable_original_array({0}), nullptr) << "no leaf";
  EXPECT_EQ(tuple.original_array({5}), std::nullopt);

  // c, (a, (b))
  OriginalValue right(ShapeUtil::MakeTupleShape(
      {Array(), ShapeUtil::MakeTupleShape(
                    {Array(), ShapeUtil::MakeTupleShape({Array()})})}));
  EXPECT_EQ(right.ToString(), "({}, ({}, ({})))");
  EXPECT_EQ(OriginalValue::SyntheticCall().ToString(), "[synthetic_call]");
}

TEST(OriginalValueTest, MadeOfATree) {
  using Node = TupleTree<std::optional<OriginalArray>>::Node;
  OriginalValue leaf(Node::Leaf(OriginalArray{"x", {2}}));
  EXPECT_EQ(leaf.ToString(), R"({"x" {2}})");
  OriginalValue value(
      Node::Tuple({Node::Tuple({Node::Leaf(OriginalArray{"a", {}}), Node()}),
                   Node::Leaf(OriginalArray{"c", {1}})}));
  EXPECT_EQ(value.ToString(), R"((({"a"}, {}), {"c" {1}}))");
  EXPECT_TRUE(value.IsCompatibleWith(Nested()));
  EXPECT_EQ(OriginalValue(Node::Tuple()).ToString(), "()");
}

TEST(OriginalValueTest, ProtoReadsBack) {
  OriginalValue value(Nested());
  *value.mutable_original_array({0, 0}) = OriginalArray{"a", {3}};
  auto read = OriginalValue::FromProto(value.ToProto());
  EXPECT_EQ(*read, value);
  auto call =
      OriginalValue::FromProto(OriginalValue::SyntheticCall().ToProto());
  EXPECT_TRUE(call->is_synthetic_call());
  EXPECT_NE(*call, value);
}

TEST(OriginalValueTest, SyntheticElementsStandForNothing) {
  auto p = HloInstruction::CreateParameter(0, Array(), "p0");
  auto call = HloInstruction::CreateParameter(1, Array(), "call");
  p->set_original_value(OriginalValue::CreateFromInstruction(p.get()));
  call->set_original_value(
      std::make_shared<OriginalValue>(OriginalValue::SyntheticCall()));
  auto tuple = HloInstruction::CreateTuple({p.get(), call.get()});
  EXPECT_EQ(OriginalValue::CreateFromInstruction(tuple.get())->ToString(),
            R"(({"p0"}, {}))");
}

TEST(OriginalValueTest, ProtosWithNegativeIndicesAreRefused) {
  OriginalValueProto proto;
  proto.add_elements()->add_shape_index(-1);
  EXPECT_EQ(OriginalValue::FromProto(proto), nullptr);
}

TEST(OriginalValueTest, EmptyAndCompatible) {
  OriginalValue value(Nested());
  EXPECT_TRUE(value.IsEmpty());
  EXPECT_TRUE(value.IsCompatibleWith(Nested()));
  EXPECT_FALSE(value.IsCompatibleWith(Array()));
  *value.mutable_original_array({1}) = OriginalArray{"a", {}};
  EXPECT_FALSE(value.IsEmpty());
  EXPECT_FALSE(OriginalValue::SyntheticCall().IsEmpty());
  EXPECT_TRUE(OriginalValue::SyntheticCall().IsCompatibleWith(Array()));
}

TEST(OriginalValueTest, TuplesAndElementsPassValuesOn) {
  auto p = HloInstruction::CreateParameter(0, Array(), "p");
  auto q = HloInstruction::CreateParameter(1, Array(), "q");
  auto tuple = HloInstruction::CreateTuple({p.get(), q.get()});
  EXPECT_EQ(OriginalValue::CreateFromInstruction(tuple.get()), nullptr);
  p->set_original_value(OriginalValue::CreateFromInstruction(p.get()));
  q->set_original_value(OriginalValue::CreateFromInstruction(q.get(), "m/"));
  tuple->set_original_value(OriginalValue::CreateFromInstruction(tuple.get()));
  EXPECT_EQ(tuple->original_value()->ToString(), R"(({"p"}, {"m/q"}))");
  auto element = HloInstruction::CreateGetTupleElement(tuple.get(), 1);
  EXPECT_EQ(OriginalValue::CreateFromInstruction(element.get())->ToString(),
            R"({"m/q"})");
}

TEST(OriginalValueTest, ElementsOfTuplesWithoutValueAsTheirOperands) {
  auto p = HloInstruction::CreateParameter(0, Array(), "p");
  auto q = HloInstruction::CreateParameter(1, Array(), "q");
  q->set_original_value(OriginalValue::CreateFromInstruction(q.get()));
  auto tuple = HloInstruction::CreateTuple({p.get(), q.get()});
  auto first = HloInstruction::CreateGetTupleElement(tuple.get(), 0);
  auto second = HloInstruction::CreateGetTupleElement(tuple.get(), 1);
  EXPECT_EQ(OriginalValue::CreateFromInstruction(first.get()), nullptr);
  EXPECT_EQ(OriginalValue::CreateFromInstruction(second.get()),
            q->original_value());
}

TEST(OriginalValueTest, FusionsHaveThatOfTheirRoot) {
  HloModule module("m", HloModuleConfig());
  HloComputation::Builder builder("entry");
  auto* p =
      builder.AddInstruction(HloInstruction::CreateParameter(0, Array(), "p"));
  auto* neg = builder.AddInstruction(
      HloInstruction::CreateUnary(Array(), HloOpcode::kNegate, p));
  HloComputation* entry = module.AddEntryComputation(builder.Build());
  neg->set_original_value(OriginalValue::CreateFromInstruction(neg));
  HloInstruction* fusion = entry->AddInstruction(HloInstruction::CreateFusion(
      Array(), HloInstruction::FusionKind::kLoop, neg));
  ASSERT_NE(fusion->original_value(), nullptr);
  EXPECT_EQ(fusion->original_value()->ToString(), R"({"negate"})");
  auto same = HloInstruction::CreateFusion(
      Array(), HloInstruction::FusionKind::kLoop, {p},
      fusion->fused_instructions_computation());
  EXPECT_EQ(same->original_value(),
            fusion->fused_expression_root()->original_value());
  entry->set_root_instruction(fusion);
  auto created =
      entry->CreateFusionInstruction({neg}, HloInstruction::FusionKind::kLoop);
  ASSERT_NE(created->original_value(), nullptr);
}

TEST(OriginalValueTest, CopiesOnlyWhereLeavesMatch) {
  auto p = HloInstruction::CreateParameter(0, Array(), "p");
  auto q = HloInstruction::CreateParameter(1, Array(), "q");
  auto t = HloInstruction::CreateParameter(2, Nested(), "t");
  p->set_original_value(OriginalValue::CreateFromInstruction(p.get()));
  CopyOriginalValue(p.get(), t.get());
  EXPECT_EQ(t->original_value(), nullptr);
  CopyOriginalValue(p.get(), q.get());
  EXPECT_EQ(q->original_value(), p->original_value());
  q->CopyOriginalValue(p.get(), /*clone=*/true);
  EXPECT_NE(q->original_value(), p->original_value());
  EXPECT_EQ(*q->original_value(), *p->original_value());
}

TEST(OriginalValueTest, ElementsMoveToOtherPlaces) {
  const Shape triple = ShapeUtil::MakeTupleShape({Array(), Array(), Nested()});
  const Shape pair = ShapeUtil::MakeTupleShape({Nested(), Array()});
  auto t = HloInstruction::CreateParameter(0, triple, "t");
  auto p = HloInstruction::CreateParameter(1, pair, "p");
  CopyOriginalValue(t.get(), p.get(), {{0, 1}});
  EXPECT_EQ(p->original_value(), nullptr) << "there is nothing to copy";
  t->set_original_value(OriginalValue::CreateFromInstruction(t.get()));
  CopyOriginalValue(t.get(), p.get(), {{0, 1}, {2, 0}});
  EXPECT_EQ(p->original_value()->ToString(),
            R"(((({"t" {2,0,0}}, {"t" {2,0,1}}), {"t" {2,1}}), {"t" {0}}))");
  // An array does not stand for a tuple, and nothing goes out of bounds.
  CopyOriginalValue(t.get(), p.get(), {{1, 0}, {0, 7}});
  EXPECT_TRUE(p->original_value()->IsEmpty());
  EXPECT_TRUE(p->original_value()->IsCompatibleWith(pair));
}

TEST(OriginalValueTest, EqualValuesBecomeOneObject) {
  HloModule module("m", HloModuleConfig());
  HloComputation::Builder builder("entry");
  auto* p =
      builder.AddInstruction(HloInstruction::CreateParameter(0, Array(), "p"));
  auto* neg = builder.AddInstruction(
      HloInstruction::CreateUnary(Array(), HloOpcode::kNegate, p));
  auto* exp = builder.AddInstruction(
      HloInstruction::CreateUnary(Array(), HloOpcode::kExp, neg));
  module.AddEntryComputation(builder.Build());
  p->set_original_value(OriginalValue::CreateFromInstruction(p));
  neg->set_original_value(OriginalValue::CreateFromInstruction(p));
  exp->set_original_value(OriginalValue::CreateFromInstruction(exp));
  ASSERT_NE(p->original_value(), neg->original_value());
  DeduplicateOriginalValues(&module);
  EXPECT_EQ(p->original_value(), neg->original_value());
  EXPECT_NE(p->original_value(), exp->original_value());
}

TEST(OriginalValueTest, RecoveryTableRecordsReplacements) {
  HloModule module("m", HloModuleConfig());
  HloComputation::Builder entry_builder("e");
  HloInstruction* x = entry_builder.AddInstruction(
      HloInstruction::CreateParameter(0, Array(), "x"));
  HloInstruction* old_root = entry_builder.AddInstruction(
      HloInstruction::CreateUnary(Array(), HloOpcode::kNegate, x));
  HloComputation* entry = module.AddEntryComputation(entry_builder.Build());
  old_root->set_original_value(
      OriginalValue::CreateFromInstruction(old_root, "orig_"));
  HloInstruction* fresh = entry->AddInstruction(
      HloInstruction::CreateUnary(Array(), HloOpcode::kExp, x));
  auto& table = module.mutable_original_value_recovery_table();
  table.BuildAndAddRecoveryComputation(
      old_root, fresh,
      [](HloComputation::Builder& builder, const ShapeIndex&,
         const OriginalArray&, const Shape& old_shape,
         const Shape& new_shape) -> std::optional<HloInstruction*> {
        HloInstruction* p = builder.AddInstruction(
            HloInstruction::CreateParameter(0, new_shape, "p"));
        return builder.AddInstruction(
            HloInstruction::CreateUnary(old_shape, HloOpcode::kNegate, p));
      });
  ASSERT_EQ(table.size(), 1);
  EXPECT_EQ(table.begin()->first.instruction_name, "orig_negate");
  EXPECT_EQ(table.begin()->second.first.instruction_name, "__ovp0");
  EXPECT_EQ(table.begin()
                ->second.second->entry_computation()
                ->root_instruction()
                ->opcode(),
            HloOpcode::kNegate);
  ASSERT_NE(fresh->original_value(), nullptr);
  EXPECT_EQ(fresh->original_value()->original_array({})->instruction_name,
            "__ovp0");
}

}  // namespace
}  // namespace xla
