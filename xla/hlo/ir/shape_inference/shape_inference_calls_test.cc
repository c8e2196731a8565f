// Reductions, windows, collectives and control flow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/ir/shape_inference/shape_inference_test_util.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using SI = ShapeInference;

std::string Reduce(const std::vector<Shape>& args,
                   const std::vector<int64_t>& dims, const ProgramShape& f) {
  return Result(SI::InferReduceShape(Pointers(args), dims, f));
}

TEST(ShapeInferenceCallsTest, Reduce) {
  EXPECT_EQ(Reduce({S("f32[2,<=3,?]"), S("f32[]")}, {0}, Reducer("f32")),
            "f32[<=3,?]");
  EXPECT_EQ(Reduce({S("f32[2]"), S("f32[]")}, {0}, Reducer("f32")), "f32[]");
  EXPECT_EQ(Reduce({S("f32[2]"), S("f32[]")}, {}, Reducer("f32")), "f32[2]");
  // The accumulator may be wider than the values.
  EXPECT_EQ(Reduce({S("bf16[2]"), S("f32[]")}, {0}, Reducer("f32")), "f32[]");
  const ProgramShape argmax =
      Program({S("f32[]"), S("s32[]"), S("f32[]"), S("s32[]")},
              Tup({S("f32[]"), S("s32[]")}));
  EXPECT_EQ(Reduce({S("f32[2,3]"), S("s32[2,3]"), S("f32[]"), S("s32[]")}, {1},
                   argmax),
            "(f32[2], s32[2])");
  EXPECT_THAT(Reduce({S("f32[2,3]"), S("s32[2,4]"), S("f32[]"), S("s32[]")},
                     {1}, argmax),
              Error("same dimensions"));
  // One value as several operands.
  const Shape x = S("f32[2,3]"), init = S("f32[]");
  const ProgramShape both =
      Program({init, init, init, init}, Tup({init, init}));
  EXPECT_EQ(Result(SI::InferReduceShape({&x, &x, &init, &init}, {0}, both)),
            "(f32[3], f32[3])");
}

TEST(ShapeInferenceCallsTest, ReduceErrors) {
  const ProgramShape add = Reducer("f32");
  EXPECT_THAT(Reduce({S("f32[2]")}, {0}, add), Error("initial values"));
  EXPECT_THAT(Reduce({}, {0}, add), Error("initial values"));
  EXPECT_THAT(Reduce({S("f32[2]"), S("f32[]")}, {1}, add), Error("range"));
  EXPECT_THAT(Reduce({S("f32[2]"), S("f32[]")}, {0, 0}, add), Error("twice"));
  EXPECT_THAT(Reduce({S("f32[2]"), S("s32[]")}, {0}, add),
              Error("initial value 0 is s32[]"));
  EXPECT_THAT(Reduce({S("f32[2]"), S("f32[1]")}, {0}, add),
              Error("initial value 0 is f32[1]"));
  EXPECT_THAT(Reduce({S("s32[2]"), S("f32[]")}, {0}, add), Error("input 0"));
  EXPECT_THAT(
      Reduce({S("f32[2]"), S("f32[]")}, {0}, Program({S("f32[]")}, S("f32[]"))),
      Error("must take 2 parameters"));
  EXPECT_THAT(Reduce({S("f32[2]"), S("f32[]")}, {0},
                     Program({S("f32[]"), S("f32[]")}, S("f32[2]"))),
              Error("result 0 of the computation must be a scalar"));
  EXPECT_THAT(Reduce({S("f32[2]"), S("f32[]")}, {0},
                     Program({S("s32[]"), S("f32[]")}, S("f32[]"))),
              Error("parameter 0 is s32[]"));
  EXPECT_THAT(
      Reduce({S("f32[2]"), S("f32[]")}, {0},
             Program({S("f32[]"), S("f32[]")}, Tup({S("f32[]"), S("f32[]")}))),
      Error("must return 1 scalars"));
}

TEST(ShapeInferenceCallsTest, ReduceWindow) {
  const Window window =
      *SI::InferWindowFromDimensions({2, 3}, {2, 1}, {{0, 0}, {1, 1}}, {}, {});
  const Shape x = S("f32[8,<=10]");
  const Shape init = S("f32[]");
  EXPECT_EQ(Result(SI::InferReduceWindowShape(x, init, window, Reducer("f32"))),
            "f32[4,<=10]");
  EXPECT_EQ(Result(SI::InferReduceWindowShape(x, init, window)), "f32[4,<=10]");
  EXPECT_EQ(Result(SI::InferReduceWindowShape(S("f32[?,8]"), init, window)),
            "f32[?,8]");
  const std::vector<Shape> xs = {x, S("s32[8,<=10]")};
  const std::vector<Shape> inits = {init, S("s32[]")};
  const ProgramShape both =
      Program({S("f32[]"), S("s32[]"), S("f32[]"), S("s32[]")},
              Tup({S("f32[]"), S("s32[]")}));
  const auto x_pointers = Pointers(xs);
  const auto init_pointers = Pointers(inits);
  EXPECT_EQ(Result(SI::InferReduceWindowShape(
                absl::MakeConstSpan(x_pointers),
                absl::MakeConstSpan(init_pointers), window, both)),
            "(f32[4,<=10], s32[4,<=10])");
  EXPECT_THAT(Result(SI::InferReduceWindowShape(S("f32[8]"), init, window)),
              Error("the window has 2 dimensions"));
  EXPECT_THAT(Result(SI::InferReduceWindowShape(x, S("s32[]"), window)),
              Error("element types"));
  EXPECT_THAT(
      Result(SI::InferReduceWindowShape(x, init, window, Reducer("s32"))),
      Error("reduce-window"));
  Window bad = window;
  bad.mutable_dimensions(0)->set_size(0);
  EXPECT_THAT(Result(SI::InferReduceWindowShape(x, init, bad)),
              Error("must be positive"));
  Window huge = window;
  huge.mutable_dimensions(0)->set_padding_low(
      std::numeric_limits<int64_t>::max());
  huge.mutable_dimensions(0)->set_padding_high(
      std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(SI::InferReduceWindowShape(x, init, huge).ok());
}

TEST(ShapeInferenceCallsTest, SelectAndScatter) {
  const Window window =
      *SI::InferWindowFromDimensions({2, 2}, {2, 2}, {}, {}, {});
  const ProgramShape ge = Program({S("f32[]"), S("f32[]")}, S("pred[]"));
  const ProgramShape add = Reducer("f32");
  const auto infer = [&](const char* x, const ProgramShape& select,
                         const char* source, const char* init,
                         const ProgramShape& scatter) {
    return Result(SI::InferSelectAndScatterShape(S(x), select, window,
                                                 S(source), S(init), scatter));
  };
  EXPECT_EQ(infer("f32[8,16]", ge, "f32[4,8]", "f32[]", add), "f32[8,16]");
  EXPECT_THAT(infer("f32[8,16]", ge, "f32[4,6]", "f32[]", add),
              Error("source of select-and-scatter is f32[4,6]"));
  EXPECT_THAT(infer("f32[8,16]", add, "f32[4,8]", "f32[]", add),
              Error("return pred[]"));
  EXPECT_THAT(infer("s32[8,16]", ge, "s32[4,8]", "s32[]", Reducer("s32")),
              Error("select of select-and-scatter"));
  EXPECT_THAT(infer("f32[8,16]", ge, "f32[4,8]", "s32[]", add),
              Error("initial value"));
}

TEST(ShapeInferenceCallsTest, WindowFromDimensions) {
  const Window window = *SI::InferWindowFromDimensions(
      {2, 3}, {}, {{1, 2}, {3, 4}}, {}, {5, 6}, std::vector<bool>{false, true});
  EXPECT_EQ(window.dimensions(1).size(), 3);
  EXPECT_EQ(window.dimensions(1).stride(), 1);
  EXPECT_EQ(window.dimensions(1).padding_low(), 3);
  EXPECT_EQ(window.dimensions(1).base_dilation(), 1);
  EXPECT_EQ(window.dimensions(1).window_dilation(), 6);
  EXPECT_TRUE(window.dimensions(1).window_reversal());
  EXPECT_FALSE(SI::InferWindowFromDimensions({2}, {1, 1}, {}, {}, {}).ok());
  EXPECT_FALSE(SI::InferWindowFromDimensions({2}, {}, {}, {1, 1}, {}).ok());
}

TEST(ShapeInferenceCallsTest, AllGather) {
  const auto infer = [](const std::vector<Shape>& shapes, int64_t dim,
                        int64_t count) {
    return Result(SI::InferAllGatherShape(Pointers(shapes), dim, count));
  };
  EXPECT_EQ(infer({S("f32[2,3]")}, 1, 4), "f32[2,12]");
  EXPECT_EQ(infer({S("f32[2,3]"), S("s32[<=4]")}, 0, 4),
            "(f32[8,3], s32[<=16])");
  EXPECT_EQ(infer({S("f32[?]")}, 0, 4), "f32[?]");
  EXPECT_THAT(infer({S("f32[2]")}, 1, 4), Error("out of range"));
  EXPECT_THAT(infer({S("f32[2]")}, 0, 0), Error("must be positive"));
  EXPECT_THAT(infer({}, 0, 2), Error("needs an operand"));
  EXPECT_THAT(infer({S("f32[1024]")}, 0, int64_t{1} << 60), Error("too large"));
  const std::vector<Shape> one = {S("f32[2]")};
  const Shape start = *SI::InferAllGatherStartShape(Pointers(one), 0, 4);
  EXPECT_EQ(start.ToString(), "(f32[2], f32[8])");
  EXPECT_EQ(Result(SI::InferAllGatherDoneShape(start)), "f32[8]");
  EXPECT_THAT(Result(SI::InferAllGatherDoneShape(one[0])), Error("tuple"));
}

TEST(ShapeInferenceCallsTest, AllReduceAndReduceScatter) {
  const std::vector<Shape> two = {S("f32[8]"), S("s32[<=4]")};
  const std::vector<Shape> one = {S("f32[8]")};
  const std::vector<Shape> token = {S("token[]")};
  EXPECT_EQ(Result(SI::InferAllReduceShape(Pointers(two))),
            "(f32[8], s32[<=4])");
  EXPECT_EQ(Result(SI::InferAllReduceStartShape(Pointers(one))), "f32[8]");
  EXPECT_EQ(Result(SI::InferAllReduceDoneShape(one[0])), "f32[8]");
  EXPECT_THAT(Result(SI::InferAllReduceShape(Pointers(token))),
              Error("must be an array"));
  EXPECT_EQ(Result(SI::InferReduceScatterShape(Pointers(two), 0, 4)),
            "(f32[2], s32[<=1])");
  EXPECT_THAT(Result(SI::InferReduceScatterShape(Pointers(one), 0, 3)),
              Error("divisible by 3"));
  EXPECT_THAT(Result(SI::InferReduceScatterShape(Pointers(one), 0, -1)),
              Error("positive"));
}

TEST(ShapeInferenceCallsTest, AllToAll) {
  EXPECT_EQ(Result(SI::InferAllToAllShape(S("f32[8,3]"), 0, 1, 4)),
            "f32[2,12]");
  EXPECT_EQ(Result(SI::InferAllToAllShape(S("f32[8,3]"), 0, 0, 4)), "f32[8,3]");
  EXPECT_EQ(Result(SI::InferAllToAllShape(S("f32[?,3]"), 0, 1, 4)),
            "f32[?,12]");
  EXPECT_THAT(Result(SI::InferAllToAllShape(S("f32[7,3]"), 0, 1, 4)),
              Error("divisible"));
  EXPECT_THAT(Result(SI::InferAllToAllShape(S("f32[8,3]"), 2, 1, 4)),
              Error("split dimension 2"));
  const std::vector<Shape> same = {S("f32[2]"), S("f32[2]")};
  const std::vector<Shape> different = {S("f32[2]"), S("f32[3]")};
  EXPECT_EQ(Result(SI::InferAllToAllTupleShape(Pointers(same))),
            "(f32[2], f32[2])");
  EXPECT_THAT(Result(SI::InferAllToAllTupleShape(Pointers(different))),
              Error("same shape"));
}

TEST(ShapeInferenceCallsTest, RaggedAllToAll) {
  const Shape i = S("s32[4]");
  std::vector<Shape> operands = {S("f32[16,3]"), S("f32[32,3]"), i, i, i, i};
  EXPECT_EQ(Result(SI::InferRaggedAllToAllShape(Pointers(operands))),
            "f32[32,3]");
  operands[5] = S("s32[5]");
  EXPECT_THAT(Result(SI::InferRaggedAllToAllShape(Pointers(operands))),
              Error("operand 5 is s32[5]"));
  operands[1] = S("f32[32,4]");
  EXPECT_THAT(Result(SI::InferRaggedAllToAllShape(Pointers(operands))),
              Error("differ in dimension 1"));
  operands.pop_back();
  EXPECT_THAT(Result(SI::InferRaggedAllToAllShape(Pointers(operands))),
              Error("takes 6 operands"));
}

TEST(ShapeInferenceCallsTest, CollectiveBroadcastAndPermute) {
  const std::vector<Shape> one = {S("f32[2]")};
  const std::vector<Shape> root = {S("f32[2]"), S("s32[]")};
  EXPECT_EQ(Result(SI::InferCollectiveBroadcastShape(Pointers(one))), "f32[2]");
  EXPECT_EQ(Result(SI::InferCollectiveBroadcastShape(Pointers(root), true)),
            "f32[2]");
  EXPECT_THAT(Result(SI::InferCollectiveBroadcastShape(Pointers(one), true)),
              Error("dynamic root"));
  EXPECT_EQ(Result(SI::InferCollectivePermuteShape(Pointers(one), false)),
            "f32[2]");
  EXPECT_EQ(Result(SI::InferCollectivePermuteShape(Pointers(root), false)),
            "(f32[2], s32[])");
  const Shape start = *SI::InferCollectivePermuteStartShape(
      Pointers(one), {S("u32[]"), S("u32[]")}, false);
  EXPECT_EQ(start.ToString(), "(f32[2], f32[2], u32[], u32[])");
  EXPECT_EQ(Result(SI::InferCollectivePermuteDoneShape(start)), "f32[2]");
  const std::vector<Shape> inplace = {S("f32[2]"), S("f32[4]"), S("s32[1]"),
                                      S("s32[1]")};
  EXPECT_EQ(Result(SI::InferCollectivePermuteShape(Pointers(inplace), true)),
            "f32[4]");
  EXPECT_EQ(
      Result(SI::InferCollectivePermuteStartShape(Pointers(inplace), {}, true)),
      "(f32[2], f32[4])");
  EXPECT_THAT(Result(SI::InferCollectivePermuteShape(Pointers(one), true)),
              Error("takes 4 operands"));
}

TEST(ShapeInferenceCallsTest, GetTupleElement) {
  const Shape tuple = Tup({S("f32[2]"), Tup({S("s32[]")})});
  EXPECT_EQ(Result(SI::InferGetTupleElementShape(tuple, 1)), "(s32[])");
  EXPECT_THAT(Result(SI::InferGetTupleElementShape(tuple, 2)), Error("range"));
  EXPECT_THAT(Result(SI::InferGetTupleElementShape(tuple, -1)), Error("range"));
  EXPECT_THAT(Result(SI::InferGetTupleElementShape(S("f32[2]"), 0)),
              Error("must be a tuple"));
}

TEST(ShapeInferenceCallsTest, While) {
  const Shape init = Tup({S("s32[]"), S("f32[2]")});
  const ProgramShape cond = Program({init}, S("pred[]"));
  const ProgramShape body = Program({init}, init);
  EXPECT_EQ(Result(SI::InferWhileShape(cond, body, init)), "(s32[], f32[2])");
  EXPECT_THAT(
      Result(SI::InferWhileShape(Program({init}, S("s32[]")), body, init)),
      Error("must return pred[]"));
  EXPECT_THAT(
      Result(SI::InferWhileShape(cond, Program({init}, S("s32[]")), init)),
      Error("must have one shape"));
  EXPECT_THAT(Result(SI::InferWhileShape(cond, body, S("s32[]"))),
              Error("must have one shape"));
  EXPECT_THAT(Result(SI::InferWhileShape(Program({}, S("pred[]")), body, init)),
              Error("take 1 parameter"));
}

TEST(ShapeInferenceCallsTest, Conditional) {
  const ProgramShape a = Program({S("f32[2]")}, S("f32[<=4]"));
  const ProgramShape b = Program({S("s32[]")}, S("f32[4]"));
  const auto infer = [](const char* index,
                        const std::vector<ProgramShape>& branches,
                        const std::vector<Shape>& operands) {
    return Result(SI::InferConditionalShape(S(index), branches, operands));
  };
  EXPECT_EQ(infer("pred[]", {b, a}, {S("s32[]"), S("f32[2]")}), "f32[<=4]");
  EXPECT_EQ(infer("s32[]", {b}, {S("s32[]")}), "f32[4]");
  EXPECT_THAT(infer("pred[]", {a}, {S("f32[2]")}), Error("2 branches"));
  EXPECT_THAT(infer("f32[]", {a}, {S("f32[2]")}), Error("branch index"));
  EXPECT_THAT(infer("s32[]", {}, {}), Error("0 branches"));
  EXPECT_THAT(infer("s32[]", {a}, {}), Error("0 operands"));
  EXPECT_THAT(infer("s32[]", {a}, {S("f32[3]")}), Error("operand is f32[3]"));
  EXPECT_THAT(infer("s32[]", {a, Program({S("s32[]")}, S("f32[5]"))},
                    {S("f32[2]"), S("s32[]")}),
              Error("must return one shape"));
  EXPECT_THAT(infer("s32[]", {Reducer("f32")}, {S("f32[]")}),
              Error("takes 1 parameter"));
}

TEST(ShapeInferenceCallsTest, Call) {
  const std::vector<Shape> args = {S("f32[2]"), S("s32[]")};
  const ProgramShape f = Program(args, S("u8[3]"));
  EXPECT_EQ(Result(SI::InferCallShape(Pointers(args), f)), "u8[3]");
  EXPECT_THAT(Result(SI::InferCallShape({&args[0]}, f)),
              Error("1 operands to a computation of 2"));
  EXPECT_THAT(Result(SI::InferCallShape({&args[1], &args[1]}, f)),
              Error("operand 0 of call is s32[]"));
}

}  // namespace
}  // namespace xla
