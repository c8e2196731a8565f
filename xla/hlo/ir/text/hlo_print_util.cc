#include "xla/hlo/ir/text/hlo_print_util.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/printer.h"

namespace xla {
namespace {

bool NeedsEscape(unsigned char c) {
  return c < 0x20 || c >= 0x7f || c == '"' || c == '\'' || c == '\\';
}

// Index after the string that opens at text[begin], or npos if it is not
// closed.
size_t SkipString(absl::string_view text, size_t begin) {
  for (size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return absl::string_view::npos;
}

// Nesting beyond this depth is not sorted; the object prints as it stands.
constexpr int kMaxJsonDepth = 100;

// Reads one JSON value and writes it with sorted members. Every method returns
// false at a syntax error.
class JsonSorter {
 public:
  explicit JsonSorter(absl::string_view text) : text_(text) {}

  bool Run(std::string* out) {
    return Value(out, 0) && (SkipSpace(), pos_ == text_.size());
  }

 private:
  void SkipSpace() {
    while (pos_ < text_.size() && absl::ascii_isspace(text_[pos_])) ++pos_;
  }

  bool Eat(char c) {
    SkipSpace();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  bool String(absl::string_view* out) {
    SkipSpace();
    if (pos_ >= text_.size() || text_[pos_] != '"') return false;
    size_t end = SkipString(text_, pos_);
    if (end == absl::string_view::npos) return false;
    *out = text_.substr(pos_, end - pos_);
    pos_ = end;
    return true;
  }

  bool Value(std::string* out, int depth) {
    SkipSpace();
    if (depth > kMaxJsonDepth || pos_ >= text_.size()) return false;
    char c = text_[pos_];
    if (c == '{') return Object(out, depth);
    if (c == '[') return List(out, depth);
    if (c == '"') {
      absl::string_view s;
      if (!String(&s)) return false;
      absl::StrAppend(out, s);
      return true;
    }
    size_t begin = pos_;
    while (pos_ < text_.size() &&
           absl::string_view(",]}").find(text_[pos_]) ==
               absl::string_view::npos &&
           !absl::ascii_isspace(text_[pos_])) {
      ++pos_;
    }
    if (pos_ == begin) return false;
    absl::StrAppend(out, text_.substr(begin, pos_ - begin));
    return true;
  }

  bool Object(std::string* out, int depth) {
    ++pos_;
    std::vector<std::pair<absl::string_view, std::string>> members;
    if (!Eat('}')) {
      do {
        absl::string_view key;
        std::string value;
        if (!String(&key) || !Eat(':') || !Value(&value, depth + 1)) {
          return false;
        }
        members.emplace_back(key, std::move(value));
      } while (Eat(','));
      if (!Eat('}')) return false;
    }
    std::stable_sort(
        members.begin(), members.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    absl::string_view separator = "{";
    for (const auto& [key, value] : members) {
      absl::StrAppend(out, separator, key, ":", value);
      separator = ",";
    }
    absl::StrAppend(out, members.empty() ? "{}" : "}");
    return true;
  }

  bool List(std::string* out, int depth) {
    ++pos_;
    absl::StrAppend(out, "[");
    if (!Eat(']')) {
      absl::string_view separator = "";
      do {
        absl::StrAppend(out, separator);
        separator = ",";
        if (!Value(out, depth + 1)) return false;
      } while (Eat(','));
      if (!Eat(']')) return false;
    }
    absl::StrAppend(out, "]");
    return true;
  }

  absl::string_view text_;
  size_t pos_ = 0;
};

template <typename Float>
void PrintShortest(Printer* printer, Float value) {
  if (std::isnan(value)) {
    printer->Append("nan");
    return;
  }
  char buffer[32];
  std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), value);
  printer->Append(absl::string_view(buffer, end.ptr - buffer));
}

}  // namespace

void PrintEscaped(Printer* printer, absl::string_view text) {
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    if (!NeedsEscape(c)) continue;
    if (i > begin) printer->Append(text.substr(begin, i - begin));
    begin = i + 1;
    switch (c) {
      case '\n':
        printer->Append("\\n");
        break;
      case '\r':
        printer->Append("\\r");
        break;
      case '\t':
        printer->Append("\\t");
        break;
      case '"':
        printer->Append("\\\"");
        break;
      case '\'':
        printer->Append("\\'");
        break;
      case '\\':
        printer->Append("\\\\");
        break;
      default: {
        const char octal[4] = {'\\', static_cast<char>('0' + (c >> 6)),
                               static_cast<char>('0' + ((c >> 3) & 7)),
                               static_cast<char>('0' + (c & 7))};
        printer->Append(absl::string_view(octal, 4));
      }
    }
  }
  if (begin < text.size()) printer->Append(text.substr(begin));
}

void PrintQuoted(Printer* printer, absl::string_view text) {
  // A length ends a text as well as a quote does, and nothing is escaped.
  if (printer->is_hasher()) {
    AppendCat(printer, text.size(), ":", text);
    return;
  }
  printer->Append("\"");
  PrintEscaped(printer, text);
  printer->Append("\"");
}

void PrintBracedInts(Printer* printer, absl::Span<const int64_t> values) {
  printer->Append("{");
  printer->AppendInt64List(values, /*leading_comma=*/false);
  printer->Append("}");
}

void PrintDouble(Printer* printer, double value) {
  PrintShortest(printer, value);
}

void PrintFloat(Printer* printer, float value) {
  PrintShortest(printer, value);
}

bool IsBalancedDict(absl::string_view text) {
  if (text.empty() || text.front() != '{') return false;
  int64_t depth = 0;
  for (size_t i = 0; i < text.size();) {
    switch (text[i]) {
      case '"':
        i = SkipString(text, i);
        if (i == absl::string_view::npos) return false;
        continue;
      case '{':
        ++depth;
        break;
      case '}':
        if (--depth == 0) return i + 1 == text.size();
        break;
      case '\0':
        return false;
    }
    ++i;
  }
  return false;
}

void PrintDictOrQuoted(Printer* printer, absl::string_view text) {
  if (IsBalancedDict(text)) {
    printer->Append(text);
  } else {
    PrintQuoted(printer, text);
  }
}

std::string SortJsonObject(absl::string_view json) {
  std::string sorted;
  sorted.reserve(json.size());
  if (IsBalancedDict(json) && JsonSorter(json).Run(&sorted)) return sorted;
  return std::string(json);
}

}  // namespace xla
