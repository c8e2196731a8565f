// Sizes that are not known, and convolutions that run backwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/ir/shape_inference/shape_inference_test_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using SI = ShapeInference;

std::string Binary(HloOpcode opcode, const char* lhs, const char* rhs,
                   const std::vector<int64_t>& dims = {}) {
  return Result(SI::InferBinaryOpShape(opcode, S(lhs), S(rhs), dims));
}

TEST(ShapeInferenceUnboundedTest, ExplicitBroadcastNeedsEqualSizes) {
  for (HloOpcode opcode :
       {HloOpcode::kAdd, HloOpcode::kAtan2, HloOpcode::kDivide,
        HloOpcode::kMaximum, HloOpcode::kMinimum, HloOpcode::kMultiply,
        HloOpcode::kPower, HloOpcode::kRemainder, HloOpcode::kShiftLeft,
        HloOpcode::kShiftRightArithmetic, HloOpcode::kShiftRightLogical,
        HloOpcode::kSubtract, HloOpcode::kCompare, HloOpcode::kComplex}) {
    EXPECT_THAT(Binary(opcode, "f32[2]", "f32[?,3]", {0}),
                Error("does not match dimension 0"))
        << opcode;
    EXPECT_THAT(Binary(opcode, "f32[?,3]", "f32[2]", {0}),
                Error("does not match dimension 0"))
        << opcode;
  }
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[1]", "f32[?,3]", {0}), "f32[?,3]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[?]", "f32[?,3]", {0}), "f32[?,3]");
  EXPECT_THAT(Binary(HloOpcode::kAdd, "f32[?]", "f32[2,3]", {0}),
              Error("does not match dimension 0"));
}

TEST(ShapeInferenceUnboundedTest, ElementTypes) {
  for (HloOpcode opcode :
       {HloOpcode::kShiftLeft, HloOpcode::kShiftRightArithmetic,
        HloOpcode::kShiftRightLogical}) {
    EXPECT_EQ(Binary(opcode, "f32[2]", "f32[2]"), "f32[2]") << opcode;
  }
  EXPECT_THAT(Binary(HloOpcode::kComplex, "f32[2]", "f64[2]"),
              Error("both the same"));
  EXPECT_THAT(Binary(HloOpcode::kComplex, "f64[2]", "f32[2]"),
              Error("both the same"));
  EXPECT_EQ(Binary(HloOpcode::kComplex, "f32[2]", "f32[2]"), "c64[2]");
  for (const char* type : {"c64[2]", "c128[2]", "s32[2]"}) {
    EXPECT_THAT(Result(SI::InferUnaryOpShape(HloOpcode::kCbrt, S(type))),
                Error("floating point"));
  }
  EXPECT_EQ(Result(SI::InferUnaryOpShape(HloOpcode::kCbrt, S("bf16[2]"))),
            "bf16[2]");
}

TEST(ShapeInferenceUnboundedTest, BoundsOfClampAgree) {
  const auto clamp = [](const char* min, const char* x, const char* max) {
    return Result(
        SI::InferTernaryOpShape(HloOpcode::kClamp, S(min), S(x), S(max)));
  };
  EXPECT_THAT(clamp("f32[2]", "f32[?]", "f32[3]"), Error("bounds of clamp"));
  EXPECT_EQ(clamp("f32[2]", "f32[?]", "f32[2]"), "f32[?]");
  EXPECT_EQ(clamp("f32[]", "f32[?]", "f32[3]"), "f32[?]");
}

TEST(ShapeInferenceUnboundedTest, TheFirstOperandHasTheSizes) {
  const std::vector<Shape> args = {S("f32[2,?,?]"), S("f32[?,3,?]")};
  EXPECT_EQ(
      Result(SI::InferMapShape(Pointers(args), Reducer("f32"), {0, 1, 2})),
      "f32[2,?,?]");
  DotDimensionNumbers dims;
  dims.add_lhs_batch_dimensions(0);
  dims.add_rhs_batch_dimensions(0);
  dims.add_lhs_contracting_dimensions(2);
  dims.add_rhs_contracting_dimensions(1);
  EXPECT_EQ(Result(SI::InferDotOpShape(S("f32[?,<=3,?]"), S("f32[2,4,5]"), dims,
                                       std::nullopt)),
            "f32[?,<=3,5]");
  EXPECT_EQ(Result(SI::InferDotOpShape(S("f32[2,3,4]"), S("f32[?,4,5]"), dims,
                                       std::nullopt)),
            "f32[2,3,5]");
}

TEST(ShapeInferenceUnboundedTest, BatchNormHasTheFeaturesOfItsOperand) {
  const Shape x = S("f32[2,3,?]");
  const Shape v = S("f32[5]");
  EXPECT_EQ(Result(SI::InferBatchNormTrainingShape(x, v, v, 2)),
            "(f32[2,3,?], f32[?], f32[?])");
  EXPECT_EQ(Result(SI::InferBatchNormGradShape(x, v, v, v, x, 2)),
            "(f32[2,3,?], f32[?], f32[?])");
  EXPECT_EQ(Result(SI::InferBatchNormTrainingShape(S("f32[2,<=5]"), v, v, 1)),
            "(f32[2,<=5], f32[<=5], f32[<=5])");
  EXPECT_EQ(Result(SI::InferBatchNormTrainingShape(S("f32[2,5]"), S("f32[?]"),
                                                   S("f32[?]"), 1)),
            "(f32[2,5], f32[5], f32[5])");
}

std::string Ragged(const char* lhs, const char* rhs, const char* groups,
                   const DotDimensionNumbers& dims, int64_t ragged,
                   const std::vector<int64_t>& group_dims) {
  RaggedDotDimensionNumbers ragged_dims;
  *ragged_dims.mutable_dot_dimension_numbers() = dims;
  ragged_dims.add_lhs_ragged_dimensions(ragged);
  for (int64_t d : group_dims) ragged_dims.add_rhs_group_dimensions(d);
  return Result(SI::InferRaggedDotOpShape(S(lhs), S(rhs), S(groups),
                                          ragged_dims, std::nullopt));
}

TEST(ShapeInferenceUnboundedTest, GroupSizesFitWhatIsAroundTheRaggedDimension) {
  DotDimensionNumbers dims;
  dims.add_lhs_batch_dimensions(0);
  dims.add_rhs_batch_dimensions(1);
  dims.add_lhs_contracting_dimensions(3);
  dims.add_rhs_contracting_dimensions(2);
  const auto free_rows = [&](const char* groups) {
    return Ragged("f32[3,2,11,5]", "f32[4,3,5,7]", groups, dims, 2, {0});
  };
  EXPECT_EQ(free_rows("s32[4]"), "f32[3,2,11,7]");
  EXPECT_EQ(free_rows("s32[3,2,4]"), "f32[3,2,11,7]");
  EXPECT_THAT(free_rows("s32[3,4]"), Error("group sizes s32[3,4]"));
  EXPECT_THAT(free_rows("s32[2,3,4]"), Error("group sizes s32[2,3,4]"));
  EXPECT_THAT(free_rows("s32[3,2,1,4]"), Error("group sizes"));
  EXPECT_THAT(free_rows("s32[3,2,5]"), Error("5 group sizes"));

  DotDimensionNumbers summed;
  summed.add_lhs_batch_dimensions(0);
  summed.add_rhs_batch_dimensions(0);
  summed.add_lhs_contracting_dimensions(2);
  summed.add_rhs_contracting_dimensions(1);
  const auto contracting = [&](const char* groups) {
    return Ragged("f32[3,11,5]", "f32[3,5,7]", groups, summed, 2, {});
  };
  EXPECT_EQ(contracting("s32[4]"), "f32[4,3,11,7]");
  EXPECT_EQ(contracting("s32[3,4]"), "f32[4,3,11,7]");
  EXPECT_THAT(contracting("s32[2,4]"), Error("group sizes"));
  EXPECT_THAT(contracting("s32[3,11,4]"), Error("group sizes"));

  const auto batch = [&](const char* groups) {
    return Ragged("f32[3,11,5]", "f32[3,5,7]", groups, summed, 0, {});
  };
  EXPECT_EQ(batch("s32[4]"), "f32[3,11,7]");
  EXPECT_THAT(batch("s32[3,4]"), Error("group sizes"));
}

std::string Reshape(const char* operand, const std::vector<int64_t>& dims,
                    int64_t inferred = -1) {
  return Result(SI::InferReshapeShape(S(operand), dims, inferred));
}

TEST(ShapeInferenceUnboundedTest, Reshape) {
  EXPECT_EQ(Reshape("f32[4,<=5]", {20}, -7), "f32[<=20]");
  EXPECT_EQ(Reshape("f32[1,<=1]", {1}), "f32[<=1]");
  EXPECT_EQ(Reshape("f32[<=1,1]", {1}), "f32[<=1]");
  EXPECT_EQ(Reshape("f32[<=8]", {1, 8}, 0), "f32[<=1,8]");
  EXPECT_EQ(Reshape("f32[<=8]", {8, 1}, 1), "f32[8,<=1]");
  EXPECT_EQ(Reshape("f32[<=8]", {1, 8}), "f32[1,<=8]");
  EXPECT_EQ(Reshape("f32[<=8]", {2, 4}, 1), "f32[2,<=4]");
  EXPECT_EQ(Reshape("f32[?,3]", {2, 3}), "f32[2,3]");
  EXPECT_THAT(Reshape("f32[?,<=3]", {2, 3}), Error("mixes"));
  EXPECT_THAT(Reshape("f32[<=8]", {8}, 1), Error("out of range"));
}

TEST(ShapeInferenceUnboundedTest, SliceBroadcastAllToAll) {
  EXPECT_EQ(
      Result(SI::InferSliceShape(S("f32[<=8,<=9]"), {3, 0}, {4, 9}, {1, 1})),
      "f32[1,<=9]");
  EXPECT_EQ(Result(SI::InferSliceShape(S("f32[<=8]"), {0}, {8}, {8})),
            "f32[1]");
  EXPECT_THAT(Result(SI::InferBroadcastShape(S("f32[<=3,?]"), {1})),
              Error("must have bounds"));
  EXPECT_THAT(
      Result(SI::InferBroadcastShape(S("f32[]"), {Shape::kUnboundedSize})),
      Error("must be given"));
  EXPECT_EQ(Result(SI::InferBroadcastShape(S("f32[<=3]"), {2})), "f32[2,<=3]");
  const std::vector<Shape> bounded = {S("f32[<=3]"), S("f32[<=3]")};
  const std::vector<Shape> unbounded = {S("f32[?]"), S("f32[?]")};
  EXPECT_EQ(Result(SI::InferAllToAllTupleShape(Pointers(bounded))),
            "(f32[<=3], f32[<=3])");
  EXPECT_THAT(Result(SI::InferAllToAllTupleShape(Pointers(unbounded))),
              Error("must have bounds"));
}

ConvolutionDimensionNumbers Labels(int64_t i, int64_t o, int64_t s0,
                                   int64_t s1) {  // b01f_?->b01f
  ConvolutionDimensionNumbers d;
  d.set_input_batch_dimension(0);
  d.set_input_feature_dimension(3);
  d.add_input_spatial_dimensions(1);
  d.add_input_spatial_dimensions(2);
  d.set_kernel_input_feature_dimension(i);
  d.set_kernel_output_feature_dimension(o);
  d.add_kernel_spatial_dimensions(s0);
  d.add_kernel_spatial_dimensions(s1);
  d.set_output_batch_dimension(0);
  d.set_output_feature_dimension(3);
  d.add_output_spatial_dimensions(1);
  d.add_output_spatial_dimensions(2);
  return d;
}

Window Square(int64_t size, int64_t pad, int64_t base_dilation) {
  return *SI::InferWindowFromDimensions({size, size}, {1, 1},
                                        {{pad, pad}, {pad, pad}},
                                        {base_dilation, base_dilation}, {});
}

std::string Conv(const char* lhs, const char* rhs, const Window& window,
                 const ConvolutionDimensionNumbers& dims, ConvolutionKind kind,
                 const SparsityConfig& sparsity = SparsityConfig(),
                 int64_t features = 1, int64_t batches = 1) {
  return Result(SI::InferConvolveShape(S(lhs), S(rhs), features, batches,
                                       window, dims, sparsity, std::nullopt,
                                       kind));
}

TEST(ShapeInferenceConvolutionKindTest, GradientOfTheInput) {
  const ConvolutionDimensionNumbers dims = Labels(2, 3, 0, 1);
  // (4 - 1) * 2 + 1 + 2 * 2 - 3 + 1 = 9
  EXPECT_EQ(Conv("f32[8,4,4,16]", "f32[3,3,5,16]", Square(3, 2, 2), dims,
                 CONVOLUTION_KIND_DGRAD),
            "f32[8,9,9,5]");
  EXPECT_THAT(Conv("f32[8,4,4,5]", "f32[3,3,5,16]", Square(3, 2, 2), dims,
                   CONVOLUTION_KIND_DGRAD),
              Error("differ (5 and 16)"));
  EXPECT_THAT(Conv("f32[8,4,4,16]", "f32[2,3,5,16]", Square(3, 2, 2), dims,
                   CONVOLUTION_KIND_DGRAD),
              Error("window dimension 0"));
  EXPECT_THAT(Conv("f32[8,4,4,16]", "f32[3,3,5,16]", Square(3, 2, 2), dims,
                   CONVOLUTION_KIND_DGRAD, SparsityConfig(), 0),
              Error("must be positive"));
}

TEST(ShapeInferenceConvolutionKindTest, GradientOfTheKernel) {
  const ConvolutionDimensionNumbers dims = Labels(0, 1, 2, 3);
  EXPECT_EQ(Conv("f32[1,6,6,2]", "f32[1,4,4,3]", Square(3, 0, 1), dims,
                 CONVOLUTION_KIND_WGRAD),
            "f32[2,3,3,3]");
  EXPECT_EQ(Conv("f32[1,6,6,4]", "f32[1,4,4,6]", Square(3, 0, 1), dims,
                 CONVOLUTION_KIND_WGRAD, SparsityConfig(), 2),
            "f32[2,6,3,3]");
  EXPECT_THAT(Conv("f32[2,6,6,2]", "f32[1,4,4,3]", Square(3, 0, 1), dims,
                   CONVOLUTION_KIND_WGRAD),
              Error("do not fit the gradient"));
  EXPECT_THAT(Conv("f32[1,6,6,2]", "f32[1,4,3]", Square(3, 0, 1), dims,
                   CONVOLUTION_KIND_WGRAD),
              Error("rank 3"));
  Window backwards = Square(3, 0, 1);
  backwards.mutable_dimensions(1)->set_stride(-1);
  EXPECT_THAT(Conv("f32[1,6,6,2]", "f32[1,4,4,3]", backwards, dims,
                   CONVOLUTION_KIND_WGRAD),
              Error("window dimension 1 must be positive"));
}

TEST(ShapeInferenceConvolutionKindTest, SparseOperandsCountAsDense) {
  const ConvolutionDimensionNumbers dims = Labels(2, 3, 0, 1);
  const Window window = Square(3, 1, 1);
  SparsityConfig sparsity;
  sparsity.mutable_rhs()->set_num_non_zero(1);
  sparsity.mutable_rhs()->set_block_size(4);
  sparsity.mutable_rhs()->set_dimension(2);
  EXPECT_EQ(Conv("f32[8,10,10,32]", "f32[3,3,8,16]", window, dims,
                 CONVOLUTION_KIND_UNSET, sparsity),
            "f32[8,10,10,16]");
  EXPECT_THAT(Conv("f32[8,10,10,8]", "f32[3,3,8,16]", window, dims,
                   CONVOLUTION_KIND_UNSET, sparsity),
              Error("times kernel input features"));
  sparsity.mutable_rhs()->set_num_non_zero(3);
  EXPECT_THAT(Conv("f32[8,10,10,32]", "f32[3,3,8,16]", window, dims,
                   CONVOLUTION_KIND_UNSET, sparsity),
              Error("sparsity 3x4"));
  sparsity.mutable_rhs()->set_dimension(4);
  EXPECT_THAT(Conv("f32[8,10,10,32]", "f32[3,3,8,16]", window, dims,
                   CONVOLUTION_KIND_UNSET, sparsity),
              Error("out of range"));
  sparsity.clear_rhs();
  sparsity.mutable_lhs()->set_num_non_zero(2);
  sparsity.mutable_lhs()->set_block_size(4);
  sparsity.mutable_lhs()->set_dimension(3);
  EXPECT_EQ(Conv("f32[8,10,10,16]", "f32[3,3,32,16]", window, dims,
                 CONVOLUTION_KIND_FPROP, sparsity),
            "f32[8,10,10,16]");
}

}  // namespace
}  // namespace xla
