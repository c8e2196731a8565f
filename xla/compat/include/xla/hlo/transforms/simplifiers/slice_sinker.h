#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_SLICE_SINKER_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_SLICE_SINKER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/operations/slice_sinker.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_SLICE_SINKER_H_
