#ifndef XLA_COMPAT_INCLUDE_ABSL_STATUS_STATUS_MACROS_H_
#define XLA_COMPAT_INCLUDE_ABSL_STATUS_STATUS_MACROS_H_

// The macros that newer releases of Abseil have at this path.
#include "xla/status_macros.h"  // IWYU pragma: export

#ifndef ABSL_RETURN_IF_ERROR
#define ABSL_RETURN_IF_ERROR(expression) RETURN_IF_ERROR(expression)
#endif
#ifndef ABSL_ASSIGN_OR_RETURN
#define ABSL_ASSIGN_OR_RETURN(...) ASSIGN_OR_RETURN(__VA_ARGS__)
#endif

#endif  // XLA_COMPAT_INCLUDE_ABSL_STATUS_STATUS_MACROS_H_
