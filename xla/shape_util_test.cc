#include "xla/shape_util.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/layout.h"
#include "xla/shape.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Shape F32Of(std::vector<int64_t> dims) {
  return ShapeUtil::MakeShape(F32, dims);
}

Shape PairOf(Shape a, Shape b) {
  return ShapeUtil::MakeTupleShape({std::move(a), std::move(b)});
}

std::string Text(const Shape& shape) {
  return ShapeUtil::HumanStringWithLayout(shape);
}

TEST(ShapeIndexTest, ReadsAFieldOfAMessage) {
  OriginalArrayProto array;
  array.add_shape_index(2);
  array.add_shape_index(0);
  EXPECT_EQ(ShapeIndex::FromProto(array.shape_index()), ShapeIndex({2, 0}));
}

TEST(ShapeIndexTest, PushesAndPopsAtTheFront) {
  ShapeIndex index({1, 2});
  index.push_front(0);
  EXPECT_EQ(index.ToString(), "{0,1,2}");
  index.pop_front();
  index.push_back(3);
  EXPECT_EQ(index, ShapeIndex({1, 2, 3}));
}

// --- Sizes ---

TEST(ShapeUtilTest, ElementCounts) {
  EXPECT_EQ(ShapeUtil::ElementsIn(F32Of({})), 1);
  EXPECT_EQ(ShapeUtil::ElementsIn(F32Of({0})), 0);
  EXPECT_EQ(ShapeUtil::ElementsIn(F32Of({13, 17})), 221);
  Shape dynamic = ShapeUtil::MakeShape(F32, {4, Shape::kUnboundedSize, 3},
                                       {true, true, false});
  EXPECT_EQ(ShapeUtil::ElementsIn(dynamic), 12);
  EXPECT_EQ(ShapeUtil::StaticExtentProduct(dynamic), 3);
  EXPECT_EQ(ShapeUtil::ElementsInRecursive(PairOf(F32Of({3}), F32Of({4}))), 7);
}

TEST(ShapeUtilTest, CountsThatDoNotFitSaturate) {
  Shape huge(S8, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_EQ(ShapeUtil::ExtentProduct<true>(huge),
            std::make_pair(std::numeric_limits<int64_t>::max(), true));
  EXPECT_EQ(ShapeUtil::ByteSizeOfElementsRecursive(PairOf(huge, huge)),
            std::numeric_limits<int64_t>::max());
  huge.add_dimensions(0);
  EXPECT_EQ(ShapeUtil::ElementsIn(huge), 0);
}

TEST(ShapeUtilTest, ByteSizes) {
  EXPECT_EQ(ShapeUtil::ByteSizeOf(F32Of({10, 20})), 800);
  EXPECT_EQ(ShapeUtil::ByteSizeOf(ShapeUtil::MakeTokenShape()), 0);
  EXPECT_EQ(ShapeUtil::ByteSizeOf(ShapeUtil::MakeOpaqueShape(), 8), 8);
  EXPECT_EQ(ShapeUtil::ByteSizeOf(PairOf(F32Of({100}), F32Of({})), 8), 16);
  EXPECT_EQ(ShapeUtil::ByteSizeOfElementsRecursive(
                PairOf(F32Of({100}), ShapeUtil::MakeTokenShape())),
            400);
  Shape packed = ShapeUtil::MakeShape(S4, {7});
  EXPECT_EQ(ShapeUtil::ByteSizeOf(packed), 7);
  packed.mutable_layout()->set_element_size_in_bits(4);
  EXPECT_EQ(ShapeUtil::ByteSizeOf(packed), 4);
}

TEST(ShapeUtilTest, BufferSizesCountPadding) {
  Shape tiled = ShapeUtil::MakeShapeWithDenseLayout(F32, {300, 5}, {0, 1},
                                                    {Tile({8, 128})});
  EXPECT_EQ(ShapeUtil::ByteSizeOfElements(tiled), 6000);
  EXPECT_EQ(ShapeUtil::ArraySize(tiled), 4 * 8 * 384);
  // The last element is row 4, column 299 of tile 2.
  EXPECT_EQ(ShapeUtil::ArrayDataSize(tiled),
            4 * (2 * 1024 + 4 * 128 + (299 - 256) + 1));
  tiled.mutable_layout()->set_dynamic_shape_metadata_prefix_bytes(64);
  EXPECT_EQ(ShapeUtil::ArraySize(tiled), 4 * 8 * 384 + 64);
  Shape tail = ShapeUtil::MakeShapeWithDenseLayout(
      F32, {100}, {0}, {}, /*tail_padding_alignment_in_elements=*/64);
  EXPECT_EQ(ShapeUtil::ArraySize(tail), 512);
  EXPECT_EQ(ShapeUtil::ArrayDataSize(tail), 400);
  Shape scalar =
      ShapeUtil::MakeShapeWithDenseLayout(F32, {}, {}, {Tile({128})});
  EXPECT_EQ(ShapeUtil::ArraySize(scalar), 512);
  EXPECT_EQ(ShapeUtil::ArraySize(F32Of({10})), 40);
}

TEST(ShapeUtilTest, SerializedSizes) {
  Shape shape = PairOf(ShapeUtil::MakeShape(PRED, {9}), F32Of({3}));
  EXPECT_EQ(*ShapeUtil::SerializedSize(shape),
            8 + shape.ToProto().ByteSizeLong() + 2 + 12);
  Shape dynamic = ShapeUtil::MakeShape(F32, {3}, {true});
  EXPECT_EQ(*ShapeUtil::SerializedSize(dynamic),
            8 + dynamic.ToProto().ByteSizeLong() + 4 + 12);
  EXPECT_FALSE(ShapeUtil::SerializedSize(ShapeUtil::MakeTokenShape()).ok());
}

// --- Construction and validation ---

TEST(ShapeUtilTest, InvalidArgumentsAreErrors) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(ShapeUtil::MakeValidatedShape(F32, {-1}).ok());
  EXPECT_FALSE(ShapeUtil::MakeValidatedShape(TUPLE, {1}).ok());
  EXPECT_FALSE(ShapeUtil::MakeValidatedShape(F32, {1, 2}, {true}).ok());
  EXPECT_FALSE(ShapeUtil::MakeValidatedShape(F32, {kMax}).ok());
  EXPECT_FALSE(ShapeUtil::MakeValidatedShape(S8, {kMax, 2}).ok());
  EXPECT_TRUE(ShapeUtil::MakeValidatedShape(S8, {kMax}).ok());
  EXPECT_THAT(std::string(ShapeUtil::MakeValidatedShape(
                              F32, {1 << 30, 1 << 30, 1 << 30})
                              .status()
                              .message()),
              HasSubstr("overflows"));
  EXPECT_FALSE(
      ShapeUtil::MakeValidatedShapeWithDenseLayout(F32, {2, 2}, {0}).ok());
  EXPECT_FALSE(
      ShapeUtil::MakeValidatedTupleShape({Shape(PRIMITIVE_TYPE_INVALID)}).ok());
  EXPECT_FALSE(ShapeUtil::MakeValidatedBufferShape(ShapeUtil::MakeNil()).ok());
  const Shape later(static_cast<PrimitiveType>(99));
  EXPECT_FALSE(ShapeUtil::ValidateShape(later).ok());
  EXPECT_FALSE(ShapeUtil::ValidateShapeWithOptionalLayout(
                   ShapeUtil::MakeTupleShape({later}))
                   .ok());
  EXPECT_FALSE(ShapeUtil::ValidateShape(Shape(F32, {2})).ok());
  EXPECT_TRUE(ShapeUtil::ValidateShapeWithOptionalLayout(Shape(F32, {2})).ok());
}

TEST(ShapeUtilTest, MakersSetTheDescendingLayout) {
  EXPECT_EQ(Text(F32Of({2, 3, 4})), "f32[2,3,4]{2,1,0}");
  EXPECT_EQ(Text(ShapeUtil::MakeShapeWithType<int8_t>({3})), "s8[3]{0}");
  EXPECT_EQ(Text(ShapeUtil::MakeShape(F32, {Shape::kUnboundedSize})),
            "f32[?]{0}");
  EXPECT_EQ(Text(*ShapeUtil::MakeValidatedBufferShape(F32, {2})),
            "b(f32[2]{0})");
  EXPECT_EQ(Text(ShapeUtil::MakeMaybeTupleShape({F32Of({})})), "f32[]");
  EXPECT_EQ(Text(ShapeUtil::MakeMaybeTupleShape({})), "()");
}

TEST(ShapeUtilTest, SameMemoryInRowMajorOrder) {
  Shape shape = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3, 4}, {1, 2, 0},
                                                    {Tile({8, 128})}, 1, 0, 5,
                                                    {SplitConfig(1, {2})});
  EXPECT_EQ(Text(ShapeUtil::MakeShapeWithDescendingLayoutAndSamePhysicalLayout(
                shape)),
            "f32[2,4,3]{2,1,0:T(8,128)S(5)SC(1:2)}");
}

// --- Comparisons ---

TEST(ShapeUtilTest, Compatibility) {
  Shape a = F32Of({3, 2});
  Shape b = ShapeUtil::MakeShapeWithDenseLayout(F32, {3, 2}, {0, 1});
  EXPECT_TRUE(ShapeUtil::Compatible(a, b));
  EXPECT_FALSE(ShapeUtil::Equal(a, b));
  EXPECT_FALSE(ShapeUtil::Compatible(a, F32Of({2, 3})));
  EXPECT_FALSE(ShapeUtil::Compatible(PairOf(a, a), PairOf(a, F32Of({3}))));
  Shape s32 = ShapeUtil::MakeShape(S32, {3, 2});
  EXPECT_TRUE(ShapeUtil::CompatibleIgnoringElementType(a, s32));
  EXPECT_FALSE(ShapeUtil::CompatibleIgnoringFpPrecision(a, s32));
  EXPECT_TRUE(ShapeUtil::CompatibleIgnoringFpPrecision(
      a, ShapeUtil::MakeShape(F16, {3, 2})));
  EXPECT_TRUE(ShapeUtil::CompatibleKind(a, F32Of({})));
  EXPECT_FALSE(ShapeUtil::CompatibleKind(a, ShapeUtil::MakeTokenShape()));
  EXPECT_TRUE(ShapeUtil::EqualStructure(PairOf(a, a), PairOf(a, s32)));
  EXPECT_FALSE(ShapeUtil::EqualStructure(PairOf(a, a), a));
}

TEST(ShapeUtilTest, Prefixes) {
  Shape a = F32Of({1});
  Shape b = F32Of({2});
  Shape pair = PairOf(a, b);
  EXPECT_TRUE(ShapeUtil::IsPrefix(ShapeUtil::MakeTupleShape({a}), pair));
  EXPECT_FALSE(ShapeUtil::IsPrefix(ShapeUtil::MakeTupleShape({b}), pair));
  EXPECT_FALSE(ShapeUtil::IsPrefix(pair, ShapeUtil::MakeTupleShape({a})));
  EXPECT_TRUE(ShapeUtil::IsPrefix(PairOf(ShapeUtil::MakeNil(), b),
                                  PairOf(ShapeUtil::MakeTupleShape({a}), b)));
}

TEST(ShapeUtilTest, RuntimeShapesFitTheirBounds) {
  EXPECT_TRUE(
      ShapeUtil::DynamicShapeIsCompatible(F32Of({2, 3}), F32Of({2, 4})));
  EXPECT_FALSE(
      ShapeUtil::DynamicShapeIsCompatible(F32Of({2, 5}), F32Of({2, 4})));
  EXPECT_FALSE(ShapeUtil::DynamicShapeIsCompatible(
      ShapeUtil::MakeTupleShape({F32Of({1})}), F32Of({1})));
}

TEST(ShapeUtilTest, Upcasts) {
  auto of = [](PrimitiveType type) { return ShapeUtil::MakeShape(type, {}); };
  EXPECT_TRUE(ShapeUtil::ElementCanUpcast(of(BF16), of(F32)));
  EXPECT_FALSE(ShapeUtil::ElementCanUpcast(of(F32), of(BF16)));
  EXPECT_FALSE(ShapeUtil::ElementCanUpcast(of(S8), of(F32)));
  EXPECT_EQ(ShapeUtil::HigherPrecisionElementType(of(F16), of(F64)), F64);
}

// --- Tuples ---

TEST(ShapeUtilTest, Subshapes) {
  Shape shape = PairOf(F32Of({3}), PairOf(F32Of({4}), ShapeUtil::MakeNil()));
  EXPECT_EQ(Text(ShapeUtil::GetSubshape(shape, {1, 0})), "f32[4]{0}");
  EXPECT_TRUE(ShapeUtil::IndexIsValid(shape, {1, 1}));
  EXPECT_FALSE(ShapeUtil::IndexIsValid(shape, {0, 0}));
  EXPECT_FALSE(ShapeUtil::TryGetSubshape(shape, {2}).ok());
  EXPECT_EQ(ShapeUtil::SubshapeCount(shape), 5);
  EXPECT_EQ(ShapeUtil::GetLeafCount(shape), 2);
  EXPECT_FALSE(ShapeUtil::IsLeafIndex(shape, {1}));
  EXPECT_TRUE(ShapeUtil::IsLeafIndex(shape, {1, 0}));
  EXPECT_TRUE(ShapeUtil::IsNestedTuple(shape));
  std::vector<ShapeUtil::IndexedShape> leaves = ShapeUtil::GetLeafShapes(shape);
  ASSERT_EQ(leaves.size(), 2);
  EXPECT_EQ(leaves[1].index, ShapeIndex({1, 0}));
  EXPECT_EQ(ShapeUtil::FlattenTupleShape(shape)[1],
            &shape.tuple_shapes(1).tuple_shapes(0));
  EXPECT_EQ(Text(ShapeUtil::SliceTuple(shape, 0, 1)), "(f32[3]{0})");
}

TEST(ShapeUtilTest, WalksInBothOrders) {
  Shape shape = PairOf(F32Of({3}), PairOf(F32Of({4}), F32Of({5})));
  std::vector<std::string> pre, post;
  ShapeUtil::ForEachSubshape(shape, [&](const Shape&, const ShapeIndex& index) {
    pre.push_back(index.ToString());
  });
  ShapeUtil::ForEachMutableSubshapePostOrder(
      &shape, [&](Shape* subshape, const ShapeIndex& index) {
        post.push_back(index.ToString());
        if (subshape->IsArray()) subshape->set_element_type(S32);
      });
  EXPECT_THAT(pre, ElementsAre("{}", "{0}", "{1}", "{1,0}", "{1,1}"));
  EXPECT_THAT(post, ElementsAre("{0}", "{1,0}", "{1,1}", "{1}", "{}"));
  EXPECT_TRUE(shape.AreAllLeavesIntegers());
  int visits = 0;
  EXPECT_FALSE(
      ShapeUtil::ForEachSubshapeWithStatus(shape, [&](const Shape&,
                                                      const ShapeIndex& index) {
        ++visits;
        return index.size() == 1 ? absl::InternalError("stop")
                                 : absl::OkStatus();
      }).ok());
  EXPECT_EQ(visits, 2);
}

// --- Changes ---

TEST(ShapeUtilTest, DimensionsAreInsertedWithTheirLayout) {
  Shape shape = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1});
  EXPECT_EQ(Text(ShapeUtil::PrependMajorDimension(9, shape)),
            "f32[9,2,3]{1,2,0}");
  Shape major = shape;
  ShapeUtil::AppendMajorDimension(9, &major);
  EXPECT_EQ(Text(major), "f32[2,3,9]{0,1,2}");
  Shape minor = shape;
  ShapeUtil::AppendMinorDimension(9, &minor);
  EXPECT_EQ(Text(minor), "f32[2,3,9]{2,0,1}");
  EXPECT_EQ(Text(ShapeUtil::InsertDimensionAtIndex(shape, 1, 9)),
            "f32[2,9,3]{0,2,1}");
  EXPECT_EQ(Text(ShapeUtil::InsertDimensionsAtIndex(F32Of({2, 3}), 1, {8, 9})),
            "f32[2,8,9,3]{3,2,1,0}");
  EXPECT_EQ(Text(ShapeUtil::InsertDimensionAtIndex(F32Of({2}), 1, 9)),
            "f32[2,9]{1,0}");
}

TEST(ShapeUtilTest, DimensionsAreDropped) {
  Shape shape =
      ShapeUtil::MakeShapeWithDenseLayout(F32, {1, 5, 1, 7}, {1, 0, 3, 2});
  EXPECT_EQ(Text(ShapeUtil::DropDegenerateDimensions(shape)), "f32[5,7]{0,1}");
  EXPECT_EQ(Text(ShapeUtil::DeleteDimensions({0, 3}, shape)), "f32[5,1]{0,1}");
  EXPECT_EQ(Text(ShapeUtil::FilterDimensions([](int64_t d) { return d == 3; },
                                             shape)),
            "f32[7]{0}");
}

TEST(ShapeUtilTest, PermutedDimensionsStayInPlace) {
  Shape shape = ShapeUtil::MakeShape(F32, {10, 100, 1000}, {0, 0, 1});
  Shape permuted = ShapeUtil::PermuteDimensions({1, 2, 0}, shape);
  EXPECT_EQ(Text(permuted), "f32[100,<=1000,10]{1,0,2}");
  EXPECT_TRUE(ShapeUtil::TransposeIsBitcast(shape, permuted, {1, 2, 0}));
  EXPECT_EQ(Text(ShapeUtil::PermuteDimensionsIgnoringLayout({1, 2, 0}, shape)),
            "f32[100,<=1000,10]{2,1,0}");
  EXPECT_EQ(Text(ShapeUtil::MoveDimToMajor(shape, 2)),
            "f32[10,100,<=1000]{1,0,2}");
  EXPECT_EQ(
      Text(ShapeUtil::MoveDimToMajor(
          ShapeUtil::MakeShapeWithDenseLayout(F32, {4, 5, 6}, {2, 1, 0}), 1)),
      "f32[4,5,6]{2,0,1}");
  EXPECT_EQ(
      Text(ShapeUtil::MoveDimToMajor(
          PairOf(ShapeUtil::MakeShapeWithDenseLayout(F32, {4, 5, 6}, {0, 2, 1}),
                 ShapeUtil::MakeTokenShape()),
          0)),
      "(f32[4,5,6]{2,1,0}, token[])");
}

TEST(ShapeUtilTest, HostShapesHaveNothingOfADevice) {
  Shape device = PairOf(ShapeUtil::MakeShapeWithDenseLayout(
                            F32, {2, 2}, {0, 1}, {Tile({8})}, 2, 4, 5),
                        ShapeUtil::MakeTokenShape());
  EXPECT_FALSE(ShapeUtil::DeviceShapeIsHostShape(device));
  Shape host = ShapeUtil::DeviceShapeToHostShape(device);
  EXPECT_TRUE(ShapeUtil::DeviceShapeIsHostShape(host));
  EXPECT_EQ(Text(host), "(f32[2,2]{0,1}, token[])");
}

TEST(ShapeUtilTest, SizesOfElementsGoWithTheirType) {
  Shape s4 = ShapeUtil::MakeShape(S4, {8});
  s4.mutable_layout()->set_element_size_in_bits(4);
  const Shape changed =
      ShapeUtil::ChangeElementType(PairOf(s4, PairOf(s4, s4)), F32);
  EXPECT_EQ(Text(changed), "(f32[8]{0}, (f32[8]{0}, f32[8]{0}))");
  EXPECT_EQ(Text(ShapeUtil::ChangeElementType(s4, U4)), "u4[8]{0:E(4)}");
  EXPECT_EQ(Text(ShapeUtil::ChangeElementType(s4, PRED)), "pred[8]{0}");
}

TEST(ShapeUtilTest, SmallTypesArePacked) {
  Shape shape = PairOf(ShapeUtil::MakeShape(S4, {8}), F32Of({8}));
  ShapeUtil::UpdateElementSizeInBits(&shape, /*pack_subbyte_types=*/true);
  EXPECT_EQ(Text(shape), "(s4[8]{0:E(4)}, f32[8]{0})");
  EXPECT_EQ(ShapeUtil::ElementSizeInBits(shape.tuple_shapes(0)), 4);
  ShapeUtil::UpdateElementSizeInBits(&shape, /*pack_subbyte_types=*/false);
  EXPECT_EQ(Text(shape), "(s4[8]{0}, f32[8]{0})");
}

TEST(ShapeUtilTest, InterleavedArraysPackTheirLastTile) {
  EXPECT_EQ(
      *ShapeUtil::PackedFactorFor1DInterleavedArray(
          ShapeUtil::MakeShapeWithDenseLayout(
              S8, {4096}, {0}, {Tile({1024}), Tile({128}), Tile({4, 1})})),
      4);
  EXPECT_EQ(*ShapeUtil::PackedFactorFor1DInterleavedArray(F32Of({3})), 1);
  EXPECT_FALSE(
      ShapeUtil::PackedFactorFor1DInterleavedArray(F32Of({3, 3})).ok());
}

// --- Loops ---

TEST(ShapeUtilTest, LoopsFollowTheLayout) {
  Shape shape = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 2}, {0, 1});
  std::vector<std::vector<int64_t>> seen;
  ShapeUtil::ForEachIndexNoStatus(shape, [&](absl::Span<const int64_t> index) {
    seen.emplace_back(index.begin(), index.end());
    return true;
  });
  EXPECT_THAT(seen, ElementsAre(ElementsAre(0, 0), ElementsAre(1, 0),
                                ElementsAre(0, 1), ElementsAre(1, 1)));
}

TEST(ShapeUtilTest, AnIncrementOfZeroStaysAtTheBase) {
  const Shape shape = F32Of({2, 2});
  const auto visited = [&](std::vector<int64_t> base,
                           std::vector<int64_t> count,
                           std::vector<int64_t> incr) {
    std::vector<std::vector<int64_t>> seen;
    ShapeUtil::ForEachIndexNoStatus(
        shape, base, count, incr, [&](absl::Span<const int64_t> index) {
          seen.emplace_back(index.begin(), index.end());
          return true;
        });
    return seen;
  };
  EXPECT_THAT(visited({1, 0}, {0, 2}, {0, 1}),
              ElementsAre(ElementsAre(1, 0), ElementsAre(1, 1)));
  EXPECT_THAT(visited({0, 1}, {2, 5}, {1, 0}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(1, 1)));
  EXPECT_THAT(visited({1, 1}, {0, 0}, {0, 0}), ElementsAre(ElementsAre(1, 1)));
  EXPECT_THAT(visited({0, 0}, {0, 2}, {1, 1}), ElementsAre());
  int parallel = 0;
  ShapeUtil::ForEachIndexParallel(
      shape, {1, 0}, {0, 2}, {0, 1},
      [&](absl::Span<const int64_t> index, int) -> absl::StatusOr<bool> {
        EXPECT_EQ(index[0], 1);
        ++parallel;
        return true;
      });
  EXPECT_EQ(parallel, 2);
}

TEST(ShapeUtilTest, LoopsOverParts) {
  Shape shape = F32Of({10, 10});
  std::vector<std::vector<int64_t>> seen;
  auto visit = [&](absl::Span<const int64_t> index) -> absl::StatusOr<bool> {
    seen.emplace_back(index.begin(), index.end());
    return seen.size() < 3;
  };
  EXPECT_TRUE(
      ShapeUtil::ForEachIndexWithStatus(shape, {1, 2}, {2, 6}, {1, 3}, visit)
          .ok());
  EXPECT_THAT(seen, ElementsAre(ElementsAre(1, 2), ElementsAre(1, 5),
                                ElementsAre(2, 2)));
  seen.clear();
  ShapeUtil::ForEachIndex(F32Of({3, 0}), visit);
  EXPECT_TRUE(seen.empty());
  ShapeUtil::ForEachIndex(F32Of({}), visit);
  EXPECT_EQ(seen.size(), 1);
  EXPECT_EQ(ShapeUtil::ForEachIndexParallelWithStatus(
                shape,
                [](absl::Span<const int64_t>, int) -> absl::StatusOr<bool> {
                  return absl::InternalError("stop");
                })
                .message(),
            "stop");
}

}  // namespace
}  // namespace xla
