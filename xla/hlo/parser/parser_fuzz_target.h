#ifndef XLA_HLO_PARSER_PARSER_FUZZ_TARGET_H_
#define XLA_HLO_PARSER_PARSER_FUZZ_TARGET_H_

#include "absl/strings/string_view.h"

namespace xla::hlo_text {

// Parses any bytes as HLO. If they are a module, prints it and CHECK-fails
// unless the printed text parses to a module, and the print of that to one that
// prints the same. (The first two may differ in names, as short forms hide
// some.) Returns whether they are. The property that the fuzzer and the
// mutation test check.
bool ParsesAndRoundTrips(absl::string_view text);

}  // namespace xla::hlo_text

#endif  // XLA_HLO_PARSER_PARSER_FUZZ_TARGET_H_
