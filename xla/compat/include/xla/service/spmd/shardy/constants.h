#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SHARDY_CONSTANTS_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SHARDY_CONSTANTS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/sharding_propagation/shardy_constants.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SHARDY_CONSTANTS_H_
