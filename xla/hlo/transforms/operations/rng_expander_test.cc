// What the expanded instructions draw, in distribution: the numbers are others
// than those of rng.

#include "xla/hlo/transforms/operations/rng_expander.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/literal.h"

namespace xla {
namespace {

// The tuple of two draws of 10,000 numbers between the constants (or of that
// mean and deviation), after the pass.
Literal Draw(absl::string_view type, absl::string_view a, absl::string_view b,
             absl::string_view distribution = "rng_uniform") {
  const std::string array = absl::StrCat(type, "[100,100]");
  const std::string rng =
      absl::StrCat(array, " rng(a, b), distribution=", distribution, "\n");
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m\nENTRY e {\n a = ", type, "[] constant(", a,
      ")\n b = ", type, "[] constant(", b, ")\n r = ", rng, " q = ", rng,
      " ROOT t = (", array, ", ", array, ") tuple(r, q)\n}\n"));
  CHECK_OK(module.status());
  absl::StatusOr<bool> changed = RngExpander().Run(module->get());
  CHECK_OK(changed.status());
  EXPECT_TRUE(*changed);
  CHECK_OK(VerifyHloModule(module->get(), HloVerifierOpts()));
  for (const HloInstruction* inst :
       (*module)->entry_computation()->instructions()) {
    EXPECT_NE(inst->opcode(), HloOpcode::kRng);
  }
  absl::StatusOr<Literal> result = HloEvaluator().Evaluate(**module, {});
  CHECK_OK(result.status());
  return *std::move(result);
}

std::vector<double> Numbers(const Literal& tuple, int64_t element) {
  const Literal values = LiteralSlice(tuple, {element}).Convert(F64).value();
  const auto data = values.data<double>();
  return {data.begin(), data.end()};
}

double Mean(const std::vector<double>& x) {
  double sum = 0;
  for (double value : x) sum += value;
  return sum / x.size();
}

// The covariance of two series of equal length.
double Covariance(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum / x.size() - Mean(x) * Mean(y);
}

TEST(RngExpanderTest, UniformFloatsFillTheirInterval) {
  for (absl::string_view type : {"f32", "f64", "f16", "bf16"}) {
    const Literal drawn = Draw(type, "-1", "3");
    const std::vector<double> x = Numbers(drawn, 0), y = Numbers(drawn, 1);
    EXPECT_GE(*absl::c_min_element(x), -1) << type;
    EXPECT_LT(*absl::c_max_element(x), 3) << type;
    // Within five standard errors of mean 1 and variance 16/12.
    EXPECT_NEAR(Mean(x), 1, 5 * std::sqrt(16.0 / 12 / x.size())) << type;
    EXPECT_NEAR(Covariance(x, x), 16.0 / 12, 0.06) << type;
    // Instructions draw from blocks of their own.
    EXPECT_NEAR(Covariance(x, y), 0, 0.07) << type;
    std::vector<double> shifted(x.begin() + 1, x.end());
    EXPECT_NEAR(Covariance({x.begin(), x.end() - 1}, shifted), 0, 0.07);
  }
}

TEST(RngExpanderTest, UniformFloatsStayWithinWhatRoundsAndOverflows) {
  // bf16 has two numbers there.
  for (double value : Numbers(Draw("bf16", "1", "1.0078125"), 0)) {
    EXPECT_EQ(value, 1);
  }
  for (double value : Numbers(Draw("f32", "7", "7"), 0)) EXPECT_EQ(value, 7);
  const std::vector<double> wide = Numbers(Draw("f32", "-3e38", "3e38"), 0);
  EXPECT_LT(*absl::c_min_element(wide), -2.9e38);
  EXPECT_GT(*absl::c_max_element(wide), 2.9e38);
  EXPECT_LT(*absl::c_max_element(wide), 3.1e38);
}

TEST(RngExpanderTest, NormalNumbers) {
  for (absl::string_view type : {"f32", "f64"}) {
    const Literal drawn = Draw(type, "10", "2", "rng_normal");
    const std::vector<double> x = Numbers(drawn, 0);
    EXPECT_NEAR(Mean(x), 10, 0.1) << type;
    EXPECT_NEAR(Covariance(x, x), 4, 0.3) << type;
    EXPECT_NEAR(Covariance(x, Numbers(drawn, 1)), 0, 0.2) << type;
    // As many beyond two deviations as there should be: 4.55 %.
    const int64_t far = absl::c_count_if(
        x, [](double value) { return std::abs(value - 10) > 4; });
    EXPECT_NEAR(far, 455, 105) << type;
  }
}

TEST(RngExpanderTest, IntegersAreEquallyLikely) {
  for (absl::string_view type : {"s4", "s8", "s32", "s64"}) {
    std::vector<int64_t> counts(5);
    for (double value : Numbers(Draw(type, "-3", "2"), 0)) {
      ASSERT_TRUE(value >= -3 && value < 2) << type << " " << value;
      ++counts[static_cast<int64_t>(value) + 3];
    }
    for (int64_t count : counts) EXPECT_NEAR(count, 2000, 200) << type;
  }
  for (double value : Numbers(Draw("u8", "200", "201"), 0)) {
    EXPECT_EQ(value, 200);
  }
  for (double value : Numbers(Draw("s32", "5", "5"), 0)) EXPECT_EQ(value, 5);
}

TEST(RngExpanderTest, IntegersOfTheWholeRange) {
  const Literal drawn =
      Draw("s64", "-9223372036854775808", "9223372036854775807");
  const std::vector<double> x = Numbers(drawn, 0);
  EXPECT_LT(*absl::c_min_element(x), -9e18);
  EXPECT_GT(*absl::c_max_element(x), 9e18);
  EXPECT_EQ(std::set<double>(x.begin(), x.end()).size(), x.size());
  const std::vector<double> u =
      Numbers(Draw("u64", "9223372036854775808", "18446744073709551615"), 0);
  EXPECT_GE(*absl::c_min_element(u), 9.2e18);
  EXPECT_GT(*absl::c_max_element(u), 1.84e19);
}

}  // namespace
}  // namespace xla
