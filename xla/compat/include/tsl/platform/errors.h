#ifndef XLA_COMPAT_INCLUDE_TSL_PLATFORM_ERRORS_H_
#define XLA_COMPAT_INCLUDE_TSL_PLATFORM_ERRORS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/tsl/platform/errors.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_TSL_PLATFORM_ERRORS_H_
