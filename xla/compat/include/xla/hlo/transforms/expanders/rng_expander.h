#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_EXPANDERS_RNG_EXPANDER_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_EXPANDERS_RNG_EXPANDER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/operations/rng_expander.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_EXPANDERS_RNG_EXPANDER_H_
