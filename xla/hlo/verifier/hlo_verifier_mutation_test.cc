// Modules of testdata with a word or two exchanged: most are still HLO, and
// odd; whatever they are, the verifier says so. The seeds are fixed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/corpus.h"
#include "xla/hlo/verifier/verifier_fuzz_target.h"

namespace xla {
namespace {

constexpr int kMutationsPerSeed = 12;

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const std::string& path : HloFilesBelow(absl::StrCat(
           std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"),
           "/xla/hlo/verifier/testdata"))) {
    std::stringstream stream;
    stream << std::ifstream(path).rdbuf();
    const std::string text = stream.str();
    for (const HloTextPiece& piece : SplitInput(text)) {
      seeds.emplace_back(piece.text);
    }
  }
  return seeds;
}

// Begins and ends of words and numbers.
std::vector<std::pair<size_t, size_t>> Words(absl::string_view text) {
  std::vector<std::pair<size_t, size_t>> words;
  const auto in_word = [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '-';
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end > i) words.emplace_back(i, end);
    i = std::max(end, i + 1);
  }
  return words;
}

// A word of `text` becomes one of `donor`, or a number.
std::string Exchange(std::string text, absl::string_view donor,
                     std::mt19937* random) {
  static constexpr absl::string_view kNumbers[] = {
      "-1", "0", "1", "2", "3", "8", "1000000", "4611686018427387904"};
  const auto words = Words(text);
  const auto others = Words(donor);
  if (words.empty() || others.empty()) return text;
  const auto [begin, end] = words[(*random)() % words.size()];
  const auto [from, to] = others[(*random)() % others.size()];
  const absl::string_view word =
      absl::ascii_isdigit(text[begin])
          ? kNumbers[(*random)() % std::size(kNumbers)]
          : donor.substr(from, to - from);
  return text.replace(begin, end - begin, word);
}

TEST(HloVerifierMutationTest, OddModulesAreFineOrRefused) {
  const std::vector<std::string> seeds = Seeds();
  ASSERT_GT(seeds.size(), 300);
  int good = 0;
  int64_t runs = 0;
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::mt19937 random(static_cast<uint32_t>(i));
    for (int j = 0; j < kMutationsPerSeed; ++j) {
      std::string text = Exchange(seeds[i], seeds[i], &random);
      if (j % 2 == 1) {
        text = Exchange(text, seeds[random() % seeds.size()], &random);
      }
      good += VerifiesAndRoundTrips(text);
      ++runs;
    }
  }
  // Some are, and some are not: both ends of the target are reached.
  EXPECT_GT(good, runs / 20);
  EXPECT_LT(good, runs);
}

}  // namespace
}  // namespace xla
