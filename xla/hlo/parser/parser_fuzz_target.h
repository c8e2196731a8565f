#ifndef XLA_HLO_PARSER_PARSER_FUZZ_TARGET_H_
#define XLA_HLO_PARSER_PARSER_FUZZ_TARGET_H_

#include "absl/strings/string_view.h"

namespace xla::hlo_text {

// Parses any bytes as HLO. If they are a module, prints it, and dies unless the
// printed text is a module that prints the same again. Returns whether it is
// one. The property behind both the fuzzer and the mutation test.
bool ParsesAndRoundTrips(absl::string_view text);

}  // namespace xla::hlo_text

#endif  // XLA_HLO_PARSER_PARSER_FUZZ_TARGET_H_
