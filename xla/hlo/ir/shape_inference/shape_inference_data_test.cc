// Opcodes that move elements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/ir/shape_inference/shape_inference_test_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using SI = ShapeInference;
using Ints = std::vector<int64_t>;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(ShapeInferenceDataTest, Reverse) {
  EXPECT_EQ(Result(SI::InferReverseShape(S("f32[2,<=3]"), {1})), "f32[2,<=3]");
  EXPECT_THAT(Result(SI::InferReverseShape(S("f32[2]"), {1})),
              Error("reversed dimension 1 is out of range"));
  EXPECT_THAT(Result(SI::InferReverseShape(S("f32[2]"), {0, 0})),
              Error("appears twice"));
}

std::string Slice(const char* shape, const Ints& starts, const Ints& limits,
                  const Ints& strides) {
  return Result(SI::InferSliceShape(S(shape), starts, limits, strides));
}

TEST(ShapeInferenceDataTest, Slice) {
  EXPECT_EQ(Slice("f32[10,20]", {2, 0}, {10, 20}, {3, 1}), "f32[3,20]");
  EXPECT_EQ(Slice("f32[10]", {3}, {3}, {1}), "f32[0]");
  EXPECT_EQ(Slice("f32[<=10]", {0}, {4}, {1}), "f32[<=4]");
  EXPECT_EQ(Slice("f32[?]", {0}, {4}, {1}), "f32[4]");
  EXPECT_EQ(Slice("f32[?]", {0}, {Shape::kUnboundedSize}, {1}), "f32[?]");
  EXPECT_EQ(Slice("f32[10]", {0}, {10}, {kHuge}), "f32[1]");
  EXPECT_THAT(Slice("f32[10]", {-1}, {3}, {1}), Error("slice [-1:3:1]"));
  EXPECT_THAT(Slice("f32[10]", {0}, {11}, {1}), Error("slice [0:11:1]"));
  EXPECT_THAT(Slice("f32[10]", {3}, {2}, {1}), Error("slice [3:2:1]"));
  EXPECT_THAT(Slice("f32[10]", {0}, {2}, {0}), Error("positive stride"));
  EXPECT_THAT(Slice("f32[10]", {0, 0}, {2}, {1}), Error("2 starts"));
  EXPECT_THAT(Slice("token[]", {}, {}, {}), Error("must be an array"));
}

TEST(ShapeInferenceDataTest, DynamicSlice) {
  const auto infer = [](const char* shape, const std::vector<Shape>& starts,
                        const Ints& sizes, bool scalars = true) {
    return Result(SI::InferDynamicSliceShape(S(shape), starts, sizes, scalars));
  };
  const Shape i = S("s32[]");
  EXPECT_EQ(infer("f32[10,20]", {i, i}, {3, 20}), "f32[3,20]");
  EXPECT_EQ(infer("f32[10,20]", {S("s32[2]")}, {3, 20}), "f32[3,20]");
  EXPECT_EQ(infer("f32[10,20]", {S("s32[2]")}, {3, 20}, false), "f32[3,20]");
  EXPECT_EQ(infer("f32[<=10,<=20]", {i, i}, {3, 20}), "f32[3,<=20]");
  EXPECT_EQ(infer("f32[]", {}, {}), "f32[]");
  EXPECT_THAT(infer("f32[10]", {i}, {11}), Error("slice size 11"));
  EXPECT_THAT(infer("f32[10]", {i}, {-1}), Error("slice size -1"));
  EXPECT_THAT(infer("f32[10]", {i}, {1, 1}), Error("has 2 sizes"));
  EXPECT_THAT(infer("f32[10]", {i, i}, {1}), Error("needs 1 start indices"));
  EXPECT_THAT(infer("f32[10]", {S("f32[]")}, {1}), Error("integer scalar"));
  EXPECT_THAT(infer("f32[9,9]", {i, S("s64[]")}, {1, 1}), Error("one type"));
  EXPECT_THAT(infer("f32[9,9]", {S("s32[3]")}, {1, 1}), Error("one vector"));
  EXPECT_THAT(infer("f32[9]", {i}, {1}, false), Error("one vector of 1"));
}

TEST(ShapeInferenceDataTest, DynamicUpdateSlice) {
  const auto infer = [](const char* shape, const char* update,
                        const std::vector<Shape>& starts) {
    return Result(
        SI::InferDynamicUpdateSliceShape(S(shape), S(update), starts));
  };
  const Shape i = S("s32[]");
  EXPECT_EQ(infer("f32[10,<=20]", "f32[3,20]", {i, i}), "f32[10,<=20]");
  EXPECT_THAT(infer("f32[10]", "f32[11]", {i}), Error("does not fit"));
  EXPECT_THAT(infer("f32[10]", "f32[1,1]", {i}), Error("does not fit"));
  EXPECT_THAT(infer("f32[10]", "s32[1]", {i}), Error("element types"));
  EXPECT_THAT(infer("f32[10]", "f32[1]", {}), Error("needs 1 start"));
}

TEST(ShapeInferenceDataTest, BroadcastInFront) {
  EXPECT_EQ(Result(SI::InferBroadcastShape(S("f32[2,<=3]"), {5, 6})),
            "f32[5,6,2,<=3]");
  EXPECT_THAT(Result(SI::InferBroadcastShape(S("f32[]"), {-1})),
              Error("negative"));
  EXPECT_FALSE(SI::InferBroadcastShape(S("f32[4]"), {kHuge / 2}).ok());
}

TEST(ShapeInferenceDataTest, BroadcastInDimensions) {
  const auto infer = [](const char* in, const char* out, const Ints& dims) {
    return Result(SI::InferBroadcastShape(S(in), S(out), dims));
  };
  EXPECT_EQ(infer("f32[3]", "f32[2,3]", {1}), "f32[2,3]");
  EXPECT_EQ(infer("f32[]", "f32[2,3]", {}), "f32[2,3]");
  EXPECT_EQ(infer("f32[1,3]", "f32[2,3]", {0, 1}), "f32[2,3]");
  EXPECT_EQ(infer("f32[?]", "f32[2,?]", {0}), "f32[2,?]");
  EXPECT_THAT(infer("f32[3]", "f32[2,3]", {0}), Error("dimension 0"));
  EXPECT_THAT(infer("f32[3]", "f32[2,3]", {}), Error("must name the 1"));
  EXPECT_THAT(infer("f32[3]", "f32[2,3]", {2}), Error("out of range"));
  EXPECT_THAT(infer("f32[3,3]", "f32[3,3]", {1, 1}), Error("twice"));
}

std::string Reshape(const char* shape, const Ints& dims,
                    int64_t inferred = -1) {
  return Result(SI::InferReshapeShape(S(shape), dims, inferred));
}

TEST(ShapeInferenceDataTest, Reshape) {
  EXPECT_EQ(Reshape("f32[2,3]", {6}), "f32[6]");
  EXPECT_EQ(Reshape("f32[]", {1, 1}), "f32[1,1]");
  EXPECT_EQ(Reshape("f32[0,3]", {7, 0}), "f32[7,0]");
  EXPECT_THAT(Reshape("f32[2,3]", {5}), Error("(6 elements) to f32[5]"));
  EXPECT_THAT(Reshape("f32[2,3]", {-6}), Error("not negative"));
  EXPECT_THAT(Reshape("f32[2,3]", {6}, 1), Error("inferred dimension"));
  EXPECT_FALSE(SI::InferReshapeShape(S("f32[2]"), {kHuge, kHuge}).ok());
}

TEST(ShapeInferenceDataTest, ReshapeOfDynamicDimensions) {
  EXPECT_EQ(Reshape("f32[<=2,3]", {6}), "f32[<=6]");
  EXPECT_EQ(Reshape("f32[<=6,4]", {2, 3, 4}), "f32[<=2,3,4]");
  EXPECT_EQ(Reshape("f32[<=6,4]", {2, 3, 4}, 1), "f32[2,<=3,4]");
  EXPECT_EQ(Reshape("f32[4,<=6]", {2, 2, 6}), "f32[2,2,<=6]");
  EXPECT_EQ(Reshape("f32[<=6]", {1, 6}), "f32[1,<=6]");
  EXPECT_EQ(Reshape("f32[?,4]", {2, 4}), "f32[2,4]");
}

TEST(ShapeInferenceDataTest, DynamicReshape) {
  const auto infer = [](const char* shape, const std::vector<Shape>& sizes,
                        const Ints& bounds, const std::vector<bool>& dynamic) {
    return Result(SI::InferDynamicReshapeShape(S(shape), Pointers(sizes),
                                               bounds, dynamic));
  };
  const Shape i = S("s32[]");
  EXPECT_EQ(infer("f32[6]", {i, i}, {2, 3}, {true, false}), "f32[<=2,3]");
  EXPECT_EQ(infer("f32[?]", {i}, {Shape::kUnboundedSize}, {true}), "f32[?]");
  EXPECT_THAT(infer("f32[6]", {i}, {5}, {true}), Error("number of elements"));
  EXPECT_THAT(infer("f32[6]", {i}, {6, 1}, {true, true}), Error("1 sizes"));
  EXPECT_THAT(infer("f32[6]", {S("f32[]")}, {6}, {true}), Error("s32[]"));
}

TEST(ShapeInferenceDataTest, Transpose) {
  EXPECT_EQ(Result(SI::InferTransposeShape(S("f32[2,<=3,4]"), {2, 0, 1})),
            "f32[4,2,<=3]");
  EXPECT_EQ(ShapeUtil::HumanStringWithLayout(
                *SI::InferTransposeShape(S("f32[2,3]"), {1, 0})),
            "f32[3,2]{0,1}");
  EXPECT_THAT(Result(SI::InferTransposeShape(S("f32[2,3]"), {0, 0})),
              Error("appears twice"));
  EXPECT_THAT(Result(SI::InferTransposeShape(S("f32[2,3]"), {0})),
              Error("not a permutation"));
  EXPECT_THAT(Result(SI::InferTransposeShape(S("f32[2,3]"), {0, 2})),
              Error("out of range"));
}

TEST(ShapeInferenceDataTest, Concatenate) {
  const auto infer = [](const std::vector<Shape>& shapes, int64_t dim) {
    return Result(SI::InferConcatOpShape(Pointers(shapes), dim));
  };
  EXPECT_EQ(infer({S("f32[2,3]"), S("f32[2,4]"), S("f32[2,0]")}, 1),
            "f32[2,7]");
  EXPECT_EQ(infer({S("bf16[2]"), S("f32[2]")}, 0), "f32[4]");
  EXPECT_EQ(infer({S("f32[<=2,3]"), S("f32[2,<=4]")}, 1), "f32[<=2,<=7]");
  EXPECT_EQ(infer({S("f32[?,3]"), S("f32[2,?]")}, 1), "f32[2,?]");
  EXPECT_THAT(infer({S("f32[2,3]"), S("f32[3,3]")}, 1), Error("dimension 0"));
  EXPECT_THAT(infer({S("f32[2]"), S("s32[2]")}, 0), Error("element types"));
  EXPECT_THAT(infer({S("f32[2]"), S("f32[2,2]")}, 0), Error("rank"));
  EXPECT_THAT(infer({S("f32[2]")}, 1), Error("out of range"));
  EXPECT_THAT(infer({}, 0), Error("needs an operand"));
}

TEST(ShapeInferenceDataTest, Pad) {
  const auto infer = [](const char* shape, const char* value,
                        const std::vector<Ints>& pads) {
    PaddingConfig config;
    for (const Ints& pad : pads) {
      auto* dim = config.add_dimensions();
      dim->set_edge_padding_low(pad[0]);
      dim->set_edge_padding_high(pad[1]);
      dim->set_interior_padding(pad[2]);
    }
    return Result(SI::InferPadShape(S(shape), S(value), config));
  };
  EXPECT_EQ(infer("f32[4,5]", "f32[]", {{1, 2, 3}, {0, -2, 0}}), "f32[16,3]");
  EXPECT_EQ(infer("f32[0]", "f32[]", {{1, 2, 3}}), "f32[3]");
  EXPECT_EQ(infer("f32[<=4,?]", "f32[]", {{1, 0, 0}, {1, 1, 1}}), "f32[<=5,?]");
  EXPECT_THAT(infer("f32[4]", "f32[]", {{-5, 0, 0}}), Error("negative: -1"));
  EXPECT_THAT(infer("f32[4]", "f32[]", {{0, 0, -1}}), Error("interior"));
  EXPECT_THAT(infer("f32[4]", "f32[1]", {{0, 0, 0}}), Error("scalar"));
  EXPECT_THAT(infer("f32[4]", "s32[]", {{0, 0, 0}}), Error("element types"));
  EXPECT_THAT(infer("f32[4]", "f32[]", {}), Error("0 padding dimensions"));
  EXPECT_THAT(infer("f32[4]", "f32[]", {{kHuge, kHuge, kHuge}}), Error(""));
}

GatherDimensionNumbers GatherDims(const Ints& offset, const Ints& collapsed,
                                  const Ints& map, int64_t vector_dim,
                                  const Ints& operand_batching = {},
                                  const Ints& indices_batching = {}) {
  GatherDimensionNumbers dims;
  for (int64_t d : offset) dims.add_offset_dims(d);
  for (int64_t d : collapsed) dims.add_collapsed_slice_dims(d);
  for (int64_t d : map) dims.add_start_index_map(d);
  for (int64_t d : operand_batching) dims.add_operand_batching_dims(d);
  for (int64_t d : indices_batching) dims.add_start_indices_batching_dims(d);
  dims.set_index_vector_dim(vector_dim);
  return dims;
}

std::string Gather(const char* operand, const char* indices,
                   const GatherDimensionNumbers& dims, const Ints& sizes) {
  return Result(SI::InferGatherShape(S(operand), S(indices), dims, sizes));
}

TEST(ShapeInferenceDataTest, Gather) {
  EXPECT_EQ(
      Gather("f32[64,48]", "s64[32]", GatherDims({0}, {1}, {1}, 1), {64, 1}),
      "f32[64,32]");
  EXPECT_EQ(Gather("f32[50,49,48,47,46]", "s64[10,9,8,7,5]",
                   GatherDims({4, 5, 6, 7, 8}, {}, {0, 1, 2, 3, 4}, 4),
                   {30, 29, 28, 27, 26}),
            "f32[10,9,8,7,30,29,28,27,26]");
  EXPECT_EQ(
      Gather("f32[64,48]", "s64[?,1]", GatherDims({0}, {1}, {1}, 1), {64, 1}),
      "f32[64,?]");
  EXPECT_EQ(
      Gather("f32[<=64,48]", "s64[32]", GatherDims({0}, {1}, {1}, 1), {64, 1}),
      "f32[<=64,32]");
  EXPECT_EQ(Gather("f32[5,64,48]", "s64[5,7,1]",
                   GatherDims({2}, {2}, {2}, 2, {0}, {0}), {1, 64, 1}),
            "f32[5,7,64]");
}

TEST(ShapeInferenceDataTest, GatherErrors) {
  const GatherDimensionNumbers good = GatherDims({0}, {1}, {1}, 1);
  EXPECT_THAT(Gather("f32[64,48]", "f32[32]", good, {64, 1}),
              Error("must be integral"));
  EXPECT_THAT(Gather("f32[64,48]", "s32[32]", good, {65, 1}),
              Error("slice size 65"));
  EXPECT_THAT(Gather("f32[64,48]", "s32[32]", good, {64, 2}),
              Error("collapses dimension 1"));
  EXPECT_THAT(Gather("f32[64,48]", "s32[32]", good, {64}),
              Error("1 slice sizes"));
  EXPECT_THAT(
      Gather("f32[64,48]", "s32[32]", GatherDims({0}, {1}, {1}, 2), {64, 1}),
      Error("index_vector_dim 2 is out of range"));
  EXPECT_THAT(Gather("f32[64,48]", "s32[32,2]", good, {64, 1}),
              Error("have 2 components"));
  EXPECT_THAT(
      Gather("f32[64,48]", "s32[32]", GatherDims({2}, {1}, {1}, 1), {64, 1}),
      Error("offset dimension 2 is out of range"));
  EXPECT_THAT(
      Gather("f32[64,48]", "s32[32]", GatherDims({}, {1}, {1}, 1), {64, 1}),
      Error("must name 1 result dimensions"));
  EXPECT_THAT(
      Gather("f32[64,48]", "s32[32]", GatherDims({0}, {1}, {2}, 1), {64, 1}),
      Error("indexed or batching dimension 2"));
  EXPECT_THAT(
      Gather("f32[64,48]", "s32[32]", GatherDims({}, {1, 0}, {1}, 1), {1, 1}),
      Error("sorted"));
  EXPECT_THAT(Gather("f32[5,64]", "s64[4,7,1]",
                     GatherDims({}, {1}, {1}, 2, {0}, {0}), {1, 1}),
              Error("differ in size"));
  EXPECT_THAT(Gather("f32[5,64]", "s64[5,7,1]",
                     GatherDims({}, {1}, {1}, 2, {0}, {2}), {1, 1}),
              Error("batching dimension of the indices too"));
  EXPECT_THAT(Gather("f32[5,64]", "s64[5,7,1]",
                     GatherDims({}, {1}, {1}, 2, {0}, {}), {1, 1}),
              Error("pairs"));
}

ScatterDimensionNumbers ScatterDims(const Ints& window, const Ints& inserted,
                                    const Ints& map, int64_t vector_dim) {
  ScatterDimensionNumbers dims;
  for (int64_t d : window) dims.add_update_window_dims(d);
  for (int64_t d : inserted) dims.add_inserted_window_dims(d);
  for (int64_t d : map) dims.add_scatter_dims_to_operand_dims(d);
  dims.set_index_vector_dim(vector_dim);
  return dims;
}

TEST(ShapeInferenceDataTest, Scatter) {
  const auto infer = [](const std::vector<Shape>& shapes,
                        const ScatterDimensionNumbers& dims,
                        const ProgramShape& f) {
    return Result(SI::InferScatterShape(Pointers(shapes), f, dims));
  };
  const ScatterDimensionNumbers dims = ScatterDims({0}, {1}, {1}, 1);
  const ProgramShape add = Reducer("f32");
  const Shape x = S("f32[64,48]");
  const Shape i = S("s64[32]");
  const Shape u = S("f32[64,32]");
  EXPECT_EQ(infer({x, i, u}, dims, add), "f32[64,48]");
  EXPECT_EQ(infer({x, S("s64[?]"), u}, dims, add), "f32[64,48]");
  const ProgramShape add2 =
      Program({S("f32[]"), S("s32[]"), S("f32[]"), S("s32[]")},
              Tup({S("f32[]"), S("s32[]")}));
  EXPECT_EQ(infer({x, S("s32[64,48]"), i, u, S("s32[64,32]")}, dims, add2),
            "(f32[64,48], s32[64,48])");
  EXPECT_THAT(infer({x, i}, dims, add), Error("n operands, indices"));
  EXPECT_THAT(infer({x, i, S("f32[65,32]")}, dims, add), Error("larger"));
  EXPECT_THAT(infer({x, i, S("f32[64,31]")}, dims, add), Error("indices"));
  EXPECT_THAT(infer({x, i, S("f32[64]")}, dims, add), Error("rank 2"));
  EXPECT_THAT(infer({x, i, u}, ScatterDims({0, 1}, {1}, {1}, 1), add),
              Error("must name 1 dimensions"));
  EXPECT_THAT(infer({x, i, S("s32[64,32]")}, dims, add), Error("input 0"));
  EXPECT_THAT(infer({x, i, u}, dims, Reducer("s32")), Error("scatter"));
  EXPECT_THAT(infer({x, S("f32[32]"), u}, dims, add), Error("integral"));
}

TEST(ShapeInferenceDataTest, DimensionSizes) {
  EXPECT_EQ(Result(SI::InferGetDimensionSizeShape(S("f32[2,?]"), 1)), "s32[]");
  EXPECT_THAT(Result(SI::InferGetDimensionSizeShape(S("f32[2]"), 1)),
              Error("out of range"));
  EXPECT_EQ(
      Result(SI::InferSetDimensionSizeShape(S("f32[2,3]"), S("s32[]"), 1)),
      "f32[2,<=3]");
  EXPECT_THAT(
      Result(SI::InferSetDimensionSizeShape(S("f32[2]"), S("s64[]"), 0)),
      Error("must be s32[]"));
  EXPECT_THAT(
      Result(SI::InferSetDimensionSizeShape(S("f32[2]"), S("s32[]"), 1)),
      Error("out of range"));
}

TEST(ShapeInferenceDataTest, TopK) {
  EXPECT_EQ(Result(SI::InferTopKShape(S("f32[?,10]"), 3)),
            "(f32[?,3], s32[?,3])");
  EXPECT_THAT(Result(SI::InferTopKShape(S("f32[10]"), 11)), Error("k=11"));
  EXPECT_THAT(Result(SI::InferTopKShape(S("f32[]"), 0)), Error("topk"));
  EXPECT_THAT(Result(SI::InferTopKShape(S("f32[10]"), -1)), Error("k=-1"));
}

}  // namespace
}  // namespace xla
