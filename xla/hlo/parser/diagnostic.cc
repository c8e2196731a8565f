#include "xla/hlo/parser/diagnostic.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla {

const char* SourceText::Clamp(const char* location) const {
  const char* end = text_.data() + text_.size();
  return location >= text_.data() && location <= end ? location : end;
}

SourceText::Position SourceText::PositionOf(const char* location) const {
  location = Clamp(location);
  int64_t line = first_line_;
  const char* line_start = text_.data();
  while (line_start < location) {
    const void* newline = std::memchr(line_start, '\n', location - line_start);
    if (newline == nullptr) break;
    line_start = static_cast<const char*>(newline) + 1;
    ++line;
  }
  return {line, location - line_start + 1};
}

absl::string_view SourceText::LineOf(const char* location) const {
  location = Clamp(location);
  size_t offset = location - text_.data();
  size_t begin = offset == 0 ? 0 : text_.rfind('\n', offset - 1) + 1;
  size_t end = text_.find('\n', offset);
  absl::string_view line =
      text_.substr(begin, end == absl::string_view::npos ? end : end - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::string RenderDiagnostic(const SourceText& source, const char* location,
                             absl::string_view severity,
                             absl::string_view message) {
  SourceText::Position position = source.PositionOf(location);
  absl::string_view line = source.LineOf(location);
  size_t caret = std::min<size_t>(position.column - 1, line.size());
  absl::string_view left = "", right = "";
  constexpr size_t kWidth = DiagnosticSink::kMaxLineWidth;
  if (line.size() > kWidth) {
    size_t begin = caret < kWidth / 2 ? 0 : caret - kWidth / 2;
    begin = std::min(begin, line.size() - kWidth);
    if (begin > 0) left = "...";
    if (begin + kWidth < line.size()) right = "...";
    line = line.substr(begin, kWidth);
    caret -= begin;
  }
  // Control characters would move the caret away from its place.
  std::string shown(line);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return absl::StrCat(source.file_name(), ":", position.line, ":",
                      position.column, ": ", severity, ": ", message, "\n  ",
                      left, shown, right, "\n  ",
                      std::string(left.size() + caret, ' '), "^");
}

bool DiagnosticSink::Error(const char* location, absl::string_view message) {
  if (full() || (location == last_error_ && location != nullptr)) return false;
  last_error_ = location;
  errors_.push_back(RenderDiagnostic(*source_, location, "error", message));
  return false;
}

bool DiagnosticSink::Warning(const char* location, absl::string_view message) {
  if (warnings_.size() < kMaxErrors) {
    warnings_.push_back(
        RenderDiagnostic(*source_, location, "warning", message));
  }
  return false;
}

absl::Status DiagnosticSink::ToStatus() const {
  if (errors_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
}

namespace {

// Distance of a and b with adjacent swaps as one step, or `limit` + 1 if it is
// greater than `limit`.
int EditDistance(absl::string_view a, absl::string_view b, int limit) {
  const int rows = static_cast<int>(a.size());
  const int columns = static_cast<int>(b.size());
  if (std::abs(rows - columns) > limit) return limit + 1;
  std::vector<int> before(columns + 1), previous(columns + 1),
      current(columns + 1);
  for (int j = 0; j <= columns; ++j) previous[j] = j;
  for (int i = 1; i <= rows; ++i) {
    current[0] = i;
    int least = i;
    for (int j = 1; j <= columns; ++j) {
      int cost = a[i - 1] == b[j - 1] ? 0 : 1;
      int best = std::min(previous[j - 1] + cost,
                          std::min(previous[j], current[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, before[j - 2] + 1);
      }
      current[j] = best;
      least = std::min(least, best);
    }
    if (least > limit) return limit + 1;
    before.swap(previous);
    previous.swap(current);
  }
  return previous[columns];
}

// Longer words are no misspelled names; a limit keeps the search linear.
constexpr size_t kMaxWordLength = 128;

}  // namespace

absl::string_view ClosestName(absl::string_view name,
                              absl::Span<const absl::string_view> candidates) {
  if (name.size() > kMaxWordLength) return "";
  absl::string_view best;
  int best_distance = std::max<int>(1, static_cast<int>(name.size()) / 3) + 1;
  for (absl::string_view candidate : candidates) {
    if (candidate.size() > kMaxWordLength || candidate.empty()) continue;
    int distance = EditDistance(name, candidate, best_distance);
    if (distance < best_distance ||
        (distance == best_distance && !best.empty() && candidate < best)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string DidYouMean(absl::string_view name,
                       absl::Span<const absl::string_view> candidates) {
  absl::string_view closest = ClosestName(name, candidates);
  if (closest.empty()) return "";
  return absl::StrCat("; did you mean '", closest, "'?");
}

std::string MeantOrLater(absl::string_view name,
                         absl::Span<const absl::string_view> candidates) {
  const std::string meant = DidYouMean(name, candidates);
  if (!meant.empty()) return meant;
  return "; if a version of XLA later than that of August 2026 has it, "
         "--lenient keeps it";
}

}  // namespace xla
