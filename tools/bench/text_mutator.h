#ifndef TOOLS_BENCH_TEXT_MUTATOR_H_
#define TOOLS_BENCH_TEXT_MUTATOR_H_

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace xla {

// Changes texts at random so that many of them still mean something: words are
// exchanged for words, numbers for numbers, lines move, and parts of other
// texts come in; now and then a byte is wrong.
class TextMutator {
 public:
  // Words and parts are those of these texts, which it keeps.
  explicit TextMutator(std::vector<std::string> texts);

  const std::vector<std::string>& texts() const { return texts_; }

  // One to four changes. The same state of `random` makes the same change.
  std::string Mutate(std::string text, std::mt19937_64& random) const;

 private:
  struct Part {
    size_t begin;
    size_t end;
  };

  void ChangeOne(std::string& text, std::mt19937_64& random) const;
  void ChangeWord(std::string& text, size_t at, std::mt19937_64& random) const;
  void ChangeLines(std::string& text, size_t at, std::mt19937_64& random) const;

  std::vector<std::string> texts_;
  std::vector<std::string> words_;  // sorted
};

}  // namespace xla

#endif  // TOOLS_BENCH_TEXT_MUTATOR_H_
