#ifndef XLA_COMPAT_INCLUDE_TSL_LIB_GTL_MAP_UTIL_H_
#define XLA_COMPAT_INCLUDE_TSL_LIB_GTL_MAP_UTIL_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/tsl/lib/gtl/map_util.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_TSL_LIB_GTL_MAP_UTIL_H_
