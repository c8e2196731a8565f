// Values, sets of them and buffers, without an analysis that makes them.
#include "xla/hlo/analysis/hlo_value.h"

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class HloValueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    module_ = ParseForTest(R"(HloModule m
    ENTRY e {
      a = f32[4]{0} parameter(0)
      b = f32[4]{0:S(5)} parameter(1)
      n = f32[4]{0} negate(a)
      i = (f32[4]{0}, f32[4]{0}) tuple(n, a)
      g = f32[4]{0} get-tuple-element(i), index=0
      w = (f32[4]{0}, f32[4]{0}) custom-call(i), custom_call_target="f"
      s = f32[4]{0} add(g, g)
      ROOT r = (f32[4]{0}, (f32[4]{0}, f32[4]{0})) tuple(s, i)
    })");
    ASSERT_NE(module_, nullptr);
  }
  HloInstruction* Inst(absl::string_view name) {
    return FindForTest(*module_, name);
  }

  std::unique_ptr<HloModule> module_;
};

TEST_F(HloValueTest, UsesReadAndPositionsPassOn) {
  HloValue value(3, Inst("n"), {});
  EXPECT_FALSE(value.is_phi());
  EXPECT_FALSE(value.live_out_of_module());
  const HloPosition passed[] = {
      {Inst("i"), {0}}, {Inst("g"), {}}, {Inst("r"), {1, 0}}};
  value.SetPositions(passed);
  EXPECT_EQ(value.defining_position(), (HloPosition{Inst("n"), {}}));
  EXPECT_THAT(value.positions(), ElementsAre(HloPosition{Inst("n"), {}},
                                             passed[0], passed[1], passed[2]));
  EXPECT_TRUE(value.live_out_of_module());
  EXPECT_TRUE(value.IsRootOf(module_->entry_computation()));
  // The tuple i and its element g pass the value on; the root returns it.
  EXPECT_THAT(value.GetUses(),
              UnorderedElementsAre(HloUse(Inst("s"), 0), HloUse(Inst("s"), 1),
                                   HloUse(Inst("w"), 0, {0}),
                                   HloUse(Inst("r"), 1, {0})));
  EXPECT_EQ(value.ToShortString(), "<3 n (live out)>");
}

TEST_F(HloValueTest, WhatIsReadNowhere) {
  HloValue value(0, Inst("b"), {});
  EXPECT_THAT(value.GetUses(), IsEmpty());
  EXPECT_FALSE(value.IsRootOf(module_->entry_computation()));
  HloValue phi(1, Inst("w"), {1}, /*is_phi=*/true);
  EXPECT_TRUE(phi.is_phi());
  EXPECT_EQ(phi.ToShortString(), "<1 w{1} (phi)>");
  EXPECT_EQ(HloUse().ToString(), "no use");
  EXPECT_EQ(HloUse(Inst("w"), 0, {1}).ToString(), "w, operand 0 {1}");
  EXPECT_EQ(HloUse(Inst("s"), 1).ToString(), "s, operand 1");
  EXPECT_EQ((HloPosition{Inst("w"), {1}}).ToString(), "w {1}");
}

TEST_F(HloValueTest, SetsAreSortedAndHoldValuesOnce) {
  HloValue a(2, Inst("a"), {}), b(1, Inst("b"), {}), n(5, Inst("n"), {});
  HloValueSet set(std::vector<const HloValue*>{&a, &b, &a});
  EXPECT_THAT(set.values(), ElementsAre(&b, &a));
  EXPECT_FALSE(set.AddValue(&a));
  EXPECT_TRUE(set.AddValue(&n));
  EXPECT_THAT(set.values(), ElementsAre(&b, &a, &n));

  const HloValueSet only_a(&a), only_n(&n);
  EXPECT_EQ(&only_a.GetUniqueValue(), &a);
  HloValueSet both;
  EXPECT_TRUE(both.AssignUnionOf({&only_n, &only_a}));
  EXPECT_FALSE(both.AssignUnionOf({&only_a, &only_n, &only_a}));
  EXPECT_EQ(both, HloValueSet(std::vector<const HloValue*>{&a, &n}));
  // A union is what the inputs hold, not what was there before.
  EXPECT_TRUE(both.AssignUnionOf({&only_n}));
  EXPECT_EQ(both, only_n);
  EXPECT_THAT(both.TakeValues(), ElementsAre(&n));
  EXPECT_THAT(both.values(), IsEmpty());
}

TEST_F(HloValueTest, SetsOfInstructions) {
  HloValue a(2, Inst("a"), {}), n(5, Inst("n"), {});
  InstructionValueSet pair(&Inst("i")->shape());
  pair.mutable_element({0})->AddValue(&n);
  pair.mutable_element({1})->AddValue(&a);
  EXPECT_FALSE(pair.IsAmbiguous());
  InstructionValueSet element(&Inst("g")->shape());
  EXPECT_TRUE(element.AssignUnionOf(pair, {1}));
  EXPECT_FALSE(element.AssignUnionOf(pair, {1}));
  EXPECT_EQ(&element.element({}).GetUniqueValue(), &a);

  InstructionValueSet swapped(&Inst("i")->shape());
  swapped.mutable_element({0})->AddValue(&a);
  InstructionValueSet merged(&Inst("i")->shape());
  EXPECT_TRUE(merged.AssignUnionOf({&pair, &swapped}));
  EXPECT_TRUE(merged.IsAmbiguous());
  EXPECT_THAT(merged.element({0}).values(), ElementsAre(&a, &n));
  EXPECT_THAT(merged.element({1}).values(), ElementsAre(&a));
}

TEST_F(HloValueTest, ColorsAreThoseOfLayoutsUntilSet) {
  HloValue a(0, Inst("a"), {}), b(1, Inst("b"), {}), i(2, Inst("i"), {});
  EXPECT_EQ(a.color(), 0);
  EXPECT_EQ(b.color(), 5);
  EXPECT_EQ(i.color(), 0);
  EXPECT_FALSE(b.has_color());

  HloBuffer buffer(7, {&a, &b});
  EXPECT_EQ(buffer.color().status().code(),
            absl::StatusCode::kFailedPrecondition);
  a.set_color(5);
  EXPECT_TRUE(a.has_color());
  ASSERT_TRUE(buffer.color().ok());
  EXPECT_EQ(*buffer.color(), 5);
  EXPECT_THAT(
      buffer.ComputePositions(),
      ElementsAre(HloPosition{Inst("a"), {}}, HloPosition{Inst("b"), {}}));
  EXPECT_EQ(&HloBuffer(8, {&b}).GetUniqueValue(), &b);
  EXPECT_TRUE(HloBuffer(7, {&b}) == buffer);
  const HloBuffer other(8, {&a});
  EXPECT_TRUE(HloBuffer::IdLessThan(&buffer, &other));
  EXPECT_FALSE(HloBuffer::IdEqual(&buffer, &other));
}

TEST_F(HloValueTest, BuffersInProtos) {
  HloValue value(4, Inst("r"), {1, 0});
  EXPECT_FALSE(value.IsTopLevel());
  EXPECT_TRUE(value.IsArray());
  const auto proto = value.ToProto(
      [](const BufferValue& buffer) { return buffer.shape().dimensions(0); });
  EXPECT_EQ(proto.id(), 4);
  EXPECT_EQ(proto.size(), 4);
  EXPECT_EQ(proto.defined_at().instruction_id(), Inst("r")->unique_id());
  EXPECT_THAT(proto.defined_at().shape_index(), ElementsAre(1, 0));
}

}  // namespace
}  // namespace xla
