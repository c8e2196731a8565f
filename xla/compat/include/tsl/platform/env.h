#ifndef XLA_COMPAT_INCLUDE_TSL_PLATFORM_ENV_H_
#define XLA_COMPAT_INCLUDE_TSL_PLATFORM_ENV_H_

// OpenXLA's path of this header, for code from outside.

#include "xla/tsl/platform/env.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_TSL_PLATFORM_ENV_H_
