// Element-wise opcodes, linear algebra and normalization.
#include "xla/hlo/ir/shape_inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference/shape_inference_test_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using SI = ShapeInference;

std::string Unary(HloOpcode opcode, const char* operand) {
  return Result(SI::InferUnaryOpShape(opcode, S(operand)));
}
std::string Binary(HloOpcode opcode, const char* lhs, const char* rhs,
                   const std::vector<int64_t>& dims = {}) {
  return Result(SI::InferBinaryOpShape(opcode, S(lhs), S(rhs), dims));
}
std::string Ternary(HloOpcode opcode, const char* a, const char* b,
                    const char* c) {
  return Result(SI::InferTernaryOpShape(opcode, S(a), S(b), S(c)));
}

TEST(ShapeInferenceTest, UnaryKeepsTheShape) {
  for (HloOpcode opcode : {HloOpcode::kCeil,
                           HloOpcode::kFloor,
                           HloOpcode::kErf,
                           HloOpcode::kExp,
                           HloOpcode::kExpm1,
                           HloOpcode::kLog,
                           HloOpcode::kLog1p,
                           HloOpcode::kLogistic,
                           HloOpcode::kNegate,
                           HloOpcode::kSign,
                           HloOpcode::kAbs,
                           HloOpcode::kSqrt,
                           HloOpcode::kRsqrt,
                           HloOpcode::kCbrt,
                           HloOpcode::kSin,
                           HloOpcode::kCos,
                           HloOpcode::kTan,
                           HloOpcode::kTanh,
                           HloOpcode::kAcos,
                           HloOpcode::kAcosh,
                           HloOpcode::kAsin,
                           HloOpcode::kAsinh,
                           HloOpcode::kAtanh,
                           HloOpcode::kCosh,
                           HloOpcode::kSinh,
                           HloOpcode::kRoundNearestAfz,
                           HloOpcode::kRoundNearestEven,
                           HloOpcode::kCopy}) {
    EXPECT_EQ(Unary(opcode, "f32[2,<=3,?]"), "f32[2,<=3,?]") << opcode;
  }
  for (HloOpcode opcode : {HloOpcode::kNot, HloOpcode::kClz,
                           HloOpcode::kPopulationCount, HloOpcode::kNegate}) {
    EXPECT_EQ(Unary(opcode, "s32[4]"), "s32[4]") << opcode;
  }
}

TEST(ShapeInferenceTest, UnaryChangesTheElementType) {
  EXPECT_EQ(Unary(HloOpcode::kAbs, "c64[2]"), "f32[2]");
  EXPECT_EQ(Unary(HloOpcode::kReal, "c128[2]"), "f64[2]");
  EXPECT_EQ(Unary(HloOpcode::kImag, "f32[2]"), "f32[2]");
  EXPECT_EQ(Unary(HloOpcode::kIsFinite, "bf16[<=2]"), "pred[<=2]");
}

TEST(ShapeInferenceTest, UnaryChecksTheElementType) {
  EXPECT_THAT(Unary(HloOpcode::kExp, "s32[2]"),
              Error("operand of exponential must be floating point or complex; "
                    "got s32[2]"));
  EXPECT_THAT(Unary(HloOpcode::kFloor, "c64[2]"), Error("floating point"));
  EXPECT_THAT(Unary(HloOpcode::kNot, "f32[2]"), Error("pred or integral"));
  EXPECT_THAT(Unary(HloOpcode::kNegate, "pred[2]"), Error("negate"));
  EXPECT_THAT(Unary(HloOpcode::kClz, "pred[2]"), Error("integral"));
  EXPECT_THAT(Unary(HloOpcode::kAbs, "u32[2]"), Error("signed"));
  EXPECT_THAT(Unary(HloOpcode::kSign, "u8[2]"), Error("signed"));
  EXPECT_THAT(Unary(HloOpcode::kSign, "pred[2]"), Error("signed"));
  EXPECT_THAT(Unary(HloOpcode::kExp, "token[]"), Error("must be an array"));
  EXPECT_THAT(Unary(HloOpcode::kAdd, "f32[]"), Error("not a unary operation"));
}

TEST(ShapeInferenceTest, UnaryKeepsTheLayout) {
  const Shape column_major =
      ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1});
  const Shape result =
      *SI::InferUnaryOpShape(HloOpcode::kIsFinite, column_major);
  EXPECT_EQ(ShapeUtil::HumanStringWithLayout(result), "pred[2,3]{0,1}");
}

TEST(ShapeInferenceTest, BinaryOfEqualSizes) {
  for (HloOpcode opcode :
       {HloOpcode::kAdd, HloOpcode::kSubtract, HloOpcode::kMultiply,
        HloOpcode::kDivide, HloOpcode::kMaximum, HloOpcode::kMinimum,
        HloOpcode::kPower, HloOpcode::kRemainder, HloOpcode::kAtan2}) {
    EXPECT_EQ(Binary(opcode, "f32[2,3]", "f32[2,3]"), "f32[2,3]") << opcode;
  }
  for (HloOpcode opcode :
       {HloOpcode::kAnd, HloOpcode::kOr, HloOpcode::kXor, HloOpcode::kShiftLeft,
        HloOpcode::kShiftRightArithmetic, HloOpcode::kShiftRightLogical,
        HloOpcode::kMulhi}) {
    EXPECT_EQ(Binary(opcode, "u8[2]", "u8[2]"), "u8[2]") << opcode;
  }
  EXPECT_EQ(Binary(HloOpcode::kCompare, "s32[2]", "s32[2]"), "pred[2]");
  EXPECT_EQ(Binary(HloOpcode::kComplex, "f64[2]", "f64[2]"), "c128[2]");
  EXPECT_EQ(Binary(HloOpcode::kRemainder, "c64[2]", "c64[2]"), "c64[2]");
}

TEST(ShapeInferenceTest, BinaryMixesPrecisionButNotKinds) {
  EXPECT_EQ(Binary(HloOpcode::kAdd, "bf16[2]", "f32[2]"), "f32[2]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[2]", "bf16[2]"), "f32[2]");
  EXPECT_THAT(Binary(HloOpcode::kAdd, "s32[2]", "f32[2]"),
              Error("add: element types of s32[2] and f32[2] do not match"));
  EXPECT_THAT(Binary(HloOpcode::kAdd, "s32[2]", "s64[2]"), Error("types"));
  EXPECT_THAT(Binary(HloOpcode::kSubtract, "pred[2]", "pred[2]"), Error("got"));
  EXPECT_THAT(Binary(HloOpcode::kAnd, "f32[2]", "f32[2]"), Error("got"));
  EXPECT_THAT(Binary(HloOpcode::kComplex, "bf16[2]", "bf16[2]"),
              Error("must be f32 or f64"));
  EXPECT_THAT(Binary(HloOpcode::kExp, "f32[2]", "f32[2]"),
              Error("not a binary operation"));
}

TEST(ShapeInferenceTest, BinaryBroadcasts) {
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[1,3]", "f32[2,1]"), "f32[2,3]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[]", "f32[2,3]"), "f32[2,3]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[2]", "f32[2,3]", {0}), "f32[2,3]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[2,3,4]", "f32[3]", {1}), "f32[2,3,4]");
  EXPECT_THAT(Binary(HloOpcode::kAdd, "f32[2]", "f32[3]"),
              Error("differ in dimension 0: f32[2] and f32[3]"));
  EXPECT_THAT(Binary(HloOpcode::kAdd, "f32[2]", "f32[2,3]"),
              Error("must name the 1 dimensions"));
  EXPECT_THAT(Binary(HloOpcode::kAdd, "f32[2]", "f32[2,3]", {1}),
              Error("does not match dimension 1"));
  EXPECT_THAT(Binary(HloOpcode::kAdd, "f32[2]", "f32[2,3]", {2}),
              Error("out of range"));
  EXPECT_THAT(Binary(HloOpcode::kAdd, "f32[2,3]", "f32[2,3,4]", {1, 0}),
              Error("sorted"));
  EXPECT_THAT(Binary(HloOpcode::kAdd, "f32[2]", "f32[2]", {1}),
              Error("of no use"));
}

TEST(ShapeInferenceTest, BinaryOfDynamicSizes) {
  // A bound of 1 is broadcast as a size of 1 is.
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[<=1]", "f32[2]"), "f32[2]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[<=3]", "f32[<=1]"), "f32[<=3]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[<=4]", "f32[4]"), "f32[<=4]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[4]", "f32[<=4]"), "f32[<=4]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[?]", "f32[?]"), "f32[?]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[?]", "f32[4]"), "f32[4]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[<=4]", "f32[?]"), "f32[<=4]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[1]", "f32[?]"), "f32[?]");
  EXPECT_EQ(Binary(HloOpcode::kAdd, "f32[?]", "f32[2,?]", {1}), "f32[2,?]");
  EXPECT_THAT(Binary(HloOpcode::kAdd, "f32[<=4]", "f32[5]"), Error("differ"));
}

TEST(ShapeInferenceTest, AddDependency) {
  EXPECT_EQ(Binary(HloOpcode::kAddDependency, "f32[2]", "token[]"), "f32[2]");
  EXPECT_THAT(Binary(HloOpcode::kAddDependency, "f32[2]", "f32[]"),
              Error("must be a token"));
}

TEST(ShapeInferenceTest, Clamp) {
  EXPECT_EQ(Ternary(HloOpcode::kClamp, "f32[]", "f32[2]", "f32[2]"), "f32[2]");
  EXPECT_THAT(Ternary(HloOpcode::kClamp, "f32[3]", "f32[2]", "f32[]"),
              Error("bound"));
  EXPECT_THAT(Ternary(HloOpcode::kClamp, "s32[]", "f32[2]", "f32[]"),
              Error("element types"));
  EXPECT_THAT(Ternary(HloOpcode::kClamp, "c64[]", "c64[2]", "c64[]"),
              Error("cannot compare"));
}

TEST(ShapeInferenceTest, Select) {
  EXPECT_EQ(Ternary(HloOpcode::kSelect, "pred[2]", "f32[2]", "f32[2]"),
            "f32[2]");
  EXPECT_EQ(Ternary(HloOpcode::kSelect, "pred[]", "f32[2]", "f32[2]"),
            "f32[2]");
  EXPECT_EQ(Ternary(HloOpcode::kSelect, "pred[2]", "f32[?]", "f32[<=2]"),
            "f32[<=2]");
  EXPECT_THAT(Ternary(HloOpcode::kSelect, "s32[2]", "f32[2]", "f32[2]"),
              Error("predicate of select must be pred"));
  EXPECT_THAT(Ternary(HloOpcode::kSelect, "pred[2]", "f32[2]", "f32[3]"),
              Error("same dimensions"));
  EXPECT_THAT(Ternary(HloOpcode::kSelect, "pred[3]", "f32[2]", "f32[2]"),
              Error("predicate and operands"));
  EXPECT_THAT(Ternary(HloOpcode::kAdd, "pred[3]", "f32[2]", "f32[2]"),
              Error("not a ternary operation"));
}

TEST(ShapeInferenceTest, Variadic) {
  const std::vector<Shape> arrays = {S("f32[2]"), S("s32[2]")};
  const std::vector<Shape> tokens = {S("token[]"), S("token[]")};
  const auto infer = [](HloOpcode opcode, const std::vector<Shape>& shapes) {
    return Result(SI::InferVariadicOpShape(opcode, Pointers(shapes)));
  };
  EXPECT_EQ(infer(HloOpcode::kTuple, arrays), "(f32[2], s32[2])");
  EXPECT_EQ(infer(HloOpcode::kTuple, {}), "()");
  EXPECT_EQ(infer(HloOpcode::kSort, arrays), "(f32[2], s32[2])");
  EXPECT_EQ(infer(HloOpcode::kSort, {S("f32[2]")}), "f32[2]");
  EXPECT_EQ(infer(HloOpcode::kAfterAll, tokens), "token[]");
  EXPECT_THAT(infer(HloOpcode::kSort, {S("f32[2]"), S("f32[3]")}),
              Error("same dimensions"));
  EXPECT_THAT(infer(HloOpcode::kSort, {}), Error("needs an operand"));
  EXPECT_THAT(infer(HloOpcode::kAfterAll, arrays), Error("must be tokens"));
  EXPECT_THAT(infer(HloOpcode::kAdd, arrays),
              Error("not a variadic operation"));
}

TEST(ShapeInferenceTest, ScalarBroadcast) {
  EXPECT_EQ((*SI::InferScalarBroadcastShape({S("f32[]"), S("f32[2]")})),
            S("f32[2]"));
  EXPECT_EQ(*SI::InferScalarBroadcastShape({S("f32[2]"), S("f32[2]")}),
            std::nullopt);
  EXPECT_EQ(*SI::InferScalarBroadcastShape({S("f32[]")}), std::nullopt);
  EXPECT_FALSE(SI::InferScalarBroadcastShape({S("f32[3]"), S("f32[2]")}).ok());
}

TEST(ShapeInferenceTest, Map) {
  const std::vector<Shape> args = {S("f32[2,3]"), S("s32[2,3]")};
  const ProgramShape f = Program({S("f32[]"), S("s32[]")}, S("pred[]"));
  EXPECT_EQ(Result(SI::InferMapShape(Pointers(args), f, {0, 1})), "pred[2,3]");
  EXPECT_THAT(Result(SI::InferMapShape(Pointers(args), f, {1, 0})),
              Error("in order"));
  EXPECT_THAT(Result(SI::InferMapShape(Pointers(args), Reducer("f32"), {0, 1})),
              Error("parameter 1 of the computation of map is f32[]"));
  EXPECT_THAT(Result(SI::InferMapShape({}, f, {})), Error("needs an operand"));
  EXPECT_THAT(Result(SI::InferMapShape({&args[0]}, f, {0, 1})),
              Error("takes 2 parameters"));
  EXPECT_THAT(Result(SI::InferMapShape(
                  {&args[0]}, Program({S("f32[]")}, S("f32[1]")), {0, 1})),
              Error("result of the computation of map must be a scalar"));
}

TEST(ShapeInferenceTest, Convert) {
  EXPECT_EQ(Result(SI::InferConvertShape(S("f32[2,<=3]"), BF16)),
            "bf16[2,<=3]");
  EXPECT_EQ(Result(SI::InferConvertShape(S("f32[2]"), C64)), "c64[2]");
  EXPECT_THAT(Result(SI::InferConvertShape(S("c64[2]"), F32)),
              Error("use real or imag"));
  EXPECT_THAT(Result(SI::InferConvertShape(S("f32[2]"), TOKEN)),
              Error("no elements"));
  EXPECT_THAT(Result(SI::InferConvertShape(S("token[]"), F32)),
              Error("must be an array"));
}

TEST(ShapeInferenceTest, BitcastConvert) {
  const auto infer = [](const char* shape, PrimitiveType type) {
    return Result(SI::InferBitcastConvertShape(S(shape), type));
  };
  EXPECT_EQ(infer("f32[2]", S32), "s32[2]");
  EXPECT_EQ(infer("f32[2]", U8), "u8[2,4]");
  EXPECT_EQ(infer("u8[2,4]", F32), "f32[2]");
  EXPECT_EQ(infer("u8[<=2,4]", F32), "f32[<=2]");
  EXPECT_EQ(infer("s4[2,2]", S8), "s8[2]");
  EXPECT_THAT(infer("u8[2,3]", F32), Error("last dimension of size 4"));
  EXPECT_THAT(infer("u8[]", F32), Error("last dimension of size 4"));
  EXPECT_THAT(infer("c64[2]", F32), Error("bitcast-convert from c64[2]"));
}

TEST(ShapeInferenceTest, StochasticConvert) {
  const auto infer = [](const char* a, const char* b, PrimitiveType type) {
    return Result(SI::InferStochasticConvertShape(S(a), S(b), type));
  };
  EXPECT_EQ(infer("f32[2]", "u32[2]", S8), "s8[2]");
  EXPECT_THAT(infer("f32[2]", "u16[2]", S8), Error("as wide as"));
  EXPECT_THAT(infer("f32[2]", "s32[2]", S8), Error("unsigned"));
  EXPECT_THAT(infer("f32[2]", "u32[3]", S8), Error("same dimensions"));
  EXPECT_THAT(infer("s32[2]", "u32[2]", S8), Error("floating point"));
  EXPECT_THAT(infer("f32[2]", "u32[2]", C64), Error("neither"));
}

TEST(ShapeInferenceTest, ReducePrecision) {
  EXPECT_EQ(Result(SI::InferReducePrecisionShape(S("f32[2]"), 5, 10)),
            "f32[2]");
  EXPECT_THAT(Result(SI::InferReducePrecisionShape(S("f32[2]"), 0, 10)),
              Error("at least 1 exponent bit"));
  EXPECT_THAT(Result(SI::InferReducePrecisionShape(S("f32[2]"), 5, -1)),
              Error("0 mantissa bits"));
  EXPECT_THAT(Result(SI::InferReducePrecisionShape(S("s32[2]"), 5, 10)),
              Error("floating point"));
}

DotDimensionNumbers DotDims(const std::vector<int64_t>& lhs_contracting,
                            const std::vector<int64_t>& rhs_contracting,
                            const std::vector<int64_t>& lhs_batch = {},
                            const std::vector<int64_t>& rhs_batch = {}) {
  DotDimensionNumbers dims;
  for (int64_t d : lhs_contracting) dims.add_lhs_contracting_dimensions(d);
  for (int64_t d : rhs_contracting) dims.add_rhs_contracting_dimensions(d);
  for (int64_t d : lhs_batch) dims.add_lhs_batch_dimensions(d);
  for (int64_t d : rhs_batch) dims.add_rhs_batch_dimensions(d);
  return dims;
}

std::string Dot(const char* lhs, const char* rhs,
                const DotDimensionNumbers& dims,
                std::optional<PrimitiveType> type = std::nullopt) {
  return Result(SI::InferDotOpShape(S(lhs), S(rhs), dims, type));
}

TEST(ShapeInferenceTest, DotOrdersBatchThenFreeDimensions) {
  EXPECT_EQ(Dot("f32[2,3]", "f32[3,4]", DotDims({1}, {0})), "f32[2,4]");
  EXPECT_EQ(Dot("f32[3]", "f32[3]", DotDims({0}, {0})), "f32[]");
  EXPECT_EQ(Dot("f32[2]", "f32[3]", DotDims({}, {})), "f32[2,3]");
  EXPECT_EQ(Dot("f32[5,2,3]", "f32[3,4,5]", DotDims({2}, {0}, {0}, {2})),
            "f32[5,2,4]");
  EXPECT_EQ(Dot("f32[<=5,2,?]", "f32[5,?,<=4]", DotDims({2}, {1}, {0}, {0})),
            "f32[<=5,2,<=4]");
}

TEST(ShapeInferenceTest, DotElementType) {
  const DotDimensionNumbers dims = DotDims({1}, {0});
  EXPECT_EQ(Dot("s8[2,3]", "s8[3,4]", dims, S32), "s32[2,4]");
  EXPECT_EQ(Dot("s8[2,3]", "s4[3,4]", dims, S32), "s32[2,4]");
  EXPECT_EQ(Dot("bf16[2,3]", "bf16[3,4]", dims, F32), "f32[2,4]");
  EXPECT_EQ(Dot("bf16[2,3]", "f32[3,4]", dims), "f32[2,4]");
  // Without a preference the type of higher precision, also across kinds.
  EXPECT_EQ(Dot("s8[2,3]", "s32[3,4]", dims), "s32[2,4]");
  EXPECT_EQ(Dot("u8[2,3]", "s8[3,4]", dims), "s8[2,4]");
  EXPECT_EQ(Dot("s64[2,3]", "bf16[3,4]", dims), "bf16[2,4]");
  EXPECT_EQ(Dot("f32[2,3]", "c64[3,4]", dims), "c64[2,4]");
  EXPECT_EQ(Dot("c64[2,3]", "s32[3,4]", dims), "c64[2,4]");
  // What is preferred may be narrower; sums of integers wrap then.
  EXPECT_EQ(Dot("f32[2,3]", "s32[3,4]", dims, S8), "s8[2,4]");
  EXPECT_EQ(Dot("s32[2,3]", "s32[3,4]", dims, U32), "u32[2,4]");
  EXPECT_EQ(Dot("s32[2,3]", "s32[3,4]", dims, F32), "f32[2,4]");
  EXPECT_EQ(Dot("s32[2,3]", "s32[3,4]", dims, S8), "s8[2,4]");
  EXPECT_EQ(Dot("c128[2,3]", "c128[3,4]", dims, C64), "c64[2,4]");
  EXPECT_THAT(Dot("f32[2,3]", "f32[3,4]", dims, C64),
              Error("must both be complex"));
}

TEST(ShapeInferenceTest, DotChecksItsDimensions) {
  EXPECT_THAT(Dot("f32[2,3]", "f32[4,5]", DotDims({1}, {0})),
              Error("contracting dimension 1 of f32[2,3] and 0 of f32[4,5]"));
  EXPECT_THAT(Dot("f32[2,3]", "f32[3,4]", DotDims({2}, {0})),
              Error("out of range"));
  EXPECT_THAT(Dot("f32[2,3]", "f32[3,4]", DotDims({-1}, {0})),
              Error("out of range"));
  EXPECT_THAT(Dot("f32[2,3]", "f32[3,4]", DotDims({1, 1}, {0, 0})),
              Error("appears twice"));
  EXPECT_THAT(Dot("f32[2,3]", "f32[3,4]", DotDims({1}, {})), Error("pairs"));
  EXPECT_THAT(Dot("f32[2,3]", "f32[2,3]", DotDims({0}, {0}, {0}, {1})),
              Error("appears twice"));
  EXPECT_THAT(Dot("f32[2,3]", "f32[3,3]", DotDims({1}, {0}, {0}, {1})),
              Error("batch dimension"));
  EXPECT_THAT(Dot("token[]", "f32[3,3]", DotDims({}, {})),
              Error("lhs of dot must be an array"));
}

TEST(ShapeInferenceTest, RaggedDotModes) {
  const auto infer = [](const char* lhs, const char* rhs, const char* groups,
                        const DotDimensionNumbers& dims, int64_t ragged,
                        const std::vector<int64_t>& group_dims) {
    RaggedDotDimensionNumbers ragged_dims;
    *ragged_dims.mutable_dot_dimension_numbers() = dims;
    ragged_dims.add_lhs_ragged_dimensions(ragged);
    for (int64_t d : group_dims) ragged_dims.add_rhs_group_dimensions(d);
    return Result(SI::InferRaggedDotOpShape(S(lhs), S(rhs), S(groups),
                                            ragged_dims, std::nullopt));
  };
  EXPECT_EQ(
      infer("f32[11,5]", "f32[3,5,7]", "s32[3]", DotDims({1}, {1}), 0, {0}),
      "f32[11,7]");
  EXPECT_EQ(infer("f32[11,5]", "f32[5,7]", "s32[3]", DotDims({1}, {0}), 1, {}),
            "f32[3,11,7]");
  EXPECT_EQ(infer("f32[3,11,5]", "f32[3,5,7]", "s32[3]",
                  DotDims({2}, {1}, {0}, {0}), 0, {}),
            "f32[3,11,7]");
  EXPECT_THAT(
      infer("f32[11,5]", "f32[3,5,7]", "s32[4]", DotDims({1}, {1}), 0, {0}),
      Error("4 group sizes"));
  EXPECT_THAT(
      infer("f32[11,5]", "f32[3,5,7]", "s32[3]", DotDims({1}, {1}), 0, {}),
      Error("exactly 1 rhs group dimension"));
  EXPECT_THAT(
      infer("f32[11,5]", "f32[5,7]", "s32[3]", DotDims({1}, {0}), 1, {1}),
      Error("no rhs group dimension"));
  EXPECT_THAT(
      infer("f32[11,5]", "f32[3,5,7]", "f32[3]", DotDims({1}, {1}), 0, {0}),
      Error("vector of integers"));
  EXPECT_THAT(
      infer("f32[11,5]", "f32[3,5,7]", "s32[3]", DotDims({1}, {1}), 2, {0}),
      Error("out of range"));
  EXPECT_THAT(
      infer("f32[11,5]", "f32[3,5,7]", "s32[5]", DotDims({1}, {1}), 0, {1}),
      Error("contracting dimension too"));
}

ConvolutionDimensionNumbers ConvDims() {  // b01f_01io->b01f
  ConvolutionDimensionNumbers d;
  d.set_input_batch_dimension(0);
  d.set_input_feature_dimension(3);
  d.add_input_spatial_dimensions(1);
  d.add_input_spatial_dimensions(2);
  d.add_kernel_spatial_dimensions(0);
  d.add_kernel_spatial_dimensions(1);
  d.set_kernel_input_feature_dimension(2);
  d.set_kernel_output_feature_dimension(3);
  d.set_output_batch_dimension(0);
  d.set_output_feature_dimension(3);
  d.add_output_spatial_dimensions(1);
  d.add_output_spatial_dimensions(2);
  return d;
}

Window Window2D(int64_t size, int64_t stride, int64_t pad) {
  return *SI::InferWindowFromDimensions({size, size}, {stride, stride},
                                        {{pad, pad}, {pad, pad}}, {}, {});
}

std::string Conv(const char* lhs, const char* rhs, const Window& window,
                 int64_t features = 1, int64_t batches = 1) {
  return Result(SI::InferConvolveShape(S(lhs), S(rhs), features, batches,
                                       window, ConvDims(), std::nullopt));
}

TEST(ShapeInferenceTest, Convolution) {
  EXPECT_EQ(Conv("f32[8,10,10,3]", "f32[3,3,3,16]", Window2D(3, 1, 1)),
            "f32[8,10,10,16]");
  EXPECT_EQ(Conv("f32[8,11,11,3]", "f32[3,3,3,16]", Window2D(3, 2, 0)),
            "f32[8,5,5,16]");
  EXPECT_EQ(Conv("f32[8,10,10,6]", "f32[3,3,3,16]", Window2D(3, 1, 0), 2),
            "f32[8,8,8,16]");
  EXPECT_EQ(Conv("f32[8,10,10,3]", "f32[3,3,3,16]", Window2D(3, 1, 0), 1, 4),
            "f32[2,8,8,16]");
  EXPECT_EQ(Conv("f32[?,10,<=10,3]", "f32[3,3,3,16]", Window2D(3, 1, 0)),
            "f32[?,8,<=8,16]");
  EXPECT_EQ(Conv("f32[8,2,2,3]", "f32[3,3,3,16]", Window2D(3, 1, 0)),
            "f32[8,0,0,16]");
}

TEST(ShapeInferenceTest, ConvolutionDilationAndNegativePadding) {
  Window window = *SI::InferWindowFromDimensions(
      {3, 3}, {1, 1}, {{2, 2}, {-1, 0}}, {2, 1}, {1, 2});
  // (10-1)*2+1+4-3+1 = 21; 10-1-((3-1)*2+1)+1 = 5.
  EXPECT_EQ(Conv("f32[8,10,10,3]", "f32[3,3,3,16]", window), "f32[8,21,5,16]");
}

TEST(ShapeInferenceTest, ConvolutionErrors) {
  const Window w = Window2D(3, 1, 0);
  EXPECT_THAT(Conv("f32[8,10,10,4]", "f32[3,3,3,16]", w),
              Error("feature_group_count times kernel input"));
  EXPECT_THAT(Conv("f32[8,10,10,6]", "f32[3,3,2,16]", w, 3),
              Error("must divide kernel output features (3 and 16)"));
  EXPECT_THAT(Conv("f32[8,10,10,3]", "f32[2,3,3,16]", w),
              Error("window dimension 0"));
  EXPECT_THAT(Conv("f32[8,10,3]", "f32[3,3,3,16]", w), Error("rank 3"));
  EXPECT_THAT(Conv("f32[8,10,10,3]", "f32[3,3,3,16]", w, 0), Error("positive"));
  EXPECT_THAT(Conv("f32[8,10,10,3]", "f32[3,3,3,16]", w, 2, 2),
              Error("one of them 1"));
  EXPECT_THAT(Conv("f32[7,10,10,3]", "f32[3,3,3,16]", w, 1, 2),
              Error("divide the batch"));
  EXPECT_EQ(Conv("f32[8,10,10,3]", "s32[3,3,3,16]", w), "f32[8,8,8,16]");
  Window zero = w;
  zero.mutable_dimensions(1)->set_stride(0);
  EXPECT_THAT(Conv("f32[8,10,10,3]", "f32[3,3,3,16]", zero),
              Error("window dimension 1 must be positive"));
  ConvolutionDimensionNumbers bad = ConvDims();
  bad.set_output_feature_dimension(0);
  EXPECT_THAT(
      Result(SI::InferConvolveShape(S("f32[8,10,10,3]"), S("f32[3,3,3,16]"), 1,
                                    1, w, bad, std::nullopt)),
      Error("output dimension 0 appears twice"));
}

TEST(ShapeInferenceTest, Fft) {
  const auto infer = [](const char* shape, FftType type,
                        const std::vector<int64_t>& length) {
    return Result(SI::InferFftShape(S(shape), type, length));
  };
  EXPECT_EQ(infer("c64[2,8]", FFT, {8}), "c64[2,8]");
  EXPECT_EQ(infer("c64[2,8]", IFFT, {2, 8}), "c64[2,8]");
  EXPECT_EQ(infer("f32[2,8]", RFFT, {8}), "c64[2,5]");
  EXPECT_EQ(infer("f64[2,8]", RFFT, {2, 8}), "c128[2,5]");
  EXPECT_EQ(infer("c64[2,5]", IRFFT, {8}), "f32[2,8]");
  EXPECT_EQ(infer("c64[?,5]", IRFFT, {9}), "f32[?,9]");
  EXPECT_EQ(infer("c64[2,8]", FFT, {7}), "c64[2,8]");
  EXPECT_THAT(infer("f32[2,8]", RFFT, {7}), Error("must have size 7"));
  EXPECT_THAT(infer("f32[2,8]", FFT, {8}), Error("must be complex"));
  EXPECT_THAT(infer("c64[2,8]", RFFT, {8}), Error("f32 or f64"));
  EXPECT_THAT(infer("f32[2,8]", IRFFT, {8}), Error("must be complex"));
  EXPECT_THAT(infer("c64[2,8]", IRFFT, {8}), Error("must have size 5"));
  EXPECT_THAT(infer("c64[8]", FFT, {}), Error("1 to 3 dimensions"));
  EXPECT_THAT(infer("c64[8]", FFT, {8, 8}), Error("1 to 3 dimensions"));
  EXPECT_THAT(infer("c64[8]", FFT, {-8}), Error("negative"));
}

TEST(ShapeInferenceTest, TriangularSolveAndCholesky) {
  TriangularSolveOptions left;
  left.set_left_side(true);
  left.set_transpose_a(TriangularSolveOptions::NO_TRANSPOSE);
  TriangularSolveOptions right = left;
  right.set_left_side(false);
  const auto solve = [](const char* a, const char* b,
                        const TriangularSolveOptions& options) {
    return Result(SI::InferTriangularSolveShape(S(a), S(b), options));
  };
  EXPECT_EQ(solve("f32[2,4,4]", "f32[2,4,5]", left), "f32[2,4,5]");
  EXPECT_EQ(solve("f32[2,4,4]", "f32[2,5,4]", right), "f32[2,5,4]");
  EXPECT_THAT(solve("f32[4,4]", "f32[5,4]", left), Error("left_side=true"));
  EXPECT_THAT(solve("f32[4,3]", "f32[4,5]", left), Error("two dimensions"));
  EXPECT_THAT(solve("f32[4,4]", "f64[4,5]", left), Error("element type"));
  EXPECT_THAT(solve("f32[3,4,4]", "f32[2,4,5]", left), Error("batch"));
  EXPECT_THAT(solve("s32[4,4]", "s32[4,5]", left), Error("floating point"));
  left.set_transpose_a(TriangularSolveOptions::TRANSPOSE_INVALID);
  EXPECT_THAT(solve("f32[4,4]", "f32[4,5]", left), Error("transpose_a"));
  EXPECT_EQ(Result(SI::InferCholeskyShape(S("c64[2,4,4]"))), "c64[2,4,4]");
  EXPECT_THAT(Result(SI::InferCholeskyShape(S("f32[4]"))), Error("end in two"));
  EXPECT_THAT(Result(SI::InferCholeskyShape(S("s32[4,4]"))), Error("complex"));
}

TEST(ShapeInferenceTest, BatchNorm) {
  const Shape x = S("f32[8,10,3]");
  const Shape v = S("f32[3]");
  EXPECT_EQ(Result(SI::InferBatchNormTrainingShape(x, v, v, 2)),
            "(f32[8,10,3], f32[3], f32[3])");
  EXPECT_EQ(Result(SI::InferBatchNormInferenceShape(x, v, v, v, v, 2)),
            "f32[8,10,3]");
  EXPECT_EQ(Result(SI::InferBatchNormGradShape(x, v, v, v, x, 2)),
            "(f32[8,10,3], f32[3], f32[3])");
  EXPECT_THAT(Result(SI::InferBatchNormTrainingShape(x, v, S("f32[4]"), 2)),
              Error("an element per feature, not f32[4]"));
  EXPECT_THAT(Result(SI::InferBatchNormTrainingShape(x, v, v, 3)),
              Error("out of range"));
  EXPECT_THAT(
      Result(SI::InferBatchNormInferenceShape(x, v, v, S("s32[3]"), v, 2)),
      Error("s32[3]"));
  EXPECT_THAT(Result(SI::InferBatchNormTrainingShape(S("s32[3]"), v, v, 0)),
              Error("must be floating point"));
  EXPECT_THAT(Result(SI::InferBatchNormGradShape(x, v, v, v, v, 2)),
              Error("output gradient"));
}

}  // namespace
}  // namespace xla
