#include "xla/hlo/testlib/hlo_matchers.h"

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/utils/pattern_matcher_test_util.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace op = xla::testing::opcode_matchers;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace xla {
namespace {

using InstructionMatcher = ::testing::Matcher<const HloInstruction*>;

std::string DescriptionOf(const InstructionMatcher& matcher) {
  std::ostringstream os;
  matcher.DescribeTo(&os);
  return os.str();
}

std::string ExplanationOf(const InstructionMatcher& matcher,
                          const HloInstruction* inst) {
  ::testing::StringMatchResultListener listener;
  EXPECT_FALSE(matcher.MatchAndExplain(inst, &listener));
  return listener.str();
}

constexpr char kSum[] = R"(
ENTRY e {
  a = f32[2]{0} parameter(0)
  b = f32[2]{0} parameter(1)
  n = f32[2]{0} negate(b)
  ROOT sum = f32[2]{0} add(a, n)
})";

TEST(HloMatchersTest, OpcodeAndOperands) {
  auto module = ParseForTest(kSum);
  HloInstruction* root = RootOf(module);
  EXPECT_THAT(root, op::Add());
  EXPECT_THAT(root, op::Add(op::Parameter(0), op::Negate(op::Parameter())));
  EXPECT_THAT(root, op::Add(_, op::Negate(_)));
  EXPECT_THAT(root, op::Add(root->operand(0), root->operand(1)));
  EXPECT_THAT(root, AllOf(op::Add(), op::Shape("f32[2]")));
  EXPECT_THAT(root, Not(op::Multiply()));
  EXPECT_THAT(root, Not(op::Add(op::Parameter(0))));
  EXPECT_THAT(root, Not(op::Add(op::Parameter(1), _)));
  EXPECT_THAT(root->operands(), ElementsAre(op::Parameter(), op::Negate()));
}

TEST(HloMatchersTest, DescriptionsAndExplanations) {
  auto module = ParseForTest(kSum);
  const HloInstruction* root = RootOf(module);
  InstructionMatcher matcher = op::Add(op::Parameter(0), op::Exp(_));
  EXPECT_EQ(DescriptionOf(matcher),
            "add(parameter(0), exponential(is anything))");
  EXPECT_EQ(ExplanationOf(matcher, root),
            "operand 1: %n = f32[2]{0} negate(%b)\n"
            "  opcode is negate, not exponential");
  EXPECT_EQ(ExplanationOf(op::Add(op::Parameter(0)), root),
            "operand count is 2, not 1");
  EXPECT_EQ(ExplanationOf(op::Parameter(3), root->operand(0)),
            "parameter number is 0, not 3");
  EXPECT_EQ(ExplanationOf(op::Add(), nullptr), "null");
  std::ostringstream printed;
  PrintTo(root, &printed);
  EXPECT_EQ(printed.str(), root->ToString());
}

TEST(HloMatchersTest, ShapesAndLayouts) {
  auto module = ParseForTest(R"(
ENTRY e { ROOT a = f32[2,3]{0,1:T(8)} parameter(0) })");
  const HloInstruction* a = RootOf(module);
  Shape shape = ShapeUtil::MakeShape(F32, {2, 3});
  EXPECT_THAT(a, op::Shape("f32[2,3]"));
  EXPECT_THAT(a, op::Shape("f32[2,3]{1,0}"));
  EXPECT_THAT(a, op::Shape(shape));
  EXPECT_THAT(a, Not(op::Shape("f32[3,2]")));
  EXPECT_THAT(a, op::ShapeWithLayout("f32[2,3]{0,1:T(8)}"));
  EXPECT_THAT(a, Not(op::ShapeWithLayout("f32[2,3]{0,1}")));
  EXPECT_THAT(a, op::ShapeWithLayout("f32[2,3]{0,1}",
                                     /*minor_to_major_only=*/true));
  EXPECT_THAT(a, Not(op::ShapeWithLayout("f32[2,3]{1,0}",
                                         /*minor_to_major_only=*/true)));
  EXPECT_THAT(a, op::ShapeWithLayout(a->shape()));
  EXPECT_EQ(DescriptionOf(op::Shape(shape)), "of shape f32[2,3]");
  EXPECT_EQ(ExplanationOf(op::Shape("f32[]"), a), "shape is f32[2,3]");
}

TEST(HloMatchersTest, ShardingAttributesMetadataAndUsers) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[2]{0} parameter(0), sharding={devices=[2]<=[2]}
  ROOT n = f32[2]{0} negate(a), frontend_attributes={key="value"}, metadata={op_name="neg" op_type="Neg"}
})");
  const HloInstruction* n = RootOf(module);
  const HloInstruction* a = n->operand(0);
  EXPECT_THAT(a, op::Sharding("{devices=[2]<=[2]}"));
  EXPECT_THAT(a, op::Sharding(HloSharding::IotaTile({2})));
  EXPECT_THAT(a, Not(op::Sharding("{replicated}")));
  EXPECT_THAT(a, Not(op::NoSharding()));
  EXPECT_THAT(n, op::NoSharding());
  EXPECT_THAT(n, Not(op::Sharding("{replicated}")));
  EXPECT_EQ(DescriptionOf(op::Sharding("{replicated}")),
            "of sharding {replicated}");
  EXPECT_EQ(ExplanationOf(op::NoSharding(), a),
            "sharding is {devices=[2]<=[2]}");

  EXPECT_THAT(n, op::FrontendAttribute("key", "value"));
  EXPECT_THAT(n, Not(op::FrontendAttribute("key", "other")));
  EXPECT_THAT(a, Not(op::FrontendAttribute("key", "value")));

  OpMetadata metadata;
  metadata.set_op_name("neg");
  metadata.set_op_type("Neg");
  EXPECT_THAT(n, op::Metadata(metadata));
  EXPECT_THAT(a, Not(op::Metadata(metadata)));

  EXPECT_THAT(a, op::UsedBy(op::Negate()));
  EXPECT_THAT(a, Not(op::UsedBy(op::Add())));
  EXPECT_EQ(ExplanationOf(op::UsedBy(op::Add()), a), "no user matches");
}

TEST(HloMatchersTest, TuplesAndComparisons) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  t = (f32[], f32[]) tuple(a, b)
  g = f32[] get-tuple-element(t), index=1
  ROOT c = pred[] compare(g, a), direction=LT
})");
  const HloInstruction* root = RootOf(module);
  EXPECT_THAT(root, op::Lt(op::GetTupleElement(op::Tuple(), 1), _));
  EXPECT_THAT(root, op::Compare(op::GetTupleElement(op::Tuple(_, _)), _));
  EXPECT_THAT(root, op::Lt(op::GetTupleElement(), op::Parameter()));
  EXPECT_THAT(root, Not(op::Gt()));
  EXPECT_THAT(root, Not(op::Lt(op::GetTupleElement(_, 0), _)));
  EXPECT_EQ(ExplanationOf(op::Ge(), root), "direction is LT, not GE");
  EXPECT_EQ(DescriptionOf(op::Eq(op::GetTupleElement(op::Tuple(), 1), _)),
            "compare EQ(get-tuple-element 1(tuple), is anything)");
}

TEST(HloMatchersTest, CustomCalls) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[] parameter(0)
  ROOT c = f32[] custom-call(a, a), custom_call_target="foo_target"
})");
  const HloInstruction* root = RootOf(module);
  EXPECT_THAT(root, op::CustomCall());
  EXPECT_THAT(root, op::CustomCall(op::Parameter(), op::Parameter()));
  EXPECT_THAT(root, op::CustomCall("foo_target"));
  EXPECT_THAT(root, op::CustomCall("foo_target", op::Parameter(), _));
  EXPECT_THAT(root, op::CustomCall(HasSubstr("foo")));
  EXPECT_THAT(root, Not(op::CustomCall("bar_target")));
  EXPECT_THAT(root, Not(op::CustomCall("foo_target", op::Parameter())));
  EXPECT_THAT(root, Not(op::CustomCall(op::Parameter())));
  EXPECT_EQ(ExplanationOf(op::CustomCall("bar"), root),
            "target is \"foo_target\"");
  EXPECT_EQ(DescriptionOf(op::CustomCall("bar", op::Parameter())),
            "custom-call with target that is equal to \"bar\"(parameter)");
}

TEST(HloMatchersTest, ConstantsAndDots) {
  auto module = ParseForTest(R"(
ENTRY e {
  c = f32[2]{0} constant({1, 2})
  a = f32[2,3]{1,0} parameter(0)
  ROOT d = f32[3]{0} dot(c, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}
})");
  const HloInstruction* root = RootOf(module);
  EXPECT_THAT(root, op::Dot());
  EXPECT_THAT(root, op::Dot(op::Constant(), op::Parameter(0)));
  EXPECT_THAT(root, op::Dot(op::Constant(), op::Parameter(0),
                            /*lhs_contracting_dim=*/0,
                            /*rhs_contracting_dim=*/0));
  EXPECT_EQ(ExplanationOf(op::Dot(_, _, 0, 1), root),
            "rhs_contracting_dims is {0}, not {1}");
  EXPECT_THAT(root->operand(0),
              op::Constant(LiteralUtil::CreateR1<float>({1, 2})));
  EXPECT_THAT(root->operand(0),
              Not(op::Constant(LiteralUtil::CreateR1<float>({1, 3}))));
}

TEST(HloMatchersTest, DynamicSliceTakesAList) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[4]{0} parameter(0)
  i = s32[] parameter(1)
  ROOT d = f32[2]{0} dynamic-slice(a, i), dynamic_slice_sizes={2}
})");
  std::vector<InstructionMatcher> operands = {op::Parameter(0),
                                              op::Parameter(1)};
  EXPECT_THAT(RootOf(module), op::DynamicSlice(operands));
  EXPECT_THAT(RootOf(module),
              op::DynamicSlice(op::Parameter(0), op::Parameter(1)));
}

TEST(HloMatchersTest, AsyncCopies) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[4]{0} parameter(0)
  s = (f32[4]{0:S(1)}, f32[4]{0}, u32[]) copy-start(a)
  ROOT d = f32[4]{0:S(1)} copy-done(s)
})");
  const HloInstruction* root = RootOf(module);
  EXPECT_THAT(root, op::AsyncCopy(1, 0, op::Parameter(0)));
  EXPECT_THAT(root, Not(op::AsyncCopy(1, 0, op::Constant())));
  EXPECT_EQ(ExplanationOf(op::AsyncCopy(0, 1, _), root),
            "copies to memory space 1, not 0");
  EXPECT_EQ(ExplanationOf(op::AsyncCopy(1, 2, _), root),
            "copies from memory space 0, not 2");
}

TEST(HloMatchersTest, ReplicaGroupsAndPairs) {
  auto module = ParseForTest(R"(
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  a = f32[4]{0} parameter(0)
  r = f32[4]{0} all-reduce(a), replica_groups=[2,2]<=[4], to_apply=sum
  ROOT p = f32[4]{0} collective-permute(r), source_target_pairs={{0,1},{1,0}}
})");
  const HloInstruction* permute = RootOf(module);
  const HloInstruction* reduce = permute->operand(0);
  EXPECT_THAT(reduce, op::ReplicaGroups({{0, 1}, {2, 3}}));
  EXPECT_THAT(reduce, Not(op::ReplicaGroups({{0, 1, 2, 3}})));
  EXPECT_EQ(ExplanationOf(op::ReplicaGroups({{0}}), reduce),
            "replica_groups is {{0,1},{2,3}}");
  EXPECT_EQ(ExplanationOf(op::ReplicaGroups({{0}}), reduce->operand(0)),
            "is not a collective");
  EXPECT_THAT(permute, op::SourceTargetPairs({{0, 1}, {1, 0}}));
  EXPECT_THAT(permute, Not(op::SourceTargetPairs({{0, 1}})));
  EXPECT_EQ(DescriptionOf(op::SourceTargetPairs({{0, 1}, {1, 0}})),
            "with source_target_pairs={{0,1},{1,0}}");
}

TEST(HloMatchersTest, PointersOfContainers) {
  std::vector<std::unique_ptr<HloInstruction>> list;
  list.push_back(
      HloInstruction::CreateParameter(0, ShapeUtil::MakeShape(F32, {}), "p"));
  list.push_back(HloInstruction::CreateConstant(LiteralUtil::CreateR0(1.0f)));
  EXPECT_THAT(testing::Pointers(list),
              ElementsAre(op::Parameter(0), op::Constant()));
}

}  // namespace
}  // namespace xla
