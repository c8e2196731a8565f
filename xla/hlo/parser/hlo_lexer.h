#ifndef XLA_HLO_PARSER_HLO_LEXER_H_
#define XLA_HLO_PARSER_HLO_LEXER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "xla/xla_data.pb.h"

namespace xla {

// The kind of a token of HLO text.
enum class TokKind {
  kEof,
  kError,

  kEqual,         // =
  kComma,         // ,
  kColon,         // :
  kAsterisk,      // *
  kQuestionMark,  // ?
  kOctothorp,     // #
  kPlus,          // +
  kTilde,         // ~
  kLsquare,       // [
  kRsquare,       // ]
  kLbrace,        // {
  kRbrace,        // }
  kLparen,        // (
  kRparen,        // )
  kDots,          // ...
  kArrow,         // ->
  kLeq,           // <=

  // Keywords. Each is also a legal name.
  kw_HloModule,
  kw_ENTRY,
  kw_ROOT,
  kw_FileLocations,
  kw_FileNames,
  kw_FunctionNames,
  kw_StackFrames,
  kw_true,
  kw_false,
  kw_maximal,
  kw_replicated,
  kw_manual,
  kw_last_tile_dim_replicate,
  kw_shard_as,
  kw_shard_like,
  kw_unknown,
  kw_inf,
  kw_unreduced,

  kNegInf,         // -inf
  kPrimitiveType,  // f32, s8, opaque, token (but not tuple: an opcode too)
  kName,           // %add.1, or add.1 before a colon
  kAttributeName,  // dimensions= (the '=' belongs to the token)
  kDimLabels,      // 01bf_01io->01bf
  kDxD,            // 3x3
  kPad,            // 0_0x1_1
  kIdent,          // any other word
  kString,         // "text", 'text'
  kInt,            // 42, -7; must fit in 64 bits, signed or unsigned
  kDecimal,        // 4.2, 1e-3, nan, -nan, nan(0x7fc0), integers of > 64 bits
};

std::string TokKindToString(TokKind kind);

// Cuts HLO text into tokens, one at a time, without copying it.
//
// Blanks, `/* */` and `//` comments separate tokens. One token of state, no
// memory: going back to any place is a pointer assignment and one token's work.
// The text must outlive the lexer. Every call is O(length of what it reads).
class HloLexer {
 public:
  using LocTy = const char*;

  explicit HloLexer(absl::string_view buf)
      : begin_(buf.data()), end_(buf.data() + buf.size()), cursor_(begin_) {}

  // Moves to the next token and returns its kind.
  TokKind Lex() { return kind_ = LexToken(); }

  TokKind GetKind() const { return kind_; }

  // Name, keyword, attribute or type without decoration; strings without
  // quotes, escapes resolved; dimension labels etc. as written.
  std::string GetStrVal() const;
  // The same as a part of the text: escapes in strings stay.
  absl::string_view GetStrView() const {
    return absl::string_view(value_begin_, value_end_ - value_begin_);
  }
  // Writes a kString, escapes resolved, to `out`; false if one is malformed.
  bool GetString(std::string* out) const;

  // For kInt. Values above 2^63-1 have IsUnsigned64() and wrap around.
  int64_t GetInt64Val() const { return int_value_; }
  bool IsUnsigned64() const { return is_unsigned64_; }
  // For kDecimal, kInt, kw_inf and kNegInf.
  double GetDecimalVal() const;
  // The payload of `nan(0x...)`.
  std::optional<uint64_t> GetNanPayload() const;
  PrimitiveType GetPrimitiveTypeVal() const { return primitive_type_; }

  // The error of a kError token.
  absl::string_view GetErrorMessage() const { return error_; }

  // True for words that may be names: kIdent, kName, keywords, types, nan.
  bool IsWord() const;

  // Start of the current token, and the end of it.
  LocTy GetLoc() const { return token_; }
  LocTy GetEndLoc() const { return cursor_; }
  // End of the token before the current one.
  LocTy GetPreviousEndLoc() const { return previous_end_; }

  // Makes the token at `location` the current one.
  TokKind Reset(LocTy location) {
    cursor_ = location;
    return Lex();
  }

  // 1-based. O(location).
  std::pair<unsigned, unsigned> GetLineAndColumn(LocTy location) const;
  // The line that holds `location`, without end-of-line characters.
  absl::string_view GetLine(LocTy location) const;

  // Kind of the token after the current one, which stays.
  TokKind LookAhead();

  // With the current token at '{': makes everything up to the matching '}' one
  // kString token, braces included, as written. Braces inside "strings" do not
  // count. Returns kError if there is no match.
  TokKind LexJsonDict();

  absl::string_view text() const {
    return absl::string_view(begin_, end_ - begin_);
  }

 private:
  TokKind LexToken();
  // Skips blanks and comments; false on an unterminated comment.
  bool SkipBlanks();
  TokKind LexWord();
  TokKind LexPercentName();
  TokKind LexNumber();
  TokKind LexNumberPattern();
  TokKind LexDecimal();
  TokKind LexNan(const char* after_nan);
  TokKind LexString(char quote);
  TokKind Punctuation(TokKind kind, int length);
  TokKind Error(absl::string_view message, const char* resume);
  TokKind Value(TokKind kind, const char* end);
  const char* MatchDimLabels(const char* p) const;
  const char* MatchDxD(const char* p) const;
  const char* MatchPad(const char* p) const;

  const char* begin_;
  const char* end_;
  const char* cursor_;
  const char* previous_end_ = nullptr;

  // The current token.
  TokKind kind_ = TokKind::kEof;
  bool has_escapes_ = false;
  bool is_unsigned64_ = false;
  PrimitiveType primitive_type_ = PRIMITIVE_TYPE_INVALID;
  const char* token_ = nullptr;
  const char* value_begin_ = nullptr;
  const char* value_end_ = nullptr;
  int64_t int_value_ = 0;
  absl::string_view error_;
};

// True if `str` as a whole is one dictionary as LexJsonDict takes it.
bool LexesAsJsonDict(absl::string_view str);

// The primitive type of that name, or PRIMITIVE_TYPE_INVALID. Knows all types
// with a name in HLO text, except tuples.
PrimitiveType PrimitiveTypeFromText(absl::string_view name);

}  // namespace xla

#endif  // XLA_HLO_PARSER_HLO_LEXER_H_
