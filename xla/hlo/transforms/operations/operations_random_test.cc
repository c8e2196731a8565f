// Random graphs of dots, sorts and concatenations stay valid and compute what
// they did.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/verifier_pass.h"
#include "xla/hlo/transforms/operations/dot_merger.h"
#include "xla/hlo/transforms/operations/dot_strength_reduction.h"
#include "xla/hlo/transforms/operations/reshape_mover.h"
#include "xla/hlo/transforms/operations/slice_sinker.h"
#include "xla/hlo/transforms/operations/sort_simplifier.h"
#include "xla/hlo/transforms/operations/variadic_op_splitter.h"

namespace xla {
namespace {

// From the environment, for long runs of optimized builds.
int64_t Modules() {
  const char* text = std::getenv("OPERATIONS_RANDOM_MODULES");
  int64_t count;
  return text != nullptr && absl::SimpleAtoi(text, &count) ? count : 40;
}

// Dots, sums, sorts with two values and concatenations on f32[4,4], of which
// some reads are slices.
std::string Text(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto draw = [&](size_t limit) { return random() % limit; };
  std::vector<std::string> values = {"p", "q"};
  std::string body;
  auto add = [&](const std::string& operation) {
    const std::string name = absl::StrCat("v", values.size());
    absl::StrAppend(&body, "  ", name, " = ", operation, "\n");
    values.push_back(name);
  };
  for (int i = 0; i < 16; ++i) {
    // Few operands: many dots have one in common.
    const std::string a = values[draw(std::min<size_t>(values.size(), 4))];
    const std::string b = values[draw(values.size())];
    const std::string c = values[draw(values.size())];
    switch (draw(5)) {
      case 0:
      case 1:
        add(
            absl::StrFormat("f32[4,4] dot(%s, %s), lhs_contracting_dims={%d}, "
                            "rhs_contracting_dims={%d}",
                            a, b, draw(2), draw(2)));
        break;
      case 2:
        add(absl::StrFormat("f32[4,4] maximum(%s, %s)", b, c));
        break;
      case 3: {
        const std::string s = absl::StrCat("sorted", i);
        absl::StrAppend(&body, "  ", s,
                        " = (f32[4,4], f32[4,4], f32[4,4]) sort(", a, ", ", b,
                        ", ", c, "), dimensions={", draw(2),
                        "}, is_stable=true, to_apply=less\n");
        add(absl::StrFormat("f32[4,4] get-tuple-element(%s), index=%d", s,
                            draw(3)));
        break;
      }
      default: {
        const std::string s = absl::StrCat("joined", i);
        absl::StrAppend(&body, "  ", s, " = f32[12,4] concatenate(", a, ", ", b,
                        ", ", c, "), dimensions={0}\n");
        add(absl::StrFormat("f32[4,4] slice(%s), slice={[%d:%d], [0:4]}", s, 3,
                            7));
      }
    }
  }
  return absl::StrCat(
      "HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] "
      "parameter(1)\n  c = f32[] parameter(2)\n  d = f32[] parameter(3)\n  e = "
      "f32[] parameter(4)\n  f = f32[] parameter(5)\n  ROOT l = pred[] "
      "compare(c, d), direction=LT\n}\nENTRY e {\n  p = f32[4,4] parameter(0)\n"
      "  q = f32[4,4] parameter(1)\n",
      body, "  ROOT r = (f32[4,4], f32[4,4], f32[4,4]) tuple(",
      absl::StrJoin(values.end() - 3, values.end(), ", "), ")\n}\n");
}

using MakePass = std::function<std::unique_ptr<HloPassInterface>()>;

void RunOnModules(const MakePass& make_pass,
                  std::string (*text)(uint64_t) = Text) {
  int64_t changed_count = 0, compared = 0;
  const int64_t modules = Modules();
  for (int64_t seed = 0; seed < modules; ++seed) {
    auto module = ParseAndReturnUnverifiedModule(text(seed));
    ASSERT_TRUE(module.ok()) << module.status() << text(seed);
    const std::unique_ptr<HloModule> original = (*module)->Clone();
    absl::StatusOr<bool> changed = make_pass()->Run(module->get());
    ASSERT_TRUE(changed.ok()) << seed << changed.status();
    HloVerifier verifier(/*layout_sensitive=*/false,
                         /*allow_mixed_precision=*/true);
    auto valid = verifier.Run(module->get());
    ASSERT_TRUE(valid.ok()) << seed << valid.status() << (*module)->ToString();
    if (!*changed) continue;
    ++changed_count;
    auto meaning = ModuleMeaning::Make(*original, MeaningOptions());
    ASSERT_TRUE(meaning.ok()) << seed << meaning.status();
    auto difference = (*meaning)->DifferenceFrom(**module);
    ASSERT_TRUE(difference.ok()) << seed << difference.status();
    ASSERT_FALSE(difference->has_value())
        << seed << **difference << original->ToString()
        << (*module)->ToString();
    ++compared;
  }
  EXPECT_GT(changed_count, modules / 4);
  EXPECT_EQ(compared, changed_count);
}

TEST(OperationsRandomTest, DotMerger) {
  DotMergerOptions options;
  options.min_dots = 2;
  RunOnModules([&] { return std::make_unique<DotMerger>(options); });
}

// A dot on shapes of few dimensions of few sizes, each of them a batch, summed
// up or neither: about half of them are no matrix products.
std::string DotText(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto draw = [&](size_t limit) { return random() % limit; };
  std::vector<int64_t> batch, summed;
  std::vector<std::vector<int64_t>> free(2);
  for (size_t i = draw(3); i > 0; --i) batch.push_back(1 + draw(3));
  const bool sums = draw(2) == 0;
  for (size_t i = draw(3); i > 0; --i) summed.push_back(sums ? 2 : 1);
  for (auto& sizes : free) {
    for (size_t i = draw(3); i > 0; --i) {
      sizes.push_back(sums && draw(4) != 0 ? 1 : 1 + draw(3));
    }
  }
  std::vector<int64_t> result = batch;
  std::vector<std::string> shapes, batches, sum_dims;
  for (const auto& sizes : free) {
    std::vector<int64_t> all = batch;
    all.insert(all.end(), summed.begin(), summed.end());
    all.insert(all.end(), sizes.begin(), sizes.end());
    result.insert(result.end(), sizes.begin(), sizes.end());
    // Free dimensions keep their order.
    std::vector<size_t> order(all.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = 0; i + sizes.size() < order.size(); ++i) {
      std::swap(order[i], order[draw(order.size() - sizes.size())]);
    }
    std::rotate(order.begin(), order.begin() + draw(order.size() + 1),
                order.end());
    std::vector<int64_t> place(order.size()), dims;
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (size_t i : order) dims.push_back(all[i]);
    std::vector<size_t> free_places(
        place.begin() + batch.size() + summed.size(), place.end());
    if (!std::is_sorted(free_places.begin(), free_places.end())) {
      return DotText(seed + 1000003);
    }
    shapes.push_back(absl::StrJoin(dims, ","));
    batches.push_back(
        absl::StrJoin(place.begin(), place.begin() + batch.size(), ","));
    sum_dims.push_back(
        absl::StrJoin(place.begin() + batch.size(),
                      place.begin() + batch.size() + summed.size(), ","));
  }
  const char* types[][2] = {{"f32", "f32"}, {"bf16", "bf16"}, {"bf16", "f32"},
                            {"s8", "s32"},  {"f32", "f16"},   {"c64", "c64"}};
  const auto& type = types[draw(6)];
  return absl::StrFormat(
      "HloModule m\nENTRY e {\n  a = %s[%s] parameter(0)\n  b = %s[%s] "
      "parameter(1)\n  ROOT d = %s[%s] dot(a, b), lhs_batch_dims={%s}, "
      "rhs_batch_dims={%s}, lhs_contracting_dims={%s}, "
      "rhs_contracting_dims={%s}\n}\n",
      type[0], shapes[0], type[0], shapes[1], type[1],
      absl::StrJoin(result, ","), batches[0], batches[1], sum_dims[0],
      sum_dims[1]);
}

TEST(OperationsRandomTest, DotStrengthReduction) {
  RunOnModules([] { return std::make_unique<DotStrengthReduction>(); },
               DotText);
}

// Elementwise instructions on f32[2,3] between reshapes and transposes of
// parameters, some of which others read, too; constants and broadcasts.
std::string RearrangedText(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto draw = [&](size_t limit) { return random() % limit; };
  std::vector<std::string> values;
  std::string body;
  auto add = [&](const std::string& operation) {
    const std::string name = absl::StrCat("v", values.size());
    absl::StrAppend(&body, "  ", name, " = f32[2,3] ", operation, "\n");
    values.push_back(name);
  };
  // Mostly of one kind, so that some agree.
  const size_t kind = draw(2);
  for (int i = 0; i < 4; ++i) {
    switch (draw(6)) {
      case 0:
        add("constant({{1, 2, 3}, {4, 5, 6}})");
        break;
      case 1:
        add("broadcast(s), dimensions={}");
        break;
      case 2:
        add("broadcast(v), dimensions={1}");
        break;
      default:
        add(draw(8) == 0 ? "negate(w)"
            : kind == 0  ? absl::StrCat("reshape(", draw(2) ? "p" : "q", ")")
                         : absl::StrCat("transpose(", draw(2) ? "t" : "u",
                                        "), dimensions={1,0}"));
    }
  }
  for (int i = 0; i < 8; ++i) {
    const std::string a = values[draw(values.size())];
    const std::string b = values[draw(values.size())];
    switch (draw(4)) {
      case 0:
        add(absl::StrCat("clamp(", a, ", ", b, ", ", a, ")"));
        break;
      case 1:
        add(absl::StrCat("negate(", a, ")"));
        break;
      default:
        add(absl::StrCat("subtract(", a, ", ", b, ")"));
    }
  }
  return absl::StrCat(
      "HloModule m\nENTRY e {\n  p = f32[6] parameter(0)\n  q = f32[6] "
      "parameter(1)\n  t = f32[3,2] parameter(2)\n  u = f32[3,2] "
      "parameter(3)\n  s = f32[] parameter(4)\n  v = f32[3] parameter(5)\n"
      "  w = f32[2,3] parameter(6)\n",
      body, "  ROOT r = (f32[2,3], f32[2,3], f32[2,3]) tuple(",
      absl::StrJoin(values.end() - 3, values.end(), ", "), ")\n}\n");
}

TEST(OperationsRandomTest, ReshapeMover) {
  ReshapeMoverOptions options;
  for (const bool cheap : {false, true}) {
    options.reshape_of_1d_broadcast_is_cheap = cheap;
    RunOnModules([&] { return std::make_unique<ReshapeMover>(options); },
                 RearrangedText);
  }
}

// What is done to the halves of four values, which may overlap or have gaps.
std::string SlicedText(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto draw = [&](size_t limit) { return random() % limit; };
  const size_t second = 2 + draw(3);
  std::vector<std::string> halves[2];
  std::string body;
  auto add = [&](int half, const std::string& operation) {
    const std::string name =
        absl::StrFormat("h%dv%d", half, halves[half].size());
    absl::StrAppend(&body, "  ", name, " = f32[4] ", operation, "\n");
    halves[half].push_back(name);
  };
  for (const char* parameter : {"p", "q"}) {
    for (int half = 0; half < 2; ++half) {
      const size_t start = half == 0 ? 0 : second;
      add(half, absl::StrFormat("slice(%s), slice={[%d:%d]}", parameter, start,
                                start + 4));
    }
  }
  for (int i = 0; i < 6; ++i) {
    const size_t a = draw(halves[0].size()), b = draw(halves[0].size());
    const bool negates = draw(3) == 0;
    for (int half = 0; half < 2; ++half) {
      // Some do not do the same.
      const size_t other = draw(6) == 0 ? draw(halves[half].size()) : b;
      add(half, negates ? absl::StrCat("negate(", halves[half][a], ")")
                        : absl::StrCat("subtract(", halves[half][a], ", ",
                                       halves[half][other], ")"));
    }
  }
  return absl::StrCat(
      "HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n  q = f32[8] "
      "parameter(1)\n",
      body, "  ROOT r = (f32[4], f32[4]) tuple(", halves[0].back(), ", ",
      halves[1].back(), ")\n}\n");
}

TEST(OperationsRandomTest, SliceSinker) {
  RunOnModules([] { return std::make_unique<SliceSinker>(); }, SlicedText);
}

TEST(OperationsRandomTest, SortSimplifier) {
  RunOnModules([] { return std::make_unique<SortSimplifier>(); });
}

TEST(OperationsRandomTest, VariadicOpSplitter) {
  VariadicOpSplitterOptions options;
  options.max_operands = 2;
  RunOnModules([&] { return std::make_unique<VariadicOpSplitter>(options); });
}

}  // namespace
}  // namespace xla
