#include "xla/hlo/builder/xla_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

Shape F32Of(std::vector<int64_t> dims) {
  return ShapeUtil::MakeShape(F32, dims);
}

std::unique_ptr<HloModule> ModuleOf(const XlaComputation& computation) {
  auto config = HloModule::CreateModuleConfigFromProto(computation.proto(),
                                                       DebugOptions());
  CHECK_OK(config.status());
  auto module = HloModule::CreateFromProto(computation.proto(), *config);
  CHECK_OK(module.status());
  return *std::move(module);
}

// What the computation gives, as text; the module is verified.
std::string Result(XlaBuilder& builder, std::vector<Literal> arguments = {}) {
  absl::StatusOr<XlaComputation> computation = builder.Build();
  if (!computation.ok()) return computation.status().ToString();
  std::unique_ptr<HloModule> module = ModuleOf(*computation);
  const absl::Status valid = VerifyHloModule(module.get(), HloVerifierOpts());
  if (!valid.ok()) return valid.ToString();
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  absl::StatusOr<Literal> result = HloEvaluator().Evaluate(*module, pointers);
  return result.ok() ? result->ToStringWithoutShapeOneline()
                     : result.status().ToString();
}

// A computation of two scalars.
template <typename Function>
XlaComputation OfTwo(PrimitiveType type, Function function) {
  XlaBuilder builder("of_two");
  const Shape scalar = ShapeUtil::MakeShape(type, {});
  XlaOp x = Parameter(&builder, 0, scalar, "x");
  XlaOp y = Parameter(&builder, 1, scalar, "y");
  function(x, y);
  return builder.Build().value();
}

XlaComputation Sums() {
  return OfTwo(F32, [](XlaOp x, XlaOp y) { return Add(x, y); });
}

TEST(XlaBuilderTest, BuildsWhatItWasToldAndStartsAgain) {
  XlaBuilder b("axpy");
  XlaOp a = Parameter(&b, 0, F32Of({}), "a");
  XlaOp x = Parameter(&b, 1, F32Of({3}), "x");
  Add(Mul(a, x), x);
  EXPECT_EQ(b.GetProgramShape()->ToString(), "(a: f32[], x: f32[3]) -> f32[3]");
  absl::StatusOr<XlaComputation> computation = b.Build();
  ASSERT_TRUE(computation.ok()) << computation.status();
  EXPECT_EQ(computation->name(), "axpy");
  EXPECT_EQ(computation->GetProgramShape()->ToString(),
            "(a: f32[], x: f32[3]) -> f32[3]");
  const auto module = ModuleOf(*computation);
  EXPECT_EQ(module->entry_computation()->instruction_count(), 5);
  EXPECT_EQ(b.Build().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(XlaComputation().IsNull());
}

TEST(XlaBuilderTest, OperandsAreBroadcast) {
  XlaBuilder b("b");
  XlaOp matrix = ConstantR2<float>(&b, {{1, 2, 3}, {4, 5, 6}});
  XlaOp rows = ConstantR1<float>(&b, {10, 20});
  XlaOp one = Reshape(rows, {2, 1});
  Tuple(&b, {matrix + ConstantR0<float>(&b, 1), Add(matrix, rows, {0}),
             Gt(matrix, ConstantR0<float>(&b, 3)),
             Clamp(ConstantR0<float>(&b, 2), matrix, ConstantR0<float>(&b, 4)),
             BroadcastInDim(one, {2, 2}, {0, 1}), Broadcast(rows, {2})});
  EXPECT_EQ(Result(b),
            "( { { 2, 3, 4 }, { 5, 6, 7 } }, "
            "{ { 11, 12, 13 }, { 24, 25, 26 } }, "
            "{ { 0, 0, 0 }, { 1, 1, 1 } }, "
            "{ { 2, 2, 3 }, { 4, 4, 4 } }, "
            "{ { 10, 10 }, { 20, 20 } }, "
            "{ { 10, 20 }, { 10, 20 } } )");
}

TEST(XlaBuilderTest, ElementsMove) {
  XlaBuilder b("b");
  XlaOp v = ConstantR1<float>(&b, {1, 2, 3, 4});
  XlaOp at = ConstantR0<int32_t>(&b, 1);
  XlaOp zero = ConstantR0<float>(&b, 0);
  PaddingConfig padding;
  padding.add_dimensions()->set_edge_padding_low(1);
  XlaOp two = SliceInDim(v, 2, 4, 1, 0);
  Tuple(&b, {Rev(v, {0}), two, DynamicSlice(v, {at}, {2}),
             DynamicUpdateSlice(v, two, {at}), ConcatInDim(&b, {two, v}, 0),
             Pad(two, zero, padding), Transpose(Reshape(v, {2, 2}), {1, 0}),
             Iota(&b, S32, 3)});
  EXPECT_EQ(Result(b),
            "( {4, 3, 2, 1}, {3, 4}, {2, 3}, {1, 3, 4, 4}, "
            "{3, 4, 1, 2, 3, 4}, {0, 3, 4}, { { 1, 3 }, { 2, 4 } }, "
            "{0, 1, 2} )");
}

TEST(XlaBuilderTest, Products) {
  XlaBuilder b("b");
  XlaOp m = ConstantR2<float>(&b, {{1, 2}, {3, 4}});
  XlaOp v = ConstantR1<float>(&b, {1, 10});
  // A kernel of ones over a picture of 2 x 2.
  XlaOp picture = Reshape(m, {1, 1, 2, 2});
  XlaOp kernel = Broadcast(ConstantR0<float>(&b, 1), {1, 1, 2, 2});
  Tuple(&b, {Dot(m, v), Dot(v, v), Dot(m, m),
             Reshape(Conv(picture, kernel, {1, 1}, Padding::kValid), {}),
             Reshape(Conv(picture, kernel, {1, 1}, Padding::kSame), {4})});
  EXPECT_EQ(Result(b),
            "( {21, 43}, 101, { { 7, 10 }, { 15, 22 } }, 10, "
            "{10, 6, 7, 4} )");
}

TEST(XlaBuilderTest, ComputationsAreAppliedAndCalled) {
  XlaBuilder b("b");
  const XlaComputation sums = Sums();
  const XlaComputation greater =
      OfTwo(F32, [](XlaOp x, XlaOp y) { return Ge(x, y); });
  const XlaComputation less =
      OfTwo(F32, [](XlaOp x, XlaOp y) { return Lt(x, y); });
  XlaOp zero = ConstantR0<float>(&b, 0);
  XlaOp v = ConstantR1<float>(&b, {4, 1, 3, 2});
  XlaOp m = Reshape(v, {2, 2});
  Tuple(&b, {Reduce(m, zero, sums, {0}), ReduceAll(m, zero, sums),
             ReduceWindow(v, zero, sums, {2}, {1}, Padding::kValid),
             Map(&b, {v, v}, sums, {0}),
             SelectAndScatter(v, greater, {2}, {2}, Padding::kValid,
                              ConstantR1<float>(&b, {10, 20}), zero, sums),
             Sort({v}, less), Call(&b, sums, {zero, zero})});
  EXPECT_EQ(Result(b),
            "( {7, 3}, 10, {5, 4, 5}, {8, 2, 6, 4}, {10, 0, 20, 0}, "
            "{1, 2, 3, 4}, 0 )");
}

TEST(XlaBuilderTest, LoopsAndBranches) {
  const Shape s32 = ShapeUtil::MakeShape(S32, {});
  XlaBuilder cond("cond");
  Lt(Parameter(&cond, 0, s32, "i"), ConstantR0<int32_t>(&cond, 10));
  XlaBuilder body("body");
  Add(Parameter(&body, 0, s32, "i"), ConstantR0<int32_t>(&body, 3));
  XlaBuilder negated("negated");
  Neg(Parameter(&negated, 0, s32, "i"));
  const XlaComputation negate = negated.Build().value();
  const XlaComputation step = body.Build().value();
  XlaBuilder b("b");
  XlaOp i = Parameter(&b, 0, s32, "i");
  XlaOp end = While(cond.Build().value(), step, i);
  Tuple(&b, {end,
             Conditional(Eq(i, ConstantR0<int32_t>(&b, 1)), i, negate, i, step),
             Conditional(ConstantR0<int32_t>(&b, 2), {&step, &step, &negate},
                         {i, i, i})});
  std::vector<Literal> arguments;
  arguments.push_back(LiteralUtil::CreateR0<int32_t>(1));
  EXPECT_EQ(Result(b, std::move(arguments)), "( 10, -1, -1 )");
}

TEST(XlaBuilderTest, OperationsGetWhatIsSet) {
  XlaBuilder b("b");
  XlaOp p = Parameter(&b, 0, F32Of({4}), "p");
  OpMetadata metadata;
  metadata.set_op_name("layer");
  b.SetOpMetadata(metadata);
  OpSharding sharding;
  sharding.set_type(OpSharding::REPLICATED);
  b.SetSharding(sharding);
  XlaOp n = Neg(p);
  b.ClearOpMetadata();
  b.ClearSharding();
  Exp(n);
  const auto module = ModuleOf(b.Build().value());
  const HloInstruction* root = module->entry_computation()->root_instruction();
  EXPECT_FALSE(root->has_sharding());
  EXPECT_EQ(root->metadata().op_name(), "");
  EXPECT_TRUE(root->operand(0)->sharding().IsReplicated());
  EXPECT_EQ(root->operand(0)->metadata().op_name(), "layer");
}

TEST(XlaBuilderTest, TheFirstErrorIsReported) {
  XlaBuilder b("b");
  XlaOp x = Parameter(&b, 0, F32Of({3}), "x");
  XlaOp y = Parameter(&b, 1, F32Of({4}), "y");
  XlaOp bad = Add(x, y);
  EXPECT_FALSE(bad.valid());
  EXPECT_FALSE(Neg(bad).valid());
  EXPECT_FALSE(b.GetShape(bad).ok());
  const absl::Status first = b.first_error();
  EXPECT_EQ(first.code(), absl::StatusCode::kInvalidArgument);
  Reshape(x, {7});
  EXPECT_EQ(b.Build().status(), first);

  XlaBuilder other("other");
  Add(Parameter(&other, 0, F32Of({3}), "x"), x);
  EXPECT_THAT(Result(other), HasSubstr("an operation of another builder, b"));
}

TEST(XlaBuilderTest, ParametersHaveEachNumberOnce) {
  XlaBuilder gap("gap");
  Neg(Parameter(&gap, 1'000'000'000'000, F32Of({}), "x"));
  EXPECT_THAT(Result(gap), HasSubstr("there is no parameter 0"));
  XlaBuilder twice("twice");
  Parameter(&twice, 0, F32Of({}), "x");
  Parameter(&twice, 0, F32Of({}), "y");
  EXPECT_THAT(Result(twice), HasSubstr("two parameters 0"));
  XlaBuilder negative("negative");
  Parameter(&negative, -1, F32Of({}), "x");
  EXPECT_THAT(Result(negative), HasSubstr("number -1"));
}

}  // namespace
}  // namespace xla
