#ifndef XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_STATUSOR_H_
#define XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_STATUSOR_H_

// OpenXLA's path of this header, for code from outside.
#include "absl/status/statusor.h"     // IWYU pragma: export
#include "xla/status_macros.h"        // IWYU pragma: export
#include "xla/tsl/platform/errors.h"  // IWYU pragma: export

namespace tsl {
using absl::StatusOr;
}  // namespace tsl

#endif  // XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_STATUSOR_H_
