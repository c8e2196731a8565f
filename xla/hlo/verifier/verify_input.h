#ifndef XLA_HLO_VERIFIER_VERIFY_INPUT_H_
#define XLA_HLO_VERIFIER_VERIFY_INPUT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Verifies a module that a user gave, from the file `name`. InvalidArgument
// whatever the code of the rule that it breaks, since a broken input is not an
// internal error, as the same breach behind a pass is:
//
//   Internal "[V52] …"  →  InvalidArgument "model.hlo: [V52] …"
absl::Status VerifyInput(const HloModule& module, absl::string_view name,
                         bool layout_sensitive = false);

}  // namespace xla

#endif  // XLA_HLO_VERIFIER_VERIFY_INPUT_H_
