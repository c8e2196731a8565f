#include "xla/hlo/parser/hlo_lexer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "xla/xla_data.pb.h"

// A hand-written scanner over the text in memory. Characters are classified by
// a table, and tokens refer to the text instead of copying it; escapes and
// numbers are only converted when a token's value is asked for. HLO text is not
// regular at word level: dimension labels (b01f_01io->b01f), window sizes (3x3)
// and paddings (0_1x2_3) begin like words or numbers, so these are matched as
// wholes at positions where they may begin. Errors are tokens as well and say
// where scanning resumes.

namespace xla {
namespace {

enum CharClass : uint8_t {
  kBlank = 1,      // space, tab, CR, LF, VT, FF
  kDigit = 2,      // 0-9
  kWordStart = 4,  // A-Z a-z _
  kWordRest = 8,   // those, digits, . and -
  kLabel = 16,     // digits, b f i o ?: dimension labels
};

constexpr std::array<uint8_t, 256> MakeCharTable() {
  std::array<uint8_t, 256> table{};
  for (int c : {' ', '\t', '\r', '\n', '\v', '\f'}) table[c] |= kBlank;
  for (int c = '0'; c <= '9'; ++c) table[c] |= kDigit | kWordRest | kLabel;
  for (int c = 'a'; c <= 'z'; ++c) table[c] |= kWordStart | kWordRest;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] |= kWordStart | kWordRest;
  table['_'] |= kWordStart | kWordRest;
  table['.'] |= kWordRest;
  table['-'] |= kWordRest;
  for (int c : {'b', 'f', 'i', 'o', '?'}) table[c] |= kLabel;
  return table;
}

constexpr std::array<uint8_t, 256> kChars = MakeCharTable();

inline bool Is(char c, uint8_t char_class) {
  return (kChars[static_cast<unsigned char>(c)] & char_class) != 0;
}

// The keyword that `word` is, or kIdent.
TokKind Keyword(absl::string_view word) {
  switch (word.size()) {
    case 3:
      if (word == "inf") return TokKind::kw_inf;
      break;
    case 4:
      if (word == "ROOT") return TokKind::kw_ROOT;
      if (word == "true") return TokKind::kw_true;
      break;
    case 5:
      if (word == "ENTRY") return TokKind::kw_ENTRY;
      if (word == "false") return TokKind::kw_false;
      break;
    case 6:
      if (word == "manual") return TokKind::kw_manual;
      break;
    case 7:
      if (word == "maximal") return TokKind::kw_maximal;
      if (word == "unknown") return TokKind::kw_unknown;
      break;
    case 8:
      if (word == "shard_as") return TokKind::kw_shard_as;
      break;
    case 9:
      if (word == "HloModule") return TokKind::kw_HloModule;
      if (word == "FileNames") return TokKind::kw_FileNames;
      if (word == "unreduced") return TokKind::kw_unreduced;
      break;
    case 10:
      if (word == "replicated") return TokKind::kw_replicated;
      if (word == "shard_like") return TokKind::kw_shard_like;
      break;
    case 11:
      if (word == "StackFrames") return TokKind::kw_StackFrames;
      break;
    case 13:
      if (word == "FileLocations") return TokKind::kw_FileLocations;
      if (word == "FunctionNames") return TokKind::kw_FunctionNames;
      break;
    case 23:
      if (word == "last_tile_dim_replicate") {
        return TokKind::kw_last_tile_dim_replicate;
      }
      break;
    default:
      break;
  }
  return TokKind::kIdent;
}

}  // namespace

TokKind HloLexer::Error(absl::string_view message, const char* resume) {
  error_ = message;
  value_begin_ = token_;
  value_end_ = resume;
  cursor_ = resume;
  return TokKind::kError;
}

TokKind HloLexer::Value(TokKind kind, const char* end) {
  value_begin_ = token_;
  value_end_ = end;
  cursor_ = end;
  return kind;
}

TokKind HloLexer::Punctuation(TokKind kind, int length) {
  cursor_ = token_ + length;
  return kind;
}

bool HloLexer::SkipBlanks() {
  const char* p = cursor_;
  while (true) {
    while (p < end_ && Is(*p, kBlank)) ++p;
    if (p + 1 >= end_ || *p != '/') break;
    if (p[1] == '/') {
      const absl::string_view rest(p, end_ - p);
      p += std::min(rest.find_first_of("\r\n"), rest.size());
    } else if (p[1] == '*') {
      absl::string_view rest(p + 2, end_ - (p + 2));
      size_t close = rest.find("*/");
      if (close == absl::string_view::npos) {
        cursor_ = p;
        return false;
      }
      p += 2 + close + 2;
    } else {
      break;
    }
  }
  cursor_ = p;
  return true;
}

TokKind HloLexer::LexToken() {
  previous_end_ = cursor_;
  const bool closed = SkipBlanks();
  token_ = cursor_;
  if (!closed) return Error("unterminated comment", end_);
  if (token_ >= end_) {
    value_begin_ = value_end_ = token_;
    return TokKind::kEof;
  }
  const char c = *token_;
  if (Is(c, kWordStart)) return LexWord();
  if (Is(c, kDigit)) return LexNumber();
  const char next = token_ + 1 < end_ ? token_[1] : '\0';
  switch (c) {
    case '%':
      return LexPercentName();
    case ',':
      return Punctuation(TokKind::kComma, 1);
    case '(':
      return Punctuation(TokKind::kLparen, 1);
    case ')':
      return Punctuation(TokKind::kRparen, 1);
    case '{':
      return Punctuation(TokKind::kLbrace, 1);
    case '}':
      return Punctuation(TokKind::kRbrace, 1);
    case '[':
      return Punctuation(TokKind::kLsquare, 1);
    case ']':
      return Punctuation(TokKind::kRsquare, 1);
    case '=':
      return Punctuation(TokKind::kEqual, 1);
    case ':':
      return Punctuation(TokKind::kColon, 1);
    case '*':
      return Punctuation(TokKind::kAsterisk, 1);
    case '#':
      return Punctuation(TokKind::kOctothorp, 1);
    case '+':
      return Punctuation(TokKind::kPlus, 1);
    case '~':
      return Punctuation(TokKind::kTilde, 1);
    case '"':
    case '\'':
      return LexString(c);
    case '<':
      if (next == '=') return Punctuation(TokKind::kLeq, 2);
      break;
    case '-':
      if (next == '>') return Punctuation(TokKind::kArrow, 2);
      return LexNumber();
    case '.':
      if (next == '.' && token_ + 2 < end_ && token_[2] == '.') {
        return Punctuation(TokKind::kDots, 3);
      }
      return LexDecimal();
    case '?':
      if (const char* end = MatchDimLabels(token_)) {
        return Value(TokKind::kDimLabels, end);
      }
      return Punctuation(TokKind::kQuestionMark, 1);
    default:
      break;
  }
  return Error("unexpected character", token_ + 1);
}

// '-' is part of words (get-tuple-element), hence the two cases where a word
// runs into `->`: the arrow takes its '-' back, unless the whole is a set of
// dimension labels (bf_io->bf), which is tried first. A word before '=' is an
// attribute's name even where it would be a keyword (manual=, replicated=).
TokKind HloLexer::LexWord() {
  const char* p = token_ + 1;
  while (p < end_ && Is(*p, kWordRest)) ++p;
  if (p < end_) {
    if (*p == '=') {
      Value(TokKind::kAttributeName, p);
      cursor_ = p + 1;
      return TokKind::kAttributeName;
    }
    const bool at_arrow = *p == '>' && p[-1] == '-';
    if (at_arrow || *p == '?') {
      if (const char* end = MatchDimLabels(token_)) {
        return Value(TokKind::kDimLabels, end);
      }
    }
    if (at_arrow) --p;  // The '-' belongs to the arrow.
  }
  Value(TokKind::kIdent, p);
  absl::string_view word = GetStrView();
  TokKind keyword = Keyword(word);
  if (keyword != TokKind::kIdent) return keyword;
  primitive_type_ = PrimitiveTypeFromText(word);
  if (primitive_type_ != PRIMITIVE_TYPE_INVALID) return TokKind::kPrimitiveType;
  if (word == "nan") return LexNan(p);
  if (p < end_ && *p == ':') return TokKind::kName;
  return TokKind::kIdent;
}

TokKind HloLexer::LexPercentName() {
  const char* p = token_ + 1;
  while (p < end_ && Is(*p, kWordRest)) ++p;
  if (p == token_ + 1) return Error("'%' without a name", p);
  if (*(p - 1) == '-' && p < end_ && *p == '>') --p;
  value_begin_ = token_ + 1;
  value_end_ = p;
  cursor_ = p;
  return TokKind::kName;
}

TokKind HloLexer::LexNumber() {
  const char* p = token_;
  const bool negative = *p == '-';
  if (negative) {
    ++p;
    absl::string_view rest(p, end_ - p);
    if (rest.substr(0, 3) == "inf" &&
        (rest.size() == 3 || !Is(rest[3], kWordRest))) {
      return Value(TokKind::kNegInf, p + 3);
    }
    if (rest.substr(0, 3) == "nan") return LexNan(p + 3);
    if (rest.empty() || !(Is(rest[0], kDigit) || rest[0] == '.')) {
      return Error("'-' without a number", p);
    }
  }
  const char* digits = p;
  uint64_t value = 0;
  while (p < end_ && Is(*p, kDigit)) value = value * 10 + (*p++ - '0');
  if (p < end_ && (Is(*p, kWordRest) || *p == '?')) return LexNumberPattern();
  const auto length = p - digits;
  is_unsigned64_ = false;
  if (length > 18) {
    absl::string_view text(digits, length);
    constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
    if (!absl::SimpleAtoi(text, &value) || (negative && value > kMax + 1)) {
      return Error("integer does not fit in 64 bits", p);
    }
    is_unsigned64_ = !negative && value > kMax;
  }
  int_value_ = static_cast<int64_t>(negative ? 0 - value : value);
  return Value(TokKind::kInt, p);
}

// A number followed by something that may belong to it.
TokKind HloLexer::LexNumberPattern() {
  if (const char* end = MatchDimLabels(token_)) {
    return Value(TokKind::kDimLabels, end);
  }
  if (const char* end = MatchDxD(token_)) return Value(TokKind::kDxD, end);
  if (const char* end = MatchPad(token_)) return Value(TokKind::kPad, end);
  return LexDecimal();
}

TokKind HloLexer::LexDecimal() {
  const char* p = token_;
  auto skip_digits = [&] {
    const char* start = p;
    while (p < end_ && Is(*p, kDigit)) ++p;
    return p - start;
  };
  if (*p == '-') ++p;
  int64_t digits = skip_digits();
  bool is_integer = true;
  // Two dots in a row are no decimal point: `0...`.
  if (p < end_ && *p == '.' && !(p + 1 < end_ && p[1] == '.')) {
    is_integer = false;
    ++p;
    digits += skip_digits();
  }
  if (digits == 0) return Error("unexpected character", token_ + 1);
  if (p < end_ && (*p == 'e' || *p == 'E')) {
    const char* mantissa_end = p++;
    if (p < end_ && (*p == '+' || *p == '-')) ++p;
    if (skip_digits() > 0) {
      is_integer = false;
    } else {
      p = mantissa_end;
    }
  }
  if (is_integer && p > token_) {
    is_unsigned64_ = false;
    absl::string_view text(token_, p - token_);
    uint64_t value;
    if (absl::SimpleAtoi(text, &int_value_)) return Value(TokKind::kInt, p);
    if (absl::SimpleAtoi(text, &value)) {
      is_unsigned64_ = true;
      int_value_ = static_cast<int64_t>(value);
      return Value(TokKind::kInt, p);
    }
    return Error("integer does not fit in 64 bits", p);
  }
  return Value(TokKind::kDecimal, p);
}

// `nan`, or `nan(0x7fc00000)` with the bits of the significand.
TokKind HloLexer::LexNan(const char* after_nan) {
  const char* p = after_nan;
  absl::string_view rest(p, end_ - p);
  if (rest.substr(0, 3) == "(0x") {
    size_t close = rest.find_first_not_of("0123456789abcdefABCDEF", 3);
    if (close != absl::string_view::npos && close > 3 && rest[close] == ')') {
      if (close - 3 > 16) return Error("NaN payload of more than 64 bits", p);
      p += close + 1;
    }
  }
  return Value(TokKind::kDecimal, p);
}

TokKind HloLexer::LexString(char quote) {
  const char* p = token_ + 1;
  const char* close = static_cast<const char*>(std::memchr(p, quote, end_ - p));
  has_escapes_ = false;
  if (close != nullptr) {
    const char* escape =
        static_cast<const char*>(std::memchr(p, '\\', close - p));
    if (escape != nullptr) {
      has_escapes_ = true;
      p = escape;
      while (p < end_ && *p != quote) p += *p == '\\' ? 2 : 1;
      close = p < end_ ? p : nullptr;
    }
  }
  if (close == nullptr) {
    // Resume after the line: an open quote seldom means the rest of the file.
    const void* newline = std::memchr(token_, '\n', end_ - token_);
    return Error("unterminated string",
                 newline == nullptr ? end_ : static_cast<const char*>(newline));
  }
  value_begin_ = token_ + 1;
  value_end_ = close;
  cursor_ = close + 1;
  return TokKind::kString;
}

// labels '_' labels '->' labels, each of at least two characters.
const char* HloLexer::MatchDimLabels(const char* p) const {
  auto labels = [&] {
    const char* start = p;
    while (p < end_ && Is(*p, kLabel)) ++p;
    return p - start >= 2;
  };
  if (!labels() || p >= end_ || *p++ != '_') return nullptr;
  if (!labels() || p + 1 >= end_ || p[0] != '-' || p[1] != '>') return nullptr;
  p += 2;
  return labels() ? p : nullptr;
}

// n ('x' n)+
const char* HloLexer::MatchDxD(const char* p) const {
  auto number = [&] {
    const char* start = p;
    while (p < end_ && Is(*p, kDigit)) ++p;
    return p > start;
  };
  if (!number()) return nullptr;
  const char* match = nullptr;
  while (p < end_ && *p == 'x') {
    ++p;
    if (!number()) break;
    match = p;
  }
  // `0x1_1` is the rest of a padding and no size.
  return match != nullptr && match < end_ && *match == '_' ? nullptr : match;
}

// dim ('x' dim)*, where dim is n '_' n or n '_' n '_' n.
const char* HloLexer::MatchPad(const char* p) const {
  auto number = [&] {
    if (p < end_ && *p == '-') ++p;
    const char* start = p;
    while (p < end_ && Is(*p, kDigit)) ++p;
    return p > start;
  };
  const char* match = nullptr;
  while (true) {
    if (!number() || p >= end_ || *p++ != '_' || !number()) return match;
    match = p;
    if (p < end_ && *p == '_') {
      ++p;
      if (!number()) return match;
      match = p;
    }
    if (p >= end_ || *p != 'x') return match;
    ++p;
  }
}

bool HloLexer::IsWord() const {
  if (kind_ == TokKind::kName) return true;
  if (token_ >= end_ || !Is(*token_, kWordStart)) return false;
  return kind_ != TokKind::kAttributeName && kind_ != TokKind::kDimLabels &&
         kind_ != TokKind::kEof &&
         (kind_ != TokKind::kDecimal || GetStrView() == "nan");
}

TokKind HloLexer::LookAhead() {
  HloLexer ahead = *this;
  return ahead.Lex();
}

TokKind HloLexer::LexJsonDict() {
  if (kind_ != TokKind::kLbrace) return kind_ = Error("'{' expected", cursor_);
  int64_t depth = 0;
  bool in_string = false;
  for (const char* p = token_; p < end_; ++p) {
    const char c = *p;
    if (in_string) {
      if (c == '\\') {
        ++p;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      has_escapes_ = false;
      return kind_ = Value(TokKind::kString, p + 1);
    }
  }
  return kind_ = Error("unterminated dictionary", end_);
}

bool LexesAsJsonDict(absl::string_view str) {
  HloLexer lexer(str);
  return lexer.Lex() == TokKind::kLbrace &&
         lexer.LexJsonDict() == TokKind::kString &&
         lexer.GetStrView().size() == str.size();
}

}  // namespace xla
