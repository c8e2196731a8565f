#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SPMD_PARTITIONER_UTIL_INTERNAL_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SPMD_PARTITIONER_UTIL_INTERNAL_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/spmd/spmd_partitioner_util_internal.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_SPMD_PARTITIONER_UTIL_INTERNAL_H_
