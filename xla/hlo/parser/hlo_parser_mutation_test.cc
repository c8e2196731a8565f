// Broken texts: whatever is done to a module, parsing ends with a module or a
// message. The seeds are fixed, so a failure can be run again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/parser/parser_fuzz_target.h"

namespace xla {
namespace {

using hlo_text::ParsesAndRoundTrips;

constexpr int kMutationsPerSeed = 150;
constexpr size_t kMaxSeedBytes = 6000;

std::vector<std::string> Seeds() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator("xla/hlo/parser/testdata")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const std::string& path : paths) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    const std::string whole = text.str();
    for (const HloTextPiece& piece : SplitInput(whole)) {
      if (piece.text.size() <= kMaxSeedBytes) seeds.emplace_back(piece.text);
    }
  }
  return seeds;
}

// Changes a text the way that accidents and adversaries do.
class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  std::string Mutate(std::string text, absl::string_view donor) {
    const int count = 1 + Below(3);
    for (int i = 0; i < count && !text.empty(); ++i) One(&text, donor);
    return text;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  void One(std::string* text, absl::string_view donor) {
    static constexpr absl::string_view kPieces[] = {"{",
                                                    "}",
                                                    "(",
                                                    ")",
                                                    "[",
                                                    "]",
                                                    ",",
                                                    "=",
                                                    "#0",
                                                    "%",
                                                    "\"",
                                                    "'",
                                                    "->",
                                                    "<=",
                                                    "...",
                                                    "-1",
                                                    "0",
                                                    "1",
                                                    "nan",
                                                    "inf",
                                                    "/*",
                                                    "//",
                                                    "ROOT ",
                                                    "ENTRY ",
                                                    "f32[]",
                                                    "tuple(",
                                                    "?",
                                                    "*",
                                                    "{1,0}",
                                                    "{:",
                                                    "S(",
                                                    "T(1,0)",
                                                    "-start",
                                                    "-done",
                                                    "token[]",
                                                    "{...}",
                                                    "b(",
                                                    "\\",
                                                    "999999999999999999999",
                                                    "_x1_1",
                                                    "mesh[",
                                                    "true",
                                                    "manual",
                                                    "dimensions={",
                                                    "to_apply=",
                                                    "\n",
                                                    "\t"};
    const size_t at = Below(text->size());
    const size_t length = 1 + Below(std::min<size_t>(40, text->size() - at));
    switch (Below(8)) {
      case 0:  // one byte
        (*text)[at] = static_cast<char>(Below(256));
        break;
      case 1:  // lose some
        text->erase(at, length);
        break;
      case 2:  // say it twice
        text->insert(at, text->substr(at, length));
        break;
      case 3:  // a piece of syntax
        text->insert(at, kPieces[Below(std::size(kPieces))]);
        break;
      case 4:  // a piece of syntax instead of something
        text->replace(at, length, kPieces[Below(std::size(kPieces))]);
        break;
      case 5:  // the end is missing
        text->resize(at);
        break;
      case 6: {  // something from another text
        const size_t from = Below(donor.size());
        text->insert(at, donor.substr(from, 1 + Below(60)));
        break;
      }
      default: {  // two lines change places
        const size_t first = text->find('\n', at);
        const size_t second =
            first == std::string::npos ? first : text->find('\n', first + 1);
        if (second == std::string::npos) return;
        std::string line = text->substr(first, second - first);
        text->erase(first, second - first);
        const size_t before = text->rfind('\n', at);
        text->insert(before == std::string::npos ? 0 : before, line);
      }
    }
  }

  std::mt19937 random_;
};

TEST(HloParserMutationTest, BrokenTextsAreMessagesNotCrashes) {
  const std::vector<std::string> seeds = Seeds();
  ASSERT_FALSE(seeds.empty());
  int modules = 0;
  for (size_t i = 0; i < seeds.size(); ++i) {
    ASSERT_TRUE(ParsesAndRoundTrips(seeds[i])) << seeds[i];
    Mutator mutator(static_cast<uint32_t>(1000 + i));
    for (int j = 0; j < kMutationsPerSeed; ++j) {
      modules += ParsesAndRoundTrips(
          mutator.Mutate(seeds[i], seeds[(i + j) % seeds.size()]));
    }
  }
  // Some changes leave a module a module: the others test something, too.
  EXPECT_GT(modules, 0);
  EXPECT_LT(modules, static_cast<int>(seeds.size()) * kMutationsPerSeed);
}

TEST(HloParserMutationTest, EveryPrefixOfAModule) {
  for (const std::string& seed : Seeds()) {
    if (seed.size() > 1500) continue;
    for (size_t length = 0; length < seed.size(); length += 3) {
      ParsesAndRoundTrips(absl::string_view(seed).substr(0, length));
    }
  }
}

}  // namespace
}  // namespace xla
