#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_REMATERIALIZATION_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_REMATERIALIZATION_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/memory/rematerialization/hlo_rematerialization.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_REMATERIALIZATION_H_
