#ifndef XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_STATUS_H_
#define XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_STATUS_H_

// OpenXLA's path of this header, for code from outside.
#include "absl/status/status.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_STATUS_H_
