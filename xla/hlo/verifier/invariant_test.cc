#include "xla/hlo/verifier/invariant.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

int NumberOf(Invariant invariant) {
  int number = -1;
  EXPECT_TRUE(absl::SimpleAtoi(InvariantNumber(invariant).substr(1), &number));
  return number;
}

TEST(InvariantTest, NumbersAscend) {
  int previous = 0;
  for (Invariant invariant : AllInvariants()) {
    EXPECT_EQ(InvariantNumber(invariant)[0], 'V');
    EXPECT_GT(NumberOf(invariant), previous);
    previous = NumberOf(invariant);
  }
}

TEST(InvariantTest, TextsDiffer) {
  std::set<absl::string_view> texts;
  for (Invariant invariant : AllInvariants()) {
    EXPECT_TRUE(texts.insert(InvariantText(invariant)).second)
        << InvariantText(invariant);
  }
}

TEST(InvariantTest, FindsText) {
  EXPECT_EQ(InvariantNumber(Invariant::V17), "V17");
  EXPECT_EQ(InvariantText(Invariant::V17),
            "operands are defined in the same computation");
}

// Some test of this folder expects each of them to be broken.
TEST(InvariantTest, EachIsTested) {
  const std::filesystem::path folder =
      std::filesystem::path(std::getenv("TEST_SRCDIR")) /
      std::getenv("TEST_WORKSPACE") / "xla/hlo/verifier";
  std::string tests;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".hlo" && extension != ".cc") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    tests += text.str();
  }
  ASSERT_FALSE(tests.empty());
  for (Invariant invariant : AllInvariants()) {
    EXPECT_TRUE(absl::StrContains(
        tests, absl::StrCat("[", InvariantNumber(invariant), "]")))
        << "no test breaks " << InvariantNumber(invariant) << ", "
        << InvariantText(invariant);
  }
}

}  // namespace
}  // namespace xla
