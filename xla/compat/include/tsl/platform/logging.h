#ifndef XLA_COMPAT_INCLUDE_TSL_PLATFORM_LOGGING_H_
#define XLA_COMPAT_INCLUDE_TSL_PLATFORM_LOGGING_H_

// OpenXLA's path of this header, for code from outside.
#include "absl/log/check.h"  // IWYU pragma: export
#include "absl/log/log.h"    // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_TSL_PLATFORM_LOGGING_H_
