#ifndef XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_LOGGING_H_
#define XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_LOGGING_H_

// OpenXLA's path of this header, for code from outside.
#include "absl/log/check.h"        // IWYU pragma: export
#include "absl/log/die_if_null.h"  // IWYU pragma: export
#include "absl/log/log.h"          // IWYU pragma: export
#include "absl/log/vlog_is_on.h"   // IWYU pragma: export

#ifndef CHECK_NOTNULL
#define CHECK_NOTNULL(pointer) ABSL_DIE_IF_NULL(pointer)
#endif

#endif  // XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_LOGGING_H_
