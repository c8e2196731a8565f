// Clones of instructions, and when two instructions are the same.

#include <functional>
#include <memory>
#include <utility>

#include "absl/hash/hash.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/side_effect_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

class HloInstructionCloneTest : public ::testing::Test {
 protected:
  static std::unique_ptr<HloInstruction> Unary(HloOpcode opcode,
                                               HloInstruction* x) {
    return HloInstruction::CreateUnary(x->shape(), opcode, x);
  }
  static std::unique_ptr<HloInstruction> Binary(HloOpcode opcode,
                                                HloInstruction* x,
                                                HloInstruction* y) {
    return HloInstruction::CreateBinary(x->shape(), opcode, x, y);
  }

  const Shape scalar_ = ShapeUtil::MakeShape(F32, {});
  const Shape shape_ = ShapeUtil::MakeShape(F32, {4, 8});
};

TEST_F(HloInstructionCloneTest, CloneNamesDoNotPileUp) {
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  auto neg = Unary(HloOpcode::kNegate, p.get());
  neg->SetAndSanitizeName("neg");
  auto first = neg->Clone();
  EXPECT_EQ(first->name(), "neg.clone");
  auto second = first->Clone();
  EXPECT_EQ(second->name(), "neg.clone2");
  EXPECT_EQ(second->Clone()->name(), "neg.clone3");
  EXPECT_EQ(second->Clone("remat")->name(), "neg.clone2.remat");
  EXPECT_EQ(neg->Clone("")->name(), "neg");
}

TEST_F(HloInstructionCloneTest, CloneTakesAttributesAlong) {
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  auto neg = Unary(HloOpcode::kNegate, p.get());
  OpMetadata metadata;
  metadata.set_op_name("layer/neg");
  neg->set_metadata(metadata);
  neg->set_sharding(HloSharding::Replicate());
  neg->set_frontend_attribute("key", "value");
  neg->set_frontend_attribute(kXlaComputeTypeAttr, "host");
  neg->set_raw_backend_config_string("{raw}");
  neg->add_unknown_attribute("future", "{1}");
  auto clone = neg->Clone();
  EXPECT_EQ(clone->metadata().op_name(), "layer/neg");
  EXPECT_TRUE(clone->sharding().IsReplicated());
  EXPECT_EQ(clone->get_frontend_attribute("key"), "value");
  EXPECT_EQ(clone->get_frontend_attribute(kXlaComputeTypeAttr), "host");
  EXPECT_EQ(clone->raw_backend_config_string(), "{raw}");
  EXPECT_EQ(clone->unknown_attributes().size(), 1);

  // Metadata is shared until one side changes it.
  clone->set_metadata_op_name("other");
  EXPECT_EQ(neg->metadata().op_name(), "layer/neg");
  neg->set_raw_backend_config_string("");
  EXPECT_FALSE(neg->has_backend_config());
  EXPECT_TRUE(clone->has_backend_config());
}

TEST_F(HloInstructionCloneTest, ClonesOfOtherRanksHaveNoSharding) {
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  auto neg = Unary(HloOpcode::kNegate, p.get());
  neg->set_sharding(HloSharding::IotaTile({2, 2}));
  const auto keeps = [](const HloInstruction& inst, const Shape& shape) {
    return inst.CloneWithNewOperands(shape, inst.operands())->has_sharding();
  };
  EXPECT_TRUE(keeps(*neg, ShapeUtil::MakeShape(F32, {6, 2})));
  EXPECT_FALSE(keeps(*neg, scalar_));
  EXPECT_FALSE(keeps(*neg, ShapeUtil::MakeShape(F32, {4, 8, 1})));
  EXPECT_FALSE(keeps(*neg, ShapeUtil::MakeTupleShape({shape_})));
  neg->set_sharding(HloSharding::Replicate());
  EXPECT_TRUE(keeps(*neg, scalar_)) << "fits any rank";

  auto tuple = HloInstruction::CreateTuple({p.get(), p.get()});
  tuple->set_sharding(HloSharding::Tuple(
      tuple->shape(),
      {HloSharding::IotaTile({2, 2}), HloSharding::Replicate()}));
  EXPECT_TRUE(keeps(*tuple, ShapeUtil::MakeTupleShape({shape_, scalar_})));
  EXPECT_FALSE(keeps(*tuple, ShapeUtil::MakeTupleShape({scalar_, shape_})));
  EXPECT_FALSE(
      keeps(*tuple, ShapeUtil::MakeTupleShape({shape_, shape_, shape_})));
}

TEST_F(HloInstructionCloneTest, StorageOfACustomCallIsSetOnce) {
  struct Storage : HloCustomCallInstruction::PerInstructionStorage {};
  auto call = HloInstruction::CreateCustomCall(scalar_, {}, "target");
  auto* custom_call = Cast<HloCustomCallInstruction>(call.get());
  EXPECT_EQ(custom_call->GetPerInstructionStorage(), nullptr);
  auto first = std::make_unique<Storage>();
  const Storage* kept = first.get();
  custom_call->SetPerInstructionStorage(std::move(first));
  custom_call->SetPerInstructionStorage(std::make_unique<Storage>());
  EXPECT_EQ(custom_call->GetPerInstructionStorage(), kept);
}

TEST_F(HloInstructionCloneTest, RelayoutOfAConstantThatIsShared) {
  auto constant = HloInstruction::CreateConstant(
      LiteralUtil::CreateR2<float>({{1, 2, 3}, {4, 5, 6}}));
  auto clone = constant->Clone();
  EXPECT_EQ(&clone->literal(), &constant->literal()) << "not shared";
  clone->RelayoutConstant(LayoutUtil::MakeLayout({0, 1}));
  EXPECT_EQ(clone->shape().layout(), LayoutUtil::MakeLayout({0, 1}));
  EXPECT_EQ(constant->literal().shape().layout(),
            LayoutUtil::MakeLayout({1, 0}));
  EXPECT_EQ(clone->literal().Get<float>({1, 0}), 4);
  EXPECT_EQ(constant->literal().Get<float>({1, 0}), 4);
}

TEST_F(HloInstructionCloneTest, IdenticalLooksAtAttributes) {
  auto p = HloInstruction::CreateParameter(0, shape_, "p");
  auto q = HloInstruction::CreateParameter(1, shape_, "q");
  auto a = Binary(HloOpcode::kAdd, p.get(), q.get());
  auto b = Binary(HloOpcode::kAdd, p.get(), q.get());
  auto flipped = Binary(HloOpcode::kAdd, q.get(), p.get());
  EXPECT_TRUE(a->Identical(*b));
  EXPECT_FALSE(a->Identical(*flipped));
  EXPECT_TRUE(a->IdenticalIgnoringCommutativeOperandOrder(*flipped));
  EXPECT_EQ(absl::HashOf(*a), absl::HashOf(*b));
  EXPECT_FALSE(p->Identical(*q));

  const Shape out = ShapeUtil::MakeShape(F32, {4, 8, 2});
  auto wide = HloInstruction::CreateBroadcast(out, p.get(), {0, 1});
  auto same = HloInstruction::CreateBroadcast(out, p.get(), {0, 1});
  auto crossed = HloInstruction::CreateBroadcast(out, p.get(), {1, 0});
  EXPECT_TRUE(wide->Identical(*same));
  EXPECT_FALSE(wide->Identical(*crossed));
  EXPECT_NE(absl::HashOf(*wide), absl::HashOf(*crossed));

  const Shape column_major =
      ShapeUtil::MakeShapeWithDenseLayout(F32, {4, 8}, {0, 1});
  auto laid_out =
      HloInstruction::CreateUnary(column_major, HloOpcode::kCopy, p.get());
  auto copy = Unary(HloOpcode::kCopy, p.get());
  *copy->mutable_shape() =
      ShapeUtil::MakeShapeWithDenseLayout(F32, {4, 8}, {1, 0});
  const std::equal_to<const HloInstruction*> eq;
  const std::equal_to<const HloComputation*> eq_comp;
  EXPECT_FALSE(copy->Identical(*laid_out));
  EXPECT_TRUE(copy->Identical(*laid_out, eq, eq_comp,
                              /*layout_sensitive=*/false));
  auto sharded = Unary(HloOpcode::kExp, p.get());
  auto plain = Unary(HloOpcode::kExp, p.get());
  sharded->set_sharding(HloSharding::Replicate());
  EXPECT_TRUE(sharded->Identical(*plain));
  EXPECT_FALSE(sharded->Identical(*plain, eq, eq_comp, true,
                                  /*sharding_sensitive=*/true));
}

TEST_F(HloInstructionCloneTest, DynamicConstantsAreNotStaticOnes) {
  Literal list = LiteralUtil::CreateR1<float>({1, 2});
  auto fixed = HloInstruction::CreateConstant(list.Clone());
  list.SetDynamicSize(0, 2);
  auto dynamic = HloInstruction::CreateConstant(list.Clone());
  EXPECT_EQ(fixed->literal(), dynamic->literal());
  const std::equal_to<const HloInstruction*> eq;
  const std::equal_to<const HloComputation*> eq_comp;
  EXPECT_FALSE(fixed->Identical(*dynamic, eq, eq_comp,
                                /*layout_sensitive=*/false));
  EXPECT_TRUE(dynamic->Identical(*HloInstruction::CreateConstant(list.Clone()),
                                 eq, eq_comp, /*layout_sensitive=*/false));
}

}  // namespace
}  // namespace xla
