#ifndef XLA_HLO_PARSER_PARSER_BASE_H_
#define XLA_HLO_PARSER_PARSER_BASE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::hlo_text {

using IntVector = absl::InlinedVector<int64_t, 6>;

// Base of the parser: one token of lookahead, messages, nesting limits,
// numbers, words and lists.
//
// Conventions of all Parse functions: on entry the current token is the first
// of the construct, on exit the one after it; they return false after reporting
// an error.
class ParserBase {
 public:
  using Loc = HloLexer::LocTy;

  ParserBase(const SourceText* source, const HloParserOptions& options)
      : options_(options), sink_(source), lexer_(source->text()) {
    lexer_.Lex();
  }
  ParserBase(const ParserBase&) = delete;
  ParserBase& operator=(const ParserBase&) = delete;

  absl::Status status() const { return sink_.ToStatus(); }
  DiagnosticSink& sink() { return sink_; }

  // Reports what is left of the text, if anything.
  bool ExpectEnd();

 protected:
  // Counts one level of nesting during its lifetime.
  class Nesting {
   public:
    explicit Nesting(ParserBase* parser) : parser_(parser) {
      ++parser_->depth_;
    }
    ~Nesting() { --parser_->depth_; }
    // False, with a message, if the text nests too deeply.
    bool ok() const {
      return parser_->depth_ < kUncheckedDepth || parser_->CheckDepth();
    }

   private:
    // Below this depth the stack is not checked.
    static constexpr int kUncheckedDepth = 4;
    ParserBase* parser_;
  };

  TokKind kind() const { return lexer_.GetKind(); }
  Loc loc() const { return lexer_.GetLoc(); }
  void Next() { lexer_.Lex(); }

  bool Error(Loc location, absl::string_view message) {
    return sink_.Error(location, message);
  }
  // Reports that `expected` should stand where the current token is.
  bool Expected(absl::string_view expected);

  // Moves on and returns true if the current token is of that kind.
  bool Eat(TokKind wanted) {
    if (kind() != wanted) return false;
    Next();
    return true;
  }
  // The same, and a message if it is not.
  bool Expect(TokKind wanted) {
    if (kind() == wanted) {
      Next();
      return true;
    }
    return Expected(TokKindToString(wanted));
  }
  bool Expect(TokKind wanted, absl::string_view context) {
    if (kind() == wanted) {
      Next();
      return true;
    }
    return Expected(absl::StrCat(TokKindToString(wanted), " ", context));
  }

  bool ParseInt(int64_t* result);
  // An integer within [least, most].
  bool ParseIntInRange(int64_t least, int64_t most, int64_t* result);
  bool ParseInt32(int32_t* result);
  bool ParseDouble(double* result);
  // true, false, 1 or 0.
  bool ParseBool(bool* result);
  bool ParseString(std::string* result);  // UTF-8
  bool ParseBytes(std::string* result);   // any
  // Any word: names, keywords and types.
  bool ParseWord(absl::string_view what, absl::string_view* result);
  // An attribute name, '=' included in the token.
  bool ParseAttributeName(absl::string_view* result);
  // One of `words`: its index.
  bool ParseEnum(absl::string_view what,
                 absl::Span<const absl::string_view> words, int* result);

  // open [element {',' element}] close; `element` parses one.
  template <typename Element>
  bool ParseList(TokKind open, TokKind close, Element element) {
    if (!Expect(open)) return false;
    if (Eat(close)) return true;
    while (true) {
      if (!element()) return false;
      if (Eat(close)) return true;
      if (kind() != TokKind::kComma) {
        return Expected(absl::StrCat("',' or ", TokKindToString(close)));
      }
      Next();
    }
  }
  template <typename Ints>
  bool ParseIntList(TokKind open, TokKind close, Ints* result) {
    result->clear();
    return ParseList(open, close, [&] {
      int64_t value;
      if (!ParseInt(&value)) return false;
      result->push_back(value);
      return true;
    });
  }
  // {1,2}
  template <typename Ints>
  bool ParseBracedInts(Ints* result) {
    return ParseIntList(TokKind::kLbrace, TokKind::kRbrace, result);
  }

  // Text of the current token, for messages.
  std::string Found() const;

  HloParserOptions options_;
  DiagnosticSink sink_;
  HloLexer lexer_;

 private:
  friend class Nesting;

  bool CheckDepth();

  int depth_ = 0;
  // Lowest stack address that may be used; null: unknown yet.
  const char* stack_limit_ = nullptr;
};

}  // namespace xla::hlo_text

#endif  // XLA_HLO_PARSER_PARSER_BASE_H_
