#include "xla/layout_util.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/layout.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Shape Tiled(std::vector<int64_t> dims, std::vector<int64_t> order,
            std::vector<Tile> tiles) {
  return ShapeUtil::MakeShapeWithDenseLayout(F32, dims, order, tiles);
}

// --- Text and protos ---

TEST(LayoutTest, PlainLayoutPrintsItsOrder) {
  EXPECT_EQ(LayoutUtil::MakeLayout({0, 2, 1}).ToString(), "{0,2,1}");
  EXPECT_EQ(Layout().ToString(), "{}");
  EXPECT_EQ(Layout({1, 0}, {Tile({-2, 55})}).ToString(),
            "{1,0:T(Invalid value -2,55)}");
}

TEST(LayoutTest, EveryFieldPrintsInFixedOrder) {
  Layout layout = LayoutUtil::MakeLayout(
      {1, 0}, {Tile({8, 128}), Tile({2, Tile::kCombineDimension, 1})},
      /*tail_padding_alignment_in_elements=*/1024, U32, U64,
      /*element_size_in_bits=*/4, /*memory_space=*/5,
      {SplitConfig(0, {3}), SplitConfig(1, {4, 8})},
      ShapeUtil::MakeShape(F32, {3}),
      /*dynamic_shape_metadata_prefix_bytes=*/64);
  EXPECT_EQ(layout.ToString(),
            "{1,0:T(8,128)(2,*,1)L(1024)#(u32)*(u64)E(4)S(5)SC(0:3)(1:4,8)"
            "P(f32[3]{0})M(64)}");
}

TEST(LayoutTest, ProtoKeepsEveryField) {
  Layout layout = LayoutUtil::MakeLayout({1, 0}, {Tile({8, 128})}, 2, U32, U64,
                                         4, 5, {SplitConfig(0, {3})},
                                         ShapeUtil::MakeShape(F32, {3}), 64);
  EXPECT_EQ(Layout::CreateFromProto(layout.ToProto()), layout);
  EXPECT_EQ(Layout::CreateFromProto(Layout().ToProto()), Layout());
}

TEST(LayoutTest, ProtoWithoutTailPaddingMeansNone) {
  LayoutProto proto;
  proto.add_minor_to_major(0);
  EXPECT_EQ(Layout::FromProto(proto)->tail_padding_alignment_in_elements(), 1);
}

TEST(LayoutTest, BadProtosAreErrors) {
  LayoutProto negative;
  negative.set_memory_space(-1);
  EXPECT_EQ(Layout::FromProto(negative).status().code(),
            absl::StatusCode::kInvalidArgument);
  LayoutProto sparse;
  sparse.add_dim_level_types(DIM_COMPRESSED);
  EXPECT_EQ(Layout::FromProto(sparse).status().code(),
            absl::StatusCode::kUnimplemented);
  LayoutProto tile;
  tile.add_tiles()->add_dimensions(-5);
  EXPECT_FALSE(Layout::FromProto(tile).ok());
}

// --- Comparison ---

TEST(LayoutTest, FieldsSetBackToTheirDefaultsCompareAndHashAsPlain) {
  Layout layout = LayoutUtil::MakeLayout({0});
  Layout touched = layout;
  touched.set_memory_space(3).set_memory_space(0);
  EXPECT_EQ(layout, touched);
  EXPECT_TRUE(touched.is_plain());
  EXPECT_EQ(touched.ToString(), "{0}");
  EXPECT_EQ(absl::HashOf(layout), absl::HashOf(touched));
}

TEST(LayoutTest, EqualLeavesOutWhatItIsTold) {
  Layout a = LayoutUtil::MakeLayout({1, 0});
  Layout b = a;
  b.set_memory_space(1);
  EXPECT_FALSE(Layout::Equal()(a, b));
  EXPECT_TRUE(Layout::Equal().IgnoreMemorySpace()(a, b));
  *b.add_tiles() = Tile({8});
  EXPECT_FALSE(Layout::Equal().IgnoreMemorySpace()(a, b));
  EXPECT_TRUE(Layout::Equal().IgnoreMemorySpace().IgnoreTiles()(a, b));
  EXPECT_TRUE(Layout::Equal().MinorToMajorOnly()(a, b));
  EXPECT_FALSE(
      Layout::Equal().MinorToMajorOnly()(a, LayoutUtil::MakeLayout({0, 1})));
}

TEST(LayoutTest, DeletedDimensionLeavesOrderAndSplits) {
  Layout layout = LayoutUtil::MakeLayout(
      {3, 1, 0, 2}, {}, 1, PRIMITIVE_TYPE_INVALID, PRIMITIVE_TYPE_INVALID, 0, 0,
      {SplitConfig(2, {2}), SplitConfig(3, {4})});
  // Dimension 1 is the third from the most major.
  layout.DeleteDimension(1);
  EXPECT_EQ(layout.ToString(), "{2,0,1:SC(2:4)}");
}

TEST(LayoutTest, SplitsCountFromTheMostMajorDimension) {
  const Shape shape = ShapeUtil::MakeShapeWithDenseLayout(
      F32, {10, 20, 30}, {0, 1, 2}, {}, 1, 0, 0,
      {SplitConfig(0, {4}), SplitConfig(1, {5, 15})});
  EXPECT_EQ(LayoutUtil::MaxSplitSize(shape, 0), 10);
  EXPECT_EQ(LayoutUtil::MaxSplitSize(shape, 1), 10);
  EXPECT_EQ(LayoutUtil::MaxSplitSize(shape, 2), 26);
}

// --- Orders ---

TEST(LayoutUtilTest, DefaultOrders) {
  EXPECT_EQ(LayoutUtil::GetDefaultLayoutForR3().ToString(), "{2,1,0}");
  EXPECT_EQ(LayoutUtil::MakeAscendingLayout(3).ToString(), "{0,1,2}");
  EXPECT_EQ(LayoutUtil::MakeLayoutFromMajorToMinor({0, 2, 1}).ToString(),
            "{1,2,0}");
  EXPECT_TRUE(LayoutUtil::IsMonotonicWithDim0Major(Layout({2, 1, 0})));
  EXPECT_FALSE(LayoutUtil::IsMonotonicWithDim0Minor(Layout({2, 1, 0})));
  EXPECT_TRUE(LayoutUtil::HasAscendingLayout(Layout({0, 1})));
}

TEST(LayoutUtilTest, PhysicalPositions) {
  Layout layout({1, 2, 0});
  EXPECT_EQ(LayoutUtil::Major(layout, 0), 0);
  EXPECT_EQ(LayoutUtil::Minor(layout, 0), 1);
  EXPECT_THAT(LayoutUtil::MakeLogicalToPhysical(layout), ElementsAre(0, 2, 1));
  EXPECT_EQ(LayoutUtil::MoveDimToMajor(layout, 1).ToString(), "{2,0,1}");
  EXPECT_EQ(LayoutUtil::MoveDimToMinor(layout, 0).ToString(), "{0,1,2}");
  EXPECT_TRUE(LayoutUtil::AreDimensionsConsecutive(layout, {0, 2}));
  EXPECT_FALSE(LayoutUtil::AreDimensionsConsecutive(layout, {0, 1}));
}

TEST(LayoutUtilTest, TupleLayoutsAreSetComparedAndCopied) {
  Shape tuple = ShapeUtil::MakeTupleShape(
      {ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1}),
       ShapeUtil::MakeTokenShape()});
  Shape other = LayoutUtil::GetWithDefaultLayout(tuple);
  EXPECT_FALSE(LayoutUtil::LayoutsInShapesEqual(tuple, other));
  ASSERT_TRUE(LayoutUtil::CopyLayoutBetweenShapes(tuple, &other).ok());
  EXPECT_TRUE(LayoutUtil::LayoutsInShapesEqual(tuple, other));
  LayoutUtil::ClearLayout(&other);
  EXPECT_FALSE(LayoutUtil::HasLayout(other));
  EXPECT_FALSE(LayoutUtil::HasAnyLayout(other));
  EXPECT_FALSE(LayoutUtil::LayoutsInShapesEqual(tuple, other));
  Shape array = ShapeUtil::MakeShape(F32, {2});
  EXPECT_FALSE(LayoutUtil::CopyLayoutBetweenShapes(tuple, &array).ok());
}

TEST(LayoutUtilTest, RowMajorByteStrides) {
  EXPECT_TRUE(
      LayoutUtil::ByteStridesIsMajorToMinor({24, 7, 4}, {2, 1, 6}, F32));
  EXPECT_FALSE(LayoutUtil::ByteStridesIsMajorToMinor({4, 8}, {2, 3}, F32));
}

// --- Validation ---

struct BadLayout {
  Layout layout;
  std::string message;
};

TEST(LayoutUtilTest, LayoutsThatDoNotFitAreErrors) {
  Shape shape = ShapeUtil::MakeShape(F32, {4, 6});
  Layout ok({1, 0});
  auto with = [&](auto change) {
    Layout layout = ok;
    change(layout);
    return layout;
  };
  std::vector<BadLayout> cases = {
      {Layout({0}), "contains 1 elements"},
      {Layout({0, 2}), "out-of-bounds"},
      {Layout({0, -1}), "out-of-bounds"},
      {Layout({1, 1}), "duplicate"},
      {with([](Layout& l) { *l.add_tiles() = Tile({0}); }), "invalid tile"},
      {with([](Layout& l) {
         *l.add_tiles() = Tile({8, Tile::kCombineDimension});
       }),
       "invalid tile"},
      {with([](Layout& l) { l.add_split_configs(SplitConfig(2, {1})); }),
       "splits dimension 2"},
      {with([](Layout& l) { l.add_split_configs(SplitConfig(1, {6})); }),
       "split indices"},
      {with([](Layout& l) { l.mutable_physical_shape(); }), "physical_shape"},
      {with([](Layout& l) { l.set_element_size_in_bits(-1); }), "negative"},
      {with([](Layout& l) { l.set_tail_padding_alignment_in_elements(0); }),
       "not positive"},
      {with([](Layout& l) { l.set_index_primitive_type(F32); }), "unsigned"},
  };
  for (const BadLayout& bad : cases) {
    absl::Status status = LayoutUtil::ValidateLayoutForShape(bad.layout, shape);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.layout;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.message));
  }
  EXPECT_TRUE(LayoutUtil::ValidateLayoutForShape(ok, shape).ok());
  Shape bare(F32, {4, 6});
  EXPECT_FALSE(LayoutUtil::ValidateLayoutInShape(bare).ok());
  EXPECT_TRUE(LayoutUtil::ValidateLayoutInShape(bare, true).ok());
}

// --- Tiles and splits ---

TEST(LayoutUtilTest, LinearIndexWithoutTilesFollowsTheOrder) {
  Shape shape = Tiled({3, 5}, {0, 1}, {});
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {2, 4}), 4 * 3 + 2);
}

TEST(LayoutUtilTest, LinearIndexInTwoByTwoTiles) {
  // 3x5 becomes 2x3 tiles of 2x2: (2,3) is tile (1,1), element (0,1).
  Shape shape = Tiled({3, 5}, {1, 0}, {Tile({2, 2})});
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {2, 3}), (1 * 3 + 1) * 4 + 1);
}

TEST(LayoutUtilTest, LinearIndexInNestedTiles) {
  // Rows of a tile of 8x128 are interleaved in pairs.
  Shape shape = Tiled({16, 256}, {1, 0}, {Tile({8, 128}), Tile({2, 1})});
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {1, 0}), 1);
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {0, 1}), 2);
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {2, 0}), 256);
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {8, 128}), 3 * 1024);
}

TEST(LayoutUtilTest, CombinedDimensionsAreTiledAsOne) {
  Shape shape =
      Tiled({3, 4, 5}, {2, 1, 0}, {Tile({Tile::kCombineDimension, 8, 2})});
  // Dimensions 0 and 1 make one of 12, cut into 2 tiles; 5 into 3.
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {2, 1, 3}),
            ((9 / 8) * 3 + 1) * 16 + (9 % 8) * 2 + 1);
}

TEST(LayoutUtilTest, DelinearizeInvertsEveryTiling) {
  std::vector<Shape> shapes = {
      Tiled({3, 5}, {1, 0}, {}),
      Tiled({3, 5}, {0, 1}, {Tile({2, 4})}),
      Tiled({7}, {0}, {Tile({4, 2})}),
      Tiled({9, 10}, {1, 0}, {Tile({4, 8}), Tile({2, 1})}),
      Tiled({3, 4, 5}, {2, 0, 1},
            {Tile({Tile::kCombineDimension, 8, 2}), Tile({3, 1})}),
      Tiled({2, 3, 4}, {2, 1, 0},
            {Tile({Tile::kCombineDimension, Tile::kCombineDimension, 5})}),
  };
  for (const Shape& shape : shapes) {
    std::vector<int64_t> seen;
    ShapeUtil::ForEachIndexNoStatus(
        shape, [&](absl::Span<const int64_t> index) {
          int64_t linear = LayoutUtil::LinearIndexForNestedTiling(shape, index);
          EXPECT_EQ(LayoutUtil::DelinearizeIndexForNestedTiling(shape, linear),
                    std::vector<int64_t>(index.begin(), index.end()))
              << shape;
          EXPECT_LT(linear, LayoutUtil::MaxElementsInPerSplit(shape));
          seen.push_back(linear);
          return true;
        });
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end()) << shape;
  }
}

TEST(LayoutUtilTest, PiecesOfASplitFollowOneAnother) {
  Shape shape = ShapeUtil::MakeShapeWithDenseLayout(
      F32, {10, 4}, {1, 0}, {}, 1, 0, 0, {SplitConfig(0, {3, 8})});
  EXPECT_EQ(LayoutUtil::MaxSplitSize(shape, 0), 5);
  EXPECT_EQ(LayoutUtil::MaxSplitSize(shape, 1), 4);
  EXPECT_EQ(LayoutUtil::MaxElementsInPerSplit(shape), 20);
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {2, 1}), 9);
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {3, 0}), 20);
  EXPECT_EQ(LayoutUtil::LinearIndex(shape, {9, 3}), 40 + 7);
  EXPECT_EQ(LayoutUtil::GetSplitConfig(shape)->ToString(), "(0:3,8)");
}

TEST(LayoutUtilTest, TilesThatMoveNothing) {
  EXPECT_TRUE(LayoutUtil::IsUntiledLayout({}, {3, 5}));
  EXPECT_TRUE(LayoutUtil::IsUntiledLayout({Tile({128})}, {4, 256}));
  EXPECT_TRUE(LayoutUtil::IsUntiledLayout({Tile({8, 128})}, {16, 128}));
  EXPECT_TRUE(LayoutUtil::IsUntiledLayout({Tile({8, 128})}, {5, 128}));
  EXPECT_FALSE(LayoutUtil::IsUntiledLayout({Tile({8, 128})}, {16, 256}));
  EXPECT_FALSE(LayoutUtil::IsUntiledLayout({Tile({128})}, {4, 100}));
  EXPECT_FALSE(
      LayoutUtil::IsUntiledLayout({Tile({8, 128}), Tile({2, 1})}, {16, 128}));
}

}  // namespace
}  // namespace xla
