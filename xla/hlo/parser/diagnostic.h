#ifndef XLA_HLO_PARSER_DIAGNOSTIC_H_
#define XLA_HLO_PARSER_DIAGNOSTIC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla {

// A text and its origin; converts pointers into the text to lines and columns.
// Does not own the text.
class SourceText {
 public:
  // `first_line` is the number of the first line, for pieces of a larger file.
  explicit SourceText(absl::string_view text,
                      absl::string_view file_name = "<input>",
                      int64_t first_line = 1)
      : text_(text), file_name_(file_name), first_line_(first_line) {}

  struct Position {
    int64_t line;    // 1-based, unless first_line says otherwise
    int64_t column;  // 1-based, in bytes
  };

  // Pointers outside the text count as its end. O(length of the text).
  Position PositionOf(const char* location) const;

  // The line that holds `location`, without its end-of-line characters.
  absl::string_view LineOf(const char* location) const;

  absl::string_view text() const { return text_; }
  const std::string& file_name() const { return file_name_; }

 private:
  const char* Clamp(const char* location) const;

  absl::string_view text_;
  std::string file_name_;
  int64_t first_line_;
};

// One message about one place of a text:
//
//   model.hlo:12:20: error: unknown opcode 'ad'; did you mean 'add'?
//     %sum = f32[2]{0} ad(%x, %y)
//                      ^
//
// Lines of more than kMaxLineWidth bytes are cut around the column.
std::string RenderDiagnostic(const SourceText& source, const char* location,
                             absl::string_view severity,
                             absl::string_view message);

// Collects errors and warnings while a text is read. At most kMaxErrors errors
// are kept; readers stop at `full()`.
class DiagnosticSink {
 public:
  static constexpr int kMaxErrors = 20;
  static constexpr int kMaxLineWidth = 160;

  explicit DiagnosticSink(const SourceText* source) : source_(source) {}

  // Both return false, so that parsers can `return sink.Error(...)`. An error
  // at the place of the previous one is dropped as its consequence.
  bool Error(const char* location, absl::string_view message);
  bool Warning(const char* location, absl::string_view message);

  bool has_errors() const { return !errors_.empty(); }
  bool full() const { return errors_.size() >= kMaxErrors; }
  absl::Span<const std::string> errors() const { return errors_; }
  absl::Span<const std::string> warnings() const { return warnings_; }

  // OK, or InvalidArgument with the rendered errors in the order of their
  // discovery.
  absl::Status ToStatus() const;

  const SourceText& source() const { return *source_; }

 private:
  const SourceText* source_;
  const char* last_error_ = nullptr;
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
};

// The candidate that `name` is most likely a misspelling of (least number of
// inserted, deleted, replaced or swapped characters, then alphabetically
// first), or "" if none comes near. O(sum of candidate lengths * distance).
absl::string_view ClosestName(absl::string_view name,
                              absl::Span<const absl::string_view> candidates);

// "; did you mean 'x'?", or "" where ClosestName finds nothing.
std::string DidYouMean(absl::string_view name,
                       absl::Span<const absl::string_view> candidates);
// The same for attributes, of which later versions of XLA may have more: where
// no name is close, how to read them all the same.
std::string MeantOrLater(absl::string_view name,
                         absl::Span<const absl::string_view> candidates);

}  // namespace xla

#endif  // XLA_HLO_PARSER_DIAGNOSTIC_H_
