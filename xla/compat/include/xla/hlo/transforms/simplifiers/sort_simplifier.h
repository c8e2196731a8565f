#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_SORT_SIMPLIFIER_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_SORT_SIMPLIFIER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/operations/sort_simplifier.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_SORT_SIMPLIFIER_H_
