#include "xla/hlo/testlib/pattern_matcher_gmock.h"

#include <memory>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/pattern_matcher.h"
#include "xla/hlo/utils/pattern_matcher_test_util.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

namespace m = ::xla::match;
using ::testing::Not;

constexpr char kSum[] = R"(
ENTRY e {
  a = f32[2,3] parameter(0)
  b = f32[2,3] parameter(1)
  n = f32[2,3] negate(b)
  ROOT sum = f32[2,3] add(a, n)
})";

template <typename T>
std::string ExplanationOf(const ::testing::Matcher<T>& matcher, T value) {
  ::testing::StringMatchResultListener listener;
  EXPECT_FALSE(matcher.MatchAndExplain(value, &listener));
  return listener.str();
}

TEST(GmockMatchTest, Instructions) {
  auto module = ParseForTest(kSum);
  HloInstruction* root = RootOf(module);
  const HloInstruction* const_root = root;
  HloInstruction* x = nullptr;
  EXPECT_THAT(
      root, GmockMatch(m::Add(m::Parameter(0),
                              m::Op(&x).WithOneUse().WithShape(F32, {2, 3}))));
  EXPECT_EQ(x, root->operand(1));
  EXPECT_THAT(const_root, GmockMatch(m::Add()));
  EXPECT_THAT(*root, GmockMatch(m::Add()));
  EXPECT_THAT(root, Not(GmockMatch(m::Multiply())));
  auto pattern = m::Add(m::Op(), m::Negate());
  EXPECT_THAT(root, GmockMatch(pattern));
  EXPECT_THAT(root->operands(),
              ::testing::ElementsAre(GmockMatch(m::Parameter()),
                                     GmockMatch(m::Negate(m::Parameter(1)))));
}

TEST(GmockMatchTest, ShapesAndLayouts) {
  Shape shape = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1});
  Layout layout = LayoutUtil::MakeLayout({0, 1});
  EXPECT_THAT(shape, GmockMatch(m::Shape().WithRank(2)));
  EXPECT_THAT(&shape, GmockMatch(m::Shape().WithLayout({0, 1})));
  EXPECT_THAT(layout, GmockMatch(m::Layout().WithMinorToMajor({0, 1})));
  EXPECT_THAT(&layout, Not(GmockMatch(m::Layout().WithMinorToMajor({1, 0}))));
}

TEST(GmockMatchTest, Texts) {
  auto module = ParseForTest(kSum);
  ::testing::Matcher<const HloInstruction*> matcher =
      GmockMatch(m::Add(m::Parameter(1), m::Op()));
  std::ostringstream description, negation;
  matcher.DescribeTo(&description);
  matcher.DescribeNegationTo(&negation);
  EXPECT_EQ(description.str(),
            "instruction: opcode add\n"
            "  operand 0: instruction: opcode parameter, parameter number 1\n"
            "  operand 1: any instruction");
  EXPECT_EQ(negation.str(), "not " + description.str());
  EXPECT_EQ(ExplanationOf<const HloInstruction*>(matcher, RootOf(module)),
            "parameter number is 0, not 1\n"
            "in a = f32[2,3]{1,0} parameter(0)\n"
            "as operand 0\n"
            "in sum = f32[2,3]{1,0} add(a, n)");
  ::testing::Matcher<const Shape&> shape_matcher =
      GmockMatch(m::Shape().IsTuple());
  Shape shape = ShapeUtil::MakeShape(F32, {2});
  EXPECT_EQ(ExplanationOf<const Shape&>(shape_matcher, shape),
            "is not a tuple\nin f32[2]{0}");
}

}  // namespace
}  // namespace xla
