#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_RESHAPE_MOVER_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_RESHAPE_MOVER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/operations/reshape_mover.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_RESHAPE_MOVER_H_
