#include "xla/hlo/evaluator/hlo_evaluator.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/array2d.h"
#include "xla/hlo/evaluator/device.h"
#include "xla/hlo/evaluator/program.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<HloModule> Parse(absl::string_view text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  return *std::move(module);
}

const HloInstruction* Find(const HloModule& module, absl::string_view name) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      if (inst->name() == name) return inst;
    }
  }
  return nullptr;
}

std::string Text(const absl::StatusOr<Literal>& literal) {
  return literal.ok() ? literal->ToStringWithoutShapeOneline()
                      : literal.status().ToString();
}

constexpr absl::string_view kAffine = R"(
ENTRY e {
  p = f32[2,2]{0,1} parameter(0)
  q = f32[2,2] parameter(1)
  m = f32[2,2] multiply(p, q)
  c = f32[2,2] constant({{1, 1}, {2, 2}})
  ROOT s = f32[2,2]{0,1} add(m, c)
})";

TEST(HloEvaluatorTest, ArgumentsOfAnyLayoutAndResultInTheLayoutOfTheRoot) {
  const auto module = Parse(kAffine);
  const Literal a = LiteralUtil::CreateR2<float>({{1, 2}, {3, 4}});
  const Literal b = LiteralUtil::CreateR2WithLayout<float>(
      {{10, 20}, {30, 40}}, LayoutUtil::MakeLayout({0, 1}));
  HloEvaluator evaluator;
  const absl::StatusOr<Literal> result = evaluator.Evaluate(*module, {&a, &b});
  EXPECT_EQ(Text(result), "{ { 11, 41 }, { 92, 162 } }");
  EXPECT_TRUE(ShapeUtil::Equal(
      result->shape(),
      module->entry_computation()->root_instruction()->shape()));
  // Two products and sums of 16 bytes each live at a time, and the copy of b.
  EXPECT_LE(evaluator.peak_bytes(), 64);
}

TEST(HloEvaluatorTest, WrongArguments) {
  const auto module = Parse(kAffine);
  const Literal a = LiteralUtil::CreateR2<float>({{1, 2}, {3, 4}});
  const Literal small = LiteralUtil::CreateR1<float>({1});
  const Literal ints = LiteralUtil::CreateR2<int32_t>({{1, 2}, {3, 4}});
  HloEvaluator evaluator;
  EXPECT_THAT(Text(evaluator.Evaluate(*module, {&a})),
              HasSubstr("1 arguments for the 2 parameters of e"));
  EXPECT_THAT(Text(evaluator.Evaluate(*module, {&a, &small})),
              HasSubstr("argument 1 is f32[1], but parameter %q of e is "
                        "f32[2,2]"));
  EXPECT_THAT(Text(evaluator.Evaluate(*module, {&ints, &a})),
              HasSubstr("argument 0 is s32[2,2]"));
}

TEST(HloEvaluatorTest, Limits) {
  const auto module = Parse(kAffine);
  const Literal a = LiteralUtil::CreateR2<float>({{1, 2}, {3, 4}});
  HloEvaluator evaluator;
  evaluator.set_max_steps(3);
  EXPECT_THAT(Text(evaluator.Evaluate(*module, {&a, &a})),
              HasSubstr("the limit of 3 steps is reached"));
  evaluator.set_max_steps(-1);
  evaluator.set_memory_limit_bytes(15);
  EXPECT_THAT(Text(evaluator.Evaluate(*module, {&a, &a})),
              HasSubstr("multiply %m in e: allocating 16 bytes beside the 0 "
                        "live ones exceeds the limit of 15 bytes"));
}

TEST(HloEvaluatorTest, SingleInstructions) {
  const auto module = Parse(R"(
ENTRY e {
  p = s32[] parameter(0)
  a = s32[] constant(3)
  b = s32[] constant(4)
  c = s32[] multiply(a, b)
  d = s32[] add(c, a)
  i = u32[] partition-id()
  ROOT f = s32[] add(d, p)
})");
  HloEvaluator evaluator;
  EXPECT_EQ(Text(evaluator.Evaluate(Find(*module, "c"))), "12");
  EXPECT_THAT(Text(evaluator.Evaluate(Find(*module, "d"))),
              HasSubstr("operand %c of %d is not constant"));
  EXPECT_EQ(Text(evaluator.Evaluate(Find(*module, "d"), {}, true)), "15");
  Literal result;
  EXPECT_FALSE(evaluator.TryEvaluate(Find(*module, "f"), &result, true));
  EXPECT_FALSE(evaluator.TryEvaluate(Find(*module, "i"), &result, true));
  EXPECT_TRUE(evaluator.TryEvaluate(Find(*module, "c"), &result));
  const Literal five = LiteralUtil::CreateR0<int32_t>(5);
  EXPECT_EQ(Text(evaluator.Evaluate(Find(*module, "f"), {}, true,
                                    {{Find(*module, "p"), &five}})),
            "20");
}

TEST(HloEvaluatorTest, ComplexNumbersHaveNoOrder) {
  const Literal c = LiteralUtil::CreateR1<complex64>({{1, 2}, {1, 3}});
  HloEvaluator evaluator;
  for (auto direction : {ComparisonDirection::kLt, ComparisonDirection::kLe,
                         ComparisonDirection::kGt, ComparisonDirection::kGe}) {
    EXPECT_EQ(
        evaluator.EvaluateElementwiseCompareOp(direction, c, c).status().code(),
        absl::StatusCode::kUnimplemented);
  }
  EXPECT_EQ(Text(evaluator.EvaluateElementwiseCompareOp(
                ComparisonDirection::kEq, c, c)),
            "{1, 1}");
}

TEST(HloEvaluatorTest, BitcastsOfArraysNeedLayouts) {
  auto array = HloInstruction::CreateConstant(
      LiteralUtil::CreateR2<float>({{1, 2, 3}, {4, 5, 6}}));
  auto scalar = HloInstruction::CreateConstant(LiteralUtil::CreateR0<float>(7));
  const auto bitcast = [](HloInstruction* operand, const Shape& shape) {
    auto inst = HloInstruction::CreateBitcast(shape, operand);
    return Text(HloEvaluator().Evaluate(inst.get()));
  };
  EXPECT_THAT(bitcast(array.get(), Shape(F32, {3, 2})),
              HasSubstr("without a layout"));
  EXPECT_EQ(bitcast(array.get(), ShapeUtil::MakeShape(F32, {6})),
            "{1, 2, 3, 4, 5, 6}");
  EXPECT_EQ(bitcast(scalar.get(), Shape(F32, std::vector<int64_t>{})), "7");
  EXPECT_EQ(bitcast(scalar.get(), Shape(S32, std::vector<int64_t>{})),
            "1088421888");
  array->mutable_shape()->clear_layout();
  EXPECT_THAT(bitcast(array.get(), ShapeUtil::MakeShape(F32, {6})),
              HasSubstr("without a layout"));
}

TEST(HloEvaluatorTest, OperationsOnLiterals) {
  HloEvaluator evaluator;
  const Literal a = LiteralUtil::CreateR1<float>({1, 4});
  const Literal b = LiteralUtil::CreateR1<float>({2, 2});
  const Literal p = LiteralUtil::CreateR1<bool>({true, false});
  EXPECT_EQ(Text(evaluator.EvaluateElementwiseUnaryOp(HloOpcode::kSqrt, a)),
            "{1, 2}");
  EXPECT_EQ(
      Text(evaluator.EvaluateElementwiseBinaryOp(HloOpcode::kSubtract, a, b)),
      "{-1, 2}");
  EXPECT_EQ(
      Text(evaluator.EvaluateElementwiseTernaryOp(HloOpcode::kSelect, p, a, b)),
      "{1, 2}");
  EXPECT_EQ(Text(evaluator.EvaluateElementwiseCompareOp(
                ComparisonDirection::kGt, a, b)),
            "{0, 1}");
  DotDimensionNumbers dims;
  dims.add_lhs_contracting_dimensions(0);
  dims.add_rhs_contracting_dimensions(0);
  EXPECT_EQ(Text(evaluator.EvaluateDotOp(dims, PrecisionConfig(), a, b)), "10");
  const Array2D<float> m = {{1, 2}, {3, 4}};
  EXPECT_EQ((*HloEvaluator::MatmulArray2D(m, m))(1, 0), 15);
  const Array2D<uint8_t> bytes = {{1, 200}, {2, 100}};
  EXPECT_EQ((*HloEvaluator::MatmulArray2D(bytes, bytes))(0, 1),
            232);  // modulo 256
  const Array2D<complex64> i = {{{0, 1}}};
  EXPECT_EQ((*HloEvaluator::MatmulArray2D(i, i))(0, 0), complex64(-1, 0));
  const Array2D<half> halves = {{half(0.5f)}};
  EXPECT_EQ((*HloEvaluator::MatmulArray2D(halves, halves))(0, 0), half(0.25f));
}

TEST(HloEvaluatorTest, Handlers) {
  const auto module = Parse(R"(
ENTRY e {
  a = s32[3] constant({1, 2, 3})
  b = s32[3] custom-call(a), custom_call_target="twice"
  ROOT c = s32[3] add(b, a)
})");
  HloEvaluator evaluator;
  evaluator.set_custom_call_handler(
      [](const HloInstruction* call, absl::Span<const Literal*> operands) {
        HloEvaluator inner;
        return inner.EvaluateElementwiseBinaryOp(HloOpcode::kAdd, *operands[0],
                                                 *operands[0]);
      });
  EXPECT_EQ(Text(evaluator.Evaluate(*module, absl::Span<const Literal>())),
            "{3, 6, 9}");
  evaluator.set_constant_handler(
      [](const HloInstruction*) -> absl::StatusOr<Literal> {
        return LiteralUtil::CreateR1<int32_t>({10, 20, 30});
      });
  EXPECT_EQ(Text(evaluator.Evaluate(*module, absl::Span<const Literal>())),
            "{30, 60, 90}");
}

// Fewer elements than the shape has may be those of a dynamic array; anything
// else is wrong.
TEST(HloEvaluatorTest, ResultsThatDoNotFit) {
  const Literal two = LiteralUtil::CreateR1<int32_t>({1, 2});
  const Literal four = LiteralUtil::CreateR1<int32_t>({1, 2, 3, 4});
  const Literal three = LiteralUtil::CreateR1<int32_t>({1, 2, 3});
  const Literal floats = LiteralUtil::CreateR1<float>({1, 2, 3});
  const Literal matrix = LiteralUtil::CreateR2<int32_t>({{1, 2, 3}});
  struct Case {
    const char* shape;
    Literal result;
    bool fits;
  };
  std::vector<Case> cases;
  cases.push_back({"s32[3]", two.Clone(), true});
  cases.push_back({"s32[3]", four.Clone(), false});
  cases.push_back({"s32[3]", floats.Clone(), false});
  cases.push_back({"s32[3]", matrix.Clone(), false});
  cases.push_back({"s32[3]", LiteralUtil::MakeTuple({&three}), false});
  cases.push_back({"(s32[3])", LiteralUtil::MakeTuple({&two}), true});
  cases.push_back({"(s32[3])", LiteralUtil::MakeTuple({&four}), false});
  cases.push_back({"(s32[3])", LiteralUtil::MakeTuple({&two, &two}), false});
  cases.push_back({"(s32[3])", three.Clone(), false});
  for (const Case& c : cases) {
    const auto module = Parse(absl::StrCat("ENTRY e {\n  ROOT b = ", c.shape,
                                           " custom-call(), "
                                           "custom_call_target=\"f\"\n}"));
    HloEvaluator evaluator;
    evaluator.set_custom_call_handler(
        [&](const HloInstruction*,
            absl::Span<const Literal*>) -> absl::StatusOr<Literal> {
          return c.result.Clone();
        });
    const absl::Status status =
        evaluator.Evaluate(*module, absl::Span<const Literal>()).status();
    EXPECT_EQ(status.code(), c.fits ? absl::StatusCode::kInvalidArgument
                                    : absl::StatusCode::kInternal)
        << c.shape << " " << c.result.ToString() << " " << status;
  }
}

TEST(HloEvaluatorTest, KnownElementsAndPassedOperands) {
  auto module = ParseAndReturnUnverifiedModule(R"(HloModule m
    f { p = f32[] parameter(0) ROOT n = negate(p) }
    ENTRY e {
      x = f32[] parameter(0)
      k = f32[] constant(3)
      t = tuple(x, k)
      u = tuple(t, x)
      t0 = get-tuple-element(u), index=0
      g = f32[] get-tuple-element(t0), index=1
      h = f32[] get-tuple-element(t), index=0
      s = add(g, k)
      ROOT c = f32[] call(s), to_apply=f
    })");
  ASSERT_TRUE(module.ok()) << module.status();
  auto evaluate = [&](absl::string_view name, HloEvaluator& evaluator) {
    for (HloComputation* computation : (*module)->computations()) {
      if (auto* inst = computation->GetInstructionWithName(name)) {
        return evaluator.Evaluate(inst, {}, /*recursively=*/true);
      }
    }
    return absl::StatusOr<Literal>(absl::NotFoundError(name));
  };
  HloEvaluator evaluator;
  std::vector<std::string> seen;
  evaluator.set_eval_literal_handler(
      [&](const HloInstruction* inst, const LiteralSlice& value) {
        seen.push_back(absl::StrCat(inst->name(), " ",
                                    value.ToStringWithoutShapeOneline()));
      });
  EXPECT_EQ(Text(evaluate("s", evaluator)), "6");
  EXPECT_EQ(seen.back(), "s 6");
  // In the computation that is called, too.
  EXPECT_EQ(Text(evaluate("n", evaluator)), "-6");
  absl::Status unknown = evaluate("h", evaluator).status();
  EXPECT_EQ(internal::ParseEvalErrorDetail(unknown),
            internal::EvalErrorDetail::kDynamicValueDependence);
  EXPECT_EQ(internal::ParseEvalErrorDetail(absl::OkStatus()), std::nullopt);
}

// Links that show a result before it is there are seen again with it.
TEST(HloEvaluatorTest, ShowsResultsOfLateBinding) {
  auto module = ParseAndReturnUnverifiedModule(R"(HloModule m
    ac {
      p = s32[] parameter(0)
      ROOT n = s32[] negate(p)
    }
    ENTRY e {
      x = s32[] constant(7)
      s = ((), s32[], s32[]) async-start(), calls=ac
      u = ((s32[]), s32[]) async-update(s, x)
      ROOT d = s32[] async-done(u)
    })");
  ASSERT_TRUE(module.ok()) << module.status();
  HloEvaluator evaluator;
  std::vector<std::string> seen;
  evaluator.set_eval_literal_handler(
      [&](const HloInstruction* inst, const LiteralSlice& value) {
        seen.push_back(absl::StrCat(inst->name(), " ",
                                    value.ToStringWithoutShapeOneline()));
      });
  EXPECT_EQ(Text(evaluator.Evaluate(**module, {})), "-7");
  EXPECT_THAT(seen,
              testing::ElementsAre("x 7", "p 7", "n -7", "s ( (), -7, 0 )",
                                   "u ( ( 7 ), -7 )", "d -7"));
}

TEST(HloEvaluatorTest, TracesProducts) {
  auto module = ParseAndReturnUnverifiedModule(R"(HloModule m
    ENTRY e {
      a = f32[1,2] constant({{2, 3}})
      b = f32[2,2] constant({{4, 5}, {6, 7}})
      ROOT d = f32[1,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    })");
  ASSERT_TRUE(module.ok()) << module.status();
  HloEvaluator evaluator;
  std::string products;
  evaluator.set_trace_mac_handler(
      [&](int64_t result, int64_t lhs, int64_t rhs) {
        absl::StrAppend(&products, result, "=", lhs, "*", rhs, " ");
      });
  EXPECT_EQ(Text(evaluator.Evaluate(**module, {})), "{ { 26, 31 } }");
  EXPECT_EQ(products, "0=0*0 0=1*2 1=0*1 1=1*3 ");
}

TEST(HloEvaluatorTest, EveryOpcodeIsImplementedOrConcernsOtherDevices) {
  for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
    const HloOpcode opcode = static_cast<HloOpcode>(i);
    EXPECT_NE(HloEvaluator::IsOpcodeImplemented(opcode),
              evaluator::ConcernsOtherDevices(opcode))
        << HloOpcodeString(opcode);
  }
}

// Every element-wise opcode either has a kernel or an error that says so, for
// every type.
TEST(HloEvaluatorTest, EveryTypeComputesOrSaysThatItDoesNot) {
  int computed = 0;
  HloEvaluator evaluator;
  for (int t = PrimitiveType_MIN; t <= PrimitiveType_MAX; ++t) {
    const PrimitiveType type = static_cast<PrimitiveType>(t);
    if (!primitive_util::IsArrayType(type)) continue;
    const Literal ones = LiteralUtil::One(type);
    for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
      const HloOpcode opcode = static_cast<HloOpcode>(i);
      absl::StatusOr<Literal> result;
      if (HloOpcodeIsElementwiseUnary(opcode) &&
          opcode != HloOpcode::kConvert &&
          opcode != HloOpcode::kBitcastConvert &&
          opcode != HloOpcode::kReducePrecision) {
        result = evaluator.EvaluateElementwiseUnaryOp(opcode, ones);
      } else if (HloOpcodeIsElementwiseBinary(opcode) &&
                 opcode != HloOpcode::kCompare) {
        result = evaluator.EvaluateElementwiseBinaryOp(opcode, ones, ones);
      } else {
        continue;
      }
      computed += result.ok();
      if (result.ok()) continue;
      const absl::StatusCode code = result.status().code();
      EXPECT_TRUE(code == absl::StatusCode::kUnimplemented ||
                  code == absl::StatusCode::kInvalidArgument)
          << HloOpcodeString(opcode) << " " << result.status();
    }
  }
  EXPECT_GT(computed, 600);
}

// --- The device, stepped from outside
// -----------------------------------------

TEST(DeviceTest, StopsInLoopsWhereOtherDevicesAreConcerned) {
  const auto module = Parse(R"(
add {
  left = s32[] parameter(0)
  right = s32[] parameter(1)
  ROOT sum = s32[] add(left, right)
}
c {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(2)
  ROOT l = pred[] compare(i, n), direction=LT
}
b {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[] get-tuple-element(s), index=1
  o = s32[] constant(1)
  j = s32[] add(i, o)
  y = s32[] all-reduce(x), replica_groups={}, to_apply=add
  ROOT t = (s32[], s32[]) tuple(j, y)
}
ENTRY e {
  z = s32[] constant(0)
  p = s32[] parameter(0)
  t = (s32[], s32[]) tuple(z, p)
  w = (s32[], s32[]) while(t), condition=c, body=b
  ROOT r = s32[] get-tuple-element(w), index=1
})");
  using evaluator::Device;
  using evaluator::Value;
  evaluator::Program program;
  evaluator::DeviceOptions options;
  std::vector<Device> devices;
  for (int32_t d = 0; d < 3; ++d) {
    devices.emplace_back(&program, &options);
    ASSERT_TRUE(
        devices[d]
            .Start(module->entry_computation(), {Value::Scalar<int32_t>(d + 1)})
            .ok());
  }
  for (int trip = 1; trip <= 2; ++trip) {
    int32_t sum = 0;
    for (Device& device : devices) {
      ASSERT_EQ(*device.Run(), Device::State::kWaiting);
      EXPECT_EQ(device.pending()->name(), "y");
      EXPECT_EQ(device.Position(), absl::StrCat("%y in b, called from %w in e "
                                                "(trip ",
                                                trip, ")"));
      sum += device.pending_operands()[0].AsInt64();
    }
    for (Device& device : devices) {
      ASSERT_TRUE(device.Resume(Value::Scalar<int32_t>(sum)).ok());
    }
  }
  for (Device& device : devices) {
    ASSERT_EQ(*device.Run(), Device::State::kDone);
    EXPECT_EQ(device.TakeResult().AsInt64(), 18);
  }
  // A value of another shape is refused.
  Device device(&program, &options);
  ASSERT_TRUE(
      device.Start(module->entry_computation(), {Value::Scalar<int32_t>(1)})
          .ok());
  ASSERT_TRUE(device.Run().ok());
  EXPECT_THAT(device.Resume(Value::Scalar<float>(1)).ToString(),
              HasSubstr("was given f32[], but its shape is s32[]"));
}

// Static shapes where there are fewer elements at run time: the module's fault,
// as nothing was known before it ran.
TEST(DeviceTest, MoreStaticThanSizesAtRunTime) {
  for (const char* root : {"f32[4] slice(d), slice={[0:4]}", "f32[4] abs(d)"}) {
    const auto module = Parse(absl::StrCat(R"(
ENTRY e {
  a = f32[4] parameter(0)
  n = s32[] constant(3)
  d = f32[<=4] set-dimension-size(a, n), dimensions={0}
  ROOT r = )",
                                           root, "\n}"));
    const Literal a = LiteralUtil::CreateR1<float>({1, 2, 3, 4});
    const auto result = HloEvaluator().Evaluate(*module, {&a});
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
    EXPECT_THAT(result.status().message(),
                HasSubstr("evaluates to f32[3], but its shape is f32[4]"));
  }
}

TEST(DeviceTest, MoreStaticTuplesThanSizesAtRunTime) {
  const auto module = Parse(R"(
ENTRY e {
  a = f32[4] parameter(0)
  n = s32[] constant(3)
  d = f32[<=4] set-dimension-size(a, n), dimensions={0}
  ROOT r = (f32[4]) tuple(d)
})");
  const Literal a = LiteralUtil::CreateR1<float>({1, 2, 3, 4});
  const auto result = HloEvaluator().Evaluate(*module, {&a});
  EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
  EXPECT_THAT(result.status().message(),
              HasSubstr("found a value of shape f32[3] where f32[4]"));
}

// What a loop carries is updated in place: memory does not grow with trips.
TEST(DeviceTest, LoopsUpdateInPlace) {
  const auto module = Parse(R"(
c {
  s = (s32[], f32[1000,100]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(1000)
  ROOT l = pred[] compare(i, n), direction=LT
}
b {
  s = (s32[], f32[1000,100]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  o = s32[] constant(1)
  j = s32[] add(i, o)
  z = s32[] constant(0)
  f = f32[] convert(j)
  u = f32[1,100] broadcast(f), dimensions={}
  x = f32[1000,100] get-tuple-element(s), index=1
  y = f32[1000,100] dynamic-update-slice(x, u, i, z)
  ROOT t = (s32[], f32[1000,100]) tuple(j, y)
}
ENTRY e {
  z = s32[] constant(0)
  f = f32[] constant(0)
  x = f32[1000,100] broadcast(f), dimensions={}
  t = (s32[], f32[1000,100]) tuple(z, x)
  w = (s32[], f32[1000,100]) while(t), condition=c, body=b
  y = f32[1000,100] get-tuple-element(w), index=1
  ROOT r = f32[100] reduce(y, f), dimensions={0}, to_apply={
    a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
})");
  HloEvaluator evaluator;
  const absl::StatusOr<Literal> result =
      evaluator.Evaluate(*module, absl::Span<const Literal>());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->Get<float>({7}), 500500);
  EXPECT_LT(evaluator.peak_bytes(), 500000);
}

// --- Bundled examples
// ---------------------------------------------------------

class ExamplesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ExamplesTest, Evaluates) {
  std::ifstream file(absl::StrCat("examples/", GetParam(), ".hlo"));
  ASSERT_TRUE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  const auto module = Parse(text.str());
  std::vector<Literal> arguments;
  for (const HloInstruction* parameter :
       module->entry_computation()->parameter_instructions()) {
    Literal argument(parameter->shape());
    ASSERT_TRUE(
        LiteralUtil::FillDeterministic(&argument, arguments.size()).ok());
    // Variances, labels and tokens are not negative.
    if (parameter->shape().element_type() == F32) {
      for (float& x : argument.data<float>()) x = std::abs(x);
    } else if (parameter->shape().element_type() == S32) {
      for (int32_t& x : argument.data<int32_t>()) x = std::abs(x) % 8;
    }
    arguments.push_back(std::move(argument));
  }
  HloEvaluator evaluator;
  const absl::StatusOr<Literal> result = evaluator.Evaluate(*module, arguments);
  ASSERT_TRUE(result.ok()) << result.status();
  ShapeUtil::ForEachLeafShape(
      result->shape(), [&](const Shape& shape, const ShapeIndex& index) {
        if (shape.element_type() != F32) return;
        for (float x : result->data<float>(index)) {
          ASSERT_TRUE(std::isfinite(x)) << index.ToString();
        }
      });
}

INSTANTIATE_TEST_SUITE_P(Bundled, ExamplesTest,
                         ::testing::Values("conv_train", "mlp_train",
                                           "transformer_scan_train",
                                           "transformer_train"),
                         [](const ::testing::TestParamInfo<const char*>& i) {
                           return std::string(i.param);
                         });

}  // namespace
}  // namespace xla
