#include "xla/shape.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/hash/hash_testing.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/layout.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

Shape WithLayout(Shape shape, std::vector<int64_t> minor_to_major) {
  *shape.mutable_layout() = Layout(minor_to_major);
  return shape;
}

TEST(ShapeTest, IsSmall) {
  EXPECT_LE(sizeof(Shape), 128);
  EXPECT_LE(sizeof(Layout), 64);
}

TEST(ShapeTest, KindsTellThemselvesApart) {
  Shape array(F32, {2, 3});
  EXPECT_TRUE(array.IsArray() && array.IsArrayExcludingBuffer());
  EXPECT_TRUE(Shape(std::vector<Shape>()).IsTuple());
  EXPECT_TRUE(Shape(TOKEN).IsToken());
  EXPECT_TRUE(Shape(OPAQUE_TYPE).IsOpaque());
  EXPECT_FALSE(Shape().IsArray());
  Shape buffer = Shape::MakeBufferShape(array);
  EXPECT_TRUE(buffer.IsBuffer() && buffer.IsArray());
  EXPECT_FALSE(buffer.IsArrayExcludingBuffer());
  EXPECT_EQ(buffer.element_type(), F32);
  EXPECT_EQ(buffer.element_type_including_buffer(), BUFFER);
  EXPECT_THAT(buffer.dimensions(), ElementsAre(2, 3));
  EXPECT_EQ(buffer.buffer_shape(), array);
}

TEST(ShapeTest, CopiesAndMovesOfEveryKind) {
  Shape wide(S8, {1, 2, 3, 4, 5, 6, 7, 8});
  wide.set_dynamic_dimension(7, true);
  std::vector<Shape> shapes = {Shape(),
                               Shape(TOKEN),
                               WithLayout(Shape(F32, {2, 3}), {0, 1}),
                               wide,
                               Shape(std::vector<Shape>{wide, Shape(TOKEN)}),
                               Shape::MakeBufferShape(Shape(F32, {9}))};
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      Shape target = a;
      target = b;
      EXPECT_EQ(target, b);
      Shape moved = std::move(target);
      EXPECT_EQ(moved, b);
      target = a;
      target = std::move(moved);
      EXPECT_EQ(target, b);
      EXPECT_EQ(a == b, &a == &b);
    }
  }
}

TEST(ShapeTest, AssignmentOfAnElementToItsTuple) {
  Shape tuple(std::vector<Shape>{Shape(F32, {4}), Shape(TOKEN)});
  tuple = tuple.tuple_shapes(0);
  EXPECT_EQ(tuple, Shape(F32, {4}));
}

TEST(ShapeTest, DimensionsGrowPastTheInlineOnes) {
  Shape shape(U8);
  std::vector<int64_t> expected;
  for (int i = 0; i < 40; ++i) {
    shape.add_dimensions(i, i % 3 == 0);
    expected.push_back(i);
  }
  EXPECT_EQ(std::vector<int64_t>(shape.dimensions().begin(),
                                 shape.dimensions().end()),
            expected);
  EXPECT_TRUE(shape.is_dynamic_dimension(39));
  EXPECT_FALSE(shape.is_dynamic_dimension(38));
}

TEST(ShapeTest, DeletedDimensionsLeaveTheLayout) {
  Shape shape =
      WithLayout(Shape(F32, {2, 3, 4, 5}, {0, 0, 1, 0}), {1, 3, 0, 2});
  shape.DeleteDimensions({3, 0});
  EXPECT_EQ(shape.ToString(true), "f32[3,<=4]{0,1}");
  shape.DeleteDimension(0);
  EXPECT_EQ(shape.ToString(true), "f32[<=4]{0}");
}

TEST(ShapeTest, ElementTypeChangesKeepWhatTheKindHas) {
  Shape shape = WithLayout(Shape(F32, {2}), {0});
  shape.set_element_type(S32);
  EXPECT_EQ(shape.ToString(true), "s32[2]{0}");
  shape.set_element_type(TUPLE);
  EXPECT_EQ(shape.ToString(true), "()");
  shape.set_element_type(F32);
  EXPECT_EQ(shape.ToString(true), "f32[]");
}

TEST(ShapeTest, Text) {
  Shape f32 = WithLayout(Shape(F32, {2, 3}), {1, 0});
  EXPECT_EQ(f32.ToString(), "f32[2,3]");
  EXPECT_EQ(f32.ToString(true), "f32[2,3]{1,0}");
  EXPECT_EQ(WithLayout(Shape(F32), {}).ToString(true), "f32[]");
  Shape tiled_scalar(F32);
  *tiled_scalar.mutable_layout()->add_tiles() = Tile({128});
  EXPECT_EQ(tiled_scalar.ToString(true), "f32[]{:T(128)}");
  Shape dynamic(BF16, {5, Shape::kUnboundedSize, 7}, {true, true, false});
  EXPECT_EQ(dynamic.ToString(), "bf16[<=5,?,7]");
  EXPECT_EQ(Shape(TOKEN).ToString(), "token[]");
  EXPECT_EQ(Shape(OPAQUE_TYPE).ToString(), "opaque[]");
  EXPECT_EQ(Shape::MakeBufferShape(f32).ToString(true), "b(f32[2,3]{1,0})");
  EXPECT_EQ(Shape(TUPLE).ToString(), "()");
  Shape pair(std::vector<Shape>{f32, Shape(TOKEN)});
  EXPECT_EQ(Shape({pair, f32, f32, f32, f32, f32}).ToString(),
            "((f32[2,3], token[]), f32[2,3], f32[2,3], f32[2,3], f32[2,3], "
            "/*index=5*/f32[2,3])");
}

TEST(ShapeTest, ProgramShapeText) {
  ProgramShape program;
  EXPECT_EQ(program.parameters_size(), 0);
  program.AddParameter(Shape(F32, {2}), "x");
  program.AddParameter(Shape(S32), "");
  *program.mutable_result() = Shape(PRED);
  EXPECT_EQ(program.ToString(), "(x: f32[2], (unknown): s32[]) -> pred[]");
  EXPECT_EQ(*ProgramShape::FromProto(program.ToProto()), program);
}

TEST(ShapeTest, ProtoRoundTrip) {
  Shape dynamic(F32, {5, Shape::kUnboundedSize}, {true, true});
  Shape tuple({WithLayout(Shape(F32, {2, 3}), {0, 1}), Shape(TOKEN), dynamic,
               Shape::MakeBufferShape(Shape(U8, {4})), Shape(TUPLE)});
  EXPECT_EQ(*Shape::FromProto(tuple.ToProto()), tuple);
}

TEST(ShapeTest, TakesElementTypesOfLaterVersions) {
  ShapeProto type;
  type.set_element_type(static_cast<PrimitiveType>(99));
  type.add_dimensions(3);
  absl::StatusOr<Shape> shape = Shape::FromProto(type);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(static_cast<int>(shape->element_type()), 99);
  EXPECT_EQ(shape->ToString(), "invalid[3]");
}

TEST(ShapeTest, BadProtosAreErrors) {
  auto code = [](const ShapeProto& proto) {
    return Shape::FromProto(proto).status().code();
  };
  ShapeProto negative = Shape(F32, {1}).ToProto();
  negative.set_dimensions(0, -3);
  EXPECT_EQ(code(negative), absl::StatusCode::kInvalidArgument);
  ShapeProto flags = Shape(F32, {1}).ToProto();
  flags.add_is_dynamic_dimension(true);
  EXPECT_EQ(code(flags), absl::StatusCode::kInvalidArgument);
  ProgramShapeProto program;
  program.mutable_result()->set_element_type(static_cast<PrimitiveType>(99));
  EXPECT_EQ(ProgramShape::FromProto(program).status().code(),
            absl::StatusCode::kInvalidArgument);
  ShapeProto layout = Shape(F32, {1}).ToProto();
  layout.mutable_layout()->add_minor_to_major(0);
  layout.mutable_layout()->add_minor_to_major(1);
  EXPECT_EQ(code(layout), absl::StatusCode::kInvalidArgument);
  ShapeProto deep = Shape(F32).ToProto();
  for (int i = 0; i < 1000; ++i) {
    ShapeProto outer;
    outer.set_element_type(TUPLE);
    outer.add_tuple_shapes()->Swap(&deep);
    deep.Swap(&outer);
  }
  EXPECT_EQ(code(deep), absl::StatusCode::kInvalidArgument);
}

TEST(ShapeTest, EqualLeavesOutWhatItIsTold) {
  Shape a = WithLayout(Shape(F32, {2, 3}), {1, 0});
  Shape b = WithLayout(Shape(F32, {2, 3}), {0, 1});
  EXPECT_FALSE(Shape::Equal()(a, b));
  EXPECT_TRUE(Shape::Equal().IgnoreLayout()(a, b));
  EXPECT_FALSE(Shape::Equal().IgnoreLayout().IgnoreLayout(false)(a, b));
  EXPECT_FALSE(Shape::Equal().MinorToMajorOnlyInLayout()(a, b));
  b = a;
  b.mutable_layout()->set_memory_space(5);
  EXPECT_TRUE(Shape::Equal().IgnoreMemorySpaceInLayout()(a, b));
  EXPECT_TRUE(Shape::Equal().MinorToMajorOnlyInLayout()(a, b));
  EXPECT_FALSE(Shape::Equal().IgnoreTilesInLayout()(a, b));
  b = a;
  b.set_element_type(BF16);
  EXPECT_TRUE(Shape::Equal().IgnoreFpPrecision()(a, b));
  b.set_element_type(S32);
  EXPECT_FALSE(Shape::Equal().IgnoreFpPrecision()(a, b));
  EXPECT_TRUE(Shape::Equal().IgnoreElementType()(a, b));
  b = a;
  b.set_dynamic_dimension(0, true);
  EXPECT_FALSE(Shape::Equal()(a, b));
  EXPECT_TRUE(Shape::Equal().IgnoreDynamicDimension()(a, b));
  b.set_unbounded_dynamic_dimension(0);
  EXPECT_TRUE(Shape::Equal().IgnoreDynamicDimension()(a, b));
  b = WithLayout(Shape(F32, {2, 4}), {1, 0});
  EXPECT_FALSE(Shape::Equal()(a, b));
  EXPECT_TRUE(Shape::Equal().IgnoreDimensions()(a, b));
  Shape buffer = Shape::MakeBufferShape(a);
  EXPECT_FALSE(Shape::Equal()(a, buffer));
  EXPECT_TRUE(Shape::Equal().IgnoreBuffer()(a, buffer));
  EXPECT_FALSE(Shape::Equal()(Shape(TOKEN), Shape(OPAQUE_TYPE)));
}

TEST(ShapeTest, HashAgreesWithEquality) {
  Shape a = WithLayout(Shape(F32, {2, 3}), {1, 0});
  Shape wide(F32, {1, 1, 1, 1, 1, 2, 3});
  Shape shrunk = wide;  // Rank 2 in storage for 7.
  shrunk.DeleteDimensions({0, 1, 2, 3, 4});
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {a, WithLayout(Shape(F32, {2, 3}), {0, 1}), Shape(F32, {2, 3}), shrunk,
       wide, Shape(F32, {2, 3}, {true, false}), Shape(TOKEN), Shape(TUPLE),
       Shape(std::vector<Shape>{a}), Shape::MakeBufferShape(a)}));
}

TEST(ShapeTest, DynamismIsFoundInTuples) {
  Shape bounded(F32, {2}, {true});
  Shape unbounded(F32, {Shape::kUnboundedSize}, {true});
  Shape tuple({Shape(F32, {3}), bounded});
  EXPECT_TRUE(tuple.is_dynamic() && tuple.is_bounded_dynamic());
  EXPECT_FALSE(tuple.is_unbounded_dynamic());
  EXPECT_TRUE(Shape({bounded, unbounded}).is_unbounded_dynamic());
  tuple.clear_dynamic_dimensions();
  EXPECT_TRUE(tuple.is_static());
}

}  // namespace
}  // namespace xla
