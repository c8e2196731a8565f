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

void RunOnModules(const MakePass& make_pass) {
  int64_t changed_count = 0, compared = 0;
  const int64_t modules = Modules();
  for (int64_t seed = 0; seed < modules; ++seed) {
    auto module = ParseAndReturnUnverifiedModule(Text(seed));
    ASSERT_TRUE(module.ok()) << module.status() << Text(seed);
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
