#include "xla/backends/gpu/kernel_ir/kir_cursor.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "xla/status_macros.h"

namespace xla::gpu::kir {
namespace {

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsNamePart(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.';
}

// The name at the front of `text`; empty when there is none.
absl::string_view NameAt(absl::string_view text) {
  if (text.empty() || !IsNameStart(text[0])) return "";
  size_t end = 1;
  while (end < text.size() && IsNamePart(text[end])) ++end;
  return text.substr(0, end);
}

}  // namespace

KirCursor::KirCursor(std::shared_ptr<const SourceText> source)
    : source_(std::move(source)), text_(source_->text) {
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

absl::string_view KirCursor::RestOfLine() const {
  absl::string_view rest = text_.substr(offset_);
  rest = rest.substr(0, rest.find('\n'));
  return rest.substr(0, rest.find("//"));
}

void KirCursor::SkipBlanks() {
  while (offset_ < text_.size()) {
    char c = text_[offset_];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++offset_;
    } else if (absl::StartsWith(text_.substr(offset_), "//")) {
      offset_ = std::min(text_.find('\n', offset_), text_.size());
    } else {
      return;
    }
  }
}

void KirCursor::SkipLines() {
  SkipBlanks();
  while (offset_ < text_.size() && text_[offset_] == '\n') {
    ++offset_;
    SkipBlanks();
  }
}

size_t KirCursor::Offset() {
  SkipBlanks();
  return offset_;
}

SourceLocation KirCursor::Location() { return LocationOf(Offset()); }

SourceLocation KirCursor::LocationOf(size_t offset) const {
  auto next =
      std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  SourceLocation location;
  location.line = static_cast<int>(next - line_starts_.begin());
  location.column = static_cast<int>(offset - *(next - 1)) + 1;
  return location;
}

absl::Status KirCursor::ErrorAt(size_t offset,
                                absl::string_view message) const {
  Kernel place;
  place.source = source_;
  return place.ErrorAt(LocationOf(offset), message);
}

absl::Status KirCursor::Error(absl::string_view message) {
  return ErrorAt(Offset(), message);
}

bool KirCursor::AtEnd() {
  SkipLines();
  return offset_ >= text_.size();
}

bool KirCursor::AtLineEnd() {
  SkipBlanks();
  return offset_ >= text_.size() || text_[offset_] == '\n';
}

std::string KirCursor::Describe() {
  SkipBlanks();
  if (offset_ >= text_.size()) return "end of file";
  if (text_[offset_] == '\n') return "end of line";
  absl::string_view name = PeekWord();
  if (!name.empty()) return absl::StrCat("'", name, "'");
  unsigned char c = static_cast<unsigned char>(text_[offset_]);
  if (!absl::ascii_isprint(c)) return absl::StrCat("byte ", int{c});
  return absl::StrCat("'", text_.substr(offset_, 1), "'");
}

bool KirCursor::Eat(absl::string_view punctuation) {
  SkipBlanks();
  if (!absl::StartsWith(text_.substr(offset_), punctuation)) return false;
  offset_ += punctuation.size();
  return true;
}

bool KirCursor::EatWord(absl::string_view word) {
  if (PeekWord() != word) return false;
  offset_ += word.size();
  return true;
}

absl::Status KirCursor::Expect(absl::string_view punctuation) {
  if (Eat(punctuation)) return absl::OkStatus();
  return Error(absl::StrCat("expected '", punctuation, "', not ", Describe()));
}

absl::string_view KirCursor::PeekWord() {
  SkipBlanks();
  return NameAt(text_.substr(offset_));
}

absl::StatusOr<std::string> KirCursor::Word(absl::string_view what) {
  absl::string_view word = PeekWord();
  if (word.empty()) {
    return Error(absl::StrCat("expected ", what, ", not ", Describe()));
  }
  offset_ += word.size();
  return std::string(word);
}

absl::StatusOr<std::string> KirCursor::Sigiled(char sigil,
                                               absl::string_view what) {
  SkipBlanks();
  if (offset_ < text_.size() && text_[offset_] == sigil) {
    absl::string_view word = NameAt(text_.substr(offset_ + 1));
    if (!word.empty()) {
      offset_ += 1 + word.size();
      return std::string(word);
    }
  }
  return Error(absl::StrCat("expected ", what, " ('", std::string(1, sigil),
                            "' and a name), not ", Describe()));
}

absl::StatusOr<int64_t> KirCursor::Integer(absl::string_view what) {
  SkipBlanks();
  absl::string_view rest = text_.substr(offset_);
  size_t end = !rest.empty() && rest[0] == '-' ? 1 : 0;
  while (end < rest.size() && absl::ascii_isdigit(rest[end])) ++end;
  int64_t value;
  if (!absl::SimpleAtoi(rest.substr(0, end), &value)) {
    bool digits = end > 0 && absl::ascii_isdigit(rest[end - 1]);
    if (digits) return Error(absl::StrCat(what, " does not fit 64 bits"));
    return Error(absl::StrCat("expected ", what, ", not ", Describe()));
  }
  offset_ += end;
  return value;
}

std::optional<double> KirCursor::Float() {
  SkipBlanks();
  absl::string_view rest = text_.substr(offset_);
  size_t end = !rest.empty() && rest[0] == '-' ? 1 : 0;
  double value;
  if (NameAt(rest.substr(end)) == "inf") {
    value = std::numeric_limits<double>::infinity();
    offset_ += end + 3;
    return end == 1 ? -value : value;
  }
  size_t digits = end;
  bool fraction = false;
  while (end < rest.size()) {
    char c = rest[end];
    bool exponent_sign =
        (c == '-' || c == '+') && (rest[end - (end > 0)] | 32) == 'e';
    if (!absl::ascii_isdigit(c) && c != '.' && (c | 32) != 'e' &&
        !exponent_sign) {
      break;
    }
    fraction |= !absl::ascii_isdigit(c);
    ++end;
  }
  if (end == digits || !absl::ascii_isdigit(rest[digits]) || !fraction ||
      !absl::SimpleAtod(rest.substr(0, end), &value)) {
    return std::nullopt;
  }
  offset_ += end;
  return value;
}

bool KirCursor::AtOperand() {
  SkipBlanks();
  absl::string_view line = RestOfLine();
  if (line.empty() || line[0] != '%') return false;
  absl::string_view name = NameAt(line.substr(1));
  line = absl::StripLeadingAsciiWhitespace(line.substr(1 + name.size()));
  return !name.empty() && absl::StartsWith(line, "[");
}

absl::StatusOr<std::string> KirCursor::Value(absl::string_view what) {
  SkipBlanks();
  absl::string_view line = RestOfLine();
  absl::string_view value = line.substr(0, line.find_first_of(" \t\r{}"));
  if (value.empty()) {
    return Error(absl::StrCat("expected ", what, ", not ", Describe()));
  }
  offset_ += value.size();
  return std::string(value);
}

absl::StatusOr<AffineExpr> KirCursor::Expression(bool may_be_unknown) {
  SkipBlanks();
  size_t start = offset_;
  absl::string_view line = RestOfLine();
  absl::string_view rest = line;
  absl::StatusOr<AffineExpr> expr = ConsumeAffineExpr(&rest);
  offset_ += line.size() - rest.size();
  if (!expr.ok()) return Error(expr.status().message());
  if (expr->IsUnknown() && !may_be_unknown) {
    return ErrorAt(start, "an unknown value ('?') may only be an index");
  }
  if (!expr->status().ok()) return ErrorAt(start, expr->status().message());
  return expr;
}

}  // namespace xla::gpu::kir
