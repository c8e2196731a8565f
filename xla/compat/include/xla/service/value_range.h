#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_VALUE_RANGE_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_VALUE_RANGE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/analysis/value_range.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_VALUE_RANGE_H_
