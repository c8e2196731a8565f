#ifndef XLA_COMPAT_INCLUDE_XLA_CLIENT_XLA_COMPUTATION_H_
#define XLA_COMPAT_INCLUDE_XLA_CLIENT_XLA_COMPUTATION_H_

// OpenXLA's path of this header, for code from outside.

#include "xla/hlo/builder/xla_computation.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_CLIENT_XLA_COMPUTATION_H_
