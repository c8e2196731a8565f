#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_VERIFIER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_VERIFIER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/pass/verifier_pass.h"                   // IWYU pragma: export
#include "xla/hlo/verifier/hlo_verifier.h"                // IWYU pragma: export
#include "xla/hlo/verifier/visitors/verifier_visitors.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_VERIFIER_H_
