#include "xla/hlo/parser/parser_base.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"

namespace xla::hlo_text {
namespace {

// Bytes of stack below the current frame that nesting may use: three quarters
// of what the thread has left. The rest is for what follows the innermost
// level, and for code that walks the nested result.
size_t StackBudget(const char* frame) {
  constexpr size_t kFallback = size_t{256} << 10;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return kFallback;
  void* lowest = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  const char* low = static_cast<const char*>(lowest);
  if (!known || frame <= low || frame > low + size) return kFallback;
  return static_cast<size_t>(frame - low) / 4 * 3;
}

}  // namespace

bool ParserBase::CheckDepth() {
  if (depth_ > options_.max_recursion_depth()) {
    return Error(
        loc(), absl::StrCat("nested more than ", options_.max_recursion_depth(),
                            " levels deep"));
  }
  const char* frame = static_cast<const char*>(__builtin_frame_address(0));
  if (stack_limit_ == nullptr) stack_limit_ = frame - StackBudget(frame);
  if (frame < stack_limit_) {
    return Error(loc(), absl::StrCat("nested too deeply for the stack of this "
                                     "thread, at level ",
                                     depth_));
  }
  return true;
}

std::string ParserBase::Found() const {
  switch (kind()) {
    case TokKind::kEof:
      return "the end of the text";
    case TokKind::kName:
    case TokKind::kIdent:
    case TokKind::kInt:
    case TokKind::kDecimal:
    case TokKind::kPrimitiveType:
    case TokKind::kDimLabels:
    case TokKind::kDxD:
    case TokKind::kPad: {
      absl::string_view text = lexer_.GetStrView();
      constexpr size_t kMax = 60;
      return absl::StrCat("'", absl::CHexEscape(text.substr(0, kMax)),
                          text.size() > kMax ? "..." : "", "'");
    }
    case TokKind::kAttributeName:
      return absl::StrCat("'", lexer_.GetStrView().substr(0, 60), "='");
    case TokKind::kString:
      return "a string";
    default:
      return TokKindToString(kind());
  }
}

bool ParserBase::Expected(absl::string_view expected) {
  if (kind() == TokKind::kError) return Error(loc(), lexer_.GetErrorMessage());
  return Error(loc(), absl::StrCat("expected ", expected, ", found ", Found()));
}

bool ParserBase::ExpectEnd() {
  return kind() == TokKind::kEof || Expected("the end of the text");
}

bool ParserBase::ParseInt(int64_t* result) {
  if (kind() != TokKind::kInt) {
    return Expected("an integer");
  }
  if (lexer_.IsUnsigned64()) {
    return Error(loc(), "integer does not fit in 64 bits with a sign");
  }
  *result = lexer_.GetInt64Val();
  Next();
  return true;
}

bool ParserBase::ParseIntInRange(int64_t least, int64_t most, int64_t* result) {
  const Loc start = loc();
  if (!ParseInt(result)) return false;
  if (*result >= least && *result <= most) return true;
  return Error(start, absl::StrCat("integer ", *result, " is not within ",
                                   least, " and ", most));
}

bool ParserBase::ParseInt32(int32_t* result) {
  int64_t value;
  if (!ParseIntInRange(std::numeric_limits<int32_t>::min(),
                       std::numeric_limits<int32_t>::max(), &value)) {
    return false;
  }
  *result = static_cast<int32_t>(value);
  return true;
}

bool ParserBase::ParseDouble(double* result) {
  switch (kind()) {
    case TokKind::kInt:
      *result =
          lexer_.IsUnsigned64()
              ? static_cast<double>(static_cast<uint64_t>(lexer_.GetInt64Val()))
              : static_cast<double>(lexer_.GetInt64Val());
      break;
    case TokKind::kDecimal:
    case TokKind::kw_inf:
    case TokKind::kNegInf:
      *result = lexer_.GetDecimalVal();
      break;
    default:
      return Expected("a number");
  }
  Next();
  return true;
}

bool ParserBase::ParseBool(bool* result) {
  if (kind() == TokKind::kw_true || kind() == TokKind::kw_false) {
    *result = kind() == TokKind::kw_true;
  } else if (kind() == TokKind::kInt && !lexer_.IsUnsigned64() &&
             (lexer_.GetInt64Val() == 0 || lexer_.GetInt64Val() == 1)) {
    *result = lexer_.GetInt64Val() == 1;
  } else {
    return Expected("true or false");
  }
  Next();
  return true;
}

namespace {

// Length of the UTF-8 sequence at the beginning of the text; 0 if it is none.
size_t Utf8Length(absl::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xC2   ? 0
                        : lead < 0xE0 ? 2
                        : lead < 0xF0 ? 3
                        : lead < 0xF5 ? 4
                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (at(i) < 0x80 || at(i) > 0xBF) return 0;
  }
  // Longer than needed, surrogates, beyond U+10FFFF.
  const bool bad =
      (lead == 0xE0 && at(1) < 0xA0) || (lead == 0xED && at(1) > 0x9F) ||
      (lead == 0xF0 && at(1) < 0x90) || (lead == 0xF4 && at(1) > 0x8F);
  return bad ? 0 : length;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

bool ParserBase::ParseString(std::string* result) {
  const Loc start = loc();
  if (!ParseBytes(result)) return false;
  return IsUtf8(*result) || Error(start,
                                  "the string is not valid UTF-8, so that no "
                                  "proto can hold it");
}

bool ParserBase::ParseBytes(std::string* result) {
  if (kind() != TokKind::kString) return Expected("a string");
  if (!lexer_.GetString(result)) {
    return Error(loc(), "the string has a malformed escape sequence");
  }
  Next();
  return true;
}

bool ParserBase::ParseWord(absl::string_view what, absl::string_view* result) {
  if (!lexer_.IsWord()) return Expected(what);
  *result = lexer_.GetStrView();
  Next();
  return true;
}

bool ParserBase::ParseAttributeName(absl::string_view* result) {
  if (kind() != TokKind::kAttributeName) return Expected("name=value");
  *result = lexer_.GetStrView();
  Next();
  return true;
}

bool ParserBase::ParseEnum(absl::string_view what,
                           absl::Span<const absl::string_view> words,
                           int* result) {
  const Loc start = loc();
  absl::string_view word;
  if (!ParseWord(what, &word)) return false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].empty() && words[i] == word) {
      *result = static_cast<int>(i);
      return true;
    }
  }
  return Error(start, absl::StrCat("unknown ", what, " '", word, "'",
                                   DidYouMean(word, words)));
}

}  // namespace xla::hlo_text
