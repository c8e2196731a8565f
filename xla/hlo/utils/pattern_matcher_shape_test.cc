#include "gtest/gtest.h"
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

TEST(LayoutPatternTest, EqualityOrderAndCapture) {
  Layout rows = LayoutUtil::MakeLayout({1, 0});
  Layout columns = LayoutUtil::MakeLayout({0, 1});
  const Layout* matched_const = nullptr;
  Layout* matched = nullptr;
  EXPECT_TRUE(Match(&rows, m::Layout()));
  EXPECT_TRUE(Match(&rows, m::Layout(&matched)));
  EXPECT_EQ(matched, &rows);
  EXPECT_TRUE(Match(&rows, m::Layout(&matched_const).EqualTo(&rows)));
  EXPECT_EQ(matched_const, &rows);
  EXPECT_TRUE(Match(&rows, m::Layout().WithMinorToMajor({1, 0})));
  EXPECT_FALSE(Match(&columns, m::Layout().WithMinorToMajor({1, 0})));
  EXPECT_FALSE(Match(&columns, m::Layout().EqualTo(&rows)));
  const Layout* none = nullptr;
  EXPECT_FALSE(Match(none, m::Layout()));
}

TEST(LayoutPatternTest, Texts) {
  Layout rows = LayoutUtil::MakeLayout({1, 0});
  EXPECT_EQ(Description(m::Layout()), "any layout");
  EXPECT_EQ(Description(m::Layout().WithMinorToMajor({0, 1})),
            "layout: minor to major order {0,1}");
  EXPECT_EQ(Explanation(&rows, m::Layout().WithMinorToMajor({0, 1})),
            "minor to major order is {1,0}, not {0,1}\nin {1,0}");
}

TEST(ShapePatternTest, Properties) {
  Shape matrix = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1});
  Shape scalar = ShapeUtil::MakeShape(S32, {});
  Shape one = ShapeUtil::MakeShape(S32, {1, 1});
  Shape tuple = ShapeUtil::MakeTupleShape({matrix, scalar});

  EXPECT_TRUE(Match(&matrix, m::Shape().IsArray().IsDenseArray().WithRank(2)));
  EXPECT_TRUE(Match(&matrix, m::Shape().WithElementType(F32).WithDims({2, 3})));
  EXPECT_FALSE(Match(&matrix, m::Shape().WithDims({3, 2})));
  EXPECT_FALSE(Match(&matrix, m::Shape().WithElementType(F16)));
  EXPECT_FALSE(Match(&matrix, m::Shape().IsTuple()));
  EXPECT_FALSE(Match(&matrix, m::Shape().IsScalar()));
  EXPECT_FALSE(Match(&matrix, m::Shape().IsEffectiveScalar()));

  EXPECT_TRUE(Match(&scalar, m::Shape().IsScalar().IsEffectiveScalar()));
  EXPECT_TRUE(Match(&scalar, m::Shape().WithRank(0).WithDims({})));
  EXPECT_TRUE(Match(&one, m::Shape().IsEffectiveScalar()));
  EXPECT_FALSE(Match(&one, m::Shape().IsScalar()));

  EXPECT_TRUE(Match(&tuple, m::Shape().IsTuple()));
  EXPECT_FALSE(Match(&tuple, m::Shape().IsArray()));
  EXPECT_FALSE(Match(&tuple, m::Shape().WithRank(2)));
  EXPECT_FALSE(Match(&tuple, m::Shape().WithDims({})));
  EXPECT_FALSE(Match(&tuple, m::Shape().IsScalar()));
}

TEST(ShapePatternTest, EqualIsStricterThanCompatible) {
  Shape rows = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {1, 0});
  Shape columns = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1});
  EXPECT_TRUE(Match(&rows, m::Shape().EqualTo(&rows)));
  EXPECT_FALSE(Match(&rows, m::Shape().EqualTo(&columns)));
  EXPECT_TRUE(Match(&rows, m::Shape().CompatibleTo(&columns)));
  EXPECT_EQ(Explanation(&rows, m::Shape().EqualTo(&columns)),
            "is not equal to f32[2,3]{0,1}\nin f32[2,3]{1,0}");
}

TEST(ShapePatternTest, LayoutsAndSubshapes) {
  Shape matrix = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1});
  Shape scalar = ShapeUtil::MakeShape(S32, {});
  Shape inner = ShapeUtil::MakeTupleShape({scalar});
  Shape tuple = ShapeUtil::MakeTupleShape({matrix, inner});
  Layout* layout = nullptr;
  Shape* subshape = nullptr;

  EXPECT_TRUE(Match(&matrix, m::Shape().WithLayout({0, 1})));
  EXPECT_TRUE(Match(&matrix, m::Shape().WithLayoutEqualTo(&matrix.layout())));
  EXPECT_TRUE(Match(&matrix, m::Shape().WithLayout(m::Layout(&layout))));
  EXPECT_EQ(layout, &matrix.layout());

  EXPECT_TRUE(Match(
      &tuple, m::Shape()
                  .WithSubshape({0}, m::Shape(&subshape).WithLayout({0, 1}))
                  .WithSubshapeEqualTo({0}, &matrix)
                  .WithSubshapeCompatibleTo({1, 0}, &scalar)
                  .WithSubshape({}, m::Shape().IsTuple())));
  EXPECT_EQ(subshape, &tuple.tuple_shapes(0));
  EXPECT_FALSE(Match(&tuple, m::Shape().WithSubshape({2}, m::Shape())));
  EXPECT_FALSE(Match(&tuple, m::Shape().WithSubshape({0, 0}, m::Shape())));
  EXPECT_FALSE(Match(&tuple, m::Shape().WithLayout(m::Layout())));
}

TEST(ShapePatternTest, Texts) {
  Shape tuple = ShapeUtil::MakeTupleShape({ShapeUtil::MakeShape(S32, {4})});
  EXPECT_EQ(Description(m::Shape()), "any shape");
  EXPECT_EQ(Description(m::Shape().IsArray().WithRank(2).WithLayout({1, 0})),
            "shape: an array, rank 2, layout (minor to major order {1,0})");
  EXPECT_EQ(
      Description(m::AnyOf<Shape>(m::Shape().IsTuple(), m::Shape().IsScalar())),
      "shape:\n  shape: a tuple\n  or shape: a scalar");
  EXPECT_EQ(Explanation(&tuple, m::Shape().IsArray()),
            "is not an array\nin (s32[4]{0})");
  EXPECT_EQ(Explanation(&tuple, m::Shape().WithRank(1)),
            "has no rank\nin (s32[4]{0})");
  EXPECT_EQ(Explanation(&tuple, m::Shape().WithSubshape(
                                    {0}, m::Shape().WithElementType(F32))),
            "element type is s32, not f32\nin s32[4]{0}\nas subshape {0}\n"
            "in (s32[4]{0})");
}

TEST(ShapePatternTest, AnyOfAndAllOf) {
  Shape scalar = ShapeUtil::MakeShape(S32, {});
  const Shape* first = nullptr;
  const Shape* second = nullptr;
  EXPECT_TRUE(Match(&scalar, m::AnyOf<Shape>(m::Shape(&first).IsTuple(),
                                             m::Shape(&second).IsScalar())));
  EXPECT_EQ(first, nullptr);
  EXPECT_EQ(second, &scalar);
  EXPECT_TRUE(Match(
      &scalar, m::AllOf<Shape>(m::Shape().IsArray(), m::Shape().IsScalar())));
  EXPECT_FALSE(Match(
      &scalar, m::AllOf<Shape>(m::Shape().IsTuple(), m::Shape().IsScalar())));
}

}  // namespace
}  // namespace xla
