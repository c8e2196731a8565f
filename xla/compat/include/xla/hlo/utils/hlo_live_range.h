#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_UTILS_HLO_LIVE_RANGE_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_UTILS_HLO_LIVE_RANGE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/hlo_live_range.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_UTILS_HLO_LIVE_RANGE_H_
