#include "tools/bench/text_mutator.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/log/check.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace xla {
namespace {

constexpr absl::string_view kNumbers[] = {"-1",
                                          "0",
                                          "1",
                                          "2",
                                          "3",
                                          "64",
                                          "2147483648",
                                          "4294967296",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551616",
                                          "1e400",
                                          "nan",
                                          "<=4",
                                          "?"};

constexpr absl::string_view kMarks[] = {
    "{",  "}",  "(", ")",  "[",  "]",     ",",       "=",     "\"",
    "//", "/*", "%", "->", "\n", "{...}", ", f32[]", "ROOT ", "#1"};

bool IsWordByte(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
}

size_t Below(std::mt19937_64& random, size_t limit) { return random() % limit; }

template <size_t n>
absl::string_view OneOf(const absl::string_view (&texts)[n],
                        std::mt19937_64& random) {
  return texts[Below(random, n)];
}

}  // namespace

TextMutator::TextMutator(std::vector<std::string> texts)
    : texts_(std::move(texts)) {
  CHECK(!texts_.empty());
  absl::btree_set<std::string> words;
  for (absl::string_view text : texts_) {
    for (size_t i = 0; i < text.size();) {
      size_t end = i;
      while (end < text.size() && IsWordByte(text[end])) ++end;
      if (end > i) words.emplace(text.substr(i, end - i));
      i = std::max(end, i + 1);
    }
  }
  words.emplace("f32");
  words_.assign(words.begin(), words.end());
}

std::string TextMutator::Mutate(std::string text,
                                std::mt19937_64& random) const {
  for (size_t n = 1 + Below(random, 4); n > 0 && !text.empty(); --n) {
    ChangeOne(text, random);
  }
  return text;
}

void TextMutator::ChangeOne(std::string& text, std::mt19937_64& random) const {
  const size_t at = Below(random, text.size());
  const size_t length =
      1 + Below(random, std::min<size_t>(40, text.size() - at));
  switch (Below(random, 10)) {
    case 0:
      text[at] = static_cast<char>(Below(random, 256));
      return;
    case 1:
      text.erase(at, length);
      return;
    case 2:
      text.insert(at, OneOf(kMarks, random));
      return;
    case 3: {  // the same again, elsewhere
      const std::string part = text.substr(at, length);
      text.insert(Below(random, text.size()), part);
      return;
    }
    case 4: {  // a part of another text
      const std::string& donor = texts_[Below(random, texts_.size())];
      if (donor.empty()) return;
      text.insert(at, donor, Below(random, donor.size()),
                  1 + Below(random, 60));
      return;
    }
    case 5:
      ChangeLines(text, at, random);
      return;
    default:
      ChangeWord(text, at, random);
      return;
  }
}

// The word at or behind the place becomes a number, a word of this text or one
// of any.
void TextMutator::ChangeWord(std::string& text, size_t at,
                             std::mt19937_64& random) const {
  const auto word_at = [&](size_t place) -> Part {
    size_t begin = place;
    while (begin < text.size() && !IsWordByte(text[begin])) ++begin;
    while (begin > 0 && begin < text.size() && IsWordByte(text[begin - 1])) {
      --begin;
    }
    size_t end = begin;
    while (end < text.size() && IsWordByte(text[end])) ++end;
    return {begin, end};
  };
  const Part word = word_at(at);
  if (word.begin == word.end) return;
  std::string other;
  if (absl::ascii_isdigit(text[word.begin]) && Below(random, 4) != 0) {
    other = std::string(OneOf(kNumbers, random));
  } else if (Below(random, 2) == 0) {
    const Part from = word_at(Below(random, text.size()));
    other = text.substr(from.begin, from.end - from.begin);
  } else {
    other = words_[Below(random, words_.size())];
  }
  text.replace(word.begin, word.end - word.begin, other);
}

// The line behind the place goes, or moves behind another one.
void TextMutator::ChangeLines(std::string& text, size_t at,
                              std::mt19937_64& random) const {
  const size_t first = text.find('\n', at);
  if (first == std::string::npos) return;
  const size_t second = text.find('\n', first + 1);
  if (second == std::string::npos) return;
  const std::string line = text.substr(first, second - first);
  text.erase(first, second - first);
  if (text.empty() || Below(random, 2) == 0) return;
  const size_t behind = text.find('\n', Below(random, text.size()));
  if (behind != std::string::npos) text.insert(behind, line);
}

}  // namespace xla
