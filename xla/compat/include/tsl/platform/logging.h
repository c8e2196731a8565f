#ifndef XLA_COMPAT_INCLUDE_TSL_PLATFORM_LOGGING_H_
#define XLA_COMPAT_INCLUDE_TSL_PLATFORM_LOGGING_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/tsl/platform/logging.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_TSL_PLATFORM_LOGGING_H_
