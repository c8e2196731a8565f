#ifndef XLA_COMPAT_INCLUDE_TSL_UTIL_SAFE_REINTERPRET_CAST_H_
#define XLA_COMPAT_INCLUDE_TSL_UTIL_SAFE_REINTERPRET_CAST_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/tsl/util/safe_reinterpret_cast.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_TSL_UTIL_SAFE_REINTERPRET_CAST_H_
