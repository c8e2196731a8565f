#include "xla/hlo/transforms/sharding_propagation/sdy_lexer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace xla {

SdyLexer::SdyLexer(absl::string_view text)
    : text_(absl::StrReplaceAll(text, {{"\\22", "\""}, {"\\\"", "\""}})),
      rest_(text_) {}

absl::Status SdyLexer::Error(absl::string_view message) const {
  return absl::InvalidArgumentError(absl::StrCat(
      message, " at character ", text_.size() - rest_.size(), " of ", text_));
}

void SdyLexer::SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

bool SdyLexer::Accept(absl::string_view token) {
  SkipSpace();
  if (rest_.substr(0, token.size()) != token) return false;
  rest_.remove_prefix(token.size());
  return true;
}

absl::Status SdyLexer::Expect(absl::string_view token) {
  if (Accept(token)) return absl::OkStatus();
  return Error(absl::StrCat("expected '", token, "'"));
}

absl::Status SdyLexer::End() {
  SkipSpace();
  if (rest_.empty()) return absl::OkStatus();
  return Error("expected the end");
}

absl::StatusOr<int64_t> SdyLexer::Int() {
  SkipSpace();
  size_t length = 0;
  while (length < rest_.size() && absl::ascii_isdigit(rest_[length])) {
    ++length;
  }
  int64_t value = 0;
  if (length == 0 || !absl::SimpleAtoi(rest_.substr(0, length), &value)) {
    return Error("expected a number");
  }
  rest_.remove_prefix(length);
  return value;
}

absl::StatusOr<std::string> SdyLexer::Quoted() {
  if (absl::Status quote = Expect("\""); !quote.ok()) return quote;
  const size_t end = rest_.find('"');
  if (end == absl::string_view::npos) return Error("expected '\"'");
  std::string value(rest_.substr(0, end));
  rest_.remove_prefix(end + 1);
  return value;
}

absl::StatusOr<std::string> SdyLexer::Name() {
  SkipSpace();
  if (!rest_.empty() && rest_[0] == '"') return Quoted();
  size_t length = 0;
  while (length < rest_.size() &&
         (absl::ascii_isalnum(rest_[length]) || rest_[length] == '_' ||
          rest_[length] == '.' || rest_[length] == '$' ||
          rest_[length] == '-')) {
    ++length;
  }
  if (length == 0) return Error("expected a name");
  std::string value(rest_.substr(0, length));
  rest_.remove_prefix(length);
  return value;
}

}  // namespace xla
