#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

// Blanks and comments only.
bool IsEmptyText(absl::string_view text) {
  return HloLexer(text).Lex() == TokKind::kEof;
}

// Length of `I0822 10:00:00.000000   123 file.cc:45] ` at the start of a line;
// 0 if there is none.
size_t LogHeaderLength(absl::string_view line) {
  if (line.size() < 6 ||
      (line[0] != 'I' && line[0] != 'W' && line[0] != 'E' && line[0] != 'F')) {
    return 0;
  }
  for (int i = 1; i < 5; ++i) {
    if (!absl::ascii_isdigit(line[i])) return 0;
  }
  if (line[5] != ' ') return 0;
  size_t bracket = line.find("] ");
  if (bracket == absl::string_view::npos) {
    // An empty line of the module.
    return absl::EndsWith(line, "]") ? line.size() : 0;
  }
  // file.cc:45 before the bracket.
  size_t colon = line.substr(0, bracket).rfind(':');
  if (colon == absl::string_view::npos || colon + 1 == bracket) return 0;
  for (size_t i = colon + 1; i < bracket; ++i) {
    if (!absl::ascii_isdigit(line[i])) return 0;
  }
  return bracket + 2;
}

}  // namespace

std::vector<HloTextPiece> SplitInput(absl::string_view text) {
  std::vector<HloTextPiece> pieces;
  int64_t line = 1;
  int64_t first_line = 1;
  size_t piece_begin = 0;
  auto finish = [&](size_t end) {
    absl::string_view piece = text.substr(piece_begin, end - piece_begin);
    if (!IsEmptyText(piece)) pieces.push_back({piece, first_line});
  };
  for (size_t begin = 0; begin < text.size(); ++line) {
    size_t end = text.find('\n', begin);
    if (end == absl::string_view::npos) end = text.size();
    absl::string_view content =
        absl::StripAsciiWhitespace(text.substr(begin, end - begin));
    if (content == "// -----") {
      finish(begin);
      piece_begin = end + 1 < text.size() ? end + 1 : text.size();
      first_line = line + 1;
    }
    begin = end + 1;
  }
  finish(text.size());
  return pieces;
}

std::string StripLogHeaders(absl::string_view text) {
  absl::string_view start = absl::StripLeadingAsciiWhitespace(text);
  if (LogHeaderLength(start.substr(0, start.find('\n'))) == 0) {
    return std::string(text);
  }
  std::string result;
  result.reserve(text.size());
  bool in_module = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t header = LogHeaderLength(line);
    absl::string_view content = line.substr(header);
    // Log lines of other code before the module.
    if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(content),
                         "HloModule ")) {
      in_module = true;
    }
    if (in_module) absl::StrAppend(&result, content, "\n");
  }
  return in_module ? result : std::string(text);
}

}  // namespace xla
