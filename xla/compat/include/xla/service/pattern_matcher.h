#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_PATTERN_MATCHER_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_PATTERN_MATCHER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/utils/pattern_matcher.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_PATTERN_MATCHER_H_
