#include "xla/hlo/evaluator/run/input_generator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/evaluator/run/literal_difference.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Literal> Inputs(absl::string_view text, InputOptions options = {}) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  auto inputs = GenerateInputs(**module, options);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  return *std::move(inputs);
}

template <typename T>
std::vector<T> Elements(const Literal& literal) {
  return std::vector<T>(literal.data<T>().begin(), literal.data<T>().end());
}

TEST(InputGeneratorTest, DependsOnSeedAndNumberOnly) {
  const char kText[] = R"(HloModule m
  ENTRY e { a = f32[8] parameter(0) b = f32[8] parameter(1)
    ROOT r = f32[8] add(a, b) })";
  InputOptions other;
  other.seed = 1;
  EXPECT_EQ(Inputs(kText)[0], Inputs(kText)[0]);
  EXPECT_NE(Inputs(kText)[0], Inputs(kText)[1]);
  EXPECT_NE(Inputs(kText)[0], Inputs(kText, other)[0]);
  for (float x : Elements<float>(Inputs(kText)[0])) {
    EXPECT_LE(std::abs(x), 1);
  }
}

TEST(InputGeneratorTest, SmallIntegersAndNan) {
  const char kText[] = R"(HloModule m
  ENTRY e { a = (f32[100], c64[4], f8e5m2[9]) parameter(0)
    ROOT r = f32[100] get-tuple-element(a), index=0 })";
  InputOptions options;
  options.small_integers = true;
  const std::vector<Literal> inputs = Inputs(kText, options);
  for (float x : inputs[0].data<float>({0})) {
    EXPECT_EQ(x, std::round(x));
    EXPECT_LE(std::abs(x), 4);
  }
  options.with_nan = true;
  const std::vector<Literal> with_nan = Inputs(kText, options);
  int64_t odd = 0;
  for (float x : with_nan[0].data<float>({0})) {
    odd += !std::isfinite(x);
  }
  EXPECT_GT(odd, 0);
  EXPECT_LT(odd, 30);
}

// The type ends at 15.5, whatever the order of evaluation.
TEST(InputGeneratorTest, ExactRandomModulesDoNotOverflow) {
  RandomModuleOptions options;
  options.steps = 4;
  options.exact = true;
  options.types = {F8E3M4};
  options.opcodes = {HloOpcode::kAdd, HloOpcode::kDot, HloOpcode::kMultiply,
                     HloOpcode::kReduce};
  InputOptions inputs;
  inputs.small_integers = true;
  for (inputs.seed = 0; inputs.seed < 100; ++inputs.seed) {
    const std::unique_ptr<HloModule> module =
        RandomModule(inputs.seed, options);
    auto arguments = GenerateInputs(*module, inputs);
    ASSERT_TRUE(arguments.ok()) << arguments.status();
    auto result = HloEvaluator().Evaluate(*module, *arguments);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(result->ToString(), Not(ContainsRegex("inf|nan")))
        << module->ToString();
  }
}

// Indices stay inside, also through tuples, loops and converts.
TEST(InputGeneratorTest, Indices) {
  const std::vector<Literal> inputs = Inputs(R"(HloModule m
  cond { s = (s32[], f32[10]) parameter(0) ROOT c = pred[] constant(false) }
  body { s = (s32[], f32[10]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    x = f32[10] get-tuple-element(s), index=1
    d = f32[3] dynamic-slice(x, i), dynamic_slice_sizes={3}
    u = f32[10] dynamic-update-slice(x, d, i)
    ROOT t = (s32[], f32[10]) tuple(i, u) }
  ENTRY e {
    i = s32[] parameter(0)
    x = f32[10] parameter(1)
    g = s8[64,1] parameter(2)
    b = s32[50] parameter(3)
    t = (s32[], f32[10]) tuple(i, x)
    w = (s32[], f32[10]) while(t), condition=cond, body=body
    w1 = f32[10] get-tuple-element(w), index=1
    gc = s32[64,1] convert(g)
    ROOT ga = f32[64,4] gather(w1, gc), offset_dims={1},
      collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1,
      slice_sizes={4} })");
  EXPECT_GE(inputs[0].Get<int32_t>({}), 0);
  EXPECT_LE(inputs[0].Get<int32_t>({}), 7);
  std::set<int> seen;
  for (int8_t i : inputs[2].data<int8_t>()) seen.insert(i);
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), 6);
  EXPECT_LT(*std::min_element(inputs[3].data<int32_t>().begin(),
                              inputs[3].data<int32_t>().end()),
            0);
}

TEST(InputGeneratorTest, UniqueKeysAndIndices) {
  const std::vector<Literal> inputs = Inputs(R"(HloModule m
  lt { a = f32[] parameter(0) b = f32[] parameter(1)
    c = s32[] parameter(2) d = s32[] parameter(3)
    ROOT r = pred[] compare(a, b), direction=LT }
  second { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }
  ENTRY e {
    k = f32[300] parameter(0)
    v = s32[300] parameter(1)
    x = f32[20] parameter(2)
    i = s32[8,1] parameter(3)
    u = f32[8] parameter(4)
    s = (f32[300], s32[300]) sort(k, v), dimensions={0}, to_apply=lt
    sc = f32[20] scatter(x, i, u), update_window_dims={},
      inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, unique_indices=true, to_apply=second
    ROOT t = ((f32[300], s32[300]), f32[20]) tuple(s, sc) })");
  const std::vector<float> keys = Elements<float>(inputs[0]);
  EXPECT_EQ(std::set<float>(keys.begin(), keys.end()).size(), 300);
  const std::vector<int32_t> indices = Elements<int32_t>(inputs[3]);
  const std::set<int32_t> distinct(indices.begin(), indices.end());
  EXPECT_EQ(distinct.size(), 8);
  EXPECT_GE(*distinct.begin(), 0);
  EXPECT_LT(*distinct.rbegin(), 20);
}

TEST(InputGeneratorTest, DomainsOfFunctions) {
  const std::vector<Literal> inputs = Inputs(R"(HloModule m
  ENTRY e {
    l = f32[50] parameter(0)
    d = f32[50] parameter(1)
    b = s32[] parameter(2)
    g = s32[3] parameter(3)
    lhs = f32[7,2] parameter(4)
    rhs = f32[3,2,2] parameter(5)
    log = f32[50] log(l)
    div = f32[50] divide(log, d)
    rd = f32[7,2] ragged-dot(lhs, rhs, g), lhs_contracting_dims={1},
      rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
    ROOT t = (f32[50], f32[7,2]) tuple(div, rd) })");
  for (float x : Elements<float>(inputs[0])) EXPECT_GE(x, 0.125f);
  for (float x : Elements<float>(inputs[1])) EXPECT_GE(x, 0.125f);
  int32_t sum = 0;
  for (int32_t x : Elements<int32_t>(inputs[3])) {
    EXPECT_GE(x, 0);
    sum += x;
  }
  EXPECT_EQ(sum, 7);
}

// A root of what an optimizer keeps is of positive numbers; a difference and a
// sum with anything may have either sign, and ask for nothing.
TEST(InputGeneratorTest, PositiveThroughArithmetic) {
  const std::vector<Literal> inputs = Inputs(R"(HloModule m
  ENTRY e {
    v = f32[50] parameter(0)
    g = f32[50] parameter(1)
    count = f32[] parameter(2)
    w = f32[50] parameter(3)
    one = f32[] constant(1)
    rate = f32[] constant(0.9)
    rates = f32[50] broadcast(rate), dimensions={}
    kept = f32[50] multiply(v, rates)
    scaled = f32[50] multiply(g, rates)
    square = f32[50] multiply(scaled, g)
    moment = f32[50] add(kept, square)
    root = f32[50] sqrt(moment)
    next = f32[] add(count, one)
    decay = f32[] power(rate, next)
    rest = f32[] subtract(one, decay)
    scale = f32[] sqrt(rest)
    scales = f32[50] broadcast(scale), dimensions={}
    any = f32[50] add(w, g)
    abs = f32[50] abs(any)
    other = f32[50] sqrt(abs)
    sum = f32[50] add(root, other)
    ROOT r = f32[50] multiply(sum, scales) })");
  for (float x : Elements<float>(inputs[0])) EXPECT_GE(x, 0.125f);
  EXPECT_GE(inputs[2].Get<float>({}), 0.125f);
  for (int i : {1, 3}) {
    const std::vector<float> elements = Elements<float>(inputs[i]);
    EXPECT_LT(*std::min_element(elements.begin(), elements.end()), 0);
  }
}

TEST(InputGeneratorTest, Poison) {
  auto floats = PoisonLiteral(ShapeUtil::MakeShape(F32, {2}), 0);
  ASSERT_TRUE(floats.ok());
  EXPECT_TRUE(std::isnan(floats->Get<float>({1})));
  auto first = PoisonLiteral(ShapeUtil::MakeShape(S32, {2}), 0);
  auto second = PoisonLiteral(ShapeUtil::MakeShape(S32, {2}), 1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->Get<int32_t>({0}), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(second->Get<int32_t>({1}), std::numeric_limits<int32_t>::min());
}

std::optional<LiteralDifference> Difference(const Literal& a, const Literal& b,
                                            Tolerance tolerance = {}) {
  auto difference = FindDifference(a, b, tolerance);
  EXPECT_TRUE(difference.ok()) << difference.status();
  return *difference;
}

TEST(LiteralDifferenceTest, FirstIndexUlpsAndCount) {
  const Literal a = LiteralUtil::CreateR2<float>({{1, 2}, {3, 4}});
  const Literal b =
      LiteralUtil::CreateR2<float>({{1, 2}, {std::nextafter(3.0f, 4.0f), 5}});
  EXPECT_FALSE(Difference(a, a).has_value());
  auto difference = Difference(a, b);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->ToString(),
            "output at [1,0]: expected 3, actual 3.00000024 (1 ULP); 2 of 4 "
            "elements differ, by at most 1");
  Tolerance one_ulp;
  one_ulp.ulps = 1;
  EXPECT_EQ(Difference(a, b, one_ulp)->index, (std::vector<int64_t>{1, 1}));
  EXPECT_FALSE(Difference(a, b, *Tolerance::Parse("0.25")).has_value());
  EXPECT_FALSE(FindDifference(a, LiteralUtil::CreateR1<float>({1}), {}).ok());
}

TEST(LiteralDifferenceTest, TypesAndTuples) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(Difference(LiteralUtil::CreateR0<float>(nan),
                          LiteralUtil::CreateR0<float>(-nan))
                   .has_value());
  EXPECT_TRUE(Difference(LiteralUtil::CreateR0<float>(nan),
                         LiteralUtil::CreateR0<float>(1),
                         *Tolerance::Parse("abs=9"))
                  .has_value());
  EXPECT_FALSE(Difference(LiteralUtil::CreateR0<float>(0.0f),
                          LiteralUtil::CreateR0<float>(-0.0f))
                   .has_value());
  // Integers are exact whatever the tolerance.
  EXPECT_TRUE(Difference(LiteralUtil::CreateR0<int64_t>(int64_t{1} << 60),
                         LiteralUtil::CreateR0<int64_t>((int64_t{1} << 60) + 1),
                         *Tolerance::Parse("abs=9"))
                  .has_value());
  auto difference = Difference(
      LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR0<bool>(true),
                                  LiteralUtil::CreateR1<int8_t>({1, 2})),
      LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR0<bool>(true),
                                  LiteralUtil::CreateR1<int8_t>({1, 3})));
  ASSERT_TRUE(difference.has_value());
  EXPECT_THAT(difference->ToString(),
              HasSubstr("output {1} at [1]: expected 2, actual 3; 1 of 3"));
  // One unit of bf16 is a lot for f32.
  auto by_type = [](const Literal& a, const Literal& b) {
    return FindDifferenceByType(a, b, 1)->has_value();
  };
  EXPECT_FALSE(by_type(LiteralUtil::CreateR0<bfloat16>(bfloat16(1.0f)),
                       LiteralUtil::CreateR0<bfloat16>(bfloat16(1.0078125f))));
  EXPECT_TRUE(by_type(LiteralUtil::CreateR0<float>(1.0f),
                      LiteralUtil::CreateR0<float>(1.0078125f)));
}

TEST(LiteralDifferenceTest, SaysHowManyAreNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Literal a = LiteralUtil::CreateR1<float>({nan, 2, nan});
  const Literal b = LiteralUtil::CreateR1<float>({nan, 3, nan});
  Tolerance one;
  one.abs = 1;
  for (const Literal* other : {&a, &b}) {
    LiteralErrors errors;
    ASSERT_TRUE(FindDifference(a, *other, one, &errors).ok());
    EXPECT_THAT(errors.ToString(),
                HasSubstr("; 2 of 3 elements are NaN in both"));
  }
  LiteralErrors none;
  ASSERT_TRUE(FindDifference(LiteralUtil::CreateR1<float>({1}),
                             LiteralUtil::CreateR1<float>({1}), one, &none)
                  .ok());
  EXPECT_THAT(none.ToString(), Not(HasSubstr("NaN")));
}

TEST(LiteralDifferenceTest, BadTolerances) {
  for (const char* text :
       {"", "abs", "abs=x", "rel=-1", "ulps=1.5", "-1", "abs=1,foo=2", "nan"}) {
    EXPECT_FALSE(Tolerance::Parse(text).ok()) << text;
  }
  auto tolerance = Tolerance::Parse("abs=1e-3,rel=0.5,ulps=7");
  ASSERT_TRUE(tolerance.ok());
  EXPECT_EQ(tolerance->ulps, 7);
  EXPECT_EQ(tolerance->rel, 0.5);
}

}  // namespace
}  // namespace xla
