#ifndef XLA_HLO_IR_TEXT_HLO_PRINT_UTIL_H_
#define XLA_HLO_IR_TEXT_HLO_PRINT_UTIL_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/printer.h"

// Lexical pieces of HLO text. They write into the printer in place; none of
// them builds a string per call.

namespace xla {

// `text` with C escapes for quotes, backslashes, control and non-ASCII bytes.
void PrintEscaped(Printer* printer, absl::string_view text);

// "text", escaped.
void PrintQuoted(Printer* printer, absl::string_view text);

// {1,2,3}
void PrintBracedInts(Printer* printer, absl::Span<const int64_t> values);

// The shortest form that reads back as the same number.
void PrintDouble(Printer* printer, double value);
void PrintFloat(Printer* printer, float value);

// Whether `text` is one dictionary that the lexer accepts verbatim after
// `attribute=`: it starts with '{', ends with the matching '}', and its quotes
// are closed. Braces inside strings do not count. Linear time.
bool IsBalancedDict(absl::string_view text);

// Prints a value in a form the lexer accepts: verbatim if it is a balanced
// dictionary, else quoted and escaped.
void PrintDictOrQuoted(Printer* printer, absl::string_view text);

// `json` with the members of every object in order of their keys and without
// white space outside strings; `json` itself if it is not a JSON object.
std::string SortJsonObject(absl::string_view json);

}  // namespace xla

#endif  // XLA_HLO_IR_TEXT_HLO_PRINT_UTIL_H_
