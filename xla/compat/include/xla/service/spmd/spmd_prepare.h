#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SPMD_PREPARE_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SPMD_PREPARE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/spmd/spmd_prepare.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SPMD_PREPARE_H_
