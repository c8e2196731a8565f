#include "xla/backends/gpu/kernel_ir/affine_expr.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace xla::gpu {
namespace {

AffineExpr Parse(absl::string_view text) {
  absl::StatusOr<AffineExpr> e = ParseAffineExpr(text);
  EXPECT_TRUE(e.ok()) << text << ": " << e.status();
  return e.ok() ? *e : AffineExpr::Unknown();
}

TEST(AffineExprTest, SimplifiesExactly) {
  const struct {
    absl::string_view text, canonical;
  } kCases[] = {
      {"H*W - W*H", "0"},
      {"4*i + i*2", "6*i"},
      {"(8*j + i) / 8", "j + i / 8"},
      {"(8*j + i) % 8", "i % 8"},
      {"(i / 4) / 8", "i / 32"},
      {"(i / 4 + 3*j) / 8", "(i + 12*j) / 32"},
      {"8*(i / 8) + i % 8", "i"},
      {"8*(i / 32) + (i / 4) % 8", "i / 4"},
      {"(4*i + 3) % 8", "4*(i % 2) + 3"},
      {"(6*i + 5) / 4", "i + i / 2 + 1"},
      {"(i % 32) / 8", "i / 8 % 4"},
      {"(i % 32) % 8", "i % 8"},
      {"(i % 8) % 32", "i % 8"},
      {"(i % 8) / 32", "0"},
      {"(H*W) / W", "H"},
      {"(H*W + 3) % W", "3 % W"},
      {"ceildiv(8*H + 1, 8)", "H + 1"},
      {"ceildiv(H, 4)", "ceildiv(H, 4)"},
      {"(H + 3) / 4", "ceildiv(H, 4)"},
      {"ceildiv(2*H, H)", "2"},
      {"(x + 127) & ~127", "alignup(x, 128)"},
      {"x & 7", "x % 8"},
      {"alignup(alignup(x, 16) + 32, 128)", "alignup(x + 32, 128)"},
      {"alignup(alignup(4*H, 128) + 4*W, 128)",
       "4*alignup(H, 32) + 4*alignup(W, 32)"},
      {"alignup(12, 16)", "16"},
      {"min(i, i + 3)", "i"},
      {"max(min(b, a), min(a, b))", "min(a, b)"},
      {"min(c, min(b, a))", "min(a, min(b, c))"},
      {"H - i - 1", "H - i - 1"},
      {"-(i / 2)", "-(i / 2)"},
      // No quotient of 64 bits.
      {"(-9223372036854775808*H) / (-W)", "-9223372036854775808*H / (-W)"},
      {"(-9223372036854775808*H) / (-H)", "-9223372036854775808*H / (-H)"},
      {"-i / 2", "(-i) / 2"},
      {"i - -9223372036854775808 + -9223372036854775808", "i"},
      {"%i + %tid.x*4", "i + 4*tid.x"},
      {"7 / -2", "-4"},
      {"i * (j / 2) * 3", "3*i*(j / 2)"},
      {"? + 1", "?"},
      {"~~x", "x"},
  };
  for (const auto& [text, canonical] : kCases) {
    absl::StatusOr<AffineExpr> e = ParseAffineExpr(text);
    if (text.find("- -9") != absl::string_view::npos) {
      // i + 2^63 has no normal form.
      EXPECT_FALSE(e.ok());
      continue;
    }
    ASSERT_TRUE(e.ok()) << text << ": " << e.status();
    EXPECT_EQ(e->ToString(), canonical) << text;
    EXPECT_EQ(Parse(e->ToString()), *e) << text;
  }
}

TEST(AffineExprTest, SimplifiesWithinRanges) {
  const AffineExpr::Ranges ranges = {
      {"i", {0, 3}}, {"tid.x", {0, 31}}, {"k", {5, 9}}};
  auto simplified = [&](absl::string_view text) {
    return Parse(text).SimplifyIn(ranges).ToString();
  };
  EXPECT_EQ(simplified("(4*tid.x + i) / 4"), "tid.x");
  EXPECT_EQ(simplified("(4*tid.x + i) % 4"), "i");
  EXPECT_EQ(simplified("min(i, k)"), "i");
  EXPECT_EQ(simplified("max(i, max(k, 4))"), "k");
  EXPECT_EQ(simplified("(4*j + i) / 4"), "j");
  EXPECT_EQ(simplified("(k + i) / 4"), "(i + k) / 4");
  // What is less than a factor of all else decides nothing.
  EXPECT_EQ(simplified("(32*j + tid.x) / 160"), "j / 5");
  EXPECT_EQ(simplified("(32*j + tid.x) % 160"), "tid.x + 32*(j % 5)");
  EXPECT_EQ(simplified("((32*j + tid.x) / 160) * 160 + (32*j + tid.x) % 160"),
            "32*j + tid.x");
  EXPECT_EQ(simplified("(16*j + tid.x) / 160"), "(16*j + tid.x) / 160");
  EXPECT_EQ(simplified("(64*j + 4*tid.y + i) / 128"), "(16*j + tid.y) / 32");
  EXPECT_EQ(simplified("alignup(i + 1, 8)"), "8");
  const std::optional<AffineExpr::Interval> b =
      Parse("2*tid.x - i").Bounds(ranges);
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(b->lo, -3);
  EXPECT_EQ(b->hi, 62);
  EXPECT_FALSE(Parse("H").Bounds(ranges).has_value());
}

TEST(AffineExprTest, PrintsTheLowestNumberWithItsSign) {
  for (absl::string_view text :
       {"y + -9223372036854775808*j", "-9223372036854775808*j",
        "i - j + -9223372036854775808"}) {
    EXPECT_EQ(Parse(text).ToString(), text);
  }
}

TEST(AffineExprTest, TellsWhatIsWrong) {
  auto error = [](absl::string_view text) {
    return std::string(ParseAffineExpr(text).status().message());
  };
  EXPECT_EQ(error("i + "), "expected an index expression");
  EXPECT_EQ(error("(i"), "expected ')'");
  EXPECT_EQ(error("min(i)"), "expected ','");
  EXPECT_EQ(error("sqrt(i)"), "unknown function 'sqrt'");
  EXPECT_EQ(error("i / 0"), "division by zero in an index expression");
  EXPECT_EQ(error("9223372036854775807 + 1"), "index expression overflows");
  EXPECT_EQ(error("9223372036854775808"), "integer does not fit 64 bits");
  EXPECT_EQ(error("i j"), "text after the index expression: 'j'");
  EXPECT_EQ(error(std::string(100000, '(')), "expression is nested too deeply");
  std::string product = "(a+b)";
  for (int i = 0; i < 40; ++i) product += "*(c" + absl::StrCat(i) + "+b)";
  EXPECT_EQ(error(product), "index expression is too large");
  absl::string_view text = "i + 2 , j";
  ASSERT_TRUE(ConsumeAffineExpr(&text).ok());
  EXPECT_EQ(text, ", j");
  EXPECT_TRUE(absl::IsFailedPrecondition(Parse("i").Evaluate({}).status()));
  EXPECT_TRUE(absl::IsOutOfRange(
      Parse("i / j").Evaluate({{"i", 1}, {"j", 0}}).status()));
}

TEST(AffineExprTest, TakesApart) {
  const AffineExpr e = Parse("4*tid.x + i - 3");
  const std::optional<AffineExpr::Linear> linear = e.AsLinear();
  ASSERT_TRUE(linear.has_value());
  EXPECT_EQ(linear->constant, -3);
  EXPECT_EQ(linear->coefficients.at("tid.x"), 4);
  EXPECT_FALSE(Parse("i*j").AsLinear().has_value());
  EXPECT_EQ(Parse("i").AsSymbol(), "i");
  EXPECT_FALSE(Parse("2*i").AsSymbol().has_value());
  EXPECT_TRUE(Parse("a / (b + 1)").Mentions("b"));
  EXPECT_EQ(Parse("a / (b + 1)").Symbols().size(), 2);
  EXPECT_EQ(e.Substitute({{"i", Parse("3 - 4*tid.x")}}), AffineExpr(0));
  EXPECT_EQ(Parse("H*i").Bind({{"H", 5}}), Parse("5*i"));
}

// A random tree, as text for the parser and as a value computed directly.
struct Sample {
  std::string text;
  std::optional<int64_t> value;
};

class Generator {
 public:
  Generator(int seed, const AffineExpr::Binding& binding)
      : random_(seed), binding_(binding) {}

  Sample Expr(int depth) {
    const int kind = depth == 0 ? Pick(2) : Pick(11);
    if (kind == 0) {
      const int64_t v = Pick(9);
      return {absl::StrCat(v), v};
    }
    if (kind == 1 || kind == 2) {
      auto it = binding_.begin();
      std::advance(it, Pick(binding_.size()));
      return {it->first, it->second};
    }
    const Sample a = Expr(depth - 1);
    if (kind >= 6) {
      const int64_t c = int64_t{1} << Pick(5) | (Pick(3) == 0 ? 1 : 0);
      const int64_t v = a.value.value_or(0);
      const int64_t floor = v / c - (v % c < 0);
      switch (kind) {
        case 6:
          return {absl::StrCat("(", a.text, ") / ", c), floor};
        case 7:
          return {absl::StrCat("((", a.text, ") % ", c, ")"), v - floor * c};
        case 8:
          return {absl::StrCat("alignup(", a.text, ", ", c, ")"),
                  v == floor * c ? v : (floor + 1) * c};
        case 9:
          return {absl::StrCat("ceildiv(", a.text, ", ", c, ")"),
                  v == floor * c ? floor : floor + 1};
        default:
          return {absl::StrCat("((", a.text, ") & ~", c - 1, ")"),
                  v & ~(c - 1)};
      }
    }
    const Sample b = Expr(depth - 1);
    const int64_t x = *a.value, y = *b.value;
    switch (kind == 3 ? Pick(3) : kind) {
      case 0:
        return {absl::StrCat("(", a.text, ") * (", b.text, ")"), x * y};
      case 1:
        return {absl::StrCat("min(", a.text, ", ", b.text, ")"),
                std::min(x, y)};
      case 2:
        return {absl::StrCat("max(", a.text, ", ", b.text, ")"),
                std::max(x, y)};
      case 4:
        return {absl::StrCat("(", a.text, " + ", b.text, ")"), x + y};
      default:
        return {absl::StrCat("(", a.text, ") - (", b.text, ")"), x - y};
    }
  }

  int64_t Pick(int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n - 1)(random_);
  }

 private:
  std::mt19937_64 random_;
  const AffineExpr::Binding& binding_;
};

TEST(AffineExprTest, KeepsTheValueOfRandomExpressions) {
  for (int seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    AffineExpr::Binding binding;
    AffineExpr::Ranges ranges;
    for (const char* name : {"i", "j", "H", "tid.x"}) {
      const int64_t v = std::uniform_int_distribution<int>(-9, 40)(random);
      binding[name] = v;
      ranges[name] = {v - seed % 5, v + seed % 3};
    }
    const Sample sample = Generator(seed, binding).Expr(4);
    absl::StatusOr<AffineExpr> e = ParseAffineExpr(sample.text);
    ASSERT_TRUE(e.ok()) << sample.text << e.status();
    absl::StatusOr<int64_t> value = e->Evaluate(binding);
    ASSERT_TRUE(value.ok()) << sample.text << value.status();
    ASSERT_EQ(*value, *sample.value) << sample.text << " -> " << e->ToString();
    ASSERT_EQ(Parse(e->ToString()), *e)
        << sample.text << " -> " << e->ToString();
    ASSERT_EQ(Parse(e->ToString()).ToString(), e->ToString());
    const AffineExpr inside = e->SimplifyIn(ranges);
    ASSERT_EQ(inside.Evaluate(binding).value(), *sample.value)
        << e->ToString() << " -> " << inside.ToString();
    ASSERT_EQ(e->Bind(binding), AffineExpr(*sample.value)) << e->ToString();
    if (std::optional<AffineExpr::Interval> b = e->Bounds(ranges)) {
      ASSERT_LE(b->lo, *sample.value) << e->ToString();
      ASSERT_GE(b->hi, *sample.value) << e->ToString();
    }
    ASSERT_EQ(*e - *e, AffineExpr(0));
  }
}

}  // namespace
}  // namespace xla::gpu
