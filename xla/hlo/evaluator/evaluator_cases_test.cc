#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"

// Runs testdata/*.cases. A case is a block of lines between empty lines: the
// instructions of a computation without parameters (or whole computations, if
// one of them says ENTRY), then one of
//
//   -> VALUE   the result, printed without shape; spaces and the sign of NaN
//              do not count
//   ~> VALUE   the same, numbers to five digits or 1e-6
//   !! TEXT    an error whose message holds the text
//
// Values follow from the definitions, not from what the evaluator says.

namespace xla {
namespace {

struct Case {
  int line = 0;
  std::string hlo;
  char kind = 0;
  std::string expected;
};

std::vector<Case> ReadCases(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<Case> cases;
  Case current;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    for (absl::string_view mark : {"-> ", "~> ", "!! "}) {
      if (!absl::StartsWith(line, mark)) continue;
      current.kind = mark[0];
      current.expected = line.substr(3);
      current.line = number;
      if (!absl::StrContains(current.hlo, "ENTRY")) {
        current.hlo = absl::StrCat("ENTRY e {\n", current.hlo, "}");
      }
      cases.push_back(current);
      current = Case();
      line.clear();
    }
    if (!line.empty()) absl::StrAppend(&current.hlo, line, "\n");
  }
  EXPECT_TRUE(current.hlo.empty()) << path << ": the last case has no result";
  return cases;
}

// Splits at everything that is not part of a number.
std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar("{}(), "), absl::SkipEmpty());
}

bool Close(absl::string_view a, absl::string_view b) {
  double x;
  double y;
  if (a == b) return true;
  if (!absl::SimpleAtod(a, &x) || !absl::SimpleAtod(b, &y)) return false;
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return std::abs(x - y) <= 1e-6 + 1e-5 * std::abs(y);
}

bool AllClose(absl::string_view a, absl::string_view b) {
  const std::vector<std::string> x = Words(a);
  const std::vector<std::string> y = Words(b);
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!Close(x[i], y[i])) return false;
  }
  return true;
}

std::string Normalized(absl::string_view text) {
  return absl::StrReplaceAll(text, {{" ", ""}, {"-nan", "nan"}});
}

absl::StatusOr<std::string> EvaluateText(const std::string& hlo) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(hlo);
  if (!module.ok()) return module.status();
  HloEvaluator evaluator(/*max_loop_iterations=*/1000);
  absl::StatusOr<Literal> result =
      evaluator.Evaluate(**module, absl::Span<const Literal>());
  if (!result.ok()) return result.status();
  return result->ToStringWithoutShapeOneline();
}

class EvaluatorCasesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(EvaluatorCasesTest, AllCases) {
  const std::string path =
      absl::StrCat("xla/hlo/evaluator/testdata/", GetParam(), ".cases");
  const std::vector<Case> cases = ReadCases(path);
  EXPECT_FALSE(cases.empty());
  for (const Case& c : cases) {
    const std::string where = absl::StrCat(path, ":", c.line, "\n", c.hlo);
    const absl::StatusOr<std::string> result = EvaluateText(c.hlo);
    if (c.kind == '!') {
      ASSERT_FALSE(result.ok()) << where << "\n" << *result;
      EXPECT_TRUE(absl::StrContains(result.status().message(), c.expected))
          << where << "\n"
          << result.status();
      continue;
    }
    if (!result.ok()) {
      ADD_FAILURE() << where << "\n" << result.status();
    } else if (c.kind == '-') {
      EXPECT_EQ(Normalized(*result), Normalized(c.expected)) << where;
    } else {
      EXPECT_TRUE(AllClose(*result, c.expected))
          << where << "\n"
          << *result << " is not close to\n"
          << c.expected;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, EvaluatorCasesTest,
                         ::testing::Values("binary", "control_flow", "convert",
                                           "data_movement", "dot_conv",
                                           "dynamic", "errors", "numeric",
                                           "reduction", "rng", "sort", "unary"),
                         [](const ::testing::TestParamInfo<const char*>& info) {
                           return std::string(info.param);
                         });

}  // namespace
}  // namespace xla
