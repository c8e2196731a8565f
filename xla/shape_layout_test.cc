#include "xla/shape_layout.h"

#include "gtest/gtest.h"
#include "xla/layout.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

Shape Pair() {
  Shape f32 = ShapeUtil::MakeShape(F32, {2, 3});
  return ShapeUtil::MakeTupleShape({f32, f32});
}

TEST(ShapeLayoutTest, LayoutsAreCopiedBetweenCompatibleShapes) {
  ShapeLayout layout(Pair());
  layout.ResetLayout(Layout({0, 1}), {1});
  Shape target = Pair();
  EXPECT_FALSE(layout.MatchesLayoutInShape(target));
  ASSERT_TRUE(layout.AssignLayoutToShape(&target).ok());
  EXPECT_TRUE(layout.MatchesLayoutInShape(target));
  EXPECT_EQ(layout.ToString(), "(f32[2,3]{1,0}, f32[2,3]{0,1})");
  ShapeLayout copy(Pair());
  ASSERT_TRUE(copy.CopyLayoutFromShape(target).ok());
  EXPECT_EQ(copy, layout);
  Shape other = ShapeUtil::MakeShape(F32, {2});
  EXPECT_FALSE(layout.AssignLayoutToShape(&other).ok());
  EXPECT_FALSE(copy.CopyLayoutFromShape(other).ok());
}

TEST(ShapeLayoutTest, LayoutsAreClearedAllOrInPart) {
  ShapeLayout layout(Pair());
  EXPECT_TRUE(layout.LayoutIsSet());
  layout.Clear({0});
  EXPECT_FALSE(layout.LayoutIsSet());
  EXPECT_TRUE(layout.AnyLayoutIsSet());
  layout.Clear();
  EXPECT_FALSE(layout.AnyLayoutIsSet());
  layout.SetToDefaultLayout();
  EXPECT_TRUE(layout.LayoutIsSet());
}

TEST(ShapeLayoutTest, TilesMatterUnlessOneSideHasNone) {
  Shape tiled =
      ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {1, 0}, {Tile({8})});
  ShapeLayout layout(ShapeUtil::MakeShape(F32, {2, 3}));
  EXPECT_FALSE(layout.MatchesLayoutInShape(tiled));
  EXPECT_TRUE(layout.MatchesLayoutInShape(tiled, /*minor_to_major_only=*/true));
  EXPECT_TRUE(layout.MatchesLayoutInShape(tiled, /*minor_to_major_only=*/false,
                                          /*ignore_fully_empty_tiling=*/true));
  Shape other =
      ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {1, 0}, {Tile({4})});
  EXPECT_FALSE(ShapeLayout(other).MatchesLayoutInShape(tiled, false, true));
  ShapeLayout tiled_layout(tiled);
  tiled_layout.ClearTiles();
  EXPECT_EQ(tiled_layout, layout);
}

}  // namespace
}  // namespace xla
