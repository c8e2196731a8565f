#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/pattern_matcher.h"
#include "xla/hlo/utils/pattern_matcher_test_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

namespace m = ::xla::match;

// (a + b) * a, whose sum is used once and whose product is the root.
constexpr char kSumTimesA[] = R"(
ENTRY e {
  a = f32[2,3] parameter(0)
  b = f32[2,3] parameter(1)
  sum = f32[2,3] add(a, b)
  ROOT product = f32[2,3] multiply(sum, a)
})";

TEST(InstructionPatternTest, NameOpcodeOperandsAndShape) {
  auto module = ParseForTest(kSumTimesA);
  HloInstruction* root = RootOf(module);
  EXPECT_TRUE(Match(root, m::Op().WithName("product")));
  EXPECT_FALSE(Match(root, m::Op().WithName("sum")));
  EXPECT_TRUE(Match(root, m::Op().WithOpcode(HloOpcode::kMultiply)));
  EXPECT_TRUE(Match(root, m::Op().WithoutOpcode(HloOpcode::kAdd)));
  EXPECT_FALSE(Match(root, m::Op().WithoutOpcode(HloOpcode::kMultiply)));
  EXPECT_TRUE(Match(root, m::Op().WithNumOperands(2)));
  EXPECT_FALSE(Match(root, m::Op().WithNumOperands(1)));
  EXPECT_TRUE(Match(root, m::Op().Is(root)));
  EXPECT_FALSE(Match(root, m::Op().Is(root->operand(0))));
  EXPECT_TRUE(Match(root, m::Op().WithOperand(0, m::Op().WithName("sum"))));
  EXPECT_FALSE(Match(root, m::Op().WithOperand(2, m::Op())));
  EXPECT_TRUE(Match(root, m::Op()
                              .WithOperandIfPresent(2, m::Constant())
                              .WithOperandIfPresent(1, m::Parameter(0))));
  EXPECT_FALSE(Match(root, m::Op().WithOperandIfPresent(1, m::Constant())));
  EXPECT_TRUE(
      Match(root, m::Op().WithElementwiseOperand(0, m::Op().WithName("sum"))));

  Shape rows = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {1, 0});
  Shape columns = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1});
  EXPECT_TRUE(Match(root, m::Op().WithShape(F32, {2, 3})));
  EXPECT_TRUE(Match(root, m::Op().WithShape(F32, {2, 3}, {1, 0})));
  EXPECT_FALSE(Match(root, m::Op().WithShape(F32, {2, 3}, {0, 1})));
  EXPECT_FALSE(Match(root, m::Op().WithShape(F32, {3, 2})));
  EXPECT_TRUE(Match(root, m::Op().WithElementType(F32)));
  EXPECT_TRUE(Match(root, m::Op().WithShapeEqualTo(&rows)));
  EXPECT_FALSE(Match(root, m::Op().WithShapeEqualTo(&columns)));
  EXPECT_TRUE(Match(root, m::Op().WithShapeCompatibleTo(&columns)));
  Shape* shape = nullptr;
  EXPECT_TRUE(Match(root, m::Op().WithShape(m::Shape(&shape).IsArray())));
  EXPECT_EQ(shape, &root->shape());
}

TEST(InstructionPatternTest, CapturesMutableAndConst) {
  auto module = ParseForTest(kSumTimesA);
  HloInstruction* root = RootOf(module);
  HloInstruction* product = nullptr;
  const HloInstruction* sum = nullptr;
  EXPECT_TRUE(Match(root, m::Multiply(&product, m::Add(&sum), m::Op())));
  EXPECT_EQ(product, root);
  EXPECT_EQ(sum, root->operand(0));
  const HloInstruction* const_root = root;
  const HloInstruction* const_product = nullptr;
  EXPECT_TRUE(Match(const_root, m::Multiply(&const_product)));
  EXPECT_EQ(const_product, root);
  HloInstruction** no_variable = nullptr;
  EXPECT_TRUE(Match(root, m::Op(no_variable)));
}

TEST(InstructionPatternTest, FailedOrSilentMatchLeavesVariablesAlone) {
  auto module = ParseForTest(kSumTimesA);
  HloInstruction* root = RootOf(module);
  HloInstruction* x = nullptr;
  EXPECT_FALSE(Match(root, m::Multiply(m::Add(&x), m::Constant())));
  EXPECT_EQ(x, nullptr);
  EXPECT_FALSE(Match(root, m::Multiply(&x, m::Op(), m::Op()).WithOneUse()));
  EXPECT_EQ(x, nullptr);
  EXPECT_TRUE(Match(root, m::Op(&x), {/*capture=*/false, false, nullptr}));
  EXPECT_EQ(x, nullptr);
  // A failed alternative, and the failed order of operands, are forgotten.
  HloInstruction* y = nullptr;
  EXPECT_TRUE(Match(
      root, m::AnyOf<HloInstruction>(m::Multiply(m::Op(&x), m::Constant()),
                                     m::Multiply(m::Op(&y), m::Op()))));
  EXPECT_EQ(x, nullptr);
  EXPECT_EQ(y->name(), "sum");
  EXPECT_TRUE(Match(
      root, m::MultiplyAnyOrder(m::Op(&x).WithOpcode(HloOpcode::kParameter),
                                m::Op(&y).WithNumOperands(2))));
  EXPECT_EQ(x->name(), "a");
  EXPECT_EQ(y->name(), "sum");
}

TEST(InstructionPatternTest, AnyOrder) {
  auto module = ParseForTest(kSumTimesA);
  HloInstruction* root = RootOf(module);
  HloInstruction* product = nullptr;
  EXPECT_TRUE(Match(root, m::MultiplyAnyOrder(m::Add(), m::Parameter(0))));
  EXPECT_TRUE(
      Match(root, m::MultiplyAnyOrder(&product, m::Parameter(0), m::Add())));
  EXPECT_EQ(product, root);
  EXPECT_TRUE(Match(
      root,
      m::MultiplyAnyOrder(m::Parameter(0),
                          m::AddAnyOrder(m::Parameter(1), m::Parameter(0)))));
  EXPECT_FALSE(Match(root, m::MultiplyAnyOrder(m::Add(), m::Add())));
  EXPECT_FALSE(Match(root, m::AddAnyOrder(m::Op(), m::Op())));
  EXPECT_TRUE(
      Match(root, m::Op().WithBinaryOperandsAnyOrder(m::Parameter(), m::Op())));
  EXPECT_FALSE(Match(root->operand(1),
                     m::Op().WithBinaryOperandsAnyOrder(m::Op(), m::Op())));
}

TEST(InstructionPatternTest, NestedAnyOrderVisitsEachPairOnce) {
  auto module = ParseForTest(kSumTimesA);
  int calls = 0;
  auto counted = m::Op().WithPredicate([&](const HloInstruction* inst) {
    ++calls;
    return inst->opcode() == HloOpcode::kParameter;
  });
  EXPECT_FALSE(Match(RootOf(module), m::MultiplyAnyOrder(counted, counted)));
  // sum fails in the first order; a matches in the second, sum fails again.
  EXPECT_EQ(calls, 3);
}

TEST(InstructionPatternTest, UsesAndUsers) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  square = f32[] multiply(a, a)
  ROOT sum = f32[] add(square, b)
})");
  HloInstruction* sum = RootOf(module);
  HloInstruction* square = sum->mutable_operand(0);
  HloInstruction* a = square->mutable_operand(0);
  EXPECT_TRUE(Match(square, m::Op().WithOneUse().WithOneUser()));
  EXPECT_TRUE(Match(a, m::Op().WithOneUser()));
  EXPECT_FALSE(Match(a, m::Op().WithOneUse()));
  EXPECT_FALSE(Match(sum, m::Op().WithOneUse()));
  EXPECT_TRUE(Match(sum, m::Op().WithNumUser(0).WithAtMostNumUser(1)));
  EXPECT_FALSE(Match(a, m::Op().WithAtMostNumUser(0)));
  EXPECT_EQ(Explanation(a, m::Op().WithOneUse()),
            "is used 2 times by its user square\nin a = f32[] parameter(0)");
}

TEST(InstructionPatternTest, SingleUserOnly) {
  auto module = ParseForTest(kSumTimesA);
  HloInstruction* root = RootOf(module);
  EXPECT_TRUE(MatchSingleUserOnly(root, m::Multiply(m::Add(), m::Op())) ==
              false);
  HloInstruction* sum = nullptr;
  EXPECT_TRUE(
      MatchSingleUserOnly(root, m::Multiply().WithOperand(0, m::Add(&sum))));
  EXPECT_EQ(sum->name(), "sum");
  EXPECT_EQ(Explanation(root, m::Multiply().WithOperand(1, m::Op()),
                        /*single_user_only=*/true),
            "user count is 2, not 1\nin a = f32[2,3]{1,0} parameter(0)\n"
            "as operand 1\n"
            "in product = f32[2,3]{1,0} multiply(sum, a)");
}

TEST(InstructionPatternTest, ParameterTupleFusionAndPredicate) {
  auto module = ParseForTest(R"(
f {
  p = f32[4] parameter(0)
  ROOT n = f32[4] negate(p)
}
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] fusion(a), kind=kLoop, calls=f
  t = (f32[4], f32[4]) tuple(a, b)
  ROOT g = f32[4] get-tuple-element(t), index=1
})");
  HloInstruction* root = RootOf(module);
  HloInstruction* gte = nullptr;
  HloInstruction* p = nullptr;
  EXPECT_TRUE(Match(root, m::GetTupleElement(&gte)));
  EXPECT_EQ(gte, root);
  EXPECT_TRUE(Match(root, m::GetTupleElement(m::Tuple(), 1)));
  EXPECT_FALSE(Match(root, m::GetTupleElement(m::Tuple(), 0)));
  EXPECT_TRUE(Match(root, m::GetTupleElement(&gte, m::Tuple())));
  EXPECT_TRUE(Match(
      root,
      m::GetTupleElement(
          &gte,
          m::Tuple(m::Parameter(&p, 0),
                   m::Fusion(m::Parameter(&p))
                       .WithFusionKind(HloInstruction::FusionKind::kLoop)),
          1)));
  EXPECT_EQ(p->name(), "a");
  // The number of operands counts as soon as one is given.
  EXPECT_FALSE(Match(root, m::GetTupleElement(m::Tuple(m::Op()))));
  EXPECT_FALSE(
      Match(root, m::GetTupleElement(m::Tuple(m::Op(), m::Op(), m::Op()))));
  EXPECT_FALSE(
      Match(root->operand(0)->operand(1),
            m::Fusion().WithFusionKind(HloInstruction::FusionKind::kInput)));
  EXPECT_FALSE(Match(p, m::Parameter(1)));
  EXPECT_TRUE(Match(p, m::Op().WithParameterNum(0)));
  EXPECT_TRUE(Match(root, m::Op().WithTupleIndex(1)));
  EXPECT_FALSE(Match(p, m::Op().WithTupleIndex(1)));
  EXPECT_TRUE(Match(root, m::Op().WithPredicate([](const HloInstruction* i) {
    return i->tuple_index() == 1;
  })));
}

TEST(InstructionPatternTest, ComparisonDirections) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[] parameter(0)
  b = f32[] constant(2)
  lt = pred[] compare(a, b), direction=LT
  eq = pred[] compare(a, b), direction=EQ
  ROOT t = (pred[], pred[]) tuple(lt, eq)
})");
  HloInstruction* lt = RootOf(module)->mutable_operand(0);
  HloInstruction* eq = RootOf(module)->mutable_operand(1);
  HloInstruction* matched = nullptr;
  EXPECT_TRUE(Match(lt, m::Lt()));
  EXPECT_TRUE(Match(lt, m::Lt(&matched, m::Parameter(), m::Constant())));
  EXPECT_EQ(matched, lt);
  EXPECT_FALSE(Match(lt, m::Le()));
  EXPECT_FALSE(Match(lt, m::Lt(m::Constant(), m::Parameter())));
  EXPECT_TRUE(Match(eq, m::EqAnyOrder(m::Constant(), m::Parameter())));
  EXPECT_FALSE(Match(eq, m::NeAnyOrder(m::Constant(), m::Parameter())));
  EXPECT_TRUE(Match(
      eq, m::Compare().WithComparisonDirection(ComparisonDirection::kEq)));
  EXPECT_EQ(Explanation(lt, m::Gt()),
            "comparison direction is LT, not GT\n"
            "in lt = pred[] compare(a, b), direction=LT");
}

TEST(InstructionPatternTest, CustomCalls) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[] parameter(0)
  ROOT c = f32[] custom-call(a, a), custom_call_target="foo"
})");
  HloInstruction* root = RootOf(module);
  HloInstruction* call = nullptr;
  HloInstruction* a = nullptr;
  EXPECT_TRUE(Match(root, m::CustomCall()));
  EXPECT_TRUE(Match(root, m::CustomCall(&call)));
  EXPECT_TRUE(Match(root, m::CustomCall({"foo"})));
  EXPECT_TRUE(Match(root, m::CustomCall({"bar", "foo"}, m::Op(), m::Op())));
  EXPECT_TRUE(Match(root, m::CustomCall(m::Op(), m::Op(&a))));
  EXPECT_TRUE(Match(root, m::CustomCall(&call, m::Op(), m::Op(&a))));
  EXPECT_TRUE(Match(root, m::CustomCall(&call, {"foo"}, m::Op(), m::Op(&a))));
  EXPECT_TRUE(Match(root, m::CustomCall(&call, {"foo"})));
  EXPECT_EQ(call, root);
  EXPECT_EQ(a->name(), "a");
  EXPECT_FALSE(Match(root, m::CustomCall({"bar"})));
  EXPECT_FALSE(Match(root, m::CustomCall({"foo"}, m::Op())));
  EXPECT_FALSE(Match(a, m::Op().WithCustomCallTarget({"foo"})));
  EXPECT_EQ(Description(m::CustomCall({"bar", "baz"})),
            "instruction: opcode custom-call, "
            "custom call target \"bar\" or \"baz\"");
  EXPECT_EQ(Explanation(root, m::CustomCall({"bar"})),
            "custom call target is \"foo\"\nin c = f32[] "
            "custom-call(a, a), custom_call_target=\"foo\"");
}

TEST(InstructionPatternTest, DotAndConvolutionNumbers) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[2,3] parameter(0)
  b = f32[3,4] parameter(1)
  d = f32[2,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  x = f32[1,8,3] parameter(2)
  k = f32[2,3,5] parameter(3)
  c = f32[1,7,5] convolution(x, k), window={size=2}, dim_labels=b0f_0io->b0f
  ROOT t = (f32[2,4], f32[1,7,5]) tuple(d, c)
})");
  HloInstruction* dot = RootOf(module)->mutable_operand(0);
  HloInstruction* conv = RootOf(module)->mutable_operand(1);
  EXPECT_TRUE(Match(
      dot,
      m::Dot(m::Parameter(0), m::Parameter(1)).WithContractingDims({1}, {0})));
  EXPECT_FALSE(Match(dot, m::Dot().WithContractingDims({0}, {0})));
  EXPECT_FALSE(Match(conv, m::Op().WithContractingDims({1}, {0})));
  EXPECT_TRUE(Match(conv, m::Convolution().WithConvDnums("b0f_0io->b0f")));
  EXPECT_TRUE(
      Match(conv, m::Convolution(m::Op(), m::Op())
                      .WithConvDnums(conv->convolution_dimension_numbers())));
  EXPECT_FALSE(Match(conv, m::Convolution().WithConvDnums("bf0_0io->bf0")));
  EXPECT_FALSE(Match(dot, m::Op().WithConvDnums("b0f_0io->b0f")));
}

TEST(InstructionPatternTest, ReplicaGroupsShardingAndControlEdges) {
  auto module = ParseForTest(R"(
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  a = f32[4] parameter(0), sharding={devices=[2]<=[2]}
  n = f32[4] negate(a)
  ROOT r = f32[4] all-reduce(a), replica_groups=[2,2]<=[4], to_apply=sum, control-predecessors={n}
})");
  HloInstruction* root = RootOf(module);
  HloInstruction* a = root->mutable_operand(0);
  HloInstruction* n = root->control_predecessors()[0];
  EXPECT_TRUE(
      Match(root, m::AllReduce(m::Op()).WithReplicaGroups({{0, 1}, {2, 3}})));
  EXPECT_FALSE(Match(root, m::Op().WithReplicaGroups({{0, 1, 2, 3}})));
  EXPECT_FALSE(Match(a, m::Op().WithReplicaGroups({})));
  EXPECT_TRUE(Match(a, m::Op().WithSharding("{devices=[2]<=[2]}")));
  EXPECT_FALSE(Match(a, m::Op().WithSharding("{replicated}")));
  EXPECT_FALSE(Match(a, m::Op().WithSharding("")));
  EXPECT_TRUE(Match(n, m::Op().WithSharding("")));
  EXPECT_TRUE(Match(root, m::Op().WithControlDeps({n}, {})));
  EXPECT_TRUE(Match(n, m::Op().WithControlDeps({}, {root})));
  EXPECT_FALSE(Match(root, m::Op().WithControlDeps({}, {})));
  EXPECT_EQ(Explanation(n, m::Op().WithControlDeps({}, {a})).substr(0, 38),
            "control successors are {r}, not {a}\nin");
}

TEST(InstructionPatternTest, EveryOpcodeHasAFunction) {
  auto module = ParseForTest(kSumTimesA);
  HloInstruction* root = RootOf(module);
  int matches = 0;
#define COUNT_MATCH(NAME) matches += Match(root, m::NAME());
  XLA_HLO_OPCODE_NAMES(COUNT_MATCH)
  XLA_HLO_OPCODE_NAMES_SPECIAL(COUNT_MATCH)
#undef COUNT_MATCH
  EXPECT_EQ(matches, 1);
}

}  // namespace
}  // namespace xla
