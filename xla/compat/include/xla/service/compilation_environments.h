#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_COMPILATION_ENVIRONMENTS_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_COMPILATION_ENVIRONMENTS_H_

// OpenXLA's path of this header, for code from outside.

#include "xla/hlo/ir/compilation_environments.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_COMPILATION_ENVIRONMENTS_H_
