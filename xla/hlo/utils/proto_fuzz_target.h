#ifndef XLA_HLO_UTILS_PROTO_FUZZ_TARGET_H_
#define XLA_HLO_UTILS_PROTO_FUZZ_TARGET_H_

#include "absl/strings/string_view.h"

namespace xla {

// Reads any bytes as a binary proto. If they are a module that verifies, writes
// it as a proto again, and dies unless that proto gives the same module but for
// names of instructions; and as text, which must give the same text again.
// Returns whether they were one.
bool ReadsAsProtoAndRoundTrips(absl::string_view bytes);

}  // namespace xla

#endif  // XLA_HLO_UTILS_PROTO_FUZZ_TARGET_H_
