#ifndef XLA_HLO_VERIFIER_VERIFIER_FUZZ_TARGET_H_
#define XLA_HLO_VERIFIER_VERIFIER_FUZZ_TARGET_H_

#include "absl/strings/string_view.h"

namespace xla {

// Parses any bytes as HLO and verifies what they are, with layouts and without.
// Dies unless errors name an invariant, and unless a module without errors has
// none after it went through text and through its proto. Returns whether it is
// one. The property behind both the fuzzer and the mutation test.
bool VerifiesAndRoundTrips(absl::string_view text);

}  // namespace xla

#endif  // XLA_HLO_VERIFIER_VERIFIER_FUZZ_TARGET_H_
